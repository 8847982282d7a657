"""Reports of stations in NetCDF: CF's discrete sampling geometries, and what files without them do.

Values lie along one or two dimensions, the samples; time, place and name of each sample are found whichever of these
they lie along:

stations and times      values (station, time) with time (time), or with time (station, time) where stations have times
                        of their own; no time is no report
ragged arrays           values (sample); a variable with `sample_dimension` counts the samples of each station, or one
                        with `instance_dimension` says the station of each sample
one station, reports    values (time) and a place without a dimension, or a place for every report

Variables are found by standard name, else by usual name; where several usual names are there the first of `USUAL` is
taken and it is said: of wind speeds the arithmetic mean (what an anemometer counts) goes before the vector mean, beside
the direction of the vector mean. `names:` in the case goes before all. Bits of quality (`qc_*` of ARM, and CF's flags)
that are assessed as bad leave a value out; doubtful ones do not. Names and times may be characters, strings or numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from configs.source import plain
from configs.units import convert, hours, split_quantity
from metrics.errors import BadInput, FirecardError, UnknownUnit
from metrics.variables import Variable
from tasks.matching.quality import CODES
from tasks.matching.wind import speed_and_direction
from tasks.readers.cf import SPELLINGS, TO_EARTH, of_stations
from tasks.readers.coordinates import Coordinates
from tasks.readers.formats import Head, StationWishes
from tasks.readers.grids import PARTS, Floats, decoded_times, named, unit_of
from tasks.readers.hdf import Array, File, opened
from tasks.readers.notes import NOTES, Notes
from tasks.readers.tables import FIRST, LAST

PLACE = ("station", "time", "lat", "lon", "elevation")
USUAL: Mapping[str, tuple[str, ...]] = {
    "wind_speed": (
        *("wind_speed", "windspeed", "wind_spd", "wspd", "spd", "ws", "ff", "sknt", "wspd_arith_mean"),
        *("wind_speed_arith_mean", "wind_speed_mean", "wspd_mean", "ws_mean", "wspd_vec_mean", "wind_speed_vec_mean"),
    ),
    "wind_direction": (
        *("wind_direction", "wind_from_direction", "winddir", "wind_dir", "wdir", "dir", "wd", "dd", "drct"),
        *("wdir_vec_mean", "wind_direction_vec_mean", "wind_direction_mean", "wdir_mean", "wd_mean"),
    ),
    "wind_gust": ("wind_gust", "windgust", "wind_speed_of_gust", "gust", "wgust", "wspd_max", "wind_speed_max"),
    "temperature": ("temperature", "air_temperature", "air_temp", "temp", "tair", "t", "ta", "temp_mean", "tmpc"),
    "dew_point": ("dew_point", "dewpoint", "dew_point_temperature", "dew_point_mean", "dewpt", "td", "dwpc"),
    "relative_humidity": ("relative_humidity", "relhumidity", "relhum", "rh", "relh", "rh_mean"),
    "fuel_moisture": ("fuel_moisture", "fm"),
    "station": (
        *(
            "station_id",
            "stationid",
            "station",
            "stnid",
            "stid",
            "id",
            "wmo_id",
            "wmoid",
            "station_name",
            "stationname",
        ),
        *("platform_id", "platform", "site_id", "site", "name"),
    ),
    "time": ("time", "time_observation", "timeobs", "observation_time", "time_offset"),
    "lat": ("lat", "latitude", "station_latitude"),
    "lon": ("lon", "longitude", "station_longitude"),
    "elevation": ("elevation", "elev", "alt", "altitude", "station_elevation", "station_altitude"),
}
STANDARD = {
    **{name: each.standard for name, each in SPELLINGS.items()},
    "station": ("platform_id", "platform_name", "station_wmo_id"),
    "time": ("time",),
    "lat": ("latitude",),
    "lon": ("longitude",),
    "elevation": ("altitude", "surface_altitude"),
}
WORDS_OF_BAD = ("bad", "fail", "missing", "error", "wrong", "invalid")
WRITTEN = re.compile(
    r"(\d{4})[-/ ]?(\d\d)[-/ ]?(\d\d)[T_ ]?(\d\d):?(\d\d)(?::?(\d\d)(?:\.\d+)?)?\s*(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
)
MOST = 20_000_000  # reports of one file that are taken at once
BAD_BITS = "values left out by their quality bits"
NO_TIME = "values without a time"


def recognises(head: Head) -> bool:
    """Places without a grid, or a name for each of the places."""
    if not head.netcdf:
        return False
    with head.opened() as file:
        return of_stations(file) or _names_its_places(file)


def _names_its_places(file: File) -> bool:
    kinds = Coordinates(file).kinds
    places = {file.dims(name) for name, kind in kinds.items() if kind in ("latitude", "longitude")}
    named_along = {
        file.dims(name)[:1] for name in file.names if name.lower() in USUAL["station"] and file.is_text(name)
    }
    return len(places) == 1 and len(next(iter(places))) == 1 and places <= named_along


def read_reports(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a sample that has a time: station, time, place, what is known of the sensor, and the variables."""
    with opened(path) as file:
        return Reading(file, wishes).frame()


