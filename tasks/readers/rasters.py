"""Rasters of class codes: GeoTIFF (with the extra `raster`), NetCDF, Zarr, FireBench's HDF5, and plain arrays (.npy).

Read piece by piece.

Codes come as uint8. A raster stored as uint8 is read as it stands; any other type is looked at cell by cell: a fraction
such as 3.7 is no class and refused, a missing cell becomes `NO_DATA`.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from configs.source import plain
from metrics.errors import BadInput
from metrics.severity import HIGHEST
from tasks.readers.firebench import Standard, degrees, is_firebench, map_of, opened_standard, refuse_unit
from tasks.readers.hdf import File, opened
from tasks.readers.zarr_store import opened_classes
from tasks.store.digests import is_store

Codes: TypeAlias = NDArray[np.uint8]
Places: TypeAlias = NDArray[np.float64]
Affine: TypeAlias = tuple[float, float, float, float, float, float]

NO_DATA, OUTSIDE = 255, 254  # marks above every class code; a raster's own no-data value stays what it is
MAGIC = {
    **dict.fromkeys((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), "geotiff"),
    **dict.fromkeys((b"CDF\x01", b"CDF\x02", b"CDF\x05", b"\x89HDF"), "netcdf"),
    b"\x93NUM": "array",
}
KINDS = ("geotiff", "netcdf", "zarr", "firebench", "array")
READ = "GeoTIFF, NetCDF, Zarr, FireBench's HDF5 or .npy"
DEGREES = "EPSG:4326"


class Raster(ABC):
    """One raster: its shape, where it lies, and its codes by piece.

    `affine` is (a, b, c, d, e, f) with x = a·column + b·row + c and y = d·column + e·row + f at cell corners; None
    without georeference, and where rows or columns are `curved`: then `centres` are read. `crs` is text that pyproj
    understands; None where the file does not say.
    """

    path: Path
    shape: tuple[int, int]
    affine: Affine | None = None
    crs: str | None = None
    nodata: frozenset[int] = frozenset()
    curved: bool = False

    @property
    def placed(self) -> bool:
        """Whether it is known where the cells lie."""
        return self.crs is not None and (self.affine is not None or self.curved)

    def centres(self, rows: range, columns: range) -> tuple[Places, Places]:
        """x and y of the middles of some cells, in the raster's projection."""
        if self.affine is None:
            raise BadInput(f"{self.path}: is not georeferenced")
        a, b, c, d, e, f = self.affine
        row, column = np.meshgrid(np.array(rows) + 0.5, np.array(columns) + 0.5, indexing="ij")
        return a * column + b * row + c, d * column + e * row + f

    @abstractmethod
    def _read(self, rows: slice, columns: slice) -> NDArray[Any]:
        """The stored values."""

    def read(self, rows: slice, columns: slice) -> Codes:
        """Codes of a piece."""
        return self._as_codes(self._read(rows, columns))

    def _as_codes(self, values: NDArray[Any]) -> Codes:
        if values.dtype == np.uint8:
            return values
        if values.dtype.kind not in "iufb":
            raise BadInput(f"{self.path}: holds {values.dtype}, expected class codes")
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)
        for each in self._stored_nodata():
            missing |= values == each
        known = np.where(missing, 0, values)
        for wrong, why in (
            (known != np.rint(known), "is no class: classes are whole numbers"),
            ((known < 0) | (known > HIGHEST), f"is no class: classes are 0 to {HIGHEST}"),
        ):
            if wrong.any():
                raise BadInput(
                    f"{self.path}: the value {known[wrong][0]:g} {why} ({int(wrong.sum())} such cells in a block)"
                )
        codes = known.astype(np.uint8)
        codes[missing] = NO_DATA
        return codes

    def _stored_nodata(self) -> tuple[float, ...]:
        return ()

    def close(self) -> None:  # noqa: B027  # most have nothing to let go of
        """Let go of the file."""

    def describe(self) -> str:
        """Shape and place in words."""
        text = f"{self.shape[0]}×{self.shape[1]} cells"
        if self.curved:
            return f"{text} in curved rows, {self.crs_name()}"
        if self.affine is None:
            return f"{text}, no georeference"
        return f"{text} of {abs(self.affine[0]):.6g}×{abs(self.affine[4]):.6g}, {self.crs_name()}"

    def crs_name(self) -> str:
        """The projection's name."""
        if self.crs is None:
            return "no projection"
        from pyproj import CRS

        return str(CRS.from_user_input(self.crs).name)


def kind_of(path: Path) -> str | None:
    """The kind of raster that the first bytes say; None where it is none."""
    if is_store(path):
        return "zarr"
    if path.is_dir():
        return None
    with path.open("rb") as file:
        kind = MAGIC.get(file.read(4))
    return "firebench" if kind == "netcdf" and is_firebench(path) else kind


