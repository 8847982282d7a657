"""CF NetCDF in small files made here: grids, names, units, levels, orientation, times, and what is refused."""

import math

import netCDF4
import numpy as np
import pyproj
import pytest

from metrics.errors import BadInput, UnknownUnit
from tasks.matching.locate import Cells, locate
from tasks.readers.grids import Wishes, describe, sample, sample_all

LATITUDE = np.array([40.0, 41.0, 42.0])
LONGITUDE = np.array([-120.0, -119.0, -118.0, -117.0])
HOURS = {"units": "hours since 2026-11-17 00:00:00", "standard_name": "time"}
U = {"standard_name": "eastward_wind", "units": "m s-1"}
V = {"standard_name": "northward_wind", "units": "m s-1"}


def write(path, dims, variables, data_model="NETCDF4"):
    """A file of dimensions (name: size) and variables (name: dimensions, values, attributes)."""
    with netCDF4.Dataset(path, "w", format=data_model) as dataset:
        for name, size in dims.items():
            dataset.createDimension(name, size)
        for name, (along, values, attributes) in variables.items():
            values, attributes = np.asarray(values), dict(attributes)
            fill = attributes.pop("_FillValue", None)
            variable = dataset.createVariable(name, attributes.pop("kind", values.dtype), along, fill_value=fill)
            variable.set_auto_maskandscale(False)
            variable.setncatts(attributes)
            variable[...] = np.broadcast_to(values, variable.shape)
    return path


def rectilinear(path, *, times=(0, 1), latitude=LATITUDE, longitude=LONGITUDE, dims=None, **variables):
    """A file with axes of latitude and longitude; variables lie along time, lat and lon unless they say otherwise."""
    fields = {
        name: each if len(each) == 3 else (("time", "lat", "lon"), *each) for name, each in variables.items() if each
    }
    return write(
        path,
        {"time": len(times), "lat": latitude.size, "lon": longitude.size, **(dims or {})},
        {
            "time": (("time",), np.array(times, float), HOURS),
            "lat": (("lat",), latitude, {"units": "degrees_north"}),
            "lon": (("lon",), longitude, {"units": "degrees_east"}),
            **fields,
        },
    )


def at(*points, shape=(3, 4)):
    """Stations that lie on grid points."""
    index = np.array(points)[:, None]
    return Cells(shape, index, np.ones(index.shape), np.ones(len(points), bool))


def halfway(one, two, shape=(3, 4)):
    return Cells(shape, np.array([[one, two]]), np.array([[0.5, 0.5]]), np.ones(1, bool))


# --- grids -----------------------------------------------------------------------------------------------------------


def test_description_of_a_rectilinear_file(tmp_path):
    files = describe([rectilinear(tmp_path / "a", u=(3.0, U), v=(4.0, V))])
    assert files.source == "cf"
    assert (files.grid.kind, files.grid.shape) == ("rectilinear", (3, 4))
    np.testing.assert_array_equal(files.times, np.array(["2026-11-17T00", "2026-11-17T01"], "datetime64[ns]"))
    assert (files.orientation.relative_to, files.orientation.known_from) == ("earth", "standard_name eastward_wind")
    assert files.reference_time is None
    assert files.offer("wind_speed").stored_as == ("u", "v")
    np.testing.assert_array_equal(sample(files, "wind_speed", at(0, 11)), [[5, 5], [5, 5]])


@pytest.mark.parametrize("latitude", [LATITUDE, LATITUDE[::-1]], ids=["ascending", "descending"])
@pytest.mark.parametrize("longitude", [LONGITUDE, LONGITUDE + 360], ids=["west is negative", "0 to 360"])
def test_latitude_may_descend_and_longitude_run_to_360(tmp_path, latitude, longitude):
    east = 10 * latitude[:, None] + (longitude[None, :] + 180) % 360 - 180
    files = describe([rectilinear(tmp_path / "a", latitude=latitude, longitude=longitude, u=(east, U), v=(0.0, V))])
    cells = locate(files.grid, [40.25], [-118.5], how="bilinear")
    np.testing.assert_allclose(sample(files, "u", cells), 10 * 40.25 - 118.5, atol=1e-9)


def test_dimensions_may_come_in_any_order(tmp_path):
    values = np.arange(24.0).reshape(2, 3, 4)  # time, lat, lon
    path = rectilinear(
        tmp_path / "a", u=(("lon", "time", "lat"), values.transpose(2, 0, 1), U), v=(("lat", "lon", "time"), 0.0, V)
    )
    files = describe([path])
    np.testing.assert_array_equal(sample(files, "u", at(0, 5, 11)), values.reshape(2, 12)[:, [0, 5, 11]])


@pytest.mark.parametrize("chunks", [None, (5, 2, 2), (12, 6, 7), (1, 6, 7)])
def test_only_the_box_of_the_stations_is_read_and_nothing_changes(tmp_path, monkeypatch, chunks):
    values = np.random.default_rng(3).normal(size=(12, 6, 7))
    with netCDF4.Dataset(tmp_path / "a", "w") as dataset:
        for name, size in (("time", 12), ("lat", 6), ("lon", 7)):
            dataset.createDimension(name, size)
            dataset.createVariable(name, "f8", (name,))[:] = np.arange(float(size))
        dataset["time"].setncatts(HOURS)
        dataset["lat"].units, dataset["lon"].units = "degrees_north", "degrees_east"
        dataset.createVariable("t2m", "f8", ("time", "lat", "lon"), chunksizes=chunks, zlib=bool(chunks))[:] = values
        dataset["t2m"].units = "degC"
    monkeypatch.setattr("tasks.readers.grids.AT_ONCE", 2000)  # a few times at once
    files = describe([tmp_path / "a"])
    cells = locate(files.grid, [3.5, 4.25, 80.0, 5.0], [2.5, 4.0, 3.0, 6.0], how="bilinear")
    expected = np.full((12, 4), np.nan)
    expected[:, 0] = values[:, 3:5, 2:4].mean(axis=(1, 2))
    expected[:, 1] = 0.75 * values[:, 4, 4] + 0.25 * values[:, 5, 4]
    expected[:, 3] = values[:, 5, 6]
    np.testing.assert_allclose(sample(files, "temperature", cells), expected, atol=1e-12)


