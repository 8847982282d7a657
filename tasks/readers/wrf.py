"""WRF output as the model writes it: `wrfout_d01_2005-08-28_12:00:00`, with one time or many.

Wind lies along the grid. Its rotation is in SINALPHA and COSALPHA, or follows from the projection's attributes; it is
never assumed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from metrics.errors import BadInput, FirecardError
from tasks.matching.locate import Grid
from tasks.matching.wind import LAT_LON, MERCATOR, rotation_from_projection
from tasks.readers.grids import (
    PARTS,
    WIND,
    Floats,
    Found,
    Integers,
    Orientation,
    Stored,
    Times,
    Wishes,
    checked_times,
    decoded_times,
    degrees,
    lies_at,
    named,
    unit_of,
)
from tasks.readers.hdf import File

NAMES = {
    "u": "U10",
    "v": "V10",
    "temperature": "T2",
    "mixing_ratio": "Q2",
    "pressure": "PSFC",
    "wind_gust": "WSPD10MAX",
}
HEIGHTS = {"U10": 10.0, "V10": 10.0, "T2": 2.0, "Q2": 2.0, "WSPD10MAX": 10.0}
STATISTICS = {
    "WSPD10MAX": "maximum of the wind at model steps since the last output (an hourly maximum in hourly files)"
}
DOMAIN = ("GRID_ID", "DX", "DY", "MAP_PROJ", "TRUELAT1", "TRUELAT2", "STAND_LON")
PROJECTION = ("MAP_PROJ", "TRUELAT1", "TRUELAT2", "STAND_LON", "POLE_LAT", "POLE_LON", "CEN_LAT", "CEN_LON")
STAMP = re.compile(r"\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d")
ROTATION = ("SINALPHA", "COSALPHA")


def recognises(file: File) -> bool:
    """Whether a file has WRF's coordinates, and its times or its projection."""
    return "XLAT" in file and "XLONG" in file and ("Times" in file or file.attribute(None, "MAP_PROJ") is not None)


def find(file: File, wishes: Wishes, known: Sequence[Grid] = ()) -> Found:
    """What a file offers."""
    names = {**NAMES, **named(file, wishes.names)}
    times = checked_times(file.path, _times(file))
    domain = {name: file.attribute(None, name) for name in DOMAIN}
    grids, which = _grids(file, times.size, known, may_move=domain["GRID_ID"] != 1)
    grid = grids[0]
    stored: dict[str, Stored] = {}
    withheld: dict[str, FirecardError] = {}
    for variable, name in names.items():
        if name not in file:
            continue
        try:
            stored[variable] = _stored(file, variable, name, times.size, grid, wishes)
        except FirecardError as error:
            if variable in wishes.names:
                raise
            withheld[variable] = error
    orientation = None
    if stored.keys() >= {"u", "v"}:
        try:
            orientation = _orientation(file, wishes)
        except FirecardError as error:
            withheld.update(dict.fromkeys(WIND, error))
    else:
        absent = withheld.get("u") or withheld.get("v") or BadInput(f"{file.path}: there is no U10 and V10")
        withheld.update(dict.fromkeys(WIND, absent))
    try:
        terrain = _terrain(file, grid, times.size)
    except FirecardError as error:
        terrain, withheld["terrain"] = None, error
    return Found(
        grids=grids,
        which=which,
        times=times,
        reference_time=_cycle(file),
        stored=stored,
        orientation=orientation,
        withheld=withheld,
        terrain=terrain,
        projection=_projection(file),
        domain=domain,
        moves=(domain["GRID_ID"] or 1) != 1,  # from file to file only if it is known to be a nest
    )


def rotation(file: File, found: Found, grid: Grid, step: int) -> tuple[Floats, Floats]:
    """Sine and cosine of the angle from east to the grid's x axis, at every grid point."""
    if not all(name in file for name in ROTATION):
        return rotation_from_projection(found.projection, *grid.points())
    sine, cosine = (_at_time(file, name, step, grid.shape).ravel() for name in ROTATION)
    if not np.allclose(sine**2 + cosine**2, 1, atol=1e-3):  # False where missing, too
        raise BadInput(f"{file.path}: SINALPHA and COSALPHA are not the sine and cosine of an angle")
    return sine, cosine


def _times(file: File) -> Times:
    if "Times" in file:
        return _stamps(file)
    if "XTIME" not in file:
        raise BadInput(f"{file.path}: there are no valid times in it: neither Times nor XTIME")
    if " since " in file.text("XTIME", "units"):
        return decoded_times(file, "XTIME")
    start = _start(file)
    if start is None:
        raise BadInput(f"{file.path}: XTIME does not say since when it counts, and there is no SIMULATION_START_DATE")
    return start + np.round(file.values("XTIME").ravel() * 60).astype("timedelta64[s]")


def _stamps(file: File) -> Times:
    letters = file.read("Times")
    if letters.dtype.kind != "S":
        raise BadInput(f"{file.path}: Times holds no characters")
    width = letters.shape[-1] * letters.dtype.itemsize if letters.ndim else 0
    raw = letters.tobytes()
    texts = [raw[start : start + width].decode("ascii", "replace") for start in range(0, len(raw), max(width, 1))]
    return np.array([_moment(file, "Times", text.strip("\0 ")) for text in texts], dtype="datetime64[s]")


def _moment(file: File, name: str, text: str) -> np.datetime64:
    if STAMP.fullmatch(text):
        try:
            return np.datetime64(text.replace("_", "T"), "s")
        except ValueError:  # the 31st of February
            pass
    raise BadInput(f"{file.path}: {name} has {text!r}, expected a time such as 2005-08-28_12:00:00")


