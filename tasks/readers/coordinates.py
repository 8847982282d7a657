"""Coordinates of CF files: which variables are coordinates, of what, and when a variable is valid.

Valid times are written along a dimension, or they are a reference time with leads. A file may hold several cycles,
along a dimension of their own or one after the other; a forecast is of one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from tasks.readers.grids import Floats, Times, checked_times, decoded_times, moment
from tasks.readers.hdf import File

Kind: TypeAlias = Literal["latitude", "longitude", "y", "x", "time", "cycle", "lead", "height", ""]


STANDARD: Mapping[str, Kind] = {
    "latitude": "latitude",
    "longitude": "longitude",
    "projection_y_coordinate": "y",
    "projection_x_coordinate": "x",
    "grid_latitude": "y",
    "grid_longitude": "x",
    "height": "height",
    "forecast_period": "lead",
}
USUAL: Mapping[str, Kind] = {
    "lat": "latitude",
    "latitude": "latitude",
    "nav_lat": "latitude",
    "lon": "longitude",
    "longitude": "longitude",
    "nav_lon": "longitude",
}
UNITS: Mapping[str, Kind] = {
    **dict.fromkeys(("degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn"), "latitude"),
    **dict.fromkeys(("degrees_east", "degree_east", "degree_e", "degrees_e", "degreee", "degreese"), "longitude"),
}
CYCLES = {"init_time", "initial_time", "run", "run_time", "model_run", "cycle", "analysis_time"}
SINCE_CYCLE = "prediction_timedelta"  # beside a `time` that is the cycle's, as in WeatherBench
LEADS = {"step", "lead", "lead_time", "leadtime", "forecast_hour", "fhour", "forecast_period", SINCE_CYCLE}
LENGTHS = {"m", "meter", "meters", "metre", "metres", "km", "ft"}


@dataclass(frozen=True, slots=True, eq=False)
class Clock:
    """The valid times (UTC) of a variable: the dimension that they run along, from which place, and their cycle.

    `pinned` is the place on a dimension of cycles. `dims` are all dimensions that have to do with time.
    """

    times: Times
    dims: tuple[str, ...]
    along: str | None = None
    first: int = 0
    pinned: Mapping[str, int] = field(default_factory=dict)
    cycle: np.datetime64 | None = None

    def agrees(self, other: Self) -> bool:
        """Whether both are of the same times and cycle, whatever their coordinates are called."""
        return self.cycle == other.cycle and np.array_equal(self.times, other.times)

    def lacks(self, other: Self) -> frozenset[int]:
        """The times of another clock that this one does not have, by number; none where it has others of its own."""
        if self.cycle != other.cycle or not np.isin(self.times, other.times).all():
            return frozenset()
        return frozenset(np.flatnonzero(~np.isin(other.times, self.times)).tolist())


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Which variables of a file are coordinates, and of what."""

    file: File

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        return {name: kind for name in self.file.names if (kind := _kind(self.file, name))}

    def along(self, name: str, kind: Kind) -> list[str]:
        """Coordinates of a kind whose dimensions are all among those of a variable, the most explicit first."""
        dims, listed = set(self.file.dims(name)), self.file.text(name, "coordinates").split()
        fitting = [each for each, its in self.kinds.items() if its == kind and set(self.file.dims(each)) <= dims]
        return sorted(fitting, key=lambda each: (each not in listed, each not in dims))


def _kind(file: File, name: str) -> Kind:
    standard, units, plain = file.text(name, "standard_name"), file.text(name, "units"), name.lower()
    if " since " in units.lower():
        if standard == "forecast_reference_time" or (not standard and ("ref" in plain or plain in CYCLES)):
            return "cycle"
        return "time" if standard in ("", "time") else ""
    if standard:
        return STANDARD.get(standard, "")
    if units.lower() in UNITS:
        return UNITS[units.lower()]
    if units.startswith("deg"):
        return USUAL.get(plain, "")
    if plain in LEADS and _is_duration(units):
        return "lead"
    level = len(file.shape(name)) <= 1 and "height" in plain and "geopotential" not in plain
    return "height" if level and units in LENGTHS else ""


def _is_duration(units: str) -> bool:
    try:
        convert(0.0, units, "s")
    except UnknownUnit:
        return False
    return True


def timeless(coordinates: Coordinates, name: str) -> Clock:
    """For what does not change: read at the first time, where it is written for each."""
    file = coordinates.file
    kinds: tuple[Kind, ...] = ("time", "cycle", "lead")
    found = {dim for kind in kinds for each in coordinates.along(name, kind) for dim in file.dims(each)}
    dims = tuple(each for each in file.dims(name) if each in found)
    return Clock(np.empty(0, "datetime64[ns]"), dims, pinned=dict.fromkeys(dims, 0))


