"""Tables from strangers, CSV or Parquet: columns as text first, then times and numbers, every mistake with its row."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from configs.source import plain
from metrics.errors import BadInput
from tasks.readers.notes import Notes

MISSING = {"", "na", "nan", "null", "none", "n/a", "-"}
ZONE = re.compile(r"[T ].*?(Z|[+-]\d{2}(?::?\d{2})?)$")
FIRST, LAST = (pd.Timestamp(each, tz="UTC") for each in ("1900-01-01", "2200-01-01"))
TAKEN_AS_UTC = "times have no zone and are taken as UTC"


class Rows:
    """Says which row of a file is wrong, and how; `skipped` lines stand above its header."""

    def __init__(self, path: Path, skipped: int = 0) -> None:
        self.path, self.header = path, skipped + 1 if path_is_text(path) else 0

    def place(self, index: int) -> str:
        """Where in the file a row of the table stands."""
        return f"row {index + 1 + self.header}"

    def refuse(self, wrong: Any, column: str, values: Any, expected: str) -> None:
        """Raise if any row is wrong, naming the first and how many there are."""
        where = np.flatnonzero(np.asarray(wrong))
        if where.size:
            first = int(where[0])
            more = f" ({where.size} such rows)" if where.size > 1 else ""
            given = plain(repr(np.asarray(values, dtype=object)[first]), 80)
            raise BadInput(f"{self.path}: {self.place(first)}, column {column!r}: got {given}; {expected}{more}")


def path_is_text(path: Path) -> bool:
    """Is it text, judged by its first bytes?"""
    with path.open("rb") as file:
        return file.read(4) != b"PAR1"


def read_table(path: Path, what: str, *, skip: int = 0, delimiter: str = ",") -> Any:
    """The table as Arrow has it, a CSV file all in text; `what` it should be stands in the messages.

    Lines to `skip` stand above the header.
    """
    if path.is_dir():
        raise BadInput(f"{path}: is a directory, expected {what} (CSV or Parquet)")
    try:
        if path.stat().st_size == 0:
            raise BadInput(f"{path}: is empty, expected {what} (CSV or Parquet)")
        if not path_is_text(path):
            table = pyarrow.parquet.read_table(path)
            str(table.column_names)  # names that are no text are found here, not on first use
            return table
        parse = pyarrow.csv.ParseOptions(delimiter=delimiter)
        whole = pyarrow.csv.ReadOptions(skip_rows=skip)
        # Only one by one an error says which row it is about.
        one_by_one = pyarrow.csv.ReadOptions(skip_rows=skip, use_threads=False)
        with pyarrow.csv.open_csv(path, read_options=one_by_one, parse_options=parse) as head:
            names = head.schema.names
        # Everything as text first: a station may be called `NA` or `007`.
        options = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
        try:
            return pyarrow.csv.read_csv(path, convert_options=options, read_options=whole, parse_options=parse)
        except pa.ArrowInvalid:
            return pyarrow.csv.read_csv(path, convert_options=options, read_options=one_by_one, parse_options=parse)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        said = plain((str(error).splitlines() or [""])[0], 200)
        raise BadInput(f"{path}: cannot be read as {what}: {said}") from None
    except OSError as error:
        said = error.strerror or (str(error).splitlines() or [""])[0]
        raise BadInput(f"{path}: cannot be read: {plain(said, 200)}") from None


def column(table: Any, name: str, path: Path) -> Any:
    """One column as pandas has it."""
    values = table.column(name)
    try:
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
            values = values.cast(pa.string())
        values.validate(full=True)  # text that is no text is found here, not on first use
        return values.to_pandas()
    except (pa.ArrowException, ValueError, KeyError, OverflowError) as error:  # the last three: times and their zones
        said = plain(str(error), 200)
        raise BadInput(f"{path}: the column {name!r} ({values.type}) cannot be read: {said}") from None


def names(values: pd.Series, name: str, rows: Rows) -> pd.Series:
    """Names without blanks around them; none may be missing."""
    rows.refuse(values.isna(), name, values, "expected a name")
    text = values.astype(str).str.strip()
    rows.refuse(text == "", name, text, "expected a name")
    return text


def times(values: pd.Series, name: str, rows: Rows, *, zone: str | None = None) -> pd.Series:
    """UTC timestamps; a mixture of zones, or of zoned and bare times, is refused.

    Bare times are those of the `zone`, UTC where none is given.
    """
    bare = False
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        parsed = values.dt.tz_convert("UTC")
    elif values.dtype.kind == "M":
        parsed, bare = values.dt.tz_localize("UTC"), True
    else:
        text = values.astype(str).str.strip()
        parsed = pd.to_datetime(text.where(text.str.match(r"\d{4}")), utc=True, errors="coerce", format="ISO8601")
        rows.refuse(parsed.isna(), name, values, "expected an ISO 8601 time such as 2026-11-17T06:00Z")
        zones = text.str.extract(ZONE, expand=False).fillna("")
        first = zones.iloc[0] or "none"
        rows.refuse(zones != zones.iloc[0], name, values, f"mixed time zones: the first row has {first!r}")
        bare = first == "none"
    beyond = ~parsed.between(FIRST, LAST)
    if beyond.any():
        written = parsed.dt.tz_localize(None).to_numpy().astype(str)  # pandas cannot write all that it can hold
        rows.refuse(beyond, name, written, "expected a time between 1900 and 2200")
    parsed = parsed.dt.as_unit("ns").dt.floor("us")  # what Python's own times can hold
    if not (bare and zone):
        return parsed
    local = parsed.dt.tz_localize(None)
    written = local.astype(str)
    return in_zone(local, zone, lambda wrong, said: rows.refuse(wrong, name, written, said))


def zone_notes(values: pd.Series, zone: str | None) -> Notes:
    """What is to be told of times that say no zone, where the case names none either."""
    if zone is not None or isinstance(values.dtype, pd.DatetimeTZDtype):
        return Notes()
    bare = values.dtype.kind == "M" or without_zone(values.astype(str).str.strip()).any()
    return Notes(sentences=(TAKEN_AS_UTC,) if bare else ())


def in_zone(bare: pd.Series, zone: str, refuse: Callable[[pd.Series, str], None]) -> pd.Series:
    """Local times of a zone in UTC; `refuse` is told which of them clocks skip or show twice."""
    never = bare.dt.tz_localize(zone, ambiguous=np.ones(len(bare), dtype=bool), nonexistent="NaT").isna()
    refuse(never & bare.notna(), f"there is no such time in {zone}: clocks go forward then")
    local = bare.dt.tz_localize(zone, ambiguous="NaT")
    refuse(local.isna() & bare.notna(), f"this time comes twice in {zone}: clocks go back then")
    return local.dt.tz_convert("UTC")


def without_zone(text: pd.Series) -> pd.Series:
    """Which times say no zone."""
    return text.str.extract(ZONE, expand=False).isna()


def numbers(values: pd.Series, name: str, rows: Rows) -> pd.Series:
    """Finite numbers; what says that it is missing is NaN."""
    if values.dtype.kind not in "fiu":
        text = values.astype(str).str.strip()
        absent = text.str.lower().isin(MISSING) | values.isna()
        parsed = pd.to_numeric(text.mask(absent), errors="coerce")
        rows.refuse(parsed.isna() & ~absent, name, values, "expected a number, or nothing where it is missing")
        values = parsed
    values = values.astype("float64")
    rows.refuse(np.isinf(values), name, values, "expected a finite number")
    return values
