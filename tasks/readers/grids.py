"""Model output on a grid: what a set of files offers, and its values at stations.

`describe` looks at every file once and says what is there under firecard's own names; `sample` is the one way to the
values. Winds are turned to east and north at the grid points and interpolated as components; speed and direction follow
at the station, so that degrees are never interpolated. A file that stores speed itself has it interpolated as it is.
"""

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from configs.paths import place
from configs.units import convert
from metrics.circular import components
from metrics.errors import BadInput, FirecardError, MismatchedSample, MissingInput, UnknownUnit
from metrics.variables import VARIABLES, Variable
from tasks.matching.locate import Cells, Grid
from tasks.matching.wind import earth_relative, speed_and_direction
from tasks.readers.hdf import File, Look, explained, opened

Floats: TypeAlias = NDArray[np.float64]
Times: TypeAlias = NDArray[np.datetime64]
Integers: TypeAlias = NDArray[np.int64]
Relative: TypeAlias = Literal["earth", "grid"]
Source: TypeAlias = Literal["wrf", "cf"]

COMPONENTS = ("u", "v")
WIND = (*COMPONENTS, "wind_speed", "wind_direction")
PARTS = {
    "u": Variable("u", "Eastward Wind", "m/s"),
    "v": Variable("v", "Northward Wind", "m/s"),
    "mixing_ratio": Variable("mixing_ratio", "Water Vapour Mixing Ratio", "1"),
    "pressure": Variable("pressure", "Surface Pressure", "Pa"),
    "terrain": Variable("terrain", "Terrain Height", "m"),
}
"""What firecard reads beside the variables that it scores."""

INGREDIENTS = ("mixing_ratio", "pressure")  # read to make others, not offered

AT_ONCE = 32 * 2**20  # bytes of a variable read together, when a file has many times
PIECE = 256 * 2**20  # bytes of a stored piece up to which it is read whole rather than once for each time in it


@dataclass(frozen=True, slots=True)
class Orientation:
    """What the wind components of a model are relative to, and how that is known."""

    relative_to: Relative
    known_from: str


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a case says about files that do not speak for themselves.

    `names` are file variables by firecard's names (also `u`, `v`), `winds` is what u and v are relative to,
    `wind_height` is in metres above ground. `cycle` (UTC) is the one to take where a file has several.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    winds: Relative | None = None
    wind_height: float | None = None
    cycle: np.datetime64 | None = None
    variables: Mapping[str, Variable] = field(default_factory=lambda: VARIABLES)

    def variable(self, name: str) -> Variable:
        known = {**PARTS, **VARIABLES, **self.variables}
        if name not in known:
            raise BadInput(f"{name} is not a variable of this case; known: {', '.join(known)}")
        return known[name]


@dataclass(frozen=True, slots=True)
class Stored:
    """A variable of a file: its axes of time and of rows and columns (or mesh points), and the place on all others.

    `first` is the place of its first time, where others of another cycle come before it. `lacks` are the times of the
    file, by number, that it does not have: a maximum since the last output has none at hour 0.
    """

    name: str
    unit: str
    kept_unit: str
    time: int | None
    across: tuple[int, ...]
    at: tuple[tuple[int, int], ...] = ()
    first: int = 0
    lacks: frozenset[int] = frozenset()
    height: float | None = None
    statistic: str = "instantaneous"


