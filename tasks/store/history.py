"""The history: pairs, sums and cards of every night as Parquet, one file per case, model and cycle.

    history/pairs/<family>/<case>/<model>/<cycle>.parquet
    history/sums/<family>/<case>/<model>/<cycle>.parquet
    history/cards/<case>/<model>/<cycle>.parquet      a row per scheme and total, group or KPI

A rerun replaces its own files, each written whole. New thresholds, slices or models start again from pairs, never from
model output.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from configs.paths import folder_name
from tasks.store.keyed import writing

CARD = pa.schema(
    [
        ("case", pa.string()),
        ("scheme", pa.string()),
        ("model", pa.string()),
        ("cycle", pa.string()),
        ("level", pa.string()),  # total, group or kpi
        ("group", pa.string()),
        ("id", pa.string()),
        ("name", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("score", pa.float64()),
        ("text", pa.string()),
        ("weight", pa.float64()),
        ("n", pa.int64()),
        ("used", pa.int64()),
        ("total", pa.int64()),
        ("coverage", pa.float64()),
        ("partial", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class Night:
    """One total of one night."""

    cycle: str
    model: str
    scheme: str
    score: float | None
    text: str
    partial: bool


def place(root: Path, kind: str, case: str, model: str, cycle: datetime, family: str = "") -> Path:
    """Where a night's file lies."""
    folder = root / kind / family if family else root / kind
    return folder / folder_name(case) / folder_name(model) / f"{cycle:%Y-%m-%dT%H%M}.parquet"


def record(
    root: Path,
    case: str,
    model: str,
    cycle: datetime,
    pairs: Mapping[str, Path],
    sums: Mapping[str, Path],
    cards: Sequence[Mapping[str, Any]],
) -> Path:
    """Keep a night; the card comes last, so that a night that has one has all."""
    for kind, files in (("pairs", pairs), ("sums", sums)):
        for family, file in files.items():
            with writing(place(root, kind, case, model, cycle, family)) as temporary:
                shutil.copyfile(file, temporary)
    final = place(root, "cards", case, model, cycle)
    with writing(final) as temporary:
        rows = [row for card in cards for row in card_rows(card)]
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows, schema=CARD), temporary, compression="zstd")
    return final


def card_rows(card: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """A card as rows: its total, then its groups, each followed by its KPIs."""
    head = {name: card[name] for name in ("case", "scheme", "model", "cycle", "partial")}
    total = card["total"] or {"score": None, "text": "n/a"}
    yield {**head, "level": "total", **total}
    for group in card["groups"]:
        yield {
            **head,
            "level": "group",
            "group": group["name"],
            **{key: group[key] for key in ("score", "text", "weight")},
        }
        for kpi in group["kpis"]:
            same = {
                key: kpi[key] for key in ("id", "name", "value", "unit", "score", "text", "weight", "n", "coverage")
            }
            stations = {key: kpi["stations"][key] for key in ("used", "total")}
            yield {**head, "level": "kpi", "group": group["name"], **same, **stations}


def has(root: Path, case: str, model: str, cycle: datetime, schemes: Iterable[str]) -> bool:
    """Is the night kept, under all these schemes?"""
    file = place(root, "cards", case, model, cycle)
    return file.exists() and set(schemes) <= {night.scheme for night in _totals(file)}


def nights(root: Path, case: str) -> list[Night]:
    """Every total of a case, the newest cycle first."""
    folder = root / "cards" / folder_name(case)
    found = [night for file in sorted(folder.glob("*/*.parquet")) for night in _totals(file)]
    return sorted(found, key=lambda each: (each.cycle, each.model, each.scheme), reverse=True)


def _totals(file: Path) -> list[Night]:
    rows = pyarrow.parquet.read_table(file, filters=[("level", "=", "total")]).to_pylist()
    return [Night(row["cycle"], row["model"], row["scheme"], row["score"], row["text"], row["partial"]) for row in rows]
