"""The compiled count of ordered pairs: two sorts and a walk, in time and memory that grow with the fires.

Fires are walked from the latest to the earliest time. Every fire has a bit at its place in the order of risk; whoever
was met before and may be compared has it set. How many of them lie below an event's own risk is the count of the bits
below its place: a Fenwick tree over words of 64 bits, and one word more. The tree stays in the nearest cache, even for
hundreds of thousands of fires. Sorting is by the bits of the numbers, a third of the time of `numpy.argsort`.

numba is loaded at the first call and what was compiled is kept on disk. The loop releases the GIL and keeps to one
core.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from metrics.sums import Array

_loading = Lock()
_waiting = ["_order", "_below", "_add", "_walk"]


def ordered_pairs(risk: Array, time: Array, event: Array, *, every: bool) -> tuple[int, int, int, int]:
    """Comparable pairs of two events, and of event and censored; of both together the concordant and the tied.

    `every` compares an event with all censored fires, otherwise only with those censored at its time or later.
    """
    _load()
    by_risk = _order(np.ascontiguousarray(risk, np.float64))
    risk, time, event = risk[by_risk], time[by_risk].astype(np.float64), event[by_risk]
    if every:  # whenever they were censored: only the events are walked
        events = np.flatnonzero(event).astype(np.int32)
        by_time = events[_order(time[events])]
    else:
        by_time = _order(time)
    found = _walk(risk, time, event, by_time, every)
    return int(found[0]), int(found[1]), int(found[2]), int(found[3])


def _load() -> None:
    """Import numba and put the compiled loops in the place of the plain ones, once."""
    with _loading:
        if not _waiting:
            return
        from numba import njit

        for name in _waiting:
            try:
                globals()[name] = njit(nogil=True, cache=True)(globals()[name])
            except RuntimeError:  # nowhere to keep compiled code: neither this folder nor the user's can be written
                globals()[name] = njit(nogil=True)(globals()[name])
        _waiting.clear()


def _order(values: Array) -> Array:
    """`numpy.argsort(values, kind="stable")` of finite numbers: a radix sort of their bits, 11 at a time."""
    n = values.size
    keys, order = np.empty(n, np.uint64), np.arange(n).astype(np.int32)
    counts = np.zeros((6, 2048), np.int32)
    given = values.view(np.int64)
    for place in range(n):
        # The sign bit turned, and all others of what is negative: now the bits are in the order of the numbers.
        key = np.uint64(given[place] ^ ((given[place] >> 63) | np.int64(-9223372036854775808)))
        keys[place] = key
        for digit in range(6):
            counts[digit, np.int64((key >> np.uint64(11 * digit)) & np.uint64(2047))] += 1
    other_keys, other_order = np.empty(n, np.uint64), np.empty(n, np.int32)
    for digit in range(6):
        shift, starts = np.uint64(11 * digit), counts[digit]
        if starts.max() == n:
            continue  # all have the same digit here
        before: Any = 0
        for bucket in range(2048):
            count = starts[bucket]
            starts[bucket] = before
            before += count
        for place in range(n):
            found = np.int64((keys[place] >> shift) & np.uint64(2047))
            target = starts[found]
            starts[found] = target + 1
            other_keys[target], other_order[target] = keys[place], order[place]
        keys, other_keys, order, other_order = other_keys, keys, other_order, order
    return order


def _below(bits: Array, tree: Array, place: int) -> int:
    """How many bits are set below a place."""
    word = place >> 6
    rest = bits[word] & ((np.uint64(1) << np.uint64(place & 63)) - np.uint64(1))
    # The bits of a word added up in parallel; the compiler makes one instruction of it.
    rest -= (rest >> np.uint64(1)) & np.uint64(0x5555555555555555)
    rest = (rest & np.uint64(0x3333333333333333)) + ((rest >> np.uint64(2)) & np.uint64(0x3333333333333333))
    rest = (rest + (rest >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    found: Any = np.int64((rest * np.uint64(0x0101010101010101)) >> np.uint64(56))
    while word > 0:
        found += tree[word]
        word &= word - 1
    return found  # type: ignore[no-any-return]


def _add(bits: Array, tree: Array, place: int) -> None:
    """Set the bit of a place."""
    bits[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
    node = (place >> 6) + 1
    while node < tree.size:
        tree[node] += 1
        node += node & -node


def _walk(risk: Array, time: Array, event: Array, by_time: Array, every: bool) -> Array:
    """Risk, time and event in the order of risk; `by_time` orders those that are walked by time."""
    n = risk.size
    first, past = np.empty(n, np.int32), np.empty(n, np.int32)  # of the run of equal risks around each place
    start = 0
    while start < n:
        end = start + 1
        while end < n and risk[end] == risk[start]:
            end += 1
        first[start:end] = start
        past[start:end] = end
        start = end

    bits, tree = np.zeros(n // 64 + 1, np.uint64), np.zeros(n // 64 + 2, np.int32)
    events = censored = both = mixed = concordant = tied = 0
    if every:  # all censored fires are there from the start, so that the tree is built in one go
        for place in range(n):
            if not event[place]:
                bits[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
                tree[(place >> 6) + 1] += 1
                censored += 1
        for node in range(1, tree.size):
            above = node + (node & -node)
            if above < tree.size:
                tree[above] += tree[node]

    end = by_time.size
    while end > 0:  # all fires of one time
        start = end - 1
        moment = time[by_time[start]]
        while start > 0 and time[by_time[start - 1]] == moment:
            start -= 1
        if start == end - 1 and not event[by_time[start]]:  # the commonest case, and the quickest
            _add(bits, tree, by_time[start])
            censored += 1
            end = start
            continue
        if not every:  # censored at the time of a hit is watched long enough
            for index in range(start, end):
                if not event[by_time[index]]:
                    _add(bits, tree, by_time[index])
                    censored += 1
        hits = 0
        for index in range(start, end):
            place = by_time[index]
            if event[place]:
                lower = _below(bits, tree, first[place])
                concordant += lower
                if past[place] > first[place] + 1:
                    tied += _below(bits, tree, past[place]) - lower
                hits += 1
        both += hits * events
        mixed += hits * censored
        if hits:  # only now: hits of one time are not compared with each other
            for index in range(start, end):
                if event[by_time[index]]:
                    _add(bits, tree, by_time[index])
            events += hits
        end = start
    return np.array([both, mixed, concordant, tied], np.int64)
