"""Weather-station files of WindNinja: a file a station as a rule, a row a report, every unit in a column of its own.

Columns by the words before their brackets: Station_Name, Coord_Sys(PROJCS,GEOGCS), Datum(WGS84,NAD83,NAD27),
Lat/YCoord, Lon/XCoord, Height with Height_Units(meters,feet) above ground, Speed with Speed_Units(mph,kph,mps,kts),
Direction(degrees), Temperature with Temperature_Units(F,C), date_time. Cloud cover and radius of influence are left.
A calm is speed 0. Units may change from row to row; rows need no order. Times have a zone (WindNinja writes
`2018-06-21T02:30:00Z`), or the case says `zone:`.

Positions are taken as they are in WGS84 and NAD83, which lie within a metre or two; projected coordinates, whose
projection only WindNinja's elevation file knows, and NAD27 need a table of stations beside the data. A list of station
files is refused with the path to write instead: what it points at would not be among the inputs of a case.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from configs.source import plain
from metrics.errors import BadInput
from metrics.variables import Variable
from tasks.readers.formats import Head, StationWishes
from tasks.readers.reports import converted, measured
from tasks.readers.tables import Rows, column, names, numbers, read_table, times, without_zone

WHAT = "a WindNinja station file"
LIST = re.compile(r'"?(?:\w+_)?station_file_list"?\s*,?', re.IGNORECASE)
NEEDED = (
    "station_name",
    "coord_sys",
    "datum",
    "lat/ycoord",
    "lon/xcoord",
    "speed",
    "speed_units",
    "direction",
    "date_time",
)
UNITS = {
    "height": {"meters": "m", "feet": "ft"},
    "speed": {"mph": "mph", "kph": "km/h", "mps": "m/s", "kts": "knot"},
    "temperature": {"f": "degF", "c": "degC", "k": "K"},
}
VARIABLES = {"speed": "wind_speed", "temperature": "temperature"}
DATUMS = ("wgs84", "nad83")


def recognises(head: Head) -> bool:
    """The columns of a station file, or a list of such files."""
    first = next(iter(head.lines), "").strip()
    return bool(LIST.fullmatch(first)) or {"station_name", "coord_sys", "speed_units"} <= {*map(_word, head.columns)}


def read_reports(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a report: station, time, position, height of the sensor, and the variables as kept."""
    _refuse_list(path)
    if wishes.names:
        raise BadInput(f"{path}: `names:` is of no use for {WHAT}, whose columns have names of their own")
    table = read_table(path, WHAT)
    found = {_word(each): each for each in reversed(table.column_names)}
    if "datetime" in found:
        found.setdefault("date_time", found["datetime"])
    missing = [each for each in NEEDED if each not in found]
    if missing:
        raise BadInput(
            f"{path}: the column {missing[0]!r} is missing; {WHAT} has {', '.join(NEEDED)}"
            f" (found: {plain(', '.join(table.column_names), 200)})"
        )
    if not table.num_rows:
        raise BadInput(f"{path}: there is a header but no row")
    rows = Rows(path)
    text = {word: column(table, header, path).astype(str).str.strip() for word, header in found.items()}
    frame = pd.DataFrame({"station": names(text["station_name"], found["station_name"], rows)})
    frame["time"] = _times(text["date_time"], found["date_time"], rows, wishes.zone)
    frame["lat"], frame["lon"] = _positions(text, found, rows, placed=wishes.places is not None)
    if "height" in found:
        height = _by_unit("height", text, found, rows, path)
        frame["height"] = height.where(height > 0)
    for word, name in VARIABLES.items():
        if word in found and name in wishes.variables:
            frame[name] = _by_unit(word, text, found, rows, path, wishes.variables[name])
    if "wind_direction" in wishes.variables:
        frame["wind_direction"] = numbers(text["direction"], found["direction"], rows)
    return frame.assign(variable_direction=False)


def _word(header: str) -> str:
    """The word before the brackets, in small letters."""
    return header.partition("(")[0].strip().lower()


def _times(text: pd.Series, header: str, rows: Rows, zone: str | None) -> pd.Series:
    rows.refuse(text == "", header, text, "expected a time; a station file of one moment says none, so write it there")
    if zone is None:
        bare = without_zone(text)
        rows.refuse(bare, header, text, "expected a time with its zone, such as 2018-06-21T02:30:00Z; or say `zone:`")
    return times(text, header, rows, zone=zone).dt.floor("s")


def _positions(
    text: dict[str, pd.Series], found: dict[str, str], rows: Rows, *, placed: bool
) -> tuple[pd.Series, pd.Series]:
    """Latitude and longitude in degrees; none where a table of stations has better ones."""
    projected = text["coord_sys"].str.lower() != "geogcs"
    other = ~text["datum"].str.lower().isin(DATUMS)
    if not placed:
        way = "or give the positions with `stations:`, a table of station, lat and lon"
        rows.refuse(projected, found["coord_sys"], text["coord_sys"], f"expected GEOGCS, latitude and longitude; {way}")
        rows.refuse(other, found["datum"], text["datum"], f"expected WGS84 or NAD83; {way}")
    lat, lon = (numbers(text[each], found[each], rows) for each in ("lat/ycoord", "lon/xcoord"))
    return lat.mask(projected | other), lon.mask(projected | other)


def _by_unit(
    word: str,
    text: dict[str, pd.Series],
    found: dict[str, str],
    rows: Rows,
    path: Path,
    variable: Variable | None = None,
) -> pd.Series:
    """A column of numbers whose units stand beside it, row by row."""
    values = numbers(text[word], found[word], rows)
    beside = f"{word}_units"
    if beside not in found:
        raise BadInput(f"{path}: the column {beside!r} is missing; it says the unit of {found[word]!r}")
    units = text[beside].str.lower()
    wrong = ~units.isin(list(UNITS[word])) & values.notna()
    rows.refuse(wrong, found[beside], text[beside], f"expected {', '.join(UNITS[word])}")
    kept = pd.Series(np.nan, index=values.index)
    for unit, rest in values[values.notna()].groupby(units):
        known = UNITS[word][str(unit)]
        kept[rest.index] = (
            measured(rest, known, variable, path, found[word])
            if variable
            else converted(rest, known, "m", path, found[word])
        )
    return kept


def _refuse_list(path: Path) -> None:
    """A list of station files is refused with the path that reads them."""
    first, *others = Head.of(path).lines or [""]
    if not LIST.fullmatch(first.strip()):
        return
    listed = [name for name in (each.strip().strip('",') for each in others) if name]
    common = _common(listed)
    pattern = f"*{common}*{'.csv' if all(each.endswith('.csv') for each in listed) else ''}" if len(listed) > 1 else ""
    way = (
        f"such as {plain(repr(pattern), 120)}"
        if common.strip("-_.")
        else f"not the list ({plain(', '.join(listed), 200)})"
    )
    raise BadInput(
        f"{path}: is a list of {len(listed)} station files of WindNinja; write a `path:` of the files, {way}"
    )


def _common(listed: list[str]) -> str:
    """The longest piece that all names share, before their endings."""
    stems = [Path(each).stem for each in listed[:50]] or [""]
    first = min(stems, key=len)[:120]
    pieces = (first[start:stop] for start in range(len(first)) for stop in range(len(first), start, -1))
    return max((each for each in pieces if all(each in other for other in stems)), key=len, default="")