def test_a_mesh(tmp_path):
    points = {
        "time": (("time",), np.array([0.0]), HOURS),
        "clat": (("cell",), np.radians([50.0, 51.0, 52.0]), {"standard_name": "latitude", "units": "radian"}),
        "clon": (("cell",), np.radians([3.0, 4.0, 5.0]), {"standard_name": "longitude", "units": "radian"}),
        "u": (("time", "cell"), np.array([[1.0, 2.0, 3.0]]), U),
        "v": (("time", "cell"), 0.0, V),
    }
    files = describe([write(tmp_path / "a", {"time": 1, "cell": 3}, points)])
    assert files.grid.kind == "mesh"
    np.testing.assert_allclose(files.grid.latitude, [50, 51, 52])
    np.testing.assert_array_equal(sample(files, "u", at(2, 0, shape=(3,))), [[3, 1]])


def on_map(path, attributes, *, with_coordinates=True, names=("x_wind", "y_wind"), units="m", wind=(3.0, 4.0)):
    """A file on rows and columns of a map, 3 by 4 points 50 km (or 0.5°) apart."""
    crs = pyproj.CRS.from_cf(attributes)
    step = 0.5 if crs.is_geographic else 50_000.0
    x, y = step * np.arange(4), step * np.arange(3)
    back = pyproj.Transformer.from_crs(crs, crs.source_crs if crs.is_derived else crs.geodetic_crs, always_xy=True)
    longitude, latitude = back.transform(*np.meshgrid(x, y))
    kinds = (
        ("grid_longitude", "grid_latitude")
        if crs.is_geographic
        else ("projection_x_coordinate", "projection_y_coordinate")
    )
    standard = [{"standard_name": name} if name.endswith("_wind") else {} for name in names]
    scale = 1000 if units == "km" and not crs.is_geographic else 1
    variables = {
        "time": (("time",), np.array([0.0]), HOURS),
        "x": (("x",), x / scale, {"standard_name": kinds[0], "units": "degrees" if crs.is_geographic else units}),
        "y": (("y",), y / scale, {"standard_name": kinds[1], "units": "degrees" if crs.is_geographic else units}),
        "crs": ((), np.int32(0), attributes),
    }
    if with_coordinates:
        variables["lat"] = (("y", "x"), latitude, {"units": "degrees_north"})
        variables["lon"] = (("y", "x"), longitude, {"units": "degrees_east"})
    for name, told, values in zip(names, standard, wind, strict=True):
        variables[name] = (("time", "y", "x"), values, {"units": "m/s", "grid_mapping": "crs", **told})
    write(path, {"time": 1, "y": 3, "x": 4}, variables)
    return path, latitude, longitude


LAMBERT = {
    "grid_mapping_name": "lambert_conformal_conic",
    "standard_parallel": [30.0, 60.0],
    "longitude_of_central_meridian": -100.0,
    "latitude_of_projection_origin": 40.0,
    "earth_radius": 6_371_200.0,
    "false_easting": 2_000_000.0,
}
POLAR = {
    "grid_mapping_name": "polar_stereographic",
    "straight_vertical_longitude_from_pole": 20.0,
    "latitude_of_projection_origin": 90.0,
    "standard_parallel": 60.0,
    "earth_radius": 6_371_200.0,
    "false_easting": 1_000_000.0,
    "false_northing": 2_000_000.0,
}
ROTATED = {
    "grid_mapping_name": "rotated_latitude_longitude",
    "grid_north_pole_latitude": 40.0,
    "grid_north_pole_longitude": -170.0,
    "earth_radius": 6_371_200.0,
}


@pytest.mark.parametrize("attributes", [LAMBERT, POLAR], ids=["Lambert", "polar stereographic"])
def test_wind_along_the_grid_is_turned_by_the_grid_mapping(tmp_path, attributes):
    _, latitude, longitude = on_map(tmp_path / "first", attributes)
    # pyproj's own convergence. All points lie west of the map's middle, where true north leans to the right: east
    # points below the x axis there, and the angle from east to x, counter-clockwise, is positive.
    factors = pyproj.Proj(pyproj.CRS.from_cf(attributes)).get_factors(longitude, latitude)
    turn = np.radians(-factors.meridian_convergence)
    assert (np.degrees(turn) > 5).all()
    east, north = -7 * math.sin(math.radians(237)), -7 * math.cos(math.radians(237))
    wind = (east * np.cos(turn) + north * np.sin(turn), north * np.cos(turn) - east * np.sin(turn))
    path, *_ = on_map(tmp_path / "second", attributes, wind=wind)
    files = describe([path])
    assert (files.orientation.relative_to, files.orientation.known_from) == ("grid", "projection attributes")
    found = sample_all(files, ["wind_speed", "wind_direction"], at(0, 5, 11))
    np.testing.assert_allclose(found["wind_direction"], 237, atol=1e-6)
    np.testing.assert_allclose(found["wind_speed"], 7, atol=1e-9)


@pytest.mark.parametrize("attributes", [LAMBERT, POLAR, ROTATED], ids=["Lambert", "polar stereographic", "rotated"])
@pytest.mark.parametrize("units", ["m", "km"])
def test_coordinates_from_the_map_where_a_file_has_x_and_y_only(tmp_path, attributes, units):
    path, latitude, longitude = on_map(tmp_path / "a", attributes, with_coordinates=False, units=units)
    files = describe([path])
    assert files.grid.kind == "curvilinear"
    np.testing.assert_allclose(files.grid.latitude, latitude, atol=1e-9)
    np.testing.assert_allclose(files.grid.longitude, longitude, atol=1e-9)
    assert files.orientation.relative_to == "grid"


