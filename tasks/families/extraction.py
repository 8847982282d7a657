"""The extraction family: fields of documents, from tables of ground truth and of what models found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from configs.case import Case, Instance
from metrics.errors import BadInput
from metrics.extraction import EXCLUDED, KINDS, METRIC_NAMES, ExtractionSums, check_fields, check_overall, overall
from metrics.kpis.kpi import KpiResult
from metrics.scoring.ranking import Ranking, contest, rank
from tasks.families.family import Account, Family, FoundFiles, Progress
from tasks.matching.extraction import META, Classified, match_answers, read_classified, write_classified
from tasks.matching.ledger import PAIR
from tasks.readers.extraction import Layout, read_answers
from tasks.report import extraction as report_of
from tasks.report.extraction import FieldRow, ModelFields

BLOCKS = 1000  # units for resampling; more documents than this are hashed into so many
CRITERIA = ("F1", "precision", "recall")


def match_key(case: Case, found: FoundFiles) -> Any:
    rules = case.extraction
    return (found.data, found.model, case.observations.get("extraction"), rules.fields, rules.default, rules.examples)


def match(case: Case, found: FoundFiles, path: Path, progress: Progress) -> None:
    write_classified(path, matched(case, found))


def matched(case: Case, found: FoundFiles) -> Classified:
    """The model's answers beside the ground truth."""
    truth = case.observations.get("extraction")
    if truth is None:
        raise BadInput(f"{case.path}: extracted fields need a ground truth: say `observations: {{extraction: …}}`")
    options = dict(found.data.options)
    name = options.pop("name", None) or found.model
    template = case.extraction.fields
    return match_answers(
        read_answers([each.path for each in found.files], Layout(found.data.source, **options), template, name),
        read_answers([each.path for each in found.observations], Layout(truth.source, **truth.options), template),
        case.extraction,
        [{"name": each.name, "sha256": each.sha256} for each in found.observations],
    )


def reduce_key(case: Case) -> Any:
    return "counts by field and block of documents"


def reduce(case: Case, model: str, cycle: datetime, pairs: Path, path: Path) -> None:
    """The counts of every field by unit: a document, or a block of documents where there are many."""
    kept = read_classified(pairs)
    units, counts = reduce_answers(kept)
    rows = len(units) * len(kept.fields)
    sums = ExtractionSums.of_counts(counts.reshape(rows, len(KINDS)))
    table = pa.table(
        {
            "case": [case.id] * rows,
            "model": [model] * rows,
            "cycle": [f"{cycle:%Y-%m-%dT%H:%MZ}"] * rows,
            "unit": [unit for _ in kept.fields for unit in units],
            "field": [name for name in kept.fields for _ in units],
            **sums.arrays(),
        }
    )
    meta = json.dumps({"fields": kept.fields, "notes": list(kept.notes)}).encode()
    pyarrow.parquet.write_table(table.replace_schema_metadata({META: meta}), path, compression="zstd")


def reduce_answers(kept: Classified) -> tuple[list[str], np.ndarray]:
    """The units, and the number of answers by field, unit and kind."""
    names = kept.documents.to_numpy(zero_copy_only=False)
    if len(names) <= BLOCKS:
        units, unit_of = list(names), np.arange(len(names))
    else:
        units = [f"block-{each:03d}" for each in range(BLOCKS)]
        unit_of = (pd.util.hash_array(names, categorize=False) % BLOCKS).astype(np.int64)
    base = unit_of * len(KINDS)
    size = len(units) * len(KINDS)
    counts = [np.bincount(base + each, minlength=size).reshape(len(units), len(KINDS)) for each in kept.kinds.values()]
    return units, np.stack(counts) if counts else np.zeros((0, len(units), len(KINDS)))


def read_fields(path: Path) -> tuple[tuple[str, ...], ExtractionSums, tuple[str, ...]]:
    """The fields of a reduced file with their counts over all documents, and the remarks made while matching."""
    table = pyarrow.parquet.read_table(path)
    meta = json.loads(table.schema.metadata[META])
    frame = table.to_pandas()
    counted = frame.groupby("field", sort=False)[list(ExtractionSums.names())].sum().reindex(meta["fields"])
    sums = ExtractionSums(*(counted[name].to_numpy(dtype=float) for name in ExtractionSums.names()))
    return tuple(meta["fields"]), sums, tuple(meta["notes"])


