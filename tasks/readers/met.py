"""Matched pairs of MET's Point-Stat: lines of type MPR, in `.stat` files and in `_mpr.txt`.

The header names the columns; in a `.stat` file it names those up to LINE_TYPE, and what follows depends on the type: of
MPR it is TOTAL INDEX OBS_SID OBS_LAT OBS_LON OBS_LVL OBS_ELV FCST OBS, and more that is not needed here. Without a
header the columns are those of version 8.1 and later. Lines of other types are passed over. Missing is NA.

UGRD and VGRD of one station and time become wind speed and direction, unless the model has WIND and WDIR. Rows on
levels of pressure (P850) are of the free air and are passed over. A row that stands there again, for another mask or
message type, counts once; rows of one station and time that differ (by interpolation, level, or description) are
refused: nobody could say which one is meant. Of several observations of a station for a valid time the nearest counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from metrics.variables import Variable
from tasks.matching.wind import speed_and_direction
from tasks.readers.formats import Head
from tasks.readers.tables import FIRST, LAST, names, numbers
from tasks.readers.texts import Lines, read_lines

WHAT = "output of MET's Point-Stat"
TYPE = "MPR"
BEFORE = (
    *("VERSION", "MODEL", "DESC", "FCST_LEAD", "FCST_VALID_BEG", "FCST_VALID_END"),
    *("OBS_LEAD", "OBS_VALID_BEG", "OBS_VALID_END", "FCST_VAR", "FCST_UNITS", "FCST_LEV"),
    *("OBS_VAR", "OBS_UNITS", "OBS_LEV", "OBTYPE", "VX_MASK", "INTERP_MTHD", "INTERP_PNTS"),
    *("FCST_THRESH", "OBS_THRESH", "COV_THRESH", "ALPHA", "LINE_TYPE"),
)
"""The columns before those of a line type, from version 8.1 on; earlier versions have no units."""
AFTER = ("TOTAL", "INDEX", "OBS_SID", "OBS_LAT", "OBS_LON", "OBS_LVL", "OBS_ELV", "FCST", "OBS")
NEEDED = (
    *("MODEL", "FCST_LEAD", "FCST_VALID_BEG", "OBS_VALID_BEG", "FCST_VAR", "FCST_UNITS", "FCST_LEV"),
    *("OBS_VAR", "OBS_UNITS", "OBS_SID", "OBS_LAT", "OBS_LON", "FCST", "OBS"),
)
TELLING = ("DESC", "FCST_VAR", "FCST_LEV", "OBS_VAR", "OBS_LEV", "OBTYPE", "INTERP_MTHD", "INTERP_PNTS")
"""What may tell two rows of one station and time apart, beside their numbers."""
WITH_UNITS = (8, 1)
VERSION = re.compile(r"V(\d{1,3})\.(\d{1,3})(?:\.\d+)*")
CALLED = {
    "UGRD": "u",
    "VGRD": "v",
    "WIND": "wind_speed",
    "WDIR": "wind_direction",
    "GUST": "wind_gust",
    "TMP": "temperature",
    "DPT": "dew_point",
    "RH": "relative_humidity",
}
WIND = {"u": "m/s", "v": "m/s"}
MISSING = -9999.0
POINT = ["model", "station", "cycle", "valid_time", "variable"]


def recognises(head: Head) -> bool:
    """By the header, or by a version and a line type."""
    first = next((line.split() for line in head.lines if line.strip()), [])
    if first[:2] == ["VERSION", "MODEL"]:
        return "LINE_TYPE" in first
    return len(first) > len(BEFORE) and bool(VERSION.fullmatch(first[0])) and TYPE in first


def read_pairs(path: Path, variables: Mapping[str, Variable]) -> pd.DataFrame:
    """A row a pair: model, station, lat, lon, cycle, valid_time, variable, forecast and observed in the kept unit."""
    table, lines = _table(path)
    called = _called(table, variables, Lines(path, lines))
    chosen = called.notna() & ~table["FCST_LEV"].str.fullmatch(r"P\d.*")
    if not chosen.any():
        found = plain(", ".join(sorted(set(table["FCST_VAR"]))), 200)
        raise BadInput(f"{path}: none of its variables at the surface is known: {found}; known: {', '.join(CALLED)}")
    kept = np.flatnonzero(chosen)
    table, called = table.iloc[kept].reset_index(drop=True), called.iloc[kept].reset_index(drop=True)
    place = Lines(path, [lines[each] for each in kept])
    frame = _frame(table, called, place)
    for side, unit in (("forecast", "FCST_UNITS"), ("observed", "OBS_UNITS")):
        frame[side] = _converted(frame[side], called, table[unit], variables, place, unit)
    frame = _one_row_per_point(frame, table, place)
    return _with_winds(frame, variables)


def _table(path: Path) -> tuple[pd.DataFrame, list[int]]:
    """The needed columns of the matched pairs as text, and the lines that they stand in."""
    rows: list[list[str]] = []
    lines: list[int] = []
    others: set[str] = set()
    for number, names_, words in _data(path):
        kind = names_.index("LINE_TYPE")
        if len(words) <= kind:
            raise BadInput(f"{path}: line {number}: expected at least {kind + 1} columns, got {len(words)}")
        if words[kind] != TYPE:
            others.add(words[kind])
            continue
        columns = names_ if "OBS_SID" in names_ else (*names_[: kind + 1], *AFTER)
        missing = next((each for each in NEEDED if each not in columns), None)
        if missing in ("FCST_UNITS", "OBS_UNITS"):
            raise BadInput(f"{path}: line {number}: there is no {missing}; MET writes units from version 8.1 on")
        if missing is not None:
            raise BadInput(f"{path}: line {number}: the column {missing} is missing from the header above it")
        last = max(columns.index(each) for each in NEEDED)
        if len(words) <= last:
            raise BadInput(f"{path}: line {number}: expected at least {last + 1} columns, got {len(words)}")
        where = {name: columns.index(name) for name in (*NEEDED, *TELLING) if name in columns}
        rows.append([words[where[name]] if name in where else "" for name in dict.fromkeys((*NEEDED, *TELLING))])
        lines.append(number)
    if not rows:
        seen = f"; line types here: {plain(', '.join(sorted(others)), 100)}" if others else ""
        raise BadInput(f"{path}: there is no matched pair in it (no line of type {TYPE}){seen}")
    return pd.DataFrame(rows, columns=list(dict.fromkeys((*NEEDED, *TELLING))), dtype=object), lines


def _data(path: Path) -> Iterator[tuple[int, Sequence[str], list[str]]]:
    """Each line of data with its number and the names of its columns, of the header above it."""
    header: Sequence[str] = ()
    for number, line in enumerate(read_lines(path, WHAT), start=1):
        words = line.split()
        if not words:
            continue
        if words[0] == "VERSION":
            if "LINE_TYPE" not in words or len(set(words)) < len(words):
                raise BadInput(f"{path}: line {number}: expected a header of MET with LINE_TYPE and each name once")
            header = words
            continue
        version = VERSION.fullmatch(words[0])
        if not version:
            raise BadInput(
                f"{path}: line {number}: expected a version such as V12.0.0 or a header, got {plain(words[0], 40)!r}"
            )
        if not header and (int(version[1]), int(version[2])) < WITH_UNITS:
            raise BadInput(
                f"{path}: line {number}: there is no header, and {words[0]} writes no units: 8.1 is the first"
            )
        yield number, header or BEFORE, words


def _called(table: pd.DataFrame, variables: Mapping[str, Variable], place: Lines) -> pd.Series:
    """Our name of each row's variable, or nothing; one name on either side is enough."""
    known = {name: name for name in variables} | {
        theirs: ours for theirs, ours in CALLED.items() if ours in variables or ours in WIND
    }
    forecast, observed = table["FCST_VAR"].map(known), table["OBS_VAR"].map(known)
    differ = forecast.notna() & observed.notna() & (forecast != observed)
    said = table["FCST_VAR"] + " and " + table["OBS_VAR"]
    place.refuse(differ, "FCST_VAR", said, "forecast and observation are of different variables")
    return forecast.where(forecast.notna(), observed)


