"""The threat family: probabilities that a fire hits by each horizon, against when it did or how long it was watched."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from configs.case import Case, Instance
from configs.threat import columns
from metrics.kpis.kpi import KpiResult
from metrics.kpis.threat import Cohort, ThreatRules, ThreatScores, threat_scores
from metrics.survival import SLACK, Pairing
from tasks.families.family import Account, Family, FoundFiles, Work
from tasks.matching.threat import Sample, match_fires, read_fires, read_sample, sample_of, write_fires, write_sample
from tasks.readers.threat import joined, read_outcomes, read_probabilities
from tasks.report.threat import markdown, threat_report

NAME = "threat"
BRIER = ("fire_threat_weighted_brier", "fire_threat_brier")


def match_key(case: Case, found: FoundFiles) -> Any:
    return (found.data, case.observations[NAME], case.threat.unmatched)


def match(case: Case, found: FoundFiles, path: Path, _work: Work) -> None:
    """The fires of both sides, joined by id."""
    ours, theirs = found.data, case.observations[NAME]
    by_horizon = columns(ours.options["probabilities"])
    forecasts = joined(
        (
            each.path,
            read_probabilities(each.path, fire=ours.options["id"], columns=by_horizon, source=ours.source),
        )
        for each in found.files
    )
    options = {name: theirs.options[name] for name in ("time", "event", "unit")}
    outcomes = joined(
        (each.path, read_outcomes(each.path, fire=theirs.options["id"], source=theirs.source, **options))
        for each in found.observations
    )
    how = {
        "fires": "joined by id",
        "time": f"{options['time']} in {options['unit']}",
        "unmatched": case.threat.unmatched,
    }
    fires = match_fires(forecasts, outcomes, horizons=tuple(by_horizon), unmatched=case.threat.unmatched, how=how)
    write_fires(path, fires)


def reduce_key(case: Case) -> Any:
    return case.threat.repair


def reduce(case: Case, model: str, cycle: datetime, pairs: Path, path: Path) -> None:
    """The sample whole, a row a fire: a C-index does not add."""
    labels = {"case": case.id, "model": model, "cycle": f"{cycle:%Y-%m-%dT%H:%MZ}"}
    write_sample(path, sample_of(read_fires(pairs), repair=case.threat.repair == "sort"), labels)


def finish(case: Case, sums: Path) -> dict[str, KpiResult]:
    """Every KPI's value with what it rests on."""
    sample = read_sample(sums)
    return {name: result(each, sample, case) for name, each in case.instances_of(NAME).items()}


def result(instance: Instance, sample: Sample, case: Case) -> KpiResult:
    """One KPI of the fires; without a value where nothing can be compared or nothing is known (D-57)."""
    rules = bound(instance, case.threat)
    scores = threat_scores(sample.cohort, rules)
    value = number(instance.kpi.value(scores))
    ranks, weighs = instance.kpi.id not in BRIER, instance.kpi.id != "fire_threat_c_index"
    flags = [
        *(brier_flags(scores) if weighs else ()),
        *(fall_flags(sample, rules) if sample.repaired or instance.kpi.id == "fire_threat_hybrid" else ()),
    ]
    fires = len(sample.cohort.time)
    coverage = fires / sample.expected
    terms = fires if ranks and weighs else scores.pairs.comparable if ranks else scores.brier.n.sum()
    found = KpiResult(
        value=value,
        unit=instance.unit,
        n=int(terms),
        used=fires,
        total=sample.expected,
        coverage=coverage,
        flags=tuple(flags),
        reason="" if value is not None else why_no_value(scores, ranks),
        details=details(instance, sample.cohort, scores),
        left_out=sample.left_out,
    )
    if value is None:
        found = replace(found, flags=(found.reason, *flags))
    if coverage < case.rules.min_coverage - 1e-12:
        text = f"coverage {coverage:.1%} is below {case.rules.min_coverage:.0%}"
        if case.rules.missing_model == "drop":
            return replace(found, value=None, reason=text, flags=(text, *flags))
        found = replace(found, penalised=True, flags=(*found.flags, f"{text}: scored 0"))
    return found


def bound(instance: Instance, rules: ThreatRules) -> ThreatRules:
    """The case's rules, with the horizon that the KPI itself names."""
    own = instance.parameters.get("horizon")
    if own is None:
        return rules
    return replace(rules, risk_horizon=own, horizons={own: 1.0})


def brier_flags(scores: ThreatScores) -> list[str]:
    """Horizons that say less than they seem to."""
    flags = []
    for at, (horizon, weight) in enumerate(scores.rules.horizons.items()):
        known, ones = int(scores.brier.n[at]), int(scores.brier.ones[at])
        if not weight:
            continue
        if not known:
            flags.append(f"{horizon:g} h: no fire is known by then; its weight goes to the other horizons")
        elif ones in (0, known):
            flags.append(f"{horizon:g} h: one outcome only, {'all' if ones else 'none'} of the {known} fires known hit")
    return flags


def fall_flags(sample: Sample, rules: ThreatRules) -> list[str]:
    """What became of probabilities that fall from a horizon to a later one."""
    falling, fires = int((sample.falls > SLACK).sum()), len(sample.falls)
    if not falling:
        return []
    said = f"{falling} of {fires} fires have a probability that falls with the horizon"
    if sample.repaired:
        return [f"{said}: sorted before scoring"]
    return [f"{said}: hybrid lowered by {rules.penalty * falling / fires:.1%}"]


def details(instance: Instance, cohort: Cohort, scores: ThreatScores) -> dict[str, float | None]:
    """The numbers beside the value."""
    rules = scores.rules
    match instance.kpi.id:
        case "fire_threat_c_index":
            other: Pairing = "harrell" if rules.pairing == "all" else "all"
            return {
                f"by_{other}": number(cohort.c_index(rules.risk_horizon, other)),
                **{f"at_{each:g}h": number(cohort.c_index(each, rules.pairing)) for each in cohort.horizons},
            }
        case "fire_threat_hybrid" | "fire_threat_hybrid_unpenalised":
            return {
                "c_index": number(scores.c_index),
                "weighted_brier": number(scores.weighted_brier),
                "unpenalised": number(scores.unpenalised),
                "penalised": number(scores.hybrid),
                "violating": number(scores.violating),
            }
    brier = scores.brier.brier()
    return {f"at_{horizon:g}h": number(brier[at]) for at, horizon in enumerate(rules.horizons)}


def why_no_value(scores: ThreatScores, ranks: bool) -> str:
    if ranks and not scores.pairs.comparable:
        if scores.pairs.pairs == 0:
            return "one fire cannot be compared with anything"
        alone = scores.pairs.pairs == scores.pairs.censored_censored
        return "no two fires can be compared" + (": no fire hit" if alone else "")
    return "no fire is known to have hit, or not, by any horizon"


def number(value: Any) -> float | None:
    return None if isnan(value) else float(value)


def account(pairs: Path) -> Account:
    fires = read_fires(pairs)
    rows = {"station": fires.table["fire"], "variable": NAME, "reason": fires.table["reason"], "count": 1}
    return Account(pd.DataFrame(rows), fires.how)


def report(case: Case, _pairs: Path, sums: Path) -> dict[str, Any]:
    return threat_report(read_sample(sums), case.threat)


FAMILY = Family(NAME, match_key, match, reduce_key, reduce, finish, account, report, markdown)
