"""Unit scores into group scores into one total, and the card that holds them (R-000-03 to R-000-16).

A KPI without a value is left out and the remaining weights are rescaled (D-05); nothing is rounded before the card is
written. Scores are arrays with leading replicate axes, missing is NaN, so that intervals come from the same functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from metrics.errors import BadParameter
from metrics.kpis.kpi import KpiResult
from metrics.scoring.normalise import Normalisation, format_score
from metrics.sums import Array, floats, present, ratio, total


@dataclass(frozen=True, slots=True)
class Scheme:
    """One way to weigh: a letter, weights of KPIs in their group and of groups in the total, 1 where not named.

    The mean scheme (`by_count`) weighs a group by the number of its scored KPIs, so that every KPI counts alike (D-04).
    """

    letter: str
    kpis: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, float] = field(default_factory=dict)
    by_count: bool = False

    def __post_init__(self) -> None:
        for what, weights in (("KPI", self.kpis), ("group", self.groups)):
            for name, weight in weights.items():
                if not (np.isfinite(weight) and weight >= 0):
                    raise BadParameter(
                        f"scheme {self.letter}: the weight of {what} {name} must be 0 or more, got {weight}"
                    )

    def kpi_weight(self, name: str) -> float:
        return self.kpis.get(name, 1.0)

    def group_weight(self, name: str) -> float:
        return self.groups.get(name, 1.0)


def weighted_mean(scores: Sequence[Array], weights: Sequence[Array]) -> Array:
    """Mean of the scores that are there, by weight; missing where no weight is left."""
    stacked = np.stack(np.broadcast_arrays(*(floats(each) for each in scores)), axis=-1)
    weighing = np.stack(np.broadcast_arrays(*(floats(each) for each in weights)), axis=-1) * present(stacked)
    return ratio(total(stacked * weighing, -1), total(weighing, -1))


@dataclass(frozen=True, slots=True)
class Totals:
    """The scores of one scheme: each group with the weight that it had, and the total."""

    groups: Mapping[str, Array]
    weights: Mapping[str, Array]
    total: Array


def aggregate(units: Mapping[str, Array], groups: Mapping[str, Sequence[str]], scheme: Scheme) -> Totals:
    """Group scores and total of the unit scores under a scheme; a missing unit score (NaN) carries no weight."""
    scores, weights = {}, {}
    for name, members in groups.items():
        inside = [scheme.kpi_weight(each) for each in members]
        scores[name] = weighted_mean([units[each] for each in members], inside)
        if scheme.by_count:
            weights[name] = sum(present(floats(units[each])) * 1.0 for each in members)
        else:
            weights[name] = floats(scheme.group_weight(name))
    return Totals(scores, weights, weighted_mean(list(scores.values()), list(weights.values())))


@dataclass(frozen=True, slots=True)
class UnitScore:
    """One KPI of a card: its instance id and name, its result, how it was normalised and what it scored."""

    id: str
    name: str
    result: KpiResult
    normalisation: Normalisation
    best: float
    worst: float | str
    weight: float
    score: float | None


@dataclass(frozen=True, slots=True)
class GroupScore:
    """One group of a card with its KPIs in order."""

    name: str
    weight: float
    score: float | None
    units: tuple[UnitScore, ...]


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """One model's scores of one case, scheme and cycle."""

    case: str
    scheme: str
    model: str
    cycle: str
    total: float | None
    groups: tuple[GroupScore, ...]
    partial: bool  # a KPI that counts is missing though the model offers it (D-05), or rests on too few stations

    @property
    def units(self) -> tuple[UnitScore, ...]:
        return tuple(unit for group in self.groups for unit in group.units)

    def rows(self) -> list[tuple[str, str]]:
        """The card as label and score: the total, then each group followed by its KPIs (R-000-14 to R-000-16)."""
        rows = [(f"Total Score {self.case} agg. {self.scheme}: {self.model}", format_score(self.total))]
        for group in self.groups:
            rows.append((f"**Group** {group.name}", format_score(group.score)))
            rows += [(short_id(self.case, unit.id), format_score(unit.score)) for unit in group.units]
        return rows


def short_id(case: str, instance: str) -> str:
    """The KPI's id without the case's, which stands in the first row."""
    return instance.removeprefix(f"{case}-")


def unit_score(result: KpiResult, normalisation: Normalisation) -> float | None:
    """The score of one KPI: None without a value, 0 where the model left too many holes (D-17)."""
    if result.penalised:
        return 0.0
    return None if result.value is None else float(normalisation(result.value))


def score(
    *,
    case: str,
    model: str,
    cycle: str,
    scheme: Scheme,
    groups: Mapping[str, Sequence[str]],
    units: Mapping[str, UnitScore],
) -> ScoreCard:
    """The card of one model under one scheme; `units` hold each KPI's score, their weights come from the scheme."""
    scores = {name: np.nan if unit.score is None else unit.score for name, unit in units.items()}
    totals = aggregate(scores, groups, scheme)
    return ScoreCard(
        case=case,
        scheme=scheme.letter,
        model=model,
        cycle=cycle,
        total=_number(totals.total),
        groups=tuple(
            GroupScore(
                name=name,
                weight=float(totals.weights[name]),
                score=_number(totals.groups[name]),
                units=tuple(replace(units[each], weight=scheme.kpi_weight(each)) for each in members),
            )
            for name, members in groups.items()
        ),
        partial=bool(np.isnan(totals.total))
        or any(
            (units[each].score is None and units[each].result.offered) or units[each].result.thin
            for name, members in groups.items()
            for each in members
            if scheme.group_weight(name) * scheme.kpi_weight(each) > 0
        ),
    )


def _number(value: Array) -> float | None:
    return None if np.isnan(value) else float(value)
