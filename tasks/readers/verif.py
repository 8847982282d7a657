"""The text format of verif (WFRT): forecasts beside observations of one variable.

Lines that start with `#` say which variable it is and its unit (`# variable: T`, `# units: $^oC$`); then a line of
column names, then a row per forecast, all separated by blanks. Columns: `date` (YYYYMMDD, with `hour` if it is there)
or `unixtime` of the cycle, `leadtime` (hours; also called `offset`), `location` (also `id`), `lat`, `lon`, `obs` and
`fcst`. Times are UTC; missing is −999 or NA. Every other column is left alone: probabilities (`p10`), quantiles
(`q0.1`), members (`e0`), `pit`, `altitude`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from metrics.variables import Variable
from tasks.readers.formats import Head
from tasks.readers.tables import FIRST, LAST, names, numbers
from tasks.readers.texts import Lines, read_lines

WHAT = "a text file of verif"
MISSING = -999.0
SAID = re.compile(r"#\s*(\w+)\s*:(.*)")
COLUMNS = {
    "lead": ("leadtime", "offset"),
    "station": ("location", "id"),
    "lat": ("lat",),
    "lon": ("lon",),
    "observed": ("obs",),
    "forecast": ("fcst",),
}
"""What the columns are called, by our names; a file has one of each."""
CALLED = {
    "temperature": "t t2 t2m temp temperature airtemperature 2mtemperature temperature2m",
    "dew_point": "td td2m d2m dewpoint dewpointtemperature",
    "relative_humidity": "rh rh2m relativehumidity",
    "wind_speed": "ws ff ws10 ws10m ff10 ff10m windspeed windspeed10m 10mwindspeed",
    "wind_direction": "wd dd wd10 wd10m dd10 dd10m winddirection winddir",
    "wind_gust": "gust windgust fg",
}
"""What variables are called there, without blanks, strokes and capitals."""
LONGEST = 24 * 366  # hours of lead


def recognises(head: Head) -> bool:
    """By the names of its columns."""
    found = next((line.split() for line in head.lines if line.strip() and not line.startswith("#")), [])
    time = {"date", "unixtime"} & set(found)
    return bool(time and {"leadtime", "offset"} & set(found) and {"obs", "fcst"} & set(found))


def read_pairs(path: Path, variables: Mapping[str, Variable]) -> pd.DataFrame:
    """A row a pair: station, lat, lon, cycle, valid_time, variable, forecast and observed in the unit that is kept."""
    lines = [(number, line) for number, line in enumerate(read_lines(path, WHAT), start=1) if line.strip()]
    said = {found[1].lower(): found[2].strip() for _, line in lines if (found := SAID.match(line))}
    body = [(number, line.split()) for number, line in lines if not line.startswith("#")]
    if not body:
        raise BadInput(f"{path}: there is no line with the names of columns, expected {WHAT}")
    variable = _variable(said.get("variable"), variables, path)
    (number, header), *rows = body
    columns = _columns(header, path, number)
    if not rows:
        raise BadInput(f"{path}: there is a header but no row")
    for number, row in rows:
        if len(row) != len(header):
            raise BadInput(f"{path}: line {number}: expected {len(header)} columns, as the header has, got {len(row)}")
    place = Lines(path, [number for number, _ in rows])

    def text(name: str) -> pd.Series:
        return pd.Series([row[columns[name]] for _, row in rows], dtype=object)

    cycle = _cycles(text, columns, place)
    lead = numbers(text("lead"), header[columns["lead"]], place)
    place.refuse(~lead.between(0, LONGEST), "leadtime", text("lead"), "expected hours from 0 on")
    frame = pd.DataFrame({"station": names(text("station"), header[columns["station"]], place)})
    for name, most in (("lat", 90.0), ("lon", 360.0)):
        frame[name] = numbers(text(name), name, place)
        place.refuse(~frame[name].between(-most, most), name, text(name), f"expected degrees within ±{most:g}")
    frame["cycle"] = cycle
    frame["valid_time"] = cycle + pd.to_timedelta((lead * 3600).round(), unit="s").dt.as_unit("ns")
    frame["variable"] = variable.name
    for name in ("forecast", "observed"):
        values = numbers(text(name), header[columns[name]], place)
        frame[name] = _converted(values.mask(values == MISSING), said.get("units"), variable, path)
    _refuse_repeated(frame, place)
    return frame


def _variable(said: str | None, variables: Mapping[str, Variable], path: Path) -> Variable:
    """The variable that the file is about."""
    known = ", ".join(variables)
    if not said:
        raise BadInput(f"{path}: no line says which variable it is, such as '# variable: T' (known: {known})")
    if said in variables:
        return variables[said]
    plainly = re.sub(r"[\W_]", "", said).lower()
    for name, spellings in CALLED.items():
        if name in variables and plainly in spellings.split():
            return variables[name]
    raise BadInput(f"{path}: '# variable: {plain(said, 60)}': is none that is known; write one of these there: {known}")


def _columns(header: list[str], path: Path, line: int) -> dict[str, int]:
    """Where each column stands, by our names."""
    twice = next((each for each in header if header.count(each) > 1), None)
    if twice is not None:
        raise BadInput(f"{path}: line {line}: the column {plain(twice, 60)!r} stands there twice")
    shown = plain(" ".join(header), 200)
    found = {}
    for name, spellings in COLUMNS.items():
        called = next((each for each in spellings if each in header), None)
        if called is None:
            raise BadInput(f"{path}: line {line}: the column {' or '.join(spellings)} is missing (found: {shown})")
        found[name] = header.index(called)
    for name in ("date", "hour", "unixtime"):
        if name in header:
            found[name] = header.index(name)
    if not {"date", "unixtime"} & found.keys():
        raise BadInput(f"{path}: line {line}: the column date or unixtime is missing (found: {shown})")
    return found


def _cycles(text: Callable[[str], pd.Series], columns: Mapping[str, int], place: Lines) -> pd.Series:
    """When each forecast started."""
    if "date" in columns:
        day = text("date")
        cycle = pd.to_datetime(day.where(day.str.fullmatch(r"[0-9]{8}")), format="%Y%m%d", errors="coerce", utc=True)
        place.refuse(cycle.isna(), "date", day, "expected a day as YYYYMMDD")
        place.refuse(~cycle.between(FIRST, LAST), "date", day, "expected a day between 1900 and 2200")
        if "hour" in columns:
            hour = numbers(text("hour"), "hour", place)
            place.refuse(~hour.between(0, 24, inclusive="left"), "hour", text("hour"), "expected an hour of 0 to 23")
            cycle = cycle + pd.to_timedelta((hour * 3600).round(), unit="s")
    else:
        seconds = numbers(text("unixtime"), "unixtime", place)
        place.refuse(
            ~seconds.between(FIRST.timestamp(), LAST.timestamp()),
            "unixtime",
            text("unixtime"),
            "expected seconds since 1970",
        )
        cycle = pd.to_datetime(seconds.round().astype("int64"), unit="s", utc=True)
    return cycle.dt.as_unit("ns")


def _converted(values: pd.Series, said: str | None, variable: Variable, path: Path) -> pd.Series:
    """The values in the unit that is kept; verif writes units for pictures, such as `$^oC$`."""
    if not said:
        raise BadInput(f"{path}: no line says the unit, such as '# units: {variable.unit}'")
    unit = said.replace("$", "").replace("\\circ", "o").replace("\\%", "%").strip()
    unit = re.sub(r"^\^\{?\s*o\s*\}?\s*", "deg", unit)  # a degree sign, raised
    try:
        return pd.Series(convert(values.to_numpy(), unit, variable.unit), index=values.index)
    except UnknownUnit as error:
        raise BadInput(f"{path}: '# units: {plain(said, 60)}', {variable.name}: {error}") from None


def _refuse_repeated(frame: pd.DataFrame, place: Lines) -> None:
    again = frame.duplicated(["station", "cycle", "valid_time"])
    place.refuse(again, "location", frame["station"], "this forecast stands there twice (same cycle and lead time)")
    first = frame.groupby("station", sort=False)[["lat", "lon"]].transform("first")
    moved = (frame[["lat", "lon"]] != first).any(axis=1)
    place.refuse(moved, "lat", frame["station"], "the location has two positions")
