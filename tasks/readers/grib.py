"""GRIB 1 and 2 through cfgrib and ecCodes (the extra `grib`), as variables with CF attributes like any other file.

A variable is what its messages have in common: parameter, level, statistic and grid; its times and cycles are those of
the messages, in order. The headers are read once through cfgrib's index, in memory only: nothing is written beside the
data. Values are unpacked message by message, when they are asked for.

A process that loads ecCodes before pyproj dies at its first map; the other way round is fine. So pyproj comes first
here. Every call is made under the one `LOCK` of all readers: support for several fields in a message is a switch of the
whole process.
"""

import math
import os
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from metrics.errors import BadInput
from tasks.readers.hdf import LARGEST, Array, File, Index, Look, explained

Place: TypeAlias = int | tuple[int, int]
"""Where a message begins, and which field of it, where it has several."""

KEYS = (
    "edition",
    "shortName",
    "cfVarName",
    "name",
    "paramId",
    "units",
    "typeOfLevel",
    "level",
    "stepType",
    "stepRange",
    "number",
    "gridType",
    "md5GridSection",
    "uvRelativeToGrid",
    "time",
    "valid_time",
)
COMMON = ("cfVarName", "shortName", "paramId", "typeOfLevel", "level", "stepType", "number", "md5GridSection")
MISSING = float(np.finfo(np.float32).max)  # what cfgrib puts where a message has no value
ABOVE_GROUND = "heightAboveGround"

EASTWARD = {"u", "10u", "100u", "200u"}
NORTHWARD = {"v", "10v", "100v", "200v"}
STANDARD = {
    **dict.fromkeys(("ws", "10si", "100si", "200si"), "wind_speed"),
    **dict.fromkeys(("wdir", "10wdir", "100wdir"), "wind_from_direction"),
    **dict.fromkeys(("gust", "10fg", "i10fg", "10fg3", "10fg6", "fg", "max_i10fg"), "wind_speed_of_gust"),
    **dict.fromkeys(("t", "2t"), "air_temperature"),
    **dict.fromkeys(("dpt", "2d"), "dew_point_temperature"),
    **dict.fromkeys(("r", "2r"), "relative_humidity"),
}
METHODS = {"max": "maximum", "min": "minimum", "avg": "mean", "accum": "sum", "instant": "point"}
EARTH = ("radius", "earthMajorAxisInMetres", "earthMinorAxisInMetres")
GRAVITY = 9.80665  # m/s²: geopotential to height


@dataclass(frozen=True, slots=True)
class Variable:
    """The messages of one variable in the order of their cycles and times, with what their headers say."""

    header: Mapping[str, Any]
    cycles: tuple[int, ...]
    times: tuple[int, ...]
    places: tuple[Place, ...]
    lengths: tuple[int, ...]

    @property
    def clock(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.cycles, self.times


@dataclass(frozen=True, slots=True, eq=False)
class Coordinate:
    """A coordinate: its dimensions, values and attributes."""

    dims: tuple[str, ...]
    values: Array
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """What the headers of a file say."""

    edition: int
    variables: Mapping[str, Variable]
    coordinates: Mapping[str, Coordinate]
    dims: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, Mapping[str, Any]]


_known: OrderedDict[tuple[str, Look], Contents] = OrderedDict()
KEPT = 64  # files whose headers stay in memory: a file is described and then read


def _library() -> Any:
    """cfgrib, after pyproj."""
    import pyproj

    pyproj.CRS.from_epsg(4326)
    try:
        import cfgrib
    except (ImportError, RuntimeError, OSError) as error:  # the last two: ecCodes itself is not to be had
        raise BadInput(f"reading GRIB needs the extra `grib`: pip install 'firecard[grib]' ({error})") from error
    return cfgrib


