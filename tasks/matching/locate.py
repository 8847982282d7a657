"""Where stations lie on a grid: the points around each of them and what every point weighs.

A cell of a curvilinear grid is the quadrilateral of four neighbouring points, with great circles for edges. A station's
place (a, b) in it is the one whose mix of the four corners, taken as vectors in space, points at the station. Seen from
the station, in the plane that touches the earth there, this is a flat quadrilateral; so poles and the date line are
places like any other. On a rectilinear grid parallels and meridians are the edges, and the mix is one of degrees.

A station outside is never extrapolated to. Outside means:

rows and columns        in none of the cells; an edge belongs to its cell. The same for every method, so that all have
                        the same stations
mesh, or a single row   farther from the nearest point than twice the spacing there (the median distance of that point
                        to its three nearest neighbours), or farther than `max_distance` where that is given
any                     a latitude beyond ±90°, a longitude beyond −180°..360°, a missing coordinate
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from metrics.errors import BadInput, BadParameter

How: TypeAlias = Literal["bilinear", "nearest", "inverse_distance"]
Metric: TypeAlias = Literal["planar", "great_circle"]
Kind: TypeAlias = Literal["rectilinear", "curvilinear", "mesh"]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

EARTH_RADIUS = 6_371_000.0
"""Metres; only distances in metres (`max_distance`) depend on it."""

EDGE = 1e-9  # of a cell: what rounding of coordinates may push a station on the hull outward
ON_LINE = 2e-13  # of a cell: nearer to a grid line than this is on it, so that a missing point beyond does not matter
ON_POINT = 1e-12  # radians or degrees: nearer to a point than this is on it
PAIRS_AT_ONCE = 1_000_000  # station-cell pairs tried together, which bounds the memory
KEPT = 32  # located station sets that stay in memory


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Grid:
    """The points of a model in degrees, by rows and columns or as a mesh; a missing coordinate is NaN."""

    kind: Kind
    latitude: Floats
    longitude: Floats

    @classmethod
    def rectilinear(cls, latitude: ArrayLike, longitude: ArrayLike) -> Self:
        """Rows of one latitude and columns of one longitude each, both running up or down."""
        latitude, longitude = _floats(latitude), _floats(longitude)
        for name, axis in (("latitude", latitude), ("longitude", longitude)):
            if axis.ndim != 1 or not axis.size:
                raise BadInput(f"{name} of a rectilinear grid has shape {axis.shape}, expected one axis")
        if not _monotonic(latitude) or np.abs(latitude).max() > 90 + 1e-3:
            raise BadInput(f"latitude axis does not run steadily within ±90°: {_glimpse(latitude)}")
        if not _monotonic(_unwrapped(longitude)):
            raise BadInput(f"longitude axis does not run steadily: {_glimpse(longitude)}")
        return cls("rectilinear", latitude, longitude)

    @classmethod
    def curvilinear(cls, latitude: ArrayLike, longitude: ArrayLike) -> Self:
        """Points by row and column, each with its own latitude and longitude."""
        return cls("curvilinear", *_points(latitude, longitude, dimensions=2, kind="curvilinear grid"))

    @classmethod
    def mesh(cls, latitude: ArrayLike, longitude: ArrayLike) -> Self:
        """Points in no order: elements of a mesh, or a list of sites."""
        return cls("mesh", *_points(latitude, longitude, dimensions=1, kind="mesh"))

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns), or (points,) of a mesh."""
        if self.kind == "rectilinear":
            return (self.latitude.size, self.longitude.size)
        return self.latitude.shape

    @property
    def key(self) -> str:
        """What tells this grid from every other."""
        return grid_key(self.latitude, self.longitude, kind=self.kind)

    def points(self) -> tuple[Floats, Floats]:
        """Latitude and longitude of every point, row after row."""
        if self.kind == "rectilinear":
            rows, columns = np.meshgrid(self.latitude, self.longitude, indexing="ij")
            return rows.ravel(), columns.ravel()
        return self.latitude.ravel(), self.longitude.ravel()


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The grid points of each station and their weights: what a station's value is made of, in every field.

    `index` (station, k) counts grid points row after row, ascending for each station; `weight` (station, k) sums to 1;
    a station that is not `inside` has index 0 and weight NaN.
    """

    shape: tuple[int, ...]
    index: Integers
    weight: Floats
    inside: Flags

    def __post_init__(self) -> None:
        stations = self.inside.shape
        if self.index.ndim != 2 or self.index.shape != self.weight.shape or self.index.shape[:1] != stations:
            raise BadInput(f"index {self.index.shape}, weight {self.weight.shape} and inside {stations} do not fit")
        size = int(np.prod(self.shape))
        if self.index.size and not (self.index.min() >= 0 and self.index.max() < size):
            raise BadInput(f"index {self.index.min()}..{self.index.max()} leaves the grid of {size} points")
        for array in (self.index, self.weight, self.inside):
            array.setflags(write=False)  # a value is shared by everyone who asks for the same stations

    def gather(self, values: ArrayLike) -> Floats:
        """Values (…, grid points) at the stations (…, station), as float64.

        Missing outside the grid and where a point that counts is missing; a missing point of weight 0 does not count.
        Terms are added in the order of the grid points, so the same inputs give the same bits.

        >>> cells = locate(Grid.rectilinear([0, 1], [0, 1]), [0.5], [0.25], how="bilinear")
        >>> cells.gather([0.0, 4.0, 10.0, 14.0])
        array([6.])
        """
        if isinstance(values, np.ma.MaskedArray):
            values = _floats(values)
        values = np.asarray(values)
        size = int(np.prod(self.shape))
        if not values.ndim or values.shape[-1] != size:
            raise BadInput(f"values of shape {values.shape} do not end in the {size} points of the grid {self.shape}")
        total = np.zeros((*values.shape[:-1], self.inside.size))
        for index, weight in zip(self.index.T, self.weight.T, strict=True):
            total += np.where(weight == 0, 0.0, values[..., index]) * weight
        return total

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays to store; `of_arrays` takes them back."""
        return {"shape": np.array(self.shape), "index": self.index, "weight": self.weight, "inside": self.inside}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Self:
        """The cells that `as_arrays` wrote."""
        missing = {"shape", "index", "weight", "inside"} - arrays.keys()
        if missing:
            raise BadInput(f"stored cells lack {', '.join(sorted(missing))}")
        return cls(
            shape=tuple(int(length) for length in np.asarray(arrays["shape"])),
            index=np.array(arrays["index"], dtype=np.int64),
            weight=np.array(arrays["weight"], dtype=np.float64),
            inside=np.array(arrays["inside"], dtype=np.bool_),
        )


