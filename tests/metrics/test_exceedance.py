"""How long a variable stays above a threshold."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import xarray as xr

from metrics.errors import MismatchedSample
from metrics.exceedance import exceedance, hours_above_csi, hours_above_frequency_bias, hours_above_gap

NAN = float("nan")
METRICS = (hours_above_gap, hours_above_csi, hours_above_frequency_bias)

WORKED = [  # threshold 8, one hour a step: gap, critical success index, frequency bias
    pytest.param([9, 3, 12], [9, 3, 12], 0, 1, 1, id="perfect"),
    pytest.param([9, 9, 8, 3], [9, 2, 8, 3], 1, 1 / 2, 2, id="one hour too many"),
    pytest.param([9, 2, 2], [9, 9, 9], -2, 1 / 3, 1 / 3, id="two hours too few"),
    pytest.param([8, 8], [9, 9], -2, 0, 0, id="at the threshold is not above it (D-19)"),
    pytest.param([np.nextafter(8, 9)], [8.5], 0, 1, 1, id="a hair above is"),
    pytest.param([9] * 6 + [1] * 6, [1] * 6 + [9] * 6, 0, 0, 1, id="six windy hours at the wrong time"),
    pytest.param([9, NAN, 9], [9, 9, NAN], 0, 1, 1, id="only steps with both sides count"),
    pytest.param([9, 9], [3, NAN], 1, 0, NAN, id="no observed event has no frequency bias"),
    pytest.param([3, 3], [9, 3], -1, 0, 0, id="missed"),
    pytest.param([3, 4], [5, 6], 0, NAN, NAN, id="no event on either side"),
    pytest.param([NAN, 9], [9, NAN], NAN, NAN, NAN, id="never both"),
    pytest.param([], [], NAN, NAN, NAN, id="nothing at all"),
]


@pytest.mark.parametrize(("forecast", "observed", "gap", "csi", "frequency_bias"), WORKED)
def test_worked_by_hand(forecast, observed, gap, csi, frequency_bias):
    assert hours_above_gap(forecast, observed, threshold=8) == pytest.approx(gap, nan_ok=True)
    assert hours_above_csi(forecast, observed, threshold=8) == pytest.approx(csi, nan_ok=True)
    assert hours_above_frequency_bias(forecast, observed, threshold=8) == pytest.approx(frequency_bias, nan_ok=True)


@pytest.mark.parametrize(("step_hours", "expected"), [(1, 2), (3, 6), (0.25, 0.5)])
def test_a_step_is_worth_its_hours(step_hours, expected):
    assert hours_above_gap([9, 9, 1], [1, 1, 1], threshold=8, step_hours=step_hours) == expected


def test_both_sides_and_the_contingency_stand_beside_each_other():
    found = exceedance([9, 9, 9, 1, 1, NAN], [9, 1, 1, 9, 1, 9], threshold=8, step_hours=0.5)
    assert (found.n, found.tp, found.fp, found.fn, found.tn) == (5, 1, 2, 1, 1)
    assert (found.forecast_hours, found.observed_hours) == (3 / 2, 2 / 2)


def test_a_missing_value_is_never_below_the_threshold():
    found = exceedance([NAN, 9], [1, 9], threshold=8)
    assert (found.n, found.tn, found.fn) == (1, 0, 0)


@pytest.mark.parametrize("metric", METRICS)
def test_lazy_equals_eager(metric, nothing_is_computed):
    forecast = np.array([[9.0, 7.0, NAN, NAN, 9.0, 2.0], [8.0, 12.0, 9.0, 3.0, NAN, 10.0]])
    observed = np.array([[9.0, 9.0, 9.0, 1.0, 1.0, 2.0], [9.0, 12.0, 1.0, 3.0, 9.0, 10.0]])
    eager = metric(forecast, observed, threshold=8, dim=1)
    arrays = [da.from_array(each, chunks=(1, 2)) for each in (forecast, observed)]
    with nothing_is_computed():
        lazy = metric(*arrays, threshold=8, dim=1)
        named = metric(*(xr.DataArray(each, dims=("station", "time")) for each in arrays), threshold=8, dim="time")
    assert lazy.chunks is not None
    assert named.chunks is not None
    np.testing.assert_allclose(lazy.compute(), eager, rtol=1e-12)
    np.testing.assert_allclose(named.compute(), eager, rtol=1e-12)


@pytest.mark.parametrize("metric", [exceedance, *METRICS])
def test_shapes_that_differ_are_refused(metric):
    with pytest.raises(MismatchedSample):
        metric(np.ones((2, 3)), np.ones(3), threshold=8)
