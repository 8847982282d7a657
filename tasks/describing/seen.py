"""What files of weather data hold, for somebody who has just got them: understood as a run would, nothing scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from configs.formats import Format, Holds
from configs.window import Window
from metrics.errors import BadInput
from metrics.variables import VARIABLES
from tasks.matching import quality
from tasks.matching.clock import step_of
from tasks.readers.formats import StationWishes, reader
from tasks.readers.notes import NOTES, Notes

if TYPE_CHECKING:
    from tasks.readers.grids import GridFiles, Offer

COMPONENTS = ("u", "v", "terrain")  # what wind and height are made of, not variables that are scored


@dataclass(frozen=True, slots=True)
class Seen:
    """What a set of files of one format holds.

    `variables` says of each how it is read, `withheld` why one that might be expected is not there. `cycles` and
    `models` are those that the files name. `shape` is that of a grid and `parts` what it stores, wind by its
    components; `placed` says whether stations have positions.
    """

    format: Format
    paths: tuple[Path, ...]
    times: tuple[datetime, ...]
    variables: Mapping[str, str]
    withheld: Mapping[str, str] = field(default_factory=dict)
    cycles: tuple[datetime, ...] = ()
    models: tuple[str, ...] = ()
    stations: tuple[str, ...] = ()
    placed: bool = True
    shape: tuple[int, ...] = ()
    heights: tuple[float, ...] = ()
    facts: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()

    @property
    def step(self) -> float | None:
        """The most frequent spacing of the times, in hours."""
        return step_of(self.times, Window(), self.times[0]).hours

    def lines(self) -> list[str]:
        """All of it in words."""
        said = list(self.facts)
        if self.models:
            said.append(f"models: {_some(self.models)}")
        if self.cycles:
            said.append(f"cycles: {_some([f'{each:%Y-%m-%dT%H:%MZ}' for each in self.cycles])}")
        first, last = self.times[0], self.times[-1]
        spacing = "" if self.step is None else f", every {self.step:g} h"
        if self.format.holds == "stations":
            spacing = ""
        period = f"{first:%Y-%m-%dT%H:%MZ}" + (f" to {last:%Y-%m-%dT%H:%MZ}" if last > first else "")
        said.append(f"valid {period}: {len(self.times)} time{'s' if last > first else ''}{spacing}")
        said += [f"{name}: {how}" for name, how in self.variables.items()]
        reasons: dict[str, list[str]] = {}
        for name, why in self.withheld.items():
            reasons.setdefault(why, []).append(name)
        said += [f"not used, {' and '.join(names)}: {why}" for why, names in reasons.items()]
        return said


def look_at(paths: Sequence[Path], format: Format, *, around: datetime | None = None) -> Seen:  # noqa: A002
    """What files of one format hold together; `around` is the day of reports that say no month."""
    return LOOKS[format.holds](tuple(paths), format, around)


def _grid(paths: tuple[Path, ...], format: Format, _around: datetime | None) -> Seen:  # noqa: A002
    from tasks.readers.grids import describe

    files = describe(paths, source=format.name)  # type: ignore[arg-type]
    offers = {name: offer for name, offer in files.offers.items() if name not in COMPONENTS}
    wind = files.orientation
    first, places = files.grids[0], len(files.grids)
    moving = f" in {places} places (a nest that moves)" if places > 1 else ""
    facts = [
        f"stored as {files.container}",
        f"grid: {first.kind} {'×'.join(map(str, first.shape))}{moving}, {_domain(files)}",
    ]
    if wind:
        facts.append(f"winds: {wind.relative_to}-relative ({wind.known_from})")
    cycle = files.reference_time
    return Seen(
        format=format,
        paths=paths,
        times=tuple(_moments(files.times)),
        variables={name: _as_read(offer) for name, offer in offers.items()},
        withheld={name: str(why) for name, why in files.withheld.items() if name not in COMPONENTS},
        cycles=() if cycle is None else tuple(_moments([cycle])),
        shape=files.grids[0].shape,
        heights=()
        if "wind_speed" not in offers or offers["wind_speed"].height is None
        else (offers["wind_speed"].height,),
        facts=tuple(facts),
        parts=frozenset(part for file in files.files for each in file.parts for part in each.stored),
    )


def _domain(files: GridFiles) -> str:
    sides = []
    for each, signs in zip(zip(*(grid.points() for grid in files.grids), strict=True), ("NS", "EW"), strict=True):
        low, high = (float(bound(np.concatenate(each))) for bound in (np.nanmin, np.nanmax))
        sides.append(f"{low:.4g} to {high:.4g} °{signs[0]}")
    return ", ".join(sides)


def _as_read(offer: Offer) -> str:
    height = "" if offer.height is None else f" at {offer.height:g} m"
    statistic = "" if offer.statistic == "instantaneous" else f", {offer.statistic}"
    return f"[{offer.unit}] from {' and '.join(offer.stored_as)}{height}, {offer.recipe.how}{statistic}"


def _stations(paths: tuple[Path, ...], format: Format, around: datetime | None) -> Seen:  # noqa: A002
    frames = [reader(format).read_reports(path, StationWishes(around=around)) for path in paths]
    notes = _notes(frames)
    reports = pd.concat(frames, ignore_index=True).sort_values(["station", "time"], kind="stable", ignore_index=True)
    reasons = quality.judged(reports, VARIABLES)
    stations = reports.groupby("station", sort=True).first()
    placed = "lat" in reports and reports["lat"].between(-90, 90).any()
    facts = [f"{_count(len(stations), 'station')}, {_count(len(reports), 'report')}"]
    if placed:
        there = stations[quality.positions(stations.reset_index(), ()) == quality.GOOD]
        nowhere = len(stations) - len(there)
        sides = [
            f"{there[name].min():.4g} to {there[name].max():.4g} °{sign}" for name, sign in (("lat", "N"), ("lon", "E"))
        ]
        facts.append(", ".join(sides) + (f"; {_count(nowhere, 'station')} without a position" if nowhere else ""))
    else:
        facts.append(
            "no positions: a table of stations (station, lat, lon) must stand beside it, `stations:` in the case"
        )
    heights = tuple(sorted(stations["height"].dropna().unique())) if "height" in stations else ()
    if heights:
        facts.append(f"wind sensors at {_some([f'{each:.3g} m' for each in heights])}")
    networks = sorted(set(stations["network"].dropna()) - {""}) if "network" in stations else []
    if networks:
        facts.append(f"networks: {_some(networks)}")
    facts += notes
    return Seen(
        format=format,
        paths=paths,
        times=_times(reports["time"], paths),
        variables={
            name: _as_measured(reports[name], reasons[name], name) for name in reasons if reports[name].notna().any()
        },
        stations=tuple(stations.index),
        placed=bool(placed),
        heights=heights,
        facts=tuple(facts),
    )


def _as_measured(values: pd.Series, reasons: Any, name: str) -> str:
    """How many values there are, between which, and how many would be left out."""
    good = values[(reasons == quality.GOOD) & values.notna()]
    counts = pd.Series(reasons[values.notna() | (reasons != quality.GOOD)]).value_counts()
    unit = VARIABLES[name].unit
    span = f", {good.min():.4g} to {good.max():.4g}" if len(good) else ""
    left = "".join(f"; {count:,} {reason}" for reason, count in sorted(counts.items()) if reason != quality.GOOD)
    return f"[{unit}] {len(good):,} values{span}{left}"


def _forecasts(paths: tuple[Path, ...], format: Format, around: datetime | None) -> Seen:  # noqa: A002
    frames = [reader(format).read_forecasts(path, StationWishes(around=around)) for path in paths]
    table = pd.concat(frames, ignore_index=True)
    stations = tuple(sorted(table["station"].unique()))
    return Seen(
        format=format,
        paths=paths,
        times=_times(table["valid_time"], paths),
        variables={
            name: f"[{VARIABLES[name].unit}] {table[name].count():,} values"
            for name in VARIABLES
            if name in table and table[name].notna().any()
        },
        cycles=tuple(each.to_pydatetime() for each in sorted(table["cycle"].unique())),
        models=tuple(sorted(table["model"].unique())) if "model" in table else (),
        stations=stations,
        facts=(
            f"{len(stations):,} stations",
            *_notes(frames),
        ),
    )


def _pairs(paths: tuple[Path, ...], format: Format, _around: datetime | None) -> Seen:  # noqa: A002
    frames = [reader(format).read_pairs(path, VARIABLES) for path in paths]
    table = pd.concat(frames, ignore_index=True)
    both = table[table["forecast"].notna() & table["observed"].notna()]
    counts = both["variable"].value_counts()
    stations = tuple(sorted(table["station"].astype(str).unique()))
    return Seen(
        format=format,
        paths=paths,
        times=_times(table["valid_time"], paths),
        variables={str(name): f"[{VARIABLES[str(name)].unit}] {count:,} pairs" for name, count in counts.items()},
        cycles=tuple(each.to_pydatetime() for each in sorted(table["cycle"].unique())),
        models=tuple(sorted(table["model"].astype(str).unique())) if "model" in table else (),
        stations=stations,
        facts=(
            f"{len(stations):,} stations",
            *_notes(frames),
        ),
    )


Look = Callable[[tuple[Path, ...], Format, "datetime | None"], Seen]
LOOKS: Mapping[Holds, Look] = {"grid": _grid, "stations": _stations, "forecasts": _forecasts, "pairs": _pairs}


def _notes(frames: Sequence[pd.DataFrame]) -> tuple[str, ...]:
    """What the readers have to tell besides."""
    told: Notes = sum((frame.attrs.get(NOTES, Notes()) for frame in frames), Notes())
    return told.in_words()


def _times(values: pd.Series, paths: Sequence[Path]) -> tuple[datetime, ...]:
    if values.empty:
        raise BadInput(f"{paths[0]}: there is nothing in it")
    return tuple(each.to_pydatetime() for each in sorted(values.unique()))


def _moments(times: Any) -> list[datetime]:
    return list(pd.DatetimeIndex(times).tz_localize("UTC").to_pydatetime())


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _some(names: Sequence[object]) -> str:
    shown = ", ".join(str(each) for each in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
