"""The card in the form of FireBench's result file, with its keys and its names of KPIs (R-000-33).

A KPI without a value is not in it, as FireBench leaves out what it ignores; the weights of the others are rescaled on
both sides. Scores are not rounded, as there. It says when it was written, so that it is no part of the record.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from configs.case import Case
from metrics.scoring.scorecard import ScoreCard, short_id
from tasks.families.family import FoundFiles
from tasks.readers.firebench import dataset_version
from tasks.store.digests import InputFile, code_digest

UNOFFICIAL = "Unofficial"  # FireBench's word for a dataset without a version


def firebench_result(
    case: Case, card: ScoreCard, found: Mapping[str, FoundFiles], report: bytes, when: datetime | None = None
) -> dict[str, Any]:
    """Everything that FireBench writes of a run, from a card; `report` is the card's PDF."""
    names = case.firebench
    observed = _once(each for files in found.values() for each in files.observations)
    given = _once(each for files in found.values() for each in files.files)
    versions = [said for each in observed if (said := dataset_version(each.path))]
    scored = [unit for unit in card.units if unit.score is not None]
    groups = {f"Score {group.name}": group.score for group in card.groups if group.score is not None}
    total = {} if card.total is None else {"Score Total": card.total}
    return {
        "created_on": (when or datetime.now(UTC)).isoformat(timespec="seconds"),
        "case_version": versions[0] if versions else UNOFFICIAL,
        "firebench_version": f"firecard {version('firecard')}",
        "case_name": names.name if names else case.title,
        "benchmark_short_name": names.short_name if names else case.id,
        "case_id": case.id,
        "evaluated_model_name": card.model,
        "obs_dataset_hash": _digest(observed),
        "model_output": _digest(given),
        "benchmark_script": code_digest(),
        "benchmarks": {
            benchmark(case, unit.id): {unit.name: unit.result.value, "Score": unit.score} for unit in scored
        },
        "score_card": {
            "Scheme": {
                group.name: {
                    "weight": group.weight,
                    "benchmarks": {benchmark(case, unit.id): unit.weight for unit in group.units},
                }
                for group in card.groups
            },
            **groups,
            **total,
            "aggregation_scheme_name": card.scheme,
            "benchmark_target_name": card.scheme,
        },
        "score_card_report_hash": hashlib.sha256(report).hexdigest(),
    }


def firebench_bytes(result: Mapping[str, Any]) -> bytes:
    """Laid out as FireBench does."""
    return json.dumps(result, indent=4, sort_keys=True, allow_nan=False).encode()


def benchmark(case: Case, instance: str) -> str:
    """FireBench's id of a benchmark: `FB001_BD01`."""
    return f"{case.id}_{short_id(case.id, instance)}"


def _once(files: Any) -> list[InputFile]:
    return sorted(set(files), key=lambda each: each.name)


def _digest(files: Sequence[InputFile]) -> str:
    """The digest of one file, or of the digests of several: FireBench has one a side."""
    if len(files) == 1:
        return files[0].sha256
    return hashlib.sha256("\n".join(each.sha256 for each in files).encode()).hexdigest()
