"""Model output that others wrote: WRF, ERA5, GFS, NDFD and a mesh, against raw reads by netCDF4."""

import math

import netCDF4
import numpy as np
import pandas as pd
import pytest

from metrics.errors import BadInput
from tasks.matching.locate import Cells, locate
from tasks.readers.grids import describe, sample, sample_all


@pytest.fixture
def raw():
    """A variable as netCDF4 reads it, in float64."""

    def read(path, name):
        with netCDF4.Dataset(path) as dataset:
            return np.ma.filled(dataset[name][...].astype(float), np.nan)

    return read


def at(*points, shape):
    """Stations that lie on grid points."""
    index = np.array([np.ravel_multi_index(each, shape) for each in points])[:, None]
    return Cells(shape, index, np.ones(index.shape), np.ones(len(points), bool))


def from_degrees(u, v):
    return np.degrees(np.arctan2(-u, -v)) % 360


# --- WRF -------------------------------------------------------------------------------------------------------------


def test_katrina_is_a_nest_that_follows_the_storm(shared_data, raw):
    path = shared_data / "wrf" / "katrina_wrfout_d01_2005-08-28.nc"
    files = describe([path])
    hours = ["2005-08-28T12", "2005-08-28T15", "2005-08-28T18", "2005-08-28T21"]
    np.testing.assert_array_equal(files.times, np.array(hours, "datetime64[ns]"))
    assert files.reference_time == np.datetime64("2005-08-28T00")
    assert (files.orientation.relative_to, files.orientation.known_from) == ("earth", "Mercator: zero")
    assert len(files.grids) == 4
    for step, grid in enumerate(files.grids):
        np.testing.assert_array_equal(grid.latitude, raw(path, "XLAT")[step])
        np.testing.assert_array_equal(grid.longitude, raw(path, "XLONG")[step])
        np.testing.assert_array_equal(files.surfaces[step].terrain, raw(path, "HGT")[step].ravel())
    u, v, t = (raw(path, name)[:, 20, 30] for name in ("U10", "V10", "T2"))
    found = sample_all(files, ["wind_speed", "wind_direction", "temperature"], [at((20, 30), shape=(48, 48))] * 4)
    np.testing.assert_allclose(found["wind_speed"][:, 0], np.hypot(u, v), rtol=1e-12)
    np.testing.assert_allclose(found["wind_direction"][:, 0], from_degrees(u, v), rtol=1e-12)
    np.testing.assert_allclose(found["temperature"][:, 0], t - 273.15, atol=1e-9)


def test_a_fixed_station_is_found_wherever_the_nest_of_katrina_is(shared_data, raw):
    path = shared_data / "wrf" / "katrina_wrfout_d01_2005-08-28.nc"
    files = describe([path])
    latitude, longitude = raw(path, "XLAT"), raw(path, "XLONG")
    lat, lon = latitude[0, 45, 5], longitude[0, 45, 5]
    found = sample(files, "wind_speed", [locate(grid, [lat], [lon], how="nearest") for grid in files.grids])[:, 0]
    speed = np.hypot(raw(path, "U10"), raw(path, "V10"))
    for step in range(4):
        apart = (latitude[step] - lat) ** 2 + ((longitude[step] - lon) * math.cos(math.radians(lat))) ** 2
        assert found[step] == pytest.approx(speed[step].ravel()[apart.argmin()], rel=1e-12)


def test_sup3r_is_turned_by_its_lambert_projection(shared_data, raw):
    paths = sorted((shared_data / "wrf").glob("sup3r_wrf_*.nc"))
    files = describe(paths)
    np.testing.assert_array_equal(files.times, np.array(["2014-10-01T00", "2014-10-01T01"], "datetime64[ns]"))
    assert files.reference_time == np.datetime64("2014-09-29T00")
    assert (files.orientation.relative_to, files.orientation.known_from) == ("grid", "projection attributes")
    one, two = math.radians(30), math.radians(60)  # TRUELAT1, TRUELAT2
    cone = math.log(math.cos(one) / math.cos(two)) / math.log(
        math.tan(math.pi / 4 - one / 2) / math.tan(math.pi / 4 - two / 2)
    )
    found = sample_all(files, ["wind_speed", "wind_direction"], at((0, 0), (9, 4), shape=(10, 10)))
    for step, path in enumerate(paths):
        for station, place in enumerate(((0, 0), (9, 4))):
            u, v = (raw(path, name)[0][place] for name in ("U10", "V10"))
            turn = cone * (-96 - raw(path, "XLONG")[0][place])  # STAND_LON
            assert abs(turn) > 5  # so that zero would be seen
            assert found["wind_speed"][step, station] == pytest.approx(math.hypot(u, v), rel=1e-9)
            expected = (from_degrees(u, v) - turn) % 360
            assert found["wind_direction"][step, station] == pytest.approx(expected, abs=1e-5)


