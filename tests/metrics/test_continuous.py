"""Errors of a scalar variable: tables worked by hand, and numpy written the other way round."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import xarray as xr

from metrics.continuous import bias, mae, mean, nmse_power, nmse_range, rmse
from metrics.errors import FirecardError, MismatchedSample, Undefined

NAN = float("nan")
PAIRED = (bias, mae, rmse, nmse_range, nmse_power)
THAT_MAY_BE_MISSING = (bias, mae, rmse)
NORMALISED = (nmse_range, nmse_power)

FORECAST = [[3.2, 4.1, 5.0, NAN, 2.2, 1.0], [7.5, 6.0, 6.5, 8.0, NAN, 2.0], [1.0, 2.5, 3.5, 4.0, 4.5, 9.0]]
OBSERVED = [[2.9, 4.4, NAN, 6.0, 1.8, 0.4], [8.0, 6.0, 6.0, 7.0, NAN, 2.5], [1.5, 2.0, 3.0, 5.0, 4.0, 8.0]]


def by_hand(name: str, forecast, observed) -> float:
    """The same metric, in plain Python, over the pairs that are whole."""
    pairs = [(f, o) for f, o in zip(np.ravel(forecast), np.ravel(observed), strict=True) if f == f and o == o]
    errors = [f - o for f, o in pairs]
    squared = sum(e * e for e in errors) / len(pairs)
    forecasts, observations = zip(*pairs, strict=True)
    return {
        "bias": sum(errors) / len(pairs),
        "mae": sum(abs(e) for e in errors) / len(pairs),
        "rmse": squared**0.5,
        "nmse_range": squared**0.5 / (max(observations) - min(observations)),
        "nmse_power": squared / (sum(forecasts) / len(pairs)) / (sum(observations) / len(pairs)),
    }[name]


MEANS = [
    pytest.param([1, 2, 6], 9 / 3, id="three values"),
    pytest.param([1, NAN, 2], 3 / 2, id="a missing value is left out"),
    pytest.param([-4.0], -4, id="one value"),
    pytest.param(np.array([250, 250], dtype=np.uint8), 250, id="small integers do not overflow"),
    pytest.param([NAN, NAN], NAN, id="nothing but missing"),
    pytest.param([], NAN, id="nothing at all"),
]


@pytest.mark.parametrize(("values", "expected"), MEANS)
def test_mean(values, expected):
    assert mean(values) == pytest.approx(expected, nan_ok=True)


WORKED = [
    # forecast, observed, bias, mae, rmse, nmse_range, nmse_power
    pytest.param(
        [1, 2, 3, 4], [1.5, 2, 2, 5], -0.5 / 4, 2.5 / 4, 0.75, 0.75 / 3.5, 9 / 16 / (2.5 * 2.625), id="simple"
    ),
    pytest.param([1, 2, 5], [1, 2, 5], 0, 0, 0, 0, 0, id="perfect"),
    pytest.param([5, 7], [3, 5], 2, 2, 2, 2 / 2, 4 / (6 * 4), id="always two too high"),
    pytest.param([4, 6], [6, 4], 0, 2, 2, 2 / 2, 4 / (5 * 5), id="errors cancel in the bias alone"),
    pytest.param(
        [-1, -2, -3], [-2, -2, -5], 1, 1, (5 / 3) ** 0.5, (5 / 3) ** 0.5 / 3, (5 / 3) / (2 * 3), id="negative"
    ),
    pytest.param([0, 1, 2], [0, NAN, 4], -1, 1, 2**0.5, 2**0.5 / 4, 2 / (1 * 2), id="observation missing"),
    pytest.param([1, NAN, 3], [1, 100, 5], -1, 1, 2**0.5, 2**0.5 / 4, 2 / (2 * 3), id="forecast missing"),
    pytest.param(
        [9, NAN, 3, 4], [NAN, 2, 3, 6], -1, 1, 2**0.5, 2**0.5 / 3, 2 / (3.5 * 4.5), id="missing on either side"
    ),
    pytest.param([[0, 1], [2, 3]], [[1, 2], [3, 4]], -1, 1, 1, 1 / 3, 1 / (1.5 * 2.5), id="a field as a whole"),
]


@pytest.mark.parametrize(("forecast", "observed", "b", "a", "r", "n_range", "n_power"), WORKED)
def test_worked_by_hand(forecast, observed, b, a, r, n_range, n_power):
    assert bias(forecast, observed) == pytest.approx(b)
    assert mae(forecast, observed) == pytest.approx(a)
    assert rmse(forecast, observed) == pytest.approx(r)
    assert nmse_range(forecast, observed) == pytest.approx(n_range)
    assert nmse_power(forecast, observed) == pytest.approx(n_power)


NOTHING = [
    pytest.param([], [], id="no points"),
    pytest.param([NAN, NAN], [1.0, 2.0], id="no forecast"),
    pytest.param([1.0, 2.0], [NAN, NAN], id="no observation"),
    pytest.param([1.0, NAN], [NAN, 2.0], id="never both"),
]


@pytest.mark.parametrize(("forecast", "observed"), NOTHING)
@pytest.mark.parametrize("metric", THAT_MAY_BE_MISSING)
def test_nothing_to_compare_is_missing(metric, forecast, observed):
    assert np.isnan(metric(forecast, observed))


@pytest.mark.parametrize(("forecast", "observed"), NOTHING)
@pytest.mark.parametrize("metric", NORMALISED)
def test_nothing_to_compare_has_no_normalised_error(metric, forecast, observed):
    with pytest.raises(Undefined, match=metric.__name__):
        metric(forecast, observed)


UNDEFINED = [  # D-11, D-12: named by their formula, undefined where it is not within [0, ∞)
    pytest.param(nmse_range, [0, 1, 2], [1, 1, 1], id="no range in the observations"),
    pytest.param(nmse_range, [5], [3], id="one observation has no range"),
    pytest.param(nmse_range, [1, 2, 3], [4, 4, NAN], id="no range in what is paired"),
    pytest.param(nmse_range, [1, 2, NAN], [4, 4, 9], id="the range of unpaired observations does not count"),
    pytest.param(nmse_power, [0, 1, 2], [1, 0, -1], id="observed mean is zero"),
    pytest.param(nmse_power, [1, 0, -1], [0, 1, 2], id="forecast mean is zero"),
    pytest.param(nmse_power, [1, 2, 3], [-1, -2, -3], id="means of opposite sign"),
    pytest.param(nmse_power, [1, float("inf")], [1, 2], id="an infinite mean"),
]


@pytest.mark.parametrize(("metric", "forecast", "observed"), UNDEFINED)
@pytest.mark.parametrize("kind", [np.array, xr.DataArray])
def test_an_undefined_number_is_an_error(metric, forecast, observed, kind):
    with pytest.raises(Undefined, match=f"{metric.__name__} is undefined"):
        metric(kind(forecast), kind(observed))


def test_undefined_is_also_a_value_error():
    assert issubclass(Undefined, ValueError)
    assert issubclass(Undefined, FirecardError)


def test_in_a_field_the_undefined_cell_is_missing():
    forecast = np.array([[1.0, 2.0], [NAN, NAN], [1.0, 1.0], [3.0, 5.0]])
    observed = np.array([[1.0, 3.0], [NAN, NAN], [-2.0, -2.0], [3.0, 3.0]])
    np.testing.assert_allclose(nmse_range(forecast, observed, dim=1), [0.5**0.5 / 2, NAN, NAN, NAN])
    np.testing.assert_allclose(nmse_power(forecast, observed, dim=1), [0.5 / (1.5 * 2), NAN, NAN, 2 / (4 * 3)])


def test_a_lazy_undefined_number_is_missing():
    lazy = nmse_range(da.from_array([0.0, 1.0, 2.0], chunks=2), da.ones(3, chunks=2))
    assert np.isnan(lazy.compute())


@pytest.mark.parametrize("metric", PAIRED)
def test_every_dimension_alone_and_all_together(metric):
    forecast, observed = np.array(FORECAST), np.array(OBSERVED)
    rows = [by_hand(metric.__name__, f, o) for f, o in zip(forecast, observed, strict=True)]
    np.testing.assert_allclose(metric(forecast, observed, dim=1), rows)
    np.testing.assert_allclose(metric(forecast, observed, dim=-1), rows)
    np.testing.assert_allclose(metric(forecast, observed), by_hand(metric.__name__, forecast, observed))
    np.testing.assert_allclose(metric(forecast, observed, dim=(0, 1)), by_hand(metric.__name__, forecast, observed))


@pytest.mark.parametrize("metric", PAIRED)
def test_labels_stay(metric):
    coords = {"station": ["KRNO", "KTRK", "KTVL"]}
    forecast, observed = (xr.DataArray(each, dims=("station", "time"), coords=coords) for each in (FORECAST, OBSERVED))
    result = metric(forecast, observed, dim="time")
    assert result.dims == ("station",)
    assert list(result.station.values) == coords["station"]
    np.testing.assert_allclose(result, metric(np.array(FORECAST), np.array(OBSERVED), dim=1))


@pytest.mark.parametrize("chunks", [(1, 6), (3, 1), (2, 4), (3, 6)], ids=str)
@pytest.mark.parametrize("metric", PAIRED)
def test_lazy_equals_eager(metric, chunks, nothing_is_computed):
    arrays = [da.from_array(np.array(each), chunks=chunks) for each in (FORECAST, OBSERVED)]
    labelled = [xr.DataArray(each, dims=("station", "time")) for each in arrays]
    with nothing_is_computed():
        lazy, lazy_whole = metric(*arrays, dim=1), metric(*arrays)
        named, named_whole = metric(*labelled, dim="time"), metric(*labelled)
    assert all(each.chunks is not None for each in (lazy, lazy_whole, named, named_whole))
    eager, whole = (metric(np.array(FORECAST), np.array(OBSERVED), dim=dim) for dim in (1, None))
    np.testing.assert_allclose(lazy.compute(), eager, rtol=1e-12)
    np.testing.assert_allclose(named.compute(), eager, rtol=1e-12)
    np.testing.assert_allclose([lazy_whole.compute(), named_whole.compute()], whole, rtol=1e-12)


def test_the_mean_is_the_same_lazy_or_eager(nothing_is_computed):
    with nothing_is_computed():
        lazy = mean(xr.DataArray(FORECAST, dims=("station", "time")).chunk(time=2), dim="time")
    assert lazy.chunks is not None
    np.testing.assert_allclose(lazy.compute(), [15.5 / 5, 30 / 5, 24.5 / 6])


@pytest.mark.parametrize("metric", PAIRED)
def test_a_chunk_without_any_value(metric):
    forecast = np.array([1.0, 3.0, NAN, NAN, 2.0, 4.0])
    observed = np.array([2.0, 3.0, 7.0, 7.0, 2.0, 6.0])
    lazy = metric(da.from_array(forecast, chunks=2), da.from_array(observed, chunks=2))
    assert lazy.compute() == pytest.approx(by_hand(metric.__name__, forecast, observed))


SHAPES = [
    pytest.param((3,), (2,), id="lengths differ"),
    pytest.param((3,), (1,), id="broadcasting would do"),
    pytest.param((2, 3), (3,), id="a row against a field"),
    pytest.param((100, 400), (200, 200), id="as many cells in another shape"),
    pytest.param((2, 3), (3, 2), id="transposed"),
]


@pytest.mark.parametrize(("one", "other"), SHAPES)
@pytest.mark.parametrize("metric", PAIRED)
def test_shapes_that_differ_are_refused(metric, one, other):
    with pytest.raises(MismatchedSample) as refusal:
        metric(np.ones(one), np.ones(other))
    assert str(one) in str(refusal.value)
    assert str(other) in str(refusal.value)


def test_labelled_shapes_that_differ_are_refused():
    with pytest.raises(MismatchedSample) as refusal:
        rmse(xr.DataArray(np.ones((100, 400)), dims=("y", "x")), xr.DataArray(np.ones((200, 200)), dims=("y", "x")))
    assert "(100, 400)" in str(refusal.value)
    assert "(200, 200)" in str(refusal.value)


def test_labels_that_differ_are_refused():
    hours = [xr.DataArray([1.0, 2.0], dims="time", coords={"time": times}) for times in ([0, 1], [1, 2])]
    with pytest.raises(MismatchedSample, match="time"):
        bias(*hours)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
def test_any_number_is_counted_in_float64(dtype):  # D-80
    forecast, observed = np.array([0, 0], dtype=dtype), np.array([20, 20], dtype=dtype)
    assert rmse(forecast, observed) == 20
    assert bias(forecast, observed) == -20
    assert bias(forecast, observed).dtype == np.float64


def test_float32_is_summed_in_float64():  # D-80: in float32, 2**24 + 1 is 2**24 again
    forecast = np.array([2**24, 1, 1, 1], dtype=np.float32)
    assert bias(forecast, np.zeros_like(forecast)) == (2**24 + 3) / 4
    lazy = xr.DataArray(da.from_array(forecast, chunks=2), dims="time")
    assert bias(lazy, lazy * 0).compute() == (2**24 + 3) / 4
