"""GRIB written here with ecCodes: the conventions of HRRR, GFS and AROME with known values, and what is refused."""

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import netCDF4
import numpy as np
import pyproj
import pytest

from metrics.errors import BadInput
from tasks.matching.locate import Cells, locate
from tasks.readers.formats import recognise
from tasks.readers.grib import Grib
from tasks.readers.grids import Wishes, describe, sample, sample_all
from tasks.readers.hdf import opened

pyproj.CRS.from_epsg(4326)
eccodes = pytest.importorskip("eccodes")  # after pyproj

LAMBERT = {
    "gridType": "lambert",
    "shapeOfTheEarth": 6,  # a sphere of 6371.229 km
    "Nx": 5,
    "Ny": 4,
    "latitudeOfFirstGridPointInDegrees": 35.0,
    "longitudeOfFirstGridPointInDegrees": 240.0,
    "LaDInDegrees": 38.5,
    "LoVInDegrees": 262.5,
    "Latin1InDegrees": 38.5,
    "Latin2InDegrees": 38.5,
    "DxInMetres": 30_000,
    "DyInMetres": 30_000,
    "jScansPositively": 1,
    "uvRelativeToGrid": 1,
}
GLOBE = {
    "gridType": "regular_ll",
    "Ni": 36,
    "Nj": 19,
    "latitudeOfFirstGridPointInDegrees": 90.0,
    "latitudeOfLastGridPointInDegrees": -90.0,
    "longitudeOfFirstGridPointInDegrees": 0.0,
    "longitudeOfLastGridPointInDegrees": 350.0,
    "iDirectionIncrementInDegrees": 10.0,
    "jDirectionIncrementInDegrees": 10.0,
    "jScansPositively": 0,
    "uvRelativeToGrid": 0,
}
PARAMETERS = {  # discipline 0: category and number
    "u": (2, 2),
    "v": (2, 3),
    "gust": (2, 22),
    "t": (0, 0),
    "d": (0, 6),
    "speed": (2, 1),
}
ROWS = {"lambert": (4, 5), "rotated_ll": (4, 5), "regular_ll": (19, 36)}


def message(grid, parameter, values, *, level=10, surface=103, step=0, cycle=(20261117, 0), over=None, member=None):
    """One field: `over` is how many hours its maximum goes back."""
    handle = eccodes.codes_grib_new_from_samples("GRIB2")
    template = 0
    if over is not None:
        template = 8
    if member is not None:
        template = 1
    keys = {
        "centre": 7,
        "dataDate": cycle[0],
        "dataTime": cycle[1],
        **grid,
        "productDefinitionTemplateNumber": template,
        "parameterCategory": PARAMETERS[parameter][0],
        "parameterNumber": PARAMETERS[parameter][1],
        "typeOfFirstFixedSurface": surface,
        "level": level,
    }
    for key, value in keys.items():
        eccodes.codes_set(handle, key, value)
    if over is not None:
        eccodes.codes_set(handle, "typeOfStatisticalProcessing", 2)
        eccodes.codes_set(handle, "stepRange", f"{step - over}-{step}")
    else:
        eccodes.codes_set(handle, "step", step)
    if member is not None:
        eccodes.codes_set(handle, "perturbationNumber", member)
    values = np.broadcast_to(np.asarray(values, float), ROWS[grid["gridType"]]).ravel()
    if np.isnan(values).any():
        eccodes.codes_set(handle, "bitmapPresent", 1)
        values = np.where(np.isnan(values), eccodes.codes_get(handle, "missingValue"), values)
    eccodes.codes_set(handle, "bitsPerValue", 24)
    eccodes.codes_set_values(handle, np.ascontiguousarray(values))
    return handle


def grib(path, *handles):
    with path.open("wb") as file:
        for each in handles:
            eccodes.codes_write(each, file)
            eccodes.codes_release(each)
    return path


def at(*points, shape):
    index = np.array([np.ravel_multi_index(each, shape) for each in points])[:, None]
    return Cells(shape, index, np.ones(index.shape), np.ones(len(points), bool))


@pytest.fixture
def hrrr(tmp_path):
    """An hour of HRRR: winds of 10 and 80 m along the grid, a gust at the surface, several kinds of temperature."""
    return grib(
        tmp_path / "hrrr.t00z.wrfsfcf03.grib2",
        message(LAMBERT, "t", 300.0, level=0, surface=1, step=3),
        message(LAMBERT, "t", 250.0, level=50_000, surface=100, step=3),
        message(LAMBERT, "t", 283.15, level=2, step=3),
        message(LAMBERT, "d", 278.15, level=2, step=3),
        message(LAMBERT, "u", 6.0, level=80, step=3),
        message(LAMBERT, "v", 8.0, level=80, step=3),
        message(LAMBERT, "u", 3.0, step=3),
        message(LAMBERT, "v", 4.0, step=3),
        message(LAMBERT, "speed", 30.0, step=3, over=1),
        message(LAMBERT, "gust", 12.0, level=0, surface=1, step=3),
    )


