"""CF NetCDF: rows and columns, curvilinear grids and meshes, with variables found by standard name or usual name.

A variable's coordinates are those that lie along its dimensions; `coordinates` tells them, and when it is valid. Wind
that a standard name calls eastward is taken so; `x_wind` is turned by the grid mapping; on axes of latitude and
longitude both are the same. Everything else is unknown until the case says it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from configs.units import convert
from metrics.errors import BadInput, FirecardError, UnknownUnit
from tasks.matching.locate import Grid
from tasks.matching.wind import rotation_from_projection
from tasks.readers.coordinates import Clock, Coordinates, clock_of, timeless
from tasks.readers.grids import (
    PARTS,
    WIND,
    Floats,
    Found,
    Orientation,
    Stored,
    Wishes,
    degrees,
    lies_at,
    moment,
    named,
    unit_of,
)
from tasks.readers.hdf import File


@dataclass(frozen=True, slots=True)
class Spelling:
    """How files call a variable: by standard name, or by a usual name; and the height it is wanted at, in metres.

    `usual` names say the height (None: they do not). Up to `highest` another height is taken, and told.
    """

    standard: tuple[str, ...]
    usual: Mapping[str, float | None]
    height: float
    highest: float = 10.0


def _each(names: str, height: float | None) -> dict[str, float | None]:
    return dict.fromkeys(names.split(), height)


SPELLINGS = {
    "u": Spelling(
        ("eastward_wind", "x_wind", "grid_eastward_wind"),
        _each("u10 10u U10 u10m U10M u_10m uas UGRD_10maboveground x_wind_10m 10m_u_component_of_wind ugrd10m", 10.0)
        | _each("u-component_of_wind_height_above_ground", None),
        height=10.0,
        highest=200.0,
    ),
    "v": Spelling(
        ("northward_wind", "y_wind", "grid_northward_wind"),
        _each("v10 10v V10 v10m V10M v_10m vas VGRD_10maboveground y_wind_10m 10m_v_component_of_wind vgrd10m", 10.0)
        | _each("v-component_of_wind_height_above_ground", None),
        height=10.0,
        highest=200.0,
    ),
    "wind_speed": Spelling(
        ("wind_speed",),
        _each("ws10 si10 10si sfcWind wspd10 ff10 wind_speed_10m WIND_10maboveground", 10.0)
        | _each("wind_speed Wind_speed_height_above_ground", None),
        height=10.0,
        highest=200.0,
    ),
    "wind_direction": Spelling(
        ("wind_from_direction",),
        _each("wdir10 wd10 dd10 wind_direction_10m WDIR_10maboveground", 10.0)
        | _each(
            "wind_direction wind_from_direction Wind_direction_from_which_blowing_height_above_ground",
            None,
        ),
        height=10.0,
        highest=200.0,
    ),
    "wind_gust": Spelling(
        ("wind_speed_of_gust",),
        _each("fg10 10fg i10fg 10m_wind_gust wind_gust_10m wsgsmax", 10.0)
        | _each("gust wind_gust wind_speed_of_gust GUST_surface Wind_speed_gust_surface", None),
        height=10.0,
        highest=200.0,
    ),
    "temperature": Spelling(
        ("air_temperature",),
        _each("t2m 2t T2 T2M tas t_2m TMP_2maboveground 2m_temperature temperature_2m air_temperature_2m", 2.0)
        | _each("Temperature_height_above_ground", None),
        height=2.0,
    ),
    "dew_point": Spelling(
        ("dew_point_temperature",),
        _each("d2m 2d td2m DPT_2maboveground 2m_dewpoint_temperature dew_point_temperature_2m", 2.0)
        | _each("Dewpoint_temperature_height_above_ground", None),
        height=2.0,
    ),
    "relative_humidity": Spelling(
        ("relative_humidity",),
        _each("r2 2r rh2m rh2 hurs RH_2maboveground relative_humidity_2m", 2.0)
        | _each("Relative_humidity_height_above_ground", None),
        height=2.0,
    ),
    "terrain": Spelling(("surface_altitude",), _each("orog topo terrain HGT_surface HGT", 0.0), height=0.0),
}
SINCE_LAST = "maximum since the last output"
STATISTICS = {"fg10": SINCE_LAST, "10fg": SINCE_LAST, "wsgsmax": SINCE_LAST, "i10fg": "instantaneous"}

PRESSURES = {"Pa", "hPa", "mb", "mbar", "millibar", "millibars"}
ALONG_GRID = {"x_wind", "y_wind", "grid_eastward_wind", "grid_northward_wind"}
TO_EARTH = {"eastward_wind", "northward_wind"}


@dataclass(frozen=True, slots=True)
class Plane:
    """The coordinates of a variable's rows and columns; of a map, x and y in place of longitude and latitude."""

    kind: Literal["rectilinear", "curvilinear", "mesh", "map"]
    latitude: str
    longitude: str
    dims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A variable with where it lies and when it is valid."""

    stored: Stored
    plane: Plane
    clock: Clock


def recognises(file: File) -> bool:
    """Whether a file has coordinates on the earth or on a map, and is not one of stations."""
    if of_stations(file):
        return False
    kinds = set(Coordinates(file).kinds.values())
    return kinds >= {"latitude", "longitude"} or kinds >= {"y", "x"}


def of_stations(file: File) -> bool:
    """Whether a file says that it holds stations, or has places without a grid: one only, or one a report."""
    said = {file.text(None, key).lower() for key in ("featureType", "CF:featureType", "cdm_data_type")}
    if said & {"timeseries", "point", "station"} or any(
        file.text(name, "cf_role") == "timeseries_id" for name in file.names
    ):
        return True
    kinds = Coordinates(file).kinds
    places = {file.dims(name) for name, kind in kinds.items() if kind in ("latitude", "longitude")}
    times = {file.dims(name)[:1] for name in file.names if kinds.get(name) == "time" or name.lower() == "time"}
    if places == {()}:
        return not {"y", "x"} & set(kinds.values())
    return len(places) == 1 and len(next(iter(places))) == 1 and places <= times


def find(file: File, wishes: Wishes, known: Sequence[Grid] = ()) -> Found:
    """What a file offers."""
    coordinates = Coordinates(file)
    placed: dict[str, Placed] = {}
    withheld: dict[str, FirecardError] = {}
    for variable in dict.fromkeys((*SPELLINGS, *named(file, wishes.names))):
        try:
            one = _best(coordinates, variable, wishes)
        except FirecardError as error:
            if variable in wishes.names:
                raise
            withheld[variable] = error
        else:
            placed.update({variable: one} if one else {})
    ground = placed.pop("terrain", None)
    if not placed:
        reasons = "; ".join(str(each) for each in withheld.values())
        raise BadInput(
            f"{file.path}: there is no variable that is known here; the case can name them. {reasons}".strip()
        )
    main = _main(placed)
    for variable, one in list(placed.items()):
        lacks = one.clock.lacks(main.clock)
        if lacks and one.plane == main.plane and one.stored.time is not None:
            placed[variable] = replace(one, stored=replace(one.stored, lacks=lacks))
            continue
        apart = _apart(one, main)
        if apart:
            withheld[variable] = BadInput(f"{file.path}: {one.stored.name} {apart} {main.stored.name}")
            del placed[variable]
    grid = _grid(file, main)
    grid = next(
        (each for each in known if each.kind == grid.kind and lies_at(each, grid.latitude, grid.longitude)), grid
    )
    orientation, projection = _orientations(file, placed, grid, wishes, withheld)
    times = main.clock.times
    return Found(
        grids=(grid,),
        which=np.zeros(times.size, dtype=np.int64),
        times=times,
        reference_time=main.clock.cycle,
        stored={variable: one.stored for variable, one in placed.items()},
        orientation=orientation,
        withheld=withheld,
        terrain=ground.stored if ground and ground.plane == main.plane else None,
        projection=projection,
    )


def rotation(file: File, found: Found, grid: Grid, step: int) -> tuple[Floats, Floats]:
    """Sine and cosine of the angle from east to the grid's x axis, at every grid point."""
    return rotation_from_projection(found.projection, *grid.points())


