"""Two rasters of classes on the observation's grid: cells by pair of codes and tile, with what became of them.

The model is brought onto the observation's cells by the nearest cell. Bands of tiles are read, counted and forgotten
in the session of the run, so that memory does not grow with the rasters; counts of tiles add up to those of the whole.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from configs.case import Data
from configs.impact import SeverityRules
from configs.source import plain
from metrics.errors import BadInput, MismatchedSample
from metrics.kernels_classes import LARGE, code_pairs
from metrics.severity import Classes, cell_areas, zone_areas
from metrics.sums import Array
from tasks.compute import Session
from tasks.compute import session as opened_session
from tasks.matching.curved import Blocks, pieces
from tasks.matching.ledger import NO_FORECAST, NO_OBSERVATION, PAIR
from tasks.readers.buildings import DEGREES as LONGITUDE_LATITUDE
from tasks.readers.rasters import NO_DATA, OUTSIDE, Codes, Raster, kind_of, opened_raster

TILES = 31  # along the longer side, so that there are at most 961 tiles
PREVIEW = 320  # cells along the longer side of what is kept for the map
WINDOW = 2**25  # cells of the model that one piece may ask for at once
OFF_DOMAIN = "outside the domain"
OFF_MODEL = "outside the model's raster"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class MatchedRasters:
    """Cells by tile and pair of codes, with the reason of each; and a thinned-out copy of both maps."""

    table: pd.DataFrame  # unit, forecast, observed, count, hectares, reason
    how: Mapping[str, Any]
    preview: tuple[Codes, Codes]


@dataclass(frozen=True, slots=True)
class Layer:
    """One side: its file and how it is opened."""

    path: Path
    data: Data

    def open(self) -> Any:
        return opened_raster(self.path, self.data.source, self.data.options)

    def recognised(self) -> Layer:
        """The same with its format, so that it is looked for once and not by every band."""
        source = self.data.source or kind_of(self.path)
        return replace(self, data=replace(self.data, source=source))


def match_rasters(
    model: Layer,
    observation: Layer,
    rules: SeverityRules,
    polygon: Path | None,
    session: Session | None = None,
    progress: Progress | None = None,
) -> MatchedRasters:
    """Every cell of the observation's grid, counted by tile, codes and reason."""
    model, observation = model.recognised(), observation.recognised()
    with model.open() as forecast, observation.open() as observed:
        plan = Plan.of(forecast, observed, rules, polygon)
        how = plan.describe(forecast, observed)
    found = _in_bands(_band, observation.path, plan, (plan, model, observation), session, progress)
    table = pd.concat([each.table for each in found], ignore_index=True)
    previews = tuple(np.concatenate([each.preview[side] for each in found]) for side in (0, 1))
    table = _with_reasons(table, plan, rules, model.path, observation.path)
    return MatchedRasters(table, how, (previews[0], previews[1]))


@dataclass(frozen=True, slots=True)
class _Rows:
    """A band of the observation's rows: what is sent to a worker."""

    path: Path
    first: int
    last: int

    @property
    def rows(self) -> range:
        return range(self.first, self.last)


def _in_bands(
    count: Callable[[_Rows, Any], Any],
    path: Path,
    plan: Plan,
    shared: Any,
    session: Session | None,
    progress: Progress | None = None,
) -> list[Any]:
    """What `count` gives for every band, in their order; the first error is raised."""
    height, size = plan.shape[0], plan.tile
    bands = [_Rows(path, first, min(first + size, height)) for first in range(0, height, size)]
    with ExitStack() as stack:
        where = session or stack.enter_context(opened_session("auto"))
        found = where.map_files(count, bands, shared=shared, progress=progress)
    for each in found:
        if isinstance(each, Exception):
            raise each
    return found