def test_hrrr(hrrr):
    files = describe([hrrr])
    assert (files.source, files.container, files.grid.kind, files.grid.shape) == ("cf", "GRIB2", "curvilinear", (4, 5))
    assert files.times.tolist() == np.array(["2026-11-17T03"], "datetime64[ns]").tolist()
    assert files.reference_time == np.datetime64("2026-11-17T00")
    assert files.orientation.relative_to == "grid"
    assert files.offer("wind_speed").stored_as == ("u10", "v10")
    assert files.offer("wind_gust").statistic == "instantaneous"
    found = sample_all(files, ["wind_speed", "temperature", "dew_point", "wind_gust"], at((3, 4), shape=(4, 5)))
    assert found["wind_speed"].item() == pytest.approx(5, abs=1e-5)
    assert found["temperature"].item() == pytest.approx(10, abs=1e-4)
    assert found["dew_point"].item() == pytest.approx(5, abs=1e-4)
    assert found["wind_gust"].item() == pytest.approx(12, abs=1e-4)


def test_the_grid_of_hrrr_is_where_its_map_says(hrrr):
    files = describe([hrrr])
    to_map = pyproj.Proj(proj="lcc", lat_1=38.5, lat_2=38.5, lat_0=38.5, lon_0=-97.5, R=6_371_229)
    x, y = to_map(-120.0, 35.0)
    for row, column in ((0, 0), (0, 4), (3, 0), (3, 4)):
        longitude, latitude = to_map(x + 30_000 * column, y + 30_000 * row, inverse=True)
        assert files.grid.latitude[row, column] == pytest.approx(latitude, abs=1e-5)
        assert (files.grid.longitude[row, column] - longitude) / 360 == pytest.approx(1, abs=1e-7)


def test_winds_of_hrrr_are_turned_as_its_makers_say(hrrr):
    files = describe([hrrr])
    places = [(0, 0), (3, 4)]
    found = sample_all(files, ["u", "v"], at(*places, shape=(4, 5)))
    for number, place in enumerate(places):
        longitude = (files.grid.longitude[place] + 180) % 360 - 180
        angle = math.sin(math.radians(38.5)) * math.radians(longitude + 97.5)
        assert abs(angle) > 0.2  # so that a turn the wrong way would be seen
        assert found["u"][0, number] == pytest.approx(math.cos(angle) * 3 + math.sin(angle) * 4, abs=1e-5)
        assert found["v"][0, number] == pytest.approx(-math.sin(angle) * 3 + math.cos(angle) * 4, abs=1e-5)


def test_another_height_is_chosen_by_the_case(hrrr):
    files = describe([hrrr], wishes=Wishes(wind_height=80.0))
    assert (files.offer("wind_speed").stored_as, files.offer("wind_speed").height) == (("u_80m", "v_80m"), 80)
    assert sample(files, "wind_speed", at((0, 0), shape=(4, 5))).item() == pytest.approx(10, abs=1e-5)
    named = describe([hrrr], wishes=Wishes(names={"u": "u_80m", "v": "v_80m"}))
    assert named.offer("wind_speed").height == 80


def test_only_what_is_asked_for_is_unpacked_and_nothing_is_left_beside_the_data(hrrr, monkeypatch):
    unpacked = []
    own = Grib._field
    monkeypatch.setattr(
        Grib, "_field", lambda self, *rest: (unpacked.append(rest[0].header["name"]), own(self, *rest))[1]
    )
    files = describe([hrrr])
    assert unpacked == []
    sample(files, "temperature", at((0, 0), shape=(4, 5)))
    assert len(unpacked) == 1
    assert [each.name for each in hrrr.parent.iterdir()] == [hrrr.name]


def test_a_gust_that_is_a_maximum_says_over_which_time(tmp_path):
    path = grib(
        tmp_path / "a",
        *(message(LAMBERT, "gust", 12.0 + hour, level=0, surface=1, step=hour, over=1) for hour in (1, 2)),
    )
    files = describe([path])
    assert files.offer("wind_gust").statistic == "maximum (time: maximum (over 1 h))"
    assert files.offer("wind_gust").stored_as == ("gust_surface_max",)
    np.testing.assert_allclose(sample(files, "wind_gust", at((0, 0), shape=(4, 5)))[:, 0], [13, 14], atol=1e-4)