Parts: TypeAlias = Mapping[str, Floats]
Gather: TypeAlias = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a variable is made of, and how it comes from values at grid points to values at stations."""

    needs: tuple[str, ...]
    how: str
    make: Callable[[Parts, Gather], Floats]


@dataclass(frozen=True, slots=True)
class Offer:
    """A variable that files hold, or that follows from what they hold.

    `stored_as` are its names in the file, `height` is in metres above ground where known, `statistic` says whether a
    value is that of the moment or, say, a maximum since the last output.
    """

    variable: str
    unit: str
    recipe: Recipe
    stored_as: tuple[str, ...]
    height: float | None
    statistic: str


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What one file offers.

    A nest that `moves` has several grids; `which` says for every time on which of them it is. `domain` is what files of
    one model have in common, wherever the nest is.
    """

    grids: tuple[Grid, ...]
    which: Integers
    times: Times
    reference_time: np.datetime64 | None
    stored: Mapping[str, Stored]
    orientation: Orientation | None
    withheld: Mapping[str, FirecardError]
    terrain: Stored | None = None
    projection: Mapping[str, Any] = field(default_factory=dict)
    domain: Mapping[str, Any] = field(default_factory=dict)
    moves: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A grid with the height of its ground and how it is turned, both at every grid point, row after row.

    `terrain` is in metres, None where the files have none. `rotation` is the sine and cosine of the angle from east to
    the grid's x axis, None where winds are relative to the earth.
    """

    grid: Grid
    terrain: Floats | None
    rotation: tuple[Floats, Floats] | None


@dataclass(frozen=True, slots=True, eq=False)
class GridFile:
    """One file of a set: its valid times and cycle (UTC), where its variables are, and the surface of every time.

    `beside` are files of the same times that hold other variables.
    """

    path: Path
    look: Look
    times: Times
    reference_time: np.datetime64 | None
    stored: Mapping[str, Stored]
    surface: Integers
    beside: tuple[Self, ...] = ()

    @property
    def parts(self) -> tuple[Self, ...]:
        """The file and those beside it."""
        return (self, *self.beside)

    def holder(self, part: str) -> Self | None:
        """Which of the files has a variable."""
        return next((each for each in self.parts if part in each.stored), None)

    def absolute(self) -> Self:
        """The same for somebody who works in another folder."""
        return replace(self, path=self.path.absolute(), beside=tuple(each.absolute() for each in self.beside))


@dataclass(frozen=True, slots=True, eq=False)
class GridFiles:
    """What a set of files offers, in the order of their valid times.

    `surfaces` has one entry, unless the model is a nest that moves. `withheld` says why a variable that one might
    expect is not offered, `broken` which files could not be used. `container` is how the first file stores its arrays.
    """

    source: Source
    container: str
    surfaces: tuple[Surface, ...]
    orientation: Orientation | None
    files: tuple[GridFile, ...]
    offers: Mapping[str, Offer]
    withheld: Mapping[str, FirecardError]
    broken: Mapping[Path, FirecardError]

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The grids to locate stations on: one, unless the model is a nest that moves."""
        return tuple(each.grid for each in self.surfaces)

    @property
    def grid(self) -> Grid:
        """The only grid; an error where it moves."""
        if len(self.surfaces) > 1:
            raise BadInput(
                f"{self.files[0].path}: the grid moves to {len(self.surfaces)} places; there is not one of it"
            )
        return self.surfaces[0].grid

    @property
    def times(self) -> Times:
        """All valid times (UTC), ascending."""
        return np.concatenate([each.times for each in self.files])

    @property
    def reference_time(self) -> np.datetime64 | None:
        """The cycle (UTC), None where the files do not say."""
        return next((each.reference_time for each in self.files if each.reference_time is not None), None)

    def offer(self, variable: str) -> Offer:
        """How the files offer a variable; where they do not, an error that names a file and says why."""
        if variable in self.offers:
            return self.offers[variable]
        if variable in self.withheld:
            reason = self.withheld[variable]
            raise type(reason)(str(reason))
        found = ", ".join(self.offers) or "no variable that is known here"
        raise BadInput(f"{self.files[0].path}: there is no {variable}; found {found}")


class Reader(Protocol):
    """What a format knows: to recognise its files, to find variables in one, and to say how its winds are turned."""

    def recognises(self, file: File) -> bool: ...

    def find(self, file: File, wishes: Wishes, known: Sequence[Grid]) -> Found:
        """What a file offers; a grid that is one of those already known is that one."""

    def rotation(self, file: File, found: Found, grid: Grid, step: int) -> tuple[Floats, Floats]: ...


def readers() -> Mapping[Source, Reader]:
    """The formats, the most particular first."""
    from tasks.readers import cf, wrf  # they build on the types above

    return {"wrf": wrf, "cf": cf}


