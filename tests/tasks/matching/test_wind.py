"""Wind between grid and earth, speed and direction, heights: tables, round trips and independent maps."""

from pathlib import Path

import dask.array as da
import numpy as np
import pyproj
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metrics.circular import components
from metrics.errors import BadInput, BadParameter
from tasks.matching.wind import earth_relative, log_law, rotation_from_projection, speed_and_direction

DATA = Path(__file__).parents[4] / "shared" / "data" / "wrf"

# --- speed and direction -------------------------------------------------------------------------------------------

WINDS = [
    pytest.param(0.0, -5.0, 5, 0, id="northerly"),
    pytest.param(-5.0, 0.0, 5, 90, id="easterly"),
    pytest.param(0.0, 5.0, 5, 180, id="southerly"),
    pytest.param(5.0, 0.0, 5, 270, id="westerly"),
    pytest.param(-0.0, -5.0, 5, 0, id="northerly with a negative zero"),
    pytest.param(3.0, -3.0, 18**0.5, 315, id="north-westerly"),
    pytest.param(-3.0, 3.0, 18**0.5, 135, id="south-easterly"),
    pytest.param(3.0, 4.0, 5, 180 + np.degrees(np.arctan(3 / 4)), id="three, four, five"),
    pytest.param(0.0, 0.0, 0, np.nan, id="calm"),
    pytest.param(-0.0, -0.0, 0, np.nan, id="negative calm"),
    pytest.param(np.nan, 1.0, np.nan, np.nan, id="u missing"),
    pytest.param(1.0, np.nan, np.nan, np.nan, id="v missing"),
    pytest.param(5e-324, 0.0, 5e-324, 270, id="the smallest wind has a direction"),
]


@pytest.mark.parametrize(("u", "v", "speed", "direction"), WINDS)
def test_speed_and_direction(u, v, speed, direction):
    found = speed_and_direction(u, v)
    np.testing.assert_allclose(found, (speed, direction), rtol=1e-15)


@pytest.mark.parametrize(("u", "v", "speed", "direction"), WINDS[:9])
def test_components(u, v, speed, direction):
    np.testing.assert_allclose(components(speed, direction), (u, v), atol=1e-14)


def test_a_calm_has_components_and_a_variable_wind_has_none():
    np.testing.assert_array_equal(
        components([0.0, 0.0, 2.0, np.nan], [np.nan, 90.0, np.nan, 90.0])[0], [0, 0, np.nan, np.nan]
    )


def test_a_hair_west_of_north_is_not_360():
    assert speed_and_direction(1e-300, -5.0)[1] == 0
    assert 0 <= speed_and_direction(1e-14, -5.0)[1] < 360


finite = st.floats(-150, 150, allow_subnormal=False)


@given(finite, finite)
def test_components_undo_speed_and_direction(u, v):
    speed, direction = speed_and_direction(u, v)
    assert np.isnan(direction) if u == v == 0 else 0 <= direction < 360
    np.testing.assert_allclose(components(speed, direction), (u, v), atol=1e-12)


@given(st.floats(0.01, 150), st.floats(0, 360, exclude_max=True), st.integers(-2, 2))
def test_whole_turns_change_nothing(speed, direction, turns):
    found_speed, found = speed_and_direction(*components(speed, direction + 360 * turns))
    assert found_speed == pytest.approx(speed, rel=1e-12)
    assert abs((found - direction + 180) % 360 - 180) < 1e-9


# --- rotation ------------------------------------------------------------------------------------------------------


def test_earth_relative_by_hand():
    # α = 30°: wind along the grid's x axis blows towards 30° north of east, wind along y towards 30° west of north.
    sine, cosine = 1 / 2, 3**0.5 / 2
    np.testing.assert_allclose(earth_relative(2.0, 0.0, sine, cosine), (3**0.5, 1))
    np.testing.assert_allclose(earth_relative(0.0, 2.0, sine, cosine), (-1, 3**0.5))


@given(finite, finite, st.floats(-np.pi, np.pi))
def test_rotation_keeps_speed_and_turns_direction(u, v, angle):
    assume(np.hypot(u, v) > 1e-3)
    turned = earth_relative(u, v, np.sin(angle), np.cos(angle))
    speed, direction = speed_and_direction(u, v)
    found_speed, found = speed_and_direction(*turned)
    assert found_speed == pytest.approx(speed, rel=1e-12)
    assert abs((found - (direction - np.degrees(angle)) + 180) % 360 - 180) < 1e-9


