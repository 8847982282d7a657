"""Reports of airports as the Iowa Environmental Mesonet gives them out, in CSV or with tabs.

A row is one report: station, valid (its time), lon and lat where they were asked for, then columns whose units are
fixed by the format, not written in the file: tmpf and dwpf in °F (tmpc, dwpc in °C), relh in %, drct in degrees, sknt
and gust in knots (sped, gust_mph in mph), elevation in m. Of two columns of one variable the first counts. `M`, `null`
or nothing is missing; `T`, a trace of rain, snow or ice, is 0. Lines above the header that start with `#` are remarks.

The service writes times in UTC unless it was asked for another zone, and then says so above the header (`#DEBUG: Time
Zone -> America/Chicago`) or in it (`valid (GMT timezone)`); a file without remarks is UTC unless the case says `zone:`.
Rows need no order. A column that the format does not fix is read where the case names it with its unit:
`names: {wind_gust: "peak_gust [kt]"}`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

from configs.source import plain
from metrics.errors import BadInput
from tasks.readers.formats import Head, StationWishes
from tasks.readers.reports import OPTIONAL, Column, converted, headed, measured, refuse_repeated, unit_of, wished
from tasks.readers.tables import Rows, column, names, numbers, read_table, times

WHAT = "an ASOS table"
VALID = re.compile(r"valid\s*(?:\(\s*(.+?)(?:\s+timezone)?\s*\))?")
REMARK = "#"
REMARKED_ZONE = re.compile(r"#.*?\bTime Zone\s*->\s*(\S+)")
# What the format calls things, and in which unit they are.
VARIABLES = {
    "sknt": ("wind_speed", "knot"),
    "sped": ("wind_speed", "mph"),
    "drct": ("wind_direction", "deg"),
    "gust": ("wind_gust", "knot"),
    "gust_mph": ("wind_gust", "mph"),
    "tmpf": ("temperature", "degF"),
    "tmpc": ("temperature", "degC"),
    "dwpf": ("dew_point", "degF"),
    "dwpc": ("dew_point", "degC"),
    "relh": ("relative_humidity", "%"),
}
OTHERS = {"p01i": "inch", "p01m": "mm", "alti": "inHg", "mslp": "hPa", "vsby": "mile", "feel": "degF"}
UNITS = {**{header: unit for header, (_, unit) in VARIABLES.items()}, **OTHERS, **OPTIONAL}
ABSENT = ("M", "m", "null", "None")
TRACE = re.compile(r"p01|ice_accretion|snow")  # what there may be a trace of


def recognises(head: Head) -> bool:
    """A station, a time called `valid`, and a column that only this format has."""
    _, found = _header(head.lines)
    return "station" in found and any(map(VALID.fullmatch, found)) and not VARIABLES.keys().isdisjoint(found)


def read_reports(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a report: station, time, position where there is one, and the variables as kept."""
    head = Head.of(path)
    skip, named = _header(head.lines)
    table = read_table(path, WHAT, skip=skip, delimiter=_delimiter(head.lines[skip] if named else ""))
    # Headers are padded in some years of the service.
    table = table.rename_columns([each.strip() for each in table.column_names])
    found = table.column_names
    refuse_repeated([each for each in found if each], path)
    columns = _columns(found, wishes, path)
    if not table.num_rows:
        raise BadInput(f"{path}: there is a header but no row")
    rows = Rows(path, skipped=skip)
    header = columns["station"].header
    frame = pd.DataFrame({"station": names(column(table, header, path), header, rows)})
    valid = columns["time"].header
    frame["time"] = times(
        column(table, valid, path), valid, rows, zone=_zone(head, skip, valid, path) or wishes.zone
    ).dt.floor("s")
    for name in ("lat", "lon", *OPTIONAL):
        if name in columns and name not in wishes.variables:
            header = columns[name].header
            values = numbers(_given(table, header, path), header, rows)
            kept = OPTIONAL.get(name)
            frame[name] = converted(values, columns[name].unit or kept, kept, path, header) if kept else values
    if "network" in columns:
        frame["network"] = column(table, columns["network"].header, path).astype(str).str.strip()
    read = {name: each for name, each in columns.items() if name in wishes.variables}
    if not read:
        raise BadInput(
            f"{path}: there is no variable in it; expected columns such as {', '.join(VARIABLES)}"
            f" (found: {plain(', '.join(found), 200)})"
        )
    for name, each in read.items():
        unit = unit_of(each, wishes.variables[name], path)
        values = numbers(_given(table, each.header, path), each.header, rows)
        frame[name] = measured(values, unit, wishes.variables[name], path, each.header)
    return frame.assign(variable_direction=False)


def _header(lines: list[str]) -> tuple[int, tuple[str, ...]]:
    """How many remarks stand above the header, and the columns that it names."""
    skip = next((number for number, line in enumerate(lines) if not line.startswith(REMARK)), len(lines))
    first = lines[skip] if skip < len(lines) else ""
    return skip, tuple(each.strip().strip('"') for each in first.split(_delimiter(first))) if first else ()


def _delimiter(line: str) -> str:
    return "\t" if "\t" in line else ","


def _columns(found: list[str], wishes: StationWishes, path: Path) -> dict[str, Column]:
    """The columns by firecard's names: those that the case names, then those of the format."""
    plainly = {
        "station": "station",
        "lat": "lat",
        "lon": "lon",
        "network": "network",
        **{each: each for each in OPTIONAL},
    }
    known = {*plainly, "time", *wishes.variables}
    columns = wished(wishes.names, found, known, path, split=_by_convention)
    for header in found:
        name = "time" if VALID.fullmatch(header) else plainly.get(header) or VARIABLES.get(header, ("",))[0]
        if name in known:
            columns.setdefault(name, _by_convention(header))
    for name, usual in (("station", "station"), ("time", "valid")):
        if name not in columns:
            raise BadInput(
                f"{path}: the column {usual!r} is missing; {WHAT} has station, valid and columns such as sknt and tmpf"
                f" (found: {plain(', '.join(found), 200)}); say `names:` where they are called otherwise"
            )
    return columns


def _by_convention(header: str) -> Column:
    """A column with the unit that its brackets say, else that of the format."""
    found = headed(header)
    return found if found.unit is not None else Column(header, UNITS.get(header))


def _zone(head: Head, skip: int, valid: str, path: Path) -> str | None:
    """The zone of the times, as the remarks or the header say."""
    remarked = [found[1] for found in map(REMARKED_ZONE.match, head.lines[:skip]) if found]
    written = VALID.fullmatch(valid)
    said = [*remarked, *([written[1]] if written and written[1] else [])]
    for zone in said:
        try:
            ZoneInfo(zone)
        except (OSError, ValueError, KeyError):
            shown = plain(repr(zone), 60)
            raise BadInput(
                f"{path}: its times are in the zone {shown}, which nobody knows; expected such as 'UTC'"
            ) from None
    return said[0] if said else None


def _given(table: Any, header: str, path: Path) -> pd.Series:
    """A column of numbers, where `M` is nothing and a trace `T` is 0."""
    values: pd.Series = column(table, header, path)
    text = values.astype(str).str.strip()
    given = text.mask(text.isin(ABSENT), "")
    return given.mask(text == "T", "0") if TRACE.match(header) else given