def test_humidity_of_wrf_is_between_dry_and_saturated(shared_data):
    files = describe(sorted((shared_data / "wrf").glob("sup3r_wrf_*.nc")))
    humidity = sample(files, "relative_humidity", at(*np.ndindex(10, 10), shape=(10, 10)))
    assert ((humidity > 20) & (humidity <= 100)).all()


def test_files_of_two_domains_do_not_go_together(shared_data):
    with pytest.raises(BadInput, match="lies on another grid"):
        describe(sorted((shared_data / "wrf").iterdir()))


# --- CF --------------------------------------------------------------------------------------------------------------


def test_era5(shared_data, raw):
    path = shared_data / "cf_grid" / "era5_berlin_2017.nc"
    files = describe([path])
    assert files.times.size == 8760
    assert files.times[0] == np.datetime64("2017-01-01T00")
    assert files.times[-1] == np.datetime64("2017-12-31T23")
    assert files.orientation.known_from == "latitude and longitude axes: zero"
    u, v = raw(path, "u10"), raw(path, "v10")
    # The middle of the western cell: the mean of its four corners, whichever way latitude runs.
    latitude, longitude = raw(path, "latitude").mean(), raw(path, "longitude")[:2].mean()
    middle = locate(files.grid, [latitude], [longitude], how="bilinear")
    found = sample_all(files, ["u", "wind_speed", "temperature"], middle)
    east, north = (each[:, :, :2].mean(axis=(1, 2)) for each in (u, v))
    np.testing.assert_allclose(found["u"][:, 0], east, atol=1e-9)
    np.testing.assert_allclose(found["wind_speed"][:, 0], np.hypot(east, north), atol=1e-9)
    north_west = at((0, 0), shape=(2, 3))
    np.testing.assert_array_equal(sample(files, "u", north_west)[:, 0], u[:, 0, 0])
    np.testing.assert_allclose(
        sample(files, "temperature", north_west)[:, 0], raw(path, "t2m")[:, 0, 0] - 273.15, atol=1e-9
    )


def test_gfs(shared_data, raw):
    path = shared_data / "cf_grid" / "gfs_20101026.nc"
    files = describe([path])
    np.testing.assert_array_equal(files.times, np.array(["2010-10-26T12"], "datetime64[ns]"))
    assert (files.offer("wind_speed").height, files.offer("temperature").height) == (10, 2)
    u, v = (raw(path, f"{name}-component_of_wind_height_above_ground")[0, 0] for name in "uv")
    denver = locate(files.grid, [40.0], [-105.0], how="nearest")  # row 65 − 40, column 255 − 210
    found = sample_all(files, ["wind_speed", "wind_direction", "temperature"], denver)
    assert found["wind_speed"].item() == pytest.approx(math.hypot(u[25, 45], v[25, 45]), rel=1e-12)
    assert found["wind_direction"].item() == pytest.approx(from_degrees(u[25, 45], v[25, 45]), rel=1e-12)
    kelvin = raw(path, "Temperature_height_above_ground")[0, 0, 25, 45]
    assert found["temperature"].item() == pytest.approx(kelvin - 273.15, abs=1e-9)
    with pytest.raises(BadInput, match="there is no relative_humidity"):
        sample(files, "relative_humidity", denver)


