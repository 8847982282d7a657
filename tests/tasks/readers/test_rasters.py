"""Rasters by piece: the right codes, the right place, and a message for what is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from configs.paths import place
from metrics.errors import BadInput
from tasks.readers.rasters import NO_DATA, kind_of, opened_raster

VALUES = np.array([[0, 1, 2], [3, 4, 255]], dtype=np.uint8)
WHOLE = (slice(0, 2), slice(0, 3))


def test_an_array(tmp_path):
    np.save(tmp_path / "a.npy", VALUES)
    assert kind_of(tmp_path / "a.npy") == "array"
    with opened_raster(tmp_path / "a.npy", None, {}) as raster:
        assert (raster.shape, raster.affine, raster.nodata) == ((2, 3), None, frozenset())
        assert (raster.read(*WHOLE) == VALUES).all()
        assert raster.read(slice(1, 2), slice(0, 2)).tolist() == [[3, 4]]


def test_a_pickle_is_never_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with (
        pytest.raises(BadInput, match=r"a\.npy: cannot be read as an array"),
        opened_raster(tmp_path / "a.npy", None, {}),
    ):
        pass


def netcdf(path: Path, values: np.ndarray = VALUES, **attributes: object) -> Path:
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        for name, unit, points in (("lat", "degrees_north", [41.0, 40.0]), ("lon", "degrees_east", [10.0, 12.0, 14.0])):
            file.createDimension(name, len(points))
            axis = file.createVariable(name, "f8", (name,))
            axis[:], axis.units = points, unit
        variable = file.createVariable("severity", values.dtype, ("lat", "lon"))
        variable.setncatts(attributes)
        variable.set_auto_maskandscale(False)
        variable[:] = values
    return path


def test_a_netcdf_file(tmp_path):
    with opened_raster(netcdf(tmp_path / "a.nc", missing_value=np.uint8(255)), None, {}) as raster:
        assert raster.affine == (2.0, 0.0, 9.0, 0.0, -1.0, 41.5)
        assert raster.crs == "EPSG:4326"
        assert raster.nodata == {255}
        assert (raster.read(*WHOLE) == VALUES).all()


def test_whole_numbers_stored_as_float(tmp_path):
    path = netcdf(tmp_path / "a.nc", np.where(VALUES == 255, np.nan, VALUES))
    with opened_raster(path, None, {}) as raster:
        assert raster.read(*WHOLE)[1].tolist() == [3, 4, NO_DATA]


def test_which_variable_is_asked(tmp_path):
    import netCDF4

    path = netcdf(tmp_path / "a.nc")
    with netCDF4.Dataset(path, "a") as file:
        file.createVariable("other", "u1", ("lat", "lon"))[:] = 2
    with (
        pytest.raises(BadInput, match=r"expected one map, found (severity, other|other, severity): say `variable:`"),
        opened_raster(path, None, {}),
    ):
        pass
    with opened_raster(path, None, {"variable": "other"}) as raster:
        assert raster.read(*WHOLE).tolist() == [[2, 2, 2]] * 2
    with pytest.raises(BadInput, match="no variable 'third'"), opened_raster(path, None, {"variable": "third"}):
        pass


def test_what_is_no_raster(tmp_path):
    (tmp_path / "a.txt").write_text("nothing")
    with (
        pytest.raises(BadInput, match=r"a\.txt: is no raster that firecard reads"),
        opened_raster(tmp_path / "a.txt", None, {}),
    ):
        pass
    with pytest.raises(BadInput, match="is a directory"), opened_raster(tmp_path, None, {}):
        pass


def geotiff(path: Path, values: np.ndarray = VALUES, **more: object) -> Path:
    rasterio = pytest.importorskip("rasterio", reason="GeoTIFF needs the extra `raster`")
    options = {"crs": "EPSG:5070", "transform": rasterio.Affine(30, 0, -2e6, 0, -30, 1.9e6), **more}
    bands = values[None] if values.ndim == 2 else values
    with rasterio.open(
        path, "w", driver="GTiff", count=len(bands), height=2, width=3, dtype=values.dtype, **options
    ) as file:
        file.write(bands)
    return path


def test_a_geotiff(tmp_path):
    path = geotiff(tmp_path / "a.tif", nodata=255)
    assert kind_of(path) == "geotiff"
    with opened_raster(path, None, {}) as raster:
        assert raster.affine == (30.0, 0.0, -2e6, 0.0, -30.0, 1.9e6)
        assert raster.crs_name() == "NAD83 / Conus Albers"
        assert raster.nodata == {255}
        assert (raster.read(*WHOLE) == VALUES).all()
        assert raster.read(slice(1, 2), slice(1, 3)).tolist() == [[4, 255]]


def test_a_geotiff_of_floats(tmp_path):
    path = geotiff(tmp_path / "a.tif", np.where(VALUES == 255, -9999.0, VALUES).astype("f4"), nodata=-9999)
    with opened_raster(path, None, {}) as raster:
        assert raster.read(*WHOLE)[1].tolist() == [3, 4, NO_DATA]


def test_a_band_that_is_not_there(tmp_path):
    path = geotiff(tmp_path / "a.tif", np.stack([VALUES, VALUES]))
    with pytest.raises(BadInput, match=r"a\.tif: no band 3; it has 2 bands"), opened_raster(path, None, {"band": 3}):
        pass


def test_only_geotiff_is_opened(tmp_path):
    pytest.importorskip("rasterio", reason="GeoTIFF needs the extra `raster`")
    # A driver that reads other files must never be tried, whatever the bytes say.
    (tmp_path / "a.vrt").write_text("<VRTDataset/>")
    with pytest.raises(BadInput, match="cannot be read as GeoTIFF"), opened_raster(tmp_path / "a.vrt", "geotiff", {}):
        pass


def test_without_the_extra_the_message_says_what_to_install(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "rasterio", None)
    (tmp_path / "a.tif").write_bytes(b"II*\0" + b"\0" * 60)
    with (
        pytest.raises(BadInput, match=r"pip install 'firecard\[raster\]'"),
        opened_raster(tmp_path / "a.tif", None, {}),
    ):
        pass


def zarr(path: Path, values: np.ndarray = VALUES, version: int = 3, **encoding: object) -> Path:
    import xarray as xr

    axes = {"lat": ("lat", [41.0, 40.0], {"units": "degrees_north"}), "lon": ("lon", [10.0, 12.0, 14.0])}
    data = xr.Dataset({"severity": (("lat", "lon"), values)}, coords=axes)
    data["lon"].attrs["units"] = "degrees_east"
    data.to_zarr(path, zarr_format=version, consolidated=False, encoding={"severity": {"chunks": (1, 2), **encoding}})
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_a_zarr_store(tmp_path, version):
    path = zarr(tmp_path / "a.zarr", version=version, _FillValue=np.uint8(255))
    assert kind_of(path) == "zarr"
    with opened_raster(path, None, {}) as raster:
        assert raster.affine == (2.0, 0.0, 9.0, 0.0, -1.0, 41.5)
        assert raster.crs == "EPSG:4326"
        assert raster.nodata == {255}
        assert (raster.read(*WHOLE) == VALUES).all()
        assert raster.read(slice(1, 2), slice(1, 3)).tolist() == [[4, 255]]


@pytest.mark.parametrize("version", [2, 3])
def test_a_zarr_store_of_floats(tmp_path, version):
    path = zarr(tmp_path / "a.zarr", np.where(VALUES == 255, np.nan, VALUES).astype("f4"), version)
    with opened_raster(path, "zarr", {}) as raster:
        assert raster.read(*WHOLE)[1].tolist() == [3, 4, NO_DATA]


def test_only_the_pieces_that_are_asked_for_are_read(tmp_path):
    path = zarr(tmp_path / "a.zarr")
    (path / "severity" / "c" / "1" / "1").write_bytes(b"damaged")
    with opened_raster(path, None, {}) as raster:
        assert raster.read(slice(0, 2), slice(0, 2)).tolist() == [[0, 1], [3, 4]]
        with pytest.raises(BadInput, match=r"a\.zarr: severity: cannot be read; it is damaged"):
            raster.read(*WHOLE)


def test_a_store_that_would_be_unpickled_is_never_opened(tmp_path):
    import json

    path = zarr(tmp_path / "a.zarr", version=2)
    described = json.loads((path / "severity" / ".zarray").read_text())
    (path / "severity" / ".zarray").write_text(json.dumps({**described, "filters": [{"id": "pickle"}]}))
    with pytest.raises(BadInput, match="is packed with 'pickle'"), opened_raster(path, None, {}):
        pass


@pytest.mark.parametrize("content", ["{", "[]", '{"codecs": [1]}'])
def test_a_store_whose_description_is_damaged(tmp_path, content):
    path = zarr(tmp_path / "a.zarr")
    (path / "severity" / "zarr.json").write_text(content)
    with (
        pytest.raises(BadInput, match=r"a\.zarr: .*(is not the description|is damaged)"),
        opened_raster(path, None, {}),
    ):
        pass


@pytest.mark.parametrize("version", [2, 3])
def test_what_zarr_does_not_write_is_unburned(tmp_path, version):
    # Pieces that hold nothing but the fill value, 0, are not written; they are most of a map.
    values = np.array([[4, 4, 0], [0, 0, 0]], dtype=np.uint8)
    path = zarr(tmp_path / "a.zarr", values, version)
    with opened_raster(path, None, {}) as raster:
        assert raster.read(*WHOLE).tolist() == values.tolist()
        assert raster.nodata == frozenset()


def test_a_zarr_store_at_a_url(tmp_path):
    import fsspec

    files = fsspec.filesystem("memory")
    files.put(str(zarr(tmp_path / "a.zarr")), "/maps/a.zarr", recursive=True)
    try:
        with opened_raster(place("memory://maps/a.zarr"), None, {}) as raster:
            assert raster.affine == (2.0, 0.0, 9.0, 0.0, -1.0, 41.5)
            assert (raster.read(*WHOLE) == VALUES).all()
    finally:
        files.rm("/maps", recursive=True)


def test_a_file_is_no_store(tmp_path):
    np.save(tmp_path / "a.npy", VALUES)
    with pytest.raises(BadInput, match=r"a\.npy: is no Zarr store"), opened_raster(tmp_path / "a.npy", "zarr", {}):
        pass


def test_a_store_without_a_map(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    with pytest.raises(BadInput, match="expected one map, found none"), opened_raster(tmp_path / "a.zarr", None, {}):
        pass
