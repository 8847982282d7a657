"""What a workload is: contenders that do the same work, a check that they agree, and goals for ratios of their times.

A workload is one file `w<number>_<name>.py` in this folder with `ID`, `WORK` and `prepare() -> Trial`. `prepare` builds
seeded inputs and imports the peers; it raises `Skipped` where something is not there. Nothing else has to be told.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

Seconds = Mapping[str, float]
Results = Mapping[str, Any]


class Skipped(Exception):
    """This workload cannot run here; the text says why."""


class Disagreement(Exception):
    """A contender found another value; its time means nothing."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure made of the best times and where it should lie; one without a bound is only reported."""

    text: str
    figure: Callable[[Seconds], float]
    sign: Literal["≥", "≤"]
    bound: float | None = None
    stretch: float | None = None
    unit: str = "×"

    def verdict(self, value: float) -> str:
        if self.bound is None:
            return ""
        if self.stretch is not None and self._within(value, self.stretch):
            return "stretch met"
        return "met" if self._within(value, self.bound) else "missed"

    def _within(self, value: float, bound: float) -> bool:
        return value >= bound if self.sign == "≥" else value <= bound


@dataclass(frozen=True, slots=True)
class Trial:
    """Contenders by name, each a call that does the whole work and returns what `agree` looks at."""

    inputs: str
    contenders: Mapping[str, Callable[[], Any]]
    agree: Callable[[Results], None]
    goals: tuple[Goal, ...]
    notes: tuple[str, ...] = ()


def faster(ours: str, *peers: str, than: str, least: float | None = None, stretch: float | None = None) -> Goal:
    """How many times as long as `ours` the quickest of the peers takes."""
    return Goal(
        f"{ours}: faster than {than}",
        lambda seconds: min(seconds[peer] for peer in peers) / seconds[ours],
        "≥",
        least,
        stretch,
    )


def within(ours: str, limit: str, *, most: float | None = None, stretch: float | None = None) -> Goal:
    """How many times as long as the limit `ours` takes."""
    return Goal(f"{ours}: against {limit}", lambda seconds: seconds[ours] / seconds[limit], "≤", most, stretch)


def agree_on_arrays(results: Results, *, reference: str, others: tuple[str, ...], rtol: float, atol: float) -> None:
    """Every other contender has the reference's arrays, by name, within a tolerance."""
    for other in others:
        for name, expected in results[reference].items():
            found = np.asarray(results[other][name])
            expected = np.asarray(expected)
            if found.shape != expected.shape:
                raise Disagreement(f"{other} has {name} in shape {found.shape}, {reference} in {expected.shape}")
            apart = ~np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
            if apart.any():
                where = tuple(int(each) for each in np.argwhere(apart)[0])
                raise Disagreement(
                    f"{other} and {reference} differ in {name} at {int(apart.sum())} of {apart.size} places, "
                    f"first at {where}: {found[where]} and {expected[where]}"
                )