def grid_key(latitude: ArrayLike, longitude: ArrayLike, **facts: object) -> str:
    """A digest of coordinates and of whatever else tells two grids apart; float32 and float64 of equal value agree."""
    digest = hashlib.sha256(repr(sorted(facts.items())).encode())
    for values in (latitude, longitude):
        values = _floats(values)
        digest.update(repr(values.shape).encode())
        digest.update(values.astype("<f8", order="C", copy=False).tobytes())
    return digest.hexdigest()


_kept: OrderedDict[str, Cells] = OrderedDict()
_keeping = Lock()


def locate(
    grid: Grid,
    latitude: ArrayLike,
    longitude: ArrayLike,
    *,
    how: How,
    k: int = 5,
    power: float = 2.0,
    metric: Metric = "great_circle",
    max_distance: float | None = None,
) -> Cells:
    """The grid points and weights of stations at `latitude`, `longitude` in degrees.

    bilinear            the four corners of the cell; exact for a field that is linear in the grid's rows and columns
    nearest             the nearest point by great circle
    inverse_distance    the `k` nearest points (all, if there are fewer) by 1 / distance ** `power`, the distance being
                        along the great circle, or in `planar` degrees of latitude and longitude; a station on a point
                        takes that point

    Of points equally near, those that come first in the grid are taken. `max_distance`, in metres from the nearest
    point, also limits `nearest` and `inverse_distance`. Answers are kept in memory and shared.
    """
    _check(grid, how, k, power, metric, max_distance)
    lat, lon = np.atleast_1d(_floats(latitude)), np.atleast_1d(_floats(longitude))
    if lat.shape != lon.shape or lat.ndim != 1:
        raise BadInput(f"station latitudes {lat.shape} and longitudes {lon.shape} are not two lists of equal length")
    key = grid_key(lat, lon, grid=grid.key, how=how, k=k, power=float(power), metric=metric, max_distance=max_distance)
    with _keeping:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    possible = (np.abs(lat) <= 90) & (lon >= -180) & (lon <= 360)  # False where missing, too
    index, weight = _weights(grid, lat[possible], lon[possible], how, k, power, metric, max_distance)
    cells = _spread(grid.shape, possible, index, weight)
    with _keeping:
        _kept[key] = cells
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return cells