def _main(placed: Mapping[str, Placed]) -> Placed:
    """The variable that others must go with: one of wind if there is any, then of most variables and most times."""

    def company(one: Placed) -> tuple[bool, int, int]:
        names = {name for name, other in placed.items() if not _apart(other, one)}
        return bool(names & {*WIND}), len(names), one.clock.times.size

    return max(placed.values(), key=company)


def _apart(one: Placed, main: Placed) -> str:
    """How a variable does not go together with the main one of its file; empty if it does."""
    if one.plane != main.plane:
        return "lies on another grid than"
    if one.clock.agrees(main.clock):
        return ""
    own, others = (_in_words(each.clock) for each in (one, main))
    return f"is valid {own}, other than {others} of"


def _in_words(clock: Clock) -> str:
    first, last = moment(clock.times[0]), moment(clock.times[-1])
    cycle = "" if clock.cycle is None else f", cycle {moment(clock.cycle)}"
    return first + cycle if first == last else f"{first} to {last} ({clock.times.size} times){cycle}"


def _best(coordinates: Coordinates, variable: str, wishes: Wishes) -> Placed | None:
    """The variable of a file that is meant; None where there is none, an error where none of them will do."""
    file, spelling = coordinates.file, SPELLINGS.get(variable)
    if variable in wishes.names or spelling is None:
        return _placed(coordinates, variable, wishes.names[variable], wishes)
    fitting: dict[str, Placed] = {}
    reasons: list[FirecardError] = []
    for name in file.names:
        if _may_be(file, name, variable, spelling):
            try:
                fitting[name] = _placed(coordinates, variable, name, wishes)
            except FirecardError as error:
                reasons.append(error)
    if not fitting:
        if reasons:
            raise reasons[0]
        return None

    def distance(name: str) -> tuple[bool, float, bool]:
        height = fitting[name].stored.height
        return height is None, abs((height or 0) - spelling.height), _standard(file, name) in ALONG_GRID

    ranked = sorted(fitting, key=distance)
    if len(ranked) > 1 and distance(ranked[0]) == distance(ranked[1]):
        raise BadInput(
            f"{file.path}: {ranked[0]} and {ranked[1]} could both be {variable}; the case can name one of them"
        )
    return fitting[ranked[0]]


