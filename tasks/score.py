"""Score: sums into KPI values, normalised and weighed into a card per scheme. Microseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.case import Case, Instance
from metrics.errors import Undefined
from metrics.kpis.kpi import KpiResult
from metrics.scoring.scorecard import ScoreCard, UnitScore, score, unit_score
from tasks.families import FAMILIES


@task(task_run_name="score-{model}", cache_policy=NO_CACHE)
def score_model(
    case: Case, model: str, cycle: datetime, sums: Mapping[str, Path], schemes: Sequence[str]
) -> list[ScoreCard]:
    """The model's card under each scheme, from the sums of its families."""
    results: dict[str, KpiResult] = {}
    for family, path in sums.items():
        results |= FAMILIES[family].finish(case, path)
    return cards(case, model, cycle, results, schemes)


def cards(
    case: Case, model: str, cycle: datetime, results: Mapping[str, KpiResult], schemes: Sequence[str]
) -> list[ScoreCard]:
    """Every KPI is evaluated once; the schemes only weigh. A family that the model has no data of is not offered."""
    absent = {
        name: KpiResult(
            None, each.unit, offered=False, reason="not offered by this model", flags=("not offered by this model",)
        )
        for name, each in case.instances.items()
    }
    units = {name: unit(each, {**absent, **results}[name]) for name, each in case.instances.items()}
    missing = [each for each in units.values() if each.score is None]
    if case.strict and missing:
        reason = missing[0].result.reason
        raise Undefined(f"model {model!r}: {missing[0].id} has no value ({reason}) and the case is strict")
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


def unit(instance: Instance, result: KpiResult) -> UnitScore:
    """One KPI's value and score; its weight comes with the scheme."""
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