def _frame(table: pd.DataFrame, called: pd.Series, place: Lines) -> pd.DataFrame:
    """Columns checked: times, positions and numbers."""
    frame = pd.DataFrame({"model": names(table["MODEL"], "MODEL", place)})
    frame["station"] = names(table["OBS_SID"], "OBS_SID", place)
    for name, theirs, most in (("lat", "OBS_LAT", 90.0), ("lon", "OBS_LON", 360.0)):
        frame[name] = numbers(table[theirs], theirs, place)
        place.refuse(~frame[name].between(-most, most), theirs, table[theirs], f"expected degrees within ±{most:g}")
    frame["valid_time"] = _times(table["FCST_VALID_BEG"], "FCST_VALID_BEG", place)
    measured = table["OBS_VALID_BEG"].where(table["OBS_VALID_BEG"] != "NA", table["FCST_VALID_BEG"])
    frame["measured"] = _times(measured, "OBS_VALID_BEG", place)
    frame["cycle"] = frame["valid_time"] - _leads(table["FCST_LEAD"], place)
    frame["variable"] = called
    for name, theirs in (("forecast", "FCST"), ("observed", "OBS")):
        values = numbers(table[theirs], theirs, place)
        frame[name] = values.mask(values == MISSING)
    return frame


def _times(text: pd.Series, name: str, place: Lines) -> pd.Series:
    good = text.str.fullmatch(r"[0-9]{8}_[0-9]{6}")
    found = pd.to_datetime(text.where(good), format="%Y%m%d_%H%M%S", errors="coerce", utc=True)
    place.refuse(found.isna(), name, text, "expected a time as YYYYMMDD_HHMMSS")
    place.refuse(~found.between(FIRST, LAST), name, text, "expected a time between 1900 and 2200")
    return found.dt.as_unit("ns")


