"""A model at stations: what it says where and when a station measured, and what became of every candidate.

`match_grid` takes a model from its grid to the stations. What follows, `paired`, is the same for every model whose
values at the stations are known, however they came about.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
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
from tasks.compute import Session
from tasks.matching import ledger, quality
from tasks.matching.clock import NONE, Reports, expected_times, highest_within, step_of
from tasks.matching.locate import Cells, locate
from tasks.matching.pairs import Matched
from tasks.matching.wind import log_law, speed_and_direction
from tasks.readers.grids import GridFile, GridFiles, Offer, sample_file
from tasks.readers.stations import Observations

WIND = ("wind_speed", "wind_direction")
LACK = np.array(
    ["", ledger.NO_FORECAST, ledger.BAD_FORECAST, ledger.OUTSIDE_GRID, ledger.NOT_OF_THE_MODEL], dtype=object
)
"""Why a model has no value somewhere; `lack` counts in these."""
THERE, HOLE, STRANGE, OUTSIDE, UNKNOWN = range(5)
COARSE = 80  # rows and columns of the ground that is kept for the map


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of a model beside its values: where it stands, its times, and the heights of its winds."""

    name: str
    times: Array
    heights: Mapping[str, float | None]  # above ground (m), of the variables that it offers
    gust: str | None = None  # what its gusts are


@dataclass(frozen=True, slots=True)
class Forecast:
    """A model at the stations: (station, time) per variable, on its own times (seconds).

    `inside` are the stations that it can speak of; the others are `beyond` it, by a reason of `LACK`.
    """

    time: Array
    values: Mapping[str, Array]
    inside: Array
    lack: Mapping[str, Array]
    broken: Mapping[str, str] = field(default_factory=dict)
    beyond: int = OUTSIDE

    @property
    def never(self) -> Array:
        """What each station lacks at a time that the model does not have."""
        return np.where(self.inside, HOLE, self.beyond)[:, None]


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may become a pair: (station, time) per variable, with the reason against it."""

    time: Array  # seconds; one axis for all, or one row per station
    forecast: Mapping[str, Array]
    lack: Mapping[str, Array]
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
    session: Session | None = None,
    progress: Progress | None = None,
) -> Matched:
    """The model's pairs at the stations in the window, for the variables that the case needs."""
    wanted = [name for name in needed if name in files.offers]
    if not wanted:
        files.offer(next(iter(needed)))  # says what is there instead, and why not the rest
    gust = files.offers.get("wind_gust")
    heights = {name: offer.height for name, offer in files.offers.items()}
    model = Model(files.files[0].path.name, files.times, heights, gust.statistic if gust else None)
    inside_window = needed_period(model, window, cycle, rules)
    cells = [_cells(grid, observations.stations, rules) for grid in files.grids]
    forecast = _sampled(files, wanted, cells, inside_window, session, progress)
    table, how = paired(
        model,
        forecast,
        observations,
        about=_about(files, rules, forecast),
        cycle=cycle,
        window=window,
        rules=rules,
        variables=variables,
        wanted=wanted,
    )
    return Matched(table, tuple(wanted), how, _backdrop(files))


