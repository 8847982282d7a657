"""METAR and SPECI reports as they go over the wire: bulletins with headings, or a report a line.

Finding the reports is done here: headings, reports over several lines that end in `=`, NIL, corrections, and what is no
METAR at all. The groups of wind and temperature are decoded by python-metar (the extra `metar`). It is handed a group
only if the group has the form of the code: left to itself it takes the visibility `0900` for a wind of 900 m/s, and a
wind without a unit for metres per second.

The wind is the first group of a report. Later ones belong to a runway, a trend or a remark and are no observation; nor
does a sector such as `180V240` change the mean direction. Temperatures are taken in tenths where a remark has them
(`T01560122`). A report says day, hour and minute only: its month is the one nearest to the cycle, or to the date in the
file's name. All reports of one time and station stay, a correction before what it corrects and a copy with a wind
before one without, because the first counts. What cannot be read is counted, and told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput
from tasks.readers.formats import Head, StationWishes
from tasks.readers.notes import NOTES, Notes
from tasks.readers.texts import read_text

EXAMPLE = "METAR KRCM 011155Z AUTO 27008KT 10SM CLR 21/20 A3005="
UNITS = {"KT": "kt", "KTS": "kt", "MPS": "m/s", "KMH": "km/h"}
SPEED = r"P?\d{2,3}"
WIND = re.compile(rf"(\d{{3}}|VRB|///)({SPEED}|//)(?:G({SPEED}|//))?({'|'.join(UNITS)})")
LIKE_WIND = re.compile(r"\S{0,9}[\d/]\S{0,9}(?:KT|MPS|KMH)\S{0,9}|(?:\d{3}|VRB|///)(?:\d\d\d?|//)(?:G\S{0,9})?")
AIR = re.compile(r"(?:M?\d\d|-\d\d?|//|XX|MM)/(?:M?\d\d|-\d\d?|//|XX|MM)?")
TENTHS = re.compile(r"T[01]\d{3}(?:[01]\d{3})?")
# The Z may be left out where what follows leaves no doubt: a heading has a place and a time, too.
START = re.compile(
    r"(?:(?:METAR|SPECI)\s+)?(?P<before>COR\s+)?(?P<station>[A-Z][A-Z0-9]{3})\s+(?P<time>\d{6})"
    rf"(?:Z(?=[\s=]|$)|(?=\s+(?:AUTO|COR|NIL|{WIND.pattern})(?:\s|$)))"
)
INLINE = re.compile(r"(?<=\s)(?=(?:METAR|SPECI)\s+(?:COR\s+)?[A-Z][A-Z0-9]{3}\s+\d{6}Z?\s)")
NIL = re.compile(
    r"(?:(?:METAR|SPECI)\s+)?(?:COR\s+)?(?:[A-Z][A-Z0-9]{2,3}\s+)?(?:\d{6}Z?\s+)?(?:AUTO\s+)?(?:RMK\s+)?NIL"
)
HEADING = re.compile(r"[A-Z]{4}\d{0,2}\s+[A-Z]{4}\s+\d{6}(?:\s+(?P<group>[A-Z]{3}))?")
KIND = re.compile(r"(?:METAR|SPECI)(?P<cor>\s+COR)?|COR")
FURNITURE = re.compile(r"\d{3,5}|(?:MTR|SPE)[A-Z0-9]{3}|NNNN|ZCZC\b.*")
MODIFIER = re.compile(r"AUTO|COR|CORR|CC[A-Z]|RTD|AMD|FINO|TEST")
CORRECTED = re.compile(r"CORR?|CC[A-Z]|AMD")
ELSEWHERE = re.compile(r"RMKS?|TEMPO|BECMG|INTER|NOSIG|FCST|PROB\d\d|FM\d{4}")  # remarks and trends
PERIOD = re.compile(r"\d{4}/\d{4}")  # what a TAF has where a METAR has its wind
IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?:\d\d|\d{4}|\d{6})?(?!\d)")

SHOWN = 40  # characters of examples
REPORTS = "METAR and SPECI reports"
VARIABLE, CALM, GUSTS = "winds of variable direction (VRB)", "calm winds", "winds with gusts"
IN_METRES, IN_KILOMETRES = "winds in m/s", "winds in km/h"
NO_DIRECTION = "winds without a direction"
BEYOND = "speeds beyond what the code can say, taken as its bound"
UNREADABLE = "wind groups that cannot be read"
NO_WIND = "reports without a wind group"
NO_REPORT = "NIL reports"
NO_TIME = "reports of an impossible day or hour"
NO_END = "reports without an end (=), which may be cut"
OTHER = "pieces of text that are no METAR"
ORDER = (
    *(REPORTS, VARIABLE, CALM, GUSTS, IN_METRES, IN_KILOMETRES),
    *(NO_DIRECTION, BEYOND, UNREADABLE, NO_WIND, NO_REPORT, NO_TIME, NO_END, OTHER),
)


@dataclass(frozen=True, slots=True)
class Piece:
    """What stands between two ends of a bulletin: a report, if it is one."""

    text: str
    ended: bool
    corrected: bool


@dataclass(frozen=True, slots=True)
class Wind:
    """A decoded wind: degrees, speed and gust in `unit`; missing is NaN."""

    direction: float = np.nan
    speed: float = np.nan
    gust: float = np.nan
    unit: str = "m/s"
    varies: bool = False
    beyond: bool = False  # more than the code can say: P99KT


@dataclass(slots=True)
class Tally:
    """What was met in a file, with one or a few short examples of what is worth showing."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, what: str, example: str = "") -> None:
        self.counts[what] += 1
        shown = self.examples.get(what, ())
        if example and (not shown or sum(map(len, shown)) + len(example) <= SHOWN) and example not in shown:
            self.examples[what] = (*shown, plain(example, 60))

    def notes(self) -> Notes:
        return Notes({what: self.counts[what] for what in ORDER if self.counts[what]}, dict(self.examples))