@dataclass(frozen=True, eq=False)
class Samples:
    """The dimensions that reports lie along; of a ragged array also the station of each sample."""

    file: File
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    stations: str = ""
    station_of: Array | None = None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def fit(self, name: str) -> bool:
        """Does a variable lie along the samples, or along some of their dimensions, and is it as long as they are?"""
        dims = _dims(self.file, name)
        if self.station_of is not None and [each for each, _ in dims] == [self.stations]:
            return dims[0][1] > int(self.station_of.max(initial=-1))
        sizes = dict(zip(self.dims, self.shape, strict=True))
        return len(dict(dims)) == len(dims) and all(size == sizes.get(each, 1) for each, size in dims)

    def spread(self, name: str, values: Array) -> Array:
        """A value for every sample, of a variable that fits."""
        dims = [each for each, size in zip(self.file.dims(name), values.shape, strict=False) if size != 1]
        if self.station_of is not None and self.file.dims(name)[: values.ndim] == (self.stations,):
            return np.asarray(values.reshape(-1)[self.station_of])
        squeezed = values.reshape([size for size in values.shape if size != 1])
        ordered = squeezed.transpose(sorted(range(len(dims)), key=lambda axis: self.dims.index(dims[axis])))
        full = [size if each in dims else 1 for each, size in zip(self.dims, self.shape, strict=True)]
        return np.broadcast_to(ordered.reshape(full), self.shape).reshape(-1)


def _dims(file: File, name: str) -> list[tuple[str, int]]:
    """The dimensions of a variable with its length along them; the length of a text is none of them."""
    dims = list(zip(file.dims(name), file.shape(name), strict=True))
    return dims[:-1] if file.of_characters(name) else dims