def test_eastward_wind_on_a_map_is_left_as_it_is(tmp_path):
    path, *_ = on_map(tmp_path / "a", LAMBERT, names=("eastward_wind", "northward_wind"))
    files = describe([path])
    assert files.orientation.relative_to == "earth"
    assert sample(files, "u", at(0)) == 3


def test_orientation_that_no_name_tells_is_an_error_until_the_case_says_it(tmp_path):
    path, *_ = on_map(tmp_path / "a", LAMBERT, names=("u10", "v10"))
    files = describe([path])
    with pytest.raises(BadInput, match="orientation of u10 and v10 is unknown") as raised:
        sample(files, "wind_speed", at(0))
    assert str(path) in str(raised.value)
    earth = describe([path], wishes=Wishes(winds="earth"))
    assert (earth.orientation.known_from, sample(earth, "u", at(0)).item()) == ("said in the case", 3)
    grid = describe([path], wishes=Wishes(winds="grid"))
    assert grid.orientation.known_from == "said in the case, projection attributes"
    assert sample(grid, "u", at(0)) != 3
    assert sample(grid, "wind_speed", at(0)).item() == pytest.approx(5)


def test_wind_along_a_grid_without_a_map_is_an_error(tmp_path):
    path, *_ = on_map(tmp_path / "a", LAMBERT)
    with netCDF4.Dataset(path, "a") as dataset:
        dataset["x_wind"].delncattr("grid_mapping")
    with pytest.raises(BadInput, match="no grid mapping to turn it by"):
        sample(describe([path]), "wind_speed", at(0))


@pytest.mark.parametrize("names", [("u10", "v10"), ("10u", "10v"), ("x_wind", "y_wind"), ("uas", "vas")])
def test_axes_of_latitude_and_longitude_do_not_turn_wind(tmp_path, names):
    told = [{"standard_name": name} if name.endswith("_wind") else {} for name in names]
    fields = {
        name: (value, {"units": "m/s", **each}) for name, value, each in zip(names, (3.0, 4.0), told, strict=True)
    }
    files = describe([rectilinear(tmp_path / "a", **fields)])
    assert files.orientation.known_from == "latitude and longitude axes: zero"
    assert sample(files, "v", at(0))[0] == 4


# --- values ----------------------------------------------------------------------------------------------------------


def test_packed_integers(tmp_path):
    raw = np.arange(24, dtype="i2").reshape(2, 3, 4)
    packed = {"units": "m s**-1", "scale_factor": 0.5, "add_offset": 2.0, "_FillValue": np.int16(11), "kind": "i2"}
    files = describe([rectilinear(tmp_path / "a", u10=(raw, packed), v10=(raw, packed))])
    np.testing.assert_array_equal(sample(files, "u", at(0, 10, 11)), [[2, 7, np.nan], [8, 13, 13.5]])


UNITS = [("m s**-1", 1.0), ("m s-1", 1.0), ("m/s", 1.0), ("knots", 1852 / 3600), ("kt", 1852 / 3600)]


@pytest.mark.parametrize(("unit", "factor"), UNITS)
def test_units_of_wind(tmp_path, unit, factor):
    files = describe([rectilinear(tmp_path / "a", u10=(6.0, {"units": unit}), v10=(8.0, {"units": unit}))])
    assert sample(files, "wind_speed", at(0))[0].item() == pytest.approx(10 * factor, rel=1e-12)


SCALARS = [
    pytest.param("temperature", "t2m", 293.15, "K", 20, id="kelvin"),
    pytest.param("temperature", "tas", 20.0, "degC", 20, id="celsius"),
    pytest.param("temperature", "T2M", 20.0, "C", 20, id="C is no coulomb"),
    pytest.param("relative_humidity", "r2", 45.0, "%", 45, id="percent"),
    pytest.param("relative_humidity", "hurs", 0.45, "1", 45, id="a fraction"),
    pytest.param("wind_gust", "gust", 36.0, "km/h", 10, id="gust"),
    pytest.param("dew_point", "d2m", 283.15, "K", 10, id="dew point"),
]


@pytest.mark.parametrize(("variable", "name", "value", "unit", "expected"), SCALARS)
def test_scalars_in_the_unit_that_is_kept(tmp_path, variable, name, value, unit, expected):
    files = describe([rectilinear(tmp_path / "a", **{name: (value, {"units": unit})})])
    np.testing.assert_allclose(sample(files, variable, at(3)), expected, rtol=1e-9)


def test_relative_humidity_from_dew_point(tmp_path):
    files = describe([rectilinear(tmp_path / "a", t2m=(20.0, {"units": "degC"}), d2m=(10.0, {"units": "degC"}))])
    expected = 100 * math.exp(17.67 * 10 / 253.5) / math.exp(17.67 * 20 / 263.5)
    np.testing.assert_allclose(sample(files, "relative_humidity", at(0)), expected, rtol=1e-12)


def test_stored_speed_is_interpolated_and_stored_direction_is_not(tmp_path):
    # 6 m/s from 350° beside 2 m/s from 10°: degrees would give 180°.
    direction = np.broadcast_to([350.0, 10.0, 0.0, 0.0], (2, 3, 4))
    speed = np.broadcast_to([6.0, 2.0, 0.0, 0.0], (2, 3, 4))
    path = rectilinear(
        tmp_path / "a",
        ws=(speed, {"standard_name": "wind_speed", "units": "m s-1"}),
        wd=(direction, {"standard_name": "wind_from_direction", "units": "degree_true"}),
    )
    files = describe([path])
    found = sample_all(files, ["wind_speed", "wind_direction", "v"], halfway(0, 1))
    east = (6 * math.sin(math.radians(10)) - 2 * math.sin(math.radians(10))) / 2
    south = (6 + 2) * math.cos(math.radians(10)) / 2
    np.testing.assert_allclose(found["wind_speed"], 4)
    np.testing.assert_allclose(found["v"], -south)
    np.testing.assert_allclose(found["wind_direction"], 360 - math.degrees(math.atan(east / south)))


