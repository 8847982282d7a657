"""FireBench's standard HDF5 files (version 1.0): maps of burn severity, buildings with their damage, weather stations.

    /spatial_2d/<name>/fire_burn_severity, position_lat, position_lon; the group's attribute `crs`
    /points/<name>/building_damage, position_lat, position_lon
    /time_series/station_<id>/time, air_temperature, wind_speed, …; positions are attributes of the group

Every variable says its `units`, every attribute `x` its unit in `x_units` (or several in `position_units`). Times are
numbers since `time_origin` in `time_units`, or text with a time zone. Missing is NaN or `_FillValue`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from metrics.sums import Array
from tasks.readers.formats import Head, StationWishes
from tasks.readers.hdf import Hdf5, opened

VERSION = "FireBench_io_version"
READ = ("1.0", "0.2")  # those that FireBench 0.10 reads itself
MAPS, POINTS, SERIES = "spatial_2d", "points", "time_series"
SEVERITY, DAMAGE, STATION = "fire_burn_severity", "building_damage", "station_"
NO_UNIT = ("", "1", "dimensionless", "none", "class", "classes")
# FireBench's names of the variables that firecard calls otherwise.
CALLED = {"air_temperature": "temperature", "fuel_moisture_content_10h": "fuel_moisture"}
CONFIDENCE = "sensor_height_source_confidence_lvl"
WIND = ("wind_speed", "wind_direction", "wind_gust")

Standard: TypeAlias = Hdf5


def is_firebench(path: Path) -> bool:
    """An HDF5 file that says which version of FireBench's standard it follows."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        if file.read(4) != b"\x89HDF":
            return False
    with opened(path) as held:
        return isinstance(held, Hdf5) and held.attribute(None, VERSION) is not None


@contextmanager
def opened_standard(path: Path) -> Iterator[Standard]:
    """The file, open for reading, once its version is known."""
    with opened(path) as file:
        version = file.attribute(None, VERSION) if isinstance(file, Hdf5) else None
        if version is None or not isinstance(file, Hdf5):
            raise BadInput(f"{path}: is no file of FireBench's standard: it has no attribute `{VERSION}`")
        if str(version) not in READ:
            shown = plain(str(version), 40)
            raise BadInput(f"{path}: follows version {shown} of FireBench's standard, expected {READ[0]}")
        yield file


def dataset_version(path: Path) -> str | None:
    """The version of the dataset that a file holds; None where it says none, or is no such file."""
    if not is_firebench(path):
        return None
    with opened_standard(path) as file:
        return file.text(None, "version") or None


def map_of(file: Standard, wanted: str | None) -> tuple[str, str]:
    """The group of a map of severity and the variable in it: the one that the case names, or the only one there is."""
    groups = [name for name, is_group in file.children(MAPS).items() if is_group]
    if wanted is None:
        found = [name for name in groups if SEVERITY in file.children(f"{MAPS}/{name}")]
        if len(found) != 1:
            shown = ", ".join(found[:8]) or "none"
            raise BadInput(
                f"{file.path}: expected one group of /{MAPS} with `{SEVERITY}`, found {shown}: say `variable:`"
            )
        return f"{MAPS}/{found[0]}", SEVERITY
    group, _, name = wanted.strip("/").removeprefix(f"{MAPS}/").partition("/")
    name = name or SEVERITY
    if group not in groups or name not in file.children(f"{MAPS}/{group}"):
        known = ", ".join(f"{each}/{held}" for each in groups for held in file.children(f"{MAPS}/{each}"))
        raise BadInput(f"{file.path}: no map {wanted!r} in /{MAPS}; there are: {plain(known, 300) or 'none'}")
    return f"{MAPS}/{group}", name


def refuse_unit(file: Standard, name: str) -> None:
    """Refuse classes with a unit: a share or a length is no class."""
    unit = file.text(name, "units")
    if unit.lower() not in NO_UNIT:
        raise BadInput(f"{file.path}: {name} has the unit {plain(repr(unit), 40)}, expected classes (dimensionless)")


