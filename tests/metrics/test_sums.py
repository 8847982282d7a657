"""Statistics that add: the sums of the parts are the sums of the whole, in any kind of array."""

from __future__ import annotations

import dataclasses

import dask.array as da
import numpy as np
import pytest
import xarray as xr

from metrics.circular import components
from metrics.sums import (
    ContingencySums,
    DirectionSums,
    ErrorSums,
    ExceedanceSums,
    VectorSums,
    floats,
    present,
    ratio,
    total,
    turn,
    where,
)

NAN = float("nan")
GENERATOR = np.random.default_rng(20261117)
SHAPE = (4, 24)


def with_holes(values: np.ndarray) -> np.ndarray:
    return np.where(GENERATOR.random(values.shape) < 0.2, NAN, values)


SPEEDS = tuple(with_holes(GENERATOR.uniform(0, 20, SHAPE)) for _ in range(2))
ANGLES = tuple(with_holes(GENERATOR.uniform(0, 360, SHAPE)) for _ in range(2))
EVENTS = tuple(with_holes(GENERATOR.integers(0, 2, SHAPE).astype(float)) for _ in range(2))
WINDS = tuple(components(speed, angle) for speed, angle in zip(SPEEDS, ANGLES, strict=True))

FAMILIES = [
    pytest.param(ErrorSums, SPEEDS, {}, id="errors"),
    pytest.param(DirectionSums, ANGLES, {}, id="directions"),
    pytest.param(VectorSums, WINDS, {}, id="vectors"),
    pytest.param(ContingencySums, EVENTS, {}, id="contingency"),
    pytest.param(ExceedanceSums, SPEEDS, {"threshold": 8.0, "step_hours": 0.5}, id="exceedance"),
]


def cut(sample, part):
    """A part of the forecast and the observed array, whether they are fields or pairs of components."""
    return tuple(tuple(each[part] for each in side) if isinstance(side, tuple) else side[part] for side in sample)


def made_of(sample, make):
    return tuple(tuple(make(each) for each in side) if isinstance(side, tuple) else make(side) for side in sample)


def assert_equal(one, other, rtol=1e-12):
    assert type(one) is type(other)
    for name in one.names():
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-11, err_msg=name)


CUTS = [
    pytest.param([np.s_[:, :5], np.s_[:, 5:]], id="in time"),
    pytest.param([np.s_[:1], np.s_[1:]], id="by station"),
    pytest.param([np.s_[:, :0], np.s_[:]], id="an empty part"),
    pytest.param([np.s_[:2, :9], np.s_[2:, :9], np.s_[:2, 9:], np.s_[2:, 9:]], id="in tiles"),
    pytest.param([np.s_[:, i] for i in range(24)], id="step by step"),
]


@pytest.mark.parametrize("parts", CUTS)
@pytest.mark.parametrize(("family", "sample", "options"), FAMILIES)
def test_sums_of_parts_are_the_sums_of_the_whole(family, sample, options, parts):
    first, *rest = (family.of(*cut(sample, part), **options) for part in parts)
    for each in rest:
        first = first + each
    assert_equal(first, family.of(*sample, **options))


@pytest.mark.parametrize(("family", "sample", "options"), FAMILIES)
def test_summing_later_is_the_same(family, sample, options):
    by_station = family.of(*sample, dim=1, **options)
    assert all(np.shape(each) == (4,) for each in by_station.arrays().values())
    assert_equal(by_station.over(0), family.of(*sample, **options))
    assert_equal(by_station.pooled(), family.of(*sample, **options))


@pytest.mark.parametrize(("family", "sample", "options"), FAMILIES)
def test_leaving_out_units_is_not_having_had_them(family, sample, options):
    by_station = family.of(*sample, dim=1, **options)
    kept = by_station.only(np.array([True, False, True, False]))
    assert_equal(kept.pooled(), family.of(*cut(sample, [0, 2]), **options))
    assert all(np.all(each[[1, 3]] == 0) for each in kept.arrays().values())


@pytest.mark.parametrize(("family", "sample", "options"), FAMILIES)
def test_leading_replicate_axes_pass_through(family, sample, options):
    by_station = family.of(*sample, dim=1, **options)
    weights = GENERATOR.integers(0, 3, (5, 4))
    replicates = family(*(weights * each for each in by_station.arrays().values()))
    pooled = replicates.pooled()
    for index, weight in enumerate(weights):
        alone = family(*(weight * each for each in by_station.arrays().values())).pooled()
        assert_equal(family(*(each[index] for each in pooled.arrays().values())), alone)