def describe(
    paths: Iterable[Path | str],
    *,
    source: Source | None = None,
    wishes: Wishes | None = None,
    keep_going: bool = False,
) -> GridFiles:
    """What a set of files of one model run offers; the format is recognised unless `source` names it.

    All must lie on one grid (or be places of one moving nest), come from one cycle and share no valid time, unless they
    have the same times and different variables. A file that cannot be used is an error, or with `keep_going` an entry
    of `broken`, as long as one file is left.
    """
    wishes = wishes or Wishes()
    first: _First | None = None
    surfaces: list[Surface] = []
    offered: list[Found] = []
    files: list[GridFile] = []
    broken: dict[Path, FirecardError] = {}
    for path in (place(each) if isinstance(each, str) else each for each in paths):
        try:
            with opened(path) as file:
                chosen = source or _recognised(file)
                with explained(path):
                    found = readers()[chosen].find(file, wishes, [each.grid for each in surfaces])
                if first:
                    first.refuse_other(path, chosen, found)
                surfaces, which = _surfaces(file, readers()[chosen], found, surfaces)
        except FirecardError as error:
            if not keep_going:
                raise
            broken[path] = error
            continue
        first = first.with_winds(path, found) if first else _First.of(path, chosen, file.container, found)
        files.append(GridFile(path, file.look, found.times, found.reference_time, _usable(found), which))
        offered.append(replace(found, grids=()))  # nothing large is kept per file
    if first is None:
        raise next(iter(broken.values()), MissingInput("there are no model files: the list is empty"))
    files.sort(key=lambda each: each.times[0])
    _refuse_other_cycle(files)
    files = _joined(files)
    _refuse_overlap(files)
    offers = _offers(offered, wishes)
    withheld = {name: why for found in offered for name, why in found.withheld.items() if name not in offers}
    withheld = {**_half_a_wind(files, offers), **withheld}
    return GridFiles(
        first.source, first.container, tuple(surfaces), first.orientation, tuple(files), offers, withheld, broken
    )


def sample(files: GridFiles, variable: str, cells: Cells | Sequence[Cells]) -> Floats:
    """Values of a variable at stations, (time, station), in the unit that firecard keeps; missing as NaN.

    `cells` are those of the stations on the grid, or on each of `files.grids`.
    """
    return sample_all(files, (variable,), cells)[variable]


def sample_all(files: GridFiles, variables: Sequence[str], cells: Cells | Sequence[Cells]) -> dict[str, Floats]:
    """Values of several variables at stations, (time, station) each; every file is read once, one after the other."""
    parts = [sample_file(files, file, variables, cells) for file in files.files]
    return {variable: np.concatenate([part[variable] for part in parts]) for variable in variables}


def sample_file(
    files: GridFiles, file: GridFile, variables: Sequence[str], cells: Cells | Sequence[Cells]
) -> dict[str, Floats]:
    """Values of several variables of one file at stations, (time, station) each.

    Errors name the file and the variable. Only the box of rows and columns that holds all stations is read, a few times
    at once, so that memory does not grow with the length of a file.
    """
    nearby = [_Nearby.of(surface, each) for surface, each in zip(files.surfaces, _located(files, cells), strict=True)]
    offers = [files.offer(variable) for variable in variables]
    holders: dict[str, GridFile] = {}
    for part in dict.fromkeys(part for offer in offers for part in offer.recipe.needs):
        holder = file.holder(part)
        if holder is None:
            wanted = ", ".join(offer.variable for offer in offers if part in offer.recipe.needs)
            raise BadInput(f"{file.path}: there is no {part}, which other files have; {wanted} needs it")
        holders[part] = holder
    values = {offer.variable: np.empty((file.times.size, len(nearby[0].cells.inside))) for offer in offers}
    with ExitStack() as stack:
        sources = _sources(stack, holders)
        for steps in _steps(sources, file, max(each.points.size for each in nearby)):
            near = nearby[file.surface[steps.start]]
            at = {part: _at_points(*source, steps, near.points) for part, source in sources.items()}
            if near.rotation and "u" in at:
                at["u"], at["v"] = earth_relative(at["u"], at["v"], *near.rotation)
            for offer in offers:
                parts = {part: at[part] for part in offer.recipe.needs}
                values[offer.variable][steps] = offer.recipe.make(parts, near.cells.gather)
    return values


