"""From a KPI value to a score of 0 to 100 (R-000-18 to R-000-20), and how a score is rounded and written (D-01).

A value outside a normalisation's bounds, or NaN, is an error and never a silent score (D-02); in an array of replicates
a missing value stays missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

import numpy as np

from metrics.errors import BadParameter, BadValue, OutOfRange
from metrics.sums import Array, floats

Kind = Literal["bounded", "linear", "exponential", "symmetric_linear", "symmetric_exponential"]
TOLERANCE = 1e-12


def linear_bounded(value: Array, worst: float, best: float) -> Array:
    """0 at `worst`, 100 at `best`, straight in between.

    >>> float(linear_bounded(-0.2763, -1, 1))
    36.185
    """
    if not worst < best:
        raise BadParameter(f"a bounded normalisation needs a < b, got a={worst:g} and b={best:g}")
    value = _checked(value, worst, best, scale=max(abs(worst), abs(best)))
    return np.clip(100.0 * ((value - worst) / (best - worst)), 0.0, 100.0)


def linear_half_open(value: Array, best: float, zero: float) -> Array:
    """100 at `best`, falling straight to 0 at `zero` and beyond."""
    _check_half_open(best, zero)
    value = _checked(value, best, scale=max(abs(best), abs(zero)))
    return 100.0 * np.clip(1.0 - (value - best) / (zero - best), 0.0, 1.0)


def exponential_half_open(value: Array, best: float, half: float) -> Array:
    """100 at `best`, 50 at `half`, halving again with every further step of that size."""
    _check_half_open(best, half)
    value = _checked(value, best, scale=max(abs(best), abs(half)))
    return 100.0 * np.exp2(-np.maximum((value - best) / (half - best), 0.0))


def _check_half_open(a: float, m: float) -> None:
    if not a < m:
        raise BadParameter(f"a half-open normalisation needs m > a, got a={a:g} and m={m:g}")


def _checked(value: Array, low: float, high: float = np.inf, *, scale: float) -> Array:
    """The value as an array, refused if it lies outside [low, high] by more than rounding at this scale."""
    value = floats(value)
    if value.ndim == 0 and np.isnan(value):
        raise BadValue("a missing KPI value cannot be normalised")
    slack = TOLERANCE * scale
    outside = value <= low - slack
    if np.isfinite(high):
        outside = outside | (value >= high + slack)
    if outside.any():
        raise OutOfRange(f"the KPI value {np.extract(outside, value)[0]:.15g} lies outside [{low:g}, {high:g}]")
    return value


@dataclass(frozen=True, slots=True)
class Normalisation:
    """One of the five ways from value to score; symmetric ones score the distance from `a` (D-03).

    `bounded` runs from 0 at a to 100 at m. The others give 100 at a; at m the linear ones reach 0, the exponential 50.
    """

    kind: Kind
    a: float
    m: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.a) and np.isfinite(self.m)):
            raise BadParameter(f"the bounds of a normalisation must be finite, got {self.a} and {self.m}")
        self(self.a)  # a < m, or an error now rather than on the first night

    def __call__(self, value: Array) -> Array:
        match self.kind:
            case "bounded":
                return linear_bounded(value, self.a, self.m)
            case "linear":
                return linear_half_open(value, self.a, self.m)
            case "exponential":
                return exponential_half_open(value, self.a, self.m)
            case "symmetric_linear":
                _check_half_open(self.a, self.m)
                return linear_half_open(abs(floats(value) - self.a), 0.0, self.m - self.a)
            case "symmetric_exponential":
                _check_half_open(self.a, self.m)
                return exponential_half_open(abs(floats(value) - self.a), 0.0, self.m - self.a)
        raise BadParameter(f"unknown normalisation {self.kind!r}")


def clean(value: float) -> float:
    """The value to 12 significant digits, so that bytes do not depend on the order of a sum (D-80)."""
    return float(f"{value:.12g}")


def _rounded(score: float) -> Decimal:
    """Four significant digits, half up, on the value cleaned to 12 digits."""
    value = Decimal(f"{score:.12g}")
    if value < Decimal("0.0005"):
        return Decimal("0.000")
    for _ in range(2):  # 99.995 has two decimals, but rounds to 100.0, which has one
        value = value.quantize(Decimal(1).scaleb(value.adjusted() - 3), rounding=ROUND_HALF_UP)
    return value


def round_score(score: float) -> float:
    """A score as a card stores it: four significant digits, half up; below 0.0005 it is 0."""
    return float(_rounded(score))


def format_score(score: float | None) -> str:
    """A score as a card shows it.

    >>> format_score(36.185), format_score(100.0), format_score(0.0), format_score(5.0), format_score(None)
    ('36.19', '100.0', '0.000', '5.000', 'n/a')
    """
    return "n/a" if score is None else f"{_rounded(score):f}"
