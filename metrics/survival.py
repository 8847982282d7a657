"""Forecasts of when a fire hits, against outcomes that may be censored: who was watched too short is not known.

A fire has a `time` and an `event`: it hit at that time, or (censored) had not hit until then, when watching ended.
A forecast is the probability of a hit by each horizon. Ranking is measured by the C-index, probabilities by the Brier
score of the fires whose state at the horizon is known, both together by the hybrid score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from metrics.errors import BadParameter, BadValue
from metrics.metric import Metric, defined, same_shape
from metrics.sums import Array, Dims, Sums, floats, present, ratio, total, where

Pairing = Literal["all", "harrell"]
SMALL = 2_000  # fires up to which a matrix of all pairs is quicker than loading a compiled loop
SLACK = 1e-9  # a probability that falls by less has not fallen (D-58)
BINS = 10  # of a calibration table (D-60)


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Every pair of fires by its kind; together they are n (n − 1) / 2."""

    event_event: Array  # comparable: both hit, one earlier than the other
    event_censored: Array  # comparable: one hit, the other was censored (by Harrell: not before that)
    concordant: Array  # of the comparable ones: the higher risk hit, or hit earlier
    tied: Array  # of the comparable ones: equal risks
    simultaneous: Array  # not comparable: both hit at the same time (D-52)
    censored_before: Array  # not comparable by Harrell: one was censored before the other hit
    censored_censored: Array  # not comparable: nobody knows which would have hit first

    @property
    def comparable(self) -> Array:
        return self.event_event + self.event_censored

    @property
    def discordant(self) -> Array:
        return self.comparable - self.concordant - self.tied

    @property
    def pairs(self) -> Array:
        return self.comparable + self.simultaneous + self.censored_before + self.censored_censored

    def c_index(self) -> Array:
        """Share of the comparable pairs in the right order, a tie counting one half; missing where there is none."""
        return ratio(self.concordant + 0.5 * self.tied, self.comparable)


def pair_counts(
    risk: Array, time: Array, event: Array, *, pairing: Pairing = "all", draws: Array | None = None
) -> PairCounts:
    """The pairs of a cohort by kind.

    By "all" an event is compared with every censored fire, as the score's definition does; by "harrell" only with those
    censored at its time or later (D-51). `draws` says how often each fire counts (a resampled cohort); its leading axes
    pass through.
    """
    risk, time, event = _checked(risk, time, event)
    if pairing not in ("all", "harrell"):
        raise BadParameter(f"expected the pairing 'all' or 'harrell', got {pairing!r}")
    every = pairing == "all"
    draws = None if draws is None else floats(np.asarray(draws))
    if risk.size <= SMALL:
        both, mixed, concordant, tied = _by_matrix(risk, time, event, every, draws)
    else:
        both, mixed, concordant, tied = _by_walk(risk, time, event, every, draws)
    drawn = np.ones(event.shape) if draws is None else draws
    hits = (drawn * event).sum(-1)
    censored = drawn.sum(-1) - hits
    return PairCounts(
        both,
        mixed,
        concordant,
        tied,
        simultaneous=hits * (hits - 1) / 2 - both,
        censored_before=hits * censored - mixed,
        censored_censored=censored * (censored - 1) / 2,
    )


def _by_matrix(risk: Array, time: Array, event: Array, every: bool, draws: Array | None) -> tuple[Array, ...]:
    """The comparable pairs from a matrix of events by fires; a resampled cohort is then a matrix product."""
    later = time[event, None] < time
    compared = np.where(event, later, True if every else time[event, None] <= time)
    lower, equal = risk[event, None] > risk, risk[event, None] == risk
    kinds = (compared & event, compared & ~event, compared & lower, compared & equal)
    if draws is None:
        return tuple(np.array(np.count_nonzero(each), float) for each in kinds)
    return tuple(((draws[..., event] @ each.astype(float)) * draws).sum(-1) for each in kinds)


def _by_walk(risk: Array, time: Array, event: Array, every: bool, draws: Array | None) -> Array:
    """The same by a compiled loop over the sorted fires, a drawn cohort after the other."""
    from metrics.kernels_survival import ordered_pairs

    if draws is None:
        return np.array(ordered_pairs(risk, time, event, every=every), float)
    found = [
        ordered_pairs(*(np.repeat(each, row) for each in (risk, time, event)), every=every)
        for row in draws.reshape(-1, risk.size).astype(np.int64)
    ]
    return np.array(found, float).T.reshape(4, *draws.shape[:-1])