def _sources(stack: ExitStack, holders: Mapping[str, GridFile]) -> dict[str, tuple[File, Stored]]:
    """Every variable with the file that has it, open; each file is opened once."""
    files: dict[Path, File] = {}
    for each in holders.values():
        if each.path not in files:
            files[each.path] = stack.enter_context(opened(each.path, seen=each.look))
    return {part: (files[each.path], each.stored[part]) for part, each in holders.items()}


def _located(files: GridFiles, cells: Cells | Sequence[Cells]) -> Sequence[Cells]:
    """The stations' cells on every grid of the files."""
    located = [cells] if isinstance(cells, Cells) else cells
    asked, given = [each.shape for each in files.grids], [each.shape for each in located]
    if asked != given:
        raise MismatchedSample(
            f"{files.files[0].path}: stations were located on grids {given}, the files lie on grids {asked}"
        )
    return located


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Grid points, and the smallest box of rows and columns that holds them."""

    box: tuple[slice, ...]
    places: Integers

    @classmethod
    def of(cls, points: Integers, shape: tuple[int, ...]) -> Self:
        if not points.size:
            return cls((slice(0, 1),) * len(shape), points)
        along = np.unravel_index(points, shape)
        box = tuple(slice(int(each.min()), int(each.max()) + 1) for each in along)
        within = tuple(each - side.start for each, side in zip(along, box, strict=True))
        return cls(box, np.ravel_multi_index(within, tuple(each.stop - each.start for each in box)).astype(np.int64))

    @property
    def size(self) -> int:
        """Grid points in the box."""
        return math.prod(each.stop - each.start for each in self.box)


@dataclass(frozen=True, slots=True, eq=False)
class _Nearby:
    """The grid points that stations need, how the grid is turned there, and the cells that count these points only."""

    points: _Points
    rotation: tuple[Floats, Floats] | None
    cells: Cells

    @classmethod
    def of(cls, surface: Surface, cells: Cells) -> Self:
        inside = cells.index[cells.inside]
        # A station outside has no points of its own; it must not make the box larger.
        index = np.where(cells.inside[:, None], cells.index, inside.min(initial=cells.index.max(initial=0)))
        points, places = np.unique(index, return_inverse=True)
        turned = surface.rotation and (surface.rotation[0][points], surface.rotation[1][points])
        own = replace(cells, shape=(points.size,), index=places.reshape(cells.index.shape))
        return cls(_Points.of(points, cells.shape), turned, own)


def _steps(sources: Mapping[str, tuple[File, Stored]], described: GridFile, size: int) -> Iterator[slice]:
    """The times of a file, a few at once: on one grid, stored together, or as fit into a small piece of memory."""
    slab = size * 8
    together = max((file.together(each.name) for file, each in sources.values() if each.time == 0), default=1)
    together = together if together * slab <= PIECE else 1
    count = max(together, AT_ONCE // slab // together * together)
    moves = (np.flatnonzero(np.diff(described.surface)) + 1).tolist()
    for begin, end in pairwise((0, *moves, described.times.size)):
        for start in range(begin, end, count):
            yield slice(start, min(start + count, end))


def _at_points(file: File, stored: Stored, steps: slice, points: _Points) -> Floats:
    """Values of a few times at grid points, (time, point), in the unit that firecard keeps."""
    if stored.lacks:
        return _without_lacking(file, stored, steps, points)
    chosen: dict[int, int | slice] = {**dict(stored.at), **dict(zip(stored.across, points.box, strict=True))}
    if stored.time is not None:
        chosen[stored.time] = slice(steps.start + stored.first, steps.stop + stored.first)
    raw = file.read(stored.name, *(chosen[axis] for axis in range(len(chosen))))
    left = [axis for axis in range(len(chosen)) if isinstance(chosen[axis], slice)]
    order = ([] if stored.time is None else [left.index(stored.time)]) + [left.index(axis) for axis in stored.across]
    flat = raw.transpose(order).reshape(steps.stop - steps.start, -1)[:, points.places]
    values = file.physical(stored.name, flat)
    try:
        return np.asarray(convert(values, stored.unit, stored.kept_unit), dtype=np.float64)
    except UnknownUnit as error:
        raise UnknownUnit(f"{file.path}: {stored.name}: {error}") from None


def _without_lacking(file: File, stored: Stored, steps: slice, points: _Points) -> Floats:
    """Values of a variable that has not all of the file's times, missing at the others."""
    values = np.full((steps.stop - steps.start, points.places.size), np.nan)
    there = [step for step in range(steps.start, steps.stop) if step not in stored.lacks]
    if there:
        own = [step - sum(each < step for each in stored.lacks) for step in (there[0], there[-1])]
        read = _at_points(file, replace(stored, lacks=frozenset()), slice(own[0], own[1] + 1), points)
        values[np.array(there) - steps.start] = read
    return values


