"""Which format a file has: by its first bytes, its name and its header; never by trying until something fits.

What a reader offers, by what its format holds:

grid        `recognises(file)`, `find` and `rotation`, see `tasks.readers.grids.Reader`
forecasts   `recognises(head)`, `read_forecasts(path, wishes)`: a model's values at stations: columns station, lat, lon,
            cycle, valid_time (UTC), a column per variable in the unit kept for it; if known, model, elevation and
            height (of its winds above ground, both m)
pairs       `recognises(head)`, `read_pairs(path, variables)`: forecasts beside observations
stations    `recognises(head)`, `read_reports(path, wishes)`: reports of stations; `POSITIONS_VARY` where every report
            has a position of its own, which may be rounded now so, now so
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from configs.formats import FORMATS, Format, Holds
from configs.source import plain
from metrics.errors import BadInput, FirecardError, MissingInput
from metrics.variables import VARIABLES, Variable
from tasks.store.digests import is_store

if TYPE_CHECKING:
    import pandas as pd

    from tasks.readers.hdf import File

OWN = ("pairs", "stations")  # tables in firecard's own words
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
GLANCE = 65536  # bytes that are enough to know a format


@dataclass(frozen=True, slots=True)
class StationWishes:
    """What a case says about files of stations that do not speak for themselves.

    `names` are columns or variables of the file by firecard's names. `places` is a table of stations (station, lat,
    lon, and what else is known of them) that stands beside the data. `around` is the cycle: a bulletin's `011200Z` is
    the first of the month nearest to it. `zone` is the zone of times that have none. `trusted` asks for sensors whose
    height was verified, where a format tells.
    """

    variables: Mapping[str, Variable] = field(default_factory=lambda: VARIABLES)
    names: Mapping[str, str] = field(default_factory=dict)
    places: pd.DataFrame | None = None
    around: datetime | None = None
    zone: str | None = None
    trusted: bool = False


@dataclass(frozen=True)
class Head:
    """What a glance at a file shows."""

    path: Path
    start: bytes
    folder: bool = False

    @classmethod
    def of(cls, path: Path) -> Head:
        """A glance; refused where there is nothing to look at."""
        try:
            if is_store(path) or path.is_dir():
                return cls(path, b"", folder=True)
            with path.open("rb") as file:
                start = file.read(GLANCE)
        except FileNotFoundError:
            raise MissingInput(f"{path}: there is no such file") from None
        except OSError as error:
            raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
        if not start.strip(b" \t\r\n\xef\xbb\xbf"):
            raise BadInput(f"{path}: is empty" if len(start) < GLANCE else f"{path}: starts with nothing but blanks")
        if start.startswith(UTF_16):
            raise BadInput(f"{path}: is text in UTF-16, expected UTF-8; save it so")
        return cls(path, start)

    @cached_property
    def text(self) -> str:
        """The beginning as text; empty where it is none."""
        if b"\0" in self.start:
            return ""
        try:
            return self.start.decode("utf-8-sig")
        except UnicodeDecodeError as error:  # a character may be cut in two at the end of the glance
            whole = len(self.start) == GLANCE and error.start > GLANCE - 4
            return self.start[: error.start].decode("utf-8-sig") if whole else self.start.decode("latin-1")

    @cached_property
    def lines(self) -> list[str]:
        """The first lines, without their ends; the last one may be cut."""
        return self.text.splitlines()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, of a CSV file's first line or of a Parquet file."""
        if self.start.startswith(b"PAR1"):
            import pyarrow.parquet

            try:
                return tuple(pyarrow.parquet.read_schema(self.path).names)
            except (OSError, ValueError):
                return ()
        import csv

        first = next(iter(self.lines), "")
        try:
            return tuple(each.strip() for each in next(csv.reader([first]), []))
        except csv.Error:
            return ()

    @property
    def netcdf(self) -> bool:
        """Is it NetCDF or HDF5?"""
        from tasks.readers.hdf import CLASSIC, HDF5

        return self.start[:4] in CLASSIC or HDF5 in self.start[:4096]

    @contextmanager
    def opened(self) -> Iterator[File]:
        """The file as NetCDF, Zarr or another store of arrays."""
        from tasks.readers.hdf import opened

        with opened(self.path) as file:
            yield file


def reader(format: Format) -> Any:  # noqa: A002  (the word of the field)
    """The module that reads a format."""
    return import_module(format.reader)


def candidates(head: Head, holds: Collection[Holds]) -> list[Format]:
    """The formats that a file may have, of those that hold what is wanted."""
    found: list[Format] = []
    for each in FORMATS.values():
        if each.holds not in holds:
            continue
        if each.holds == "grid" and any(other.holds == "grid" for other in found):
            continue  # WRF output has coordinates as CF has them; the more particular format goes first
        if _recognised(head, each):
            found.append(each)
    return found


def _recognised(head: Head, format: Format) -> bool:  # noqa: A002
    if format.holds != "grid":
        return bool(reader(format).recognises(head))
    if not (head.netcdf or (head.folder and is_store(head.path)) or head.start.startswith(b"GRIB")):
        return False
    with head.opened() as file:
        return bool(reader(format).recognises(file))


def recognise(path: Path, holds: Collection[Holds], *, source: str | None = None) -> Format:
    """The format of a file: the one that the case names, else the only one that it looks like."""
    if source is not None:
        return FORMATS[source]
    head = Head.of(path)
    found = candidates(head, holds)
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{each.name} ({each.title})" for each in found)
        raise BadInput(f"{path}: could be {listed}; say which with `source:`")
    for each in (FORMATS[name] for name in OWN if FORMATS[name].holds in holds):
        if reader(each).resembles(head):
            return each  # its reader says best what is wrong with it
    if head.folder:
        raise BadInput(f"{path}: is a directory and no Zarr store; expected a file")
    known = ", ".join(f"{each.name} ({each.title})" for each in FORMATS.values() if each.holds in holds)
    raise BadInput(f"{path}: its format is not recognised: it {looks_like(head)}; known here: {known}. {OWN_TABLES}")


def is_table_of_stations(head: Head) -> bool:
    """Does it only place stations? Reports may have the same columns and call their times otherwise, as ASOS does."""
    placed = {"station", "lat", "lon"} <= set(head.columns) and not {"time", "valid_time"} & set(head.columns)
    return placed and not candidates(head, ("forecasts", "pairs", "stations"))


def looks_like(head: Head) -> str:
    """What a file looks like to somebody who does not know its format."""
    if head.netcdf:
        try:
            with head.opened() as file:
                return f"is NetCDF or HDF5 with {plain(', '.join(file.names[:8]), 120) or 'no variable'}"
        except FirecardError as error:
            return f"is NetCDF or HDF5 that cannot be read ({error})"
    if not head.text:
        return f"starts with {head.start[:8]!r}"
    return f"is text that starts with {plain(repr(next(iter(head.lines), '')), 80)}"


OWN_TABLES = (
    "firecard's own tables have the columns station, lat, lon, time and wind_speed [m/s] or alike (observations), or"
    " station, lat, lon, cycle, valid_time, variable, unit, forecast, observed (pairs)"
)
