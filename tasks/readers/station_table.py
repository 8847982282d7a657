"""Reports of stations as a tidy table, CSV or Parquet.

A row is one report. Columns: station, lat, lon, time; then either a column per variable with its unit in its name
(`wind_speed [m/s]`, `wind_direction [deg]`, `temperature [degC]`) or the three columns variable, unit and value.
Optional: elevation (m), network, height (of the sensor above ground, m) and averaging (min), each with another unit in
brackets if need be (`height [ft]`). Times are UTC as in tables of pairs, to the second. A direction may say VRB: the
wind had none. An empty cell is missing. Where a table of stations stands beside it, lat and lon may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from metrics.variables import Variable
from tasks.matching.quality import CODES
from tasks.readers.formats import Head, StationWishes
from tasks.readers.tables import Rows, column, names, numbers, read_table, times

WHAT = "a table of station reports"
NEEDED = ("station", "lat", "lon", "time")
OPTIONAL = {"elevation": "m", "height": "m", "averaging": "min"}
LONG = ("variable", "unit", "value")
HEADED = re.compile(r"^\s*([A-Za-z][A-Za-z0-9_]*)\s*\[(.*)\]\s*$")
VARIABLE_WIND = "vrb"


def recognises(head: Head) -> bool:
    """A table with a station and a time, and a variable with its unit."""
    found = head.columns
    return {"station", "time"} <= set(found) and (set(LONG) <= set(found) or any(map(HEADED.match, found)))


def resembles(head: Head) -> bool:
    """A table with some of the columns, which may be meant for one."""
    return bool({*NEEDED, *LONG} & set(head.columns)) or any(map(HEADED.match, head.columns))


def read_reports(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a report: station, lat, lon, time, what else is known of the station, and the variables as kept."""
    variables = wishes.variables
    table = read_table(path, WHAT)
    found = table.column_names
    needed = NEEDED if wishes.places is None else ("station", "time")
    missing = [name for name in needed if name not in found]
    if missing:
        raise BadInput(
            f"{path}: the column {missing[0]!r} is missing; {WHAT} has {', '.join(NEEDED)} and columns such as"
            f" 'wind_speed [m/s]', or variable, unit and value (found: {plain(', '.join(found), 200)})"
        )
    repeated = [name for name in found if found.count(name) > 1]
    if repeated:
        raise BadInput(f"{path}: the column {plain(repr(repeated[0]), 80)} stands there twice")
    frame = pd.DataFrame({name: column(table, name, path) for name in NEEDED if name in found})
    if frame.empty:
        raise BadInput(f"{path}: there is a header but no row")
    rows = Rows(path)
    frame["station"] = names(frame["station"], "station", rows)
    frame["time"] = times(frame["time"], "time", rows).dt.floor("s")
    for name in ("lat", "lon"):
        if name in frame:
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
