"""Time series of Synoptic Data's Weather API (formerly Mesonet API, MesoWest) in JSON.

`STATION` lists the stations: STID, LATITUDE, LONGITUDE, ELEVATION (feet unless UNITS says otherwise), MNET_ID or
MNET_SHORTNAME (the network), OBSERVATIONS with `date_time` and a list for each sensor of a variable.

Sensors: `wind_speed_set_1`, `wind_speed_set_2` … are measured, `…_set_1d` derived by Synoptic from other variables. For
each station the first measured sensor that has a value counts, else the first derived one; the case may name another
(`names: {wind_speed: wind_speed_set_2}`, or a variable that is not known by name: `{soil: soil_moisture}`).
Units come from UNITS, the station's own before that of the whole file, and a variable that it does not name is refused.
Fuel moisture in `gm`, the grams of water in a stick of 100 g, is in %.
Quality: null is missing, and so is a value against which QC, where it was asked for, raises any flag. What the service
removed by itself is null already.
Height: `position` of SENSOR_VARIABLES, in metres unless UNITS says otherwise, is the height of the wind sensor.
Times are `2021-08-18T04:00:00Z`, or local with their offset (`-0700`); without one the case says `zone:`. Times need no
order, and a station may stand there in several parts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from metrics.sums import Array
from metrics.variables import Variable
from tasks.readers.formats import Head, StationWishes
from tasks.readers.reports import measured
from tasks.readers.tables import FIRST, LAST, in_zone, without_zone

WHAT = "a time series of Synoptic Data"
STATIONS = re.compile(r'"STATION"\s*:\s*\[')
ANSWER = re.compile(r'"SUMMARY"\s*:\s*\{')
SENSOR = re.compile(r"(.+)_set_(\d{1,4})(d?)")
LATEST = re.compile(r".+_value_\d+d?")
OK = 1
NAMES = {
    "wind_speed": "wind_speed",
    "wind_direction": "wind_direction",
    "wind_gust": "wind_gust",
    "temperature": "air_temp",
    "dew_point": "dew_point_temperature",
    "relative_humidity": "relative_humidity",
    "fuel_moisture": "fuel_moisture",
}
NETWORKS = {"1": "ASOS/AWOS", "2": "RAWS"}
# How the service spells units, in small letters.
SPELLING = {
    "miles/hour": "mph",
    "meters/second": "m/s",
    "kilometers/hour": "km/h",
    "knots": "knot",
    "fahrenheit": "degF",
    "celsius": "degC",
    "kelvin": "K",
    "degrees": "deg",
    "meters": "m",
    "feet": "ft",
}
WATER = ("fuel_moisture", "gm")


@dataclass(frozen=True, slots=True)
class Station:
    """One entry of STATION, and how to speak of it."""

    where: str
    name: str
    entry: Mapping[str, Any]
    observations: Mapping[str, Any]
    units: Mapping[str, Any]

    def refuse(self, what: str) -> BadInput:
        return BadInput(f"{self.where}: {what}")

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A part of the entry; nothing where it has none."""
        found = self.entry.get(key) or {}
        if not isinstance(found, Mapping):
            raise self.refuse(f"{key} is no object but {_shown(found)}")
        return found


@dataclass(frozen=True, slots=True)
class Series:
    """What a station reported: its times as written, and for each variable the sensor's values and their unit."""

    station: Station
    written: list[Any]
    facts: Mapping[str, Any]
    values: Mapping[str, Array]
    units: Mapping[str, str]
    chosen: Mapping[str, str]


def recognises(head: Head) -> bool:
    """An object with a list of stations, or the service's answer that there is none."""
    text = head.text.lstrip()
    return text.startswith("{") and bool(STATIONS.search(text) or (ANSWER.search(text) and "RESPONSE_CODE" in text))


