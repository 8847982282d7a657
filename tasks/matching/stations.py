"""Grid to stations: what the model says where and when a station measured, and what became of every candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from configs.rules import MatchingRules
from configs.window import Window
from metrics.circular import components
from metrics.errors import BadInput, FirecardError
from metrics.sums import Array
from metrics.variables import Variable
from tasks.matching import ledger, quality
from tasks.matching.clock import NONE, Reports, expected_times, highest_within, step_of
from tasks.matching.locate import Cells, locate
from tasks.matching.pairs import Matched
from tasks.matching.wind import log_law, speed_and_direction
from tasks.readers.grids import GridFile, GridFiles, sample_file
from tasks.readers.stations import Observations

WIND = ("wind_speed", "wind_direction")


@dataclass(frozen=True, slots=True)
class Forecast:
    """A model at the stations: (station, time) per variable, on its own times (seconds)."""

    time: Array
    values: Mapping[str, Array]
    inside: Array
    broken: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may become a pair: (station, time) per variable, with the reason against it."""

    time: Array  # seconds; one axis for all, or one row per station
    forecast: Mapping[str, Array]
    observed: Mapping[str, Array]
    reason: Mapping[str, Array]
    asked: Mapping[str, Array] = field(default_factory=dict)  # where there is a candidate at all


Progress = Callable[[int, int], None]


def match_grid(
    files: GridFiles,
    observations: Observations,
    *,
    cycle: datetime,
    window: Window,
    rules: MatchingRules,
    variables: Mapping[str, Variable],
    needed: Iterable[str],
    progress: Progress | None = None,
) -> Matched:
    """The model's pairs at the stations in the window, for the variables that the case needs."""
    wanted = [name for name in needed if name in files.offers]
    if not wanted:
        files.offer(next(iter(needed)))  # says what is there instead, and why not the rest
    inside_window = _model_times(files, window, cycle, rules)
    stations = observations.stations
    cells = [_cells(grid, stations, rules) for grid in files.grids]
    forecast = _sampled(files, wanted, cells, inside_window, progress)
    forecast = _at_sensor_height(forecast, files, stations, rules)
    found = (_at_observation_times if rules.interpolate_time else _at_valid_times)(
        forecast, observations, cycle=cycle, window=window, rules=rules, variables=variables, wanted=wanted
    )
    how = _how(files, observations, rules, forecast, window, cycle)
    return Matched(_table(found, observations, forecast.inside, wanted, rules), tuple(wanted), how)


def _cells(grid: Any, stations: pd.DataFrame, rules: MatchingRules) -> Cells:
    return locate(grid, stations["lat"].to_numpy(), stations["lon"].to_numpy(), **rules.space.arguments())


def _model_times(files: GridFiles, window: Window, cycle: datetime, rules: MatchingRules) -> tuple[datetime, datetime]:
    """The period of model output that is needed; refused where the files have nothing in it."""
    start, end = window.earliest(cycle), window.bounds(cycle)[1]
    times = _datetimes(files.times)
    margin = timedelta(hours=(step_of(times, window, cycle).hours or 0.0) if rules.interpolate_time else 0.0)
    if not any(start - margin <= each <= end + margin for each in times):
        name = files.files[0].path.name
        span = f"{times[0]:%Y-%m-%dT%H:%MZ} to {times[-1]:%Y-%m-%dT%H:%MZ}"
        raise BadInput(f"{name}: the model's times, {span}, do not overlap the window {window.describe(cycle)}")
    return start - margin, end + margin


def _sampled(
    files: GridFiles,
    wanted: Sequence[str],
    cells: Sequence[Cells],
    period: tuple[datetime, datetime],
    progress: Progress | None,
) -> Forecast:
    """The model's values at the stations, one file after the other; what a file lacks is missing there."""
    broken: dict[str, str] = {}
    first, last = (np.datetime64(each.replace(tzinfo=None), "ns") for each in period)
    useful = [each for each in files.files if ((each.times >= first) & (each.times <= last)).any()]
    parts: list[dict[str, Array]] = []
    for number, file in enumerate(useful):
        part, faults = _sampled_file(files, file, wanted, cells)
        parts.append(part)
        if faults:
            broken[file.path.name] = "; ".join(faults)
        if progress:
            progress(number + 1, len(useful))
    time = np.concatenate([each.times for each in useful]).astype("datetime64[s]").astype(np.int64)
    inside = np.logical_or.reduce([each.inside for each in cells])
    values = {name: np.concatenate([part[name] for part in parts]).T for name in wanted}
    return Forecast(time, values, inside, broken)