def test_names_of_the_case(tmp_path):
    path = rectilinear(
        tmp_path / "a", east=(3.0, {"units": "m/s"}), north=(4.0, {"units": "m/s"}), fm=(8.0, {"units": "%"})
    )
    with pytest.raises(BadInput, match="no variable that is known here; the case can name them"):
        describe([path])
    files = describe([path], wishes=Wishes(names={"u": "east", "v": "north", "fuel_moisture": "fm"}))
    assert sample(files, "wind_speed", at(0))[0] == 5
    assert sample(files, "fuel_moisture", at(0))[0] == 8
    with pytest.raises(BadInput, match="no variable nort, which the case names for v; did you mean north"):
        describe([path], wishes=Wishes(names={"u": "east", "v": "nort"}))


def test_terrain(tmp_path):
    ground = 10.0 * np.arange(12).reshape(3, 4)
    path = rectilinear(
        tmp_path / "a",
        u=(3.0, U),
        v=(4.0, V),
        orog=(("lat", "lon"), ground, {"standard_name": "surface_altitude", "units": "m"}),
    )
    np.testing.assert_array_equal(describe([path]).surfaces[0].terrain, ground.ravel())


# --- levels and choices ----------------------------------------------------------------------------------------------

ABOVE = {"standard_name": "height", "units": "m", "positive": "up"}


def test_a_height_dimension_of_one(tmp_path):
    path = rectilinear(
        tmp_path / "a",
        dims={"height": 1},
        height=(("height",), np.array([80.0]), ABOVE),
        u=(("time", "height", "lat", "lon"), 3.0, U),
        v=(("time", "height", "lat", "lon"), 4.0, V),
    )
    files = describe([path])
    assert files.offer("wind_speed").height == 80
    assert sample(files, "wind_speed", at(0))[0] == 5
    with pytest.raises(BadInput, match=r"u is at 80 m, but the case says `wind_height` 6.1 m"):
        describe([path], wishes=Wishes(wind_height=6.1))


def test_the_right_one_of_several_heights(tmp_path):
    path = rectilinear(
        tmp_path / "a",
        dims={"height": 3},
        height=(("height",), np.array([2.0, 10.0, 100.0]), ABOVE),
        u=(("time", "height", "lat", "lon"), np.arange(3.0)[None, :, None, None], U),
        v=(("time", "height", "lat", "lon"), 0.0, V),
        t=(
            ("time", "height", "lat", "lon"),
            np.arange(3.0)[None, :, None, None],
            {"standard_name": "air_temperature", "units": "degC"},
        ),
    )
    files = describe([path])
    assert (files.offer("u").height, sample(files, "u", at(0))[0].item()) == (10, 1)
    assert (files.offer("temperature").height, sample(files, "temperature", at(0))[0].item()) == (2, 0)


def test_wind_aloft_is_not_the_wind(tmp_path):
    path = rectilinear(
        tmp_path / "a",
        dims={"plev": 1, "member": 3},
        plev=(("plev",), np.array([850.0]), {"standard_name": "air_pressure", "units": "hPa"}),
        u=(("time", "plev", "lat", "lon"), 3.0, U),
        v=(("time", "member", "lat", "lon"), 4.0, V),
        t2m=(20.0, {"units": "degC"}),
    )
    files = describe([path])
    assert set(files.offers) == {"temperature"}
    assert "levels of pressure" in str(files.withheld["u"])
    assert "3 places along member" in str(files.withheld["v"])
    with pytest.raises(BadInput, match="there is no wind_speed"):
        sample(files, "wind_speed", at(0))


def test_the_nearest_to_ten_metres_of_several_variables(tmp_path):
    fields = {}
    for height in (100.0, 10.0):
        fields[f"height_{height:.0f}"] = ((), height, ABOVE)
        fields[f"u{height:.0f}m"] = (height, {**U, "coordinates": f"height_{height:.0f}"})
        fields[f"v{height:.0f}m"] = (0.0, {**V, "coordinates": f"height_{height:.0f}"})
    files = describe([rectilinear(tmp_path / "a", **fields)])
    assert files.offer("u").stored_as == ("u10m", "v10m")
    assert sample(files, "u", at(0))[0] == 10


def test_a_choice_that_is_not_ours(tmp_path):
    path = rectilinear(tmp_path / "a", one=(3.0, U), two=(3.0, U), v=(4.0, V))
    files = describe([path], wishes=Wishes(names={"u": "two"}))
    assert files.offer("u").stored_as == ("two", "v")
    assert "one and two could both be u" in str(
        describe(
            [rectilinear(tmp_path / "b", one=(3.0, U), two=(3.0, U), v=(4.0, V), t2m=(1.0, {"units": "K"}))]
        ).withheld["u"]
    )


def test_the_highest_temperature_is_not_the_temperature_but_the_highest_gust_is_the_gust(tmp_path):
    path = rectilinear(
        tmp_path / "a",
        tasmax=(30.0, {"standard_name": "air_temperature", "units": "degC", "cell_methods": "time: maximum"}),
        tas=(20.0, {"standard_name": "air_temperature", "units": "degC", "cell_methods": "time: point"}),
        wg=(15.0, {"standard_name": "wind_speed_of_gust", "units": "m/s", "cell_methods": "time: maximum"}),
    )
    files = describe([path])
    assert sample(files, "temperature", at(0))[0] == 20
    assert "maximum" in files.offer("wind_gust").statistic


