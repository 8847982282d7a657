"""The nearest cell of a raster whose rows are curved: positions by block, so that memory does not grow with the raster.

Blocks are known by the box that they fill; a piece of the observation asks only the blocks that its places can lie in.
Places are compared on the sphere, or in the plane where the raster is projected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from metrics.sums import Array
from tasks.readers.rasters import Raster

BLOCK = 256  # cells along a side
HALF = 0.5 + 1e-6  # of a cell; a place farther out than this lies outside the outermost cells


@dataclass(frozen=True, slots=True)
class Blocks:
    """Boxes of a raster's blocks, a cell's diagonal wider than their middles reach."""

    rows: tuple[range, ...]
    columns: tuple[range, ...]
    lowest: Array  # block, axis
    highest: Array
    on_globe: bool

    @classmethod
    def of(cls, raster: Raster, on_globe: bool) -> Blocks:
        rows, columns = (_split(count) for count in raster.shape)
        lowest, highest = [], []
        for block in product(rows, columns):
            places = _vectors(*raster.centres(*block), on_globe)
            wide = sum(np.abs(np.diff(places, axis=axis)).max(axis=(0, 1)) for axis in (0, 1))
            lowest.append(places.min(axis=(0, 1)) - wide)
            highest.append(places.max(axis=(0, 1)) + wide)
        return cls(rows, columns, np.array(lowest), np.array(highest), on_globe)

    def reached(self, x: Array, y: Array) -> list[tuple[range, range]]:
        """The blocks that some places can lie in."""
        places = _vectors(x, y, self.on_globe).reshape(-1, self.lowest.shape[1])
        low, high = places.min(axis=0), places.max(axis=0)
        near = ((self.lowest <= high) & (self.highest >= low)).all(axis=1)
        return [block for block, chosen in zip(product(self.rows, self.columns), near, strict=True) if chosen]

    def cells_at(self, raster: Raster, x: Array, y: Array) -> tuple[Array, Array]:
        """Row and column of the cell at each place; -1 where the raster has none there."""
        from scipy.spatial import cKDTree

        down, right = (np.full(x.shape, -1, dtype=np.int64) for _ in range(2))
        known = np.isfinite(x) & np.isfinite(y)
        wanted = _vectors(x[known], y[known], self.on_globe)
        best = np.full(len(wanted), np.inf)
        found = np.full((len(wanted), 2), -1, dtype=np.int64)
        for rows, columns in self.reached(x[known], y[known]) if len(wanted) else ():
            places = _vectors(*raster.centres(rows, columns), self.on_globe)
            distance, which = cKDTree(places.reshape(-1, places.shape[-1])).query(wanted)
            row, column = np.divmod(which, len(columns))
            closer = distance < best
            best[closer] = distance[closer]
            on_cell = _within(places, row, column, wanted, (rows, columns), raster.shape)[closer, None]
            cell = np.stack([row[closer] + rows.start, column[closer] + columns.start], axis=1)
            found[closer] = np.where(on_cell, cell, -1)
        down[known], right[known] = found.T
        return down, right


def _within(
    places: Array, row: Array, column: Array, wanted: Array, block: tuple[range, range], shape: tuple[int, int]
) -> Array:
    """Whether each place lies on its nearest cell; only at the raster's rim can it lie beside."""
    rim = np.zeros(len(wanted), dtype=bool)
    steps = []
    for axis, (number, part, length) in enumerate(zip((row, column), block, shape, strict=True)):
        rim |= (number + part.start == 0) | (number + part.start == length - 1)
        ahead = np.where(number + 1 < len(part), number, number - 1)  # the step to a neighbour in this block
        one, other = ([ahead, column], [ahead + 1, column]) if axis == 0 else ([row, ahead], [row, ahead + 1])
        steps.append(places[tuple(other)] - places[tuple(one)])
    off = wanted - places[row, column]
    down, right = steps
    dd, rr, dr = (np.einsum("nk,nk->n", *each) for each in ((down, down), (right, right), (down, right)))
    od, orr = np.einsum("nk,nk->n", off, down), np.einsum("nk,nk->n", off, right)
    with np.errstate(invalid="ignore", divide="ignore"):
        area = dd * rr - dr**2
        cells_down, cells_right = (od * rr - orr * dr) / area, (orr * dd - od * dr) / area
    return ~rim | ((np.abs(cells_down) <= HALF) & (np.abs(cells_right) <= HALF))


def _split(count: int) -> tuple[range, ...]:
    """Parts of about a block, none of a single row, which would have no spacing."""
    edges = np.linspace(0, count, max(1, count // BLOCK) + 1).astype(int)
    return tuple(range(int(first), int(last)) for first, last in pairwise(edges))


def _vectors(x: Array, y: Array, on_globe: bool) -> Array:
    """Places as unit vectors, so that the date line is nothing special; or as they are in the plane."""
    if not on_globe:
        return np.stack([x, y], axis=-1)
    lon, lat = np.deg2rad(x), np.deg2rad(y)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def pieces(rows: range, columns: range) -> Iterator[tuple[range, range]]:
    """The two halves of a piece, along its longer side."""
    if len(rows) >= len(columns):
        middle = len(rows) // 2
        yield from ((rows[:middle], columns), (rows[middle:], columns))
    else:
        middle = len(columns) // 2
        yield from ((rows, columns[:middle]), (rows, columns[middle:]))