class Grib(File):
    """A GRIB file."""

    def __init__(self, path: Path, state: Look, *, known: bool = False) -> None:
        super().__init__(path, state, known=known)
        try:
            self._cfgrib = _library()
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from error
        key = (str(path), state)
        if key not in _known:
            _known[key] = _contents(self._cfgrib, path, state)
            while len(_known) > KEPT:
                _known.popitem(last=False)
        self._contents = _known[key]
        self._stream = path.open("rb")

    @property
    def container(self) -> str:  # type: ignore[override]
        """The edition."""
        return f"GRIB{self._contents.edition}"

    def close(self) -> None:
        self._stream.close()

    def examine(self) -> None:
        """Nothing in a GRIB file can point at another; its end was looked at with its headers."""

    @property
    def names(self) -> tuple[str, ...]:
        return (*self._contents.variables, *self._contents.coordinates)

    def _stored(self, name: str) -> Coordinate | Variable:
        found = self._contents.variables.get(name) or self._contents.coordinates.get(name)
        if found is None:
            raise BadInput(f"{self.path}: there is no variable {name}")
        return found

    def dims(self, name: str) -> tuple[str, ...]:
        found = self._stored(name)
        return found.dims if isinstance(found, Coordinate) else self._contents.dims[name]

    def shape(self, name: str) -> tuple[int, ...]:
        found = self._stored(name)
        if isinstance(found, Coordinate):
            return found.values.shape
        return len(found.times), *found.lengths

    def attributes(self, name: str | None = None) -> Mapping[str, Any]:
        if name is None:
            return {}
        found = self._stored(name)
        return found.attributes if isinstance(found, Coordinate) else self._contents.attributes[name]

    def attribute(self, name: str | None, key: str) -> Any:
        return self.attributes(name).get(key)

    def together(self, name: str) -> int:
        return 1

    def _type(self, name: str) -> np.dtype[Any]:
        found = self._stored(name)
        return found.values.dtype if isinstance(found, Coordinate) else np.dtype(np.float64)

    def _read(self, name: str, index: tuple[Index, ...]) -> Array:
        found = self._stored(name)
        if isinstance(found, Coordinate):
            return np.asarray(found.values[index])
        first, rest = index[0], index[1:]
        if not isinstance(first, slice):
            return self._field(found, found.places[first])[rest]
        steps = range(*first.indices(len(found.places)))
        return np.stack([self._field(found, found.places[step])[rest] for step in steps])

    def _field(self, variable: Variable, place: Place) -> Array:
        """The values of one message."""
        message = self._cfgrib.messages.Message.from_file(self._stream, place, errors="raise")
        counted = message.message_get("numberOfValues", default=0), message.message_get("numberOfDataPoints", default=0)
        if max(counted) > math.prod(variable.lengths):
            raise BadInput(f"{self.path}: a message claims {max(counted)} values on a grid of {variable.lengths}")
        values = np.asarray(message["values"], dtype=np.float64)
        if values.size != math.prod(variable.lengths):
            raise BadInput(f"{self.path}: a message has {values.size} values on a grid of {variable.lengths}")
        return values.reshape(variable.lengths)


def _contents(cfgrib: Any, path: Path, state: Look) -> Contents:
    with explained(path):
        _walk(path, state.size)
        stream = cfgrib.messages.FileStream(os.fspath(path), errors="raise")
        try:
            index = cfgrib.messages.FieldsetIndex.from_fieldset(stream, KEYS, cfgrib.cfmessage.COMPUTED_KEYS)
        except EOFError as error:
            raise BadInput(f"{path}: there is no whole GRIB message in it; it was cut off, or is damaged") from error
        headers = [(dict(zip(KEYS, values, strict=True)), places) for values, places in index.field_ids_index]
        return _arranged(path, stream, headers)


def _walk(path: Path, size: int) -> None:
    """Refuse a file whose messages do not lead from one to the next up to its end; ecCodes would leave them out."""
    with path.open("rb") as stream:
        place = 0
        while place < size:
            stream.seek(place)
            ahead = stream.read(GAP)
            found = ahead.find(b"GRIB")
            if found < 0:
                if ahead.strip(FILLING) or len(ahead) == GAP:
                    raise BadInput(f"{path}: no message begins at byte {place}; it was cut off, or is damaged")
                return
            place += found
            head = ahead[found : found + 16] if found + 16 <= len(ahead) else ahead[found:]
            length = _length(head)
            if head[7:8] == b"\1" and length >= LARGE:
                return  # its length stands elsewhere; ecCodes knows
            if place + length > size or len(head) < 16:
                raise BadInput(f"{path}: ends early; it was cut off, or is still being written")
            stream.seek(place + length - 4)
            whole = stream.read(4) == b"7777"
            if head[7] == 2:
                whole = whole and _sections_fit(stream, place + 16, place + length - 4)
            else:
                stream.seek(place + 25)
                whole = whole and stream.read(1)[0] in UNITS_OF_TIME
            if not whole:
                raise BadInput(f"{path}: the message at byte {place} is damaged")
            place += length