@contextmanager
def opened_raster(path: Path, source: str | None, options: Mapping[str, Any]) -> Iterator[Raster]:
    """The raster, open for reading by pieces."""
    kind = source if source in KINDS else kind_of(path)
    if kind != "zarr" and path.is_dir():
        raise BadInput(f"{path}: is a directory, expected a raster ({READ})")
    if kind is None:
        raise BadInput(f"{path}: is no raster that firecard reads; expected {READ}")
    if kind in ("netcdf", "zarr"):
        with opened(path) if kind == "netcdf" else opened_classes(path) as file:
            yield NetcdfRaster(file, options.get("variable"))
        return
    if kind == "firebench":
        with opened_standard(path) as standard:
            yield FirebenchRaster(standard, options.get("variable"), options.get("positions") == "corners")
        return
    raster: Raster = GeotiffRaster(path, int(options.get("band") or 1)) if kind == "geotiff" else ArrayRaster(path)
    try:
        yield raster
    finally:
        raster.close()


class ArrayRaster(Raster):
    """A two-dimensional array as numpy writes it; it says nothing about where it lies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise BadInput(f"{path}: cannot be read as an array (.npy): {plain(str(error), 200)}") from None
        if self._array.ndim != 2 or not self._array.size:
            raise BadInput(f"{path}: has shape {self._array.shape}, expected rows × columns")
        self.shape = (int(self._array.shape[0]), int(self._array.shape[1]))
        if self._array.dtype != np.uint8:
            self.nodata = frozenset({NO_DATA})

    def _read(self, rows: slice, columns: slice) -> NDArray[Any]:
        return np.ascontiguousarray(self._array[rows, columns])


class NetcdfRaster(Raster):
    """One variable of a NetCDF file or a Zarr store with evenly spaced coordinates."""

    def __init__(self, file: File, variable: str | None) -> None:
        self._file, self.path = file, file.path
        self._name = self._chosen(variable)
        shape = file.shape(self._name)
        if len(shape) < 2 or any(each != 1 for each in shape[:-2]) or not all(shape):
            raise BadInput(f"{self.path}: {self._name} has shape {shape}, expected rows × columns")
        self._leading = (0,) * (len(shape) - 2)
        self.shape = (int(shape[-2]), int(shape[-1]))
        attributes = file.attributes(self._name)
        packed = {"scale_factor", "add_offset", "valid_min", "valid_max", "valid_range", "_Unsigned"} & set(attributes)
        stored = file.read(self._name, *self._leading, slice(0, 1), slice(0, 1)).dtype
        self._plain = not packed and stored == np.uint8
        if self._plain:
            self.nodata = frozenset(
                int(code)
                for key in ("_FillValue", "missing_value")
                if key in attributes
                for code in np.ravel(attributes[key])
            )
        else:
            self.nodata = frozenset({NO_DATA})
        self._locate()

    def _chosen(self, variable: str | None) -> str:
        """The variable that the case names, or the only one that is a map."""
        if variable is not None:
            if variable not in self._file.names:
                raise BadInput(f"{self.path}: no variable {variable!r}; variables: {', '.join(self._file.names[:12])}")
            return variable
        maps = [each for each in self._file.names if len(self._file.shape(each)) >= 2]
        coordinates = {"lat", "lon", "latitude", "longitude", "xlat", "xlong"}
        maps = [each for each in maps if each.lower() not in coordinates and not each.endswith(("_bnds", "_bounds"))]
        if len(maps) != 1:
            found = ", ".join(maps[:8]) or "none"
            raise BadInput(f"{self.path}: expected one map, found {found}: say `variable:` in the case")
        return maps[0]

    def _locate(self) -> None:
        names = self._file.dims(self._name)[-2:]
        if not all(
            each in self._file.names and self._file.shape(each) == (n,)
            for each, n in zip(names, self.shape, strict=True)
        ):
            return
        self.affine = _evenly_spaced(self.path, names, [self._file.values(name) for name in names])
        if self.affine is not None:
            self.crs = self._projection(names)

    def _projection(self, names: tuple[str, ...]) -> str | None:
        from pyproj import CRS
        from pyproj.exceptions import CRSError

        mapping = self._file.text(self._name, "grid_mapping")
        if mapping and mapping in self._file.names:
            stated = self._file.text(mapping, "crs_wkt") or self._file.text(mapping, "spatial_ref")
            try:
                if stated:
                    return str(CRS.from_user_input(stated).to_wkt())
                return str(CRS.from_cf(dict(self._file.attributes(mapping))).to_wkt())
            except (CRSError, KeyError, ValueError, TypeError) as error:
                raise BadInput(
                    f"{self.path}: the projection {mapping!r} cannot be understood: {plain(str(error), 160)}"
                ) from None
        units = [self._file.text(each, "units") for each in names]
        return DEGREES if units[0].startswith("degree") and units[1].startswith("degree") else None

    def _read(self, rows: slice, columns: slice) -> NDArray[Any]:
        index: tuple[int | slice, ...] = (*self._leading, rows, columns)
        return self._file.read(self._name, *index) if self._plain else self._file.values(self._name, *index)


def _evenly_spaced(path: Path, names: Sequence[str], axes: Sequence[Places]) -> Affine | None:
    """Where cells lie whose middles are at these y and x; nothing where one row or column has no spacing."""
    edges = []
    for name, values in zip(names, axes, strict=True):
        step = (values[-1] - values[0]) / (len(values) - 1) if len(values) > 1 else math.nan
        if (
            not np.isfinite(values).all()
            or step == 0
            or (len(values) > 1 and np.ptp(np.diff(values)) > 1e-3 * abs(step))
        ):
            raise BadInput(f"{path}: the coordinate {name!r} is not evenly spaced")
        edges.append((float(values[0]), float(step)))
    (top, down), (left, right) = edges
    if math.isnan(down) or math.isnan(right):
        return None
    return (right, 0.0, left - right / 2, 0.0, down, top - down / 2)


class FirebenchRaster(Raster):
    """A map of FireBench's standard file.

    Its positions are taken for the middles of the cells, as the standard says, or for their upper left corners, which
    FireBench 0.10 makes of a GeoTIFF; between two such files that is the same. Maps that FireBench brought to longitude
    and latitude have curved rows. A projected map has its x and y under the names of longitude and latitude, in the
    projection's unit whatever `units` says.
    """

    def __init__(self, file: Standard, wanted: str | None, at_corners: bool = False) -> None:
        self._file, self.path, self._at_corners = file, file.path, at_corners
        self._group, name = map_of(file, wanted)
        self._name = f"{self._group}/{name}"
        refuse_unit(file, self._name)
        shape = file.shape(self._name)
        if len(shape) < 2 or any(each != 1 for each in shape[:-2]) or not all(shape):
            raise BadInput(f"{self.path}: {self._name} has shape {shape}, expected rows × columns")
        self._leading = (0,) * (len(shape) - 2)
        self.shape = (int(shape[-2]), int(shape[-1]))
        self._plain = file.read(self._name, *self._leading, slice(0, 1), slice(0, 1)).dtype == np.uint8
        fill = file.attribute(self._name, "_FillValue")
        self.nodata = frozenset({int(fill)} if fill is not None else ()) if self._plain else frozenset({NO_DATA})
        self._locate()

    def _locate(self) -> None:
        held = self._file.children(self._group)
        pairs = (("position_lat", "position_lon"), ("position_y", "position_x"))
        self._axes = next((each for each in pairs if set(each) <= held.keys()), None)
        stated = self._file.text(self._group, "crs")
        if self._axes is None or not stated:
            return
        from pyproj import CRS
        from pyproj.exceptions import CRSError

        try:
            crs = CRS.from_user_input(stated)
        except CRSError as error:
            raise BadInput(
                f"{self.path}: the `crs` of {self._group} cannot be understood: {plain(str(error), 160)}"
            ) from None
        self._geographic = bool(crs.is_geographic)
        shapes = [self._file.shape(f"{self._group}/{name}") for name in self._axes]
        if shapes == [(self.shape[0],), (self.shape[1],)]:
            places = [self._place(name, slice(None)) for name in self._axes]
            self.affine = self._from_corners(_evenly_spaced(self.path, self._axes, places))
        elif shapes == [self.shape, self.shape] and min(self.shape) > 1:
            self.affine = self._from_corners(self._straight())
            self.curved = self.affine is None
        elif shapes != [self.shape, self.shape]:
            raise BadInput(f"{self.path}: {self._group}: positions have shapes {shapes}, the map {self.shape}")
        self.crs = str(crs.to_wkt())

    def _place(self, name: str, *index: slice) -> Places:
        values = self._file.values(f"{self._group}/{name}", *index)
        return degrees(self._file, self._group, name, values) if self._geographic else values

    def _straight(self) -> Affine | None:
        """Where the cells lie if rows and columns are straight: the outer and middle ones are looked at."""
        height, width = self.shape
        terms = []
        for name in reversed(self._axes or ()):  # x, then y
            corner = self._place(name, slice(0, 1), slice(0, width))[0]
            side = self._place(name, slice(0, height), slice(0, 1))[:, 0]
            along, down = (corner[-1] - corner[0]) / (width - 1), (side[-1] - side[0]) / (height - 1)
            slack = 1e-3 * max(abs(along), abs(down))
            for row in {0, height // 2, height - 1}:
                found = self._place(name, slice(row, row + 1), slice(0, width))[0]
                if not (np.abs(found - (corner[0] + down * row + along * np.arange(width))) <= slack).all():
                    return None
            for column in {0, width // 2, width - 1}:
                found = self._place(name, slice(0, height), slice(column, column + 1))[:, 0]
                if not (np.abs(found - (corner[0] + along * column + down * np.arange(height))) <= slack).all():
                    return None
            terms.append((along, down, corner[0] - (along + down) / 2))
        (a, b, c), (d, e, f) = terms
        return (float(a), float(b), float(c), float(d), float(e), float(f)) if a * e - b * d else None

    def _from_corners(self, affine: Affine | None) -> Affine | None:
        """Half a cell to the right and down, where positions are of upper left corners; rows may run upwards."""
        if affine is None or not self._at_corners:
            return affine
        a, b, c, d, e, f = affine
        down = 0.5 if e < 0 else -0.5
        return (a, b, c + a / 2 + b * down, d, e, f + d / 2 + e * down)

    def centres(self, rows: range, columns: range) -> tuple[Places, Places]:
        if not self.curved or self._axes is None:
            return super().centres(rows, columns)
        if not self._at_corners:
            index = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
            y, x = (self._place(name, *index) for name in self._axes)
            return x, y
        (height, width), wider = self.shape, []
        for part, length in ((rows, height), (columns, width)):
            wider.append(slice(max(part.start - 1, 0), min(part.stop + 1, length)))
        inner = tuple(
            slice(part.start - wide.start, part.stop - wide.start)
            for part, wide in zip((rows, columns), wider, strict=True)
        )
        y, x = (self._place(name, *wider) for name in self._axes)
        upwards = np.gradient(y, axis=0) > 0
        shifted = []
        for each in (x, y):
            down, right = np.gradient(each)
            shifted.append((each + right / 2 + np.where(upwards, -down, down) / 2)[inner])
        return shifted[0], shifted[1]

    def _read(self, rows: slice, columns: slice) -> NDArray[Any]:
        index: tuple[int | slice, ...] = (*self._leading, rows, columns)
        return self._file.read(self._name, *index) if self._plain else self._file.values(self._name, *index)


class GeotiffRaster(Raster):
    """One band of a GeoTIFF; no other format, no file beside it."""

    def __init__(self, path: Path, band: int) -> None:
        try:
            rasterio = import_module("rasterio")
        except ImportError:
            raise BadInput(
                f"{path}: reading GeoTIFF needs the extra `raster`: pip install 'firecard[raster]'"
            ) from None
        self.path, self._band = path, band
        try:
            with (
                warnings.catch_warnings(),
                rasterio.Env(GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR", GDAL_PAM_ENABLED="NO"),
            ):
                warnings.simplefilter("ignore")  # rasterio warns of a file without georeference; we say it ourselves
                self._file = rasterio.open(path, driver="GTiff", sharing=False)
        except rasterio.errors.RasterioError as error:
            raise BadInput(f"{path}: cannot be read as GeoTIFF: {plain(str(error), 200)}") from None
        if not 1 <= band <= self._file.count:
            count = self._file.count
            self._file.close()
            raise BadInput(f"{path}: no band {band}; it has {count} band{'s' if count > 1 else ''}")
        self.shape = (int(self._file.height), int(self._file.width))
        if not self._file.transform.is_identity:
            self.affine = tuple(float(each) for each in self._file.transform[:6])  # type: ignore[assignment]
        self.crs = self._file.crs.to_wkt() if self._file.crs else None
        stored = self._file.nodatavals[band - 1]
        self._missing = () if stored is None else (float(stored),)
        if self._file.dtypes[band - 1] == "uint8":
            self.nodata = frozenset(int(each) for each in self._missing)
        else:
            self.nodata = frozenset({NO_DATA})

    def _stored_nodata(self) -> tuple[float, ...]:
        return self._missing

    def _read(self, rows: slice, columns: slice) -> NDArray[Any]:
        window = ((rows.start, rows.stop), (columns.start, columns.stop))
        try:
            return np.asarray(self._file.read(self._band, window=window))
        except import_module("rasterio").errors.RasterioError as error:
            raise BadInput(f"{self.path}: cannot be read; it is damaged ({plain(str(error), 160)})") from None

    def close(self) -> None:
        self._file.close()
