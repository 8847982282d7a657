"""Who is best at what, and in which order: winners of single contests and a ranking with its tie-breaks.

The same rules serve any set of contests (fields of a template, KPIs of a case) and any models. Marks are larger where
better and come in their order of precedence: F1, precision, recall of a field; the score of a KPI. Marks closer than
1e-12 are equal (D-38).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

import numpy as np

from metrics.errors import BadParameter
from metrics.scoring.normalise import clean
from metrics.scoring.scorecard import Scheme, ScoreCard, aggregate

Outcome = Literal["sole", "shared", "tie"]
Marks = Sequence[float]
SAME = 1e-12

BADGES: dict[Outcome, str] = {"sole": "green", "shared": "blue", "tie": "blue"}
TITLES: dict[Outcome, str] = {"sole": "Sole winner", "shared": "Shared victory", "tie": "Universal tie"}
TIERS = ((0.9, "Excellent", "green"), (0.7, "Good", "yellow"), (0.0, "Needs Improvement", "red"))


@dataclass(frozen=True, slots=True)
class Contest:
    """One field or KPI: the models that share the best marks, and what each of them wins."""

    name: str
    outcome: Outcome
    winners: tuple[str, ...]

    @property
    def wins(self) -> dict[str, float]:
        """1 for a sole winner, 1/N for each of N; nothing where all models are alike (R-002-32 to 34)."""
        return {} if self.outcome == "tie" else {model: 1 / len(self.winners) for model in self.winners}


@dataclass(frozen=True, slots=True)
class Place:
    """One model's place; `decided_by` names the criterion that sets it apart from the model above."""

    rank: int
    model: str
    marks: tuple[float, ...]
    wins: float
    decided_by: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Models in order, and the contests that they won or lost."""

    places: tuple[Place, ...]
    contests: tuple[Contest, ...]
    criteria: tuple[str, ...]


def contest(name: str, marks: Mapping[str, Marks]) -> Contest:
    """Who wins: the best by the first mark, then by the next; all alike is a universal tie (D-36)."""
    if not marks:
        raise BadParameter(f"{name}: a contest needs at least one model")
    levels = _levels(marks)
    best = max(levels.values())
    winners = tuple(sorted((model for model, level in levels.items() if level == best), key=_alphabetical))
    outcome: Outcome = "tie" if len(winners) == len(marks) else "sole" if len(winners) == 1 else "shared"
    return Contest(name, outcome, winners)


def rank(
    marks: Mapping[str, Marks], contests: Sequence[Contest], criteria: Sequence[str], *, won: str = "wins"
) -> Ranking:
    """Models by marks, then by wins, then alphabetically: ranks are 1 to n without ties (R-002-35, D-38)."""
    wins = dict.fromkeys(marks, 0.0)
    for each in contests:
        for model, share in each.wins.items():
            wins[model] += share
    levels = _levels({model: (*marks[model], wins[model]) for model in marks})
    ordered = sorted(marks, key=lambda model: (*(-level for level in levels[model]), *_alphabetical(model)))
    named = (*criteria, won)
    places = []
    for index, model in enumerate(ordered):
        above = levels[ordered[index - 1]] if index else None
        decided = (
            ""
            if above is None
            else next(
                (name for name, mine, theirs in zip(named, levels[model], above, strict=True) if mine != theirs),
                "alphabetical order",
            )
        )
        places.append(Place(index + 1, model, tuple(marks[model]), wins[model], decided))
    return Ranking(tuple(places), tuple(contests), (*named, "alphabetical order"))


def _levels(marks: Mapping[str, Marks]) -> dict[str, tuple[int, ...]]:
    """Each mark as its place among all models' marks, those closer than rounding in one place."""
    columns = []
    for column in zip(*marks.values(), strict=True):
        ordered = np.sort(np.asarray(column, dtype=float))
        steps = np.flatnonzero(np.diff(ordered) > SAME)
        columns.append(np.searchsorted(ordered[steps + 1] - SAME / 2, column, side="right"))
    return {model: tuple(int(column[index]) for column in columns) for index, model in enumerate(marks)}


def _alphabetical(model: str) -> tuple[str, str]:
    """Case aside first, then by code point."""
    return model.casefold(), model


@dataclass(frozen=True, slots=True)
class Common:
    """Models ranked on the KPIs that all of them have: the totals on these, and what was left out, with its reason."""

    ranking: Ranking
    kpis: tuple[str, ...]
    left_out: Mapping[str, str]
    totals: Mapping[str, float | None]


def rank_cards(cards: Sequence[ScoreCard], scheme: Scheme) -> Common:
    """The models of one case, scheme and cycle by their total over the KPIs that all of them have (D-05).

    A KPI that one of them lacks counts for none: a partial total is never compared with a complete one.
    """
    scores = {card.model: {unit.id: unit.score for unit in card.units} for card in cards}
    ids = [unit.id for unit in cards[0].units]
    lacking = {each: [model for model, own in scores.items() if own[each] is None] for each in ids}
    common = tuple(each for each in ids if not lacking[each])
    groups = {group.name: tuple(unit.id for unit in group.units) for group in cards[0].groups}
    totals: dict[str, float | None] = {}
    for model, own in scores.items():
        units = {each: np.float64(own[each]) if each in common else np.float64(np.nan) for each in ids}
        value = float(aggregate(units, groups, scheme).total)
        totals[model] = None if np.isnan(value) else value
    contests = [contest(each, {model: (_score(own[each]),) for model, own in scores.items()}) for each in common]
    ranked = {model: (value,) for model, value in totals.items() if value is not None}
    return Common(
        ranking=rank(ranked, contests if ranked else [], ("total score",), won="KPIs won"),
        kpis=common,
        left_out={each: f"no score of {', '.join(models)}" for each, models in lacking.items() if models},
        totals=totals,
    )


def _score(score: float | None) -> float:
    return float("nan") if score is None else score


def tier(value: float) -> str:
    """Excellent from 0.9, Good from 0.7, else Needs Improvement: of the value itself, not of how it is shown (D-37)."""
    return next(name for least, name, _ in TIERS if clean(value) >= least)


def colour(value: float) -> str:
    """The tier's colour: green, yellow or red (R-002-49)."""
    return next(shade for least, _, shade in TIERS if clean(value) >= least)


def percent(value: float) -> str:
    """A fraction as it is shown: per cent with one decimal, half up (D-42).

    >>> percent(2 / 3), percent(0.9995), percent(0.00049999)
    ('66.7 %', '100.0 %', '0.0 %')
    """
    return f"{_tenth(Decimal(f'{value:.12g}') * 100)} %"


def wins_text(wins: float) -> str:
    """A number of wins: whole where it is one, else with one decimal (D-39)."""
    number = Decimal(f"{wins:.12g}")
    return f"{number:.0f}" if number == number.to_integral_value() else str(_tenth(number))


def _tenth(number: Decimal) -> Decimal:
    return number.quantize(Decimal("0.1"), rounding=ROUND_HALF_UP)
