"""Fire threat: C-index of both pairings and the weighted Brier score, of small, large and very large cohorts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from workload import Disagreement, Goal, Results, Seconds, Skipped, Trial, faster, within

ID = "W4"
WORK = "C-index of both pairings and weighted Brier score of censored fires"
SMALL, LARGE, LARGEST = 221, 20_000, 200_000
TIMES = LARGEST // LARGE
HORIZONS, WEIGHTS = (24.0, 48.0, 72.0), (0.3, 0.4, 0.3)

Cohort = tuple[np.ndarray, np.ndarray, np.ndarray]  # probabilities (fire, horizon), times, events


def prepare() -> Trial:
    try:
        import lifelines  # noqa: F401
        from sksurv.metrics import concordance_index_censored as by_sksurv
    except ImportError as missing:
        raise Skipped(f"{missing.name} is not installed; `make bench` makes an environment that has it") from missing
    from metrics.survival import concordance_index, weighted_brier

    contenders: dict[str, Callable[[], Any]] = {}
    for fires in (SMALL, LARGE, LARGEST):
        probability, time, event = cohort(fires)
        risk = np.ascontiguousarray(probability[:, 0])
        of = named(fires)
        contenders |= {
            f"two argsorts, {of}": lambda risk=risk, time=time: (np.argsort(risk), np.argsort(time)),
            f"firecard all, {of}": lambda risk=risk, time=time, event=event: concordance_index(risk, time, event),
            f"firecard harrell, {of}": lambda risk=risk, time=time, event=event: concordance_index(
                risk, time, event, pairing="harrell"
            ),
            f"firecard weighted Brier, {of}": lambda probability=probability, time=time, event=event: weighted_brier(
                probability[:, 1:], time, event, horizons=HORIZONS, weights=WEIGHTS
            ),
        }
        if fires < LARGEST:  # scikit-survival would need minutes and a matrix of all pairs
            contenders |= {
                f"scikit-survival, {of}": lambda risk=risk, time=time, event=event: by_sksurv(
                    event, time, risk, tied_tol=0
                )[0],
                f"lifelines, {of}": lambda risk=risk, time=time, event=event: by_lifelines(time, -risk, event),
            }
        if fires == LARGE:
            for pairing in ("all", "harrell"):
                once = contenders[f"firecard {pairing}, {of}"]
                contenders[f"firecard {pairing}, {TIMES} × {of}"] = lambda once=once: [once() for _ in range(TIMES)]
    small, large, largest = named(SMALL), named(LARGE), named(LARGEST)
    both = [f"firecard {pairing}, {large}" for pairing in ("all", "harrell")]
    return Trial(
        inputs=f"{SMALL:,}, {LARGE:,} and {LARGEST:,} fires, 30 % of them hit, no ties; seeded",
        contenders=contenders,
        agree=agree,
        goals=(
            faster(both[1], f"scikit-survival, {large}", than="scikit-survival", least=150, stretch=200),
            faster(both[1], f"lifelines, {large}", than="lifelines", least=25),
            *(within(each, f"two argsorts, {large}", most=1.5) for each in both),
            *(growth(f"firecard {pairing}", large, largest) for pairing in ("all", "harrell")),
            within(f"firecard weighted Brier, {large}", f"two argsorts, {large}"),
            faster(f"firecard harrell, {small}", f"scikit-survival, {small}", than="scikit-survival"),
            faster(f"firecard harrell, {small}", f"lifelines, {small}", than="lifelines"),
        ),
        notes=(
            "The peers know Harrell's pairing only; scikit-survival is too slow and too large for 200k. Before any",
            "time is taken both pairings are checked: at 221 by looking at every pair, above that Harrell's against",
            "the peers and all pairs by ranks; the weighted Brier score fire by fire at 221. Growth compares 200k with",
            "ten times 20k, so that a busy machine interrupts both alike.",
        ),
    )


def named(fires: int) -> str:
    return f"{fires // 1000}k" if fires >= 1000 else str(fires)


def cohort(fires: int) -> Cohort:
    """Fires whose probabilities know something of when they hit."""
    rng = np.random.default_rng(20261117)
    hidden, watched = rng.exponential(120, fires), rng.uniform(1, 100, fires)
    scale = hidden * rng.lognormal(0, 0.5, fires)
    probability = 1 - np.exp(-np.array([12.0, *HORIZONS]) / scale[:, None])
    return probability, np.minimum(hidden, watched), hidden <= watched


def growth(ours: str, smaller: str, larger: str) -> Goal:
    """The power of the number of fires with which the time grows."""

    def exponent(seconds: Seconds) -> float:
        ratio = TIMES * seconds[f"{ours}, {larger}"] / seconds[f"{ours}, {TIMES} × {smaller}"]
        return math.log(ratio) / math.log(LARGEST / LARGE)

    return Goal(f"{ours}: growth exponent, {smaller} to {larger}", exponent, "≤", 1.2, 1.15, unit="")


def agree(results: Results) -> None:
    """Every count against brute force or a peer; a disagreement ends the workload."""
    probability, time, event = cohort(SMALL)
    for pairing in ("all", "harrell"):
        same(f"firecard {pairing}, {named(SMALL)}", results, by_every_pair(probability[:, 0], time, event, pairing))
    same(f"firecard weighted Brier, {named(SMALL)}", results, fire_by_fire(probability, time, event))
    for fires in (SMALL, LARGE):
        for peer in ("scikit-survival", "lifelines"):
            same(f"firecard harrell, {named(fires)}", results, results[f"{peer}, {named(fires)}"])
    for fires in (LARGE, LARGEST):
        probability, time, event = cohort(fires)
        same(f"firecard all, {named(fires)}", results, by_ranks(probability[:, 0], time, event))
    same(f"firecard harrell, {named(LARGEST)}", results, by_lifelines(time, -probability[:, 0], event))


def by_lifelines(time: np.ndarray, predicted: np.ndarray, event: np.ndarray) -> float:
    from lifelines.utils import concordance_index

    return float(concordance_index(time, predicted, event))


def by_ranks(risk: np.ndarray, time: np.ndarray, event: np.ndarray) -> float:
    """Hits among themselves by lifelines; hits against all censored fires by their ranks, as Mann and Whitney do."""
    hits, censored = int(event.sum()), int((~event).sum())
    ranks = np.empty(len(risk))
    ranks[np.argsort(risk)] = np.arange(len(risk))
    both, mixed = hits * (hits - 1) / 2, hits * censored
    right = both * by_lifelines(time[event], -risk[event], event[event]) + ranks[event].sum() - both
    return right / (both + mixed)


def same(name: str, results: Results, expected: float) -> None:
    if abs(results[name] - expected) > 1e-10:
        raise Disagreement(f"{name} has {results[name]}, expected {expected}")


def by_every_pair(risk: np.ndarray, time: np.ndarray, event: np.ndarray, pairing: str) -> float:
    right = comparable = 0.0
    for one in np.flatnonzero(event):
        for other in range(len(risk)):
            later = time[one] < time[other] if event[other] else pairing == "all" or time[one] <= time[other]
            if later and one != other:
                comparable += 1
                right += 1.0 if risk[one] > risk[other] else 0.5 * (risk[one] == risk[other])
    return right / comparable


def fire_by_fire(probability: np.ndarray, time: np.ndarray, event: np.ndarray) -> float:
    found = 0.0
    for at, (horizon, weight) in enumerate(zip(HORIZONS, WEIGHTS, strict=True), start=1):
        terms = [
            (probability[fire, at] - float(event[fire] and time[fire] <= horizon)) ** 2
            for fire in range(len(time))
            if event[fire] or time[fire] >= horizon
        ]
        found += weight * sum(terms) / len(terms)
    return found / sum(WEIGHTS)
