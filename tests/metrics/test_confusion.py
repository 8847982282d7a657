"""Yes/no forecasts against yes/no observations."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
import xarray as xr

from metrics.confusion import accuracy, binary_counts, f1, matrix, npv, precision, recall, specificity, undefined
from metrics.errors import BadValue, MismatchedSample

NAN = float("nan")
RATIOS = (accuracy, precision, recall, specificity, npv, f1)


def arrays(tp: int, fp: int, fn: int, tn: int) -> tuple[np.ndarray, np.ndarray]:
    """An evaluated and a reference array with these counts."""
    evaluated = np.repeat([1.0, 1.0, 0.0, 0.0], [tp, fp, fn, tn])
    reference = np.repeat([1.0, 0.0, 1.0, 0.0], [tp, fp, fn, tn])
    return evaluated, reference


COUNTS = [
    # evaluated, reference, tp, fp, fn, tn
    pytest.param([1, 1, 0, 0, 1], [1, 0, 0, 1, 1], 2, 1, 1, 1, id="one of each and a hit"),
    pytest.param([1, 0], [1, 0], 1, 0, 0, 1, id="perfect"),
    pytest.param([True, False, True], [True, True, False], 1, 1, 1, 0, id="booleans"),
    pytest.param([NAN, 0, 1], [0, 0, 1], 1, 0, 0, 1, id="missing in the evaluated array is left out"),
    pytest.param([0, 0, 1], [NAN, 0, 1], 1, 0, 0, 1, id="missing in the reference is left out"),
    pytest.param([NAN, 1], [1, NAN], 0, 0, 0, 0, id="never both"),
    pytest.param([], [], 0, 0, 0, 0, id="nothing at all"),
    pytest.param([[0, 1], [0, 0]], [[0, 1], [1, 0]], 1, 0, 1, 2, id="a grid"),
    pytest.param(np.array([0, 1], dtype=np.uint8), np.array([1, 1], dtype=np.uint8), 1, 0, 1, 0, id="small integers"),
]


@pytest.mark.parametrize(("evaluated", "reference", "tp", "fp", "fn", "tn"), COUNTS)
def test_counts(evaluated, reference, tp, fp, fn, tn):
    counts = binary_counts(evaluated, reference)
    assert (counts.tp, counts.fp, counts.fn, counts.tn) == (tp, fp, fn, tn)
    assert counts.n == tp + fp + fn + tn


def test_the_matrix_has_evaluated_rows_and_reference_columns():  # D-10, R-003-07
    counts = binary_counts(*arrays(tp=1, fp=2, fn=3, tn=4))
    np.testing.assert_array_equal(matrix(counts), [[1, 2], [3, 4]])


RATIO_TABLE = [
    # (tp, fp, fn, tn), and each ratio in the order of RATIOS
    pytest.param((9, 2, 1, 8), (17 / 20, 9 / 11, 9 / 10, 8 / 10, 8 / 9, 18 / 21), id="general"),
    pytest.param((4, 2, 1, 3), (7 / 10, 4 / 6, 4 / 5, 3 / 5, 3 / 4, 8 / 11), id="another"),
    pytest.param((5, 0, 0, 5), (1, 1, 1, 1, 1, 1), id="perfect"),
    pytest.param((0, 5, 5, 0), (0, 0, 0, 0, 0, 0), id="all wrong"),
    pytest.param((0, 0, 5, 10), (10 / 15, 0, 0, 1, 10 / 15, 0), id="never said yes"),
    pytest.param((0, 2, 0, 4), (4 / 6, 0, 0, 4 / 6, 1, 0), id="never happened"),
    pytest.param((4, 3, 0, 0), (4 / 7, 4 / 7, 1, 0, 0, 8 / 11), id="never said no"),
    pytest.param((4, 0, 2, 0), (4 / 6, 1, 4 / 6, 0, 0, 8 / 10), id="always happened"),
    pytest.param((0, 0, 0, 7), (1, 0, 0, 1, 1, 0), id="no positive on either side: 0, not 100 % (D-14)"),
    pytest.param((0, 0, 0, 0), (NAN, NAN, NAN, NAN, NAN, NAN), id="an empty matrix has no ratios (D-14)"),
]


@pytest.mark.parametrize(("counts", "expected"), RATIO_TABLE)
def test_ratios(counts, expected):
    assert [ratio(*arrays(*counts)) for ratio in RATIOS] == pytest.approx(list(expected), nan_ok=True)


UNDEFINED = [
    pytest.param(9, 2, 1, 8, set(), id="everything is defined"),
    pytest.param(0, 5, 5, 0, set(), id="a real zero is not undefined"),
    pytest.param(0, 0, 5, 10, {"precision"}, id="never said yes"),
    pytest.param(0, 2, 0, 4, {"recall"}, id="never happened"),
    pytest.param(4, 3, 0, 0, {"npv"}, id="never said no"),
    pytest.param(4, 0, 2, 0, {"specificity"}, id="always happened"),
    pytest.param(0, 0, 0, 7, {"precision", "recall", "f1"}, id="no positive on either side"),
    pytest.param(6, 0, 0, 0, {"specificity", "npv"}, id="no negative on either side"),
    pytest.param(0, 0, 0, 0, {each.__name__ for each in RATIOS}, id="empty"),
]


@pytest.mark.parametrize(("tp", "fp", "fn", "tn", "expected"), UNDEFINED)
def test_undefined_ratios_are_flagged(tp, fp, fn, tn, expected):  # D-14
    flags = undefined(binary_counts(*arrays(tp, fp, fn, tn)))
    assert set(flags) == {each.__name__ for each in RATIOS}
    assert {name for name, flag in flags.items() if flag} == expected


STRANGE = [
    pytest.param([0, 2], [0, 1], "evaluated.*2", id="a class number"),
    pytest.param([0, 1], [-1, 0], "reference.*-1", id="a negative one"),
    pytest.param([0.5, 1], [0, 1], "evaluated.*0.5", id="a probability"),
]


@pytest.mark.parametrize(("evaluated", "reference", "message"), STRANGE)
def test_anything_but_zero_and_one_is_refused(evaluated, reference, message):
    with pytest.raises(BadValue, match=message):
        binary_counts(evaluated, reference)


@pytest.mark.parametrize("ratio", RATIOS)
def test_lazy_equals_eager(ratio, nothing_is_computed):
    evaluated = np.array([[1, 0, 1, NAN, NAN, 1], [0, 0, 1, 1, 0, 1]], dtype=float)
    reference = np.array([[1, 1, 0, 1, 0, 1], [0, NAN, 1, 0, 0, 1]], dtype=float)
    eager = ratio(evaluated, reference, dim=1)
    lazily = [da.from_array(each, chunks=(1, 2)) for each in (evaluated, reference)]
    with nothing_is_computed():
        lazy = ratio(*lazily, dim=1)
        named = ratio(*(xr.DataArray(each, dims=("y", "x")) for each in lazily), dim="x")
    assert lazy.chunks is not None
    assert named.chunks is not None
    np.testing.assert_allclose(lazy.compute(), eager, rtol=1e-12)
    np.testing.assert_allclose(named.compute(), eager, rtol=1e-12)


@pytest.mark.parametrize("ratio", [binary_counts, *RATIOS])
def test_shapes_that_differ_are_refused(ratio):
    with pytest.raises(MismatchedSample) as refusal:
        ratio(np.ones((100, 400)), np.ones((200, 200)))
    assert "(100, 400)" in str(refusal.value)
    assert "(200, 200)" in str(refusal.value)