def _sampled_file(
    files: GridFiles, file: GridFile, wanted: Sequence[str], cells: Sequence[Cells]
) -> tuple[dict[str, Array], list[str]]:
    """One file's values; a variable that it cannot give (gusts at hour 0, say) is missing, and said."""
    try:
        return sample_file(files, file, wanted, cells), []
    except FirecardError:
        part: dict[str, Array] = {}
        faults: list[str] = []
        for name in wanted:
            try:
                part |= sample_file(files, file, [name], cells)
            except FirecardError as error:
                part[name] = np.full((file.times.size, len(cells[0].inside)), np.nan)
                faults.append(str(error))
        return part, faults


def _at_sensor_height(forecast: Forecast, files: GridFiles, stations: pd.DataFrame, rules: MatchingRules) -> Forecast:
    """Speed and gust brought to the height of each station's sensor, if the case asks for the log law (D-79)."""
    if rules.roughness is None:
        return forecast
    heights = stations["height"].to_numpy(dtype=float)
    values = dict(forecast.values)
    for name in ("wind_speed", "wind_gust"):
        if name not in values:
            continue
        model_height = files.offer(name).height
        if model_height is None:
            raise BadInput(
                f"{files.files[0].path.name}: {name}: its height is not known; say `wind_height` in the case"
            )
        known = np.isfinite(heights)
        moved = log_law(values[name][known], model_height, heights[known][:, None], rules.roughness)
        values[name] = values[name].copy()
        values[name][known] = moved
    return replace(forecast, values=values)


def _at_valid_times(
    forecast: Forecast,
    observations: Observations,
    *,
    cycle: datetime,
    window: Window,
    rules: MatchingRules,
    variables: Mapping[str, Variable],
    wanted: Sequence[str],
) -> Candidates:
    """Each valid time with the nearest report (D-73); gusts with the highest of the step before (D-22)."""
    valid_times = expected_times(_from_seconds(forecast.time), window, cycle)
    step_hours = step_of(_from_seconds(forecast.time), window, cycle).hours
    valid = np.array([each.timestamp() for each in valid_times])
    numbers = np.arange(len(observations.stations))
    tolerance = observations.tolerances(rules, step_hours) * 3600
    reasons = quality.judged(observations.reports, variables)
    at = _position_in(forecast.time, valid)
    result = Candidates(valid, {}, {}, {})
    speed_report: Array | None = None
    for name in sorted(wanted, key=lambda each: each != "wind_speed"):
        result.forecast[name] = np.where(at >= 0, forecast.values[name][:, at], np.nan)  # type: ignore[index]
        if name not in observations.reports:
            result.observed[name] = np.full((len(numbers), len(valid)), np.nan)  # type: ignore[index]
            result.reason[name] = np.full((len(numbers), len(valid)), ledger.NO_OBSERVATION, dtype=object)  # type: ignore[index]
            continue
        values = observations.reports[name].to_numpy(dtype=float)
        good = ~np.isnan(values) & (reasons[name] == quality.GOOD)
        if name == "wind_gust":
            observed, reason = _gusts(observations, values, good, numbers, valid, (step_hours or 1.0) * 3600)
        else:
            index: Array = _nearest(observations, good, numbers, valid, tolerance)
            if name == "wind_speed":
                speed_report = index
            elif name == "wind_direction" and speed_report is not None:
                index = np.where(speed_report == NONE, index, speed_report)  # both from the same report
                index = np.where((index != NONE) & ~good[index], NONE, index)
            observed = np.where(index == NONE, np.nan, values[index])
            reason = _why_no_report(
                observations, reasons[name], values, index, numbers, valid, tolerance, step_hours, speed_report, name
            )
        result.observed[name], result.reason[name] = observed, reason  # type: ignore[index]
    return result


def _nearest(observations: Observations, good: Array, numbers: Array, valid: Array, tolerance: Array) -> Array:
    """Row of the nearest good report of each (station, valid time), or NONE."""
    rows = np.flatnonzero(good)
    reports = Reports(observations.number[rows], observations.seconds[rows])
    index = reports.nearest(numbers, valid, tolerance)
    return np.where(index == NONE, NONE, rows[index]) if len(rows) else index