@dataclass(frozen=True, slots=True)
class Plan:
    """How the model's cells are found on the observation's grid, and what the cells are worth."""

    shape: tuple[int, int]
    tile: int
    nodata: tuple[frozenset[int], frozenset[int]]
    same: bool
    tagged: tuple[int, ...] = ()  # codes that a file tags as no data and the table calls unburned
    affine: Any = None  # of the observation
    crs: str | None = None
    model_shape: tuple[int, int] = (0, 0)
    model_affine: Any = None
    model_crs: str | None = None
    model_blocks: Blocks | None = None  # of a model whose rows are curved
    curved: bool = False  # the observation's rows
    on_same_places: bool = False
    rings: tuple[Array, ...] | None = None
    domain: str = ""

    @classmethod
    def of(cls, forecast: Raster, observed: Raster, rules: SeverityRules, polygon: Path | None) -> Plan:
        """Checked: rasters that cannot be brought together are refused here."""
        same = on_same_places = _same_grid(forecast, observed)
        if not same:
            _refuse_what_cannot_be_placed(forecast, observed, rules)
            same = forecast.shape == observed.shape and not (forecast.placed and observed.placed)
        if not same:
            names = f"{observed.path.name} ({observed.crs_name()}) and {forecast.path.name} ({forecast.crs_name()})"
            transformer(observed.crs, forecast.crs, names)
        rings = None
        if polygon is not None:
            if not observed.placed:
                raise BadInput(f"{observed.path}: a polygon needs a georeferenced raster")
            rings = _rings(polygon, observed.crs or "")
        return cls(
            shape=observed.shape,
            tile=tile_size(observed.shape),
            # Cells outside the fire are misses and false alarms too: a tag does not take them out (D-15).
            nodata=(forecast.nodata - rules.classes.unburned, observed.nodata - rules.classes.unburned),
            tagged=tuple(sorted((forecast.nodata | observed.nodata) & rules.classes.unburned)),
            same=same,
            affine=observed.affine,
            crs=observed.crs,
            model_shape=forecast.shape,
            model_affine=forecast.affine,
            model_crs=forecast.crs,
            model_blocks=blocks_of(forecast) if forecast.curved and not same else None,
            curved=observed.curved,
            on_same_places=on_same_places,
            rings=rings,
            domain=rules.describe_domain(),
        )

    def describe(self, forecast: Raster, observed: Raster) -> dict[str, Any]:
        """For the card."""
        if not self.same:
            way = "nearest cell of the model at each cell of the observation"
        elif self.on_same_places:
            way = "the same grid"
        else:
            way = "cell by cell: the case says that the rasters are aligned"
        tagged = ", ".join(map(str, self.tagged))
        note = {"note": f"{tagged} is tagged as no data in a file, but counts as unburned"} if tagged else {}
        return {
            **note,
            "way": way,
            "model_grid": forecast.describe(),
            "observed_grid": observed.describe(),
            "domain": self.domain,
            "tiles": f"{self.tile}×{self.tile} cells",
        }

    def tiles(self) -> list[range]:
        """The columns of each tile of a band."""
        width = self.shape[1]
        return [range(left, min(left + self.tile, width)) for left in range(0, width, self.tile)]


def tile_size(shape: tuple[int, int]) -> int:
    """Cells along a side of a tile: a multiple of 8, at least 16."""
    return max(16, 8 * math.ceil(max(shape) / TILES / 8))


@dataclass(frozen=True, slots=True)
class _Band:
    table: pd.DataFrame
    preview: tuple[Codes, Codes]


