"""Compiled loops build the same sums as the plain formulas: to 1e-12, in the same bytes every time."""

from __future__ import annotations

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest
import xarray as xr

from metrics import kernels, sums
from metrics.errors import MismatchedSample
from metrics.sums import DirectionSums, ErrorSums, ExceedanceSums

NAN = float("nan")
THRESHOLD, STEP_HOURS = 8.1, 1 / 12  # 8.1 is no float32: the nearest one lies above it


def random(shape, dtype, high, seed, missing=0.1):
    generator = np.random.default_rng(seed)
    values = generator.uniform(0, high, shape)
    return np.where(generator.random(shape) < missing, NAN, values).astype(dtype)


def winds(shape, dtype=np.float64, missing=0.1):
    """Forecast and observed speed, forecast and observed direction."""
    return tuple(random(shape, dtype, high, seed, missing) for seed, high in enumerate((20, 20, 360, 360)))


def plain(forecast_speed, observed_speed, forecast_direction, observed_direction):
    return (
        ErrorSums.of(forecast_speed, observed_speed, dim=-1),
        DirectionSums.of(forecast_direction, observed_direction, dim=-1),
        ExceedanceSums.of(forecast_speed, observed_speed, threshold=THRESHOLD, step_hours=STEP_HOURS, dim=-1),
    )


def fused(*arrays):
    return kernels.wind_sums(*arrays, threshold=THRESHOLD, step_hours=STEP_HOURS)


def one_by_one(forecast_speed, observed_speed, forecast_direction, observed_direction):
    return (
        kernels.error_sums(forecast_speed, observed_speed),
        kernels.direction_sums(forecast_direction, observed_direction),
        kernels.exceedance_sums(forecast_speed, observed_speed, threshold=THRESHOLD, step_hours=STEP_HOURS),
    )


def assert_same_sums(ours, theirs):
    assert type(ours) is type(theirs)
    for name in theirs.names():
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert np.shape(mine) == np.shape(other), name
        assert mine.dtype == np.float64, name
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12, err_msg=name)


def assert_same_bytes(ours, theirs):
    for name in theirs.names():
        assert np.asarray(getattr(ours, name)).tobytes() == np.asarray(getattr(theirs, name)).tobytes(), name


