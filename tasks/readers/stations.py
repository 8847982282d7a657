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
from metrics.errors import BadInput
from metrics.sums import Array
from metrics.variables import Variable
from tasks.readers.formats import StationWishes, reader, recognise
from tasks.readers.station_table import OPTIONAL
from tasks.readers.tables import Rows, column, names, numbers, read_table

PLACE = ("station", "lat", "lon")


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

    def tolerances(self, rules: MatchingRules, step: float | None) -> Array:
        """Hours between report and valid time that each station may have."""
        return np.array([rules.tolerance_of(each, step) for each in self.stations["network"]])


def read_stations(
    paths: Sequence[Path],
    variables: Mapping[str, Variable],
    *,
    source: str | None = None,
    wishes: StationWishes | None = None,
) -> Observations:
    """The reports of all files together; their format is recognised unless `source` names it."""
    wishes = replace(wishes or StationWishes(), variables=variables)
    parts = [reader(recognise(path, OBSERVED, source=source)).read_reports(path, wishes) for path in paths]
    reports = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    label = ", ".join(path.name for path in paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    everyone = reports["station"].nunique()
    if wishes.places is not None:
        reports = _placed(reports, wishes.places, label)
    not_listed = everyone - reports["station"].nunique()
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
    return Observations(label, stations, reports.drop(columns=keys), number, seconds, not_listed)


def read_places(path: Path) -> pd.DataFrame:
    """A table of stations by name: lat, lon, and elevation (m), height (m), averaging (min) and network where given."""
    what = "a table of stations"
    table = read_table(path, what)
    found = table.column_names
    for name in PLACE:
        if found.count(name) != 1:
            how = "is missing" if name not in found else "stands there twice"
            raise BadInput(f"{path}: the column {name!r} {how}; {what} has {', '.join(PLACE)}")
    rows = Rows(path)
    frame = pd.DataFrame({"station": names(column(table, "station", path), "station", rows)})
    rows.refuse(frame["station"].duplicated(), "station", frame["station"], "this station stands there twice")
    for name, most in (("lat", 90.0), ("lon", 360.0)):
        frame[name] = numbers(column(table, name, path), name, rows)
        rows.refuse(~frame[name].abs().le(most), name, frame[name], f"expected degrees within ±{most:g}")
    for name in (each for each in OPTIONAL if each in found):
        frame[name] = numbers(column(table, name, path), name, rows)
    if "network" in found:
        frame["network"] = column(table, "network", path).astype(str).str.strip()
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


def _located(reports: pd.DataFrame, label: str) -> pd.DataFrame:
    """The reports with positions as far as they are known; a position that is nowhere on earth is none."""
    for name in ("lat", "lon"):
        if name not in reports:
            reports = reports.assign(**{name: np.nan})
    somewhere = reports["lat"].between(-90, 90) & reports["lon"].between(-180, 360)
    if not somewhere.any():
        raise BadInput(
            f"{label}: there is no position of station {reports['station'].iloc[0]!r}, nor of another one;"
            " say `stations:` with a table of station, lat and lon"
        )
    return reports.assign(**{name: reports[name].where(somewhere) for name in ("lat", "lon")})


def _some(stations: Iterable[str]) -> str:
    known = list(dict.fromkeys(stations))
    return ", ".join(known[:3]) + (" …" if len(known) > 3 else "")


def _refuse_moved(reports: pd.DataFrame, label: str) -> None:
    places = reports[["station", "lat", "lon"]].drop_duplicates()
    moved = places[places["station"].duplicated()]
    if len(moved):
        raise BadInput(f"{label}: station {moved['station'].iloc[0]!r} has two positions")