def _band(band: _Rows, shared: tuple[Plan, Layer, Layer]) -> _Band:
    """The tiles of some rows. Opens the files itself: a raster is read by one thread only."""
    plan, model, observation = shared
    rows = band.rows
    with ExitStack() as stack:
        forecast, observed = (stack.enter_context(each.open()) for each in (model, observation))
        every = math.ceil(max(plan.shape) / PREVIEW)
        parts: list[dict[str, Array]] = []
        thinned: tuple[list[Codes], list[Codes]] = ([], [])
        chosen = slice(-rows.start % every, None, every)
        inside = _inside(plan, observed, rows) if plan.rings is not None else None
        across = slice(rows.start, rows.stop)
        seen_band = observed.read(across, slice(0, plan.shape[1]))
        said_band = forecast.read(across, slice(0, plan.shape[1])) if plan.same else None
        tiles = plan.tiles()
        for columns, areas in zip(tiles, _areas(plan, observed, rows, tiles), strict=True):
            left = columns.start
            along = slice(columns.start, columns.stop)
            seen = np.ascontiguousarray(seen_band[:, along])
            if said_band is not None:
                said = np.ascontiguousarray(said_band[:, along])
            else:
                said = nearest(forecast, observed, plan, rows, columns)
            unit = f"tile {rows.start // plan.tile:02d}-{left // plan.tile:02d}"
            here = None if inside is None else inside[:, along]
            parts += [_counted(plan, unit, said, seen, areas, *each) for each in _shares(here)]
            for kept, codes, own in zip(thinned, (said, seen), plan.nodata, strict=True):
                few = codes[chosen, -left % every :: every].copy()
                few[np.isin(few, list(own))] = NO_DATA
                if here is not None:
                    few[~here[chosen, -left % every :: every]] = NO_DATA
                kept.append(few)
        table = pd.DataFrame({name: np.concatenate([each[name] for each in parts]) for name in parts[0]})
        said_few, seen_few = (np.concatenate(each, axis=1) for each in thinned)
        return _Band(table, (said_few, seen_few))


def match_common(
    models: Mapping[str, Layer], observation: Layer, rules: SeverityRules, polygon: Path | None
) -> dict[str, pd.DataFrame]:
    """Each model's cells by pair of codes, on the cells that all models cover; what a ranking compares.

    The domain `union` is that of all models together: where any of them burns, the others are right not to (D-15).
    """
    plans = {}
    models, observation = {name: each.recognised() for name, each in models.items()}, observation.recognised()
    for name, model in models.items():
        with model.open() as forecast, observation.open() as observed:
            plans[name] = Plan.of(forecast, observed, rules, polygon)
    first = next(iter(plans.values()))
    shared = (plans, models, observation, rules)
    found = _in_bands(_common_band, observation.path, first, shared, None)
    return {name: pd.concat([each[name] for each in found], ignore_index=True) for name in models}


def _common_band(
    band: _Rows, shared: tuple[Mapping[str, Plan], Mapping[str, Layer], Layer, SeverityRules]
) -> dict[str, pd.DataFrame]:
    plans, models, observation, rules = shared
    plan, rows = next(iter(plans.values())), band.rows
    parts: dict[str, list[dict[str, Array]]] = {name: [] for name in models}
    with ExitStack() as stack:
        observed = stack.enter_context(observation.open())
        forecasts = {name: stack.enter_context(each.open()) for name, each in models.items()}
        inside = _inside(plan, observed, rows) if plan.rings is not None else None
        tiles = plan.tiles()
        for columns, areas in zip(tiles, _areas(plan, observed, rows, tiles), strict=True):
            across, along = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
            seen = observed.read(across, along)
            said = {
                name: forecast.read(across, along)
                if plans[name].same
                else nearest(forecast, observed, plans[name], rows, columns)
                for name, forecast in forecasts.items()
            }
            states = [_states(rules.classes, plan.nodata[1])[seen]]
            states += [
                _states(rules.classes, plans[name].nodata[0], () if plans[name].same else (OUTSIDE,))[codes]
                for name, codes in said.items()
            ]
            counts = np.min(states, axis=0) > MISSING
            if rules.domain == "union":
                counts &= np.max(states, axis=0) == BURNED
            if inside is not None:
                counts &= inside[:, along]
            unit = f"tile {rows.start // plan.tile:02d}-{columns.start // plan.tile:02d}"
            for name, codes in said.items() if counts.any() else ():
                parts[name].append(_counted(plan, unit, codes, seen, areas, True, counts))
    columns_of = ("unit", "forecast", "observed", "count", "hectares")
    return {
        name: pd.DataFrame({each: np.concatenate([part[each] for part in own]) for each in columns_of} if own else {})
        for name, own in parts.items()
    }


MISSING, UNBURNED, BURNED = range(3)


