"""Time: the step of a model's valid times, and which of them a case asks for (D-71 to D-74)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from configs.window import Window


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