# --- times -----------------------------------------------------------------------------------------------------------

CLOCKS = [
    pytest.param("hours since 2026-11-17", [0.0, 1.5], ["2026-11-17T00", "2026-11-17T01:30"], id="hours"),
    pytest.param("Hour since 2026-11-17T00:00:00Z", [0.0, 1.0], ["2026-11-17T00", "2026-11-17T01"], id="with Z"),
    pytest.param("hours since 2026-11-17 00:00:00 -7:00", [0.0, 1.0], ["2026-11-17T07", "2026-11-17T08"], id="zone"),
    pytest.param("days since 2026-11-17", [0.0, 1 / 3], ["2026-11-17T00", "2026-11-17T08"], id="thirds of a day"),
    pytest.param("seconds since 1970-01-01", [0.0, 3600.0], ["1970-01-01T00", "1970-01-01T01"], id="seconds"),
]


@pytest.mark.parametrize(("units", "numbers", "expected"), CLOCKS)
def test_times_are_utc(tmp_path, units, numbers, expected):
    path = rectilinear(tmp_path / "a", u=(3.0, U), v=(4.0, V), time=(("time",), np.array(numbers), {"units": units}))
    np.testing.assert_array_equal(describe([path]).times, np.array(expected, "datetime64[ns]"))


def test_a_single_time_that_is_no_dimension_and_a_cycle(tmp_path):
    fields = {
        "lat": (("lat",), LATITUDE, {"units": "degrees_north"}),
        "lon": (("lon",), LONGITUDE, {"units": "degrees_east"}),
        "valid": ((), 6.0, HOURS),
        "run": ((), 0.0, {**HOURS, "standard_name": "forecast_reference_time"}),
        "u": (("lat", "lon"), np.arange(12.0).reshape(3, 4), {**U, "coordinates": "valid run"}),
        "v": (("lat", "lon"), 0.0, {**V, "coordinates": "valid run"}),
    }
    files = describe([write(tmp_path / "a", {"lat": 3, "lon": 4}, fields, "NETCDF3_CLASSIC")])
    np.testing.assert_array_equal(files.times, np.array(["2026-11-17T06"], "datetime64[ns]"))
    assert files.reference_time == np.datetime64("2026-11-17T00")
    np.testing.assert_array_equal(sample(files, "u", at(0, 11)), [[0, 11]])


def test_steps_with_valid_times_as_grib_converters_write_them(tmp_path):
    fields = {
        "lat": (("lat",), LATITUDE, {"units": "degrees_north"}),
        "lon": (("lon",), LONGITUDE, {"units": "degrees_east"}),
        "time": ((), 0.0, {**HOURS, "standard_name": "forecast_reference_time"}),
        "step": (("step",), np.array([3.0, 6.0]), {"units": "hours", "standard_name": "forecast_period"}),
        "valid_time": (("step",), np.array([3.0, 6.0]), HOURS),
        "u10": (("step", "lat", "lon"), 3.0, {"units": "m s**-1", "standard_name": "unknown"}),
        "v10": (("step", "lat", "lon"), 4.0, {"units": "m s**-1", "standard_name": "unknown"}),
    }
    files = describe([write(tmp_path / "a", {"step": 2, "lat": 3, "lon": 4}, fields)])
    np.testing.assert_array_equal(files.times, np.array(["2026-11-17T03", "2026-11-17T06"], "datetime64[ns]"))
    assert files.reference_time == np.datetime64("2026-11-17T00")


def test_a_variable_with_other_times_is_withheld(tmp_path):
    path = rectilinear(
        tmp_path / "a",
        dims={"time1": 1},
        u=(3.0, U),
        v=(4.0, V),
        time1=(("time1",), np.array([0.5]), HOURS),
        t2m=(("time1", "lat", "lon"), 20.0, {"units": "degC"}),
    )
    with pytest.raises(BadInput, match=r"t2m is valid 2026-11-17 00:30 UTC, other than .* \(2 times\) of u"):
        sample(describe([path]), "temperature", at(0))


def test_a_variable_that_lacks_some_of_the_times_is_missing_there(tmp_path, monkeypatch):
    path = rectilinear(
        tmp_path / "a",
        times=range(6),
        dims={"time1": 3},
        u=(3.0, U),
        v=(4.0, V),
        time1=(("time1",), np.array([1.0, 2.0, 4.0]), HOURS),
        fg10=(("time1", "lat", "lon"), np.array([11.0, 12.0, 14.0])[:, None, None], {"units": "m/s"}),
    )
    for at_once in (2**25, 192):  # all times together, and two by two
        monkeypatch.setattr("tasks.readers.grids.AT_ONCE", at_once)
        files = describe([path])
        found = sample_all(files, ["wind_gust", "wind_speed"], at(0, 11))
        np.testing.assert_array_equal(found["wind_gust"][:, 1], [np.nan, 11, 12, np.nan, 14, np.nan])
        np.testing.assert_array_equal(found["wind_speed"], 5)


BAD_CLOCKS = [
    pytest.param({"units": "hours since yesterday"}, [0.0, 1.0], "time is not a time", id="no date"),
    pytest.param({"units": "fortnights since 2026-11-17"}, [0.0, 1.0], "time is not a time", id="no unit of time"),
    pytest.param({**HOURS, "calendar": "noleap"}, [0.0, 1.0], "calendar 'noleap'", id="a calendar of climate models"),
    pytest.param(HOURS, [1.0, 0.0], "do not run forwards", id="backwards"),
    pytest.param(HOURS, [0.0, np.nan], "time 2 of 2 is missing", id="missing"),
    pytest.param({"units": "hours"}, [0.0, 1.0], "u has no valid times along its dimensions", id="since when?"),
]