def _states(classes: Classes, nodata: frozenset[int], outside: Sequence[int] = ()) -> Codes:
    """What each code says: nothing, unburned or burned."""
    states = np.full(256, BURNED, dtype=np.uint8)
    states[list(classes.unburned)] = UNBURNED
    states[[*classes.nodata, *nodata, *outside]] = MISSING
    return states


def _shares(inside: Array | None) -> Iterator[tuple[bool, Array | None]]:
    """A tile whole, or what of it lies inside and outside the polygon."""
    if inside is None or inside.all():
        yield True, None
    elif not inside.any():
        yield False, None
    else:
        yield True, inside
        yield False, ~inside


def _counted(
    plan: Plan, unit: str, said: Codes, seen: Codes, areas: Array | None, inside: bool, only: Array | None
) -> dict[str, Array]:
    """Cells and hectares of a tile by pair of codes, column by column."""
    both = (said, seen) if only is None else (said[only][None, :], seen[only][None, :])
    counts = code_pairs(*both, compiled=math.prod(plan.shape) >= LARGE)
    small = counts[:16, :16]
    forecast, observed = np.nonzero(small if small.sum() == both[0].size else counts)
    number = counts[forecast, observed]
    if areas is None:
        hectares = np.full(len(number), np.nan)
    elif areas.size == 1:
        hectares = number * areas[0] / 1e4
    else:
        each = areas if areas.ndim == 2 else np.broadcast_to(areas[:, None], said.shape)
        codes = said.astype(np.intp) * 256 + seen
        if only is not None:
            each, codes = each[only], codes[only]
        by_pair = np.bincount(codes.ravel(), each.ravel(), 256 * 256)
        hectares = by_pair[forecast * 256 + observed] / 1e4
    return {
        "unit": np.full(len(number), unit, dtype=object),
        "forecast": forecast.astype(np.int16),
        "observed": observed.astype(np.int16),
        "count": number,
        "hectares": hectares,
        "inside": np.full(len(number), inside),
    }


def _areas(plan: Plan, observed: Raster, rows: range, tiles: Sequence[range]) -> list[Array | None]:
    """Square metres of the cells of each tile: one for all, one a row (circles of latitude), or one a cell."""
    unknown: list[Array | None] = [None] * len(tiles)
    if plan.crs is None or (plan.affine is None and not plan.curved):
        return unknown
    from pyproj import CRS, Proj, Transformer

    crs = CRS.from_user_input(plan.crs)
    if plan.curved:
        return [_curved_areas(plan, observed, rows, each) if crs.is_geographic else None for each in tiles]
    a, b, c, d, e, f = plan.affine
    if crs.is_geographic:
        if b or d:
            return unknown
        return [zone_areas(f + e * np.arange(rows.start, rows.stop + 1), a)] * len(tiles)
    column, row = np.array([(each.start + each.stop) / 2 for each in tiles]), (rows.start + rows.stop) / 2
    x, y = a * column + b * row + c, d * column + e * row + f
    if crs.geodetic_crs is None:  # a local grid: nobody knows how large the earth is there
        return unknown
    longitude, latitude = Transformer.from_crs(crs, crs.geodetic_crs, always_xy=True).transform(x, y)
    if not np.isfinite(longitude).all():
        return unknown
    metres = float(crs.axis_info[0].unit_conversion_factor)
    scale = Proj(crs).get_factors(longitude, latitude).areal_scale
    return [np.array([abs(a * e - b * d) * metres**2 / each]) for each in np.atleast_1d(scale)]


def _curved_areas(plan: Plan, observed: Raster, rows: range, columns: range) -> Array:
    """Square metres of each cell, from the middles of the cells and of their neighbours."""
    (height, width), (row, column) = plan.shape, (rows, columns)
    wider = (
        range(max(row.start - 1, 0), min(row.stop + 1, height)),
        range(max(column.start - 1, 0), min(column.stop + 1, width)),
    )
    areas = cell_areas(*observed.centres(*wider))
    top, left = row.start - wider[0].start, column.start - wider[1].start
    return areas[top : top + len(row), left : left + len(column)]