def axis_unit(file: Standard, group: str, name: str) -> str:
    """The unit of a position: the variable's, the group's for it, or the group's for all positions."""
    own = file.text(f"{group}/{name}", "units") if name in file.children(group) else ""
    return own or file.text(group, f"{name}_units") or file.text(group, "position_units")


def degrees(file: Standard, group: str, name: str, values: Any) -> Any:
    """Positions in degrees; where no unit is said, latitude and longitude have no other."""
    unit = axis_unit(file, group, name)
    try:
        return convert(values, unit, "deg") if unit else values
    except UnknownUnit as error:
        raise BadInput(f"{file.path}: {group}/{name}: {error}") from None


def read_damage(path: Path) -> dict[str, pd.Series]:
    """The buildings of a file: damage, and lat and lon where they stand there. Only their order tells them apart."""
    with opened_standard(path) as file:
        found = [name for name, is_group in file.children(POINTS).items() if is_group]
        found = [name for name in found if DAMAGE in file.children(f"{POINTS}/{name}")]
        if len(found) != 1:
            shown = ", ".join(found[:8]) or "none"
            raise BadInput(f"{path}: expected one group of /{POINTS} with `{DAMAGE}`, found {shown}")
        group = f"{POINTS}/{found[0]}"
        refuse_unit(file, f"{group}/{DAMAGE}")
        damage = file.texts(f"{group}/{DAMAGE}").ravel().tolist()
        if not damage:
            raise BadInput(f"{path}: {group}/{DAMAGE} is empty, expected buildings")
        columns = {"damage": pd.Series(damage, dtype=object)}
        for name, role in (("position_lat", "lat"), ("position_lon", "lon")):
            if name in file.children(group):
                values = degrees(file, group, name, file.values(f"{group}/{name}"))
                if values.shape != (len(damage),):
                    raise BadInput(f"{path}: {group}/{name} has shape {values.shape}, expected ({len(damage)},)")
                columns[role] = pd.Series(values)
        if len({"lat", "lon"} & columns.keys()) == 1:
            raise BadInput(f"{path}: {group} has one of position_lat and position_lon, expected both or none")
        return columns


def recognises(head: Head) -> bool:
    """A file of the standard."""
    return is_firebench(head.path)