def _check(grid: Grid, how: str, k: int, power: float, metric: str, max_distance: float | None) -> None:
    if how not in get_args(How):
        raise BadParameter(f"how = {how!r}, expected one of {', '.join(get_args(How))}")
    if metric not in get_args(Metric):
        raise BadParameter(f"metric = {metric!r}, expected one of {', '.join(get_args(Metric))}")
    if k < 1:
        raise BadParameter(f"k = {k}, expected at least 1 neighbour")
    if not (np.isfinite(power) and power >= 0):
        raise BadParameter(f"power = {power}, expected 0 or more")
    if max_distance is not None and not max_distance >= 0:
        raise BadParameter(f"max_distance = {max_distance}, expected metres, 0 or more")
    if how == "bilinear" and grid.kind == "mesh":
        raise BadParameter("bilinear needs rows and columns, and a mesh has none: use nearest or inverse_distance")
    if how == "bilinear" and min(grid.shape) < 2:
        raise BadParameter(f"bilinear needs two rows and two columns, and the grid has shape {grid.shape}: use nearest")


def _weights(
    grid: Grid, lat: Floats, lon: Floats, how: How, k: int, power: float, metric: Metric, max_distance: float | None
) -> tuple[Integers, Floats]:
    """Index and weight of stations with possible coordinates; weight NaN outside."""
    if how == "bilinear":
        corners, a, b, inside = _enclosing(grid, lat, lon)
        weight = np.stack([(1 - a) * (1 - b), a * (1 - b), a * b, (1 - a) * b], axis=1)
        weight[~inside] = np.nan
        return corners, weight
    points = _PointSet.of(grid)
    first, distance = points.nearest(lat, lon)
    if grid.kind != "mesh" and min(grid.shape) >= 2:
        *_, inside = _enclosing(grid, lat, lon)
    elif max_distance is None:
        inside = distance <= 2 * points.spacing(first)
    else:
        inside = np.ones(lat.shape, dtype=np.bool_)
    if max_distance is not None:
        inside = inside & (distance * EARTH_RADIUS <= max_distance)
    if how == "nearest":
        index, weight = points.number[first][:, None], np.ones((lat.size, 1))
    else:
        index, weight = points.by_inverse_distance(lat, lon, k, power, metric)
    weight[~inside] = np.nan
    return index, weight


def _spread(shape: tuple[int, ...], possible: Flags, index: Integers, weight: Floats) -> Cells:
    """Cells of all stations from those of the possible ones, each station's points in ascending order."""
    order = np.argsort(index, axis=1, kind="stable")
    all_index = np.zeros((possible.size, index.shape[1]), dtype=np.int64)
    all_weight = np.full((possible.size, index.shape[1]), np.nan)
    all_index[possible] = np.take_along_axis(index, order, axis=1)
    all_weight[possible] = np.take_along_axis(weight, order, axis=1)
    inside = ~np.isnan(all_weight[:, 0])
    all_index[~inside] = 0
    return Cells(shape, all_index, all_weight, inside)


