"""The structures family: which buildings were destroyed, building by building."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from configs.case import Case
from metrics.confusion import binary_counts
from metrics.errors import BadInput
from metrics.kpis.impact import finish_impact
from metrics.kpis.kpi import KpiResult
from metrics.sums import ContingencySums
from tasks.families.family import Account, Family, FoundFiles, Progress
from tasks.matching.buildings import NO_BUILDING, MatchedBuildings, common_classes, match_buildings, with_partners
from tasks.matching.ledger import PAIR
from tasks.readers.buildings import read_buildings
from tasks.readers.firebench import is_firebench, opened_standard
from tasks.report.impact import counts_of, dots, number, outcome, outcome_lines, png, share

META = b"firecard"
BLOCKS = 1000  # ids are hashed into as many blocks that can be resampled
NAMED = 10_000  # buildings that the ledger names one by one
COUNTS = ("n", "tp", "fp", "fn", "tn")


def match_key(case: Case, found: FoundFiles) -> Any:
    classes = case.severity.classes  # of a raster that is looked up
    codes = (sorted(classes.names), sorted(classes.unburned), sorted(classes.nodata))
    return (found.data, case.observations.get("structures"), case.structures, codes, found.cycle)


def match(case: Case, found: FoundFiles, path: Path, progress: Progress) -> None:
    kept = matched(case, found)
    progress(1, 1)
    table = pa.Table.from_pandas(kept.table, preserve_index=False)
    meta = json.dumps({"how": dict(kept.how)}, ensure_ascii=False).encode()
    pyarrow.parquet.write_table(table.replace_schema_metadata({META: meta}), path, compression="zstd")


def matched(case: Case, found: FoundFiles) -> MatchedBuildings:
    """Every building of either side with what became of it."""
    if not found.observations:
        raise BadInput(f"{case.path}: model {found.model!r} predicts buildings: say `observations: {{structures: …}}`")
    seen = case.observations["structures"].options
    observed = read_buildings([each.path for each in found.observations], seen.get("names", {}), case.structures)
    files = [each.path for each in found.files]
    for data, side in ((found.data, found.files), (case.observations["structures"], found.observations)):
        for each in side if data.source == "firebench" else ():
            with opened_standard(each.path):  # what the case says that it is
                pass
    where = ", ".join(each.name for each in (*files, *(each.path for each in found.observations)))
    options = found.data.options
    if _is_raster(found):
        from tasks.matching.rasters import buildings_from_raster

        predicted, how = buildings_from_raster(files, found.data, observed, case.severity.classes)
        return with_partners(predicted, observed, np.arange(len(observed)), case.structures, how)
    predicted = read_buildings(files, options.get("names", {}), case.structures)
    ordered = all(is_firebench(each.path) for each in found.inputs)
    return match_buildings(predicted, observed, case.structures, where, ordered=ordered)


def _is_raster(found: FoundFiles) -> bool:
    """A raster, said in the case or recognised by its first bytes; a FireBench file is asked for its buildings."""
    if found.data.source is not None:
        return found.data.source == "raster"
    from tasks.readers.rasters import kind_of

    return kind_of(found.files[0].path) not in (None, "firebench")


def reduce_key(case: Case) -> Any:
    return ("structures", BLOCKS)


def reduce(case: Case, model: str, cycle: datetime, pairs: Path, path: Path) -> None:
    """Counts of the four outcomes by block of buildings."""
    table, _ = _read(pairs)
    block = np.array([zlib.crc32(str(each).encode()) % BLOCKS for each in table["id"]], dtype=np.int64)
    sums = binary_counts(*(table[side].to_numpy(dtype=float)[:, None] for side in ("forecast", "observed")), dim=1)
    asked = table["observed"].notna().to_numpy(dtype=float)
    used = np.unique(block)
    columns: dict[str, Any] = {
        name: np.bincount(block, each, BLOCKS)[used] for name, each in ({**sums.arrays(), "expected": asked}).items()
    }
    count = len(used)
    labels = {"case": case.id, "model": model, "cycle": f"{cycle:%Y-%m-%dT%H:%MZ}"}
    frame = {
        **{name: [value] * count for name, value in labels.items()},
        "unit": [f"block {each:03d}" for each in used],
        **columns,
    }
    left_out = table.loc[table["reason"] != PAIR, "reason"].value_counts().sort_index()
    meta = json.dumps({"left_out": {str(name): int(each) for name, each in left_out.items()}}, ensure_ascii=False)
    pyarrow.parquet.write_table(
        pa.table(frame).replace_schema_metadata({META: meta.encode()}), path, compression="zstd"
    )


def finish(case: Case, sums: Path) -> dict[str, KpiResult]:
    """Every KPI of the family, over all buildings."""
    kept = pyarrow.parquet.read_table(sums)
    frame = kept.to_pandas(ignore_metadata=True)
    pooled = ContingencySums(*(frame[name].sum() for name in COUNTS))
    left_out = dict(json.loads(kept.schema.metadata[META])["left_out"])
    return _results(case, pooled, float(frame["expected"].sum()), left_out)


def _results(case: Case, pooled: ContingencySums, expected: float, left_out: dict[str, int]) -> dict[str, KpiResult]:
    return {
        name: finish_impact(
            each.kpi,
            pooled,
            pooled,
            unit=each.unit,
            units=(int(pooled.n), int(expected)),
            expected=expected,
            rules=case.rules,
            left_out=left_out,
        )
        for name, each in case.instances_of("structures").items()
    }


def common(case: Case, cycle: datetime, pairs: Mapping[str, Path]) -> dict[str, dict[str, KpiResult]]:
    """Every model's KPIs on the observed buildings that all models say something of (D-05)."""
    tables = {name: _read(path)[0] for name, path in pairs.items()}
    known = {
        name: table[table["reason"] != NO_BUILDING] for name, table in tables.items()
    }  # in the observation's order
    shared = np.logical_and.reduce([(each["reason"] == PAIR).to_numpy() for each in known.values()])
    results = {}
    for name, table in known.items():
        pooled = binary_counts(*(table.loc[shared, side].to_numpy(dtype=float) for side in ("forecast", "observed")))
        results[name] = _results(case, pooled, float(pooled.n), {})
    return results


