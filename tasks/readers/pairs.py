"""Tidy tables of matched pairs, CSV or Parquet: one row is one forecast beside one observation.

Columns: model (may be left out where a file belongs to one model), station, lat, lon, cycle, valid_time, variable,
unit, forecast, observed. Times are UTC: ISO 8601, with `Z`, an offset, or neither, but one way throughout. An empty
forecast or observation is missing. Values are converted to the unit that is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from metrics.variables import Variable
from tasks.readers.formats import Head
from tasks.readers.notes import NOTES
from tasks.readers.tables import Rows, column, numbers, read_table, times, zone_notes

NEEDED = ("station", "lat", "lon", "cycle", "valid_time", "variable", "unit", "forecast", "observed")
COLUMNS = ("model", *NEEDED)


def recognises(head: Head) -> bool:
    """A table with the columns of pairs."""
    return set(NEEDED) <= set(head.columns)


def resembles(head: Head) -> bool:
    """A table with some of the columns, which may be meant for one."""
    return bool(set(COLUMNS) & set(head.columns))


def read_pairs(path: Path, variables: Mapping[str, Variable]) -> pd.DataFrame:
    """The table with checked columns: times as UTC, numbers as float64 in the unit kept for their variable."""
    table = read_table(path, "a table of pairs")
    missing = [name for name in NEEDED if name not in table.column_names]
    if missing:
        raise BadInput(
            f"{path}: the column {missing[0]!r} is missing; a table of pairs has {', '.join(COLUMNS)}"
            f" (found: {plain(', '.join(table.column_names), 200)})"
        )
    repeated = [name for name in COLUMNS if table.column_names.count(name) > 1]
    if repeated:
        raise BadInput(f"{path}: the column {repeated[0]!r} stands there twice")
    frame = pd.DataFrame({name: column(table, name, path) for name in COLUMNS if name in table.column_names})
    if frame.empty:
        raise BadInput(f"{path}: there is a header but no row")
    rows = Rows(path)
    for name in ("station", "variable", "unit", *(["model"] if "model" in frame else [])):
        rows.refuse(frame[name].isna(), name, frame[name], "expected a unit" if name == "unit" else "expected a name")
        frame[name] = frame[name].astype(str).str.strip()
        rows.refuse((frame[name] == "") & (name != "unit"), name, frame[name], "expected a name")
    notes = zone_notes(frame["cycle"], None) + zone_notes(frame["valid_time"], None)
    for name in ("cycle", "valid_time"):
        frame[name] = times(frame[name], name, rows)
    for name in ("lat", "lon", "forecast", "observed"):
        frame[name] = numbers(frame[name], name, rows)
    rows.refuse(~frame["lat"].between(-90, 90), "lat", frame["lat"], "expected degrees between -90 and 90")
    rows.refuse(~frame["lon"].between(-180, 360), "lon", frame["lon"], "expected degrees between -180 and 360")
    rows.refuse(
        ~frame["variable"].isin(list(variables)), "variable", frame["variable"], f"known: {', '.join(variables)}"
    )
    _convert_units(frame, variables, rows)
    _refuse_repeated(frame, rows)
    frame = frame.drop(columns="unit")
    frame.attrs[NOTES] = notes
    return frame


def _convert_units(frame: pd.DataFrame, variables: Mapping[str, Variable], rows: Rows) -> None:
    """Bring forecast and observed into the unit kept for the variable."""
    units = frame["unit"]
    for (variable, unit), index in frame.groupby([frame["variable"], units], sort=True).indices.items():
        for side in ("forecast", "observed"):
            position = frame.columns.get_loc(side)
            try:
                converted = convert(frame[side].to_numpy()[index], unit, variables[variable].unit)
            except UnknownUnit as error:
                rows.refuse(np.isin(np.arange(len(frame)), index), "unit", units, f"{variable}: {error}")
            frame.iloc[index, position] = converted


def _refuse_repeated(frame: pd.DataFrame, rows: Rows) -> None:
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