@pytest.mark.parametrize(("attributes", "numbers", "message"), BAD_CLOCKS)
def test_times_that_make_no_sense(tmp_path, attributes, numbers, message):
    path = rectilinear(tmp_path / "a", u=(3.0, U), v=(4.0, V), time=(("time",), np.array(numbers), attributes))
    with pytest.raises(BadInput, match=message) as raised:
        describe([path])
    assert str(path) in str(raised.value)


# --- refused ---------------------------------------------------------------------------------------------------------


def test_a_table_of_stations_is_no_grid(tmp_path):
    path = write(tmp_path / "a", {"row": 3}, {"speed": (("row",), 1.0, {"units": "m/s"})})
    with pytest.raises(BadInput, match="neither WRF output nor CF"):
        describe([path])


def test_units_that_are_unknown(tmp_path):
    path = rectilinear(tmp_path / "a", u=(3.0, {**U, "units": "m per mouse"}), v=(4.0, V), t2m=(1.0, {"units": "K"}))
    with pytest.raises(UnknownUnit, match="unknown unit 'm per mouse'") as raised:
        sample(describe([path]), "u", at(0))
    assert f"{path}: u" in str(raised.value)


def test_a_grid_that_moves(tmp_path):
    fields = {
        "time": (("time",), np.array([0.0, 1.0]), HOURS),
        "lat": (("time", "y", "x"), np.arange(8.0).reshape(2, 2, 2), {"units": "degrees_north"}),
        "lon": (("time", "y", "x"), np.arange(8.0).reshape(2, 2, 2), {"units": "degrees_east"}),
        "u": (("time", "y", "x"), 3.0, U),
        "v": (("time", "y", "x"), 4.0, V),
    }
    with pytest.raises(BadInput, match="lat changes with time"):
        describe([write(tmp_path / "a", {"time": 2, "y": 2, "x": 2}, fields)])


def test_axes_that_do_not_run_steadily(tmp_path):
    path = rectilinear(tmp_path / "a", latitude=np.array([40.0, 42.0, 41.0]), u=(3.0, U), v=(4.0, V))
    with pytest.raises(BadInput, match="latitude axis does not run steadily") as raised:
        describe([path])
    assert str(path) in str(raised.value)


def test_a_map_that_nobody_knows(tmp_path):
    path, *_ = on_map(tmp_path / "a", LAMBERT, with_coordinates=False)
    with netCDF4.Dataset(path, "a") as dataset:
        dataset["crs"].grid_mapping_name = "flat_earth"
    with pytest.raises(BadInput, match="flat_earth"):
        describe([path])


# --- reference time and lead -----------------------------------------------------------------------------------------

CYCLES = {"units": "hours since 2026-11-17 00:00:00", "standard_name": "forecast_reference_time"}
LEADS = {"units": "hours", "standard_name": "forecast_period"}
AXES = {
    "lat": (("lat",), LATITUDE, {"units": "degrees_north"}),
    "lon": (("lon",), LONGITUDE, {"units": "degrees_east"}),
}
SIX = np.datetime64("2026-11-17T06", "ns")


def of_cycles(path, dims, variables):
    """A file of winds whose u says where it comes from: 10 × the place among the cycles + the place among the leads."""
    return write(path, {**dims, "lat": 3, "lon": 4}, {**AXES, **variables})


def test_a_scalar_reference_time_with_leads(tmp_path):
    path = of_cycles(
        tmp_path / "a",
        {"step": 3},
        {
            "forecast_reference_time": ((), 6.0, CYCLES),
            "step": (("step",), np.array([0, 30, 60]), {"units": "minutes"}),
            "u": (("step", "lat", "lon"), np.arange(3.0)[:, None, None], U),
            "v": (("step", "lat", "lon"), 0.0, V),
        },
    )
    files = describe([path])
    half_hours = ["2026-11-17T06", "2026-11-17T06:30", "2026-11-17T07"]
    np.testing.assert_array_equal(files.times, np.array(half_hours, "datetime64[ns]"))
    assert files.reference_time == SIX
    np.testing.assert_array_equal(sample(files, "u", at(5))[:, 0], [0, 1, 2])


GRID_OF_TIMES = [
    pytest.param("reference_time", CYCLES, "lead_time", {"units": "hours"}, id="named as such"),
    pytest.param("time", CYCLES, "step", LEADS, id="as cfgrib writes it"),
    pytest.param("time", HOURS | {"standard_name": ""}, "prediction_timedelta", {"units": "hours"}, id="WeatherBench"),
    pytest.param("init_time", {"units": CYCLES["units"]}, "lead", {"units": "h"}, id="by usual names"),
]


@pytest.mark.parametrize(("cycle", "about_cycle", "lead", "about_lead"), GRID_OF_TIMES)
@pytest.mark.parametrize("first", ["cycle", "lead"])
def test_of_several_cycles_the_wanted_one_is_read(tmp_path, cycle, about_cycle, lead, about_lead, first):
    values = (10.0 * np.arange(2)[:, None] + np.arange(3))[..., None, None]
    dims = (cycle, lead)
    if first == "lead":
        values, dims = values.swapaxes(0, 1), dims[::-1]
    path = of_cycles(
        tmp_path / "a",
        {cycle: 2, lead: 3},
        {
            cycle: ((cycle,), np.array([0.0, 6.0]), {name: each for name, each in about_cycle.items() if each}),
            lead: ((lead,), np.array([0.0, 3.0, 6.0]), about_lead),
            "u": ((*dims, "lat", "lon"), values, U),
            "v": ((*dims, "lat", "lon"), 0.0, V),
        },
    )
    newest = describe([path])
    assert newest.reference_time == SIX
    np.testing.assert_array_equal(newest.times, SIX + np.array([0, 3, 6], "m8[h]"))
    np.testing.assert_array_equal(sample(newest, "u", at(0))[:, 0], [10, 11, 12])
    older = describe([path], wishes=Wishes(cycle=np.datetime64("2026-11-17T00")))
    np.testing.assert_array_equal(older.times, SIX + np.array([-6, -3, 0], "m8[h]"))
    np.testing.assert_array_equal(sample(older, "u", at(0))[:, 0], [0, 1, 2])
    with pytest.raises(BadInput, match="no cycle 2026-11-16 18:00 UTC; there are 2, up to 2026-11-17 00:00 UTC, 2026"):
        describe([path], wishes=Wishes(cycle=np.datetime64("2026-11-16T18")))


