"""Counting pairs of class codes of two maps in one pass, for maps too large to pass over again and again.

Two codes below 16 make one byte, two neighbouring cells sixteen bits, and those count up one of four tables in turn: a
step for two cells, and no step waits for the one before. A row with larger codes takes a plain loop instead.

numba takes seconds to import, so it waits for the first large map; what was compiled is kept on disk. The loop releases
the GIL and keeps to one core: parallelism comes from calling it on pieces of the map in threads.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from metrics.errors import MismatchedSample
from metrics.sums import Array

CODES = 256
LARGE = 4_000_000  # cells from which the compiled loop is worth its import
NIBBLES = np.uint64(0xF0F0F0F0F0F0F0F0)


def code_pairs(evaluated: Array, reference: Array, *, compiled: bool | None = None) -> Array:
    """Cells by code, (256, 256): rows the evaluated map's code, columns the reference's, both two-dimensional uint8."""
    if evaluated.shape != reference.shape or evaluated.ndim != 2:
        raise MismatchedSample(
            f"maps of shapes {evaluated.shape} and {reference.shape}: expected the same rows × columns"
        )
    if evaluated.dtype != np.uint8 or reference.dtype != np.uint8:
        raise MismatchedSample(f"maps of {evaluated.dtype} and {reference.dtype}: expected uint8")
    if compiled is None:
        compiled = evaluated.size >= LARGE
    counts = np.zeros((CODES, CODES), dtype=np.int64)
    if compiled:
        rows = [each if each.flags.c_contiguous else np.ascontiguousarray(each) for each in (evaluated, reference)]
        _loop()(*rows, np.zeros((4, CODES * CODES), dtype=np.uint32), counts)
        return counts
    for first in range(0, evaluated.shape[0], 256):
        both = evaluated[first : first + 256].astype(np.uint16) * CODES + reference[first : first + 256]
        counts += np.bincount(both.ravel(), minlength=CODES * CODES).reshape(CODES, CODES)
    return counts


@cache
def _loop() -> Any:
    from numba import njit

    try:
        return njit(nogil=True, cache=True)(_count)
    except RuntimeError:  # nowhere to keep compiled code
        return njit(nogil=True)(_count)


def _count(evaluated: Array, reference: Array, tables: Array, counts: Array) -> None:
    height, width = evaluated.shape
    words = width // 8
    one, two, three, four = tables[0], tables[1], tables[2], tables[3]
    low, shift = np.uint64(0xFFFF), np.uint64(4)
    seen = np.uint64(0)
    for row in range(height):
        left, right = evaluated[row], reference[row]
        first = left[: words * 8].view(np.uint64)
        second = right[: words * 8].view(np.uint64)
        bits = np.uint64(0)
        for at in range(words):
            bits |= first[at] | second[at]
        start = 0
        if bits & NIBBLES == np.uint64(0):
            seen |= bits
            start = words * 8
            for at in range(words):
                both = (first[at] << shift) | second[at]
                one[both & low] += np.uint32(1)
                two[(both >> np.uint64(16)) & low] += np.uint32(1)
                three[(both >> np.uint64(32)) & low] += np.uint32(1)
                four[both >> np.uint64(48)] += np.uint32(1)
        for at in range(start, width):
            counts[left[at], right[at]] += 1
    largest = 0
    for place in range(8):
        largest |= int((seen >> np.uint64(8 * place)) & np.uint64(15))
    for a in range(largest + 1):
        for b in range(largest + 1):
            for c in range(largest + 1):
                for d in range(largest + 1):
                    where = (((a << 4) | b) << 8) | (c << 4) | d
                    n = np.int64(one[where]) + np.int64(two[where]) + np.int64(three[where]) + np.int64(four[where])
                    counts[a, b] += n
                    counts[c, d] += n