def _as_stored(name: str, at: Parts, gather: Gather) -> Floats:
    return gather(at[name])


def _angle_as_stored(name: str, at: Parts, gather: Gather) -> Floats:
    """An angle in degrees, interpolated as a vector of length 1."""
    return speed_and_direction(*(gather(each) for each in components(1.0, at[name])))[1]  # type: ignore[no-any-return]


def _component(number: int, at: Parts, gather: Gather) -> Floats:
    return gather(_eastward_northward(at)[number])


def _speed_or_direction(number: int, at: Parts, gather: Gather) -> Floats:
    u, v = (gather(each) for each in _eastward_northward(at))
    return speed_and_direction(u, v)[number]  # type: ignore[no-any-return]


def _eastward_northward(at: Parts) -> tuple[Floats, Floats]:
    if "u" in at:
        return at["u"], at["v"]
    return components(at["wind_speed"], at["wind_direction"])


def _humidity_of_mixing_ratio(at: Parts, gather: Gather) -> Floats:
    """Bolton's saturation pressure, and the mixing ratio at saturation, as WRF's own tools compute it."""
    saturation = saturation_pressure(at["temperature"])
    with np.errstate(divide="ignore", invalid="ignore"):
        at_saturation = 0.622 * saturation / (at["pressure"] - (1 - 0.622) * saturation)
        humidity = 100 * at["mixing_ratio"] / at_saturation
    return gather(np.where(at_saturation > 0, np.clip(humidity, 0, 100), np.nan))


def _humidity_of_dew_point(at: Parts, gather: Gather) -> Floats:
    return gather(np.clip(100 * saturation_pressure(at["dew_point"]) / saturation_pressure(at["temperature"]), 0, 100))


def saturation_pressure(temperature: Floats) -> Floats:
    """Vapour pressure at saturation over water in Pa, of a temperature in °C (Bolton 1980); missing below −200 °C.

    >>> float(saturation_pressure(np.array(0.0)))
    611.2
    """
    temperature = np.where(temperature > -200, temperature, np.nan)
    return np.asarray(611.2 * np.exp(17.67 * temperature / (temperature + 243.5)))


OF_COMPONENTS = (("u", "v"), "from the components, interpolated as such")
OF_SPEED_AND_DIRECTION = (
    ("wind_speed", "wind_direction"),
    "from components made of stored speed and direction, interpolated as such",
)
RECIPES: Mapping[str, tuple[Recipe, ...]] = {
    **{
        name: tuple(
            Recipe(needs, how, partial(_component, number)) for needs, how in (OF_COMPONENTS, OF_SPEED_AND_DIRECTION)
        )
        for number, name in enumerate(("u", "v"))
    },
    "wind_speed": (
        Recipe(*OF_COMPONENTS, partial(_speed_or_direction, 0)),
        Recipe(("wind_speed",), "as stored", partial(_as_stored, "wind_speed")),
    ),
    "wind_direction": (
        Recipe(*OF_COMPONENTS, partial(_speed_or_direction, 1)),
        Recipe(*OF_SPEED_AND_DIRECTION, partial(_speed_or_direction, 1)),
        Recipe(("wind_direction",), "stored direction as a unit vector", partial(_angle_as_stored, "wind_direction")),
    ),
    "relative_humidity": (
        Recipe(("relative_humidity",), "as stored", partial(_as_stored, "relative_humidity")),
        Recipe(("temperature", "mixing_ratio", "pressure"), "from mixing ratio", _humidity_of_mixing_ratio),
        Recipe(("temperature", "dew_point"), "from dew point", _humidity_of_dew_point),
    ),
}
"""Ways to a variable, the best first."""