UNITS_OF_TIME = (*range(8), *range(10, 15), 254)  # of the first edition; ecCodes takes others for 0 and divides by it
GAP = 65536  # bytes that may lie between messages: headings of bulletins, and filling
LARGE = 0x800000  # where a message of the first edition has no room for its length
FILLING = b"\0 \r\n\x01\x03"


def _length(head: bytes) -> int:
    """Bytes of a message, of both editions."""
    if head[7:8] == b"\2":
        return int.from_bytes(head[8:16], "big")
    return int.from_bytes(head[4:7], "big")


def _sections_fit(stream: BinaryIO, place: int, end: int) -> bool:
    while place < end:
        stream.seek(place)
        head = stream.read(5)
        length, number = int.from_bytes(head[:4], "big"), head[4]
        if length < 5 or not 1 <= number <= 7:
            return False
        place += length
    return place == end


def _arranged(path: Path, stream: Any, fields: Sequence[tuple[dict[str, Any], list[Place]]]) -> Contents:
    """The messages by variable, with the coordinates that they share."""
    groups: dict[tuple[Any, ...], list[tuple[dict[str, Any], Place]]] = {}
    for header, places in fields:
        groups.setdefault(tuple(header[key] for key in COMMON), []).extend((header, place) for place in places)
    grids: dict[str, _Grid] = {}
    for messages in groups.values():
        header, place = messages[0]
        if header["md5GridSection"] not in grids:
            try:
                grids[header["md5GridSection"]] = _Grid.of(stream[place], len(grids) + 1)
            except BadInput as error:
                raise BadInput(f"{path}: {header['name']}: {error}") from None
    variables: dict[str, Variable] = {}
    members = len({header["number"] for header, _ in fields}) > 1
    names = Counter[str]()
    for messages in groups.values():
        grid = grids[messages[0][0]["md5GridSection"]]
        if grid.lengths:
            name = _name(messages[0][0], members=members)
            names[name] += 1
            name = name if names[name] == 1 else f"{name}_{names[name]}"
            variables[name] = _variable(path, name, messages, grid.lengths)
    if not variables:
        kinds = ", ".join(sorted({str(header["gridType"]) for header, _ in fields}))
        raise BadInput(f"{path}: there is no message on a grid of points in it (grids: {kinds})")
    clocks = {clock: number for number, clock in enumerate(dict.fromkeys(each.clock for each in variables.values()), 1)}
    coordinates = {name: each for grid in grids.values() for name, each in grid.coordinates.items()}
    for clock, number in clocks.items():
        coordinates |= _times(clock, number)
    dims, attributes = {}, {}
    for name, each in variables.items():
        grid, number = grids[each.header["md5GridSection"]], clocks[each.clock]
        height = _height(each.header)
        if height is not None:
            about = {"standard_name": "height", "units": "m"}
            coordinates[f"height_{height:g}m"] = Coordinate((), np.array(height), about)
        dims[name] = (_numbered("time", number), *grid.dims)
        attributes[name] = _attributes(each, grid, number, height)
    return Contents(int(fields[0][0]["edition"]), variables, coordinates, dims, attributes)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}{number}"


def _name(header: Mapping[str, Any], *, members: bool) -> str:
    """`u10`, `t2m`, `u_80m`, `gust_surface`, `t_isobaricInhPa_850`; with `_max` and so on where it is a statistic."""
    short, level, kind = str(header["shortName"]), header["level"], header["typeOfLevel"]
    base = str(header["cfVarName"])
    if short == "unknown":
        base = f"param{header['paramId']}"
    elif base in ("unknown", "undef"):
        base = short
    if not short[:1].isdigit():
        base += f"_{level:g}m" if kind == ABOVE_GROUND else "_surface" if kind == "surface" else f"_{kind}_{level}"
    statistic = "" if header["stepType"] in ("instant", "undef") else f"_{header['stepType']}"
    return f"{base}{statistic}{'_member' + str(header['number']) if members else ''}"