def _standard(file: File, name: str) -> str:
    standard = file.text(name, "standard_name")
    return "" if standard == "unknown" else standard  # what GRIB converters write when they have none


def _may_be(file: File, name: str, variable: str, spelling: Spelling) -> bool:
    standard = _standard(file, name)
    if not (standard in spelling.standard if standard else name in spelling.usual):
        return False
    extreme = any(each in file.text(name, "cell_methods") for each in ("maximum", "minimum"))
    return variable == "wind_gust" or not extreme  # the highest temperature of a day is not the temperature


def _placed(coordinates: Coordinates, variable: str, name: str, wishes: Wishes) -> Placed:
    file, kept = coordinates.file, PARTS.get(variable) or wishes.variable(variable)
    dims = file.dims(name)
    clock = timeless(coordinates, name) if variable == "terrain" else clock_of(coordinates, name, wishes.cycle)
    plane = _plane(coordinates, name, set(clock.dims))
    wanted = wishes.wind_height if variable in WIND else None
    others = [each for each in dims if each not in (*clock.dims, *plane.dims)]
    at, height = _levels(coordinates, variable, name, others, wanted)
    at = {**at, **{dims.index(each): place for each, place in clock.pinned.items()}}
    if height is None and variable in SPELLINGS:
        height = SPELLINGS[variable].usual.get(name)
    if wanted is not None:
        if height is not None and abs(height - wanted) > 0.05:
            raise BadInput(f"{file.path}: {name} is at {height:g} m, but the case says `wind_height` {wanted:g} m")
        height = wanted
    if height is None and variable == "wind_gust":
        height = wishes.wind_height
    if height is not None and name not in wishes.names.values() and height > SPELLINGS[variable].highest:
        raise BadInput(f"{file.path}: {name} is at {height:g} m, too high to be {variable}")
    stored = Stored(
        name=name,
        unit=unit_of(file, name, kept),
        kept_unit=kept.unit,
        time=None if clock.along is None else dims.index(clock.along),
        first=clock.first,
        across=tuple(dims.index(each) for each in plane.dims),
        at=tuple(sorted(at.items())),
        height=height,
        statistic=_statistic(file, variable, name),
    )
    return Placed(stored, plane, clock)


def _statistic(file: File, variable: str, name: str) -> str:
    methods = file.text(name, "cell_methods")
    for method in ("maximum", "minimum", "mean", "sum"):
        if method in methods:
            return f"{method} ({methods})"
    if "point" in methods.split():
        return "instantaneous"
    return STATISTICS.get(name, "over a period that is not said" if variable == "wind_gust" else "instantaneous")