SHAPES = [
    pytest.param((288,), id="one series"),
    pytest.param((7, 24), id="stations"),
    pytest.param((2, 3, 5, 48), id="models, nights, stations"),
    pytest.param((5, 1), id="one step"),
    pytest.param((3, 17), id="vectors and a rest"),
    pytest.param((2, 1024), id="one block"),
    pytest.param((2, 2500), id="blocks and a rest"),
    pytest.param((3, 0), id="no step"),
    pytest.param((0, 24), id="no station"),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("build", [fused, one_by_one])
def test_the_sums_are_those_of_the_plain_formulas(build, shape, dtype):
    arrays = winds(shape, dtype)
    for ours, theirs in zip(build(*arrays), plain(*arrays), strict=True):
        assert_same_sums(ours, theirs)


def test_many_bands_are_one_whole(monkeypatch):
    arrays = winds((11, 3, 40))
    whole = fused(*arrays)
    monkeypatch.setattr(kernels, "BAND", 100)
    for ours, theirs in zip(fused(*arrays), whole, strict=True):
        assert_same_bytes(ours, theirs)


def test_a_row_of_nothing_is_empty():
    arrays = [np.full((2, 30), NAN) for _ in range(4)]
    for each in fused(*arrays):
        assert all(not np.any(values) for values in each.arrays().values())


def test_each_family_drops_what_it_misses_itself():
    speed, direction = np.full((1, 4), 10.0), np.full((1, 4), 90.0)
    holes = np.array([[90.0, NAN, 80.0, NAN]])
    errors, turns, hours = kernels.wind_sums(speed, speed - 1, direction, holes, threshold=9.5, step_hours=0.5)
    assert errors.n == 4
    assert errors.bias() == 1
    assert turns.n == 2
    assert turns.mae() == (0 + 10) / 2
    assert (hours.n, hours.fp, hours.forecast_hours, hours.observed_hours) == (4, 4, 2.0, 0.0)


SEAM = [
    pytest.param(180, 0, -180, id="half turn takes the negative end"),
    pytest.param(0, 180, -180, id="half turn the other way too"),
    pytest.param(-180, 0, -180, id="already at the seam"),
    pytest.param(180.25, 0, -179.75, id="just over"),
    pytest.param(-180.25, 0, 179.75, id="just under"),
    pytest.param(360, 0, 0, id="a whole turn is none"),
    pytest.param(350, 10, -20, id="across north"),
    pytest.param(179.5, -179.5, -1, id="across south"),
    pytest.param(900, 0, -180, id="two turns and a half"),
    pytest.param(-1000, 80, 0, id="three turns back"),
]


@pytest.mark.parametrize(("forecast", "observed", "expected"), SEAM)
def test_directions_at_the_seam(forecast, observed, expected):
    found = kernels.direction_sums(np.array([float(forecast)]), np.array([float(observed)]))
    angle = math.radians(expected)
    assert (found.n, found.absolute, found.squared) == (1, abs(expected), expected**2)
    assert found.sine == pytest.approx(math.sin(angle), abs=1e-15)
    assert found.cosine == pytest.approx(math.cos(angle), abs=1e-15)


def test_a_hair_on_either_side_of_the_seam():
    seams = np.array([-540.0, -180.0, 0.0, 180.0, 540.0, 36180.0])
    forecast = np.stack([np.nextafter(seams, -np.inf), seams, np.nextafter(seams, np.inf)], axis=-1).reshape(-1, 1)
    found = kernels.direction_sums(forecast, np.zeros_like(forecast))
    assert_same_sums(found, DirectionSums.of(forecast, np.zeros_like(forecast), dim=-1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_opposite_winds_are_biased_by_minus_180(dtype):
    forecast = np.arange(361, dtype=dtype)[:, None]
    for observed in (forecast + 180, forecast - 180, (forecast + 180) % 360):
        found = kernels.direction_sums(forecast, observed)
        assert set(found.sine <= 0) == {True}  # of -180, not of 180
        assert set(found.bias()) == {-180.0}


def test_a_long_series_is_as_exact_as_a_short_one():
    series = winds((1, 200_000), np.float32)
    for ours, theirs in zip(fused(*series), plain(*series), strict=True):
        for name in theirs.names():
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12, atol=1e-9)


def test_sine_and_cosine_of_every_direction():
    difference = np.linspace(-180, 180, 100_001)[:-1, None]
    found = kernels.direction_sums(difference, np.zeros_like(difference))
    np.testing.assert_allclose(found.sine, np.sin(np.deg2rad(difference[:, 0])), rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.cosine, np.cos(np.deg2rad(difference[:, 0])), rtol=0, atol=1e-15)


@pytest.mark.parametrize("threshold", [8.0, 8.1, 0.1, -0.1, 1e300, -1e300, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_threshold_between_two_floats(threshold, dtype):
    near = np.clip(threshold, -1e38, 1e38)
    values = np.array([near, np.nextafter(dtype(near), dtype(np.inf)), np.nextafter(dtype(near), dtype(-np.inf)), NAN])
    forecast, observed = (each.reshape(1, -1) for each in np.meshgrid(values.astype(dtype), values.astype(dtype)))
    found = kernels.exceedance_sums(forecast, observed, threshold=threshold, step_hours=1.0)
    assert_same_sums(found, ExceedanceSums.of(forecast, observed, threshold=threshold, step_hours=1.0, dim=-1))


def test_an_infinite_speed_is_left_out_where_the_plain_sums_leave_it_out():
    forecast, observed = np.array([np.inf, 1.0, np.inf]), np.array([np.inf, 1.0, 2.0])
    with np.errstate(invalid="ignore"):
        theirs = ErrorSums.of(forecast, observed, dim=-1)
    assert_same_sums(kernels.error_sums(forecast, observed), theirs)
    options = {"threshold": 1.5, "step_hours": 1.0}
    ours = kernels.exceedance_sums(forecast, observed, **options)
    assert_same_sums(ours, ExceedanceSums.of(forecast, observed, **options, dim=-1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bytes_every_time_and_in_every_thread(dtype):
    arrays = winds((60, 289), dtype)
    once = fused(*arrays)
    with ThreadPoolExecutor(4) as threads:
        again = list(threads.map(lambda _: fused(*arrays), range(8)))
    for each in again:
        for ours, theirs in zip(each, once, strict=True):
            assert_same_bytes(ours, theirs)


def test_slices_are_pieces_of_the_whole():
    arrays = winds((40, 100))
    whole = fused(*arrays)
    halves = [fused(*(each[part] for each in arrays)) for part in (slice(0, 13), slice(13, 40))]
    for family, theirs in enumerate(whole):
        for name in theirs.names():
            joined = np.concatenate([getattr(half[family], name) for half in halves])
            assert joined.tobytes() == getattr(theirs, name).tobytes()


def test_arrays_in_any_order_and_of_any_number_type():
    arrays = winds((6, 30))
    theirs = fused(*arrays)
    for other in (
        [np.asfortranarray(each) for each in arrays],
        [each.astype(">f8") for each in arrays],
        [np.repeat(each, 2, axis=-1)[:, ::2] for each in arrays],
        [each.tolist() for each in arrays],
    ):
        for ours, each in zip(fused(*other), theirs, strict=True):
            assert_same_bytes(ours, each)
    whole = [np.round(each) for each in winds((6, 30), missing=0.0)]
    for ours, each in zip(fused(*(values.astype(np.int16) for values in whole)), fused(*whole), strict=True):
        assert_same_bytes(ours, each)


def test_a_float32_beside_a_float64_is_read_as_it_is():
    forecast, observed = random((4, 30), np.float32, 20, 1), random((4, 30), np.float64, 20, 2)
    assert_same_sums(kernels.error_sums(forecast, observed), ErrorSums.of(forecast, observed, dim=-1))


@pytest.mark.parametrize(("one", "other"), [((3, 4), (4,)), ((3, 4), (3, 5)), ((), ())])
def test_shapes_that_differ_are_refused(one, other):
    with pytest.raises(MismatchedSample):
        kernels.error_sums(np.zeros(one), np.zeros(other))


FAMILIES = [
    pytest.param(ErrorSums, "error_sums", {}, id="errors"),
    pytest.param(DirectionSums, "direction_sums", {}, id="directions"),
    pytest.param(ExceedanceSums, "exceedance_sums", {"threshold": 8.0, "step_hours": 1.0}, id="exceedances"),
]


@pytest.mark.parametrize(("family", "kernel", "options"), FAMILIES)
def test_large_arrays_go_through_the_kernel(monkeypatch, family, kernel, options):
    forecast, observed = winds((5, 24), np.float32)[:2]
    theirs = family.of(forecast, observed, dim=-1, **options)
    monkeypatch.setattr(sums, "LARGE", forecast.size)
    calls = []
    original = getattr(kernels, kernel)
    monkeypatch.setattr(kernels, kernel, lambda *a, **k: calls.append(kernel) or original(*a, **k))
    for dim in (-1, 1):
        assert_same_sums(family.of(forecast, observed, dim=dim, **options), theirs)
    assert calls == [kernel, kernel]


NOT_FOR_KERNELS = [
    pytest.param(lambda values: da.from_array(values), -1, id="lazy"),
    pytest.param(lambda values: xr.DataArray(values, dims=("station", "time")), "time", id="labelled"),
    pytest.param(lambda values: values, None, id="all axes"),
    pytest.param(lambda values: values, 0, id="another axis"),
    pytest.param(lambda values: values[:, ::2], -1, id="not contiguous"),
    pytest.param(lambda values: values.astype(np.float16), -1, id="another number type"),
    pytest.param(lambda values: values.astype(">f4"), -1, id="another byte order"),
    pytest.param(lambda values: values.tolist(), -1, id="a list"),
]


@pytest.mark.parametrize(("made", "dim"), NOT_FOR_KERNELS)
def test_everything_else_keeps_the_plain_formulas(monkeypatch, made, dim):
    monkeypatch.setattr(sums, "LARGE", 1)
    forecast, observed = (made(each) for each in winds((4, 24), np.float32)[:2])
    assert not sums.compiled(forecast, observed, dim)


def test_small_arrays_keep_the_plain_formulas():
    forecast, observed = winds((4, 24))[:2]
    assert not sums.compiled(forecast, observed, -1)


def test_numba_waits_for_the_first_kernel():
    code = "import sys, metrics.kernels; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