def test_valid_times_of_two_dimensions(tmp_path):
    path = of_cycles(
        tmp_path / "a",
        {"time": 2, "step": 2},
        {
            "time": (("time",), np.array([0.0, 6.0]), CYCLES),
            "step": (("step",), np.array([1.0, 2.0]), LEADS),
            "valid_time": (("time", "step"), np.array([[1.0, 2.0], [7.0, 8.0]]), HOURS),
            "u": (("time", "step", "lat", "lon"), np.array([[0.0, 1.0], [10.0, 11.0]])[..., None, None], U),
            "v": (("time", "step", "lat", "lon"), 0.0, V),
        },
    )
    files = describe([path], wishes=Wishes(cycle=SIX))
    np.testing.assert_array_equal(files.times, SIX + np.array([1, 2], "m8[h]"))
    np.testing.assert_array_equal(sample(files, "u", at(0))[:, 0], [10, 11])


def test_cycles_that_stand_one_after_the_other(tmp_path):
    variables = {
        "time": (("time",), np.array([0.0, 1.0, 6.0, 7.0, 8.0]), HOURS),
        "reftime": (("time",), np.array([0.0, 0.0, 6.0, 6.0, 6.0]), CYCLES),
        "u": (("time", "lat", "lon"), np.arange(5.0)[:, None, None], U),
        "v": (("time", "lat", "lon"), 0.0, V),
    }
    files = describe([of_cycles(tmp_path / "a", {"time": 5}, variables)])
    np.testing.assert_array_equal(files.times, SIX + np.array([0, 1, 2], "m8[h]"))
    np.testing.assert_array_equal(sample(files, "u", at(0))[:, 0], [2, 3, 4])
    variables["reftime"] = (("time",), np.array([0.0, 6.0, 0.0, 6.0, 6.0]), CYCLES)
    with pytest.raises(BadInput, match=r"u: the times of the cycle 2026-11-17 06:00 UTC do not stand together"):
        describe([of_cycles(tmp_path / "b", {"time": 5}, variables)])


UNCLEAR_TIMES = [
    pytest.param({"time": HOURS}, "step", "whether time is the valid or the reference time is not known", id="both"),
    pytest.param({}, "step", r"u has leads \(step\), and no reference time", id="leads alone"),
    pytest.param({"time": CYCLES}, "member", "u has no valid times along its dimensions time, member", id="no leads"),
]


@pytest.mark.parametrize(("clock", "other", "message"), UNCLEAR_TIMES)
def test_times_that_are_not_clear_are_refused(tmp_path, clock, other, message):
    variables = {name: ((name,), np.array([0.0, 6.0]), about) for name, about in clock.items()}
    variables[other] = ((other,), np.array([1.0, 2.0]), {"units": "hours"} if other == "step" else {})
    along = ("time", other, "lat", "lon")
    fields = {"u": (along, 1.0, U), "v": (along, 1.0, V)}
    with pytest.raises(BadInput, match=message):
        describe([of_cycles(tmp_path / "a", {"time": 2, other: 2}, {**variables, **fields})])


def test_times_that_are_called_differently_and_are_the_same_go_together(tmp_path):
    path = rectilinear(
        tmp_path / "a",
        dims={"time1": 2},
        u=(3.0, U),
        v=(4.0, V),
        time1=(("time1",), np.array([0.0, 1.0]), HOURS),
        t2m=(("time1", "lat", "lon"), 20.0, {"units": "degC"}),
    )
    files = describe([path])
    assert {"wind_speed", "temperature"} <= files.offers.keys()
    np.testing.assert_array_equal(sample(files, "temperature", at(0))[:, 0], [20, 20])


def test_wind_goes_before_what_has_more_times(tmp_path):
    path = rectilinear(
        tmp_path / "a",
        dims={"time1": 1},
        t2m=(20.0, {"units": "degC"}),
        d2m=(10.0, {"units": "degC"}),
        time1=(("time1",), np.array([0.0]), HOURS),
        ws10=(("time1", "lat", "lon"), 5.0, {"units": "m/s"}),
    )
    files = describe([path])
    assert files.times.size == 1
    assert "wind_speed" in files.offers
    assert files.withheld.keys() >= {"temperature", "dew_point"}


# --- variables in files of their own ---------------------------------------------------------------------------------


def test_components_in_separate_files(tmp_path):
    east = rectilinear(tmp_path / "u", u=(3.0, U))
    north = rectilinear(tmp_path / "v", v=(4.0, V))
    warmth = rectilinear(tmp_path / "t", t2m=(20.0, {"units": "degC"}))
    for order in ([warmth, east, north], [north, warmth, east]):
        files = describe(order)
        assert len(files.files) == 1
        assert files.orientation.known_from == "standard_name eastward_wind"
        np.testing.assert_array_equal(sample(files, "wind_speed", at(0)), [[5], [5]])
        np.testing.assert_array_equal(sample(files, "temperature", at(0)), [[20], [20]])
    later = (
        rectilinear(tmp_path / "u2", times=(2, 3), u=(6.0, U)),
        rectilinear(tmp_path / "v2", times=(2, 3), v=(8.0, V)),
    )
    files = describe([east, *later, north])
    assert len(files.files) == 2
    np.testing.assert_array_equal(sample(files, "wind_speed", at(0))[:, 0], [5, 5, 10, 10])