def wrf(projection, **attributes):
    return {"MAP_PROJ": np.int32(projection), "POLE_LAT": 90.0, "POLE_LON": 0.0} | attributes


ANGLES = [
    # One standard parallel of 30°: the map turns half as much as the earth.
    pytest.param(wrf(1, TRUELAT1=30.0, TRUELAT2=30.0, STAND_LON=-100.0), 40.0, -80.0, -10.0, id="Lambert, east"),
    pytest.param(wrf(1, TRUELAT1=30.0, TRUELAT2=30.0, STAND_LON=-100.0), 40.0, -120.0, 10.0, id="Lambert, west"),
    pytest.param(wrf(1, TRUELAT1=30.0, STAND_LON=-100.0), 40.0, -120.0, 10.0, id="Lambert, one parallel named"),
    pytest.param(wrf(1, TRUELAT1=30.0, TRUELAT2=1e20, STAND_LON=0.0), 9.0, 8.0, -4.0, id="Lambert, second unset"),
    pytest.param(wrf(1, TRUELAT1=-30.0, TRUELAT2=-30.0, STAND_LON=20.0), -30.0, 40.0, 10.0, id="southern Lambert"),
    pytest.param(wrf(1, TRUELAT1=30.0, TRUELAT2=30.0, STAND_LON=170.0), 40.0, -170.0, -10.0, id="over the date line"),
    pytest.param(wrf(1, TRUELAT1=30.0, TRUELAT2=30.0, STAND_LON=-170.0), 40.0, 350.0 - 360, -80.0, id="half way round"),
    pytest.param(wrf(1, TRUELAT1=30.0, TRUELAT2=30.0, STAND_LON=0.0), -20.0, 20.0, -10.0, id="beyond the equator"),
    pytest.param(wrf(2, TRUELAT1=60.0, STAND_LON=-45.0), 80.0, -15.0, -30.0, id="north polar"),
    pytest.param(wrf(2, TRUELAT1=-71.0, STAND_LON=0.0), -80.0, 30.0, 30.0, id="south polar"),
    pytest.param(wrf(3, TRUELAT1=0.0, STAND_LON=-89.0), 25.0, -60.0, 0.0, id="Mercator"),
    pytest.param(wrf(6, STAND_LON=180.0), 25.0, -60.0, 0.0, id="lat-lon"),
    # Pole at (0°, 180°), a quarter turn away over (90° N): seen from the equator at 90° E it lies due east.
    pytest.param(wrf(6, STAND_LON=0.0) | {"POLE_LAT": 0.0}, 0.0, 90.0, -90.0, id="rotated, pole in the east"),
    pytest.param(wrf(6, STAND_LON=0.0) | {"POLE_LAT": 0.0}, 0.0, -90.0, 90.0, id="rotated, pole in the west"),
    pytest.param(wrf(6, STAND_LON=-10.0) | {"POLE_LAT": 40.0}, 50.0, 10.0, 0.0, id="rotated, middle of the domain"),
]


@pytest.mark.parametrize(("attributes", "latitude", "longitude", "angle"), ANGLES)
def test_angle_from_wrf_attributes(attributes, latitude, longitude, angle):
    sine, cosine = rotation_from_projection(attributes, [latitude], [longitude])
    assert sine.dtype == cosine.dtype == np.float64
    np.testing.assert_allclose(np.degrees(np.arctan2(sine, cosine)), [angle], atol=1e-12)


