"""Tidy tables of matched pairs, CSV or Parquet: one row is one forecast beside one observation.

Columns: model (may be left out where a file belongs to one model), station, lat, lon, cycle, valid_time, variable,
unit, forecast, observed. Times are UTC: ISO 8601, with `Z`, an offset, or neither, but one way throughout. An empty
forecast or observation is missing. Values are converted to the unit that is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from metrics.variables import Variable

NEEDED = ("station", "lat", "lon", "cycle", "valid_time", "variable", "unit", "forecast", "observed")
COLUMNS = ("model", *NEEDED)
MISSING = {"", "na", "nan", "null", "none", "n/a", "-"}
ZONE = re.compile(r"[T ].*?(Z|[+-]\d{2}(?::?\d{2})?)$")
FIRST, LAST = (pd.Timestamp(each, tz="UTC") for each in ("1900-01-01", "2200-01-01"))


def read_pairs(path: Path, variables: Mapping[str, Variable]) -> pd.DataFrame:
    """The table with checked columns: times as UTC, numbers as float64 in the unit kept for their variable."""
    table = _read_table(path)
    missing = [name for name in NEEDED if name not in table.column_names]
    if missing:
        raise BadInput(
            f"{path}: the column {missing[0]!r} is missing; a table of pairs has {', '.join(COLUMNS)}"
            f" (found: {plain(', '.join(table.column_names), 200)})"
        )
    repeated = [name for name in COLUMNS if table.column_names.count(name) > 1]
    if repeated:
        raise BadInput(f"{path}: the column {repeated[0]!r} stands there twice")
    frame = pd.DataFrame({name: _column(table, name, path) for name in COLUMNS if name in table.column_names})
    if frame.empty:
        raise BadInput(f"{path}: there is a header but no row")
    rows = _Rows(path, header=1 if path_is_text(path) else 0)
    for name in ("station", "variable", "unit", *(["model"] if "model" in frame else [])):
        rows.refuse(frame[name].isna(), name, frame[name], "expected a unit" if name == "unit" else "expected a name")
        frame[name] = frame[name].astype(str).str.strip()
        rows.refuse((frame[name] == "") & (name != "unit"), name, frame[name], "expected a name")
    for name in ("cycle", "valid_time"):
        frame[name] = _times(frame[name], name, rows)
    for name in ("lat", "lon", "forecast", "observed"):
        frame[name] = _numbers(frame[name], name, rows)
    rows.refuse(~frame["lat"].between(-90, 90), "lat", frame["lat"], "expected degrees between -90 and 90")
    rows.refuse(~frame["lon"].between(-180, 360), "lon", frame["lon"], "expected degrees between -180 and 360")
    rows.refuse(
        ~frame["variable"].isin(list(variables)), "variable", frame["variable"], f"known: {', '.join(variables)}"
    )
    _convert_units(frame, variables, rows)
    _refuse_repeated(frame, rows)
    return frame.drop(columns="unit")


class _Rows:
    """Says which row of the file is wrong, and how."""

    def __init__(self, path: Path, header: int) -> None:
        self.path, self.header = path, header

    def refuse(self, wrong: Any, column: str, values: Any, expected: str) -> None:
        """Raise if any row is wrong, naming the first and how many there are."""
        where = np.flatnonzero(np.asarray(wrong))
        if where.size:
            first = int(where[0])
            more = f" ({where.size} such rows)" if where.size > 1 else ""
            given = plain(repr(np.asarray(values, dtype=object)[first]), 80)
            raise BadInput(
                f"{self.path}: row {first + 1 + self.header}, column {column!r}: got {given}; {expected}{more}"
            )


def path_is_text(path: Path) -> bool:
    """Is it text, judged by its first bytes?"""
    with path.open("rb") as file:
        return file.read(4) != b"PAR1"


def _read_table(path: Path) -> Any:
    if path.is_dir():
        raise BadInput(f"{path}: is a directory, expected a table of pairs (CSV or Parquet)")
    try:
        if path.stat().st_size == 0:
            raise BadInput(f"{path}: is empty, expected a table of pairs (CSV or Parquet)")
        if not path_is_text(path):
            table = pyarrow.parquet.read_table(path)
            str(table.column_names)  # names that are no text are found here, not on first use
            return table
        one_by_one = pyarrow.csv.ReadOptions(use_threads=False)  # only then an error says which row it is about
        with pyarrow.csv.open_csv(path, read_options=one_by_one) as head:
            names = head.schema.names
        # Everything as text first: a station may be called `NA` or `007`.
        options = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
        try:
            return pyarrow.csv.read_csv(path, convert_options=options)
        except pa.ArrowInvalid:
            return pyarrow.csv.read_csv(path, convert_options=options, read_options=one_by_one)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        said = plain((str(error).splitlines() or [""])[0], 200)
        raise BadInput(f"{path}: cannot be read as a table of pairs: {said}") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None


def _column(table: Any, name: str, path: Path) -> Any:
    column = table.column(name)
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            column = column.cast(pa.string())
        column.validate(full=True)  # text that is no text is found here, not on first use
        return column.to_pandas()
    except (pa.ArrowException, ValueError, KeyError, OverflowError) as error:  # the last three: times and their zones
        said = plain(str(error), 200)
        raise BadInput(f"{path}: the column {name!r} ({column.type}) cannot be read: {said}") from None


def _times(values: pd.Series, name: str, rows: _Rows) -> pd.Series:
    """UTC timestamps; a mixture of zones, or of zoned and bare times, is refused."""
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        parsed = values.dt.tz_convert("UTC")
    elif values.dtype.kind == "M":
        parsed = values.dt.tz_localize("UTC")
    else:
        text = values.astype(str).str.strip()
        parsed = pd.to_datetime(text.where(text.str.match(r"\d{4}")), utc=True, errors="coerce", format="ISO8601")
        rows.refuse(parsed.isna(), name, values, "expected an ISO 8601 time such as 2026-11-17T06:00Z")
        zones = text.str.extract(ZONE, expand=False).fillna("")
        first = zones.iloc[0] or "none"
        rows.refuse(zones != zones.iloc[0], name, values, f"mixed time zones: the first row has {first!r}")
    beyond = ~parsed.between(FIRST, LAST)
    if beyond.any():
        written = parsed.dt.tz_localize(None).to_numpy().astype(str)  # pandas cannot write all that it can hold
        rows.refuse(beyond, name, written, "expected a time between 1900 and 2200")
    return parsed.dt.as_unit("ns").dt.floor("us")  # what Python's own times can hold


def _numbers(values: pd.Series, name: str, rows: _Rows) -> pd.Series:
    if values.dtype.kind not in "fiu":
        text = values.astype(str).str.strip()
        absent = text.str.lower().isin(MISSING) | values.isna()
        numbers = pd.to_numeric(text.mask(absent), errors="coerce")
        rows.refuse(numbers.isna() & ~absent, name, values, "expected a number, or nothing where it is missing")
        values = numbers
    values = values.astype("float64")
    rows.refuse(np.isinf(values), name, values, "expected a finite number")
    return values


def _convert_units(frame: pd.DataFrame, variables: Mapping[str, Variable], rows: _Rows) -> None:
    """Bring forecast and observed into the unit kept for the variable."""
    units = frame["unit"]
    for (variable, unit), index in frame.groupby([frame["variable"], units], sort=True).indices.items():
        for column in ("forecast", "observed"):
            position = frame.columns.get_loc(column)
            try:
                converted = convert(frame[column].to_numpy()[index], unit, variables[variable].unit)
            except UnknownUnit as error:
                rows.refuse(np.isin(np.arange(len(frame)), index), "unit", units, f"{variable}: {error}")
            frame.iloc[index, position] = converted


def _refuse_repeated(frame: pd.DataFrame, rows: _Rows) -> None:
    keys = [name for name in ("model", "station", "cycle", "valid_time", "variable") if name in frame]
    rows.refuse(
        frame.duplicated(keys),
        "station",
        frame["station"],
        "this pair stands in the file twice (same " + ", ".join(keys) + ")",
    )
    places = frame[["station", "lat", "lon"]].drop_duplicates()
    moved = places[places["station"].duplicated()]
    if len(moved):
        rows.refuse(frame.index.isin(moved.index), "lat", frame["station"], "the station has two positions")