# --- the cell around a station -------------------------------------------------------------------------------------


def _enclosing(grid: Grid, lat: Floats, lon: Floats) -> tuple[Integers, Floats, Floats, Flags]:
    """Corners (station, 4) of the cell around each station, its place a along the columns and b along the rows."""
    axes = _axes(grid)
    corners, a, b, excess = _on_axes(*axes, lat, lon) if axes else _in_quadrilaterals(grid, lat, lon)
    inside = excess <= EDGE
    corners = np.where(inside[:, None], corners, 0)
    return corners, _settled(a, inside), _settled(b, inside), inside


def _settled(place: Floats, inside: Flags) -> Floats:
    """A place in a cell, put on the grid line that it misses by rounding only."""
    place = np.where(inside, place, 0.0)
    return np.where(place < ON_LINE, 0.0, np.where(place > 1 - ON_LINE, 1.0, place))


def _axes(grid: Grid) -> tuple[Floats, Floats] | None:
    """Latitude of rows and longitude of columns, also of a curvilinear grid that is a rectilinear one written out."""
    if grid.kind == "rectilinear":
        return grid.latitude, grid.longitude
    rows, columns = grid.latitude[:, 0], grid.longitude[0]
    written_out = (grid.latitude == rows[:, None]).all() and (grid.longitude == columns).all()
    return (rows, columns) if written_out and _monotonic(rows) and _monotonic(_unwrapped(columns)) else None


def _on_axes(rows: Floats, columns: Floats, lat: Floats, lon: Floats) -> tuple[Integers, Floats, Floats, Floats]:
    """Corners, place and how far outside (in cells) on a grid of parallels and meridians."""
    width = columns.size
    columns = _unwrapped(columns)
    number = np.arange(width)
    turn = np.copysign(360.0, columns[-1] - columns[0])
    widest = np.abs(np.diff(columns)).max()
    gap = 360 - abs(columns[-1] - columns[0])
    if 0 < gap <= widest * 1.001:  # round the globe: the first column follows the last
        columns, number = np.append(columns, columns[0] + turn), np.append(number, 0)
    lon = _turned(lon, (columns[0] + columns[-1]) / 2)
    west, a, beyond = _on_axis(columns, lon)
    south, b, excess = _on_axis(rows, lat)
    here, there = number[west], number[west + 1]
    low, high = south * width, (south + 1) * width
    return np.stack([low + here, low + there, high + there, high + here], axis=1), a, b, np.maximum(excess, beyond)


def _on_axis(axis: Floats, at: Floats) -> tuple[Integers, Floats, Floats]:
    """The step of a monotonic axis around each value, the place in it, and how far outside, in steps."""
    upward = axis if axis[-1] > axis[0] else -axis
    at = at if axis[-1] > axis[0] else -at
    step = np.clip(np.searchsorted(upward, at, side="right") - 1, 0, axis.size - 2)
    place = (at - upward[step]) / (upward[step + 1] - upward[step])
    return step, place, _beyond(place)


def _beyond(place: Floats) -> Floats:
    """How far a place lies outside 0..1."""
    return np.maximum(np.maximum(-place, place - 1), 0.0)


def _in_quadrilaterals(grid: Grid, lat: Floats, lon: Floats) -> tuple[Integers, Floats, Floats, Floats]:
    """Corners, place and how far outside (in cells) on a curvilinear grid.

    Every cell lies in the cap around its middle that reaches its farthest corner, so the cells whose caps hold a
    station are all that can hold it, however skewed the grid. Cells are sought by size, lest a few large ones make
    every search wide.
    """
    best = _Best.none(lat.size)
    searches = [_Search(caps, grid) for caps in _caps(grid)]
    station = np.arange(lat.size)
    target = _unit(lat, lon)
    for search in searches:
        best.improve(*search.first(station, target, lat, lon))
        station = best.left()
    for search in searches:
        for pairs in search.all(station, target, lat, lon):
            best.improve(*pairs)
        station = best.left()
    return _corners(best.cell, grid.shape[1]), best.a, best.b, best.excess


