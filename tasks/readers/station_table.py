"""Reports of stations as a tidy table, CSV or Parquet.

A row is one report. Columns: station, lat, lon, time; then either a column per variable with its unit in its name
(`wind_speed [m/s]`, `wind_direction [deg]`, `temperature [degC]`) or the three columns variable, unit and value.
Optional: elevation (m), network, height (of the sensor above ground, m) and averaging (min), each with another unit in
brackets if need be (`height [ft]`). Times are UTC as in tables of pairs, to the second; where they have no zone, the
case may name theirs (`zone: America/Denver`). A direction may say VRB: the wind had none. An empty cell is missing.
Where a table of stations stands beside it, lat and lon may be left out. Other columns are read where the case names
them (`names: {time: when, wind_speed: ff}`, the column being `ff [kt]`), in the long layout other variables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from configs.source import plain
from metrics.errors import BadInput
from metrics.variables import Variable
from tasks.readers.formats import Head, StationWishes
from tasks.readers.notes import NOTES
from tasks.readers.reports import OPTIONAL, Column, converted, measured, refuse_repeated, unit_of, wished
from tasks.readers.tables import Rows, column, names, numbers, read_table, times, zone_notes

WHAT = "a table of station reports"
NEEDED = ("station", "lat", "lon", "time")
LONG = ("variable", "unit", "value")
HEADED = re.compile(r"^\s*([A-Za-z][A-Za-z0-9_]*)\s*\[(.*)\]\s*$")
FOREIGN = '[unit="'  # how other tables write units
VARIABLE_WIND = "vrb"


def recognises(head: Head) -> bool:
    """A table with a station and a time, and a variable with its unit."""
    found = head.columns
    if not {"station", "time"} <= set(found):
        return False
    return set(LONG) <= set(found) or any(HEADED.match(each) and FOREIGN not in each for each in found)


def resembles(head: Head) -> bool:
    """A table with some of the columns, which may be meant for one."""
    return bool({*NEEDED, *LONG} & set(head.columns)) or any(map(HEADED.match, head.columns))


def read_reports(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a report: station, lat, lon, time, what else is known of the station, and the variables as kept."""
    variables = wishes.variables
    table = read_table(path, WHAT)
    found = table.column_names
    refuse_repeated(found, path)
    columns = _columns(found, wishes, path)
    needed = NEEDED if wishes.places is None else ("station", "time")
    missing = [name for name in needed if name not in columns]
    if missing:
        raise BadInput(
            f"{path}: the column {missing[0]!r} is missing; {WHAT} has {', '.join(NEEDED)} and columns such as"
            f" 'wind_speed [m/s]', or variable, unit and value (found: {plain(', '.join(found), 200)});"
            " say `names:` where they are called otherwise"
        )
    frame = pd.DataFrame({name: column(table, columns[name].header, path) for name in NEEDED if name in columns})
    if frame.empty:
        raise BadInput(f"{path}: there is a header but no row")
    rows = Rows(path)
    frame["station"] = names(frame["station"], columns["station"].header, rows)
    notes = zone_notes(frame["time"], wishes.zone)
    frame["time"] = times(frame["time"], columns["time"].header, rows, zone=wishes.zone).dt.floor("s")
    for name in ("lat", "lon"):
        if name in frame:
            frame[name] = numbers(frame[name], columns[name].header, rows)
    for name in (each for each in OPTIONAL if each in columns and each not in variables):
        header, unit = columns[name].header, columns[name].unit
        values = numbers(column(table, header, path), header, rows)
        frame[name] = converted(values, unit or OPTIONAL[name], OPTIONAL[name], path, header)
    if "network" in columns:
        frame["network"] = column(table, columns["network"].header, path).astype(str).str.strip()
    if set(LONG) <= columns.keys():
        called = {own: name for name, own in wishes.names.items() if name in variables}
        frame = _from_long(frame, table, path, variables, rows, columns, called)
    else:
        frame = _from_wide(frame, table, path, variables, rows, columns)
    frame.attrs[NOTES] = notes
    return frame


def _columns(found: list[str], wishes: StationWishes, path: Path) -> dict[str, Column]:
    """The columns by firecard's names: those that the case names, and those that are called so."""
    plainly = (*NEEDED, "network", *LONG)
    long = all(name in found or name in wishes.names for name in LONG)
    given = {name: own for name, own in wishes.names.items() if not (long and name in wishes.variables)}
    columns = wished(given, found, {*plainly, *OPTIONAL, *wishes.variables}, path)
    taken = {each.header for each in columns.values()}
    called = set(columns)
    for header in (each for each in found if each not in taken):
        name, unit = _name_and_unit(header)
        known = name in OPTIONAL or (name in wishes.variables and not long)
        if name in called or not (header in plainly or known):
            continue
        if name in columns:
            raise BadInput(f"{path}: {name} stands there twice")
        columns[name] = Column(header, unit)
    return columns


def _from_wide(
    frame: pd.DataFrame,
    table: Any,
    path: Path,
    variables: Mapping[str, Variable],
    rows: Rows,
    columns: Mapping[str, Column],
) -> pd.DataFrame:
    """A column per variable, its unit in brackets behind its name."""
    known = {name: each for name, each in columns.items() if name in variables}
    if not known:
        raise BadInput(
            f"{path}: there is no variable in it; expected columns such as 'wind_speed [m/s]', or variable, unit and"
            f" value (known variables: {', '.join(variables)})"
        )
    for name, each in known.items():
        unit = unit_of(each, variables[name], path)
        text = column(table, each.header, path)
        if name == "wind_direction":
            text, frame["variable_direction"] = _without_vrb(text)
        frame[name] = measured(numbers(text, each.header, rows), unit, variables[name], path, each.header)
    if "variable_direction" not in frame:
        frame["variable_direction"] = False
    return frame


def _from_long(
    frame: pd.DataFrame,
    table: Any,
    path: Path,
    variables: Mapping[str, Variable],
    rows: Rows,
    columns: Mapping[str, Column],
    called: Mapping[str, str],
) -> pd.DataFrame:
    """A row per value: variable, unit, value; brought to a row per report."""
    of_name, of_unit, of_value = (columns[name].header for name in LONG)
    written = names(column(table, of_name, path), of_name, rows)
    name = written.map(called).where(written.isin(list(called)), written) if called else written
    rows.refuse(~name.isin(list(variables)), of_name, written, f"known: {', '.join(variables)}")
    unit = column(table, of_unit, path).astype(str).str.strip()
    text, varying = _without_vrb(column(table, of_value, path))
    value = numbers(text, of_value, rows)
    for (each, given), index in pd.DataFrame({"v": name, "u": unit}).groupby(["v", "u"], sort=True).indices.items():
        value.iloc[index] = measured(value.iloc[index], given, variables[each], path, f"value of {each}")
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


def _name_and_unit(header: str) -> tuple[str, str | None]:
    """The name before the brackets and the unit in them; no unit where there are none."""
    found = HEADED.match(header)
    return (found[1], found[2]) if found else (header, None)