def test_gfs_runs_from_the_north_pole_and_to_350_degrees(tmp_path):
    latitude, longitude = np.arange(90, -91, -10.0), np.arange(0, 360, 10.0)
    east = latitude[:, None] + (longitude[None, :] + 180) % 360 - 180
    path = grib(
        tmp_path / "gfs.t00z.pgrb2.0p25.f006",
        message(GLOBE, "u", east, step=6),
        message(GLOBE, "v", 1.0, step=6),
        message(GLOBE, "gust", 20.0, level=0, surface=1, step=6),
    )
    files = describe([path])
    assert (files.grid.kind, files.grid.shape) == ("rectilinear", (19, 36))
    assert files.orientation.relative_to == "earth"
    denver = locate(files.grid, [39.7, -33.9], [-105.0, 18.4], how="bilinear")
    np.testing.assert_allclose(sample(files, "u", denver)[0], [39.7 - 105, -33.9 + 18.4], atol=1e-4)
    assert files.offer("wind_gust").stored_as == ("gust_surface",)


def test_winds_said_to_be_eastward_on_a_map_are_not_turned(tmp_path):
    eastward = {**LAMBERT, "uvRelativeToGrid": 0}
    files = describe([grib(tmp_path / "a", message(eastward, "u", 3.0), message(eastward, "v", 4.0))])
    assert files.orientation.relative_to == "earth"
    assert sample(files, "u", at((3, 4), shape=(4, 5))).item() == pytest.approx(3, abs=1e-5)


ROTATED = {
    "gridType": "rotated_ll",
    "Ni": 5,
    "Nj": 4,
    "latitudeOfFirstGridPointInDegrees": -2.0,
    "latitudeOfLastGridPointInDegrees": 1.0,
    "longitudeOfFirstGridPointInDegrees": 6.0,
    "longitudeOfLastGridPointInDegrees": 10.0,
    "iDirectionIncrementInDegrees": 1.0,
    "jDirectionIncrementInDegrees": 1.0,
    "latitudeOfSouthernPoleInDegrees": -30.0,
    "longitudeOfSouthernPoleInDegrees": 15.0,
    "jScansPositively": 1,
    "uvRelativeToGrid": 1,
}


def test_a_rotated_grid_is_turned_by_its_pole(tmp_path):
    path = grib(tmp_path / "a", message(ROTATED, "u", 3.0), message(ROTATED, "v", 4.0))
    files = describe([path])
    assert (files.grid.shape, files.orientation.relative_to) == ((4, 5), "grid")
    # The rotated north pole lies at 30 N, 165 W. Spherical triangle of both poles and the point at rotated (1, 10).
    pole, above = math.radians(30), math.radians(-165)
    y, x = math.radians(1), math.radians(10)
    sine = math.sin(y) * math.sin(pole) + math.cos(y) * math.cos(pole) * math.cos(x)
    east = math.atan2(
        math.cos(y) * math.sin(x), -math.sin(y) * math.cos(pole) + math.cos(y) * math.sin(pole) * math.cos(x)
    )
    latitude, longitude = math.asin(sine), above + math.pi + east
    assert files.grid.latitude[3, 4] == pytest.approx(math.degrees(latitude), abs=1e-5)
    assert (files.grid.longitude[3, 4] - math.degrees(longitude) + 180) % 360 == pytest.approx(180, abs=1e-5)
    # North of the grid points at its pole; its direction from north, clockwise, is how far the grid is turned.
    away = above - longitude
    turn = math.atan2(
        math.cos(pole) * math.sin(away),
        math.cos(latitude) * math.sin(pole) - math.sin(latitude) * math.cos(pole) * math.cos(away),
    )
    assert abs(math.degrees(turn)) > 5
    found = sample_all(files, ["u", "v"], at((3, 4), shape=(4, 5)))
    assert found["u"].item() == pytest.approx(3 * math.cos(turn) + 4 * math.sin(turn), abs=1e-4)
    assert found["v"].item() == pytest.approx(4 * math.cos(turn) - 3 * math.sin(turn), abs=1e-4)