def paired(
    model: Model,
    forecast: Forecast,
    observations: Observations,
    *,
    about: Mapping[str, Any],
    cycle: datetime,
    window: Window,
    rules: MatchingRules,
    variables: Mapping[str, Variable],
    wanted: Sequence[str],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Every candidate with its outcome, and how it was matched; `about` says how the model came to the stations."""
    forecast = _at_sensor_height(_possible(forecast, variables), model, observations, rules)
    found = (_at_observation_times if rules.interpolate_time else _at_valid_times)(
        forecast,
        observations,
        times=_times_around(model, window, cycle),
        cycle=cycle,
        window=window,
        rules=rules,
        variables=variables,
        wanted=wanted,
    )
    how = {**about, **_how(model, observations, rules, window, cycle)}
    return _table(found, observations, wanted, rules), how


def _cells(grid: Any, stations: pd.DataFrame, rules: MatchingRules) -> Cells:
    return locate(grid, stations["lat"].to_numpy(), stations["lon"].to_numpy(), **rules.space.arguments())


def needed_period(model: Model, window: Window, cycle: datetime, rules: MatchingRules) -> tuple[datetime, datetime]:
    """The period of model output that is needed; refused where the model has nothing in it."""
    start, end = window.earliest(cycle), window.bounds(cycle)[1]
    times = _datetimes(model.times)
    step = _own_step(_times_around(model, window, cycle), window, cycle)
    margin = timedelta(hours=step if rules.interpolate_time else 0.0)
    if rules.interpolate_time:
        overlap = any(start - margin <= each <= end + margin for each in times)
    else:
        overlap = any(window.contains(each, cycle) for each in times)
    if not overlap:
        raise BadInput(
            f"{model.name}: the model's times, {span(model.times)}, do not overlap the window {window.describe(cycle)}"
        )
    return start - margin, end + margin


def _sampled(
    files: GridFiles,
    wanted: Sequence[str],
    cells: Sequence[Cells],
    period: tuple[datetime, datetime],
    session: Session | None = None,
    progress: Progress | None = None,
) -> Forecast:
    """The model's values at the stations, file by file where the session says; what a file lacks is missing there."""
    broken: dict[str, str] = {}
    first, last = (np.datetime64(each.replace(tzinfo=None), "ns") for each in period)
    useful = [each for each in files.files if ((each.times >= first) & (each.times <= last)).any()]
    parts: list[dict[str, Array]] = []
    compute = session or Session("loop")
    absolute = [each.absolute() for each in useful]  # a worker may stand elsewhere
    results = compute.map_files(_sampled_file, absolute, shared=(files, wanted, cells), progress=progress)
    for file, result in zip(useful, results, strict=True):
        if isinstance(result, Exception):
            raise result
        part, faults = result
        parts.append(part)
        if faults:
            broken[file.path.name] = "; ".join(faults)
    if len(broken) == len(useful) and all(np.isnan(part[name]).all() for part in parts for name in wanted):
        raise BadInput(next(iter(broken.values())))  # nothing could be read: that is no night of missing forecasts
    time = np.concatenate([each.times for each in useful]).astype("datetime64[s]").astype(np.int64)
    located = np.stack([each.inside for each in cells])
    inside = np.concatenate([located[each.surface] for each in useful]).T  # a nest that moves may leave a station
    values = {name: np.concatenate([part[name] for part in parts]).T for name in wanted}
    lack = {
        name: np.select([~inside, np.isnan(each)], [OUTSIDE, HOLE], THERE).astype(np.int8)
        for name, each in values.items()
    }
    return Forecast(time, values, located.any(axis=0), lack, broken)


def _possible(forecast: Forecast, variables: Mapping[str, Variable]) -> Forecast:
    """Without values that no air has (a fill value that the file does not declare); they leave no direction either."""
    values, lack = dict(forecast.values), dict(forecast.lack)
    for name, given in forecast.values.items():
        low, high = variables[name].lowest, variables[name].highest
        strange = ~np.isnan(given) & ~((given >= low) & (given <= high))
        for each in WIND if name == "wind_speed" else (name,):
            if each in values and strange.any():
                values[each] = np.where(strange, np.nan, values[each])
                lack[each] = np.where(strange, STRANGE, lack[each]).astype(np.int8)
    return replace(forecast, values=values, lack=lack)


def _sampled_file(
    file: GridFile, shared: tuple[GridFiles, Sequence[str], Sequence[Cells]]
) -> tuple[dict[str, Array], list[str]]:
    """One file's values; a variable that it cannot give (gusts at hour 0, say) is missing, and said."""
    files, wanted, cells = shared
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
                faults.append(str(error).replace(str(file.path), file.path.name))  # the card holds no path of a machine
        return part, faults


def _at_sensor_height(forecast: Forecast, model: Model, observations: Observations, rules: MatchingRules) -> Forecast:
    """Speed and gust brought to the height of each station's sensor, if the case asks for the log law (D-79)."""
    if rules.roughness is None:
        return forecast
    stations = observations.stations
    used = ~stations["station"].isin(rules.exclude).to_numpy()
    heights = np.where(used, stations["height"].to_numpy(dtype=float), np.nan)
    low = np.flatnonzero(heights <= rules.roughness)
    if low.size:
        station, height = stations["station"].iloc[low[0]], heights[low[0]]
        raise BadInput(
            f"{observations.name}: station {station!r}: its sensor's height, {height:g} m, is not above the roughness"
            f" length of {rules.roughness:g} m, which the log law needs"
        )
    values = dict(forecast.values)
    for name in ("wind_speed", "wind_gust"):
        if name not in values:
            continue
        model_height = model.heights[name]
        if model_height is None:
            raise BadInput(f"{model.name}: {name}: its height is not known; say `wind_height` in the case")
        known = np.isfinite(heights)
        moved = log_law(values[name][known], model_height, heights[known][:, None], rules.roughness)
        values[name] = values[name].copy()
        values[name][known] = moved
    return replace(forecast, values=values)


def _at_valid_times(
    forecast: Forecast,
    observations: Observations,
    *,
    times: Sequence[datetime],
    cycle: datetime,
    window: Window,
    rules: MatchingRules,
    variables: Mapping[str, Variable],
    wanted: Sequence[str],
) -> Candidates:
    """Each valid time with the nearest report (D-73); gusts with the highest of the step before (D-22)."""
    valid_times = expected_times(times, window, cycle)
    step_hours = step_of(times, window, cycle).hours
    valid = np.array([each.timestamp() for each in valid_times])
    if not len(valid):
        raise BadInput(f"no valid time of the step, {step_hours:g} h, lies in the window {window.describe(cycle)}")
    around = (step_hours or 1.0) * 3600
    _refuse_no_report(observations, valid[0] - around, valid[-1] + around, window, cycle)
    numbers = np.arange(len(observations.stations))
    tolerance = observations.tolerances(rules, step_hours) * 3600
    reasons = quality.judged(observations.reports, variables)
    at = _position_in(forecast.time, valid)
    result = Candidates(valid, {}, {}, {}, {})
    speed_report: Array | None = None
    for name in sorted(wanted, key=lambda each: each != "wind_speed"):
        result.forecast[name] = np.where(at >= 0, forecast.values[name][:, at], np.nan)  # type: ignore[index]
        result.lack[name] = np.where(at >= 0, forecast.lack[name][:, at], forecast.never)  # type: ignore[index]
        if name not in observations.reports:
            result.observed[name] = np.full((len(numbers), len(valid)), np.nan)  # type: ignore[index]
            result.reason[name] = np.full((len(numbers), len(valid)), ledger.NO_OBSERVATION, dtype=object)  # type: ignore[index]
            continue
        values = observations.reports[name].to_numpy(dtype=float)
        good = ~np.isnan(values) & (reasons[name] == quality.GOOD)
        if name == "wind_gust":
            observed, reason = _gusts(observations, values, reasons[name], numbers, valid, (step_hours or 1.0) * 3600)
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
    telling = (~np.isnan(values) | (reasons != quality.GOOD)) & (reasons != quality.REPEATED)
    near = _nearest(observations, telling, numbers, valid, tolerance)
    if name == "wind_direction" and speed_report is not None:
        near = np.where(speed_report == NONE, near, speed_report)
    bad = np.where(near == NONE, "", reasons[near])
    half = (step_hours or 1.0) * 3600 / 2
    wider = _nearest(observations, telling, numbers, valid, np.full(len(numbers), half))
    result[absent] = ledger.NO_OBSERVATION
    result[absent & (near == NONE) & (wider != NONE)] = ledger.OUTSIDE_TOLERANCE
    flagged = absent & (bad != "")
    result[flagged] = bad[flagged]
    return result


def _gusts(
    observations: Observations, values: Array, reasons: Array, numbers: Array, valid: Array, step: float
) -> tuple[Array, Array]:
    """The highest good gust of the step before each valid time; where there is none, why the last bad one is bad."""
    first, end = Reports(observations.number, observations.seconds).within_step(numbers, valid, step)
    observed = highest_within(np.where(reasons == quality.GOOD, values, np.nan), first, end)
    bad = ~np.isnan(values) & (reasons != quality.GOOD)
    last = highest_within(np.where(bad, np.arange(len(values)), np.nan), first, end)
    why = np.where(np.isnan(last), ledger.NO_OBSERVATION, reasons[np.nan_to_num(last).astype(int)])
    return observed, np.where(np.isnan(observed), why, "").astype(object)


def _refuse_no_report(observations: Observations, first: float, last: float, window: Window, cycle: datetime) -> None:
    """Reports of another day are a mistake, not a night without observations."""
    if not ((observations.seconds >= first) & (observations.seconds <= last)).any():
        when = span(observations.seconds.astype("datetime64[s]"))
        raise BadInput(f"{observations.name}: no report in the window {window.describe(cycle)}; they are of {when}")


def _at_observation_times(
    forecast: Forecast,
    observations: Observations,
    *,
    times: Sequence[datetime],
    cycle: datetime,
    window: Window,
    rules: MatchingRules,
    variables: Mapping[str, Variable],
    wanted: Sequence[str],
) -> Candidates:
    """The model linear in time at each report; directions as components, so that degrees are never interpolated."""
    moments = np.unique(observations.seconds)
    inside = [window.contains(datetime.fromtimestamp(float(each), UTC), cycle) for each in moments]
    moments = moments[np.array(inside, dtype=bool)]
    if not len(moments):
        _refuse_no_report(observations, np.inf, np.inf, window, cycle)
    reasons = quality.judged(observations.reports, variables)
    interpolated, lack = _linear(forecast, moments.astype(float), _own_step(times, window, cycle) * 3600)
    result = Candidates(moments, interpolated, lack, {}, {}, {})
    column: Array = np.searchsorted(moments, observations.seconds)
    here = (column < len(moments)) & (moments[np.minimum(column, len(moments) - 1)] == observations.seconds)
    shape = (len(observations.stations), len(moments))
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


def _linear(forecast: Forecast, times: Array, longest: float) -> tuple[dict[str, Array], dict[str, Array]]:
    """Values between two model times that are a step apart, and what they lack; none beyond, none across a hole."""
    model = forecast.time.astype(float)
    right = np.minimum(np.searchsorted(model, times, side="left"), len(model) - 1)
    left = np.where(times < model[right], np.maximum(right - 1, 0), right)  # a model time needs no other
    gap = model[right] - model[left]
    share = np.divide(times - model[left], gap, out=np.zeros(len(times)), where=gap > 0)
    usable = (times >= model[left]) & (times <= model[right]) & (gap <= longest + 1e-6)

    def between(values: Array) -> Array:
        mixed = (1 - share) * values[:, left] + share * np.where(share == 0, 0.0, values[:, right])
        return np.where(usable, mixed, np.nan)

    lack = {
        name: np.where(usable, np.maximum(each[:, left], each[:, right]), forecast.never)
        for name, each in forecast.lack.items()
    }
    result = {name: between(values) for name, values in forecast.values.items() if name != "wind_direction"}
    if "wind_direction" in forecast.values:
        speed = forecast.values.get("wind_speed")
        direction = forecast.values["wind_direction"]
        weight = np.ones_like(direction) if speed is None else speed
        _, turned = speed_and_direction(*(between(each) for each in components(weight, direction)))
        result["wind_direction"] = turned
    return result, lack


def _table(found: Candidates, observations: Observations, wanted: Sequence[str], rules: MatchingRules) -> pd.DataFrame:
    """The candidates as the long table that all matching ends in."""
    stations = observations.stations
    excluded = quality.positions(stations, rules.exclude)
    names = pd.Categorical(stations["station"], categories=stations["station"])
    valid = pd.to_datetime(found.time.astype(np.int64), unit="s", utc=True)
    parts = []
    for name in sorted(wanted):
        reason = found.reason[name].copy()
        forecast, observed = found.forecast[name], found.observed[name]
        lacking = (reason == "") & np.isnan(forecast)
        reason[lacking] = LACK[np.maximum(found.lack[name], HOLE)][lacking]
        reason[found.lack[name] == OUTSIDE] = ledger.OUTSIDE_GRID  # whatever was observed there
        reason[(excluded != quality.GOOD), :] = excluded[excluded != quality.GOOD][:, None]
        strange = (found.lack[name] == UNKNOWN) & (excluded != quality.EXCLUDED)[:, None]
        reason[strange] = ledger.NOT_OF_THE_MODEL  # wherever it stands
        reason[reason == ""] = ledger.PAIR
        # What is left out for another reason than a hole in the model asks nothing of the model (D-17).
        kept = (reason == ledger.PAIR) | (reason == ledger.NO_FORECAST) | (reason == ledger.BAD_FORECAST)
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


def _about(files: GridFiles, rules: MatchingRules, forecast: Forecast) -> dict[str, Any]:
    """How the grid came to the stations, for the card."""
    return {
        "source": f"{files.source} ({files.container})",
        "files": sum(len(each.parts) for each in files.files),
        "domain": _domain(files),
        "winds": None
        if files.orientation is None
        else f"{files.orientation.relative_to}-relative: {files.orientation.known_from}",
        "space": rules.space.describe(),
        "read": {name: _read_as(files.offers[name]) for name in forecast.values},
        "stations": {"inside": int(forecast.inside.sum()), "outside": int((~forecast.inside).sum())},
        "broken_files": {path.name: _said(error, files) for path, error in files.broken.items()}
        | dict(forecast.broken),
        "withheld": {name: _said(error, files) for name, error in files.withheld.items()},
    }


def _how(
    model: Model, observations: Observations, rules: MatchingRules, window: Window, cycle: datetime
) -> dict[str, Any]:
    """How model and reports were brought together in time and height, for the card."""
    heights = sorted({float(each) for each in observations.stations["height"].dropna()})
    wind = model.heights.get("wind_speed")
    step = step_of(_times_around(model, window, cycle), window, cycle).hours
    how: dict[str, Any] = {
        "time": rules.describe_time(step),
        "times": f"model {span(model.times)}, reports {span(observations.seconds.astype('datetime64[s]'))}",
        "height": rules.describe_height(wind, heights),
    }
    if wind is not None and rules.roughness is None:
        others = [f"{each:g}" for each in heights if abs(each - wind) > 0.5]
        if others:
            sensors = ", ".join(others[:4])
            how["warning"] = f"winds are compared as they are: model at {wind:g} m, sensors at {sensors} m"
    unknown = int(observations.stations["height"].isna().sum())
    if "wind_speed" in model.heights and rules.roughness is not None and unknown:
        how["warning"] = f"sensors of unknown height, compared as they are: {unknown} stations"
    if observations.notes:
        how["reports"] = "; ".join(observations.notes)
    if observations.not_listed:
        how["not_listed"] = f"{observations.not_listed} stations of the reports are not in the table of stations"
    if observations.moved:
        how["moved"] = f"{observations.moved} stations of the reports have more than one place, so none is taken"
    if rules.exclude:
        absent = sorted(set(rules.exclude) - set(observations.stations["station"]))
        how["excluded"] = ", ".join(rules.exclude) + (f" (not there: {', '.join(absent)})" if absent else "")
    repeated = int(observations.reports.duplicated(["station", "time"]).sum())
    if repeated:
        how["repeated_reports"] = f"{repeated}, of which the first counts"
    if model.gust is not None:
        how["gust"] = model.gust
    return how


def _read_as(offer: Offer) -> str:
    """What a variable is read from, in words."""
    height = "" if offer.height is None else f" at {offer.height:g} m"
    return f"{' and '.join(offer.stored_as)}{height} ({offer.recipe.how})"


def _domain(files: GridFiles) -> str:
    """Where the grid lies, in words."""
    latitude, longitude = (np.concatenate(each) for each in zip(*(grid.points() for grid in files.grids), strict=True))
    points = " x ".join(str(each) for each in files.grids[0].shape)
    south, north, west, east = (f"{each:.2f}" for each in (*_ends(latitude), *_ends(longitude)))
    return f"{points} points, latitude {south} to {north}, longitude {west} to {east}"


def _backdrop(files: GridFiles) -> Array | None:
    """Every so many points of the grid with their height (missing where the files have none), edges included."""
    surface = files.surfaces[0]
    if len(surface.grid.shape) != 2:
        return None  # a mesh has no rows and columns to draw
    latitude, longitude = surface.grid.points()
    height = np.full(latitude.shape, np.nan) if surface.terrain is None else surface.terrain
    rows, columns = (np.unique(np.linspace(0, n - 1, min(n, COARSE)).round().astype(int)) for n in surface.grid.shape)
    return np.stack([each.reshape(surface.grid.shape)[np.ix_(rows, columns)] for each in (latitude, longitude, height)])


def _said(error: FirecardError, files: GridFiles) -> str:
    """What an error says, files by their names only: the card holds no path of a machine."""
    used = [part.path for each in files.files for part in each.parts]
    folders = {f"{path.parent}/" for path in (*files.broken, *used)}
    text = str(error)
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(folder, "")
    return text


def _ends(values: Array) -> tuple[float, float]:
    return float(np.nanmin(values)), float(np.nanmax(values))


def _times_around(model: Model, window: Window, cycle: datetime) -> list[datetime]:
    """The model's times in the window and two on either side: they show its step there, however its files are cut."""
    times = _datetimes(model.times)
    first = bisect_left(times, window.earliest(cycle))
    last = bisect_right(times, window.bounds(cycle)[1])
    return times[max(0, first - 2) : last + 2]


def _own_step(times: Iterable[datetime], window: Window, cycle: datetime) -> float:
    """Hours between the model's own times, whatever step the case asks for; 0 where there is only one."""
    return step_of(times, replace(window, step=None), cycle).hours or 0.0


def _position_in(times: Array, wanted: Array) -> Array:
    """Where each wanted time stands among the (sorted) times; -1 where it does not."""
    index = np.searchsorted(times, wanted)
    safe = np.minimum(index, len(times) - 1)
    return np.where((index < len(times)) & (times[safe] == wanted), safe, -1)


def span(times: Array) -> str:
    """The first and the last time, in words."""
    return " to ".join(f"{np.datetime_as_string(each, unit='m')}Z" for each in (times.min(), times.max()))


def _datetimes(times: Array) -> list[datetime]:
    return _from_seconds(np.asarray(times).astype("datetime64[s]").astype(np.int64))


def _from_seconds(seconds: Array) -> list[datetime]:
    return [datetime.fromtimestamp(float(each), UTC) for each in seconds]