@pytest.mark.parametrize("chunks", [(1, 24), (4, 5), (2, 7)], ids=str)
@pytest.mark.parametrize(("family", "sample", "options"), FAMILIES)
def test_lazy_sums_equal_eager_ones(family, sample, options, chunks, nothing_is_computed):
    eager = family.of(*sample, dim=1, **options)
    lazily = made_of(sample, lambda each: da.from_array(each, chunks=chunks))
    named = made_of(lazily, lambda each: xr.DataArray(each, dims=("station", "time")))
    with nothing_is_computed():
        both = family.of(*lazily, dim=1, **options), family.of(*named, dim="time", **options)
    for lazy in both:
        assert all(each.chunks is not None for each in lazy.arrays().values())
        assert_equal(family(*(each.compute() for each in lazy.arrays().values())), eager)


@pytest.mark.parametrize(("family", "sample", "options"), FAMILIES)
def test_the_count_is_that_of_whole_pairs(family, sample, options):
    flat = [np.sum(side, axis=0) if isinstance(side, tuple) else side for side in sample]
    assert family.of(*sample, **options).n == sum(np.isfinite(flat[0].ravel()) & np.isfinite(flat[1].ravel()))


@pytest.mark.parametrize(("family", "sample", "options"), FAMILIES)
def test_sums_are_frozen_and_named_in_order(family, sample, options):
    sums = family.of(*sample, **options)
    assert sums.names()[0] == "n"
    assert list(sums.arrays()) == list(sums.names()) == [each.name for each in dataclasses.fields(family)]
    with pytest.raises(dataclasses.FrozenInstanceError):
        sums.n = 0


def test_error_sums_by_hand():
    sums = ErrorSums.of([1, 2, NAN, 7], [3, 1, 5, NAN])
    assert sums.arrays() == {"n": 2, "error": -1, "absolute": 3, "squared": 5, "forecast": 3, "observed": 4}
    assert (sums.mean(), sums.bias(), sums.mae(), sums.mse()) == (3 / 2, -1 / 2, 3 / 2, 5 / 2)


def test_direction_sums_by_hand():
    sums = DirectionSums.of([30, 90, NAN], [0, 180, 0])
    expected = {"n": 2, "absolute": 120, "squared": 900 + 8100, "sine": 0.5 - 1, "cosine": 3**0.5 / 2}
    assert sums.arrays() == pytest.approx(expected)


def test_exceedance_sums_by_hand():
    sums = ExceedanceSums.of([9, 9, 1, 8], [9, 1, 9, 8], threshold=8, step_hours=3)
    expected = {"n": 4, "tp": 1, "fp": 1, "fn": 1, "tn": 1, "forecast_hours": 6, "observed_hours": 6}
    assert sums.arrays() == expected


def test_the_frequency_bias_and_csi_of_counts():
    counts = ContingencySums(n=10, tp=3, fp=2, fn=1, tn=4)
    assert counts.csi() == 3 / 6
    assert counts.frequency_bias() == 5 / 4


KINDS = [
    pytest.param(np.array, id="numpy"),
    pytest.param(xr.DataArray, id="xarray"),
    pytest.param(lambda values: da.from_array(np.array(values), chunks=2), id="dask"),
    pytest.param(lambda values: xr.DataArray(values, dims="x").chunk(x=2), id="xarray on dask"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_small_helpers_on_every_kind_of_array(kind):
    values = kind([4.0, NAN, 0.0])
    np.testing.assert_array_equal(present(values), [True, False, True])
    np.testing.assert_array_equal(where(values > 1, values), [4, NAN, NAN])
    np.testing.assert_array_equal(where(values > 1, values, -1.0), [4, -1, -1])
    np.testing.assert_array_equal(ratio(kind([8.0, 1.0, 1.0]), values), [2, NAN, NAN])
    assert float(total(values)) == 4
    assert float(total(present(values))) == 2
    np.testing.assert_array_equal(turn(kind([190.0, NAN, -180.0])), [-170, NAN, -180])


@pytest.mark.parametrize("kind", KINDS)
def test_a_total_of_float32_is_summed_in_float64(kind):  # D-80: in float32, 2**24 + 1 is 2**24 again
    assert float(total(kind([2**24, 1, 1, 1]).astype(np.float32))) == 2**24 + 3


@pytest.mark.parametrize("values", [3, [1, 2], (1, 2), np.array([1], dtype=np.uint8), np.array(True)], ids=repr)
def test_floats(values):
    assert floats(values).dtype == np.float64
    np.testing.assert_array_equal(floats(values), values)
