"""The severity family: a model's map of burn severity against an observed one, cell by cell."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from configs import paths
from configs.case import Case, Data
from metrics.errors import BadInput
from metrics.kpis.impact import finish_impact
from metrics.kpis.kpi import KpiResult
from metrics.severity import SeveritySums, class_precision, class_recall, dice_of, kappa, weighted_kappa
from metrics.sums import Array
from tasks.families.family import Account, Family, FoundFiles, Work
from tasks.matching.ledger import NO_FORECAST, PAIR
from tasks.matching.rasters import OFF_MODEL, Layer, MatchedRasters, match_common, match_rasters
from tasks.report.impact import counts_of, matrix_lines, number, outcome, outcome_lines, png, share
from tasks.report.markdown import escape
from tasks.store.digests import input_file

META = b"firecard"
MISSING_FORECAST = (NO_FORECAST, OFF_MODEL)


def match_key(case: Case, found: FoundFiles) -> Any:
    """Which classes are high is not part of it: that is decided on the counts."""
    rules, classes = case.severity, case.severity.classes
    polygon = _polygon(case)
    return (
        found.data,
        case.observations.get("severity"),
        sorted(classes.names),
        sorted(classes.unburned),
        sorted(classes.nodata),
        rules.domain,
        input_file(polygon, case.root).sha256 if polygon else "",
        rules.aligned,
        found.cycle,
    )


def match(case: Case, found: FoundFiles, path: Path, work: Work) -> None:
    kept = matched(case, found, work)
    shape = kept.preview[0].shape
    meta = {
        "how": dict(kept.how),
        "preview": [
            list(shape),
            *(base64.b64encode(zlib.compress(each.tobytes(), 9)).decode() for each in kept.preview),
        ],
    }
    table = pa.Table.from_pandas(kept.table, preserve_index=False)
    pyarrow.parquet.write_table(
        table.replace_schema_metadata({META: json.dumps(meta, ensure_ascii=False).encode()}), path, compression="zstd"
    )


def matched(case: Case, found: FoundFiles, work: Work = Work()) -> MatchedRasters:  # noqa: B008  (frozen)
    """Both maps on the observation's grid."""
    if not found.observations:
        raise BadInput(f"{case.path}: model {found.model!r} has a severity map: say `observations: {{severity: …}}`")
    for files in (found.files, found.observations):
        if len(files) != 1:
            raise BadInput(f"{files[0].path}: expected one raster a side, found {len(files)} files")
    return match_rasters(
        Layer(found.files[0].path, found.data),
        Layer(found.observations[0].path, case.observations["severity"]),
        case.severity,
        _polygon(case),
        work.session,
        work,
    )


def _polygon(case: Case) -> Path | None:
    if case.severity.polygon is None:
        return None
    path = case.root / case.severity.polygon
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file, expected the polygon of the domain (GeoJSON)")
    return path


def reduce_key(case: Case) -> Any:
    return ("severity", sorted(case.severity.classes.names))


def reduce(case: Case, model: str, cycle: datetime, pairs: Path, path: Path) -> None:
    """Cells and hectares by tile and pair of classes, and the cells that a forecast was asked for."""
    table, _ = _read(pairs)
    paired = table["reason"] == PAIR
    asked = table.loc[paired | table["reason"].isin(MISSING_FORECAST)].groupby("unit", sort=True)["count"].sum()
    kept = table[paired].groupby(["unit", "forecast", "observed"], sort=True)[["count", "hectares"]]
    frame = kept.sum(min_count=1).reset_index()
    labels = {"case": case.id, "model": model, "cycle": f"{cycle:%Y-%m-%dT%H:%MZ}"}
    for place, (name, value) in enumerate(labels.items()):
        frame.insert(place, name, value)
    left_out = table.loc[~paired].groupby("reason", sort=True)["count"].sum()
    meta = {
        "expected": {str(unit): int(count) for unit, count in asked.items()},
        "left_out": {str(reason): int(count) for reason, count in left_out.items()},
    }
    pyarrow.parquet.write_table(
        pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(
            {META: json.dumps(meta, ensure_ascii=False).encode()}
        ),
        path,
        compression="zstd",
    )


def sums_of(case: Case, sums: Path) -> tuple[SeveritySums, dict[str, Any]]:
    """The class matrix of every tile, and what was asked and left out."""
    kept = pyarrow.parquet.read_table(sums)
    meta = json.loads(kept.schema.metadata[META])
    return _matrices(case, kept.to_pandas(ignore_metadata=True), sorted(meta["expected"])), meta


def _matrices(case: Case, frame: pd.DataFrame, units: Sequence[str]) -> SeveritySums:
    """Counts by tile and pair of codes as a class matrix of every tile."""
    codes = case.severity.classes.codes
    shape = (len(units), len(codes), len(codes))
    place = tuple(
        pd.Index(order).get_indexer(frame[name])
        for order, name in ((units, "unit"), (codes, "forecast"), (codes, "observed"))
    )
    counts, hectares = np.zeros(shape), np.zeros(shape)
    counts[place] = frame["count"]
    hectares[place] = frame["hectares"]
    return SeveritySums(case.severity.classes, counts, hectares)


def finish(case: Case, sums: Path) -> dict[str, KpiResult]:
    """Every KPI of the family, over all cells of the domain."""
    by_tile, meta = sums_of(case, sums)
    return _results(case, by_tile, len(meta["expected"]), float(sum(meta["expected"].values())), meta["left_out"])


