"""Law 9 on maps of classes: counts add over tiles, shapes do not matter, sides and signs swap as they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from metrics.kernels_classes import code_pairs
from metrics.severity import PRESETS, SeveritySums, class_matrix, class_precision, class_recall, kappa, weighted_kappa

LAWS = settings(derandomize=True, deadline=None, max_examples=60)
MTBS = PRESETS["mtbs"]
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 23))
MAPS = SHAPES.flatmap(lambda shape: st.tuples(*[arrays.arrays(np.uint8, shape, elements=st.integers(0, 5))] * 2))
CUTS = st.tuples(st.integers(0, 9), st.integers(0, 23))


def sums(maps) -> SeveritySums:
    counts = class_matrix(*maps, classes=MTBS.codes)
    return SeveritySums(MTBS, counts, counts * 0.09)


@LAWS
@given(MAPS)
def test_every_cell_is_counted_once(maps):
    counted = sums(maps)
    for counts in (counted.high(), counted.burned()):
        assert counts.tp + counts.fp + counts.fn + counts.tn == counts.n == maps[0].size


@LAWS
@given(MAPS)
def test_the_packed_count_is_the_matrix(maps):
    assert (code_pairs(*maps)[:6, :6] == class_matrix(*maps, classes=MTBS.codes)).all()
    assert (code_pairs(*maps, compiled=True) == code_pairs(*maps, compiled=False)).all()


@LAWS
@given(MAPS, CUTS)
def test_tiles_add_up(maps, cut):
    down, right = cut
    parts = [
        tuple(each[rows, columns] for each in maps)
        for rows in (slice(None, down), slice(down, None))
        for columns in (slice(None, right), slice(right, None))
    ]
    total = sums(parts[0]) + sums(parts[1]) + sums(parts[2]) + sums(parts[3])
    assert (total.counts == sums(maps).counts).all()
    assert total.area_error() == pytest.approx(sums(maps).area_error(), abs=1e-9)


@LAWS
@given(MAPS, st.randoms(use_true_random=False))
def test_neither_shape_nor_order_matters(maps, shuffle):
    order = list(range(maps[0].size))
    shuffle.shuffle(order)
    mixed = tuple(each.ravel()[order] for each in maps)
    assert (sums(mixed).counts == sums(maps).counts).all()


@LAWS
@given(MAPS)
def test_swapping_the_sides_swaps_precision_and_recall(maps):
    one, other = sums(maps), sums(maps[::-1])
    assert one.high().precision() == other.high().recall()
    assert class_precision(one.counts) == pytest.approx(class_recall(other.counts), nan_ok=True)
    assert one.area_error() == pytest.approx(-other.area_error(), abs=1e-9)
    for agreement in (kappa, weighted_kappa):
        assert agreement(one.ordered()) == pytest.approx(agreement(other.ordered()), nan_ok=True)


@LAWS
@given(MAPS)
def test_agreement_is_at_most_one_and_one_for_equal_maps(maps):
    for agreement in (kappa, weighted_kappa):
        value = agreement(sums(maps).ordered())
        assert np.isnan(value) or -1 - 1e-12 <= value <= 1
        same = agreement(sums((maps[0], maps[0])).ordered())
        assert np.isnan(same) or same == 1.0


@LAWS
@given(MAPS)
def test_dice_and_jaccard_say_the_same(maps):
    burned = sums(maps).burned()
    overlap, twice = burned.csi(), 2 * burned.tp / max(2 * burned.tp + burned.fp + burned.fn, 1)
    assert np.isnan(overlap) or twice == pytest.approx(2 * overlap / (1 + overlap))
