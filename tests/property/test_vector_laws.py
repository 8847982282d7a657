"""Laws 7 and 8: errors of vectors, and chunks that make no difference."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from metrics import circular, confusion, continuous, exceedance
from metrics.continuous import bias, mae, nmse_power, nmse_range, rmse
from metrics.sums import ErrorSums

LAW = settings(deadline=None, derandomize=True, max_examples=100)
LENGTHS = st.integers(1, 30)
# Eighths up to 1000: their differences are exact, so that a law does not fail for want of digits.
EIGHTHS = st.integers(-8000, 8000).map(lambda eighths: eighths / 8)


def vectors(length: int, values=EIGHTHS):
    return hnp.arrays(float, length, elements=values)


@st.composite
def pairs(draw, *, values=EIGHTHS, holes=True):
    """Forecast and observed, with holes on either side, and at least one whole pair."""
    length = draw(LENGTHS)
    sides = [draw(vectors(length, values)) for _ in range(2)]
    if holes:
        for side in sides:
            side[draw(hnp.arrays(bool, length))] = np.nan
    assume(np.isfinite(sides[0] + sides[1]).any())
    return tuple(sides)


POSITIVE = st.integers(1, 8000).map(lambda eighths: eighths / 8)


# Law 7


@LAW
@given(pairs())
def test_rmse_and_mae_are_symmetric_and_the_bias_changes_sign(sample):
    forecast, observed = sample
    assert rmse(forecast, observed) == rmse(observed, forecast)
    assert mae(forecast, observed) == mae(observed, forecast)
    assert bias(forecast, observed) == -bias(observed, forecast)


@LAW
@given(pairs())
def test_a_perfect_forecast_has_no_error(sample):
    observed = sample[1]
    assume(np.isfinite(observed).any())
    assert (rmse(observed, observed), mae(observed, observed), bias(observed, observed)) == (0, 0, 0)


@LAW
@given(pairs(values=st.floats(-1e6, 1e6).map(lambda value: round(value, 6))))  # squares that do not vanish
def test_bias_is_below_mae_is_below_rmse(sample):
    slack = 1 + 1e-12
    assert abs(bias(*sample)) <= mae(*sample) * slack
    assert mae(*sample) <= rmse(*sample) * slack


@LAW
@given(pairs(), EIGHTHS)
def test_adding_the_same_to_both_changes_nothing(sample, c):
    forecast, observed = sample
    for metric in (bias, mae, rmse):
        assert metric(forecast + c, observed + c) == pytest.approx(float(metric(forecast, observed)), abs=1e-9)
    paired = observed[np.isfinite(forecast + observed)]
    if paired.max() > paired.min():
        assert nmse_range(forecast + c, observed + c) == pytest.approx(float(nmse_range(forecast, observed)))


@LAW
@given(pairs(values=POSITIVE), st.floats(0.01, 100))
def test_scaling_both_scales_the_errors_and_no_ratio(sample, c):
    forecast, observed = sample
    for metric in (bias, mae, rmse):
        assert metric(c * forecast, c * observed) == pytest.approx(c * float(metric(forecast, observed)), abs=1e-9)
    assert nmse_power(c * forecast, c * observed) == pytest.approx(float(nmse_power(forecast, observed)))
    paired = observed[np.isfinite(forecast + observed)]
    if paired.max() > paired.min():
        assert nmse_range(c * forecast, c * observed) == pytest.approx(float(nmse_range(forecast, observed)))


def all_of(forecast, observed) -> list[float]:
    """The three errors, and both ratios where they are defined."""
    paired = np.isfinite(forecast + observed)
    found = [bias(forecast, observed), mae(forecast, observed), rmse(forecast, observed)]
    if np.ptp(observed[paired]) > 0:
        found.append(nmse_range(forecast, observed))
    if forecast[paired].mean() * observed[paired].mean() > 0:
        found.append(nmse_power(forecast, observed))
    return [float(each) for each in found]


@LAW
@given(pairs(values=POSITIVE), st.data())
def test_the_order_changes_nothing(sample, data):
    order = data.draw(st.permutations(range(len(sample[0]))))
    assert all_of(*(side[order] for side in sample)) == pytest.approx(all_of(*sample))


@LAW
@given(pairs(values=POSITIVE), st.data())
def test_a_pair_with_a_missing_side_changes_nothing(sample, data):
    forecast, observed = sample
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(forecast)))
        sides = data.draw(st.sampled_from([(np.nan, np.nan), (np.nan, 99.0), (99.0, np.nan), (-1e6, np.nan)]))
        forecast, observed = (
            np.insert(side, place, each) for side, each in zip((forecast, observed), sides, strict=True)
        )
    assert all_of(forecast, observed) == pytest.approx(all_of(*sample))


@LAW
@given(pairs(), pairs())
def test_squared_errors_add(one, other):
    both = [np.concatenate(sides) for sides in zip(one, other, strict=True)]
    parts = [(np.isfinite(sum(each)).sum(), rmse(*each) ** 2) for each in (one, other, both)]
    assert parts[2][0] * parts[2][1] == pytest.approx(sum(n * mse for n, mse in parts[:2]))
    added, whole = ErrorSums.of(*one) + ErrorSums.of(*other), ErrorSums.of(*both)
    assert {name: float(each) for name, each in added.arrays().items()} == pytest.approx(whole.arrays(), abs=1e-9)


# Law 8


@st.composite
def fields(draw):
    """Two fields over (time, y, x) with holes, how to cut them, and over what to reduce."""
    shape = tuple(draw(st.integers(1, most)) for most in (6, 4, 4))
    sides = [draw(hnp.arrays(float, shape, elements=POSITIVE)) for _ in range(2)]
    for side in sides:
        side[draw(hnp.arrays(bool, shape, elements=st.sampled_from([False, False, True])))] = np.nan
    chunks = tuple(draw(cut(length)) for length in shape)
    if draw(st.booleans()):  # one whole chunk has nothing
        corner = tuple(slice(0, lengths[0]) for lengths in chunks)
        sides[draw(st.integers(0, 1))][corner] = np.nan
    return sides, chunks, draw(st.sampled_from(["time", ("y", "x"), ("time", "y", "x")]))


@st.composite
def cut(draw, length: int) -> tuple[int, ...]:
    """Any way to cut so many points into chunks."""
    ends = sorted(draw(st.sets(st.integers(1, length - 1)))) if length > 1 else []
    return tuple(np.diff([0, *ends, length]).tolist())


def of_speeds(forecast, observed, dim):
    return {
        "mean": continuous.mean(forecast, dim=dim),
        **{each.__name__: each(forecast, observed, dim=dim) for each in (bias, mae, rmse)},
        **{each.name: each.function(forecast, observed, threshold=300, dim=dim) for each in exceedance.METRICS},
    }


def of_directions(forecast, observed, dim):
    angular = (circular.direction_rmse, circular.direction_mae, circular.direction_bias)
    winds = circular.components(forecast, observed), circular.components(observed, forecast)
    found = {each.__name__: each(forecast, observed, dim=dim) for each in angular}
    return {**found, "vector_rmse": circular.vector_rmse(*winds, dim=dim)}


def of_events(forecast, observed, dim):
    events = [(side > 300).where(side.notnull()) for side in (forecast, observed)]
    return {each.name: each.function(*events, dim=dim) for each in confusion.METRICS}


def refuse(*_args, **_kwargs):
    raise AssertionError("computed before it was asked to")


@settings(LAW, max_examples=30)
@pytest.mark.parametrize("metrics_of", [of_speeds, of_directions, of_events])
@given(drawn=fields())
def test_any_chunking_gives_the_eager_result(metrics_of, drawn):
    sides, chunks, dim = drawn
    eager = metrics_of(*(xr.DataArray(side, dims=("time", "y", "x")) for side in sides), dim)
    lazy_sides = [xr.DataArray(da.from_array(side, chunks=chunks), dims=("time", "y", "x")) for side in sides]
    with dask.config.set(scheduler=refuse):
        lazy = metrics_of(*lazy_sides, dim)
    assert all(each.chunks is not None for each in lazy.values())
    (computed,) = dask.compute(lazy, scheduler="synchronous")
    for name, expected in eager.items():
        np.testing.assert_allclose(computed[name], expected, rtol=1e-12, atol=1e-12, err_msg=name)


@settings(LAW, max_examples=40)
@given(fields())
def test_any_chunking_gives_the_eager_normalised_errors(drawn):
    sides, chunks, _ = drawn
    eager = [metric(*sides, dim=(1, 2)) for metric in (nmse_range, nmse_power)]
    with dask.config.set(scheduler=refuse):
        arrays = [da.from_array(side, chunks=chunks) for side in sides]
        lazy = [metric(*arrays, dim=(1, 2)) for metric in (nmse_range, nmse_power)]
    for found, expected in zip(dask.compute(*lazy, scheduler="synchronous"), eager, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
