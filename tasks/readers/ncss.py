"""Station reports as a THREDDS server gives them out in CSV (NetCDF Subset Service).

A row is one report: time, station, latitude and longitude, then variables by their CF names, each header with its unit:
`wind_speed[unit="m/s"]`, `wind_from_direction[unit="degrees"]`. Times have a zone (`2016-01-16 00:14:00Z`), or the case
says `zone:`. `NaN` or nothing is missing; so is -99999, which stands where a whole number is missing. Rows need no
order. Variables of other names are read where the case says so: `names: {wind_gust: peak_wind}`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from configs.source import plain
from metrics.errors import BadInput
from tasks.readers.formats import Head, StationWishes
from tasks.readers.reports import Column, converted, measured, refuse_repeated, unit_of, wished
from tasks.readers.tables import Rows, column, names, numbers, read_table, times, without_zone

WHAT = "a table of a THREDDS server"
HEADED = re.compile(r'(.*?)\[unit="(.*)"\]', re.DOTALL)
FILL = -99999.0
DEGREES = ("degrees_north", "degrees_east", "degree_north", "degree_east", "degrees", "degree")
NAMES = {
    "time": ("time", "date"),
    "station": ("station", "station_id", "stationName"),
    "lat": ("latitude", "lat"),
    "lon": ("longitude", "lon"),
    "elevation": ("altitude", "station_altitude", "elevation", "alt"),
    "wind_speed": ("wind_speed",),
    "wind_direction": ("wind_from_direction", "wind_direction"),
    "wind_gust": ("wind_speed_of_gust", "wind_gust"),
    "temperature": ("air_temperature",),
    "dew_point": ("dew_point_temperature", "dew_point"),
    "relative_humidity": ("relative_humidity",),
}


def recognises(head: Head) -> bool:
    """A table whose headers say units as the server writes them, with a time and a station."""
    found = [_split(each).header for each in head.columns]
    return any(map(HEADED.fullmatch, head.columns)) and all(
        set(NAMES[each]) & set(found) for each in ("time", "station")
    )


def read_reports(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a report: station, time, position and the variables as kept."""
    table = read_table(path, WHAT)
    table = table.rename_columns([each.strip() for each in table.column_names])
    found = table.column_names
    refuse_repeated(found, path)
    columns = _columns(found, wishes, path)
    if not table.num_rows:
        raise BadInput(f"{path}: there is a header but no row")
    rows = Rows(path)
    header = columns["station"].header
    frame = pd.DataFrame({"station": names(column(table, header, path), header, rows)})
    header = columns["time"].header
    written = column(table, header, path)
    if wishes.zone is None:
        bare = without_zone(written.astype(str).str.strip())
        rows.refuse(
            bare, header, written, "expected a time with its zone, such as 2016-01-16 00:14:00Z; or say `zone:`"
        )
    frame["time"] = times(written, header, rows, zone=wishes.zone).dt.floor("s")
    for way in (each for each in ("lat", "lon") if each in columns):
        each = columns[way]
        if each.unit is not None and each.unit not in DEGREES:
            shown = plain(repr(each.unit), 60)
            raise BadInput(f"{path}: the column {plain(repr(each.header), 80)} is in {shown}, expected degrees")
        frame[way] = numbers(column(table, each.header, path), each.header, rows)
    if "elevation" in columns:
        each = columns["elevation"]
        values = numbers(column(table, each.header, path), each.header, rows)
        frame["elevation"] = converted(values.mask(values == FILL), each.unit or "m", "m", path, each.header)
    read = {name: each for name, each in columns.items() if name in wishes.variables}
    if not read:
        raise BadInput(
            f"{path}: there is no variable in it that is known by name (found: {plain(', '.join(found), 200)});"
            " say `names:`, such as {wind_speed: ff}"
        )
    for name, each in read.items():
        unit = unit_of(each, wishes.variables[name], path)
        values = numbers(column(table, each.header, path), each.header, rows)
        frame[name] = measured(values.mask(values == FILL), unit, wishes.variables[name], path, each.header)
    return frame.assign(variable_direction=False)


def _split(header: str) -> Column:
    """What stands before `[unit="…"]`, and the unit in it."""
    found = HEADED.fullmatch(header)
    return Column(found[1].strip(), found[2]) if found else Column(header)


def _columns(found: list[str], wishes: StationWishes, path: Path) -> dict[str, Column]:
    """The columns by firecard's names: those that the case names, then those of CF."""
    known = {"time", "station", "lat", "lon", "elevation", *wishes.variables}
    columns = wished(wishes.names, found, known, path, split=_split)
    there = {_split(each).header: Column(each, _split(each).unit) for each in reversed(found)}
    for name, called in NAMES.items():
        own = next((there[each] for each in called if each in there), None)
        if own is not None and name in known:
            columns.setdefault(name, own)
    for name in ("station", "time"):
        if name not in columns:
            raise BadInput(
                f"{path}: the column {name!r} is missing; {WHAT} has time, station, latitude and longitude"
                f" (found: {plain(', '.join(found), 200)}); say `names:` where they are called otherwise"
            )
    return columns