def _plane(coordinates: Coordinates, name: str, along_time: set[str]) -> Plane:
    file = coordinates.file

    def dims(coordinate: str) -> tuple[str, ...]:
        return tuple(each for each in file.dims(coordinate) if each not in along_time)

    for lat, lon in product(coordinates.along(name, "latitude"), coordinates.along(name, "longitude")):
        if dims(lat) == dims(lon) and len(dims(lat)) in (1, 2):
            return Plane("curvilinear" if len(dims(lat)) == 2 else "mesh", lat, lon, dims(lat))
        if len(dims(lat)) == len(dims(lon)) == 1:
            return Plane("rectilinear", lat, lon, dims(lat) + dims(lon))
    for y, x in product(coordinates.along(name, "y"), coordinates.along(name, "x")):
        if len(dims(y)) == len(dims(x)) == 1 and dims(y) != dims(x) and _mapping(file, name):
            return Plane("map", y, x, dims(y) + dims(x))
    raise BadInput(
        f"{file.path}: {name} has no latitude and longitude along its dimensions {', '.join(file.dims(name))}, "
        "nor x and y with a grid mapping"
    )


def _levels(
    coordinates: Coordinates, variable: str, name: str, dims: list[str], at_height: float | None
) -> tuple[dict[int, int], float | None]:
    """The place along every dimension that is neither time nor across the grid, and the height above ground there.

    Of several heights it is `at_height` if the case says one, else the variable's usual one.
    """
    file = coordinates.file
    at: dict[int, int] = {}
    listed = file.text(name, "coordinates").split()
    scalars = [each for each in coordinates.along(name, "height") if not file.dims(each) and each in listed]
    height = _metres(file, scalars[0])[0] if scalars else None
    for dim in dims:
        axis = file.dims(name).index(dim)
        size = file.shape(name)[axis]
        if dim in file and file.text(dim, "units") in PRESSURES:
            raise BadInput(f"{file.path}: {name} is on levels of pressure ({dim})")
        heights = [each for each in coordinates.along(name, "height") if file.dims(each) == (dim,)]
        if size == 1:
            at[axis] = 0
            height = _metres(file, heights[0])[0] if heights else height
            continue
        wanted = at_height or (SPELLINGS[variable].height if variable in SPELLINGS else None)
        levels = _metres(file, heights[0]) if heights else []
        fitting = [place for place, each in enumerate(levels) if wanted is not None and abs(each - wanted) < 0.05]
        if not fitting:
            told = f" ({', '.join(f'{each:g}' for each in levels[:12])} m)" if levels else ""
            raise BadInput(f"{file.path}: {name} has {size} places along {dim}{told}; which is meant is not known")
        at[axis], height = fitting[0], levels[fitting[0]]
    return at, height


def _metres(file: File, name: str) -> list[float]:
    return [float(each) for each in np.ravel(convert(file.values(name), file.text(name, "units"), "m"))]


def _mapping(file: File, name: str) -> Mapping[str, Any]:
    """Attributes of the map that a variable lies on; empty where none is named."""
    mapping = file.text(name, "grid_mapping").split(":")[0].strip()
    return file.attributes(mapping) if mapping in file else {}


def _grid(file: File, main: Placed) -> Grid:
    plane = main.plane
    try:
        if plane.kind == "map":
            return Grid.curvilinear(*_from_map(file, main))
        lat, lon = _fixed(file, plane.latitude, plane, 90.001), _fixed(file, plane.longitude, plane, 540.0)
        make = {"rectilinear": Grid.rectilinear, "curvilinear": Grid.curvilinear, "mesh": Grid.mesh}[plane.kind]
        return make(lat, lon)
    except BadInput as error:
        told = str(error)
        raise BadInput(told if told.startswith(str(file.path)) else f"{file.path}: {told}") from None


def _fixed(file: File, name: str, plane: Plane, most: float) -> Floats:
    """A coordinate in degrees that does not change with time."""
    dims = file.dims(name)
    moving = [axis for axis, dim in enumerate(dims) if dim not in plane.dims]
    values, last = (
        file.values(name, *(place if axis in moving else slice(None) for axis in range(len(dims)))) for place in (0, -1)
    )
    if moving and not np.array_equal(values, last, equal_nan=True):
        raise BadInput(f"{file.path}: {name} changes with time; stations cannot stay on a moving grid")
    if file.text(name, "units").startswith("rad"):
        values = np.degrees(values)
    return degrees(file, name, values, most)