def recognises(head: Head) -> bool:
    """A line that starts with a station and a time of the code, and goes on as no TAF does."""
    for line in head.lines:
        found = START.match(line.strip().lstrip("\x01\x02"))
        if found and found[0].endswith("Z") and not PERIOD.match(line.strip()[found.end() :].strip()):
            return True
    return False


def read_reports(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a report, in the order of the file: station, time, wind, temperature and dew point."""
    text = read_text(path, f"METAR reports such as {EXAMPLE!r}", or_latin=True)  # remarks are written by people
    _refuse_without_library(path)
    tally, rows = Tally(), []
    uses_ends = "=" in text
    around = _around(path, wishes)
    for piece in _pieces(text):
        row = _row(piece, around, tally)
        if row is None:
            continue
        rows.append(row)
        if uses_ends and not piece.ended:
            tally.add(NO_END, piece.text)
    if not rows:
        met = "; ".join(tally.notes().in_words()) or "there is nothing in it"
        raise BadInput(f"{path}: there is no METAR report in it ({met}); expected text such as {EXAMPLE!r}")
    tally.counts[REPORTS] = len(rows)
    return _frame(rows, wishes, tally)


def _around(path: Path, wishes: StationWishes) -> datetime:
    """The time that the reports' month is nearest to."""
    if wishes.around is not None:
        return wishes.around if wishes.around.tzinfo else wishes.around.replace(tzinfo=UTC)
    dates = set()
    for year, month, day in IN_NAME.findall(path.name):
        try:
            dates.add(datetime(int(year), int(month), int(day), 12, tzinfo=UTC))
        except ValueError:
            continue
    if len(dates) != 1:
        told = "has several dates" if dates else "has none either"
        raise BadInput(
            f"{path}: METAR reports say day and hour but neither month nor year, and the file's name {told}; in a case"
            " the cycle tells them; alone, call the file such as metar_20190701.txt"
        )
    return dates.pop()


def _pieces(text: str) -> Iterator[Piece]:
    """What stands between the ends of bulletins and reports, in one line each, without headings and furniture."""
    for bulletin in re.split(r"[\x01\x02\x03]", text):
        all_corrected = corrected = False
        held: list[str] = []
        for line in (" ".join(each.split()) for each in bulletin.splitlines()):
            heading, kind = HEADING.fullmatch(line), KIND.fullmatch(line)
            furniture = heading or kind or FURNITURE.fullmatch(line)
            if furniture or START.match(line):
                yield from _apart(held, False, corrected)
                held = []
            if heading:
                all_corrected = bool(CORRECTED.fullmatch(heading["group"] or ""))
            if heading or kind:
                corrected = all_corrected or line.endswith("COR")
            if furniture:
                continue
            *whole, rest = line.split("=")
            for each in whole:
                yield from _apart([*held, each], True, corrected)
                held = []
            held.append(rest)
        yield from _apart(held, False, corrected)


def _apart(lines: list[str], ended: bool, corrected: bool) -> Iterator[Piece]:
    """The report of some lines; or several, where no end stands between them."""
    text = " ".join(each.strip() for each in lines if each.strip())
    parts = INLINE.split(text) if text else []
    for number, each in enumerate(parts, start=1):
        yield Piece(each.strip(), ended and number == len(parts), corrected)


@dataclass(frozen=True, slots=True)
class Row:
    """One report, decoded."""

    station: str
    time: datetime
    corrected: bool
    wind: Wind
    temperature: float
    dew_point: float


def _row(piece: Piece, around: datetime, tally: Tally) -> Row | None:
    """A piece as a report; None, and counted, where it is none."""
    found = START.match(piece.text)
    groups = piece.text[found.end() :].split() if found else []
    corrected = piece.corrected or bool(found and found["before"])
    while groups and MODIFIER.fullmatch(groups[0]):
        corrected |= bool(CORRECTED.fullmatch(groups.pop(0)))
    time = _nearest(found["time"], around) if found else None
    if NIL.fullmatch(piece.text) or groups[:1] == ["NIL"]:
        tally.add(NO_REPORT)
        return None
    if not found or (groups and PERIOD.fullmatch(groups[0])):
        tally.add(OTHER, piece.text)
        return None
    if time is None:
        tally.add(NO_TIME, found[0])
        return None
    wind = _wind(groups[0] if groups else "", piece.text, tally)
    end = next((number for number, each in enumerate(groups) if ELSEWHERE.fullmatch(each)), len(groups))
    air = next((each for each in groups[:end] if AIR.fullmatch(each) and any(map(str.isdigit, each))), "")
    tenths = next((each for each in groups[end:] if TENTHS.fullmatch(each)), "")
    return Row(found["station"], time, corrected, wind, *_air(air, tenths))


@lru_cache(maxsize=4096)
def _nearest(code: str, around: datetime) -> datetime | None:
    """The time of this day of the month, hour and minute that is nearest; None where there is no such time.

    >>> _nearest("312350", datetime(2026, 1, 1, tzinfo=UTC))
    datetime.datetime(2025, 12, 31, 23, 50, tzinfo=datetime.timezone.utc)
    """
    day, hour, minute = int(code[:2]), int(code[2:4]), int(code[4:])
    fitting = []
    for months in (-1, 0, 1):
        year, month = divmod(around.year * 12 + around.month - 1 + months, 12)
        try:
            fitting.append(datetime(year, month + 1, day, hour, minute, tzinfo=UTC))
        except ValueError:
            continue
    return min(fitting, key=lambda each: abs(each - around), default=None)


def _wind(group: str, text: str, tally: Tally) -> Wind:
    """The wind of a report's first group; missing, and counted, where there is none to read."""
    wind = _decoded_wind(group) if WIND.fullmatch(group) else None
    if wind is None:
        tally.add(*((UNREADABLE, group) if LIKE_WIND.fullmatch(group) else (NO_WIND, text)))
        return Wind()
    if wind.varies:
        tally.add(VARIABLE)
    elif np.isnan(wind.direction):
        tally.add(NO_DIRECTION, group)
    if wind.speed == 0:
        tally.add(CALM)
    if not np.isnan(wind.gust):
        tally.add(GUSTS)
    if wind.unit != "kt":
        tally.add(IN_METRES if wind.unit == "m/s" else IN_KILOMETRES)
    if wind.beyond:
        tally.add(BEYOND, group)
    return wind


@lru_cache(maxsize=4096)
def _decoded_wind(group: str) -> Wind | None:
    """The wind of a group that has the form of one; None where it says no speed, or one that cannot be."""
    found, decoded = WIND.fullmatch(group), _decoded(group)
    if not found or decoded is None or decoded.wind_speed is None:
        return None
    return Wind(
        direction=np.nan if decoded.wind_dir is None else float(decoded.wind_dir.value()),
        speed=float(decoded.wind_speed.value()),
        gust=np.nan if decoded.wind_gust is None else float(decoded.wind_gust.value()),
        unit=UNITS[found[4]],
        varies=found[1] == "VRB",
        beyond="P" in f"{found[2]}{found[3]}",
    )


@lru_cache(maxsize=4096)
def _air(group: str, tenths: str) -> tuple[float, float]:
    """Temperature and dew point in °C."""
    decoded = _decoded(f"{group} RMK {tenths}") if group or tenths else None
    if decoded is None:
        return np.nan, np.nan
    temperature, dew_point = (np.nan if each is None else each.value("C") for each in (decoded.temp, decoded.dewpt))
    return float(temperature), float(dew_point)


def _decoded(groups: str) -> Any:
    """Groups as python-metar reads them in a report of their own; None where it refuses them."""
    library = import_module("metar.Metar")
    try:
        return library.Metar(f"METAR XXXX 010000Z {groups}", month=1, year=2000)
    except library.ParserError:
        return None


def _refuse_without_library(path: Path) -> None:
    try:
        import_module("metar.Metar")
    except ImportError:
        raise BadInput(f"{path}: reading METAR needs the extra `metar`: pip install 'firecard[metar]'") from None


def _frame(rows: list[Row], wishes: StationWishes, tally: Tally) -> pd.DataFrame:
    # The first of a station and a time counts: a correction, and a copy that is whole before one that is garbled.
    rows = sorted(rows, key=lambda row: (not row.corrected, np.isnan(row.wind.speed)))
    frame = pd.DataFrame({"station": [row.station for row in rows]})
    frame["time"] = pd.to_datetime([row.time for row in rows], utc=True).as_unit("ns")
    frame["network"] = "METAR"
    unit = np.array([row.wind.unit for row in rows])
    for name, values in (
        ("wind_speed", [row.wind.speed for row in rows]),
        ("wind_direction", [row.wind.direction for row in rows]),
        ("wind_gust", [row.wind.gust for row in rows]),
        ("temperature", [row.temperature for row in rows]),
        ("dew_point", [row.dew_point for row in rows]),
    ):
        if name in wishes.variables:
            frame[name] = _kept(name, np.array(values, dtype=float), unit, wishes.variables[name].unit)
    frame["variable_direction"] = [row.wind.varies for row in rows]
    frame.attrs[NOTES] = tally.notes()
    return frame


def _kept(name: str, values: Any, wind_unit: Any, kept: str) -> Any:
    if name in ("temperature", "dew_point", "wind_direction"):
        return convert(values, "deg" if name == "wind_direction" else "degC", kept)
    for each in sorted(set(wind_unit)):
        here = wind_unit == each
        values[here] = convert(values[here], each, kept)
    return values