def concordance_index(risk: Array, time: Array, event: Array, *, pairing: Pairing = "all") -> float:
    """Share of comparable pairs of fires in which the one that hit, or hit earlier, had the higher risk.

    0.5 is what chance gives; equal risks count one half (D-53). An error where no pair can be compared (D-57).

    >>> concordance_index([0.9, 0.4, 0.6], [10, 30, 72], [1, 1, 0])  # right, right, and the second below the third
    0.6666666666666666
    """
    value = pair_counts(risk, time, event, pairing=pairing).c_index()
    return float(defined(value, "no two fires can be compared: the C-index needs a hit and another fire beside it"))


def outcome(time: Array, event: Array, *, horizon: Array) -> Array:
    """1 for a hit by the horizon, 0 for none until then, missing where watching ended before it (D-55, D-56).

    >>> outcome([30, 60, 72, 40], [1, 1, 0, 0], horizon=48)
    array([ 1.,  0.,  0., nan])
    """
    time, event = floats(time), np.asarray(event).astype(bool)
    return where(event, where(time <= horizon, 1.0, 0.0), where(time >= horizon, 0.0))


@dataclass(frozen=True, slots=True)
class BrierSums(Sums):
    """What the Brier score at a horizon needs: of the fires whose state is known then, and who is not."""

    ones: Array
    squared: Array
    excluded: Array

    @classmethod
    def of(cls, probability: Array, happened: Array, *, dim: Dims = None) -> Self:
        """From probabilities and what `outcome` says; a missing outcome is an excluded fire."""
        known = present(happened)
        parts = (known, where(known, happened, 0.0), (floats(probability) - happened) ** 2, ~known)
        return cls(*(total(each, dim) for each in parts))

    @property
    def zeros(self) -> Array:
        return self.n - self.ones

    def brier(self) -> Array:
        """Mean squared difference of probability and outcome, 0 best, 1 worst; missing where no fire is known."""
        return ratio(self.squared, self.n)

    def weighted(self, weights: Array) -> Array:
        """Mean over the last axis, the horizons; one without a known fire is left out and the others share (D-57)."""
        shares = where(self.n > 0, floats(weights), 0.0)
        return ratio(total(shares * self.brier(), -1), total(shares, -1))


def brier_score(probability: Array, time: Array, event: Array, *, horizon: float) -> float:
    """Mean squared difference of the probability of a hit by the horizon and what is known to have happened by then.

    0 is perfect, a constant 0.5 gives 0.25, 1 is worst. Fires censored before the horizon are left out.
    """
    probability, time, event = _checked_probability(probability, time, event)
    sums = BrierSums.of(probability, outcome(time, event, horizon=horizon))
    return float(defined(sums.brier(), f"no fire is known to have hit, or not, by {horizon:g} h"))


def weighted_brier(
    probability: Array, time: Array, event: Array, *, horizons: Sequence[float], weights: Sequence[float]
) -> float:
    """Weighted mean of the Brier scores at several horizons; `probability` has a column for each.

    A horizon at which nothing is known is left out, and the weights of the others are scaled up (D-57).
    """
    probability, time, event = _checked_probability(probability, time, event, len(horizons))
    if len(weights) != len(horizons) or not all(each >= 0 for each in weights) or not sum(weights) > 0:
        raise BadParameter(f"expected a weight of 0 or more for each of {len(horizons)} horizons, got {list(weights)}")
    return float(
        defined(
            _by_horizon(probability, time, event, horizons).weighted(np.asarray(weights)),
            "no fire is known to have hit, or not, by any horizon that has a weight",
        )
    )


def _by_horizon(probability: Array, time: Array, event: Array, horizons: Sequence[float]) -> BrierSums:
    parts = [BrierSums.of(probability[:, at], outcome(time, event, horizon=each)) for at, each in enumerate(horizons)]
    return BrierSums(*(np.array(each) for each in zip(*(part.arrays().values() for part in parts), strict=True)))