MAPS = [
    pytest.param(
        wrf(1, TRUELAT1=30.0, TRUELAT2=60.0, STAND_LON=-96.0),
        {
            "grid_mapping_name": "lambert_conformal_conic",
            "standard_parallel": np.array([30.0, 60.0]),
            "longitude_of_central_meridian": -96.0,
            "latitude_of_projection_origin": 39.0,
        },
        "+proj=lcc +lat_1=30 +lat_2=60 +lat_0=39 +lon_0=-96 +R=6370000",
        (25, 55, -130, -60),
        id="Lambert",
    ),
    pytest.param(
        wrf(1, TRUELAT1=38.5, TRUELAT2=38.5, STAND_LON=-97.5),
        {
            "grid_mapping_name": "lambert_conformal_conic",
            "standard_parallel": [38.5],
            "longitude_of_central_meridian": 262.5,
            "latitude_of_projection_origin": 38.5,
        },
        "+proj=lcc +lat_1=38.5 +lat_2=38.5 +lat_0=38.5 +lon_0=-97.5 +R=6370000",
        (21, 52, -134, -61),
        id="tangent Lambert",
    ),
    pytest.param(
        wrf(1, TRUELAT1=-30.0, TRUELAT2=-60.0, STAND_LON=170.0),
        {
            "grid_mapping_name": "lambert_conformal_conic",
            "standard_parallel": (-30.0, -60.0),
            "longitude_of_central_meridian": 170.0,
            "latitude_of_projection_origin": -39.0,
        },
        "+proj=lcc +lat_1=-30 +lat_2=-60 +lat_0=-39 +lon_0=170 +R=6370000",
        (-60, -20, 140, 200),
        id="southern Lambert over the date line",
    ),
    pytest.param(
        wrf(2, TRUELAT1=60.0, STAND_LON=-45.0),
        {
            "grid_mapping_name": "polar_stereographic",
            "straight_vertical_longitude_from_pole": -45.0,
            "latitude_of_projection_origin": 90.0,
            "standard_parallel": 60.0,
        },
        "+proj=stere +lat_0=90 +lat_ts=60 +lon_0=-45 +R=6370000",
        (60, 89.9, -180, 180),
        id="north polar",
    ),
    pytest.param(
        wrf(2, TRUELAT1=-71.0, STAND_LON=10.0),
        {
            "grid_mapping_name": "polar_stereographic",
            "straight_vertical_longitude_from_pole": 10.0,
            "latitude_of_projection_origin": -90.0,
            "standard_parallel": -71.0,
        },
        "+proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=10 +R=6370000",
        (-89.9, -60, 0, 360),
        id="south polar",
    ),
    pytest.param(
        wrf(3, TRUELAT1=20.0, STAND_LON=-89.0),
        {"grid_mapping_name": "mercator", "standard_parallel": 20.0, "longitude_of_projection_origin": -89.0},
        "+proj=merc +lat_ts=20 +lon_0=-89 +R=6370000",
        (-30, 50, -120, -60),
        id="Mercator",
    ),
]


def points(south, north, west, east, count=60):
    return np.random.default_rng(11).uniform([[south], [west]], [[north], [east]], (2, count))


@pytest.mark.parametrize(("attributes", "mapping", "text", "area"), MAPS)
def test_wrf_cf_and_proj_agree_with_projs_own_convergence(attributes, mapping, text, area):
    latitude, longitude = points(*area)
    # Convergence is the angle from grid north to true north, clockwise: the opposite of ours.
    angle = -np.radians(pyproj.Proj(text).get_factors(longitude, latitude).meridian_convergence)
    for projection in (attributes, mapping | {"earth_radius": 6370000.0}, text, pyproj.CRS(text)):
        sine, cosine = rotation_from_projection(projection, latitude, longitude)
        np.testing.assert_allclose(sine, np.sin(angle), atol=1e-10)
        np.testing.assert_allclose(cosine, np.cos(angle), atol=1e-10)


@pytest.mark.parametrize(("attributes", "mapping", "text", "area"), MAPS)
def test_a_uniform_wind_gets_its_direction_back(attributes, mapping, text, area):
    latitude, longitude = points(*area)
    to_map = pyproj.Proj(text)
    u, v = components(12.0, 237.3)  # on the earth, the same everywhere
    convergence = np.radians(to_map.get_factors(longitude, latitude).meridian_convergence)
    grid_u = u * np.cos(convergence) - v * np.sin(convergence)
    grid_v = v * np.cos(convergence) + u * np.sin(convergence)
    for projection in (attributes, mapping | {"earth_radius": 6370000.0}):
        rotation = rotation_from_projection(projection, latitude, longitude)
        speed, direction = speed_and_direction(*earth_relative(grid_u, grid_v, *rotation))
        np.testing.assert_allclose(speed, 12, rtol=1e-12)
        np.testing.assert_allclose(direction, 237.3, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("attributes", "mapping", "text", "area"), MAPS)