def _from_map(file: File, main: Placed) -> tuple[Floats, Floats]:
    """Latitude and longitude of rows and columns that a file gives in x and y of a map only."""
    import pyproj

    attributes = _mapping(file, main.stored.name)
    y, x = (_on_map(file, name) for name in (main.plane.latitude, main.plane.longitude))
    try:
        crs = pyproj.CRS.from_cf(dict(attributes))
        geographic = crs.source_crs if crs.is_derived else crs.geodetic_crs
        to_earth = pyproj.Transformer.from_crs(crs, geographic, always_xy=True)
        longitude, latitude = to_earth.transform(*np.meshgrid(x, y))
    except (pyproj.exceptions.ProjError, KeyError, TypeError, ValueError, AttributeError) as error:
        name = attributes.get("grid_mapping_name", "no grid_mapping_name")
        raise BadInput(f"{file.path}: the map of {main.stored.name} is not understood ({name}): {error}") from error
    missing = ~(np.isfinite(latitude) & np.isfinite(longitude))
    return np.where(missing, np.nan, latitude), np.where(missing, np.nan, longitude)


def _on_map(file: File, name: str) -> Floats:
    values, units = file.values(name), file.text(name, "units")
    if units in ("", "m") or units.startswith("deg"):
        return values
    try:
        return np.asarray(convert(values, units, "m"), dtype=np.float64)
    except UnknownUnit as error:
        raise UnknownUnit(f"{file.path}: {name}: {error}") from None


def _orientations(
    file: File, placed: dict[str, Placed], grid: Grid, wishes: Wishes, withheld: dict[str, FirecardError]
) -> tuple[Orientation | None, Mapping[str, Any]]:
    """What wind is relative to, and the map that turns it; wind whose orientation is unknown is withheld."""
    direction = placed.get("wind_direction")
    if direction and not _from_true_north(file, direction, wishes):
        del placed["wind_direction"]
        withheld["wind_direction"] = BadInput(
            f"{file.path}: {direction.stored.name} does not say whether it is from true north; the case can say it"
        )
    parts = [placed[name] for name in ("u", "v") if name in placed]  # one of them may be in a file of its own
    if not parts:
        return (Orientation("earth", "direction from true north") if "wind_direction" in placed else None), {}
    try:
        return _orientation(file, parts, grid, wishes)
    except BadInput as error:
        withheld.update(dict.fromkeys(WIND, error))
        return None, {}


def _from_true_north(file: File, direction: Placed, wishes: Wishes) -> bool:
    name = direction.stored.name
    said = _standard(file, name) == "wind_from_direction" or "true" in file.text(name, "units")
    return said or wishes.winds == "earth" or direction.plane.kind == "rectilinear"


def _orientation(
    file: File, parts: Sequence[Placed], grid: Grid, wishes: Wishes
) -> tuple[Orientation, Mapping[str, Any]]:
    names = [each.stored.name for each in parts]
    both = " and ".join(names)
    if len({each.stored.height for each in parts}) > 1:
        raise BadInput(f"{file.path}: {both} are not at the same height")
    if wishes.winds == "earth":
        return Orientation("earth", "said in the case"), {}
    relative = {_relative(file, name) for name in names} if wishes.winds is None else {"grid"}
    if relative == {"earth"}:
        by = "standard_name eastward_wind" if _standard(file, names[0]) in TO_EARTH else "flag of the GRIB message"
        return Orientation("earth", by), {}
    if parts[0].plane.kind == "rectilinear":
        return Orientation("earth", "latitude and longitude axes: zero"), {}
    if relative != {"grid"}:
        raise BadInput(
            f"{file.path}: the orientation of {both} is unknown: "
            "no standard_name says whether they are eastward or along the grid; the case can say it"
        )
    attributes = _mapping(file, names[0])
    if not attributes:
        raise BadInput(f"{file.path}: {names[0]} is along the grid, and there is no grid mapping to turn it by")
    try:
        rotation_from_projection(attributes, *(each[:1] for each in grid.points()))
    except BadInput as error:
        raise BadInput(f"{file.path}: {names[0]} is along the grid, which cannot be turned: {error}") from None
    if attributes.get("grid_mapping_name") == "mercator":
        return Orientation("earth", "Mercator: zero"), {}
    told = "projection attributes" if wishes.winds is None else "said in the case, projection attributes"
    return Orientation("grid", told), attributes


def _relative(file: File, name: str) -> str:
    """What a component is relative to, by its standard name and by GRIB's flag; unknown where they contradict.

    Converters call the wind of GRIB eastward whatever the flag says, so the flag goes before that name.
    """
    standard, said = _standard(file, name), file.attribute(name, "GRIB_uvRelativeToGrid")
    if standard in ALONG_GRID:
        return "grid" if said in (None, 1) else "unknown"
    if said in (0, 1):
        return "grid" if said == 1 else "earth"
    return "earth" if standard in TO_EARTH else "unknown"