def read_reports(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """The reports of a file's stations: station, place, time and a column per variable."""
    return reports_of(path, wishes)


def reports_of(path: Path, wishes: StationWishes, *, places_needed: bool = True) -> pd.DataFrame:
    """The same; stations without a place only where that is all right."""
    variables, called = wishes.variables, {stored: name for name, stored in wishes.names.items()}
    with opened_standard(path) as file:
        parts = [
            _reports(file, group, station, wishes, CALLED | called, places_needed)
            for station in (name for name, is_group in file.children(SERIES).items() if is_group)
            for group in _with_time(file, f"{SERIES}/{station}")
        ]
    if not parts:
        raise BadInput(f"{path}: no station in /{SERIES}: expected groups such as {STATION}KTVL with `time`")
    if not any(name in each for each in parts for name in variables):
        known = ", ".join((*CALLED, *variables))
        raise BadInput(f"{path}: no station of /{SERIES} has a variable that is known ({known})")
    table = pd.concat(parts, ignore_index=True)
    for name in variables:
        if name in table:
            table[name] = table[name].astype(float)
    return table.assign(variable_direction=False)


def _with_time(file: Standard, group: str) -> list[str]:
    """The groups below a station's that hold a series, itself among them."""
    held = file.children(group)
    inner = [each for name, is_group in held.items() if is_group for each in _with_time(file, f"{group}/{name}")]
    return [group, *inner] if "time" in held else inner


def _reports(
    file: Standard,
    group: str,
    station: str,
    wishes: StationWishes,
    called: Mapping[str, str],
    places_needed: bool,
) -> pd.DataFrame:
    variables, when = wishes.variables, _times(file, group, wishes.zone)
    frame = pd.DataFrame({"station": station.removeprefix(STATION), "time": pd.to_datetime(when, utc=True)})
    frame["time"] = frame["time"].dt.as_unit("ns")
    places = [
        group.rsplit("/", up)[0] for up in range(group.count("/"))
    ]  # an outer group may say it for all of its own
    for name, role in (("position_lat", "lat"), ("position_lon", "lon")):
        holder = next((each for each in places if file.attribute(each, name) is not None), None)
        if holder is None and places_needed:
            raise BadInput(f"{file.path}: {group}: the attribute `{name}` is missing")
        frame[role] = np.nan if holder is None else float(degrees(file, holder, name, _number(file, holder, name)))
    frame["elevation"] = _length(file, group, "position_alt", "position_alt_units")
    wind = [f"{group}/{name}" for name in WIND if name in file.children(group)]
    frame["height"] = _length(file, wind[0], "sensor_height", "sensor_height_units") if wind else np.nan
    network = file.attribute(group, "providers")
    frame["network"] = "" if network in (None, "None") else str(network)
    for stored in file.children(group):
        name = called.get(stored, stored)
        place = f"{group}/{stored}"
        if name not in variables or (wishes.trusted and not _verified(file.attribute(place, CONFIDENCE))):
            continue
        values = file.values(place)
        if values.shape != when.shape:
            raise BadInput(f"{file.path}: {place} has shape {values.shape}, its `time` {when.shape}")
        unit = file.text(place, "units")
        if not unit:
            raise BadInput(f"{file.path}: {place} does not say its `units`")
        try:
            frame[name] = convert(values, unit, variables[name].unit)
        except UnknownUnit as error:
            raise BadInput(f"{file.path}: {place}: {error}") from None
    return frame


def _verified(confidence: Any) -> bool:
    """Whether the height of a sensor was verified: level 2, which FireBench once wrote with its meaning behind it."""
    return str(confidence).partition(" - ")[0].strip() == "2"


def _times(file: Standard, group: str, zone: str | None) -> Array:
    """UTC, to the second."""
    place = f"{group}/time"
    origin, unit = file.text(place, "time_origin"), file.text(place, "time_units")
    try:
        if not origin:
            return np.array([_moment(each, zone) for each in file.texts(place).ravel()], dtype="datetime64[s]")
        seconds = convert(file.values(place), unit, "s")
        if np.ndim(seconds) != 1 or not np.isfinite(seconds).all():
            raise ValueError("expected one finite number a report")
        return _moment(origin, zone) + np.floor(seconds + 0.5).astype("timedelta64[s]")
    except (ValueError, OverflowError, UnknownUnit) as error:
        raise BadInput(f"{file.path}: {place} cannot be understood as times: {plain(str(error), 160)}") from None


def _moment(text: str, zone: str | None) -> Any:
    moment = pd.Timestamp(text)
    if moment is not pd.NaT and moment.tzinfo is None and zone:
        moment = moment.tz_localize(zone)
    if moment is pd.NaT or moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; the case can say it: `zone: UTC`")
    if not 1900 <= moment.year < 2200:
        raise ValueError(f"{text!r}: expected a time between 1900 and 2200")
    return moment.tz_convert("UTC").tz_localize(None).to_datetime64().astype("datetime64[s]")


def _number(file: Standard, holder: str, name: str) -> float:
    value = file.attribute(holder, name)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadInput(
            f"{file.path}: {holder}: the attribute `{name}` is {plain(repr(value), 60)}, expected a number"
        ) from None


def _length(file: Standard, holder: str, name: str, unit_name: str) -> float:
    """A length in metres; missing where it is not said, or not in which unit."""
    unit = file.text(holder, unit_name)
    if file.attribute(holder, name) is None or not unit:
        return float("nan")
    try:
        return float(convert(_number(file, holder, name), unit, "m"))
    except UnknownUnit as error:
        raise BadInput(f"{file.path}: {holder}: {name}: {error}") from None