def account(pairs: Path) -> Account:
    """Pairs by the number, what was left out by building."""
    table, how = _read(pairs)
    pair = table["reason"] == PAIR
    rows = [("all buildings", PAIR, int(pair.sum()))]
    left = table[~pair]
    rows += [
        (str(name), str(reason), 1) for name, reason in zip(left["id"][:NAMED], left["reason"][:NAMED], strict=True)
    ]
    rest = left["reason"][NAMED:].value_counts().sort_index()
    rows += [("other buildings", str(reason), int(count)) for reason, count in rest.items()]
    book = pd.DataFrame(rows, columns=["station", "reason", "count"])
    book.insert(1, "variable", "structures")
    return Account(book, how)


def report(case: Case, pairs: Path, sums: Path) -> dict[str, Any]:
    """Outcomes of the buildings, where they lie, and how each damage class fared."""
    table, how = _read(pairs)
    which = outcome(table["forecast"].to_numpy(dtype=float), table["observed"].to_numpy(dtype=float))
    frame = pyarrow.parquet.read_table(sums).to_pandas(ignore_metadata=True)
    counts = ContingencySums(*(frame[name].sum() for name in COUNTS))
    known = table[table["reason"] != NO_BUILDING]
    classes = []
    for name, rows in known.groupby(common_classes(known["observed_class"]), sort=True):
        paired = rows[rows["reason"] == PAIR]
        classes.append(
            {
                "name": str(name) or "(none)",
                "observed": len(rows),
                "paired": len(paired),
                "predicted_destroyed": int((paired["forecast"] == 1).sum()),
            }
        )
    return {
        "outcomes": counts_of(counts),
        "map": png(dots(table["lon"].to_numpy(dtype=float), table["lat"].to_numpy(dtype=float), which)),
        "classes": classes,
        "critical_success_index": number(counts.csi()),
        "frequency_bias": number(counts.frequency_bias()),
        "join": how["join"],
        "missing_prediction": how["missing_prediction"],
    }


def markdown(report: Mapping[str, Any]) -> list[str]:
    from tasks.report.markdown import escape

    lines = ["## Buildings", "", *outcome_lines(report, "Destroyed or not")]
    lines += ["| Observed damage | Buildings | Compared | Predicted destroyed |", "| --- | ---: | ---: | ---: |"]
    lines += [
        f"| {escape(each['name'])} | {each['observed']:,} | {each['paired']:,} | {each['predicted_destroyed']:,} |"
        for each in report["classes"]
    ]
    return [
        *lines,
        "",
        f"Critical success index {share(report['critical_success_index'])}, frequency bias "
        f"{share(report['frequency_bias'])}. Buildings joined {escape(report['join'])}; a missing prediction is "
        f"{escape(report['missing_prediction'])}.",
    ]


def _read(pairs: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    table = pyarrow.parquet.read_table(pairs)
    return table.to_pandas(ignore_metadata=True), json.loads(table.schema.metadata[META])["how"]


FAMILY = Family("structures", match_key, match, reduce_key, reduce, finish, account, report, markdown, common=common)
