"""Errors of an angle and of the wind as a vector."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from scipy.stats import circmean

from metrics.circular import (
    components,
    direction_bias,
    direction_difference,
    direction_mae,
    direction_rmse,
    vector_rmse,
)
from metrics.errors import MismatchedSample

NAN = float("nan")
OF_DIRECTIONS = (direction_rmse, direction_mae, direction_bias)

TURNS = [
    pytest.param(10, 350, 20, id="clockwise across north"),
    pytest.param(350, 10, -20, id="anticlockwise across north"),
    pytest.param(90, 90, 0, id="the same"),
    pytest.param(0, 360, 0, id="0 and 360 are one direction"),
    pytest.param(360, 0, 0, id="360 and 0 are one direction"),
    pytest.param(180, 0, -180, id="half turn takes the negative end"),
    pytest.param(0, 180, -180, id="half turn the other way takes it too"),
    pytest.param(270, 90, -180, id="opposite winds anywhere"),
    pytest.param(179, 0, 179, id="just below a half turn"),
    pytest.param(181, 0, -179, id="just above a half turn"),
    pytest.param(370, 10, 0, id="more than a turn"),
    pytest.param(-10, 350, 0, id="negative angles"),
    pytest.param(720 + 45, -360, 45, id="several turns"),
    pytest.param(NAN, 10, NAN, id="forecast missing"),
    pytest.param(10, NAN, NAN, id="observation missing"),
]


@pytest.mark.parametrize(("forecast", "observed", "expected"), TURNS)
def test_direction_difference(forecast, observed, expected):
    np.testing.assert_equal(float(direction_difference(forecast, observed)), float(expected))


def test_no_difference_reaches_plus_180():  # D-24: a hair below −180 must not come out as +180
    hair = np.nextafter(180.0, 181.0)
    differences = direction_difference(np.array([0.0, 0.0, -180.0]), np.array([hair, 180.0, 1e-14]))
    np.testing.assert_array_less(differences, 180.0)
    np.testing.assert_array_less(np.nextafter(-180.0, -181.0), differences)


WORKED = [
    # forecast, observed, rmse, mae, bias
    pytest.param([10, 20, 350], [10, 20, 350], 0, 0, 0, id="perfect"),
    pytest.param([10, 350, 90], [350, 330, 70], 20, 20, 20, id="always 20 clockwise, across north too"),
    pytest.param([350, 10, 0], [10, 30, 20], 20, 20, -20, id="always 20 anticlockwise"),
    pytest.param([100, 80], [80, 100], 20, 20, 0, id="errors cancel in the bias alone"),
    pytest.param([30, 350], [0, 350], 450**0.5, 15, 15, id="two different ones lie half way"),
    pytest.param([0, 90], [0, 0], 4050**0.5, 45, 45, id="one right, one a quarter turn off"),
    pytest.param([180, 0], [0, 180], 180, 180, -180, id="half turns"),
    pytest.param([0, 180], [90, 270], 90, 90, -90, id="angles without a mean have differences with one (D-78)"),
    pytest.param([10, NAN, 30], [350, 20, NAN], 20, 20, 20, id="missing on either side"),
    pytest.param([0, 360, 720], [360, 0, 0], 0, 0, 0, id="whole turns are nothing"),
]


@pytest.mark.parametrize(("forecast", "observed", "r", "a", "b"), WORKED)
def test_worked_by_hand(forecast, observed, r, a, b):
    assert direction_rmse(forecast, observed) == pytest.approx(r, abs=1e-12)
    assert direction_mae(forecast, observed) == pytest.approx(a, abs=1e-12)
    assert direction_bias(forecast, observed) == pytest.approx(b, abs=1e-12)


CANCELLING = [
    pytest.param([90, 270], [0, 0], id="left and right"),
    pytest.param([0, 180], [0, 0], id="right and reversed"),
    pytest.param([90, 270, 0, 180], [10, 10, 10, 10], id="all around"),
    pytest.param([0, 120, 240], [7, 7, 7], id="three thirds of a turn"),
]


@pytest.mark.parametrize(("forecast", "observed"), CANCELLING)
def test_differences_that_cancel_have_no_bias(forecast, observed):  # D-78: no angle is left to report
    assert np.isnan(direction_bias(forecast, observed))
    assert direction_rmse(forecast, observed) > 0


def test_circular_bias_against_scipy():
    generator = np.random.default_rng(20211117)
    forecast, observed = generator.uniform(0, 360, size=(2, 5, 40))
    forecast[generator.random(forecast.shape) < 0.2] = NAN
    expected = circmean(forecast - observed, high=180, low=-180, axis=1, nan_policy="omit")
    np.testing.assert_allclose(direction_bias(forecast, observed, dim=1), expected, rtol=1e-10)


def test_rmse_against_the_angle_between_unit_vectors():
    generator = np.random.default_rng(7)
    forecast, observed = generator.uniform(-360, 720, size=(2, 300))
    between = np.rad2deg(np.abs(np.angle(np.exp(1j * np.deg2rad(forecast)) / np.exp(1j * np.deg2rad(observed)))))
    assert direction_rmse(forecast, observed) == pytest.approx(np.linalg.norm(between) / 300**0.5)
    assert direction_mae(forecast, observed) == pytest.approx(np.average(between))


NOTHING = [
    pytest.param([], [], id="no points"),
    pytest.param([NAN, NAN], [10, 20], id="no forecast"),
    pytest.param([10, 20], [NAN, NAN], id="no observation"),
    pytest.param([10, NAN], [NAN, 20], id="never both"),
]


@pytest.mark.parametrize(("forecast", "observed"), NOTHING)
@pytest.mark.parametrize("metric", OF_DIRECTIONS)
def test_nothing_to_compare_is_missing(metric, forecast, observed):
    assert np.isnan(metric(forecast, observed))


@pytest.mark.parametrize("metric", OF_DIRECTIONS)
def test_lazy_equals_eager(metric, nothing_is_computed):
    observed = np.linspace(0, 350, 48).reshape(2, 24)
    observed[0, 6:12] = NAN  # one chunk has nothing
    forecast = observed + np.tile([15.0, -170.0, 200.0], 16).reshape(2, 24)
    eager = metric(forecast, observed, dim=1)
    arrays = [da.from_array(each, chunks=(1, 6)) for each in (forecast, observed)]
    with nothing_is_computed():
        lazy = metric(*arrays, dim=1)
        named = metric(*(xr.DataArray(each, dims=("station", "time")) for each in arrays), dim="time")
    assert lazy.chunks is not None
    assert named.chunks is not None
    np.testing.assert_allclose(lazy.compute(), eager, rtol=1e-12)
    np.testing.assert_allclose(named.compute(), eager, rtol=1e-12)


def test_a_lazy_difference_stays_lazy(nothing_is_computed):
    with nothing_is_computed():
        lazy = direction_difference(da.from_array([10.0, 350.0], chunks=1), da.from_array([350.0, 10.0], chunks=1))
    assert lazy.chunks == ((1, 1),)
    np.testing.assert_array_equal(lazy.compute(), [20, -20])


@pytest.mark.parametrize("metric", [direction_difference, *OF_DIRECTIONS])
def test_shapes_that_differ_are_refused(metric):
    with pytest.raises(MismatchedSample, match=r"\(2,\).*\(1,\)"):
        metric([1, 2], [1])


BLOWN = [
    # speed, direction it blows from, eastward, northward
    pytest.param(10, 0, 0, -10, id="a north wind blows south"),
    pytest.param(10, 90, -10, 0, id="an east wind blows west"),
    pytest.param(10, 180, 0, 10, id="a south wind blows north"),
    pytest.param(10, 270, 10, 0, id="a west wind blows east"),
    pytest.param(2, 360, 0, -2, id="360 is north"),
    pytest.param(2, 225, 2**0.5, 2**0.5, id="from the south-west"),
    pytest.param(0, NAN, 0, 0, id="a calm needs no direction"),
    pytest.param(0, 90, 0, 0, id="the direction of a calm does not matter"),
    pytest.param(5, NAN, NAN, NAN, id="a wind without a direction is not a vector"),
    pytest.param(NAN, 90, NAN, NAN, id="a direction without a speed neither"),
]


@pytest.mark.parametrize(("speed", "direction", "east", "north"), BLOWN)
def test_components(speed, direction, east, north):
    assert components(speed, direction) == pytest.approx((east, north), abs=1e-12, nan_ok=True)


VECTORS = [
    # Speeds and directions of the forecast, of the observation, and what comes out.
    pytest.param(([5, 8], [10, 200]), ([5, 8], [10, 200]), 0, id="perfect"),
    pytest.param(([3], [0]), ([4], [90]), 5, id="three, four, five"),
    pytest.param(([10], [90]), ([10], [270]), 20, id="opposite winds"),
    pytest.param(([0], [NAN]), ([6], [123]), 6, id="a calm forecast misses the whole wind"),
    pytest.param(([6], [123]), ([0], [NAN]), 6, id="an observed calm"),
    pytest.param(([0], [NAN]), ([0], [NAN]), 0, id="calm on both sides is right"),
    pytest.param(([3, 7], [0, NAN]), ([4, 7], [90, 10]), 5, id="a missing direction drops the pair"),
    pytest.param(([3, 10], [0, 90]), ([4, 10], [90, 90]), (25 / 2) ** 0.5, id="one of two is right"),
    pytest.param(([NAN], [10]), ([5], [10]), NAN, id="nothing left"),
    pytest.param(([], []), ([], []), NAN, id="nothing at all"),
]


@pytest.mark.parametrize(("forecast", "observed", "expected"), VECTORS)
def test_vector_rmse(forecast, observed, expected):
    assert vector_rmse(components(*forecast), components(*observed)) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_vector_rmse_is_the_same_lazy_or_eager(nothing_is_computed):
    speed = np.array([[0.0, 3.0, 5.0, NAN], [8.0, 2.0, 0.0, 4.0]])
    direction = np.array([[NAN, 10.0, 350.0, 80.0], [90.0, 180.0, 270.0, NAN]])
    eager = vector_rmse(components(speed + 1, direction + 30), components(speed, direction), dim=1)
    lazy_speed, lazy_direction = (xr.DataArray(each, dims=("s", "t")).chunk(t=1) for each in (speed, direction))
    with nothing_is_computed():
        lazy = vector_rmse(
            components(lazy_speed + 1, lazy_direction + 30), components(lazy_speed, lazy_direction), dim="t"
        )
    assert lazy.chunks is not None
    np.testing.assert_allclose(lazy.compute(), eager, rtol=1e-12)


@pytest.mark.parametrize("which", [0, 1])
def test_vector_shapes_that_differ_are_refused(which):
    forecast = [np.ones(3), np.ones(3)]
    observed = [np.ones(3), np.ones(3)]
    observed[which] = np.ones(1)
    with pytest.raises(MismatchedSample):
        vector_rmse(tuple(forecast), tuple(observed))
