"""Quality of observations: what is not a measurement, and why. Every report that is left out has a reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from metrics.sums import Array
from metrics.variables import Variable

GOOD = ""
NO_POSITION = "station without a position"
EXCLUDED = "excluded by the case"
REPEATED = "repeated report"
MISSING_CODE = "missing code"
IMPOSSIBLE = "impossible observation"
GUST_BELOW_SPEED = "gust below speed"
STUCK = "stuck sensor"
CALM = "calm"
VARIABLE = "variable direction"

CODES = (-9999.0, -99999.0, -999.0, 9999.0, 99999.0)
STUCK_HOURS, STUCK_REPORTS = 6.0, 6


def positions(stations: pd.DataFrame, excluded: Collection[str]) -> Array:
    """For each station, why none of its reports can be used, or nothing."""
    lat, lon = stations["lat"].to_numpy(), stations["lon"].to_numpy()
    there = (abs(lat) <= 90) & (lon >= -180) & (lon <= 360)
    return np.select(
        [stations["station"].isin(list(excluded)).to_numpy(), ~there], [EXCLUDED, NO_POSITION], GOOD
    ).astype(object)


def judged(reports: pd.DataFrame, variables: Mapping[str, Variable]) -> dict[str, Array]:
    """For each variable, the reason against each report's value, or nothing.

    `reports` is sorted by station and time, one row a report, one column a variable; `variable_direction` marks reports
    whose wind had no one direction.
    """
    repeated = reports.duplicated(["station", "time"]).to_numpy()
    reasons = {}
    for name in (each for each in variables if each in reports):
        values, variable = reports[name].to_numpy(dtype=float), variables[name]
        impossible = ~np.isnan(values) & ~((values >= variable.lowest) & (values <= variable.highest))
        bounded = np.isfinite([variable.lowest, variable.highest]).all()
        code = np.isin(values, CODES) & (impossible | ~bounded)  # within bounds it may be a measurement
        reasons[name] = np.select([repeated, code, impossible], [REPEATED, MISSING_CODE, IMPOSSIBLE], GOOD).astype(
            object
        )
    _judge_wind(reports, reasons)
    return reasons


def _judge_wind(reports: pd.DataFrame, reasons: dict[str, Array]) -> None:
    speed = reports["wind_speed"].to_numpy(dtype=float) if "wind_speed" in reports else None
    if speed is not None:
        stuck = stuck_runs(reports)
        _add(reasons["wind_speed"], stuck, STUCK)
        for name in ("wind_direction", "wind_gust"):
            if name in reasons:
                _add(reasons[name], stuck, STUCK)
    if speed is not None and "wind_gust" in reasons:
        gust = reports["wind_gust"].to_numpy(dtype=float)
        _add(reasons["wind_gust"], (gust < speed - 1e-9) & (reasons["wind_speed"] == GOOD), GUST_BELOW_SPEED)
    if "wind_direction" in reasons:
        if "variable_direction" in reports:
            _add(reasons["wind_direction"], reports["variable_direction"].to_numpy(dtype=bool), VARIABLE)
        if speed is not None:
            _add(reasons["wind_direction"], speed == 0, CALM)


def _add(reasons: Array, where: Array, reason: str) -> None:
    """A reason where there is none yet."""
    reasons[(reasons == GOOD) & where] = reason


def stuck_runs(reports: pd.DataFrame) -> Array:
    """Reports in a run of the very same wind (not calm) of at least six reports over at least six hours."""
    speed = reports["wind_speed"].to_numpy(dtype=float)
    direction = reports["wind_direction"].to_numpy(dtype=float) if "wind_direction" in reports else np.zeros(len(speed))
    station = reports["station"].to_numpy()
    if not len(speed):
        return np.zeros(0, dtype=bool)
    same = (station[1:] == station[:-1]) & (speed[1:] == speed[:-1]) & (direction[1:] == direction[:-1])
    run = np.concatenate([[0], np.cumsum(~same)])
    hours = reports["time"].to_numpy("datetime64[s]").astype(float) / 3600
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    last = np.append(first[1:], len(run)) - 1
    long = (hours[last] - hours[first] >= STUCK_HOURS) & (last - first + 1 >= STUCK_REPORTS)
    return np.asarray((long & (speed[first] > 0))[run])
