"""The files of HARP and the HIRLAM Monitor: a model at stations (`vfld`) and observations (`vobs`), in one layout.

A file is of one time. Its first line has the number of surface stations, the number of soundings and the version (4);
then come the number of parameters, a line for each (name and hours of accumulation), and a row per station: its number,
latitude, longitude, in `vobs` its elevation, and the parameters. Missing is −99, however it is written. A station's
number may have zeros in front of it or not; where it stands there twice, the first row counts. Soundings come after the
surface stations and are not read.

The times stand in the name: `vfld<MODEL>YYYYMMDDHHLL` (the cycle and the lead in hours, two or three digits) and
`vobsYYYYMMDDHH`. Both are UTC. Units are those of the format: m/s, degrees, K, %; a parameter that the case names for a
variable that the format does not know is taken in the unit that the case gives that variable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from metrics.variables import Variable
from tasks.readers.formats import Head
from tasks.readers.texts import read_lines

VERSION = 4
MISSING = -99.0
PARAMETERS = {
    "wind_speed": (("FF",), "m/s"),
    "wind_direction": (("DD",), "deg"),
    "wind_gust": (("GX", "GW"), "m/s"),  # the highest gust where there is one, else the gust of the moment
    "temperature": (("TT",), "K"),
    "dew_point": (("TD",), "K"),
    "relative_humidity": (("RH",), "%"),
}
"""What the parameters are called, the first that a file has, and their unit."""
WIND_HEIGHT = 10.0  # metres above ground, of FF, DD and the gusts
NUMBERED = re.compile(r"\d+")
PARAMETER = re.compile(r"[A-Za-z]\w*")


@dataclass(frozen=True, slots=True)
class Layout:
    """What the first lines say: how many stations and which parameters; `start` is the line after them."""

    stations: int
    parameters: tuple[str, ...]
    start: int


@dataclass(frozen=True, slots=True)
class Surface:
    """The rows of the surface stations, as text, with the line that each stands in."""

    path: Path
    parameters: tuple[str, ...]
    lines: Sequence[int]
    rows: Sequence[Sequence[str]]
    before: int  # columns before the parameters

    def column(self, number: int, name: str) -> pd.Series:
        """One column as numbers; what is no number is refused with its line."""
        text = pd.Series([row[number] for row in self.rows], dtype=object)
        values = pd.to_numeric(text, errors="coerce").astype(float)
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            given = plain(repr(text.iloc[wrong[0]]), 40)
            raise BadInput(
                f"{self.path}: line {self.lines[wrong[0]]}, {name}: got {given}; expected a number, -99 where missing"
            )
        return values

    def measured(self, number: int, name: str) -> pd.Series:
        """The same, without what is missing."""
        values = self.column(number, name)
        return values.mask(values == MISSING)


def looks_right(head: Head, before: int, prefix: str) -> bool:
    """Is it a file of this layout, its rows with so many columns before the parameters?"""
    try:
        layout = _layout(head.path, head.lines)
    except BadInput:
        return False
    if layout.stations and layout.start < len(head.lines):
        return len(head.lines[layout.start].split()) == before + len(layout.parameters)
    return head.path.name.startswith(prefix)


def read_surface(path: Path, before: int, what: str) -> Surface:
    """The surface stations of a file."""
    lines = read_lines(path, what)
    layout = _layout(path, lines)
    found = [line.split() for line in lines[layout.start : layout.start + layout.stations]]
    if not layout.stations:
        raise BadInput(f"{path}: line 1: there is no surface station in it")
    width = before + len(layout.parameters)
    for number, row in enumerate(found):
        if len(row) != width:
            raise BadInput(
                f"{path}: line {layout.start + number + 1}: expected {width} columns, of {what}, got {len(row)}"
            )
    if len(found) < layout.stations:
        raise BadInput(
            f"{path}: is cut short: line 1 announces {layout.stations} surface stations, there are {len(found)}"
        )
    seen: set[str] = set()
    kept: list[int] = []
    for number, row in enumerate(found):
        row[0] = station_name(row[0])
        if row[0] not in seen:  # the first row of a station counts
            seen.add(row[0])
            kept.append(number)
    return Surface(
        path,
        layout.parameters,
        [layout.start + number + 1 for number in kept],
        [found[number] for number in kept],
        before,
    )


def _layout(path: Path, lines: Sequence[str]) -> Layout:
    first = lines[0].split() if lines else []
    if len(first) != 3 or not all(map(NUMBERED.fullmatch, first)):
        raise BadInput(
            f"{path}: line 1: expected the number of stations, the number of soundings and the version,"
            f" got {plain(repr(lines[0] if lines else ''), 60)}"
        )
    if len(first[2]) > 4 or int(first[2]) != VERSION:
        raise BadInput(f"{path}: line 1: is version {plain(first[2], 20)} of the format; version {VERSION} is read")
    second = lines[1].split() if len(lines) > 1 else []
    if len(second) != 1 or not NUMBERED.fullmatch(second[0]) or len(second[0]) > 4 or len(first[0]) > 9:
        raise BadInput(f"{path}: line 2: expected the number of parameters")
    count = int(second[0])
    names = []
    for number in range(2, 2 + count):
        words = lines[number].split() if number < len(lines) else []
        if len(words) != 2 or not PARAMETER.fullmatch(words[0]) or not NUMBERED.fullmatch(words[1]):
            raise BadInput(
                f"{path}: line {number + 1}: expected a parameter and its hours of accumulation, such as 'FF 0'"
                f" ({count} parameters are announced)"
            )
        names.append(words[0])
    return Layout(int(first[0]), tuple(names), 2 + count)


def station_name(number: str) -> str:
    """A station's number in five digits, as the WMO writes it, whatever zeros stand before it."""
    return f"{number.lstrip('0'):0>5}" if number.isascii() and number.isdigit() else number


def frame_of(surface: Surface) -> pd.DataFrame:
    """A row a station: its name and position."""
    return pd.DataFrame(
        {
            "station": pd.Series([row[0] for row in surface.rows], dtype=object),
            "lat": surface.column(1, "latitude"),
            "lon": surface.column(2, "longitude"),
        }
    )


def variables_of(surface: Surface, variables: Mapping[str, Variable], names: Mapping[str, str]) -> dict[str, pd.Series]:
    """The variables that the file has, in the unit kept for them; `names` may name another parameter of the file."""
    found: dict[str, pd.Series] = {}
    for name in (each for each in variables if each in PARAMETERS or each in names):
        known, unit = PARAMETERS.get(name, ((), variables[name].unit))
        wanted = (names[name],) if name in names else known
        parameter = next((each for each in wanted if each in surface.parameters), None)
        if parameter is None:
            continue
        values = surface.measured(surface.before + surface.parameters.index(parameter), parameter)
        try:
            found[name] = pd.Series(convert(values.to_numpy(), unit, variables[name].unit))
        except UnknownUnit as error:
            raise BadInput(f"{surface.path}: {parameter}: {error}") from None
    if not found:
        known = tuple(each for every, _ in PARAMETERS.values() for each in every)
        raise BadInput(
            f"{surface.path}: none of {', '.join((*known, *names.values()))} is among its parameters:"
            f" {plain(', '.join(surface.parameters), 200)}"
        )
    return found


def moment(digits: str) -> pd.Timestamp | None:
    """The time that YYYYMMDDHH stands for; none where it is no time of 1900 to 2200."""
    if not 1900 <= int(digits[:4]) < 2200:
        return None
    time = pd.to_datetime(digits, format="%Y%m%d%H", errors="coerce", utc=True)
    return None if time is pd.NaT else time