def _variable(
    path: Path, name: str, messages: Iterable[tuple[dict[str, Any], Place]], lengths: tuple[int, ...]
) -> Variable:
    ordered = sorted(messages, key=lambda each: (each[0]["time"], each[0]["valid_time"]))
    moments = [(header["time"], header["valid_time"]) for header, _ in ordered]
    if not all(isinstance(each, int) for both in moments for each in both):
        raise BadInput(f"{path}: a message of {name} does not say when it is valid")
    if len(set(moments)) < len(moments):
        (_, when), count = Counter(moments).most_common(1)[0]
        moment = np.datetime_as_string(np.datetime64(when, "s"), unit="m")
        raise BadInput(
            f"{path}: there are {count} messages of {name} for {moment}Z; which of them to take is not known"
        )
    return Variable(
        ordered[0][0],
        tuple(cycle for cycle, _ in moments),
        tuple(time for _, time in moments),
        tuple(place for _, place in ordered),
        lengths,
    )


def _times(clock: tuple[tuple[int, ...], tuple[int, ...]], number: int) -> dict[str, Coordinate]:
    """Valid times and cycles along the messages of a variable."""
    cycles, times = (np.array(each, dtype=np.int64) for each in clock)
    dims = (_numbered("time", number),)
    since = {"units": "seconds since 1970-01-01 00:00:00"}
    return {
        _numbered("time", number): Coordinate(dims, times, {**since, "standard_name": "time"}),
        _numbered("reference_time", number): Coordinate(
            dims, cycles, {**since, "standard_name": "forecast_reference_time"}
        ),
    }


def _height(header: Mapping[str, Any]) -> float | None:
    """Metres above ground, where the level or the parameter says it."""
    if header["typeOfLevel"] == ABOVE_GROUND:
        return float(header["level"])
    written = re.match(r"(\d+)[a-z]", str(header["shortName"]))  # 10u on the surface, as in ERA5
    return float(written[1]) if written and header["typeOfLevel"] == "surface" else None


def _attributes(variable: Variable, grid: "_Grid", number: int, height: float | None) -> dict[str, Any]:
    """What a CF file would say of the variable."""
    header = variable.header
    beside = [_numbered("time", number), _numbered("reference_time", number), *grid.coordinates]
    if height is not None:
        beside.append(f"height_{height:g}m")
    found: dict[str, Any] = {
        "units": header["units"],
        "long_name": header["name"],
        "coordinates": " ".join(each for each in beside if each != grid.mapping),
        "_FillValue": np.float64(MISSING),
        "GRIB_shortName": header["shortName"],
        "GRIB_stepType": header["stepType"],
    }
    if grid.mapping in grid.coordinates:
        found["grid_mapping"] = grid.mapping
    method = METHODS.get(header["stepType"])
    if method:
        found["cell_methods"] = f"time: {method}{_interval(header)}"
    if header["uvRelativeToGrid"] in (0, 1):
        found["GRIB_uvRelativeToGrid"] = header["uvRelativeToGrid"]
    standard = _standard(header, height)
    if standard == "surface_altitude" and header["shortName"] == "z":
        found |= {"units": "m", "scale_factor": 1 / GRAVITY}
    return {**found, "standard_name": standard} if standard else found


def _interval(header: Mapping[str, Any]) -> str:
    """How long a statistic goes back, as far as a range of steps tells it in hours."""
    steps = re.fullmatch(r"(\d+)-(\d+)", str(header["stepRange"]))
    return f" (over {int(steps[2]) - int(steps[1])} h)" if steps else ""