def test_angle_is_the_course_of_a_row_of_the_grid(attributes, mapping, text, area):
    latitude, longitude = points(*area)
    to_map = pyproj.Proj(text)
    x, y = to_map(longitude, latitude)
    (west, south), (east, north) = (to_map(x + step, y, inverse=True) for step in (-500.0, 500.0))
    course = pyproj.Geod(a=6370000.0, b=6370000.0).inv(west, south, east, north)[0]  # clockwise from north
    sine, cosine = rotation_from_projection(attributes, latitude, longitude)
    # The course of a chord is that at its western end; half a chord of 1 km turns by less than 0.05° below 85°.
    apart = (np.degrees(np.arctan2(sine, cosine)) - (90 - course) + 180) % 360 - 180
    assert np.abs(apart[np.abs(latitude) < 85]).max() < 0.06


def rotated(centre_lat, centre_lon):
    """Points of a rotated grid around a centre, where its rows run due east, and the exact angle of the rows."""
    phi, lam = np.radians([centre_lat, centre_lon])
    middle = np.array([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)])
    east = np.array([-np.sin(lam), np.cos(lam), 0])
    turn = np.stack([middle, east, np.cross(middle, east)], axis=1)
    row, column = np.radians(np.meshgrid(np.linspace(-20, 20, 9), np.linspace(-30, 30, 11), indexing="ij"))
    place = turn @ np.stack([np.cos(row) * np.cos(column), np.cos(row) * np.sin(column), np.sin(row)]).reshape(3, -1)
    along = turn @ np.stack([-np.sin(column), np.cos(column), 0 * row]).reshape(3, -1)
    lat, lon = np.arcsin(place[2]), np.arctan2(place[1], place[0])
    to_east = -np.sin(lon) * along[0] + np.cos(lon) * along[1]
    to_north = (-np.cos(lon) * along[0] - np.sin(lon) * along[1]) * np.sin(lat) + np.cos(lat) * along[2]
    return np.degrees(lat), np.degrees(lon), to_north, to_east


@pytest.mark.parametrize("centre", [(50.0, 10.0), (38.0, -120.5), (64.0, 178.0), (-33.0, 146.0), (-41.0, -179.0)])
def test_rotated_pole_of_wrf_and_cf(centre):
    latitude, longitude, sine, cosine = rotated(*centre)
    # How the WRF user's guide sets a regional rotated domain north and south of the equator.
    if centre[0] > 0:
        attributes = {"MAP_PROJ": 6, "POLE_LAT": 90 - centre[0], "POLE_LON": 180.0, "STAND_LON": -centre[1]}
        pole = {"grid_north_pole_latitude": 90 - centre[0], "grid_north_pole_longitude": centre[1] + 180}
    else:
        attributes = {"MAP_PROJ": 6, "POLE_LAT": 90 + centre[0], "POLE_LON": 0.0, "STAND_LON": 180 - centre[1]}
        pole = {"grid_north_pole_latitude": 90 + centre[0], "grid_north_pole_longitude": centre[1]}
    mapping = {"grid_mapping_name": "rotated_latitude_longitude", "earth_radius": 6371229.0} | pole
    for projection, digits in ((attributes, 1e-12), (mapping, 1e-10)):
        found = rotation_from_projection(projection, latitude, longitude)
        np.testing.assert_allclose(found, (sine, cosine), atol=digits)


@pytest.mark.parametrize("code", ["EPSG:32633", "EPSG:3413", "EPSG:3031", "EPSG:2154", "EPSG:2263"])
def test_maps_of_an_ellipsoid_and_of_feet(code):
    crs = pyproj.CRS(code)
    area = crs.area_of_use
    latitude, longitude = points(area.south, area.north, area.west, area.east)
    angle = -np.radians(pyproj.Proj(crs).get_factors(longitude, latitude).meridian_convergence)
    found = rotation_from_projection(crs, latitude, longitude)
    np.testing.assert_allclose(found, (np.sin(angle), np.cos(angle)), atol=1e-9)