def _ways(variable: Variable) -> tuple[Recipe, ...]:
    if variable.name in RECIPES:
        return RECIPES[variable.name]
    if variable.kind == "angle":
        return (Recipe((variable.name,), "stored angle as a unit vector", partial(_angle_as_stored, variable.name)),)
    return (Recipe((variable.name,), "as stored", partial(_as_stored, variable.name)),)


def _offers(founds: Sequence[Found], wishes: Wishes) -> dict[str, Offer]:
    """What can be made of what is stored in at least one file."""
    stored: dict[str, Stored] = {}
    for found in founds:
        stored = {**_usable(found), **stored}
    names = dict.fromkeys((*WIND, *RECIPES, *stored))
    offers = {}
    for variable in (wishes.variable(name) for name in names if name not in INGREDIENTS):
        possible = [way for way in _ways(variable) if stored.keys() >= set(way.needs)]
        # What the case names itself goes before what firecard would choose.
        possible.sort(key=lambda way: not wishes.names.keys() >= set(way.needs))
        if possible:
            parts = [stored[part] for part in possible[0].needs]
            offers[variable.name] = Offer(
                variable=variable.name,
                unit=variable.unit,
                recipe=possible[0],
                stored_as=tuple(each.name for each in parts),
                height=parts[0].height,
                statistic=parts[0].statistic,
            )
    return offers


def _half_a_wind(files: Sequence[GridFile], offers: Mapping[str, Offer]) -> dict[str, FirecardError]:
    """Why there is no wind where only one of its components is."""
    held = {name: part for file in files for part in file.parts for name in part.stored if name in COMPONENTS}
    if "wind_speed" in offers or len(held) != 1:
        return {}
    ((here, file),) = held.items()
    lacking = COMPONENTS[1 - COMPONENTS.index(here)]
    why = BadInput(
        f"{file.path}: {file.stored[here].name} is the {PARTS[here].title.lower()}, and the "
        f"{PARTS[lacking].title.lower()} is missing; if a file of its own has it, one path must find both files"
    )
    return dict.fromkeys(("wind_speed", "wind_direction"), why)


def _usable(found: Found) -> dict[str, Stored]:
    """What is stored, without wind whose orientation is unknown."""
    return {name: each for name, each in found.stored.items() if found.orientation or name not in COMPONENTS}


def _recognised(file: File) -> Source:
    for source, reader in readers().items():
        if reader.recognises(file):
            return source
    raise BadInput(f"{file.path}: neither WRF output nor CF: there is no variable with a latitude and a longitude")


@dataclass(frozen=True, slots=True, eq=False)
class _First:
    """The first file of a set: the others must go with it; and the first that has wind, by its path and orientation."""

    path: Path
    source: Source
    container: str
    found: Found
    orientation: Orientation | None
    windy: Path | None

    @classmethod
    def of(cls, path: Path, source: Source, container: str, found: Found) -> Self:
        return cls(path, source, container, found, found.orientation, path if found.stored.keys() & {*WIND} else None)

    def with_winds(self, path: Path, found: Found) -> Self:
        """The same, with the wind of another file where there was none yet."""
        if self.windy or not found.stored.keys() & {*WIND}:
            return self
        return replace(self, orientation=found.orientation, windy=path)

    def refuse_other(self, path: Path, source: Source, found: Found) -> None:
        """Refuse a file that does not belong to the first one."""
        if source != self.source:
            raise BadInput(f"{path}: is {source}, but {self.path} is {self.source}; a model has one format")
        ours, theirs = self.found.grids[0], found.grids[0]
        if theirs.kind != ours.kind or theirs.shape != ours.shape:
            raise BadInput(
                f"{path}: lies on another grid than {self.path}: {theirs.kind} {theirs.shape} "
                f"against {ours.kind} {ours.shape}"
            )
        if not found.moves and not _same(ours, theirs):
            raise BadInput(f"{path}: lies on another grid than {self.path}: latitudes or longitudes differ")
        for name in (*self.found.domain, *found.domain):
            if found.domain.get(name) != self.found.domain.get(name):
                raise BadInput(
                    f"{path}: is of another domain than {self.path}: "
                    f"{name} = {found.domain.get(name)} against {self.found.domain.get(name)}"
                )
        if self.windy and found.stored.keys() & {*WIND} and found.orientation != self.orientation:
            known = [each.known_from if each else "unknown" for each in (found.orientation, self.orientation)]
            raise BadInput(f"{path}: orientation of winds ({known[0]}) is not that of {self.windy} ({known[1]})")