def _why_no_report(
    observations: Observations,
    reasons: Array,
    values: Array,
    index: Array,
    numbers: Array,
    valid: Array,
    tolerance: Array,
    step_hours: float | None,
    speed_report: Array | None,
    name: str,
) -> Array:
    """Nothing where there is a report; else why: its quality, its distance in time, or that there was none."""
    result = np.full(index.shape, "", dtype=object)
    absent = index == NONE
    everything = Reports(observations.number, observations.seconds)
    near = everything.nearest(numbers, valid, tolerance)
    if name == "wind_direction" and speed_report is not None:
        near = np.where(speed_report == NONE, near, speed_report)
    bad = np.where(near == NONE, "", reasons[near]) if len(reasons) else np.full(index.shape, "")
    half = (step_hours or 1.0) * 3600 / 2
    wider = everything.nearest(numbers, valid, np.full(len(numbers), half))
    result[absent] = ledger.NO_OBSERVATION
    result[absent & (near == NONE) & (wider != NONE)] = ledger.OUTSIDE_TOLERANCE
    flagged = absent & (bad != "")
    result[flagged] = bad[flagged]
    return result


def _gusts(
    observations: Observations, values: Array, good: Array, numbers: Array, valid: Array, step: float
) -> tuple[Array, Array]:
    first, end = Reports(observations.number, observations.seconds).within_step(numbers, valid, step)
    observed = highest_within(np.where(good, values, np.nan), first, end)
    return observed, np.where(np.isnan(observed), ledger.NO_OBSERVATION, "").astype(object)


def _at_observation_times(
    forecast: Forecast,
    observations: Observations,
    *,
    cycle: datetime,
    window: Window,
    rules: MatchingRules,
    variables: Mapping[str, Variable],
    wanted: Sequence[str],
) -> Candidates:
    """The model linear in time at each report; winds as components, so that degrees are never interpolated."""
    times = np.unique(observations.seconds)
    times = np.array([each for each in times if window.contains(datetime.fromtimestamp(float(each), UTC), cycle)])
    if not len(times):
        raise BadInput(f"{observations.name}: no report in the window {window.describe(cycle)}")
    reasons = quality.judged(observations.reports, variables)
    step = step_of(_from_seconds(forecast.time), window, cycle).hours or 0.0
    interpolated = _linear(forecast, times.astype(float), step * 3600)
    result = Candidates(times, interpolated, {}, {}, {})
    column: Array = np.searchsorted(times, observations.seconds)
    here = (column < len(times)) & (times[np.minimum(column, len(times) - 1)] == observations.seconds)
    shape = (len(observations.stations), len(times))
    for name in wanted:
        observed = np.full(shape, np.nan)
        reason = np.full(shape, ledger.NO_OBSERVATION, dtype=object)
        asked = np.zeros(shape, dtype=bool)
        if name in observations.reports:
            values = observations.reports[name].to_numpy(dtype=float)
            first = here & (reasons[name] != quality.REPEATED)
            good = first & ~np.isnan(values) & (reasons[name] == quality.GOOD)
            asked[observations.number[here], column[here]] = True
            observed[observations.number[good], column[good]] = values[good]
            reason[observations.number[good], column[good]] = ""
            bad = first & (reasons[name] != quality.GOOD)
            reason[observations.number[bad], column[bad]] = reasons[name][bad]
        result.observed[name], result.reason[name], result.asked[name] = observed, reason, asked  # type: ignore[index]
    return result


def _linear(forecast: Forecast, times: Array, longest: float) -> dict[str, Array]:
    """Values between two model times that are a step apart; none beyond them, none across a hole."""
    model = forecast.time.astype(float)
    right = np.clip(np.searchsorted(model, times, side="left"), 1, max(1, len(model) - 1))
    if len(model) == 1:
        equal = times == model[0]
        return {name: np.where(equal, values[:, [0]], np.nan) for name, values in forecast.values.items()}
    left = right - 1
    gap = model[right] - model[left]
    share = (times - model[left]) / gap
    usable = (share >= 0) & (share <= 1) & (gap <= longest + 1e-6)

    def between(values: Array) -> Array:
        mixed = (1 - share) * np.where(share == 1, 0.0, values[:, left]) + share * np.where(
            share == 0, 0.0, values[:, right]
        )
        return np.where(usable, mixed, np.nan)

    result = {name: between(values) for name, values in forecast.values.items() if name != "wind_direction"}
    if "wind_direction" in forecast.values:
        speed = forecast.values.get("wind_speed")
        direction = forecast.values["wind_direction"]
        weight = np.ones_like(direction) if speed is None else speed
        _, turned = speed_and_direction(*(between(each) for each in components(weight, direction)))
        result["wind_direction"] = turned
    return result