def hybrid_score(
    c_index: Array, weighted_brier: Array, *, c_index_weight: float = 0.3, brier_weight: float = 0.7
) -> Array:
    """Weighted mean of the C-index and of one minus the weighted Brier score, 0 worst, 1 best."""
    return (c_index_weight * c_index + brier_weight * (1 - weighted_brier)) / (c_index_weight + brier_weight)


def penalised(score: Array, violating: Array, *, penalty: float = 1.0) -> Array:
    """The score lowered by the share of fires whose probabilities fall from one horizon to a later one (D-58)."""
    return score * (1 - penalty * violating)


def decrease(probability: Array) -> Array:
    """The largest fall from a horizon to the next (last axis), 0 where the probabilities never fall."""
    probability = floats(probability)
    if probability.shape[-1] < 2:
        return np.zeros(probability.shape[:-1])
    return np.maximum(0.0, -np.diff(probability, axis=-1).min(axis=-1))


def violates(probability: Array) -> Array:
    """Whether the probabilities of a fire fall anywhere along the horizons, by more than rounding."""
    return decrease(probability) > SLACK


def repaired(probability: Array) -> Array:
    """The probabilities of each fire in rising order: a repair that must be asked for (D-59)."""
    return np.sort(floats(probability), axis=-1)


@dataclass(frozen=True, slots=True)
class Bin:
    """Forecasts of nearly the same probability, and how often it came true."""

    low: float
    high: float
    predicted: float  # mean probability
    observed: float  # share of hits
    count: int


def calibration(probability: Array, time: Array, event: Array, *, horizon: float, bins: int = BINS) -> tuple[Bin, ...]:
    """Mean probability and share of hits in bins of equal width; the last is closed, empty ones are left out (D-60)."""
    probability, time, event = _checked_probability(probability, time, event)
    happened = outcome(time, event, horizon=horizon)
    known = present(happened)
    probability, happened = probability[known], happened[known]
    which = np.minimum((probability * bins).astype(int), bins - 1)
    counts, predicted, hits = (np.bincount(which, each, bins) for each in (None, probability, happened))
    return tuple(
        Bin(
            at / bins, (at + 1) / bins, float(predicted[at] / counts[at]), float(hits[at] / counts[at]), int(counts[at])
        )
        for at in np.flatnonzero(counts)
    )


def _checked(risk: Array, time: Array, event: Array) -> tuple[Array, Array, Array]:
    """Plain arrays, one value per fire; what is missing or impossible is named by its place (D-63)."""
    risk, time, given = floats(np.asarray(risk)), floats(np.asarray(time)), np.asarray(event)
    same_shape(time, given)
    if time.ndim != 1 or risk.shape[:1] != time.shape:
        raise BadValue(f"expected one value per fire, got shapes {risk.shape}, {time.shape} and {given.shape}")
    _refuse(~np.isfinite(risk), risk, "risk", "a number")
    _refuse(~(np.isfinite(time) & (time >= 0)), time, "time", "a time of 0 or more")
    if given.dtype != bool:
        _refuse(~np.isin(given, (0, 1)), given, "event", "0 or 1")
    return risk, time, given.astype(bool)


def _checked_probability(
    probability: Array, time: Array, event: Array, horizons: int | None = None
) -> tuple[Array, Array, Array]:
    probability, time, event = _checked(probability, time, event)
    _refuse((probability < 0) | (probability > 1), probability, "probability", "a probability between 0 and 1")
    if probability.shape[1:] != (() if horizons is None else (horizons,)):
        raise BadValue(f"expected probabilities of {horizons or 1} horizons, got an array of shape {probability.shape}")
    return probability, time, event


def _refuse(wrong: Any, values: Array, name: str, expected: str) -> None:
    if wrong.any():
        where_wrong = np.argwhere(wrong)[0]
        raise BadValue(f"fire {where_wrong[0]}: {name} {values[tuple(where_wrong)]}; expected {expected}")


METRICS = tuple(
    Metric(function, unit="1", range="[0, 1]", symbol=symbol)
    for function, symbol in (
        (concordance_index, "C"),
        (brier_score, "BS"),
        (weighted_brier, "WB"),
        (hybrid_score, ""),
    )
)