def _same(one: Grid, other: Grid) -> bool:
    return one is other or (one.kind == other.kind and lies_at(one, other.latitude, other.longitude))


def lies_at(grid: Grid, latitude: Floats, longitude: Floats) -> bool:
    """Whether a grid has exactly these coordinates."""
    pairs = ((grid.latitude, latitude), (grid.longitude, longitude))
    return all(np.array_equal(ours, theirs) or np.array_equal(ours, theirs, equal_nan=True) for ours, theirs in pairs)


def _surfaces(file: File, reader: Reader, found: Found, known: Sequence[Surface]) -> tuple[list[Surface], Integers]:
    """The known surfaces with those of a file, and on which of them each of its times lies.

    What a known one lacks, because the file that it comes from has no wind or no terrain, is read from this one.
    """
    surfaces, places = list(known), []
    for number, grid in enumerate(found.grids):
        place = next((place for place, each in enumerate(surfaces) if _same(each.grid, grid)), len(surfaces))
        step = int((found.which == number).argmax())
        if place == len(surfaces):
            surfaces.append(_surface(file, reader, found, grid, step))
        else:
            lacks = surfaces[place]
            rotation = lacks.rotation or _rotation(file, reader, found, grid, step)
            terrain = _terrain(file, found, grid, step) if lacks.terrain is None else lacks.terrain
            surfaces[place] = replace(lacks, rotation=rotation, terrain=terrain)
        places.append(place)
    return surfaces, np.array(places)[found.which]


def _surface(file: File, reader: Reader, found: Found, grid: Grid, step: int) -> Surface:
    return Surface(
        grid=grid,
        terrain=_terrain(file, found, grid, step),
        rotation=_rotation(file, reader, found, grid, step),
    )


def _terrain(file: File, found: Found, grid: Grid, step: int) -> Floats | None:
    if found.terrain is None:
        return None
    everywhere = _Points.of(np.arange(math.prod(grid.shape)), grid.shape)
    terrain: Floats = _at_points(file, found.terrain, slice(step, step + 1), everywhere)[0]
    return terrain


def _rotation(file: File, reader: Reader, found: Found, grid: Grid, step: int) -> tuple[Floats, Floats] | None:
    turned = found.orientation is not None and found.orientation.relative_to == "grid"
    return reader.rotation(file, found, grid, step) if turned else None


def _joined(files: Sequence[GridFile]) -> list[GridFile]:
    """Files of the same times with different variables as one; those that share a variable stay apart."""
    joined: dict[bytes, GridFile] = {}
    apart: list[GridFile] = []
    for each in files:
        before = joined.setdefault(each.times.tobytes(), each)
        if before is each:
            continue
        if any(before.holder(name) for name in each.stored) or not np.array_equal(before.surface, each.surface):
            apart.append(each)
            continue
        _refuse_other_height(before, each)
        joined[each.times.tobytes()] = replace(before, beside=(*before.beside, each))
    return sorted([*joined.values(), *apart], key=lambda each: each.times[0])


def _refuse_other_height(before: GridFile, after: GridFile) -> None:
    """Two components, or speed and direction, make one wind only at one height."""
    for one, two in (("u", "v"), ("v", "u"), ("wind_speed", "wind_direction"), ("wind_direction", "wind_speed")):
        holder = before.holder(one)
        if holder and two in after.stored and holder.stored[one].height != after.stored[two].height:
            raise BadInput(
                f"{after.path}: {after.stored[two].name} is not at the height of {holder.stored[one].name} "
                f"in {holder.path}"
            )