def read_reports(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a report: station, time, position, height of the wind sensor, network, and the variables as kept."""
    content = _content(path)
    stations = _stations(content, path)
    sensors = {name: NAMES[name] for name in NAMES if name in wishes.variables} | _wished(wishes, path)
    series = [each for each in (_of_station(each, sensors) for each in stations) if each.written]
    if not series:
        raise BadInput(f"{path}: none of its {len(stations)} stations has a report")
    there = {name for each in series for name in each.values}
    for name in (each for each in wishes.names if each not in there):
        found = sorted({each for station in stations for each in station.observations})
        raise BadInput(
            f"{path}: no station has {plain(repr(sensors[name]), 80)}, which `names:` gives for {name}"
            f" (found: {plain(', '.join(found), 200)})"
        )
    if not there:
        raise BadInput(
            f"{path}: there is no variable in it; expected sensors such as wind_speed_set_1"
            f" (known: {', '.join(sorted(set(sensors.values())))})"
        )
    counts = [len(each.written) for each in series]
    facts = pd.DataFrame([{"station": each.station.name, **each.facts} for each in series])
    frame = facts.loc[np.repeat(facts.index, counts)].reset_index(drop=True)
    frame["time"] = _times(series, wishes.zone)
    for name in (each for each in sensors if each in there):
        frame[name] = _kept(series, name, wishes.variables[name])
    return frame.assign(variable_direction=False)


def _kept(series: list[Series], name: str, variable: Variable) -> Array:
    """A variable of all stations in the unit that is kept, unit by unit."""
    raw = np.concatenate([each.values.get(name, np.full(len(each.written), np.nan)) for each in series])
    units = np.array([each.units.get(name, "") for each in series], dtype=object)
    counts = [len(each.written) for each in series]
    kept = np.full(len(raw), np.nan)
    for unit in dict.fromkeys(each.units[name] for each in series if name in each.units):
        first = next(each for each in series if each.units.get(name) == unit)
        those = np.repeat(units == unit, counts)
        where, sensor = first.station.where, first.chosen[name]
        kept[those] = measured(pd.Series(raw[those]), unit, variable, where, sensor)
    return kept


def _content(path: Path) -> Mapping[str, Any]:
    """The file as JSON, an object; with the service's own word where it is the answer to a request that failed."""
    Head.of(path)  # a folder, an empty file and one that cannot be opened are refused there
    if path.is_dir():
        raise BadInput(f"{path}: is a directory, expected {WHAT}")
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: cannot be read as {WHAT}: it is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise BadInput(f"{path}: {where}: cannot be read as {WHAT}: {error.msg}; is it cut off?") from None
    except (ValueError, RecursionError) as error:  # a number of too many digits, brackets of too many levels
        raise BadInput(f"{path}: cannot be read as {WHAT}: {plain(str(error), 120)}") from None
    if not isinstance(content, Mapping):
        raise BadInput(f"{path}: is no JSON object, expected {WHAT}")
    summary = content.get("SUMMARY")
    code = summary.get("RESPONSE_CODE") if isinstance(summary, Mapping) else None
    if isinstance(summary, Mapping) and code is not None and code != OK and str(code) != str(OK):
        said = plain(str(summary.get("RESPONSE_MESSAGE", "")), 200)
        raise BadInput(f"{path}: the service answered with an error ({_shown(code)}) and no data: {said}")
    return content


def _stations(content: Mapping[str, Any], path: Path) -> list[Station]:
    listed = content.get("STATION")
    if not isinstance(listed, list):
        raise BadInput(f"{path}: there is no list STATION in it; expected {WHAT} (…/stations/timeseries)")
    if not listed:
        raise BadInput(f"{path}: its list STATION is empty")
    everywhere = content.get("UNITS") or {}
    if not isinstance(everywhere, Mapping):
        raise BadInput(f"{path}: UNITS is no object but {_shown(everywhere)}")
    found = []
    for number, entry in enumerate(listed):
        where = f"{path}: STATION[{number}]"
        name = str(entry.get("STID") or "").strip() if isinstance(entry, Mapping) else ""
        if not name:
            raise BadInput(f"{where}: expected an object with a name in STID, got {_shown(entry)}")
        bare = Station(f"{where} ({plain(name, 60)})", name, entry, {}, {})
        units = {**everywhere, **bare.mapping("UNITS")}
        found.append(Station(bare.where, name, entry, bare.mapping("OBSERVATIONS"), units))
    return found


def _wished(wishes: StationWishes, path: Path) -> dict[str, str]:
    """What the case names: a variable of the service, or one sensor of it."""
    unknown = [name for name in wishes.names if name not in wishes.variables]
    if unknown:
        raise BadInput(
            f"{path}: `names:` gives {plain(repr(unknown[0]), 80)}, which is not read here;"
            f" known: {', '.join(sorted(wishes.variables))}"
        )
    return dict(wishes.names)


def _of_station(station: Station, sensors: Mapping[str, str]) -> Series:
    """The reports of one entry."""
    observed = station.observations
    if any(map(LATEST.fullmatch, observed)):
        raise station.refuse("holds latest values, not a time series; ask the service for /stations/timeseries")
    written = observed.get("date_time", [])
    if not isinstance(written, list):
        raise station.refuse(f"date_time is no list but {_shown(written)}")
    if not written and any(SENSOR.fullmatch(each) for each in observed):
        raise station.refuse("there is no date_time beside its values")
    network = str(station.entry.get("MNET_SHORTNAME") or station.entry.get("MNET_ID") or "")
    facts = {
        "lat": _number(station, "LATITUDE"),
        "lon": _number(station, "LONGITUDE"),
        "elevation": _length(station, _number(station, "ELEVATION"), "elevation", "ft"),
        "network": NETWORKS.get(network, network),
        "height": np.nan,
    }
    found: dict[str, Array] = {}
    chosen: dict[str, str] = {}
    for name, called in sensors.items():
        values = {each: _values(station, each, len(written)) for each in _sensors(observed, called)}
        if values:
            chosen[name] = next(
                (each for each, those in values.items() if not np.isnan(those).all()), next(iter(values))
            )
            found[name] = values[chosen[name]]
    if "wind_speed" in chosen:
        facts["height"] = _height(station, chosen["wind_speed"])
    return Series(station, written, facts, found, {name: _unit(station, each) for name, each in chosen.items()}, chosen)


def _sensors(observed: Mapping[str, Any], called: str) -> list[str]:
    """The sensors of a variable, measured ones first, each kind by its number; or the one sensor that is meant."""
    if called in observed and SENSOR.fullmatch(called):
        return [called]
    matches = [found for found in map(SENSOR.fullmatch, observed) if found and found[1] == called]
    return [found[0] for found in sorted(matches, key=lambda found: (found[3], int(found[2])))]


def _values(station: Station, sensor: str, count: int) -> Array:
    """What a sensor measured; missing where nothing is, or where a flag of quality control is raised."""
    values = _list(station, sensor, station.observations[sensor], count)
    simple = set(map(type, values)) <= {int, float, type(None)}
    try:
        found = np.array(values if simple else [_float(each) for each in values], dtype=float)
    except (TypeError, ValueError, OverflowError):
        number, wrong = next((number, each) for number, each in enumerate(values) if not _is_number(each))
        raise station.refuse(f"{sensor}[{number}]: expected a number or null, got {_shown(wrong)}") from None
    if np.isinf(found).any():
        raise station.refuse(f"{sensor}[{int(np.isinf(found).argmax())}]: expected a finite number")
    flags = station.mapping("QC").get(sensor)
    if flags is not None:
        raised = [bool(each) for each in _list(station, f"QC of {sensor}", flags, count)]
        found[raised] = np.nan
    return found


def _list(station: Station, name: str, values: Any, count: int) -> list[Any]:
    if not isinstance(values, list):
        raise station.refuse(f"{name} is no list but {_shown(values)}")
    if len(values) != count:
        raise station.refuse(f"{name} has {len(values)} values, date_time has {count}")
    return values


def _float(value: Any) -> float:
    """A number, also one that is written as text; nothing is missing, true is no number."""
    if isinstance(value, bool):
        raise TypeError
    return np.nan if value is None or value == "" else float(value)


def _is_number(value: Any) -> bool:
    try:
        return isinstance(_float(value), float)
    except (TypeError, ValueError, OverflowError):
        return False


def _number(station: Station, key: str) -> float:
    """A number of the station itself; missing where there is none."""
    value = station.entry.get(key)
    if not _is_number(value) or np.isinf(_float(value)):
        raise station.refuse(f"{key}: expected a number, got {_shown(value)}")
    return _float(value)


def _unit(station: Station, sensor: str) -> str:
    """The unit of a sensor, as the UNITS of the station or the file say."""
    variable = sensor.partition("_set_")[0]
    unit = station.units.get(variable)
    if not isinstance(unit, str) or not unit.strip():
        raise station.refuse(f"UNITS does not say the unit of {plain(variable, 60)}")
    if (variable, unit.strip().lower()) == WATER:
        return "%"
    return SPELLING.get(unit.strip().lower(), unit)


def _length(station: Station, value: float, what: str, usual: str) -> float:
    """A height in metres; UNITS says its unit, which else is the service's usual one."""
    unit = station.units.get(what) or usual
    try:
        return float(convert(value, SPELLING.get(str(unit).strip().lower(), str(unit)), "m"))
    except UnknownUnit as error:
        raise station.refuse(f"UNITS of {what}: {error}") from None


def _height(station: Station, sensor: str) -> float:
    """The sensor's height above ground in metres; unknown where the station does not say."""
    for group in station.mapping("SENSOR_VARIABLES").values():
        said = group.get(sensor) if isinstance(group, Mapping) else None
        position = said.get("position") if isinstance(said, Mapping) else None
        if position is not None and position != "":
            if not _is_number(position):
                raise station.refuse(f"position of {sensor}: expected a height, got {_shown(position)}")
            height = _length(station, _float(position), "position", "m")
            return height if 0 < height < np.inf else np.nan
    return np.nan


def _times(series: list[Series], zone: str | None) -> pd.Series:
    """UTC; every time has a zone of its own, or is one of the case's."""
    written = [time for each in series for time in each.written]
    ends = np.cumsum([len(each.written) for each in series])
    # Stations report at the same times: each is read once.
    code, unique = pd.factorize(np.array([each if isinstance(each, str) else "" for each in written], dtype=object))
    text = pd.Series(unique, dtype=object).str.strip()
    parsed = pd.to_datetime(text.where(text.str.match(r"\d{4}-")), utc=True, errors="coerce", format="ISO8601")
    parsed, bare = (each.iloc[code].reset_index(drop=True) for each in (parsed, without_zone(text)))

    def refuse(wrong: Any, expected: str) -> None:
        if np.any(wrong):
            place = int(np.argmax(wrong))
            which = int(np.searchsorted(ends, place, side="right"))
            number = place - int(ends[which]) + len(series[which].written)
            raise series[which].station.refuse(f"date_time[{number}]: got {_shown(written[place])}; {expected}")

    refuse(parsed.isna(), "expected a time such as 2021-08-18T04:00:00Z")
    refuse(~parsed.between(FIRST, LAST), "expected a time between 1900 and 2200")
    if zone is None:
        refuse(bare, "expected a time with its zone, such as 2021-08-18T04:00:00Z; or say `zone:`")
    elif bare.any():
        local = in_zone(parsed.dt.tz_localize(None).where(bare), zone, refuse)
        parsed = local.where(bare, parsed)
    return parsed.dt.as_unit("ns").dt.floor("s")


def _shown(value: Any) -> str:
    return plain(repr(value), 80)