def _standard(header: Mapping[str, Any], height: float | None) -> str:
    """The standard name of what is near the ground; a level of pressure or the ground itself is something else."""
    short, kind = str(header["shortName"]), header["typeOfLevel"]
    if (short == "orog" and kind == "surface") or (short == "z" and (kind == "surface" or height == 0)):
        return "surface_altitude"
    standard = STANDARD.get(short, "")
    if standard == "wind_speed_of_gust" and kind in ("surface", ABOVE_GROUND):
        return standard
    if not height:
        return ""
    if short in EASTWARD:
        return "x_wind" if header["uvRelativeToGrid"] == 1 else "eastward_wind"
    if short in NORTHWARD:
        return "y_wind" if header["uvRelativeToGrid"] == 1 else "northward_wind"
    return standard


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """The coordinates of a grid of messages: its dimensions, their lengths (none: no grid of points) and its map."""

    dims: tuple[str, ...]
    lengths: tuple[int, ...]
    coordinates: Mapping[str, Coordinate]
    mapping: str

    @classmethod
    def of(cls, message: Any, number: int) -> "_Grid":
        def key(name: str) -> Any:
            return message.message_get(name, default=None)

        mapping = _numbered("crs", number)
        kind, size = key("gridType"), key("numberOfDataPoints")
        if kind == "sh" or not size:
            return cls((), (), {}, mapping)
        if key("alternativeRowScanning"):
            raise BadInput("rows of the grid run to and fro (alternativeRowScanning), which is not read here")
        names = _numbered("latitude", number), _numbered("longitude", number)
        columns, rows, by_columns = key("Ni"), key("Nj"), bool(key("jPointsAreConsecutive"))
        uneven = str(kind).startswith("reduced") or not isinstance(columns, int) or not isinstance(rows, int)
        if size * 8 > LARGEST or (not uneven and columns * rows != size):  # ecCodes would write beyond its memory
            raise BadInput(f"a message claims {columns} by {rows} points and {size} in all: it is damaged")
        for length in (key(each) for each in EARTH):
            if length is not None and not 6.2e6 < float(length) < 6.5e6:  # ecCodes would free the same memory twice
                raise BadInput(f"a message is of an earth with an axis of {length:g} m: it is damaged")
        latitude, longitude = (np.asarray(message[each], dtype=np.float64) for each in ("latitudes", "longitudes"))
        if uneven:
            points = (_numbered("point", number),)  # rows of different lengths, or a mesh
            return cls(points, latitude.shape, _on_earth(names, (points, points), latitude, longitude), mapping)
        lengths = (columns, rows) if by_columns else (rows, columns)
        latitude, longitude = latitude.reshape(lengths), longitude.reshape(lengths)
        if kind in ("regular_ll", "regular_gg"):
            if by_columns:
                found = _on_earth(names, ((names[0],), (names[1],)), latitude[0], longitude[:, 0])
                return cls(names[::-1], lengths, found, mapping)
            found = _on_earth(names, ((names[0],), (names[1],)), latitude[:, 0], longitude[0])
            return cls(names, lengths, found, mapping)
        dims = _numbered("y", number), _numbered("x", number)
        found = _on_earth(names, (dims, dims), latitude, longitude)
        about = _map(kind, key)
        return cls(dims, lengths, {**found, mapping: Coordinate((), np.array(0), about)} if about else found, mapping)


def _on_earth(
    names: tuple[str, str], dims: tuple[tuple[str, ...], tuple[str, ...]], latitude: Array, longitude: Array
) -> dict[str, Coordinate]:
    return {
        names[0]: Coordinate(dims[0], latitude, {"standard_name": "latitude", "units": "degrees_north"}),
        names[1]: Coordinate(dims[1], longitude, {"standard_name": "longitude", "units": "degrees_east"}),
    }


def _earth(key: Callable[[str], Any]) -> dict[str, Any]:
    """The shape of the earth in the words of CF."""
    if key("earthIsOblate"):
        axes = (float(key(f"earth{each}AxisInMetres") or 0) for each in ("Major", "Minor"))
        return dict(zip(("semi_major_axis", "semi_minor_axis"), axes, strict=True))
    return {"earth_radius": float(key("radius") or 6_371_229)}


def _map(kind: str, key: Callable[[str], Any]) -> dict[str, Any]:
    """The attributes of a CF grid mapping; none where the map has no name in CF."""
    import pyproj

    if kind == "rotated_ll":
        if key("angleOfRotationInDegrees"):
            return {}
        return {
            "grid_mapping_name": "rotated_latitude_longitude",
            "grid_north_pole_latitude": -float(key("latitudeOfSouthernPoleInDegrees")),
            "grid_north_pole_longitude": (float(key("longitudeOfSouthernPoleInDegrees")) + 360) % 360 - 180,
            **_earth(key),
        }
    text = key("projString")
    try:
        return dict(pyproj.CRS.from_user_input(text).to_cf()) if text else {}
    except pyproj.exceptions.CRSError:
        return {}