def _leads(text: pd.Series, place: Lines) -> pd.Series:
    """HHMMSS, the hours with as many digits as they need."""
    parts = text.str.extract(r"^([0-9]{2,4})([0-5][0-9])([0-5][0-9])$")
    place.refuse(parts[0].isna(), "FCST_LEAD", text, "expected a lead as HHMMSS")
    seconds = parts[0].astype(int) * 3600 + parts[1].astype(int) * 60 + parts[2].astype(int)
    return pd.to_timedelta(seconds, unit="s").dt.as_unit("ns")


def _converted(
    values: pd.Series,
    called: pd.Series,
    units: pd.Series,
    variables: Mapping[str, Variable],
    place: Lines,
    column: str,
) -> pd.Series:
    """The values in the unit kept for their variable."""
    result = values.to_numpy(dtype=float).copy()
    for (name, unit), index in pd.DataFrame({"n": called, "u": units}).groupby(["n", "u"], sort=True).indices.items():
        target = WIND.get(name) or variables[name].unit
        here = np.isin(np.arange(len(values)), index)
        place.refuse(here & (unit == "NA"), column, units, f"{name}: expected a unit, such as {target}")
        try:
            result[index] = convert(result[index], unit, target)
        except UnknownUnit as error:
            place.refuse(here, column, units, f"{name}: {error}")
    return pd.Series(result, index=values.index)


def _one_row_per_point(frame: pd.DataFrame, table: pd.DataFrame, place: Lines) -> pd.DataFrame:
    """One row a point: the observation nearest in time, the earlier of two; rows that say otherwise are refused."""
    apart = (frame["measured"] - frame["valid_time"]).abs()
    order = frame.assign(apart=apart).sort_values([*POINT, "apart", "measured"], kind="stable").index
    first = frame.loc[order].groupby(POINT, sort=False)["measured"].transform("first").reindex(frame.index)
    nearest = frame["measured"] == first
    numbers_ = ["forecast", "observed", "lat", "lon"]
    told = frame[nearest].drop_duplicates([*POINT, *numbers_])
    twice = told.duplicated(POINT)
    if twice.any():
        row = told[twice].iloc[0]
        same = told[(told[POINT] == row[POINT]).all(axis=1)].index
        ways = {
            name: sorted(set(table.loc[same, name])) for name in TELLING if table.loc[same, name].nunique() > 1
        } or {"numbers": [", ".join(f"{each:g}" for each in frame.loc[index, numbers_[:2]]) for index in same]}
        listed = "; ".join(f"{name} {' or '.join(values)}" for name, values in ways.items())
        raise BadInput(
            f"{place.path}: {place.place(int(same[1]))}: {row['variable']} of station {row['station']!r} at"
            f" {row['valid_time']:%Y-%m-%dT%H:%MZ} stands there several times and differs: {plain(listed, 200)};"
            " keep one of them in the file"
        )
    return told.drop(columns="measured").reset_index(drop=True)


def _with_winds(frame: pd.DataFrame, variables: Mapping[str, Variable]) -> pd.DataFrame:
    """The rows with wind speed and direction in place of its components."""
    components = frame["variable"].isin(list(WIND))
    if not components.any():
        return frame
    rest = frame[~components]
    keys = POINT[:-1]
    sides = ["forecast", "observed"]
    parts = frame[components].pivot(index=keys, columns="variable", values=sides)
    parts = parts.reindex(columns=pd.MultiIndex.from_product([sides, list(WIND)]))
    places = frame[components].groupby(keys, sort=True)[["lat", "lon"]].first()
    winds = {side: speed_and_direction(parts[side]["u"], parts[side]["v"]) for side in sides}
    made = [rest]
    for number, name in enumerate(("wind_speed", "wind_direction")):
        if name in variables:
            values = pd.DataFrame({side: winds[side][number] for side in sides}, index=parts.index)
            derived = places.join(values).reset_index().assign(variable=name)
            direct = set(rest.loc[rest["variable"] == name, "model"])
            made.append(derived[~derived["model"].isin(direct)])
    return pd.concat([each for each in made if len(each)], ignore_index=True)[frame.columns.tolist()]
