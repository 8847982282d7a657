"""Tables of fire threat, CSV, Parquet or JSON lines: probabilities by horizon, and what became of each fire.

A row is a fire. Ids are text and stand there once; probabilities lie within [0, 1]; the time is that of the hit or, of
a censored fire, of the end of watching. Nothing may be missing: a fire that is not known is not in the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from configs.source import plain
from configs.units import HOURS
from metrics.errors import BadInput
from tasks.readers.tables import Rows, column, names, numbers, path_is_text, read_table

FLAGS = {**dict.fromkeys(("1", "1.0", "true"), True), **dict.fromkeys(("0", "0.0", "false"), False)}


def read_probabilities(path: Path, *, fire: str, columns: Mapping[float, str], source: str | None) -> pd.DataFrame:
    """fire, row and a column for each horizon (hours), named by it."""
    given, rows = _columns(path, [fire, *columns.values()], "a table of probabilities", source)
    table = _fires(given[fire], fire, rows)
    for horizon, name in columns.items():
        values = numbers(given[name], name, rows)
        rows.refuse(values.isna(), name, given[name], "expected a probability, which may not be missing")
        rows.refuse(~values.between(0, 1), name, values, "expected a probability between 0 and 1")
        table[horizon] = values
    return table


def read_outcomes(path: Path, *, fire: str, time: str, event: str, unit: str, source: str | None) -> pd.DataFrame:
    """fire, row, time (hours) and event."""
    given, rows = _columns(path, [fire, time, event], "a table of outcomes", source)
    table = _fires(given[fire], fire, rows)
    values = numbers(given[time], time, rows)
    rows.refuse(values.isna(), time, given[time], "expected a time, which may not be missing")
    rows.refuse(values < 0, time, values, f"expected a time of 0 {unit} or more")
    table["time"] = values * HOURS[unit]
    said = given[event].map(lambda each: FLAGS.get(str(each).strip().lower()))
    rows.refuse(said.isna(), event, given[event], "expected 1 or true for a hit, 0 or false for a censored fire")
    table["event"] = said.astype(bool)
    return table


def joined(tables: Iterable[tuple[Path, pd.DataFrame]]) -> pd.DataFrame:
    """The tables of several files as one, with the file of each row; no fire may stand in two of them."""
    whole = pd.concat([table.assign(file=path.name) for path, table in tables], ignore_index=True)
    twice = whole["fire"].duplicated()
    if twice.any():
        first = whole[twice].iloc[0]
        raise BadInput(
            f"{first['file']}: row {first['row']}: the fire {first['fire']!r} stands in another file as well"
        )
    return whole


def _fires(values: Any, name: str, rows: Rows) -> pd.DataFrame:
    fires = names(values, name, rows)
    rows.refuse(fires.duplicated(), name, fires, "this fire stands in the table twice")
    return pd.DataFrame({"fire": fires, "row": range(1 + rows.header, 1 + rows.header + len(fires))})


def _columns(path: Path, wanted: list[str], what: str, source: str | None) -> tuple[dict[str, Any], Rows]:
    """The columns as they are in the file, and who says which row is wrong."""
    kind = _kind(path, what)
    if source is not None and source != kind:
        raise BadInput(f"{path}: is {kind} by its first bytes, the case says `source: {source}`")
    if kind == "jsonl":
        records = _records(path)
        there = list(dict.fromkeys(name for record in records for name in record))
    else:
        table = read_table(path, what)
        there = table.column_names
    missing = [name for name in wanted if name not in there]
    if missing:
        found = plain(", ".join(there), 200)
        raise BadInput(f"{path}: the column {missing[0]!r} is missing (found: {found}); the case names it")
    repeated = [name for name in wanted if there.count(name) > 1]
    if repeated:
        raise BadInput(f"{path}: the column {repeated[0]!r} stands there twice")
    rows = Rows(path)
    if kind == "jsonl":
        rows.header = 0
        given = {name: pd.Series([each.get(name) for each in records], dtype=object) for name in wanted}
    else:
        given = {name: column(table, name, path) for name in wanted}
    if not len(given[wanted[0]]):
        raise BadInput(f"{path}: there is a header but no row")
    return given, rows


def _kind(path: Path, what: str) -> str:
    if path.is_dir():
        raise BadInput(f"{path}: is a directory, expected {what} (CSV, Parquet or JSON lines)")
    try:
        if not path_is_text(path):
            return "parquet"
        with path.open("rb") as file:
            start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    return "jsonl" if start.startswith(b"{") else "csv"


def _records(path: Path) -> list[dict[str, Any]]:
    """One JSON object a line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").rstrip().split("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 text (byte {error.start}); expected JSON lines") from None
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            said = plain(str(error), 120)
            raise BadInput(f"{path}: row {number}: not a JSON object: {said}") from None
        if not isinstance(record, dict):
            raise BadInput(f"{path}: row {number}: got {plain(line, 60)}; expected a JSON object")
        records.append(record)
    return records


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found