def _start(file: File) -> np.datetime64 | None:
    """When the run began; START_DATE is that of a restart."""
    for name in ("SIMULATION_START_DATE", "START_DATE"):
        text = file.text(None, name)
        if text:
            return _moment(file, name, text)
    return None


def _cycle(file: File) -> np.datetime64 | None:
    start = _start(file)
    return None if start is None else start.astype("datetime64[ns]")


def _grids(file: File, times: int, known: Sequence[Grid], *, may_move: bool) -> tuple[tuple[Grid, ...], Integers]:
    """The grids of a file, and on which of them every time lies: one, unless it is a nest that follows a storm."""
    shape = file.shape("XLAT")
    if len(shape) not in (2, 3) or not all(shape) or file.shape("XLONG") != shape:
        given = f"XLAT has shape {shape} and XLONG {file.shape('XLONG')}"
        raise BadInput(f"{file.path}: {given}, expected (Time, south_north, west_east) for both")
    steps = shape[0] if len(shape) == 3 and may_move else 1
    if steps not in (1, times):
        raise BadInput(f"{file.path}: XLAT has {steps} times, there are {times}")
    grids: list[Grid] = []
    which = np.zeros(times, dtype=np.int64)
    for step in range(steps):
        grid = _grid(file, step, shape, [*grids, *known])
        if grid not in grids:
            grids.append(grid)
        which[step:] = grids.index(grid)
    return tuple(grids), which


def _grid(file: File, step: int, shape: tuple[int, ...], known: Sequence[Grid]) -> Grid:
    """The grid of a time: one of those that are known, or a new one."""
    marks = tuple(file.mark(name, step) if len(shape) == 3 else None for name in ("XLAT", "XLONG"))
    packed_so = _packed.get(marks)
    if packed_so is not None and any(each is packed_so for each in known):
        return packed_so
    lat, lon = _at_time(file, "XLAT", step, shape[-2:]), _at_time(file, "XLONG", step, shape[-2:])
    grid = next((each for each in known if lies_at(each, lat, lon)), None)
    if grid is None:
        grid = Grid.curvilinear(degrees(file, "XLAT", lat, 90.001), degrees(file, "XLONG", lon, 360.001))
    if None not in marks:
        _packed[marks] = grid
    return grid


# The grid whose coordinates were packed so; every file of a model repeats them, and unpacking takes most of the time.
_packed: WeakValueDictionary[tuple[str | None, ...], Grid] = WeakValueDictionary()


def _at_time(file: File, name: str, step: int, grid: tuple[int, ...]) -> Floats:
    """What is the same at all times, or of this time where it is written for each."""
    shape = file.shape(name)
    if shape[-2:] != grid or len(shape) not in (2, 3) or not shape[0]:
        raise BadInput(f"{file.path}: {name} has shape {shape}, expected {grid}, with or without time")
    return file.values(name, min(step, shape[0] - 1)) if len(shape) == 3 else file.values(name)


def _stored(file: File, variable: str, name: str, times: int, grid: Grid, wishes: Wishes) -> Stored:
    shape = file.shape(name)
    if shape != (times, *grid.shape):
        raise BadInput(f"{file.path}: {name} has shape {shape}, expected {(times, *grid.shape)}")
    kept = wishes.variable(variable)
    return Stored(
        name=name,
        unit=unit_of(file, name, kept),
        kept_unit=kept.unit,
        time=0,
        across=(1, 2),
        height=wishes.wind_height if variable in WIND and wishes.wind_height else HEIGHTS.get(name),
        statistic=STATISTICS.get(name, "instantaneous"),
    )


def _terrain(file: File, grid: Grid, times: int) -> Stored | None:
    """Where the height of the ground is."""
    if "HGT" not in file:
        return None
    shape = file.shape("HGT")
    if shape not in (grid.shape, (1, *grid.shape), (times, *grid.shape)):
        raise BadInput(f"{file.path}: HGT has shape {shape}, expected {(times, *grid.shape)}")
    ground, extra = PARTS["terrain"], len(shape) - 2
    return Stored(
        name="HGT",
        unit=unit_of(file, "HGT", ground),
        kept_unit=ground.unit,
        time=0 if extra and shape[0] == times else None,
        across=(extra, extra + 1),
        at=((0, 0),) if extra and shape[0] != times else (),
    )


def _orientation(file: File, wishes: Wishes) -> Orientation:
    if wishes.winds == "earth":
        return Orientation("earth", "said in the case")
    if all(name in file for name in ROTATION):
        return Orientation("grid", "SINALPHA/COSALPHA")
    attributes = _projection(file)
    if "MAP_PROJ" not in attributes:
        raise BadInput(
            f"{file.path}: the orientation of U10 and V10 is unknown: "
            "there is neither SINALPHA/COSALPHA nor an attribute MAP_PROJ; the case can say it"
        )
    try:
        rotation_from_projection(attributes, np.zeros(1), np.zeros(1))
    except BadInput as error:
        raise BadInput(f"{file.path}: the orientation of U10 and V10 is unknown: {error}") from None
    if attributes["MAP_PROJ"] == MERCATOR:
        return Orientation("earth", "Mercator: zero")
    if attributes["MAP_PROJ"] == LAT_LON and abs(attributes.get("POLE_LAT", 90.0)) == 90:
        return Orientation("earth", "latitude and longitude: zero")
    return Orientation("grid", "projection attributes")


def _projection(file: File) -> Mapping[str, Any]:
    found = {name: file.attribute(None, name) for name in PROJECTION}
    return {name: value for name, value in found.items() if value is not None}
