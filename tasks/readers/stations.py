"""Observations at stations, whatever format they come in: the reports of all files together.

A reader of a format gives a row a report (see `station_table`); here they become one set. A table of stations may stand
beside the data, for formats that say who measured but not where.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from configs.formats import OBSERVED
from configs.rules import MatchingRules
from configs.source import plain
from metrics.errors import BadInput
from metrics.sums import Array
from metrics.variables import Variable
from tasks.readers.formats import StationWishes, reader, recognise
from tasks.readers.notes import NOTES, Notes
from tasks.readers.reports import OPTIONAL, converted, headed, refuse_repeated
from tasks.readers.tables import Rows, column, names, numbers, read_table

PLACE = ("station", "lat", "lon")
DRIFT = 5.0  # km by which a position may differ from report to report and still be that of one station
DEGREE = 111.2  # km
EARTH = {"lat": (-90.0, 90.0), "lon": (-180.0, 360.0)}


@dataclass(frozen=True, slots=True)
class Observations:
    """Reports of stations, sorted by station and time.

    `stations` has one row a station (station, lat, lon, elevation, network, height, averaging); `reports` one row a
    report, one column a variable in the unit that is kept, and `variable_direction`. `number` and `seconds` are the
    station's row and the time of each report.
    """

    name: str
    stations: pd.DataFrame
    reports: pd.DataFrame
    number: Array
    seconds: Array
    not_listed: int = 0  # stations of the files that the table of stations does not know
    moved: int = 0  # stations whose reports came from more than one place
    notes: tuple[str, ...] = ()  # what the readers counted, and could not read

    def tolerances(self, rules: MatchingRules, step: float | None) -> Array:
        """Hours between report and valid time that each station may have."""
        return np.array([rules.tolerance_of(each, step) for each in self.stations["network"]])


def read_stations(
    paths: Sequence[Path],
    variables: Mapping[str, Variable],
    *,
    source: str | None = None,
    wishes: StationWishes | None = None,
    elsewhere: pd.DataFrame | None = None,
) -> Observations:
    """The reports of all files together; their format is recognised unless `source` names it.

    `elsewhere` has positions (lat and lon by station) that are known from other files, for reports that have none.
    """
    wishes = replace(wishes or StationWishes(), variables=variables)
    readers = [reader(recognise(path, OBSERVED, source=source)) for path in paths]
    parts = [each.read_reports(path, wishes) for each, path in zip(readers, paths, strict=True)]
    notes = sum((part.attrs.pop(NOTES, Notes()) for part in parts), Notes())
    reports = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    label = ", ".join(path.name for path in paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    everyone = reports["station"].nunique()
    if wishes.places is not None:
        reports = _placed(reports, wishes.places, label)
    not_listed = everyone - reports["station"].nunique()
    moved = 0
    if any(getattr(each, "POSITIONS_VARY", False) for each in readers):
        reports, moved = _settled(reports)
    if elsewhere is not None:
        reports = _filled(reports, elsewhere)
    reports = _located(reports, label)
    reports = reports.sort_values(["station", "time"], kind="stable").reset_index(drop=True)
    keys = [name for name in ("lat", "lon", *OPTIONAL, "network") if name in reports]
    stations = reports.groupby("station", sort=True)[keys].first().reset_index()
    for name in OPTIONAL:
        stations[name] = stations[name].astype(float) if name in stations else np.nan
    stations["network"] = stations["network"].fillna("") if "network" in stations else ""
    _refuse_moved(reports, label)
    number = pd.Index(stations["station"]).get_indexer(reports["station"])
    seconds = reports["time"].to_numpy("datetime64[s]").astype(np.int64)
    reports = reports.drop(columns=keys)
    return Observations(label, stations, reports, number, seconds, not_listed, moved, notes.in_words())


def read_places(path: Path) -> pd.DataFrame:
    """A table of stations by name: lat, lon, and elevation (m), height (m), averaging (min) and network where given.

    The three numbers may have another unit in brackets (`elevation [ft]`); other columns are not looked at.
    """
    what = "a table of stations"
    table = read_table(path, what)
    found = table.column_names
    for name in PLACE:
        if name not in found:
            raise BadInput(
                f"{path}: the column {name!r} is missing; {what} has {', '.join(PLACE)}"
                f" (found: {plain(', '.join(found), 200)})"
            )
    units = {headed(each).header: headed(each) for each in found}
    refuse_repeated([headed(each).header for each in found if headed(each).header in (*PLACE, *OPTIONAL)], path)
    rows = Rows(path)
    frame = pd.DataFrame({"station": names(column(table, "station", path), "station", rows)})
    if frame.empty:
        raise BadInput(f"{path}: there is a header but no station")
    rows.refuse(frame["station"].duplicated(), "station", frame["station"], "this station stands there twice")
    for name, (least, most) in EARTH.items():
        frame[name] = numbers(column(table, name, path), name, rows)
        within = frame[name].between(least, most)
        rows.refuse(~within, name, frame[name], f"expected degrees from {least:g} to {most:g}")
    for name in (each for each in OPTIONAL if each in units):
        unit = units[name].unit
        header = name if unit is None else next(each for each in found if headed(each).header == name)
        values = numbers(column(table, header, path), header, rows)
        frame[name] = converted(values, unit or OPTIONAL[name], OPTIONAL[name], path, header)
    if "network" in found:
        network = column(table, "network", path).astype(str).str.strip()
        frame["network"] = network.mask(network == "")
    return frame.set_index("station")


def _placed(reports: pd.DataFrame, places: pd.DataFrame, label: str) -> pd.DataFrame:
    """The reports of the stations that the table of stations knows, with what it says of them."""
    listed = reports["station"].isin(places.index)
    if not listed.any():
        raise BadInput(
            f"{label}: none of its stations is in the table of stations: {_some(reports['station'])} here,"
            f" {_some(places.index)} there"
        )
    reports = reports[listed].reset_index(drop=True)
    for name in places.columns:
        said = reports["station"].map(places[name])
        reports[name] = said.where(said.notna(), reports[name]) if name in reports else said
    return reports


def _settled(reports: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Each station where its first report says; none of which the reports come from places too far apart."""
    first = reports.groupby("station", sort=False)[["lat", "lon"]].transform("first")
    north = reports["lat"] - first["lat"]
    east = ((reports["lon"] - first["lon"] + 180) % 360 - 180) * np.cos(np.radians(first["lat"]))
    far = DEGREE * np.hypot(north, east) > DRIFT
    moved = reports["station"].isin(set(reports.loc[far, "station"]))
    settled = {name: first[name].mask(moved) for name in ("lat", "lon")}
    return reports.assign(**settled), reports.loc[moved, "station"].nunique()