def nearest(forecast: Raster, observed: Raster, plan: Plan, rows: range, columns: range) -> Codes:
    """The model's codes at the observation's cell centres; `OUTSIDE` where the model has no cell."""
    down, right = cells_at(plan, forecast, *observed.centres(rows, columns))
    within = (down >= 0) & (down < plan.model_shape[0]) & (right >= 0) & (right < plan.model_shape[1])
    result = np.full((len(rows), len(columns)), OUTSIDE, dtype=np.uint8)
    if not within.any():
        return result
    top, bottom, left, far = (
        int(each) for each in (down[within].min(), down[within].max(), right[within].min(), right[within].max())
    )
    if (bottom - top + 1) * (far - left + 1) > WINDOW and len(rows) * len(columns) > 1:
        halves = [nearest(forecast, observed, plan, *each) for each in pieces(rows, columns)]
        return np.concatenate(halves, axis=0 if len(rows) >= len(columns) else 1)
    piece = forecast.read(slice(top, bottom + 1), slice(left, far + 1))
    result[within] = piece[down[within] - top, right[within] - left]
    return result


def blocks_of(raster: Raster) -> Blocks:
    """Where the blocks of a curved raster lie."""
    from pyproj import CRS

    return Blocks.of(raster, bool(CRS.from_user_input(raster.crs).is_geographic))


def transformer(ours: str | None, theirs: str | None, what: str) -> Any:
    """The way from one projection to another; refused where there is none: a local grid, or another planet."""
    from pyproj import Transformer
    from pyproj.exceptions import CRSError, ProjError

    try:
        return Transformer.from_crs(ours, theirs, always_xy=True)
    except (CRSError, ProjError) as error:
        raise MismatchedSample(
            f"{what}: their projections cannot be brought together: {plain(str(error), 160)}"
        ) from None


def cells_at(plan: Plan, model: Raster, x: Array, y: Array) -> tuple[Array, Array]:
    """Row and column of the model's cell at places of the observation's projection; -1 where there is no place."""
    from pyproj import CRS

    ours, theirs = CRS.from_user_input(plan.crs), CRS.from_user_input(plan.model_crs)
    if ours != theirs:
        x, y = transformer(plan.crs, plan.model_crs, model.path.name).transform(x, y)
    if plan.model_blocks is not None:
        return plan.model_blocks.cells_at(model, x, y)
    a, b, c, d, e, f = plan.model_affine
    determinant = a * e - b * d
    if theirs.is_geographic and not b:
        x = c + (x - c) % 360 if a > 0 else x  # the model may count longitudes from 0 to 360
    with np.errstate(invalid="ignore"):
        column = (e * (x - c) - b * (y - f)) / determinant
        row = (a * (y - f) - d * (x - c)) / determinant
        good = np.isfinite(column) & np.isfinite(row) & (np.abs(column) < 2**31) & (np.abs(row) < 2**31)
        down, right = (np.floor(np.where(good, each, -1)).astype(np.int64) for each in (row, column))
    return down, right


def _same_grid(forecast: Raster, observed: Raster) -> bool:
    """The same cells at the same places: to a thousandth of a cell over the whole raster."""
    if not (forecast.placed and observed.placed) or forecast.shape != observed.shape:
        return False
    from pyproj import CRS

    if CRS.from_user_input(forecast.crs) != CRS.from_user_input(observed.crs):
        return False
    height, width = observed.shape
    if forecast.affine is None or observed.affine is None:
        return forecast.curved == observed.curved and _same_places(forecast, observed)
    one, other = np.array(forecast.affine), np.array(observed.affine)
    apart = np.abs(one - other)
    cell = min(abs(other[0]) + abs(other[1]), abs(other[3]) + abs(other[4]))
    return bool((apart * [width, height, 1, width, height, 1]).max() <= 1e-3 * cell)


