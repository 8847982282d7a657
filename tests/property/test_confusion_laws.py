"""Law 9: counts of yes and no."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from metrics.confusion import accuracy, binary_counts, f1, npv, precision, recall, specificity, undefined

LAW = settings(deadline=None, derandomize=True, max_examples=100)
RATIOS = (accuracy, precision, recall, specificity, npv, f1)
SHAPES = st.tuples(st.integers(1, 8), st.integers(1, 8))


@st.composite
def grids(draw):
    """An evaluated and a reference grid of 0, 1 and missing."""
    shape = draw(SHAPES)
    return tuple(draw(hnp.arrays(float, shape, elements=st.sampled_from([0.0, 1.0, np.nan]))) for _ in range(2))


def values(evaluated, reference) -> list[float]:
    return [float(ratio(evaluated, reference)) for ratio in RATIOS]


def same(found, expected) -> bool:
    return found == pytest.approx(expected, nan_ok=True)


@LAW
@given(grids())
def test_the_counts_add_up_to_the_valid_cells(sample):
    counts = binary_counts(*sample)
    valid = sum(not np.isnan(a + b) for a, b in zip(*(each.ravel() for each in sample), strict=True))
    assert counts.tp + counts.fp + counts.fn + counts.tn == counts.n == valid


@LAW
@given(grids())
def test_every_count_by_counting(sample):
    cells = list(zip(*(each.ravel().tolist() for each in sample), strict=True))
    counts = binary_counts(*sample)
    assert counts.tp == cells.count((1.0, 1.0))
    assert counts.fp == cells.count((1.0, 0.0))
    assert counts.fn == cells.count((0.0, 1.0))
    assert counts.tn == cells.count((0.0, 0.0))


@LAW
@given(grids())
def test_ratios_are_within_0_and_1(sample):
    assert all(np.isnan(each) or 0 <= each <= 1 for each in values(*sample))


@LAW
@given(grids())
def test_swapping_the_sides_swaps_precision_and_recall(sample):
    one, other = sample
    assert same(precision(one, other), float(recall(other, one)))
    assert same(accuracy(one, other), float(accuracy(other, one)))
    assert same(f1(one, other), float(f1(other, one)))
    assert same(specificity(one, other), float(npv(other, one)))


@LAW
@given(grids())
def test_complementing_both_swaps_positives_and_negatives(sample):
    counts, complement = binary_counts(*sample), binary_counts(*(1 - each for each in sample))
    assert (complement.tp, complement.tn) == (counts.tn, counts.tp)
    assert (complement.fp, complement.fn) == (counts.fn, counts.fp)
    assert same(complement.precision(), float(counts.npv()))
    assert same(complement.recall(), float(counts.specificity()))
    assert same(complement.accuracy(), float(counts.accuracy()))


@LAW
@given(grids())
def test_f1_lies_between_precision_and_recall(sample):
    counts = binary_counts(*sample)
    flags = undefined(counts)
    if not (flags["precision"] or flags["recall"]):
        low, high = sorted((counts.precision(), counts.recall()))
        assert low - 1e-12 <= counts.f1() <= high + 1e-12
        if high > 0:
            assert counts.f1() == pytest.approx(2 * low * high / (low + high))


@LAW
@given(grids(), st.data())
def test_order_and_shape_change_nothing(sample, data):
    order = data.draw(st.permutations(range(sample[0].size)))
    shuffled = [each.ravel()[order] for each in sample]
    assert same(values(*shuffled), values(*sample))
    assert same(values(*(each.reshape(-1, 1) for each in shuffled)), values(*sample))


@LAW
@given(grids(), st.data())
def test_counts_of_tiles_add(sample, data):
    rows, columns = (data.draw(st.integers(0, length)) for length in sample[0].shape)
    tiles = [np.s_[:rows, :columns], np.s_[rows:, :columns], np.s_[:rows, columns:], np.s_[rows:, columns:]]
    first, *rest = (binary_counts(*(each[tile] for each in sample)) for tile in tiles)
    for each in rest:
        first = first + each
    assert first.arrays() == binary_counts(*sample).arrays()
