"""The card as the record that is kept: plain data, the same bytes from the same inputs, missing as null."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any

from configs.case import Case, Instance
from metrics.scoring.normalise import Normalisation, clean, format_score, round_score
from metrics.scoring.scorecard import GroupScore, ScoreCard, UnitScore, short_id
from tasks.store.digests import InputFile

SCHEMA = "firecard.card/1"


def card_record(
    case: Case,
    card: ScoreCard,
    cycle: datetime,
    ledger: Mapping[str, Any],
    how: Mapping[str, Mapping[str, Any]],
    reports: Mapping[str, Mapping[str, Any]],
    inputs: Sequence[InputFile],
) -> dict[str, Any]:
    """Everything a card says, as plain data."""
    scored = [unit for unit in card.units if unit.score is not None]
    return {
        "schema": SCHEMA,
        "case": card.case,
        "title": case.title,
        "scheme": card.scheme,
        "model": card.model,
        "cycle": card.cycle,
        "window": case.window.describe(cycle),
        "total": _score(card.total),
        "scored": {"kpis": len(scored), "of": len(card.units)},
        "groups": [_group(case, group) for group in card.groups],
        "partial": card.partial,
        "ledger": dict(ledger),
        "reports": dict(reports),
        "matching": {
            "min_completeness": case.rules.min_completeness,
            "min_pairs": case.rules.min_pairs,
            "min_coverage": case.rules.min_coverage,
            "missing_model": case.rules.missing_model,
            **how,
        },
        "provenance": {
            "case": {"name": case.path.name, "sha256": case.digest},
            "inputs": [{"name": each.name, "sha256": each.sha256, "bytes": each.size} for each in inputs],
            "versions": {
                "firecard": version("firecard"),
                "numpy": version("numpy"),
                "python": platform.python_version(),
            },
        },
    }


def card_bytes(record: Mapping[str, Any]) -> bytes:
    """The record as it is written: strict JSON, one layout."""
    return (json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _score(score: float | None) -> dict[str, Any] | None:
    return None if score is None else {"score": round_score(score), "text": format_score(score)}


def _group(case: Case, group: GroupScore) -> dict[str, Any]:
    return {
        "name": group.name,
        "weight": clean(group.weight),
        "score": None if group.score is None else round_score(group.score),
        "text": format_score(group.score),
        "kpis": [_unit(case, unit) for unit in group.units],
    }


def _unit(case: Case, unit: UnitScore) -> dict[str, Any]:
    instance: Instance = case.instances[unit.id]
    result = unit.result
    return {
        "id": short_id(case.id, unit.id),
        "name": unit.name,
        "kpi": instance.kpi.id,
        "variable": instance.variable.name,
        "parameters": {name: value for name, value in instance.parameters.items() if value is not None},
        "aggregate": instance.aggregate,
        "window": {
            "hours": instance.window.hours,
            "offset": instance.window.offset,
            "first_lead": instance.window.first_lead,
            "closed": instance.window.closed,
        },
        "value": _clean(result.value),
        "unit": result.unit,
        "best": unit.best,
        "worst": unit.worst,
        "normalisation": _normalisation(unit.normalisation),
        "weight": clean(unit.weight),
        "score": None if unit.score is None else round_score(unit.score),
        "text": format_score(unit.score),
        "n": result.n,
        "stations": {"used": result.used, "total": result.total, "dropped": dict(result.dropped)},
        "coverage": _clean(result.coverage),
        "flags": list(result.flags),
        "reason": result.reason or None,
        "details": {name: _clean(value) for name, value in result.details.items()},
        "left_out": dict(result.left_out),
    }


def _normalisation(normalisation: Normalisation) -> dict[str, Any]:
    upper = "b" if normalisation.kind == "bounded" else "m"
    return {"kind": normalisation.kind, "a": normalisation.a, upper: normalisation.m}


def _clean(value: float | None) -> float | None:
    return None if value is None else clean(value)