def test_ndfd_lies_on_a_lambert_map_without_coordinates(shared_data, raw):
    path = shared_data / "cf_grid" / "ndfd_20170603T1800.nc"
    files = describe([path])
    np.testing.assert_array_equal(files.times, np.array(["2017-06-03T18"], "datetime64[ns]"))
    assert files.reference_time == np.datetime64("2017-05-31T12")
    assert files.grid.shape == (106, 83)
    with netCDF4.Dataset(path) as dataset:
        for name in ("lat", "lon"):
            values = getattr(files.grid, "latitude" if name == "lat" else "longitude")
            # What the file says of its own edges, half a cell (0.02°) around the outermost points.
            assert values.min() == pytest.approx(dataset.getncattr(f"geospatial_{name}_min"), abs=0.02)
            assert values.max() == pytest.approx(dataset.getncattr(f"geospatial_{name}_max"), abs=0.02)
    found = sample_all(files, ["wind_speed", "wind_direction"], at((50, 40), shape=(106, 83)))
    speed = raw(path, "Wind_speed_height_above_ground")[0, 0, 50, 40]
    direction = raw(path, "Wind_direction_from_which_blowing_height_above_ground")[0, 0, 50, 40]
    assert found["wind_speed"].item() == pytest.approx(speed, rel=1e-12)
    assert found["wind_direction"].item() == pytest.approx(direction, abs=1e-9)


def test_arome_arctic_in_grib(shared_data):
    eccodes = pytest.importorskip("eccodes")
    path = shared_data / "cf_grid" / "arome_arctic_2018071000+003.grib1"
    files = describe([path])
    assert (files.container, files.grid.kind, files.grid.shape) == ("GRIB1", "curvilinear", (100, 100))
    np.testing.assert_array_equal(files.times, np.array(["2018-07-10T03"], "datetime64[ns]"))
    assert files.reference_time == np.datetime64("2018-07-10T00")
    assert (files.orientation.relative_to, files.offer("wind_speed").height) == ("grid", 10)
    raw = {}
    with path.open("rb") as stream:
        while (message := eccodes.codes_grib_new_from_file(stream)) is not None:
            key = tuple(eccodes.codes_get(message, name) for name in ("shortName", "typeOfLevel", "level"))
            raw[key] = eccodes.codes_get_values(message).reshape(100, 100)
            raw["longitude"] = eccodes.codes_get_array(message, "longitudes").reshape(100, 100)
            eccodes.codes_release(message)
    places = [(0, 0), (99, 99), (50, 20)]
    found = sample_all(files, ["wind_speed", "wind_direction", "temperature"], at(*places, shape=(100, 100)))
    for number, place in enumerate(places):
        u, v = (raw[name, "heightAboveGround", 10][place] for name in "uv")
        # A cone that touches the earth at 77.5° north, seen along 25° west.
        turn = math.sin(math.radians(77.5)) * ((raw["longitude"][place] + 25 + 180) % 360 - 180)
        assert found["wind_speed"][0, number] == pytest.approx(math.hypot(u, v), rel=1e-9)
        expected = (from_degrees(u, v) + turn) % 360
        assert (found["wind_direction"][0, number] - expected + 180) % 360 - 180 == pytest.approx(0, abs=1e-4)
        kelvin = raw["t", "heightAboveGround", 2][place]
        assert found["temperature"][0, number] == pytest.approx(kelvin - 273.15, abs=1e-9)
        ground = raw["z", "heightAboveGround", 0][place] / 9.80665
        assert files.surfaces[0].terrain.reshape(100, 100)[place] == pytest.approx(ground, rel=1e-9)
    assert max(abs(((raw["longitude"][place] + 25 + 180) % 360) - 180) for place in places) > 10
    assert list(shared_data.glob("cf_grid/*.idx")) == []


def test_the_published_answer_for_hkna(shared_data):
    files = describe([shared_data / "mesh" / "northsea_mesh_wind.nc"])
    assert files.grid.kind == "mesh"
    cells = locate(files.grid, [52.6887], [4.2420], how="inverse_distance", k=5, power=2, metric="planar")
    modelled = sample(files, "wind_speed", cells)[:, 0]
    observed = pd.read_csv(
        shared_data / "mesh" / "HKNA_wind.csv", index_col=0, parse_dates=True, keep_default_na=False, na_values=[""]
    )["wind_speed_ms"].dropna()
    hours = (files.times - files.times[0]) / np.timedelta64(1, "h")
    at_hours = (observed.index.to_numpy() - files.times[0]) / np.timedelta64(1, "h")
    covered = (at_hours >= hours[0]) & (at_hours <= hours[-1])
    error = np.interp(at_hours[covered], hours, modelled) - observed.to_numpy()[covered]
    assert error.size == 277
    assert round(error.mean(), 6) == -0.923778
    assert round(float(np.sqrt((error**2).mean())), 6) == 1.305359
    assert round(np.abs(error).mean(), 6) == 1.054030