@dataclass
class Reading:
    """One file on its way to a frame, and what is to be told of it."""

    file: File
    wishes: StationWishes
    counts: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)

    def frame(self) -> pd.DataFrame:
        self._refuse_unknown_names()
        times = self._times()
        there = ~np.isnat(times)
        if not there.any():
            raise BadInput(f"{self.file.path}: there is no report in it: no sample has a time")
        place = {name: self._place(name) for name in ("lat", "lon", "elevation")}
        values = self._values()
        frame = pd.DataFrame({"station": self._stations(place)[there]})
        frame["time"] = pd.DatetimeIndex(times[there]).tz_localize("UTC").as_unit("ns")
        for name, each in {**place, **self._sensor(), **values}.items():
            if each is not None:
                frame[name] = each[there] if isinstance(each, np.ndarray) else each
        frame["variable_direction"] = False
        self._refuse_nameless(frame["station"])
        self.counts[NO_TIME] = sum(int(np.isfinite(each[~there]).sum()) for each in values.values())
        counts = {what: self.counts[what] for what in (BAD_BITS, NO_TIME) if self.counts[what]}
        frame.attrs[NOTES] = Notes(counts, sentences=tuple(self.said))
        return frame

    def _refuse_unknown_names(self) -> None:
        known = dict.fromkeys((*PLACE, "u", "v", *self.wishes.variables))
        for each in named(self.file, self.wishes.names):
            if each not in known:
                raise BadInput(f"{self.file.path}: `names:` of the case has {each!r}; known: {', '.join(known)}")

    # --- which variable is meant --------------------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        return Coordinates(self.file).kinds

    @cached_property
    def chosen(self) -> dict[str, str]:
        """The file's variables by firecard's names; what cannot be used is said."""
        found: dict[str, str] = {}
        reasons: list[FirecardError] = []
        for variable in dict.fromkeys((*self.wishes.variables, "u", "v")):
            try:
                name = self._chosen(variable)
                if name:
                    unit_of(self.file, name, self._kept(variable))
                    found[variable] = name
            except FirecardError as error:
                if variable in self.wishes.names:
                    raise
                reasons.append(error)
                self.said.append(f"{variable} is left out: {_without_path(error, self.file.path)}")
        if not found:
            told = "".join(f"; {_without_path(each, self.file.path)}" for each in reasons)
            listed = plain(", ".join(self.file.names), 200)
            raise BadInput(
                f"{self.file.path}: there is no variable that is known here, of {listed}; `names:` in the"
                f" case can say which is which{told}"
            )
        return found

    def _kept(self, variable: str) -> Variable:
        return self.wishes.variables.get(variable) or PARTS[variable]

    def _chosen(self, variable: str) -> str:
        """The variable that is meant; empty where there is none."""
        if variable in self.wishes.names:
            return self.wishes.names[variable]
        ranked = sorted((self._rank(variable, name), name) for name in self.file.names if self._may_be(variable, name))
        if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
            one, other = ranked[0][1], ranked[1][1]
            raise BadInput(f"{self.file.path}: {one} and {other} could both be {variable}; `names:` can say which")
        if len(ranked) > 1:
            others = ", ".join(name for _, name in ranked[1:])
            self.said.append(
                f"{variable} is {ranked[0][1]} ({others}, which is there, too, can be chosen with `names:`)"
            )
        return ranked[0][1] if ranked else ""

    def _may_be(self, variable: str, name: str) -> bool:
        if name in self.kinds or self.file.is_text(name):
            return False
        standard, methods = self.file.text(name, "standard_name"), self.file.text(name, "cell_methods")
        highest, lowest = "maximum" in methods, "minimum" in methods
        if variable == "wind_gust" and highest and standard == "wind_speed":
            return True
        if variable in ("u", "v"):
            return standard in TO_EARTH and standard in STANDARD[variable]
        if (highest and variable != "wind_gust") or lowest:
            return False  # the highest temperature of a day is not the temperature
        return standard in STANDARD.get(variable, ()) if standard else self._usual(variable, name) is not None

    def _usual(self, variable: str, name: str) -> int | None:
        """How usual a name is, the most usual first; None where it is not."""
        usual = USUAL.get(variable, (variable,))
        if name.lower() in usual:
            return usual.index(name.lower())
        return -1 if variable in SPELLINGS and name in SPELLINGS[variable].usual else None

    def _rank(self, variable: str, name: str) -> tuple[int, float, float]:
        """Standard names first, at the height that is usual; then usual names, in their order."""
        if not self.file.text(name, "standard_name"):
            usual = self._usual(variable, name)
            return 1, 0.0 if usual is None else float(usual), 0.0
        height, wanted = self._height(name), SPELLINGS[variable].height if variable in SPELLINGS else 0.0
        return 0, 0.0 if height is not None else 1.0, abs((height or 0.0) - wanted)

    # --- where the samples lie ----------------------------------------------------------------------------------------

    @cached_property
    def samples(self) -> Samples:
        main = next(iter(self.chosen.values()))
        lengths = _dims(self.file, main)
        if len(lengths) > 1:
            lengths = [(each, size) for each, size in lengths if size != 1]
        dims, shape = tuple(each for each, _ in lengths), tuple(size for _, size in lengths)
        if len(dims) > 2 or len(set(dims)) < len(dims):
            raise BadInput(f"{self.file.path}: {main} lies along {', '.join(dims)}; reports lie along one or two")
        if int(np.prod(shape, dtype=np.int64)) > MOST:
            raise BadInput(f"{self.file.path}: {main} has more than {MOST:,} reports; split the file by time")
        if 0 in shape:
            raise BadInput(f"{self.file.path}: there is no report in it: {main} has none")
        return Samples(self.file, dims, shape, *self._ragged(dims, shape))

    def _ragged(self, dims: tuple[str, ...], shape: tuple[int, ...]) -> tuple[str, Array | None]:
        """The dimension of the stations and the station of each sample, if the array is ragged."""
        if len(dims) != 1:
            return "", None
        for name in self.file.names:
            if self.file.dims(name) == dims and dims[0] in self._pointed(name):
                raise BadInput(f"{self.file.path}: {name} relates samples along {dims[0]} to themselves")
            if self.file.text(name, "sample_dimension") == dims[0] and len(self.file.dims(name)) == 1:
                counts = self._whole(name)
                if (counts < 0).any() or counts.sum() != shape[0]:
                    raise BadInput(
                        f"{self.file.path}: {name} does not add up to the {shape[0]} samples along {dims[0]}"
                    )
                return self.file.dims(name)[0], np.repeat(np.arange(counts.size), counts)
            stations = self.file.text(name, "instance_dimension")
            if stations and self.file.dims(name) == dims:
                numbers = self._whole(name)
                if (numbers < 0).any() or (numbers >= self._length(stations, name)).any():
                    raise BadInput(f"{self.file.path}: {name} points at stations that are not along {stations}")
                return stations, numbers
        return "", None

    def _pointed(self, name: str) -> set[str]:
        return {self.file.text(name, each) for each in ("sample_dimension", "instance_dimension")}

    def _whole(self, name: str) -> Array:
        values = self.file.values(name)
        if not np.isfinite(values).all() or (values != np.floor(values)).any() or (abs(values) > 2**40).any():
            raise BadInput(f"{self.file.path}: {name} has gaps, expected a whole number everywhere")
        return values.astype(np.int64)

    def _length(self, dim: str, name: str) -> int:
        for each in self.file.names:
            if dim in self.file.dims(each):
                return self.file.shape(each)[self.file.dims(each).index(dim)]
        raise BadInput(f"{self.file.path}: {name} points at stations along {dim}, which is not there")

    # --- what stands there --------------------------------------------------------------------------------------------

    def _values(self) -> dict[str, Floats]:
        values: dict[str, Floats] = {}
        for variable, name in self.chosen.items():
            if self.samples.fit(name):
                values[variable] = self._measured(name, self._kept(variable))
            elif variable in self.wishes.names:
                raise BadInput(f"{self.file.path}: {name} {self._lies_elsewhere(name)}")
            else:
                self.said.append(f"{variable} is left out: {name} {self._lies_elsewhere(name)}")
        u, v = values.pop("u", None), values.pop("v", None)
        if u is not None and v is not None and "wind_speed" not in values:
            values["wind_speed"], values["wind_direction"] = speed_and_direction(u, v)
            values["wind_direction"] = np.where(values["wind_speed"] == 0, 0.0, values["wind_direction"])
        return values

    def _lies_elsewhere(self, name: str) -> str:
        main = next(iter(self.chosen.values()))
        return f"lies along {', '.join(self.file.dims(name)) or 'nothing'}, not along the dimensions of {main}"

    def _measured(self, name: str, variable: Variable) -> Floats:
        """The values in the unit that is kept, without bad ones; an undeclared missing code stays what it is."""
        stored = self.file.values(name)
        bad = self._bad(name, stored)
        self.counts[BAD_BITS] += int((bad & np.isfinite(stored)).sum())
        stored = np.where(bad, np.nan, stored)
        kept = np.asarray(convert(stored, unit_of(self.file, name, variable), variable.unit), dtype=float)
        possible = (kept >= variable.lowest) & (kept <= variable.highest)
        kept = np.where(possible | ~np.isin(stored, CODES), kept, stored)
        return self.samples.spread(name, kept)

    def _bad(self, name: str, stored: Floats) -> Array:
        """Where the flags that belong to a variable say that it is bad."""
        bad = np.zeros(stored.shape, dtype=bool)
        listed = self.file.text(name, "ancillary_variables").split()
        for flag in dict.fromkeys((*listed, f"qc_{name}", f"{name}_qc")):
            if flag not in self.file or self.file.is_text(flag):
                continue
            if self.file.shape(flag) != stored.shape:
                self.said.append(f"{flag} does not lie along the dimensions of {name} and is not used")
                continue
            numbers = np.nan_to_num(self.file.values(flag)).clip(-(2.0**53), 2.0**53).astype(np.int64)
            bad |= self._judged(flag, numbers)
        return bad

    def _judged(self, flag: str, numbers: Array) -> Array:
        """Where a flag says bad: by what its bits are assessed as, else by what its values or bits mean."""
        masks, values = (np.ravel(self._numbers(flag, each)) for each in ("flag_masks", "flag_values"))
        assessed = self.file.text(flag, "flag_assessments").lower().split()
        meant = assessed or self.file.text(flag, "flag_meanings").lower().split()
        wrong = np.array([any(bad in word for bad in WORDS_OF_BAD) for word in meant], dtype=bool)
        bits = {
            bit: (
                self.file.text(flag, f"bit_{bit}_assessment") or self.file.text(None, f"qc_bit_{bit}_assessment")
            ).lower()
            for bit in range(1, 33)
        }
        bad: Array = np.zeros(numbers.shape, dtype=bool)
        if any(bits.values()) and not assessed:
            bad = (numbers & sum(1 << (bit - 1) for bit, said in bits.items() if said == "bad")) != 0
        elif masks.size and masks.size == wrong.size:
            bad = (numbers & int(np.bitwise_or.reduce(masks[wrong], initial=0))) != 0
        elif values.size and values.size == wrong.size:
            bad = np.isin(numbers, values[wrong])
        elif flag.startswith("qc_"):
            self.said.append(f"{flag} does not say which of its bits are bad; all are taken so")
            bad = numbers != 0
        return bad

    def _numbers(self, name: str, key: str) -> Array:
        value = self.file.attribute(name, key)
        numeric = isinstance(value, (int, float, np.ndarray)) and np.asarray(value).dtype.kind in "iu"
        return np.asarray(value if numeric else [], dtype=np.int64)

    # --- when, where, who ---------------------------------------------------------------------------------------------

    def _coordinate(self, what: str, kind: str = "") -> str:
        """The variable of a place or time that fits the samples; empty where there is none."""
        if what in self.wishes.names:
            name = self.wishes.names[what]
            if not self.samples.fit(name):
                raise BadInput(f"{self.file.path}: {name} {self._lies_elsewhere(name)}")
            return name
        role = "timeseries_id" if what == "station" else ""

        def rank(name: str) -> tuple[bool, int, bool, int]:
            standard, usual = self.file.text(name, "standard_name"), self._usual(what, name)
            by_role = bool(role) and self.file.text(name, "cf_role") == role
            along = -sum(size != 1 for _, size in _dims(self.file, name))
            return not by_role, along, standard not in STANDARD[what], 99 if usual is None else usual

        def may_be(name: str) -> bool:
            said = self.file.text(name, "cf_role") == role if role else False
            by_kind = self.kinds.get(name) == kind if kind else self.file.text(name, "standard_name") in STANDARD[what]
            usual = self._usual(what, name) is not None and (not kind or (what == "time" and self.file.is_text(name)))
            return said or by_kind or usual

        names = [name for name in self.file.names if may_be(name) and self.samples.fit(name)]
        return min(names, key=rank, default="")

    def _times(self) -> Array:
        """The time (UTC) of every sample; NaT where it has none."""
        name = self._coordinate("time", "time")
        if not name:
            main = next(iter(self.chosen.values()))
            raise BadInput(
                f"{self.file.path}: {main} has no times along its dimensions {', '.join(self.samples.dims)}; expected a"
                " variable with units such as 'seconds since 1970-01-01', or times in words"
            )
        if self.file.is_text(name):
            written = self.file.texts(name)
            times = self._written_times(name, written.ravel()).reshape(written.shape)
        elif " since " not in self.file.text(name, "units").lower():
            raise BadInput(f"{self.file.path}: {name} is no time: expected units such as 'seconds since 1970-01-01'")
        else:
            times = decoded_times(self.file, name).reshape(self.file.shape(name))
        beyond = (times < FIRST.to_datetime64()) | (times > LAST.to_datetime64())
        if beyond.any():
            raise BadInput(f"{self.file.path}: {name} has the time {times[beyond][0]}, expected one of 1900 to 2200")
        return self.samples.spread(name, times)

    def _written_times(self, name: str, texts: Array) -> Array:
        known = {text: self._written(name, text) for text in set(texts.tolist())}
        return np.array([known[text] for text in texts.tolist()], dtype="datetime64[ns]")

    def _written(self, name: str, text: str) -> np.datetime64:
        """A time in words as UTC; NaT where there is nothing."""
        if not text:
            return np.datetime64("NaT")
        found = WRITTEN.fullmatch(text)
        try:
            numbers = [int(each or 0) for each in found.groups()[:6]] if found else []
            time = pd.Timestamp(*numbers) if found else pd.NaT
        except ValueError:
            time = pd.NaT
        if found is None or pd.isna(time) or not FIRST.year <= time.year < LAST.year:
            raise BadInput(
                f"{self.file.path}: {name} says {plain(repr(text), 60)}, expected a time such as 2026-11-17T06:00Z"
            )
        zone = found[7]
        if zone is None:
            return self._from_zone(name, text, time)
        offset = pd.Timedelta(0)
        if zone[0] in "+-":
            digits = zone[1:].replace(":", "").ljust(4, "0")
            offset = pd.Timedelta(hours=int(digits[:2]), minutes=int(digits[2:])) * (-1 if zone[0] == "-" else 1)
        return np.datetime64((time - offset).to_datetime64(), "ns")

    def _from_zone(self, name: str, text: str, time: pd.Timestamp) -> np.datetime64:
        if self.wishes.zone is None:
            raise BadInput(f"{self.file.path}: {name} says {text!r}, which has no time zone; say `zone:` in the case")
        try:
            zone = ZoneInfo(self.wishes.zone)
        except (KeyError, ValueError, OSError):
            raise BadInput(f"{self.file.path}: there is no time zone {self.wishes.zone!r}") from None
        local = time.tz_localize(zone, ambiguous="NaT", nonexistent="NaT")
        if pd.isna(local):
            raise BadInput(
                f"{self.file.path}: {name} says {text!r}, when clocks change in {self.wishes.zone}: it is no one time"
            )
        return np.datetime64(local.tz_convert("UTC").tz_localize(None).to_datetime64(), "ns")

    def _place(self, what: str) -> Floats | None:
        """Degrees north or east, or metres above the sea; None where the file does not say."""
        name = self._coordinate(what, {"lat": "latitude", "lon": "longitude"}.get(what, ""))
        if not name or self.file.is_text(name):
            return None
        values = self.file.values(name)
        unit = self.file.text(name, "units")
        if what == "elevation":
            try:
                values = np.asarray(convert(values, unit or "m", "m"), dtype=float)
            except UnknownUnit as error:
                raise BadInput(f"{self.file.path}: {name}: {error}") from None
        elif unit.lower().startswith("rad"):
            values = np.degrees(values)
        return self.samples.spread(name, values)

    def _stations(self, place: Mapping[str, Floats | None]) -> Array:
        """The name of every sample's station."""
        name = self._coordinate("station")
        if name:
            return self.samples.spread(name, self._names(name))
        said = [self.file.text(None, each) for each in ("station_id", "station", "station_name", "platform", "wmo_id")]
        arm = " ".join(filter(None, (self.file.text(None, each) for each in ("site_id", "facility_id"))))
        one = next(filter(None, [*said, arm]), "")
        lat, lon = place["lat"], place["lon"]
        if lat is None or lon is None:
            if one:
                return np.full(self.samples.size, one, dtype=object)
            raise BadInput(
                f"{self.file.path}: nothing in it names the stations; expected a variable such as station_id, or one"
                " with cf_role timeseries_id"
            )
        if one and len(np.unique(np.stack([lat, lon]), axis=1).T) == 1:
            return np.full(self.samples.size, one, dtype=object)
        self.said.append("stations have no names in the file and are called by their places")
        return np.array([_spoken(*each) for each in zip(lat.tolist(), lon.tolist(), strict=True)], dtype=object)

    def _names(self, name: str) -> Array:
        if self.file.is_text(name):
            return self.file.texts(name)
        values = self.file.values(name)
        told = [
            "" if np.isnan(each) else f"{each:.0f}" if each == np.floor(each) else repr(each)
            for each in values.ravel().tolist()
        ]
        return np.array(told, dtype=object).reshape(values.shape)

    def _refuse_nameless(self, stations: pd.Series) -> None:
        nameless = np.flatnonzero(stations == "")
        if nameless.size:
            raise BadInput(f"{self.file.path}: report {nameless[0] + 1} has no station ({nameless.size} such reports)")

    # --- the sensor ---------------------------------------------------------------------------------------------------

    def _sensor(self) -> dict[str, float | None]:
        """Height of the wind sensor (m) and averaging time (min), where the file says them."""
        wind = next((self.chosen[each] for each in ("wind_speed", "u", "wind_gust") if each in self.chosen), "")
        if not wind:
            return {}
        return {"height": self._height(wind), "averaging": self._averaging(wind)}

    def _height(self, name: str) -> float | None:
        said = self.file.attribute(name, "sensor_height")
        if isinstance(said, str | int | float):
            try:
                number, unit = split_quantity(said)
                return float(convert(number, unit or "m", "m"))
            except UnknownUnit:
                self.said.append(f"sensor_height of {name} is not understood: {plain(repr(said), 40)}")
        listed = (*self.file.text(name, "coordinates").split(), *self.file.dims(name))
        for each in (each for each in listed if self.kinds.get(each) == "height"):
            if np.prod(self.file.shape(each), dtype=np.int64) == 1:
                metres = float(np.ravel(convert(self.file.values(each), self.file.text(each, "units"), "m"))[0])
                return metres if np.isfinite(metres) else None
        return next((each.usual[name] for each in SPELLINGS.values() if name in each.usual), None)

    def _averaging(self, name: str) -> float | None:
        said = self.file.text(name, "averaging_interval") or self.file.text(None, "averaging_interval")
        try:
            return hours(said) * 60 if said else None
        except UnknownUnit:
            return None


def _spoken(latitude: float, longitude: float) -> str:
    """A place in words.

    >>> _spoken(36.605, -97.485)
    '36.6050N 97.4850W'
    """
    if np.isnan(latitude) or np.isnan(longitude):
        return ""
    north, east = "N" if latitude >= 0 else "S", "E" if longitude >= 0 else "W"
    return f"{abs(latitude):.4f}{north} {abs(longitude):.4f}{east}"


def _without_path(error: FirecardError, path: Path) -> str:
    return str(error).removeprefix(f"{path}: ")
