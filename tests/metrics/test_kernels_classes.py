"""The compiled count gives what the plain one gives, whatever the codes and the shape."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.errors import MismatchedSample
from metrics.kernels_classes import code_pairs

SHAPES = [
    pytest.param((1, 1), 6, id="one cell"),
    pytest.param((7, 64), 6, id="whole words"),
    pytest.param((33, 129), 6, id="cells left over"),
    pytest.param((5, 800), 16, id="all sixteen codes of the packed loop"),
    pytest.param((9, 77), 256, id="codes beyond it"),
]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("shape", "codes"), SHAPES)
def test_pairs_are_counted(shape, codes, compiled):
    generator = np.random.default_rng(5)
    one, other = generator.integers(0, codes, (2, *shape)).astype(np.uint8)
    expected = np.zeros((256, 256), dtype=int)
    for pair in zip(one.ravel(), other.ravel(), strict=True):
        expected[pair] += 1
    assert (code_pairs(one, other, compiled=compiled) == expected).all()


def test_a_row_with_no_data_beside_rows_without():
    one = np.full((3, 40), 4, dtype=np.uint8)
    one[1, 20] = 255
    counts = code_pairs(one, np.full_like(one, 2), compiled=True)
    assert (counts[4, 2], counts[255, 2], counts.sum()) == (119, 1, 120)


def test_a_part_of_a_larger_map():
    whole = np.arange(400, dtype=np.uint8).reshape(20, 20) % 5
    part = whole[3:9, 1:18]
    assert code_pairs(part, part, compiled=True).sum() == part.size


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (np.zeros((100, 400), np.uint8), np.zeros((200, 200), np.uint8), r"\(100, 400\) and \(200, 200\)"),
        (np.zeros((2, 2)), np.zeros((2, 2), np.uint8), "float64"),
    ],
)
def test_maps_that_do_not_fit(one, other, message):
    with pytest.raises(MismatchedSample, match=message):
        code_pairs(one, other)
