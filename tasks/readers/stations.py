"""Station observations as a tidy table, CSV or Parquet, one file or many; or FireBench's HDF5 (`firebench.py`).

A row is one report. Columns: station, lat, lon, time; then either a column per variable with its unit in its name
(`wind_speed [m/s]`, `wind_direction [deg]`, `temperature [degC]`) or the three columns variable, unit and value.
Optional: elevation (m), network, height (of the sensor above ground, m) and averaging (min), each with another unit in
brackets if need be (`height [ft]`). Times are UTC as in tables of pairs, to the second. A direction may say VRB: the
wind had none. An empty cell is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from configs.rules import MatchingRules
from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from metrics.sums import Array
from metrics.variables import Variable
from tasks.matching.quality import CODES
from tasks.readers.firebench import is_firebench, read_station_reports
from tasks.readers.tables import Rows, column, names, numbers, read_table, times

WHAT = "a table of station reports"
NEEDED = ("station", "lat", "lon", "time")
OPTIONAL = {"elevation": "m", "height": "m", "averaging": "min"}
LONG = ("variable", "unit", "value")
HEADED = re.compile(r"^\s*([A-Za-z][A-Za-z0-9_]*)\s*\[(.*)\]\s*$")
VARIABLE_WIND = "vrb"


@dataclass(frozen=True, slots=True)
class Observations:
    """Reports of stations, sorted by station and time.

    `stations` has one row a station (station, lat, lon, elevation, network, height, averaging); `reports` one row a
    report, one column a variable in the unit that is kept, and `variable_direction`. `number` and `seconds` are the
    station's row and the time of each report.
    """

    name: str
    stations: pd.DataFrame
    reports: pd.DataFrame
    number: Array
    seconds: Array

    def tolerances(self, rules: MatchingRules, step: float | None) -> Array:
        """Hours between report and valid time that each station may have."""
        return np.array([rules.tolerance_of(each, step) for each in self.stations["network"]])


def read_stations(paths: Sequence[Path], variables: Mapping[str, Variable]) -> Observations:
    """The reports of all files together."""
    parts = [_read_file(path, variables) for path in paths]
    reports = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    reports = reports.sort_values(["station", "time"], kind="stable").reset_index(drop=True)
    keys = [name for name in ("lat", "lon", *OPTIONAL, "network") if name in reports]
    stations = reports.groupby("station", sort=True)[keys].first().reset_index()
    for name in OPTIONAL:
        stations[name] = stations[name].astype(float) if name in stations else np.nan
    stations["network"] = stations["network"].fillna("") if "network" in stations else ""
    label = ", ".join(path.name for path in paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    _refuse_moved(reports, label)
    number = pd.Index(stations["station"]).get_indexer(reports["station"])
    seconds = reports["time"].to_numpy("datetime64[s]").astype(np.int64)
    return Observations(label, stations, reports.drop(columns=keys), number, seconds)


def _refuse_moved(reports: pd.DataFrame, label: str) -> None:
    places = reports[["station", "lat", "lon"]].drop_duplicates()
    moved = places[places["station"].duplicated()]
    if len(moved):
        raise BadInput(f"{label}: station {moved['station'].iloc[0]!r} has two positions")


def _read_file(path: Path, variables: Mapping[str, Variable]) -> pd.DataFrame:
    if is_firebench(path):
        return read_station_reports(path, variables)
    table = read_table(path, WHAT)
    found = table.column_names
    missing = [name for name in NEEDED if name not in found]
    if missing:
        raise BadInput(
            f"{path}: the column {missing[0]!r} is missing; {WHAT} has {', '.join(NEEDED)} and columns such as"
            f" 'wind_speed [m/s]', or variable, unit and value (found: {plain(', '.join(found), 200)})"
        )
    repeated = [name for name in found if found.count(name) > 1]
    if repeated:
        raise BadInput(f"{path}: the column {plain(repr(repeated[0]), 80)} stands there twice")
    frame = pd.DataFrame({name: column(table, name, path) for name in NEEDED})
    if frame.empty:
        raise BadInput(f"{path}: there is a header but no row")
    rows = Rows(path)
    frame["station"] = names(frame["station"], "station", rows)
    frame["time"] = times(frame["time"], "time", rows).dt.floor("s")
    for name in ("lat", "lon"):
        frame[name] = numbers(frame[name], name, rows)
    for header in found:
        name, unit = _name_and_unit(header)
        if name in OPTIONAL and name not in variables:
            if name in frame:
                raise BadInput(f"{path}: {name} stands there twice")
            values = numbers(column(table, header, path), header, rows)
            frame[name] = _converted(values, unit or OPTIONAL[name], OPTIONAL[name], path, header)
    if "network" in found:
        frame["network"] = column(table, "network", path).astype(str).str.strip()
    if set(LONG) <= set(found):
        return _from_long(frame, table, path, variables, rows)
    return _from_wide(frame, table, path, variables, rows)


def _from_wide(
    frame: pd.DataFrame, table: Any, path: Path, variables: Mapping[str, Variable], rows: Rows
) -> pd.DataFrame:
    """A column per variable, its unit in brackets behind its name."""
    headed = {each: HEADED.match(each) for each in table.column_names}
    known = {each: found for each, found in headed.items() if found and found[1] in variables}
    bare = [each for each in table.column_names if each in variables]
    if bare:
        raise BadInput(
            f"{path}: the column {bare[0]!r} has no unit; write it behind the name, such as '{bare[0]} [m/s]'"
        )
    if not known:
        raise BadInput(
            f"{path}: there is no variable in it; expected columns such as 'wind_speed [m/s]', or variable, unit and"
            f" value (known variables: {', '.join(variables)})"
        )
    for header, found in known.items():
        name = found[1]
        if name in frame:
            raise BadInput(f"{path}: {name} stands there twice")
        text = column(table, header, path)
        if name == "wind_direction":
            text, frame["variable_direction"] = _without_vrb(text)
        frame[name] = _measured(numbers(text, header, rows), found[2], variables[name], path, header)
    if "variable_direction" not in frame:
        frame["variable_direction"] = False
    return frame


def _from_long(
    frame: pd.DataFrame, table: Any, path: Path, variables: Mapping[str, Variable], rows: Rows
) -> pd.DataFrame:
    """A row per value: variable, unit, value; brought to a row per report."""
    name = names(column(table, "variable", path), "variable", rows)
    rows.refuse(~name.isin(list(variables)), "variable", name, f"known: {', '.join(variables)}")
    unit = column(table, "unit", path).astype(str).str.strip()
    text, varying = _without_vrb(column(table, "value", path))
    value = numbers(text, "value", rows)
    for (each, given), index in pd.DataFrame({"v": name, "u": unit}).groupby(["v", "u"], sort=True).indices.items():
        value.iloc[index] = _measured(value.iloc[index], given, variables[each], path, f"value of {each}")
    long = frame.assign(_name=name, _value=value, _vrb=varying & (name == "wind_direction"))
    # A repeated report stays one: the n-th value of a variable at a time belongs to the n-th report of that time.
    long["_nth"] = long.groupby(["station", "time", "_name"], sort=False).cumcount()
    keys = ["station", "time", "_nth"]
    wide = long.pivot(index=keys, columns="_name", values="_value")
    facts = long.groupby(keys, sort=True)[[each for each in frame.columns if each not in ("station", "time")]].first()
    facts["variable_direction"] = long.groupby(keys, sort=True)["_vrb"].any()
    return facts.join(wide).reset_index().drop(columns="_nth")


def _without_vrb(values: pd.Series) -> tuple[pd.Series, pd.Series]:
    """The values with VRB blanked, and where it stood."""
    if values.dtype.kind in "fiu":
        return values, pd.Series(False, index=values.index)
    varying = values.astype(str).str.strip().str.lower() == VARIABLE_WIND
    return values.mask(varying, ""), varying


def _name_and_unit(header: str) -> tuple[str, str]:
    """The name before the brackets and the unit in them; no unit where there are none."""
    found = HEADED.match(header)
    return (found[1], found[2]) if found else (header, "")


def _measured(values: pd.Series, unit: str, variable: Variable, path: Path, header: str) -> pd.Series:
    """The values in the unit that is kept; a missing code (-9999 kt) stays what it is, for quality to see."""
    kept = _converted(values, unit, variable.unit, path, header)
    possible = (kept >= variable.lowest) & (kept <= variable.highest)
    return kept.where(possible | ~values.isin(CODES), values)


def _converted(values: pd.Series, unit: str, target: str, path: Path, header: str) -> pd.Series:
    try:
        return pd.Series(convert(values.to_numpy(), unit, target), index=values.index)
    except UnknownUnit as error:
        raise BadInput(f"{path}: column {header!r}: {error}") from None