def _filled(reports: pd.DataFrame, elsewhere: pd.DataFrame) -> pd.DataFrame:
    """The reports with positions that other files know, where their own say none."""
    for name in ("lat", "lon"):
        known = reports["station"].map(elsewhere[name])
        reports = reports.assign(
            **{name: reports[name].where(reports[name].notna(), known) if name in reports else known}
        )
    return reports


def _located(reports: pd.DataFrame, label: str) -> pd.DataFrame:
    """The reports with positions as far as they are known (one nowhere on earth is none); refused where none is."""
    for name in ("lat", "lon"):
        if name not in reports:
            reports = reports.assign(**{name: np.nan})
    somewhere = reports["lat"].between(*EARTH["lat"]) & reports["lon"].between(*EARTH["lon"])
    if not somewhere.any():
        raise BadInput(
            f"{label}: there is no position of station {reports['station'].iloc[0]!r}, nor of another one;"
            " say `stations:` with a table of station, lat and lon"
        )
    return reports.assign(**{name: reports[name].where(somewhere) for name in EARTH})


def _some(stations: Iterable[str]) -> str:
    known = list(dict.fromkeys(stations))
    return ", ".join(known[:3]) + (" …" if len(known) > 3 else "")


def _refuse_moved(reports: pd.DataFrame, label: str) -> None:
    places = reports[["station", "lat", "lon"]].dropna().drop_duplicates()
    moved = places[places["station"].duplicated()]
    if len(moved):
        raise BadInput(f"{label}: station {moved['station'].iloc[0]!r} has two positions")