def test_components_along_the_grid_in_separate_files_are_turned(tmp_path):
    on_map(tmp_path / "whole", LAMBERT)
    whole = describe([tmp_path / "whole"])
    for name in ("x_wind", "y_wind"):
        with netCDF4.Dataset(tmp_path / "whole") as source, netCDF4.Dataset(tmp_path / name, "w") as copy:
            for dim, size in source.dimensions.items():
                copy.createDimension(dim, size.size)
            for each in source.variables.values():
                if each.name not in {"x_wind", "y_wind"} - {name}:
                    made = copy.createVariable(each.name, each.dtype, each.dimensions)
                    made.setncatts({key: each.getncattr(key) for key in each.ncattrs()})
                    made[...] = each[...]
    apart = describe([tmp_path / "x_wind", tmp_path / "y_wind"])
    assert apart.orientation == whole.orientation
    assert apart.orientation.relative_to == "grid"
    where = at(0, 11)
    direction = sample(whole, "wind_direction", where)
    assert abs(direction - np.degrees(np.arctan2(-3, -4)) % 360).max() > 0.5  # so that a missing turn would be seen
    np.testing.assert_array_equal(sample(apart, "wind_direction", where), direction)


def test_the_same_variable_at_the_same_times_twice_is_refused(tmp_path):
    one = rectilinear(tmp_path / "a", u=(3.0, U), v=(4.0, V))
    two = rectilinear(tmp_path / "b", v=(4.0, V), t2m=(20.0, {"units": "degC"}))
    with pytest.raises(BadInput, match=r"b: starts at .* reaches as well .*; both have v; which of the two"):
        describe([one, two])


def test_components_of_two_heights_make_no_wind(tmp_path):
    height = {"height": ((), 80.0, {"units": "m", "standard_name": "height"})}
    high = rectilinear(tmp_path / "u", **height, u=(3.0, {**U, "coordinates": "height"}))
    low = rectilinear(tmp_path / "v", v10=(4.0, V))
    with pytest.raises(BadInput, match=r"v: v10 is not at the height of u in .*u$"):
        describe([high, low])


# --- heights ---------------------------------------------------------------------------------------------------------

LEVELS = {"height": (("height",), np.array([10.0, 80.0, 120.0]), {"units": "m", "standard_name": "height"})}


def test_the_case_says_which_height_is_meant(tmp_path):
    along = ("time", "height", "lat", "lon")
    speeds = np.array([4.0, 8.0, 9.0])[:, None, None]
    path = rectilinear(tmp_path / "a", dims={"height": 3}, **LEVELS, u=(along, speeds, U), v=(along, 0.0, V))
    usual, high = describe([path]), describe([path], wishes=Wishes(wind_height=80.0))
    assert (usual.offer("wind_speed").height, high.offer("wind_speed").height) == (10, 80)
    assert (sample(usual, "u", at(0))[0], sample(high, "u", at(0))[0]) == (4, 8)
    with pytest.raises(BadInput, match=r"u has 3 places along height \(10, 80, 120 m\); which is meant is not known"):
        describe([path], wishes=Wishes(wind_height=50.0))


# --- UGRID -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("location", ["face", "node"])
def test_a_ugrid_mesh_by_its_faces_and_by_its_nodes(tmp_path, location):
    nodes, faces = np.array([50.0, 50.0, 51.0, 51.0]), np.array([50.0 + 1 / 3, 50.0 + 2 / 3])
    east = {"node": np.array([3.0, 4.0, 3.0, 4.0]), "face": np.array([3.0 + 1 / 3, 3.0 + 2 / 3])}
    lats = {"node": nodes, "face": faces}
    about = {**U, "mesh": "mesh", "location": location, "coordinates": f"{location}_y {location}_x"}
    variables = {
        "mesh": ((), np.int32(0), {"cf_role": "mesh_topology", "topology_dimension": np.int32(2)}),
        "time": (("time",), np.array([0.0]), HOURS),
        "face_nodes": (("nface", "corner"), np.array([[0, 1, 2], [1, 3, 2]], "i4"), {"start_index": np.int32(0)}),
    }
    for place in ("node", "face"):
        variables[f"{place}_y"] = ((f"n{place}",), lats[place], {"standard_name": "latitude", "units": "degrees_north"})
        variables[f"{place}_x"] = ((f"n{place}",), east[place], {"standard_name": "longitude", "units": "degrees_east"})
    count = lats[location].size
    variables["u"] = (("time", f"n{location}"), np.arange(float(count))[None], about)
    variables["v"] = (("time", f"n{location}"), 0.0, {**about, "standard_name": "northward_wind"})
    files = describe([write(tmp_path / "a", {"time": 1, "nnode": 4, "nface": 2, "corner": 3}, variables)])
    assert (files.grid.kind, files.grid.shape) == ("mesh", (count,))
    np.testing.assert_array_equal(files.grid.latitude, lats[location])
    assert sample(files, "u", at(count - 1, shape=(count,))).item() == count - 1


def test_winds_that_a_converter_calls_eastward_lie_along_the_grid_if_the_flag_of_grib_says_so(tmp_path):
    path, _, _ = on_map(tmp_path / "a", LAMBERT)
    with netCDF4.Dataset(path, "a") as dataset:
        for name, standard in (("x_wind", "eastward_wind"), ("y_wind", "northward_wind")):
            dataset[name].setncatts({"standard_name": standard, "GRIB_uvRelativeToGrid": np.int32(1)})
    assert describe([path]).orientation.relative_to == "grid"
    with netCDF4.Dataset(path, "a") as dataset:
        dataset["x_wind"].setncatts({"standard_name": "x_wind", "GRIB_uvRelativeToGrid": np.int32(0)})
    with pytest.raises(BadInput, match="the orientation of x_wind and y_wind is unknown"):
        describe([path]).offer("wind_speed")