def test_plain_latitude_and_longitude_need_no_rotation():
    for projection in ("EPSG:4326", {"grid_mapping_name": "latitude_longitude"}):
        sine, cosine = rotation_from_projection(projection, np.zeros((2, 3)), np.ones((2, 3)))
        assert sine.tolist() == [[0.0] * 3] * 2
        assert cosine.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("projection", [MAPS[0].values[0], MAPS[0].values[2]])
def test_missing_coordinates_have_no_rotation(projection):
    latitude = np.ma.masked_equal([40.0, 41.0, np.nan], 41.0)
    sine, cosine = rotation_from_projection(projection, latitude, [-100.0, -100.0, np.nan])
    assert np.isfinite([sine[0], cosine[0]]).all()
    assert np.isnan([sine[2], cosine[2]]).all()


REFUSED = [
    pytest.param({"MAP_PROJ": 0}, "MAP_PROJ = 0 ", id="idealised"),
    pytest.param({"MAP_PROJ": 203}, "MAP_PROJ = 203 ", id="another model's grid"),
    pytest.param({"MAP_PROJ": "Lambert"}, "MAP_PROJ = 'Lambert'", id="a word"),
    pytest.param({"MAP_PROJ": 1, "TRUELAT1": 30.0, "TRUELAT2": 60.0}, "STAND_LON is missing", id="no meridian"),
    pytest.param({"MAP_PROJ": 1, "STAND_LON": 0.0}, "TRUELAT1 is missing", id="no parallel"),
    pytest.param({"MAP_PROJ": 1, "TRUELAT1": np.nan, "STAND_LON": 0.0}, "TRUELAT1 = nan", id="parallel not a number"),
    pytest.param({"MAP_PROJ": 1, "TRUELAT1": 0.0, "TRUELAT2": 0.0, "STAND_LON": 0.0}, "cone", id="cone of no angle"),
    pytest.param({"MAP_PROJ": 1, "TRUELAT1": 30.0, "TRUELAT2": -30.0, "STAND_LON": 0.0}, "cone", id="two cones"),
    pytest.param({"MAP_PROJ": 2, "TRUELAT1": 0.0, "STAND_LON": 0.0}, "which pole", id="polar without a pole"),
    pytest.param({"MAP_PROJ": 6, "POLE_LAT": 40.0}, "STAND_LON is missing", id="rotated without a meridian"),
    pytest.param({"grid_mapping_name": "no_such_map"}, "no_such_map", id="unknown grid mapping"),
    pytest.param({"standard_parallel": 30.0}, "no grid_mapping_name", id="attributes without a name"),
    pytest.param({"grid_mapping_name": "lambert_conformal_conic"}, "lambert_conformal_conic", id="incomplete mapping"),
    pytest.param("nonsense", "nonsense", id="nonsense"),
    pytest.param("EPSG:4978", "is no map", id="geocentric"),
    pytest.param("+proj=sinu +lon_0=-40 +R=6371229", "perpendicular", id="skewed map"),
]


@pytest.mark.parametrize(("projection", "message"), REFUSED)
def test_unknown_orientation_is_an_error(projection, message):
    with pytest.raises(BadInput, match=message):
        rotation_from_projection(projection, [40.0, 50.0], [10.0, 20.0])


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the real data of {DATA} is not on this machine")
def test_real_lambert_file_without_rotation_fields():
    with xr.open_dataset(DATA / "sup3r_wrf_2014-10-01_00_00_00.nc", engine="netcdf4") as dataset:
        latitude = dataset.XLAT.values[0].astype(float)
        longitude = dataset.XLONG.values[0].astype(float)
        sine, cosine = rotation_from_projection(dataset.attrs, latitude, longitude)
    # The mean course of each row, from both of its ends, 18 km apart: float32 coordinates allow 0.01°.
    ends = (longitude[:, 0], latitude[:, 0], longitude[:, -1], latitude[:, -1])
    course, back = pyproj.Geod(ellps="sphere").inv(*ends)[:2]
    angle = np.degrees(np.arctan2(sine, cosine))[:, [0, -1]].mean(axis=1)
    np.testing.assert_allclose(angle, 90 - (course + back % 360 - 180) / 2, atol=0.01)
    assert angle.min() > 19  # assuming no rotation would turn every wind by so much


