"""A model's values at stations, as files have them, to the stations that report: joined by the station's name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from configs.formats import Format
from configs.rules import MatchingRules
from configs.window import Window
from metrics.errors import BadInput, FirecardError, MissingInput
from metrics.variables import Variable
from tasks.matching.pairs import Matched, some
from tasks.matching.stations import HOLE, THERE, UNKNOWN, Forecast, Model, needed_period, paired
from tasks.readers.formats import StationWishes, reader
from tasks.readers.stations import Observations


@dataclass(frozen=True, slots=True)
class StationForecasts:
    """What a model's files say at stations, of one cycle: a row a station and valid time, one column a variable."""

    name: str
    source: str
    files: int
    table: pd.DataFrame
    offered: tuple[str, ...]
    height: float | None  # of its winds above ground, m
    broken: Mapping[str, str] = field(default_factory=dict)

    @property
    def places(self) -> pd.DataFrame:
        """lat and lon by station."""
        return self.table.groupby("station", sort=True)[["lat", "lon"]].first()


def read_model(
    paths: Sequence[Path],
    kind: Format,
    *,
    cycle: datetime,
    wishes: StationWishes,
    name: str | None = None,
    height: float | None = None,
) -> StationForecasts:
    """The model's forecasts of one cycle, out of all its files; a file that cannot be read leaves a hole, and is said.

    `name` is the model's name in the files, where they hold more than one; `height` that of its winds, if no file says.
    """
    parts: list[pd.DataFrame] = []
    errors: dict[Path, FirecardError] = {}
    for path in paths:
        try:
            parts.append(reader(kind).read_forecasts(path, wishes))
        except FirecardError as error:
            errors[path] = error
    if not parts:
        raise next(iter(errors.values()))
    where = f"{paths[0].name}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    table = _of_the_cycle(_of_the_model(pd.concat(parts, ignore_index=True), name, where), cycle, where)
    twice = table.duplicated(["station", "valid_time"])
    if twice.any():
        row = table[twice].iloc[0]
        when = f"{row['valid_time']:%Y-%m-%dT%H:%MZ}"
        raise BadInput(f"{where}: station {row['station']!r} at {when}: this forecast stands there twice")
    lost = next((each for each in wishes.names if each not in table), None)
    if lost is not None:
        raise BadInput(f"{where}: nothing in it is called {wishes.names[lost]!r}, as the case says of {lost}")
    # The card holds no path of a machine.
    broken = {path.name: str(error).replace(str(path), path.name) for path, error in errors.items()}
    if height is None and "height" in table:
        height = float(table["height"].iloc[0])
    offered = tuple(each for each in wishes.variables if each in table)
    return StationForecasts(where, kind.name, len(paths), table, offered, height, broken)


def match_forecasts(
    forecasts: StationForecasts,
    observations: Observations,
    *,
    cycle: datetime,
    window: Window,
    rules: MatchingRules,
    variables: Mapping[str, Variable],
    needed: Iterable[str],
) -> Matched:
    """The model's pairs at the stations that both sides have, by the rules that hold for grids.

    A station that the model never speaks of asks nothing of it. One that it has, but not at this time or without this
    variable, is a missing forecast (D-17).
    """
    needed = tuple(needed)
    wanted = [name for name in needed if name in forecasts.offered]
    if not wanted:
        offered = ", ".join(forecasts.offered)
        raise BadInput(f"{forecasts.name}: there is no {' nor '.join(needed)} in it; it offers {offered}")
    times = np.unique(forecasts.table["valid_time"].to_numpy("datetime64[s]"))
    gust = "as the files have it" if "wind_gust" in forecasts.offered else None
    model = Model(forecasts.name, times, dict.fromkeys(forecasts.offered, forecasts.height), gust)
    needed_period(model, window, cycle, rules)
    forecast = _at_stations(forecasts, observations, wanted, times)
    about = _about(forecasts, forecast)
    table, how = paired(
        model,
        forecast,
        observations,
        about=about,
        cycle=cycle,
        window=window,
        rules=rules,
        variables=variables,
        wanted=wanted,
    )
    return Matched(table, tuple(wanted), how)


def _of_the_model(table: pd.DataFrame, name: str | None, where: str) -> pd.DataFrame:
    """The rows of one model; files that name several must be told apart in the case."""
    if "model" not in table:
        return table
    models = sorted(table["model"].unique())
    if name is None and len(models) > 1:
        raise BadInput(f"{where}: they are of several models; say which with `name:`: {some(models)}")
    if name is not None and name not in models:
        raise MissingInput(f"{where}: no row of model {name!r}; models here: {some(models)}")
    return table[table["model"] == (name or models[0])]


def _of_the_cycle(table: pd.DataFrame, cycle: datetime, where: str) -> pd.DataFrame:
    moment = pd.Timestamp(cycle)
    own = table[table["cycle"] == moment]
    if own.empty:
        shown = some([f"{each:%Y-%m-%dT%H}" for each in sorted(table["cycle"].unique())])
        raise MissingInput(f"{where}: there is no cycle {moment:%Y-%m-%dT%H}; cycles here: {shown}")
    return own.reset_index(drop=True)


def _at_stations(
    forecasts: StationForecasts, observations: Observations, wanted: Collection[str], times: Any
) -> Forecast:
    """The values as (station, time), for the stations that report."""
    table, stations = forecasts.table, pd.Index(observations.stations["station"].astype(str))
    row = stations.get_indexer(table["station"])
    column = np.searchsorted(times, table["valid_time"].to_numpy("datetime64[s]"))
    here = row >= 0
    inside = stations.isin(table["station"])
    values, lack = {}, {}
    for name in wanted:
        given = np.full((len(stations), len(times)), np.nan)
        given[row[here], column[here]] = table[name].to_numpy(dtype=float)[here]
        values[name] = given
        lack[name] = np.select([~inside[:, None], np.isnan(given)], [UNKNOWN, HOLE], THERE).astype(np.int8)
    return Forecast(times.astype(np.int64), values, inside, lack, forecasts.broken, beyond=UNKNOWN)


def _about(forecasts: StationForecasts, forecast: Forecast) -> dict[str, Any]:
    """How the model came to the stations, for the card."""
    places = forecasts.places
    south, north, west, east = (
        f"{each:.2f}" for name in ("lat", "lon") for each in (places[name].min(), places[name].max())
    )
    extent = f", latitude {south} to {north}, longitude {west} to {east}" if places["lat"].notna().any() else ""
    known = int(forecast.inside.sum())
    return {
        "source": forecasts.source,
        "files": forecasts.files,
        "domain": f"{len(places)} stations{extent}",
        "space": "the model's own values at stations, joined by the station's name",
        "stations": {"of the model": known, "not of the model": len(forecast.inside) - known},
        "broken_files": dict(forecasts.broken),
    }