@dataclass(frozen=True, slots=True, eq=False)
class _Caps:
    """Cells of one size (within a factor of two): number, middle on the unit sphere, chord to the farthest corner."""

    cell: Integers
    middle: Floats
    reach: Floats


def _caps(grid: Grid) -> list[_Caps]:
    """The usable cells by size, the most frequent size first; a cell with a missing corner or of no size has no cap."""
    points = _unit(grid.latitude, grid.longitude)
    corners = (points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1])
    middle = sum(corners[1:], start=corners[0]).reshape(-1, 3)
    length = np.linalg.norm(middle, axis=1)
    usable = np.flatnonzero(length > 0)  # False where missing
    middle = middle[usable] / length[usable, None]
    reach = np.zeros(usable.size)
    for corner in corners:
        np.maximum(reach, np.linalg.norm(corner.reshape(-1, 3)[usable] - middle, axis=1), out=reach)
    within = (reach > ON_POINT) & (reach < 1.4)  # a cell that spans a hemisphere has no inside
    usable, middle, reach = usable[within], middle[within], reach[within]
    size = np.frexp(reach)[1]
    sizes, count = np.unique(size, return_counts=True)
    chosen = [size == each for each in sizes[np.argsort(-count, kind="stable")]]
    return [_Caps(usable[which], middle[which], reach[which]) for which in chosen]


class _Search:
    """Tries stations in the cells of one size; answers (station, cell, a, b, excess)."""

    def __init__(self, caps: _Caps, grid: Grid) -> None:
        self.caps, self.grid = caps, grid
        self.tree = cKDTree(caps.middle, balanced_tree=False, compact_nodes=False)
        self.radius = caps.reach.max() * (1 + 1e-6)

    def first(self, station: Integers, target: Floats, lat: Floats, lon: Floats) -> "_Found":
        """The cell with the nearest middle: nearly always the right one."""
        distance, near = self.tree.query(target[station], distance_upper_bound=self.radius)
        reached = np.isfinite(distance)
        return self._tried(station[reached], near[reached], lat, lon)

    def all(self, station: Integers, target: Floats, lat: Floats, lon: Floats) -> Iterator["_Found"]:
        """Every cell whose cap holds the station."""
        if not station.size:
            return
        count = self.tree.query_ball_point(target[station], self.radius, return_length=True)
        station, count = station[count > 0], count[count > 0]
        portion = np.cumsum(count) // PAIRS_AT_ONCE
        for which in np.unique(portion):
            some, repeats = station[portion == which], count[portion == which]
            near = np.concatenate(self.tree.query_ball_point(target[some], self.radius)).astype(np.int64)
            some = np.repeat(some, repeats)
            distance = np.linalg.norm(self.caps.middle[near] - target[some], axis=1)
            held = distance <= self.caps.reach[near] * (1 + 1e-6)
            yield self._tried(some[held], near[held], lat, lon)

    def _tried(self, station: Integers, near: Integers, lat: Floats, lon: Floats) -> "_Found":
        cell = self.caps.cell[near]
        corners = _corners(cell, self.grid.shape[1])
        corner_lat, corner_lon = self.grid.latitude.ravel()[corners], self.grid.longitude.ravel()[corners]
        east, north = _seen_from(lat[station, None], lon[station, None], corner_lat, corner_lon)
        return station, cell, *_place(east, north)


_Found: TypeAlias = tuple[Integers, Integers, Floats, Floats, Floats]