def _results(
    case: Case, by_tile: SeveritySums, tiles: int, expected: float, left_out: dict[str, int]
) -> dict[str, KpiResult]:
    pooled = by_tile.pooled()
    return {
        name: finish_impact(
            each.kpi,
            pooled,
            pooled.burned() if each.kpi.id.startswith("burned") else pooled.high(),
            unit=each.unit,
            units=(int((by_tile.n > 0).sum()), tiles),
            expected=expected,
            rules=case.rules,
            left_out=left_out,
        )
        for name, each in case.instances_of("severity").items()
    }


def common(case: Case, cycle: datetime, pairs: Mapping[str, Path]) -> dict[str, dict[str, KpiResult]]:
    """Every model's KPIs on the cells that all models cover, in the union of all fires (D-05, D-15).

    The rasters are read again: which cells another model burned is not in a model's own counts.
    """
    observed = _layer(case, case.observations["severity"], cycle)
    models = {name: _layer(case, case.model(name).data["severity"], cycle) for name in pairs}
    results = {}
    for name, frame in match_common(models, observed, case.severity, _polygon(case)).items():
        units = sorted(frame["unit"].unique()) if len(frame) else []
        by_tile = _matrices(case, frame, units) if units else _nothing(case)
        results[name] = _results(case, by_tile, len(units), float(by_tile.n.sum()), {})
    return results


def _layer(case: Case, data: Data, cycle: datetime) -> Layer:
    return Layer(paths.files(data.path, case.root, cycle)[0], data)


def _nothing(case: Case) -> SeveritySums:
    size = len(case.severity.classes.codes)
    return SeveritySums(case.severity.classes, np.zeros((1, size, size)), np.zeros((1, size, size)))


def account(pairs: Path) -> Account:
    table, meta = _read(pairs)
    book = table.groupby(["unit", "reason"], sort=True)["count"].sum().reset_index().rename(columns={"unit": "station"})
    book.insert(1, "variable", "severity")
    return Account(book, meta["how"])


def report(case: Case, pairs: Path, sums: Path) -> dict[str, Any]:
    """The class matrix, what came out of it, and where the model was right."""
    _, meta = _read(pairs)
    by_tile, _ = sums_of(case, sums)
    pooled, classes = by_tile.pooled(), case.severity.classes
    counts, ordered = pooled.counts, pooled.ordered()
    recall, precision = class_recall(counts), class_precision(counts)
    if case.severity.domain == "union":  # cells unburned on both sides are not in it, so these shares would be 0
        unburned = [code in classes.unburned for code in classes.codes]
        recall, precision = (np.where(unburned, np.nan, each) for each in (recall, precision))
    high, burned = pooled.high(), pooled.burned()
    return {
        "classes": [
            {
                "code": code,
                "name": classes.names[code],
                "high": code in classes.high,
                "recall": number(recall[at]),
                "precision": number(precision[at]),
            }
            for at, code in enumerate(classes.codes)
        ],
        "matrix": [[int(each) for each in row] for row in counts],
        "outcomes": counts_of(high),
        "map": png(_picture(meta["preview"], case)),
        "table": classes.title,
        "kappa": number(kappa(ordered)),
        "weighted_kappa": number(weighted_kappa(ordered)),
        "critical_success_index": number(high.csi()),
        "frequency_bias": number(high.frequency_bias()),
        "jaccard": number(burned.csi()),
        "dice": number(dice_of(burned)),
        "area_error": number(pooled.area_error()),
        "observed_area": number(_burned_area(pooled)),
        "domain": meta["how"]["domain"],
        "way": meta["how"]["way"],
    }


def _burned_area(pooled: SeveritySums) -> Array:
    """Hectares burned in the observation."""
    burned = np.array([code not in pooled.classes.unburned for code in pooled.classes.codes])
    return pooled.hectares[:, burned].sum()


def _picture(preview: list[Any], case: Case) -> Array:
    """Outcomes on every k-th cell; cells outside the domain are blank."""
    classes = case.severity.classes
    shape, *packed = preview
    said, seen = (
        np.frombuffer(zlib.decompress(base64.b64decode(each)), dtype=np.uint8).reshape(shape) for each in packed
    )
    sides = []
    for codes in (said, seen):
        known = np.isin(codes, classes.codes)
        sides.append(np.where(known, np.isin(codes, list(classes.high)), np.nan))
    picture = outcome(*sides)
    if case.severity.domain == "union":
        unburned = list(classes.unburned)
        picture[np.isin(said, unburned) & np.isin(seen, unburned)] = 0
    return picture


def markdown(report: Mapping[str, Any]) -> list[str]:
    names = [f"{each['code']} {each['name']}" for each in report["classes"]]
    area = "n/a" if report["area_error"] is None else f"{report['area_error']:+,.1f} ha"
    lines = ["## Burn severity", "", *outcome_lines(report, "High severity or not")]
    lines += matrix_lines(names, names, report["matrix"])
    lines += ["| Class | Recall | Precision |", "| --- | ---: | ---: |"]
    lines += [
        f"| {escape(name)} | {share(each['recall'])} | {share(each['precision'])} |"
        for name, each in zip(names, report["classes"], strict=True)
    ]
    return [
        *lines,
        "",
        f"Kappa {share(report['kappa'])}, quadratic-weighted {share(report['weighted_kappa'])}; critical success index "
        f"{share(report['critical_success_index'])}, frequency bias {share(report['frequency_bias'])}; "
        f"perimeter Jaccard {share(report['jaccard'])}, Sørensen–Dice {share(report['dice'])}; "
        f"burned-area error {area}.",
        "",
        f"Domain: {escape(report['domain'])}. Rasters brought together: {escape(report['way'])}.",
    ]


def _read(pairs: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    table = pyarrow.parquet.read_table(pairs)
    return table.to_pandas(ignore_metadata=True), json.loads(table.schema.metadata[META])


FAMILY = Family("severity", match_key, match, reduce_key, reduce, finish, account, report, markdown, common=common)