def _refuse_overlap(files: Sequence[GridFile]) -> None:
    for before, after in pairwise(files):
        if after.times[0] <= before.times[-1]:
            shared = ", ".join(name for name in after.stored if before.holder(name))
            both = f"; both have {shared}" if shared else ""
            raise BadInput(
                f"{after.path}: starts at {moment(after.times[0])}, which {before.path} reaches as well "
                f"(until {moment(before.times[-1])}){both}; which of the two to take is not known"
            )


def _refuse_other_cycle(files: Sequence[GridFile]) -> None:
    known = [each for each in files if each.reference_time is not None]
    for each in known[1:]:
        if each.reference_time != known[0].reference_time:
            raise BadInput(
                f"{each.path}: is of the cycle {moment(each.reference_time)}, "
                f"but {known[0].path} of {moment(known[0].reference_time)}; a forecast is of one cycle"
            )


def moment(time: np.datetime64 | None) -> str:
    """A time as people write it: `2005-08-28 12:00 UTC`."""
    return np.datetime_as_string(np.datetime64(time), unit="m").replace("T", " ") + " UTC"


def checked_times(path: Path, times: Times) -> Times:
    """Valid times that are there and run forwards."""
    if not times.size:
        raise BadInput(f"{path}: there are no valid times in it")
    if np.isnat(times).any():
        raise BadInput(f"{path}: valid time {int(np.isnat(times).argmax()) + 1} of {times.size} is missing")
    wrong = np.diff(times) <= np.timedelta64(0)
    if wrong.any():
        here = int(wrong.argmax())
        raise BadInput(
            f"{path}: valid times do not run forwards: {moment(times[here])} is followed by {moment(times[here + 1])}"
        )
    return times.astype("datetime64[ns]")


def decoded_times(file: File, name: str) -> Times:
    """The times (UTC) of a variable with units such as `hours since 1900-01-01`, to the second."""
    import xarray as xr

    attributes = {key: file.text(name, key) for key in ("units", "calendar") if file.text(name, key)}
    calendar = attributes.get("calendar", "standard")
    if calendar.lower() not in ("standard", "gregorian", "proleptic_gregorian"):
        raise BadInput(f"{file.path}: {name} counts in the calendar {calendar!r}, which observations do not")
    numbers = file.values(name).ravel()
    try:
        decoded = xr.decode_cf(xr.Dataset({"time": ("at", numbers, attributes)}))["time"].values
        rounded = (decoded.astype("datetime64[ms]") + np.timedelta64(500, "ms")).astype("datetime64[s]")
    except (ValueError, OverflowError, TypeError) as error:
        raise BadInput(f"{file.path}: {name} is not a time: {attributes.get('units', 'no units')!r}") from error
    return rounded.astype("datetime64[ns]")


def unit_of(file: File, name: str, variable: Variable) -> str:
    """The unit of a file's variable, once it is known to convert to the one that firecard keeps."""
    unit = file.text(name, "units").replace("_true", "")  # degrees from true north are degrees
    if not unit:
        raise UnknownUnit(f"{file.path}: {name} has no units, expected some that convert to {variable.unit!r}")
    try:
        convert(0.0, unit, variable.unit)
    except UnknownUnit as error:
        raise UnknownUnit(f"{file.path}: {name}: {error}") from None
    return unit


def named(file: File, names: Mapping[str, str]) -> Mapping[str, str]:
    """The names that a case gives, once all of them are known to be there."""
    for variable, name in names.items():
        if name not in file:
            close = difflib.get_close_matches(name, file.names, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise BadInput(f"{file.path}: there is no variable {name}, which the case names for {variable}{hint}")
    return names


def degrees(file: File, name: str, values: Floats, most: float) -> Floats:
    """Coordinates, once they are known to be on the earth; a missing one is NaN."""
    if not np.isfinite(values).any() or np.nanmax(np.abs(values)) > most:
        raise BadInput(f"{file.path}: {name} is not in degrees within ±{most:g}, which a coordinate must be")
    return values