# --- height --------------------------------------------------------------------------------------------------------

HEIGHTS = [
    pytest.param(10.0, 10.0, 6.1, 0.03, 10 * np.log(6.1 / 0.03) / np.log(10 / 0.03), id="to a RAWS over grass"),
    pytest.param(4.0, 1.0, 100.0, 0.1, 12.0, id="ln 1000 / ln 10 = 3"),
    pytest.param(12.0, 100.0, 1.0, 0.1, 4.0, id="and back"),
    pytest.param(7.0, 6.1, 6.1, 0.05, 7.0, id="same height"),
    pytest.param(np.nan, 10.0, 6.1, 0.03, np.nan, id="missing speed"),
    pytest.param(5.0, np.nan, 6.1, 0.03, np.nan, id="missing height"),
    pytest.param(0.0, 10.0, 6.1, 0.03, 0.0, id="calm"),
]


@pytest.mark.parametrize(("speed", "from_height", "to_height", "roughness", "expected"), HEIGHTS)
def test_log_law(speed, from_height, to_height, roughness, expected):
    np.testing.assert_allclose(log_law(speed, from_height, to_height, roughness), expected, rtol=1e-14)


def test_ten_metres_against_a_raws_differ_by_9_to_17_percent():
    lost = 1 - log_law(np.ones(2), 10.0, 6.1, np.array([0.03, 0.5]))
    assert lost.round(2).tolist() == [0.09, 0.17]


def test_each_station_has_its_own_height():
    found = log_law(np.ones((2, 3)), 10.0, np.array([10.0, 6.1, 2.0]), 0.1)
    np.testing.assert_allclose(found, [[1, np.log(61) / np.log(100), np.log(20) / np.log(100)]] * 2)


BAD_HEIGHTS = [
    pytest.param(10.0, 6.1, 0.0, "roughness = 0", id="no roughness"),
    pytest.param(10.0, 6.1, np.nan, "roughness = nan", id="unknown roughness"),
    pytest.param(10.0, 0.1, 0.1, "to_height = 0.1", id="at the roughness length"),
    pytest.param(-2.0, 6.1, 0.1, "from_height = -2", id="below ground"),
]


@pytest.mark.parametrize(("from_height", "to_height", "roughness", "message"), BAD_HEIGHTS)
def test_heights_without_a_profile(from_height, to_height, roughness, message):
    with pytest.raises(BadParameter, match=message):
        log_law(5.0, from_height, to_height, roughness)


# --- numpy, dask and xarray ----------------------------------------------------------------------------------------


def test_lazy_stays_lazy_and_equals_eager():
    u, v = np.random.default_rng(2).normal(size=(2, 4, 3, 5)).astype(np.float32)
    u[0, 0, 0] = v[0, 0, 0] = 0
    u[1, 1, 1] = np.nan
    angle = np.linspace(-0.3, 0.3, 15).reshape(3, 5)
    sine, cosine = np.sin(angle), np.cos(angle)

    def chain(u, v, sine, cosine):
        speed, direction = speed_and_direction(*earth_relative(u, v, sine, cosine))
        return log_law(speed, 10.0, 6.1, 0.1), direction, *components(speed, direction)

    eager = chain(u, v, sine, cosine)
    dims = ("time", "y", "x")
    arrays = chain(*(da.from_array(each, chunks=2) for each in (u, v, sine, cosine)))
    labelled = chain(
        *(xr.DataArray(each, dims=dims).chunk(time=1) for each in (u, v)),
        *(xr.DataArray(each, dims=dims[1:]) for each in (sine, cosine)),
    )
    for plain, array, label in zip(eager, arrays, labelled, strict=True):
        assert plain.dtype == np.float64
        assert isinstance(array, da.Array)
        assert label.chunks is not None
        assert label.dims == dims
        np.testing.assert_array_equal(array.compute(), plain)
        np.testing.assert_array_equal(label.compute().values, plain)


@settings(max_examples=20)
@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=5))
def test_arrays_and_numbers_agree(winds):
    u, v = np.array(winds).T
    together = speed_and_direction(u, v)
    for number, (one, two) in enumerate(winds):
        np.testing.assert_allclose(speed_and_direction(one, two), [each[number] for each in together], rtol=1e-14)