def _table(
    found: Candidates, observations: Observations, inside: Array, wanted: Sequence[str], rules: MatchingRules
) -> pd.DataFrame:
    """The candidates as the long table that all matching ends in."""
    stations = observations.stations
    excluded = quality.positions(stations, rules.exclude)
    outside = ~inside
    names = pd.Categorical(stations["station"], categories=stations["station"])
    valid = pd.to_datetime(found.time.astype(np.int64), unit="s", utc=True)
    parts = []
    for name in sorted(wanted):
        reason = found.reason[name].copy()
        forecast, observed = found.forecast[name], found.observed[name]
        usable = reason == ""
        reason[usable & np.isnan(forecast)] = ledger.NO_FORECAST
        reason[usable & outside[:, None]] = ledger.OUTSIDE_GRID
        reason[(excluded != quality.GOOD), :] = excluded[excluded != quality.GOOD][:, None]
        reason[reason == ""] = ledger.PAIR
        # What is left out for another reason than a hole in the model asks nothing of the model (D-17).
        kept = np.isin(reason, [ledger.PAIR, ledger.NO_FORECAST])
        asked = found.asked.get(name, np.ones(reason.shape, dtype=bool))
        row, column = np.nonzero(asked)
        parts.append(
            pd.DataFrame(
                {
                    "station": names[row],
                    "lat": stations["lat"].to_numpy()[row],
                    "lon": stations["lon"].to_numpy()[row],
                    "valid_time": valid[column],
                    "variable": name,
                    "forecast": np.where(kept, forecast, np.nan)[row, column],
                    "observed": np.where(kept, observed, np.nan)[row, column],
                    "reason": reason[row, column],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _how(
    files: GridFiles,
    observations: Observations,
    rules: MatchingRules,
    forecast: Forecast,
    window: Window,
    cycle: datetime,
) -> dict[str, Any]:
    """How it was matched, for the card."""
    heights = sorted({float(each) for each in observations.stations["height"].dropna()})
    wind = files.offers.get("wind_speed")
    step = step_of(_from_seconds(forecast.time), window, cycle).hours
    how: dict[str, Any] = {
        "source": files.source,
        "files": len(files.files),
        "domain": _domain(files),
        "winds": None
        if files.orientation is None
        else f"{files.orientation.relative_to}-relative: {files.orientation.known_from}",
        "space": rules.space.describe(),
        "time": rules.describe_time(step),
        "height": rules.describe_height(wind.height if wind else None, heights),
        "stations": {"inside": int(forecast.inside.sum()), "outside": int((~forecast.inside).sum())},
        "broken_files": {path.name: str(error) for path, error in files.broken.items()} | dict(forecast.broken),
        "withheld": {name: str(error) for name, error in files.withheld.items()},
    }
    if wind and wind.height is not None and rules.roughness is None:
        others = [f"{each:g}" for each in heights if abs(each - wind.height) > 0.5]
        if others:
            sensors = ", ".join(others[:4])
            how["warning"] = f"winds are compared as they are: model at {wind.height:g} m, sensors at {sensors} m"
    gust = files.offers.get("wind_gust")
    if gust:
        how["gust"] = gust.statistic
    return how


def _domain(files: GridFiles) -> str:
    """Where the grid lies, in words."""
    latitude, longitude = (np.concatenate(each) for each in zip(*(grid.points() for grid in files.grids), strict=True))
    points = " x ".join(str(each) for each in files.grids[0].shape)
    south, north, west, east = (f"{each:.2f}" for each in (*_ends(latitude), *_ends(longitude)))
    return f"{points} points, latitude {south} to {north}, longitude {west} to {east}"


def _ends(values: Array) -> tuple[float, float]:
    return float(np.nanmin(values)), float(np.nanmax(values))


def _position_in(times: Array, wanted: Array) -> Array:
    """Where each wanted time stands among the (sorted) times; -1 where it does not."""
    index = np.searchsorted(times, wanted)
    safe = np.minimum(index, len(times) - 1)
    return np.where((index < len(times)) & (times[safe] == wanted), safe, -1)


def _datetimes(times: Array) -> list[datetime]:
    return _from_seconds(np.asarray(times).astype("datetime64[s]").astype(np.int64))


def _from_seconds(seconds: Array) -> list[datetime]:
    return [datetime.fromtimestamp(float(each), UTC) for each in seconds]