def clock_of(coordinates: Coordinates, name: str, wanted: np.datetime64 | None) -> Clock:
    """The valid times of a variable: those of the wanted cycle, or of the newest, where there are several."""
    file = coordinates.file
    valid, cycle, lead = _times_of(coordinates, name)
    named = [each for each in (valid, cycle, lead) if each]
    dims = tuple(each for each in file.dims(name) if any(each in file.dims(one) for one in named))
    cycles = _over(file, name, dims, cycle, decoded_times(file, cycle)) if cycle else None
    if valid:
        times = _over(file, name, dims, valid, decoded_times(file, valid))
        cycles = None if cycles is None or np.isnat(cycles).any() else cycles
    else:
        times = cycles + _over(file, name, dims, lead, _durations(file, lead))
    if len(dims) > 2 or (len(dims) == 2 and (cycles is None or len(file.dims(cycle)) != 1)):
        raise BadInput(f"{file.path}: {name} has times along {', '.join(dims)}; which of them are valid is not known")
    if cycles is None or not cycles.size:
        return Clock(checked_times(file.path, times.ravel()), dims, dims[0] if dims else None)
    chosen = _chosen(file, name, cycles, wanted)
    if len(dims) == 2:
        (of_cycles,) = file.dims(cycle)
        (along,) = (each for each in dims if each != of_cycles)
        axis = dims.index(of_cycles)
        places = np.flatnonzero(cycles.take(0, axis=1 - axis) == chosen)
        if places.size > 1:
            raise BadInput(f"{file.path}: {cycle} has the cycle {moment(chosen)} {places.size} times")
        own = checked_times(file.path, times.take(places[0], axis=axis))
        return Clock(own, dims, along, pinned={of_cycles: int(places[0])}, cycle=chosen)
    places = np.flatnonzero(cycles.ravel() == chosen)
    first, end = int(places[0]), int(places[-1]) + 1
    if end - first != places.size:
        raise BadInput(f"{file.path}: {name}: the times of the cycle {moment(chosen)} do not stand together")
    own = checked_times(file.path, times.ravel()[first:end])
    return Clock(own, dims, dims[0] if dims else None, first, cycle=chosen)


def _times_of(coordinates: Coordinates, name: str) -> tuple[str, str, str]:
    """The coordinates of a variable's valid times, cycle and leads; empty where there is none or it is not needed."""
    file = coordinates.file
    cycles, leads = (
        [each for each in coordinates.along(name, kind) if len(file.dims(each)) <= 1] for kind in ("cycle", "lead")
    )
    cycle, lead = _longest(file, cycles), _longest(file, leads)
    both = {*file.dims(cycle), *file.dims(lead)} if cycle and lead else set()
    valid = _longest(
        file,
        [each for each in coordinates.along(name, "time") if len(file.dims(each)) <= 1 or both >= {*file.dims(each)}],
    )
    other = set(file.dims(lead)) - set(file.dims(valid)) if valid and lead else set()
    if other and len(file.dims(valid)) == 1 and not cycle:
        if lead.lower() == SINCE_CYCLE:
            return "", valid, lead
        if file.shape(lead) != (1,) or file.values(lead)[0] != 0:
            raise BadInput(
                f"{file.path}: {name} lies along {valid} and {lead}; whether {valid} is the valid or the reference "
                "time is not known (standard_name forecast_reference_time would say it)"
            )
    if valid:
        return valid, cycle, ""
    if lead and cycle:
        return "", cycle, lead
    along = ", ".join(file.dims(name))
    if lead:
        raise BadInput(f"{file.path}: {name} has leads ({lead}), and no reference time that they count from")
    raise BadInput(f"{file.path}: {name} has no valid times along its dimensions {along}")


def _longest(file: File, names: list[str]) -> str:
    """The first of those with most dimensions."""
    return max(names, key=lambda each: len(file.dims(each)), default="")


def _over(file: File, name: str, dims: tuple[str, ...], coordinate: str, values: Any) -> Any:
    """A coordinate's values over all of a variable's dimensions of time."""
    own = file.dims(coordinate)
    lengths = dict(zip(file.dims(name), file.shape(name), strict=True))
    ordered = values.reshape(file.shape(coordinate)).transpose([own.index(each) for each in dims if each in own])
    spread = ordered.reshape([lengths[each] if each in own else 1 for each in dims])
    return np.broadcast_to(spread, [lengths[each] for each in dims])


def _durations(file: File, name: str) -> Any:
    """Leads, to the second."""
    units = file.text(name, "units")
    try:
        seconds: Floats = np.asarray(convert(file.values(name), units, "s"), dtype=np.float64)
    except UnknownUnit as error:
        raise UnknownUnit(f"{file.path}: {name}: {error}") from None
    if not np.isfinite(seconds).all():
        raise BadInput(f"{file.path}: {name} has a lead that is missing")
    return np.round(seconds).astype("timedelta64[s]").astype("timedelta64[ns]")


def _chosen(file: File, name: str, cycles: Times, wanted: np.datetime64 | None) -> np.datetime64:
    """The wanted cycle, or the newest; the only one whatever is wanted: its times will tell whether it is of use."""
    there = np.unique(cycles).astype("datetime64[ns]")
    if np.isnat(there).any():
        raise BadInput(f"{file.path}: {name} has a reference time that is missing")
    if there.size > 1 and wanted is not None:
        if not (there == wanted).any():
            listed = ", ".join(moment(each) for each in there[-6:])
            raise BadInput(f"{file.path}: {name} has no cycle {moment(wanted)}; there are {there.size}, up to {listed}")
        there = there[there == wanted]
    return there[-1]  # type: ignore[no-any-return]