def test_rows_of_different_lengths_are_a_mesh(tmp_path):
    handle = eccodes.codes_grib_new_from_samples("reduced_gg_pl_32_grib2")
    count = eccodes.codes_get(handle, "numberOfDataPoints")
    latitude = eccodes.codes_get_array(handle, "latitudes")
    for key, value in (
        ("parameterCategory", 0),
        ("parameterNumber", 0),
        ("typeOfFirstFixedSurface", 103),
        ("level", 2),
    ):
        eccodes.codes_set(handle, key, value)
    eccodes.codes_set(handle, "bitsPerValue", 24)
    eccodes.codes_set_values(handle, 273.15 + latitude)
    files = describe([grib(tmp_path / "a", handle)])
    assert (files.grid.kind, files.grid.shape) == ("mesh", (count,))
    np.testing.assert_allclose(sample(files, "temperature", at((7,), shape=(count,))), latitude[7], atol=1e-4)


def test_two_fields_in_one_message(tmp_path):
    """NCEP writes u and v into one message."""
    parts = message(LAMBERT, "u", 3.0), message(LAMBERT, "v", 4.0)
    multi = eccodes.codes_grib_multi_new()
    for each in parts:
        eccodes.codes_grib_multi_append(each, 4, multi)
    with (tmp_path / "a").open("wb") as file:
        eccodes.codes_grib_multi_write(multi, file)
    eccodes.codes_grib_multi_release(multi)
    for each in parts:
        eccodes.codes_release(each)
    files = describe([tmp_path / "a"])
    found = sample_all(files, ["wind_speed"], at((0, 0), (3, 4), shape=(4, 5)))
    np.testing.assert_allclose(found["wind_speed"], [[5, 5]], atol=1e-5)


def test_times_and_cycles_come_in_any_order(tmp_path):
    handles = [
        message(LAMBERT, name, 100 * (hour == 600) + step + (name == "v"), step=step, cycle=(20261117, hour))
        for step in (3, 0, 1)
        for hour in (600, 0)
        for name in ("u", "v")
    ]
    path = grib(tmp_path / "a", *handles)
    files = describe([path], wishes=Wishes(cycle=np.datetime64("2026-11-17T00"), winds="earth"))
    assert files.reference_time == np.datetime64("2026-11-17T00")
    np.testing.assert_array_equal(files.times, np.datetime64("2026-11-17T00", "ns") + np.array([0, 1, 3], "m8[h]"))
    np.testing.assert_allclose(sample(files, "u", at((0, 0), shape=(4, 5)))[:, 0], [0, 1, 3], atol=1e-4)
    newest = describe([path], wishes=Wishes(winds="earth"))
    np.testing.assert_allclose(sample(newest, "v", at((0, 0), shape=(4, 5)))[:, 0], [101, 102, 104], atol=1e-4)


def test_missing_values(tmp_path):
    values = np.full((4, 5), 283.15)
    values[1, 2] = np.nan
    files = describe([grib(tmp_path / "a", message(LAMBERT, "t", values, level=2))])
    found = sample(files, "temperature", at((1, 2), (1, 3), shape=(4, 5)))[0]
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(10, abs=1e-4)


def test_components_in_separate_files(tmp_path):
    files = describe(
        [grib(tmp_path / name, message(LAMBERT, name, speed, step=1)) for name, speed in (("u", 3.0), ("v", 4.0))]
    )
    assert sample(files, "wind_speed", at((0, 0), shape=(4, 5))).item() == pytest.approx(5, abs=1e-5)


def test_grib_and_netcdf_of_the_same_grid_give_the_same_values(tmp_path, hrrr):
    files = describe([hrrr])
    with opened(hrrr) as file, netCDF4.Dataset(tmp_path / "a.nc", "w") as copy:
        dims = {dim: size for name in file.names for dim, size in zip(file.dims(name), file.shape(name), strict=True)}
        for dim, size in dims.items():
            copy.createDimension(dim, size)
        for name in file.names:
            about = dict(file.attributes(name))
            made = copy.createVariable(name, "f8", file.dims(name), fill_value=about.pop("_FillValue", None))
            made.setncatts({key: value for key, value in about.items() if value is not None})
            made[...] = file.read(name)
    other = describe([tmp_path / "a.nc"])
    assert (other.orientation, other.offers.keys()) == (files.orientation, files.offers.keys())
    where = at((0, 0), (2, 3), shape=(4, 5))
    for name in files.offers:
        np.testing.assert_array_equal(sample(other, name, where), sample(files, name, where))


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.5, 0.05, 0.95, 0.999])
def test_a_file_that_was_cut(hrrr, share):
    whole = hrrr.read_bytes()
    hrrr.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(BadInput, match=r"hrrr.*(cut off|damaged)"):
        describe([hrrr])


@pytest.mark.parametrize("left", [1, 2, 3, 5, 12])
def test_the_beginning_of_one_more_message_is_seen(hrrr, left):
    hrrr.write_bytes(hrrr.read_bytes() + b"GRIB\0\0\0\2\0\0\0\0"[:left])
    with pytest.raises(BadInput, match="cut off"):
        describe([hrrr])