@dataclass(slots=True, eq=False)
class _Best:
    """The best cell so far of every station: the one it lies in, or is least outside of."""

    cell: Integers
    a: Floats
    b: Floats
    excess: Floats

    @classmethod
    def none(cls, stations: int) -> Self:
        return cls(np.zeros(stations, dtype=np.int64), *(np.full(stations, value) for value in (0.0, 0.0, np.inf)))

    def left(self) -> Integers:
        """Stations that no cell holds yet."""
        return np.flatnonzero(self.excess > 0)

    def improve(self, station: Integers, cell: Integers, a: Floats, b: Floats, excess: Floats) -> None:
        """Take what is better; of equally good cells the one that comes first in the grid."""
        order = np.lexsort((cell, excess, station))
        firsts = np.flatnonzero(np.diff(station[order], prepend=-1))
        chosen = order[firsts]
        chosen = chosen[excess[chosen] < self.excess[station[chosen]]]
        where = station[chosen]
        self.cell[where], self.a[where], self.b[where] = cell[chosen], a[chosen], b[chosen]
        self.excess[where] = excess[chosen]


def _corners(cell: Integers, columns: int) -> Integers:
    """Grid points of cells, round each: here, next column, next column and row, next row."""
    here = cell // (columns - 1) * columns + cell % (columns - 1)
    return np.stack([here, here + 1, here + columns + 1, here + columns], axis=1)


def _seen_from(lat: Floats, lon: Floats, corner_lat: Floats, corner_lon: Floats) -> tuple[Floats, Floats]:
    """East and north part of corners in the plane that touches the earth at a station; NaN beyond its horizon.

    Written in differences of degrees, which are exact for near points, so that small cells lose no digits.
    """
    turn = np.radians(corner_lon - lon)
    sine, cosine = np.sin(np.radians(lat)), _cosine(lat)
    corner_cosine = _cosine(corner_lat)
    east = corner_cosine * np.sin(turn)
    north = np.sin(np.radians(corner_lat - lat)) + 2 * sine * corner_cosine * np.sin(turn / 2) ** 2
    height = sine * np.sin(np.radians(corner_lat)) + cosine * corner_cosine * np.cos(turn)
    return np.where(height > 0, east, np.nan), north