def finish(case: Case, sums: Path) -> dict[str, KpiResult]:
    """The macro averages, and single fields where a KPI asks for one."""
    fields, counts, notes = read_fields(sums)
    return {
        name: result(each, fields, counts, notes, case.extraction.small_sample)
        for name, each in case.instances_of("extraction").items()
    }


def result(
    instance: Instance, fields: Sequence[str], counts: ExtractionSums, notes: Sequence[str], small_sample: int
) -> KpiResult:
    """One KPI with what it rests on: `used` of `total` fields were averaged (D-35)."""
    if instance.kpi.kind == "field":
        if instance.variable.name not in fields:
            reason = f"no field {instance.variable.name!r} in the ground truth"
            return KpiResult(None, instance.unit, reason=reason, flags=(reason,))
        index = fields.index(instance.variable.name)
        fields = fields[index : index + 1]
        counts = ExtractionSums(*(each[index : index + 1] for each in counts.arrays().values()))
        notes = ()
    value = float(instance.kpi.finish(counts, "stations"))
    asked = float(counts.n.sum() + counts.excluded.sum())
    return KpiResult(
        value=0.0 if np.isnan(value) else value,
        unit=instance.unit,
        n=int(counts.n.sum()),
        used=int((counts.n > 0).sum()),
        total=len(fields),
        coverage=float(counts.n.sum()) / asked if asked else None,
        flags=(*report_of.warnings(fields, counts, small_sample), *notes),
        details={name: float(getattr(counts, name).sum()) for name in ("tp", "fp", "fn", "tn")},
        left_out={"pending or error": int(counts.excluded.sum())} if counts.excluded.any() else {},
    )


def account(pairs: Path) -> Account:
    kept = read_classified(pairs)
    rows = []
    for name, kinds in kept.kinds.items():
        excluded = int(np.count_nonzero(kinds == EXCLUDED))
        rows.append(("documents", name, PAIR, len(kinds) - excluded))
        if excluded:
            rows.append(("documents", name, "pending or error", excluded))
    ledger = pd.DataFrame(rows, columns=["station", "variable", "reason", "count"])
    truth = ", ".join(f"{each['name']} {each['sha256'][:16]}" for each in kept.truth)
    return Account(ledger, {"ground_truth": truth, "documents": len(kept.documents), "fields": len(kept.fields)})


def model_fields(case: Case, pairs: Path, sums: Path) -> ModelFields:
    """Everything that is shown of one model's fields."""
    fields, counts, notes = read_fields(sums)
    beside = read_classified(pairs, answers=False)
    metrics, averages = counts.metrics(), overall(counts)
    return ModelFields(
        rows=tuple(
            FieldRow(
                name,
                case.extraction.comparison(name).kind,
                {key: int(each[index]) for key, each in counts.arrays().items()},
                {key: float(metrics[key][index]) for key in METRIC_NAMES},
            )
            for index, name in enumerate(fields)
        ),
        averages={key: float(each) for key, each in averages.items()},
        checks=(*check_fields(fields, counts, metrics), *check_overall(counts.n, metrics, averages)),
        warnings=(*report_of.warnings(fields, counts, case.extraction.small_sample), *notes),
        examples=tuple(beside.examples),
        truth=tuple(beside.truth),
    )


def report(case: Case, pairs: Path, sums: Path) -> dict[str, Any]:
    return report_of.card_section(model_fields(case, pairs, sums))


def rank_models(case: Case, pairs: Mapping[str, Path], sums: Mapping[str, Path]) -> tuple[Ranking, dict[str, Any]]:
    """Models by overall F1, precision, recall, fields won and name (R-002-35), and what the ranking's report shows."""
    models = {name: model_fields(case, pairs[name], sums[name]) for name in sums}
    fields = [row.name for row in next(iter(models.values())).rows]
    contests = [
        contest(
            field,
            {
                name: tuple(each.rows[index].metrics[key] for key in ("f1", "precision", "recall"))
                for name, each in models.items()
            },
        )
        for index, field in enumerate(fields)
    ]
    marks = {name: tuple(each.averages[key] for key in ("f1", "precision", "recall")) for name, each in models.items()}
    ranking = rank(marks, contests, [f"overall {each}" for each in CRITERIA], won="fields won")
    return ranking, report_of.ranking_section(ranking, models)


FAMILY = Family(
    "extraction",
    match_key,
    match,
    reduce_key,
    reduce,
    finish,
    account,
    report=report,
    markdown=report_of.markdown_section,
    rank=rank_models,
)
