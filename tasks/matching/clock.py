"""Time: the step of a model's valid times, and which observation belongs to which of them (D-22, D-71 to D-74)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np

from configs.window import Window
from metrics.sums import Array


@dataclass(frozen=True, slots=True)
class Step:
    """The spacing of a model's valid times: the case's, else the most frequent one (D-74)."""

    hours: float | None
    uniform: bool
    spacings: tuple[float, ...]
    anchor: datetime | None

    def on_step(self, valid: datetime) -> bool:
        """Does a valid time lie on this step, in phase with the model's own?"""
        if self.hours is None or self.anchor is None:
            return valid == self.anchor
        return (valid - self.anchor) % timedelta(hours=self.hours) == timedelta()


def step_of(valid: Iterable[datetime], window: Window, cycle: datetime) -> Step:
    """The step of a model's valid times; unknown where there is only one and the case does not say."""
    times: Sequence[datetime] = sorted(set(valid))
    if window.step is not None:
        return Step(window.step, True, (window.step,), cycle)
    gaps = [(later - earlier) / timedelta(hours=1) for earlier, later in pairwise(times)]
    if not gaps:
        return Step(None, False, (), times[0] if times else None)
    modal = Counter(sorted(gaps)).most_common(1)[0][0]
    return Step(modal, len(set(gaps)) == 1, tuple(sorted(set(gaps))), times[0])


NONE = -1  # in place of a report, where there is none


def expected_times(valid: Iterable[datetime], window: Window, cycle: datetime) -> list[datetime]:
    """The valid times that the case asks of a model: its own step over the whole window, gaps in its files included.

    They are in phase with the cycle where the case states a step, else with most of the model's times in the window.
    """
    times = sorted(set(valid))
    step = step_of(times, window, cycle)
    inside = [each for each in times if window.contains(each, cycle)]
    if step.hours is None or step.anchor is None:
        return inside
    spacing, anchor = timedelta(hours=step.hours), step.anchor
    if inside and window.step is None:
        anchor += Counter((each - anchor) % spacing for each in inside).most_common(1)[0][0]
    start, end = window.earliest(cycle), window.bounds(cycle)[1]
    first = anchor + spacing * -(-(start - anchor) // spacing)
    count = max(0, (end - first) // spacing + 1)
    return [each for index in range(count) if window.contains(each := first + index * spacing, cycle)]


@dataclass(frozen=True, slots=True)
class Reports:
    """When each station reported: station numbers and times (seconds), sorted by both."""

    station: Array
    time: Array

    def nearest(self, stations: Array, valid: Array, tolerance: Array) -> Array:
        """For each (station, valid time), the number of its nearest report within the station's tolerance, or NONE.

        A tie takes the earlier report; a report is used once, by the earlier valid time (D-73). Valid times run
        forwards and a tolerance is at most half their spacing, so that only a report midway can be wanted by two.
        """
        found = np.full((len(stations), len(valid)), NONE)
        if not len(self.time):
            return found
        right = self._position(stations, valid)
        best = np.full(found.shape, np.inf)
        for index in (right - 1, right):  # the earlier first, so that a tie keeps it
            inside = (index >= 0) & (index < len(self.time))
            safe = np.where(inside, index, 0)
            distance = np.where(
                inside & (self.station[safe] == stations[:, None]), abs(self.time[safe] - valid[None, :]), np.inf
            )
            better = distance < best
            found, best = np.where(better, index, found), np.where(better, distance, best)
        found = np.where(best <= tolerance[:, None] + 1e-6, found, NONE)
        twice = (found[:, 1:] == found[:, :-1]) & (found[:, 1:] != NONE)
        for row in np.flatnonzero(twice.any(axis=1)):  # rare: a report midway between two valid times
            found[row] = self._each_once(found[row], valid, tolerance[row])
        return found

    def _position(self, stations: Array, valid: Array) -> Array:
        """Of each (station, valid time), where it would stand among the reports, after those of the same time."""
        if not len(self.time):
            return np.zeros((len(stations), len(valid)), dtype=int)
        low = min(self.time.min(), valid.min() if len(valid) else 0)
        span = max(self.time.max(), valid.max() if len(valid) else 0) - low + 1
        keys = self.station * span + (self.time - low)
        return np.searchsorted(keys, stations[:, None] * span + (valid[None, :] - low), side="right")

    def _each_once(self, found: Array, valid: Array, tolerance: float) -> Array:
        """One station's reports, where one that an earlier valid time has used gives way to the next, if it is near."""
        once, last = found.copy(), NONE
        for column in np.flatnonzero(found != NONE):
            if once[column] <= last:
                following = last + 1
                near = (
                    following < len(self.time)
                    and self.station[following] == self.station[last]
                    and abs(self.time[following] - valid[column]) <= tolerance + 1e-6
                )
                once[column] = following if near else NONE
            last = max(last, once[column])
        return once

    def within_step(self, stations: Array, valid: Array, step: float) -> tuple[Array, Array]:
        """For each (station, valid time), the first report and the one after the last within (t - step, t]."""
        return self._position(stations, valid - step), self._position(stations, valid)


def highest_within(values: Array, first: Array, end: Array) -> Array:
    """The largest value of each run [first, end); missing where the run is empty or holds nothing (D-22)."""
    result = np.full(first.shape, np.nan)
    filled = np.append(np.where(np.isnan(values), -np.inf, values), -np.inf)
    some = end > first
    if some.any():
        pairs = np.stack([first[some], end[some]], axis=1).ravel()
        result[some] = np.maximum.reduceat(filled, pairs)[::2]
    return np.where(np.isfinite(result), result, np.nan)