def test_the_magic_alone(tmp_path):
    (tmp_path / "a").write_bytes(b"GRIB is what this text begins with, and nothing else of it is\n" * 20)
    with pytest.raises(BadInput, match=r"a: "):
        describe([tmp_path / "a"])


def test_a_unit_of_time_that_would_end_the_process(tmp_path):
    """ecCodes divides by the length of the unit, which is 0 for one that is not known."""
    handle = eccodes.codes_grib_new_from_samples("GRIB1")
    path = grib(tmp_path / "a", handle)
    hurt = bytearray(path.read_bytes())
    hurt[8 + 17] = 17  # octet 18 of the first section
    path.write_bytes(hurt)
    with pytest.raises(BadInput, match="a: the message at byte 0 is damaged"):
        describe([path])


def test_an_earth_without_axes(tmp_path):
    """Shape 7 says its axes, which are missing here; ecCodes would end the process."""
    path = grib(tmp_path / "a", message(LAMBERT, "u", 3.0), message(LAMBERT, "v", 4.0))
    hurt = bytearray(path.read_bytes())
    place = 16
    while hurt[place + 4] != 3:
        place += int.from_bytes(hurt[place : place + 4], "big")
    hurt[place + 14] = 7
    path.write_bytes(hurt)
    with pytest.raises(BadInput, match=r"a: .*of an earth with an axis of"):
        describe([path])


def test_damage_inside_is_refused_or_read_but_never_a_crash(hrrr):
    whole = hrrr.read_bytes()
    chance = np.random.default_rng(5)
    for _ in range(60):
        hurt = bytearray(whole)
        for place in chance.integers(0, len(whole), 3):
            hurt[place] ^= 1 << int(chance.integers(0, 8))
        hrrr.write_bytes(hurt)
        try:
            files = describe([hrrr])
            sample_all(
                files,
                list(files.offers),
                [Cells(each.shape, np.array([[0]]), np.ones((1, 1)), np.ones(1, bool)) for each in files.grids],
            )
        except BadInput:
            pass


def test_without_the_extra(hrrr, monkeypatch):
    monkeypatch.setitem(sys.modules, "cfgrib", None)
    with pytest.raises(BadInput, match=r"hrrr.*pip install 'firecard\[grib\]'"):
        describe([hrrr])


def test_the_same_field_twice(tmp_path):
    path = grib(tmp_path / "a", message(LAMBERT, "u", 3.0), message(LAMBERT, "u", 4.0), message(LAMBERT, "v", 4.0))
    with pytest.raises(BadInput, match=r"a: there are 2 messages of u10 for 2026-11-17T00:00Z"):
        describe([path])


def test_members_of_an_ensemble_are_told_apart(tmp_path):
    path = grib(tmp_path / "a", *(message(LAMBERT, "t", 280.0 + each, level=2, member=each) for each in (1, 2)))
    with pytest.raises(BadInput, match="t2m_member1 and t2m_member2 could both be temperature"):
        describe([path])
    files = describe([path], wishes=Wishes(names={"temperature": "t2m_member2"}))
    assert sample(files, "temperature", at((0, 0), shape=(4, 5))).item() == pytest.approx(8.85, abs=1e-4)


def test_rows_to_and_fro_are_refused(tmp_path):
    path = grib(tmp_path / "a", message({**LAMBERT, "alternativeRowScanning": 1}, "t", 280.0, level=2))
    with pytest.raises(BadInput, match="alternativeRowScanning"):
        describe([path])


# --- around it -------------------------------------------------------------------------------------------------------


def test_it_is_recognised(hrrr):
    assert recognise(hrrr, ("grid", "pairs")).name == "cf"


def test_threads(tmp_path):
    paths = [
        grib(tmp_path / f"f{hour:03}", message(LAMBERT, "u", 3.0, step=hour), message(LAMBERT, "v", 4.0, step=hour))
        for hour in range(8)
    ]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda path: sample(describe([path]), "wind_speed", at((0, 0), shape=(4, 5))), paths * 3))
    np.testing.assert_allclose(np.ravel(found), 5, atol=1e-5)


def test_in_a_process_of_its_own_whatever_is_loaded_first(hrrr):
    """ecCodes before pyproj would end the process."""
    code = (
        "import sys; from tasks.readers.grids import describe; files = describe([sys.argv[1]]);"
        "print(files.orientation.relative_to, files.surfaces[0].rotation[0].size)"
    )
    done = subprocess.run([sys.executable, "-c", code, hrrr], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["grid", "20"]), done.stderr
