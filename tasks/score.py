"""Score: sums into KPI values, normalised and weighed into a card per scheme. Microseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.case import Case, Instance
from metrics.errors import Undefined
from metrics.kpis.kpi import Reduced, Rules, evaluate
from metrics.scoring.scorecard import ScoreCard, UnitScore, score, unit_score
from tasks.reducing.table import read_sums


@task(task_run_name="score-{model}", cache_policy=NO_CACHE)
def score_model(case: Case, model: str, cycle: datetime, sums: Path, schemes: Sequence[str]) -> list[ScoreCard]:
    """The model's card under each scheme."""
    return cards(case, model, cycle, read_sums(sums, case.instances), schemes)


def cards(
    case: Case, model: str, cycle: datetime, reduced: Mapping[str, Reduced], schemes: Sequence[str]
) -> list[ScoreCard]:
    """Every KPI is evaluated once; the schemes only weigh."""
    units = {name: unit(case.rules, instance, reduced[name]) for name, instance in case.instances.items()}
    missing = [each for each in units.values() if each.score is None]
    if case.strict and missing:
        raise Undefined(
            f"model {model!r}: {missing[0].id} has no value ({missing[0].result.reason}) and the case is strict"
        )
    return [
        score(
            case=case.id,
            model=model,
            cycle=f"{cycle:%Y-%m-%dT%H:%MZ}",
            scheme=case.scheme(letter),
            groups=case.groups,
            units=units,
        )
        for letter in schemes
    ]


def unit(rules: Rules, instance: Instance, reduced: Reduced) -> UnitScore:
    """One KPI's value and score; its weight comes with the scheme."""
    result = evaluate(instance.kpi, reduced, unit=instance.unit, aggregate=instance.aggregate, rules=rules)
    return UnitScore(
        id=instance.id,
        name=instance.name,
        result=result,
        normalisation=instance.normalisation,
        best=instance.kpi.best,
        worst=instance.kpi.worst,
        weight=1.0,
        score=unit_score(result, instance.normalisation),
    )