def _place(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Where in a flat quadrilateral with corners x, y (…, 4) the origin lies: (a, b), and how far outside.

    Solves c + a e + b f + ab g = 0, with c the first corner: the cross product with f + a g leaves a quadratic in a.
    """
    cx, cy = x[..., 0], y[..., 0]
    ex, ey = x[..., 1] - cx, y[..., 1] - cy
    fx, fy = x[..., 3] - cx, y[..., 3] - cy
    gx, gy = (x[..., 2] - x[..., 3]) - ex, (y[..., 2] - y[..., 3]) - ey
    square = ey * gx - ex * gy
    linear = cy * gx - cx * gy + ey * fx - ex * fy
    constant = cy * fx - cx * fy
    diameter = np.abs(x).max(axis=-1) + np.abs(y).max(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # flat cells have no place, which is an answer
        root = np.sqrt(np.maximum(linear**2 - 4 * square * constant, 0.0))
        summed = -(linear + np.copysign(root, linear)) / 2
        answers = []
        for a in (constant / summed, summed / square):
            px, py = fx + a * gx, fy + a * gy
            b = -((cx + a * ex) * px + (cy + a * ey) * py) / (px**2 + py**2)
            for _ in range(2):  # Newton steps give back the digits that the quadratic loses
                rx, ry = cx + a * ex + b * (fx + a * gx), cy + a * ey + b * (fy + a * gy)
                ax, ay, bx, by = ex + b * gx, ey + b * gy, fx + a * gx, fy + a * gy
                area = ax * by - ay * bx
                step_a, step_b = (ry * bx - rx * by) / area, (rx * ay - ry * ax) / area
                small = np.abs(step_a) + np.abs(step_b) < 1e-3
                a, b = np.where(small, a + step_a, a), np.where(small, b + step_b, b)
            rx, ry = cx + a * ex + b * (fx + a * gx), cy + a * ey + b * (fy + a * gy)
            excess = np.maximum(_beyond(a), _beyond(b))
            solved = np.abs(rx) + np.abs(ry) <= 1e-9 * diameter
            answers.append((a, b, np.where(solved & (excess >= 0), excess, np.inf)))
    (a, b, excess), (other_a, other_b, other) = answers
    better = other < excess
    a, b, excess = np.where(better, other_a, a), np.where(better, other_b, b), np.where(better, other, excess)
    # A corner is its own place, also where two corners are one and the equation has no answer.
    at = np.abs(x) + np.abs(y) <= ON_LINE * diameter[..., None]
    corner, on = at.argmax(axis=-1), at.any(axis=-1)
    a, b = np.where(on, _CORNER_A[corner], a), np.where(on, _CORNER_B[corner], b)
    return a, b, np.where(on, 0.0, excess)


_CORNER_A, _CORNER_B = np.array([[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])


# --- the points near a station -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _PointSet:
    """The usable points of a grid: their number in the grid, and where they are."""

    number: Integers
    latitude: Floats
    longitude: Floats
    tree: Any

    @classmethod
    def of(cls, grid: Grid) -> Self:
        latitude, longitude = grid.points()
        number = np.flatnonzero(np.isfinite(latitude) & np.isfinite(longitude))
        latitude, longitude = latitude[number], longitude[number]
        tree = cKDTree(_unit(latitude, longitude), balanced_tree=False, compact_nodes=False)
        return cls(number, latitude, longitude, tree)

    def nearest(self, lat: Floats, lon: Floats) -> tuple[Integers, Floats]:
        """The nearest point and its distance in radians."""
        near, distance = self._great_circle(lat, lon, 1)
        return near[:, 0], distance[:, 0]

    def spacing(self, point: Integers) -> Floats:
        """Median distance in radians of points to their three nearest neighbours that are not the same place."""
        if self.number.size < 2:
            raise BadParameter("a grid of one point has no spacing: give max_distance")
        points, back = np.unique(point, return_inverse=True)
        near = self._ranked(self.tree, _unit(self.latitude[points], self.longitude[points]), 8)
        distance = _apart(
            self.latitude[points, None], self.longitude[points, None], self.latitude[near], self.longitude[near]
        )
        ranked = np.sort(np.where(distance > ON_POINT, distance, np.inf), axis=1)[:, :3]
        count = np.isfinite(ranked).sum(axis=1)
        lower, upper = np.maximum(count - 1, 0) // 2, count // 2
        upper = np.minimum(upper, np.maximum(count - 1, 0))
        row = np.arange(points.size)
        middle = (ranked[row, lower] + ranked[row, upper]) / 2
        return np.where(count > 0, middle, 0.0)[back]

    def by_inverse_distance(
        self, lat: Floats, lon: Floats, k: int, power: float, metric: Metric
    ) -> tuple[Integers, Floats]:
        """Number and weight of the k nearest points."""
        neighbours = self._planar if metric == "planar" else self._great_circle
        near, distance = neighbours(lat, lon, k)
        closest = distance[:, :1]
        on_point = closest <= ON_POINT
        share = (np.where(on_point, 1.0, closest) / np.where(on_point, 1.0, distance)) ** power
        alone = np.arange(near.shape[1]) == 0
        share = np.where(on_point, alone, share)
        return self.number[near], share / share.sum(axis=1, keepdims=True)

    def _great_circle(self, lat: Floats, lon: Floats, k: int) -> tuple[Integers, Floats]:
        near = self._ranked(self.tree, _unit(lat, lon), k + 4)
        distance = _apart(lat[:, None], lon[:, None], self.latitude[near], self.longitude[near])
        return _closest(near, distance, k)

    def _planar(self, lat: Floats, lon: Floats, k: int) -> tuple[Integers, Floats]:
        middle = _middle(self.longitude)
        longitude, lon = _turned(self.longitude, middle), _turned(lon, middle)
        tree = cKDTree(np.stack([longitude, self.latitude], axis=1), balanced_tree=False, compact_nodes=False)
        near = self._ranked(tree, np.stack([lon, lat], axis=1), k + 4)
        distance = np.hypot(longitude[near] - lon[:, None], self.latitude[near] - lat[:, None])
        return _closest(near, distance, k)

    def _ranked(self, tree: Any, target: Floats, k: int) -> Integers:
        """The k nearest points of a tree, or all where there are fewer."""
        ranks = list(range(1, min(k, self.number.size) + 1))
        return np.asarray(tree.query(target, k=ranks)[1], dtype=np.int64).reshape(len(target), len(ranks))


def _closest(near: Integers, distance: Floats, k: int) -> tuple[Integers, Floats]:
    """The k closest of a few more; those that differ by rounding only are equally close, and go by their number."""
    scale = 10.0 ** np.floor(np.log10(np.maximum(distance.max(axis=1, keepdims=True), 1e-300)))
    order = np.lexsort((near, np.round(distance / scale, 11)), axis=1)[:, :k]
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(distance, order, axis=1)


def _apart(lat: Floats, lon: Floats, other_lat: Floats, other_lon: Floats) -> Floats:
    """Great-circle distance in radians, with all digits for near points."""
    half = np.sin(np.radians(other_lat - lat) / 2) ** 2
    half = half + _cosine(lat) * _cosine(other_lat) * np.sin(np.radians(other_lon - lon) / 2) ** 2
    return np.asarray(2 * np.arcsin(np.sqrt(np.minimum(half, 1.0))))


# --- degrees -------------------------------------------------------------------------------------------------------


def _floats(values: ArrayLike) -> Floats:
    """A float64 copy, NaN where masked."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    return np.array(values, dtype=np.float64)


def _points(latitude: ArrayLike, longitude: ArrayLike, *, dimensions: int, kind: str) -> tuple[Floats, Floats]:
    """Coordinates of points; both are NaN where one is missing, or is a fill value."""
    latitude, longitude = _floats(latitude), _floats(longitude)
    if latitude.shape != longitude.shape or latitude.ndim != dimensions:
        shapes = f"latitude {latitude.shape} and longitude {longitude.shape}"
        raise BadInput(f"{shapes} of a {kind} are not alike with {dimensions} dimension(s)")
    usable = (np.abs(latitude) <= 90 + 1e-3) & (np.abs(longitude) <= 720)
    if not usable.any():
        raise BadInput(f"{kind} of shape {latitude.shape} has no point with usable latitude and longitude")
    return np.where(usable, latitude, np.nan), np.where(usable, longitude, np.nan)


def _cosine(latitude: Floats) -> Floats:
    """Cosine of degrees of latitude, with all digits near the poles and never negative."""
    return np.asarray(np.sin(np.radians(np.maximum(90 - np.abs(latitude), 0.0))))


def _unit(latitude: Floats, longitude: Floats) -> Floats:
    """Points on the unit sphere (…, 3)."""
    turn, cosine = np.radians(longitude), _cosine(latitude)
    return np.stack([cosine * np.cos(turn), cosine * np.sin(turn), np.sin(np.radians(latitude))], axis=-1)


def _turned(longitude: Floats, middle: float) -> Floats:
    """The same longitudes within 180° of a middle; those that already are stay as they are, bit by bit."""
    return longitude - 360 * np.round((longitude - middle) / 360)


def _middle(longitude: Floats) -> float:
    """The middle of the arc that holds all longitudes: opposite their widest gap, as near as can be to their mean."""
    around = np.sort(longitude % 360)
    gap = np.diff(around, append=around[0] + 360)
    widest = int(np.argmax(gap))
    middle = around[widest] + gap[widest] / 2 + 180
    return float(_turned(middle, float(longitude.mean())))


def _unwrapped(axis: Floats) -> Floats:
    """Longitudes of an axis without jumps: a step of more than half a turn is one the other way."""
    return axis - 360 * np.cumsum(np.round(np.diff(axis, prepend=axis[:1]) / 360))


def _monotonic(axis: Floats) -> bool:
    step = np.diff(axis)
    return bool(np.isfinite(axis).all() and ((step > 0).all() or (step < 0).all()))


def _glimpse(axis: Floats) -> str:
    return np.array2string(axis, threshold=6, edgeitems=3, precision=4)