def _same_places(forecast: Raster, observed: Raster) -> bool:
    """Whether the middles of all cells are the same, some rows at a time."""
    height, width = observed.shape
    size = max(2, 2**20 // width)
    for first in range(0, height, size):
        rows, columns = range(first, min(first + size, height)), range(width)
        ours, theirs = observed.centres(rows, columns), forecast.centres(rows, columns)
        for one, other in zip(ours, theirs, strict=True):
            cell = np.abs(np.diff(one, axis=1)).max()
            if not (np.abs(one - other) <= 1e-3 * max(cell, np.abs(np.diff(one, axis=0)).max(initial=0.0))).all():
                return False
    return True


def _refuse_what_cannot_be_placed(forecast: Raster, observed: Raster, rules: SeverityRules) -> None:
    if forecast.placed and observed.placed:
        return
    shapes = " and ".join(f"{each.path.name} {each.describe()}" for each in (forecast, observed))
    if forecast.shape != observed.shape:
        raise MismatchedSample(f"rasters without georeference must have the same shape: {shapes}")
    if not rules.aligned:
        raise BadInput(f"where the rasters lie is not known: {shapes}; say `severity: {{aligned: true}}` if they match")


def _rings(polygon: Path, crs: str) -> tuple[Array, ...]:
    """The outlines of the domain in the raster's projection."""
    try:
        content = json.loads(polygon.read_bytes())
        if content.get("crs") and not LONGITUDE_LATITUDE.search(json.dumps(content["crs"])):
            raise BadInput(f"{polygon}: expected longitude and latitude (CRS84)")
        features = content["features"] if content["type"] == "FeatureCollection" else [content]
        shapes = [each.get("geometry", each) for each in features]
        parts = [
            part
            for each in shapes
            for part in ([each["coordinates"]] if each["type"] == "Polygon" else each["coordinates"])
        ]
        rings = [np.asarray(ring, dtype=float)[:, :2] for part in parts for ring in part]
        if not rings or {each["type"] for each in shapes} - {"Polygon", "MultiPolygon"}:
            raise ValueError("no polygon")
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise BadInput(
            f"{polygon}: expected a GeoJSON polygon in longitude and latitude: {plain(str(error), 120)}"
        ) from None
    move = transformer("EPSG:4326", crs, f"{polygon.name} (longitude and latitude) and the raster")
    return tuple(np.stack(move.transform(*ring.T), axis=1) for ring in rings)


def _inside(plan: Plan, observed: Raster, rows: range) -> Array:
    """Which cell centres of some rows lie inside the outlines: an odd number of edges to the left."""
    if plan.affine is None or plan.affine[1] or plan.affine[3]:
        return _inside_curved(plan, observed, rows)
    a, _, c, _, e, f = plan.affine
    centres = c + a * (np.arange(plan.shape[1]) + 0.5)
    edges = np.concatenate([np.concatenate([ring[:-1], ring[1:]], axis=1) for ring in plan.rings or ()])
    x1, y1, x2, y2 = edges.T
    result = np.zeros((len(rows), plan.shape[1]), dtype=bool)
    for at, row in enumerate(rows):
        y = f + e * (row + 0.5)
        across = (y1 <= y) != (y2 <= y)
        crossings = np.sort(x1[across] + (y - y1[across]) * (x2[across] - x1[across]) / (y2[across] - y1[across]))
        result[at] = np.searchsorted(crossings, centres) % 2 == 1
    return result


def _inside_curved(plan: Plan, observed: Raster, rows: range) -> Array:
    """The same where rows do not run along an axis: place by place."""
    from matplotlib.path import Path as Outline

    x, y = observed.centres(rows, range(plan.shape[1]))
    points = np.stack([x.ravel(), y.ravel()], axis=1)
    result = np.zeros(len(points), dtype=bool)
    for ring in plan.rings or ():
        result ^= Outline(ring).contains_points(points)
    return result.reshape(x.shape)


def _with_reasons(
    table: pd.DataFrame, plan: Plan, rules: SeverityRules, model: Path, observation: Path
) -> pd.DataFrame:
    """Each row with its outcome; a code that is neither a class nor missing is refused, and so is a map of nothing."""
    classes = rules.classes
    missing = {}
    for side, path, own in (("forecast", model, plan.nodata[0]), ("observed", observation, plan.nodata[1])):
        absent = table[side].isin([*classes.nodata, *own])
        if side == "forecast" and not plan.same:
            absent |= table[side] == OUTSIDE
        strange = ~absent & ~table[side].isin(classes.codes)
        if strange.any():
            code = int(table.loc[strange, side].iloc[0])
            cells = int(table.loc[table[side] == code, "count"].sum())
            known = ", ".join(f"{each} {classes.names[each]}" for each in classes.codes)
            raise BadInput(
                f"{path}: {cells} cells have the value {code}, which is no class ({known}); "
                f"say `severity: {{nodata: [{code}]}}` if it means no data"
            )
        if absent.all():
            outside = side == "forecast" and not plan.same and (table[side] == OUTSIDE).all()
            why = f"does not overlap {observation.name}" if outside else "holds nothing but no-data"
            raise BadInput(f"{path}: {why}")
        missing[side] = absent
    unburned = {side: table[side].isin(classes.unburned) for side in ("forecast", "observed")}
    off = ~table["inside"]
    if rules.domain == "union":
        off |= unburned["observed"] & (unburned["forecast"] | missing["forecast"])
    reason = np.select(
        [off, missing["observed"], (table["forecast"] == OUTSIDE) & missing["forecast"], missing["forecast"]],
        [OFF_DOMAIN, NO_OBSERVATION, OFF_MODEL, NO_FORECAST],
        PAIR,
    )
    return table.drop(columns="inside").assign(reason=reason)


def buildings_from_raster(
    files: Sequence[Path], data: Data, observed: pd.DataFrame, classes: Classes
) -> tuple[pd.DataFrame, str]:
    """What a model's raster says at the observed buildings: destroyed where its class is one that destroys."""
    if len(files) != 1:
        raise BadInput(f"{files[0]}: expected one raster, found {len(files)} files")
    if observed[["lat", "lon"]].isna().all(axis=None):
        raise BadInput(f"{files[0]}: a raster is looked up at the buildings' positions, but the observation has none")
    with opened_raster(files[0], None, data.options) as raster:
        if not raster.placed:
            raise BadInput(f"{files[0]}: is not georeferenced: it cannot be looked up at buildings")
        plan = Plan(
            shape=(1, 1),
            tile=1,
            nodata=(raster.nodata, frozenset()),
            same=False,
            crs="EPSG:4326",
            model_shape=raster.shape,
            model_affine=raster.affine,
            model_crs=raster.crs,
            model_blocks=blocks_of(raster) if raster.curved else None,
        )
        lon, lat = (observed[name].to_numpy(dtype=float) for name in ("lon", "lat"))
        down, right = cells_at(plan, raster, lon, lat)
        within = (down >= 0) & (down < raster.shape[0]) & (right >= 0) & (right < raster.shape[1])
        codes = np.full(len(observed), OUTSIDE, dtype=np.uint8)
        for row in np.unique(down[within]):
            here = within & (down == row)
            left, far = int(right[here].min()), int(right[here].max())
            line = raster.read(slice(int(row), int(row) + 1), slice(left, far + 1))[0]
            codes[here] = line[right[here] - left]
        absent = ~within | np.isin(codes, [*classes.nodata, *(raster.nodata - classes.unburned)])
    if absent.all():
        raise BadInput(f"{files[0]}: no common building: none of the {len(observed)} observed ones lies on the raster")
    strange = codes[~absent & ~np.isin(codes, classes.codes)]
    if strange.size:
        known_codes = ", ".join(map(str, classes.codes))
        raise BadInput(f"{files[0]}: the value {strange[0]} at a building is no class; classes: {known_codes}")
    destroyed = np.where(absent, np.nan, np.isin(codes, data.options["destroyed"]))
    known = observed.assign(damage=np.where(absent, "", [f"class {each}" for each in codes]), destroyed=destroyed)
    return known, f"the model's raster looked up at each building; classes {data.options['destroyed']} destroy"
