"""WRF output as the model writes it, in small files made here: times, orientation, units, and what is refused."""

import math
import os
import pickle
import tracemalloc

import netCDF4
import numpy as np
import pytest

from metrics.errors import BadInput, FirecardError, MismatchedSample, MissingInput, UnknownUnit
from metrics.variables import VARIABLES, Variable
from tasks.matching.locate import Cells
from tasks.readers.grids import Wishes, describe, sample, sample_all, sample_file

ROWS, COLUMNS = 4, 5
SIZE = ROWS * COLUMNS
ROW, COLUMN = np.mgrid[:ROWS, :COLUMNS]
UNITS = {"T2": "K", "Q2": "kg kg-1", "PSFC": "Pa", "HGT": "m", "XLAT": "degree_north", "XLONG": "degree_east"}
STATIC = {
    "XLAT": 40 + 0.1 * ROW + 0.01 * COLUMN,
    "XLONG": -120 + 0.1 * COLUMN - 0.01 * ROW,
    "HGT": 100.0 * ROW,
    "SINALPHA": np.full((ROWS, COLUMNS), 0.6),
    "COSALPHA": np.full((ROWS, COLUMNS), 0.8),
}
LAMBERT = {"MAP_PROJ": 1, "TRUELAT1": 30.0, "TRUELAT2": 60.0, "STAND_LON": -100.0, "GRID_ID": 1}


def write(
    path, times=("2026-11-17_00:00:00",), *, without=(), attributes=LAMBERT, units=(), fixed=False, kind="f8", **fields
):
    """A WRF file of 4 rows and 5 columns: `fields` add or replace, `without` leaves out, `fixed`: no time in XLAT."""
    fields = {"U10": np.ones((ROWS, COLUMNS)), "V10": np.zeros((ROWS, COLUMNS)), **STATIC, **fields}
    with netCDF4.Dataset(path, "w") as dataset:
        dataset.setncatts({"TITLE": " OUTPUT FROM WRF V4.5 MODEL", **attributes})
        for name, size in (("Time", None), ("DateStrLen", 19), ("south_north", ROWS), ("west_east", COLUMNS)):
            dataset.createDimension(name, size)
        if "Times" not in without:
            letters = np.array([list(each) for each in times], "S1")
            dataset.createVariable("Times", "S1", ("Time", "DateStrLen"))[:] = letters
        for name, values in fields.items():
            if name in without:
                continue
            still = fixed and name in STATIC
            dims = ("south_north", "west_east") if still else ("Time", "south_north", "west_east")
            variable = dataset.createVariable(name, kind, dims, fill_value=-9999.0)
            variable.units = dict(units).get(name, UNITS.get(name, "m s-1"))
            variable[:] = np.broadcast_to(values, (ROWS, COLUMNS) if still else (len(times), ROWS, COLUMNS))
    return path


def at(*points, shape=(ROWS, COLUMNS)):
    """Stations that lie on grid points."""
    index = np.array(points)[:, None]
    return Cells(shape, index, np.ones(index.shape), np.ones(len(points), bool))


def between(points, weights):
    """One station between grid points."""
    return Cells((ROWS, COLUMNS), np.array([points]), np.array([weights]), np.ones(1, bool))


def stamps(*texts):
    return np.array(texts, "datetime64[ns]")


# --- what is found -----------------------------------------------------------------------------------------------


def test_description_of_one_file(tmp_path):
    path = write(
        tmp_path / "wrfout_d01_2026-11-17_00:00:00",
        times=("2026-11-17_00:00:00", "2026-11-17_01:00:00"),
        attributes={**LAMBERT, "SIMULATION_START_DATE": "2026-11-16_18:00:00", "START_DATE": "2026-11-17_00:00:00"},
        T2=300.0,
    )
    files = describe([path])
    assert files.source == "wrf"
    assert (files.grid.kind, files.grid.shape) == ("curvilinear", (ROWS, COLUMNS))
    np.testing.assert_array_equal(files.grid.latitude, STATIC["XLAT"])
    np.testing.assert_array_equal(files.surfaces[0].terrain, STATIC["HGT"].ravel())
    np.testing.assert_array_equal(files.times, stamps("2026-11-17T00", "2026-11-17T01"))
    assert files.reference_time == np.datetime64("2026-11-16T18")  # START_DATE is that of the restart
    assert (files.orientation.relative_to, files.orientation.known_from) == ("grid", "SINALPHA/COSALPHA")
    assert set(files.offers) == {"u", "v", "wind_speed", "wind_direction", "temperature"}
    wind, temperature = files.offer("wind_speed"), files.offer("temperature")
    assert (wind.unit, wind.height, wind.stored_as) == ("m/s", 10.0, ("U10", "V10"))
    assert (temperature.unit, temperature.height, temperature.stored_as) == ("degC", 2.0, ("T2",))
    assert sample(pickle.loads(pickle.dumps(files)), "wind_speed", at(0)).shape == (2, 1)


TIMES = [
    pytest.param({"units": "minutes since 2026-11-17 00:00:00"}, {}, id="with units"),
    pytest.param(
        {"units": "", "description": "minutes since simulation start"}, {"SIMULATION_START_DATE": 1}, id="bare"
    ),
]


@pytest.mark.parametrize(("told", "attributes"), TIMES)
def test_times_from_xtime_where_there_is_no_times(tmp_path, told, attributes):
    attributes = {**LAMBERT, **dict.fromkeys(attributes, "2026-11-17_00:00:00")}
    path = write(tmp_path / "a", times=("", ""), without=("Times",), attributes=attributes)
    with netCDF4.Dataset(path, "a") as dataset:
        dataset.createVariable("XTIME", "f4", ("Time",))[:] = [60, 90]
        dataset["XTIME"].setncatts(told)
    np.testing.assert_array_equal(describe([path]).times, stamps("2026-11-17T01", "2026-11-17T01:30"))


def test_coordinates_without_time(tmp_path):
    files = describe([write(tmp_path / "a", times=("2026-11-17_00:00:00", "2026-11-17_01:00:00"), fixed=True)])
    np.testing.assert_array_equal(files.grid.longitude, STATIC["XLONG"])
    np.testing.assert_array_equal(files.surfaces[0].terrain, STATIC["HGT"].ravel())
    assert sample(files, "wind_speed", at(3, 7)).shape == (2, 2)


def test_files_are_put_in_the_order_of_their_times(tmp_path):
    paths = [write(tmp_path / f"{24 - h}", (f"2026-11-17_{h:02d}:00:00",), U10=float(h), V10=0.0) for h in range(3)]
    files = describe(reversed(paths))
    np.testing.assert_array_equal(sample(files, "wind_speed", at(0)).ravel(), [0, 1, 2])
    parts = [sample_file(files, each, ["wind_speed"], at(0))["wind_speed"].item() for each in files.files]
    assert parts == [0, 1, 2]


def test_gust_is_a_maximum_and_says_so(tmp_path):
    files = describe([write(tmp_path / "a", WSPD10MAX=17.0)])
    assert "maximum" in files.offer("wind_gust").statistic
    assert "hourly" in files.offer("wind_gust").statistic
    assert sample(files, "wind_gust", at(0)) == 17


# --- values ------------------------------------------------------------------------------------------------------


def test_wind_is_turned_to_the_earth(tmp_path):
    # sin α = 0.6, cos α = 0.8: (10, 5) along the grid is 10·0.8 − 5·0.6 = 5 east and 5·0.8 + 10·0.6 = 10 north.
    files = describe([write(tmp_path / "a", U10=10.0, V10=5.0)])
    found = sample_all(files, ["u", "v", "wind_speed", "wind_direction"], at(7))
    assert found["u"].item() == pytest.approx(5, abs=1e-12)
    assert found["v"].item() == pytest.approx(10, abs=1e-12)
    assert found["wind_speed"].item() == pytest.approx(math.sqrt(125))
    assert found["wind_direction"].item() == pytest.approx(180 + math.degrees(math.atan(5 / 10)))


def test_a_uniform_wind_gives_its_direction_back_wherever_the_grid_is_turned(tmp_path):
    angle = np.radians(np.linspace(-40, 60, SIZE)).reshape(ROWS, COLUMNS)
    east, north = -7 * math.sin(math.radians(237)), -7 * math.cos(math.radians(237))
    files = describe(
        [
            write(
                tmp_path / "a",
                SINALPHA=np.sin(angle),
                COSALPHA=np.cos(angle),
                U10=east * np.cos(angle) + north * np.sin(angle),
                V10=north * np.cos(angle) - east * np.sin(angle),
            )
        ]
    )
    found = sample_all(files, ["wind_speed", "wind_direction"], between([0, 1, 5, 6], [0.1, 0.2, 0.3, 0.4]))
    assert found["wind_direction"].item() == pytest.approx(237, abs=1e-9)
    assert found["wind_speed"].item() == pytest.approx(7, abs=1e-12)


def test_rotation_from_the_projection_where_there_is_no_sinalpha(tmp_path):
    path = write(tmp_path / "a", without=("SINALPHA", "COSALPHA"), U10=3.0, V10=4.0)
    files = describe([path])
    assert (files.orientation.relative_to, files.orientation.known_from) == ("grid", "projection attributes")
    # Lambert by hand: α = cone · (STAND_LON − longitude), the cone from the two true latitudes.
    one, two = math.radians(30), math.radians(60)
    cone = math.log(math.cos(one) / math.cos(two)) / math.log(
        math.tan(math.pi / 4 - one / 2) / math.tan(math.pi / 4 - two / 2)
    )
    angle = cone * math.radians(-100 - STATIC["XLONG"].ravel()[7])
    found = sample_all(files, ["u", "v"], at(7))
    assert found["u"].item() == pytest.approx(3 * math.cos(angle) - 4 * math.sin(angle), abs=1e-12)
    assert found["v"].item() == pytest.approx(4 * math.cos(angle) + 3 * math.sin(angle), abs=1e-12)


ZERO = [
    pytest.param({"MAP_PROJ": 3, "TRUELAT1": 30.0}, "Mercator: zero", id="Mercator"),
    pytest.param({"MAP_PROJ": 6, "POLE_LAT": 90.0, "STAND_LON": 0.0}, "latitude and longitude: zero", id="lat-lon"),
]


@pytest.mark.parametrize(("attributes", "known_from"), ZERO)
def test_projections_that_do_not_turn_wind(tmp_path, attributes, known_from):
    files = describe([write(tmp_path / "a", without=("SINALPHA", "COSALPHA"), attributes=attributes, U10=3.0, V10=4.0)])
    assert (files.orientation.relative_to, files.orientation.known_from) == ("earth", known_from)
    assert sample(files, "u", at(7)) == 3


UNKNOWN = [
    pytest.param({}, "neither SINALPHA/COSALPHA nor an attribute MAP_PROJ", id="no attributes"),
    pytest.param({"MAP_PROJ": 0}, "MAP_PROJ = 0", id="ideal case"),
    pytest.param({"MAP_PROJ": 1, "STAND_LON": -100.0}, "TRUELAT1", id="half a projection"),
    pytest.param({"MAP_PROJ": "Lambert"}, "MAP_PROJ", id="words"),
]


@pytest.mark.parametrize(("attributes", "message"), UNKNOWN)
def test_unknown_orientation_is_an_error_until_the_case_says_it(tmp_path, attributes, message):
    path = write(tmp_path / "a", without=("SINALPHA", "COSALPHA"), attributes=attributes, U10=3.0, V10=4.0, T2=273.15)
    files = describe([path])
    assert set(files.offers) == {"temperature"}
    for variable in ("u", "v", "wind_speed", "wind_direction"):
        with pytest.raises(BadInput, match="orientation of U10 and V10 is unknown") as raised:
            sample(files, variable, at(0))
        assert message in str(raised.value)
        assert str(path) in str(raised.value)
    said = describe([path], wishes=Wishes(winds="earth"))
    assert said.orientation.known_from == "said in the case"
    assert sample(said, "v", at(0)) == 4


def test_components_are_interpolated_and_degrees_never(tmp_path):
    # 10 m/s from 350° and from 10°: halfway it blows from 0° at 10·cos 10°, not from 180°.
    from_degrees = np.radians(np.where(COLUMN == 0, 350.0, 10.0))
    files = describe(
        [
            write(
                tmp_path / "a",
                SINALPHA=0.0,
                COSALPHA=1.0,
                U10=-10 * np.sin(from_degrees),
                V10=-10 * np.cos(from_degrees),
            )
        ]
    )
    found = sample_all(files, ["wind_speed", "wind_direction"], between([0, 1], [0.5, 0.5]))
    assert (found["wind_direction"].item() + 180) % 360 == pytest.approx(180, abs=1e-9)
    assert found["wind_speed"].item() == pytest.approx(10 * math.cos(math.radians(10)), abs=1e-12)


def test_calm_has_no_direction(tmp_path):
    files = describe([write(tmp_path / "a", U10=0.0, V10=0.0)])
    found = sample_all(files, ["wind_speed", "wind_direction"], at(0))
    assert found["wind_speed"] == 0
    assert np.isnan(found["wind_direction"])


def test_a_field_linear_in_rows_and_columns(tmp_path):
    files = describe([write(tmp_path / "a", T2=280 + 2.0 * ROW - 0.5 * COLUMN)])
    quarter = between([6, 7, 11, 12], [0.75 * 0.75, 0.75 * 0.25, 0.25 * 0.75, 0.25 * 0.25])  # row 1.25, column 1.25
    assert sample(files, "temperature", quarter).item() == pytest.approx(280 + 2.5 - 0.625 - 273.15, abs=1e-12)


def test_relative_humidity_from_mixing_ratio(tmp_path):
    saturation = 611.2 * math.exp(17.67 * 20 / (20 + 243.5))
    half = 0.5 * 0.622 * saturation / (95_000 - (1 - 0.622) * saturation)
    files = describe([write(tmp_path / "a", T2=293.15, PSFC=95_000.0, Q2=np.where(COLUMN == 0, half, 1.0))])
    assert files.offer("relative_humidity").stored_as == ("T2", "Q2", "PSFC")
    np.testing.assert_allclose(sample(files, "relative_humidity", at(0, 1)), [[50, 100]], rtol=1e-9)


UNITS_OF_WIND = [("m s-1", 1.0), ("m s**-1", 1.0), ("m/s", 1.0), ("knots", 1852 / 3600), ("km h-1", 1 / 3.6)]


@pytest.mark.parametrize(("unit", "factor"), UNITS_OF_WIND)
def test_units_of_wind(tmp_path, unit, factor):
    files = describe([write(tmp_path / "a", U10=6.0, V10=8.0, units={"U10": unit, "V10": unit})])
    assert sample(files, "wind_speed", at(0)).item() == pytest.approx(10 * factor, rel=1e-12)


@pytest.mark.parametrize(("unit", "value"), [("K", 293.15), ("degC", 20.0), ("degF", 68.0)])
def test_units_of_temperature(tmp_path, unit, value):
    files = describe([write(tmp_path / "a", T2=value, units={"T2": unit})])
    assert sample(files, "temperature", at(0)).item() == pytest.approx(20, abs=1e-9)


def test_missing_values_stay_missing(tmp_path):
    files = describe(
        [write(tmp_path / "a", U10=np.where(COLUMN == 1, -9999.0, 3.0), V10=4.0, SINALPHA=0.0, COSALPHA=1.0)]
    )
    np.testing.assert_array_equal(sample(files, "wind_speed", at(0, 1, 2)), [[5, np.nan, 5]])
    assert np.isnan(sample(files, "wind_speed", between([0, 1], [0.5, 0.5])))


def test_a_station_outside_is_missing_everywhere(tmp_path):
    cells = Cells((ROWS, COLUMNS), np.array([[7], [0]]), np.array([[1.0], [np.nan]]), np.array([True, False]))
    found = sample(describe([write(tmp_path / "a", U10=3.0, V10=4.0)]), "wind_speed", cells)
    np.testing.assert_allclose(found, [[5, np.nan]])


def test_no_station_at_all(tmp_path):
    cells = Cells((ROWS, COLUMNS), np.zeros((0, 4), int), np.zeros((0, 4)), np.zeros(0, bool))
    assert sample(describe([write(tmp_path / "a")]), "wind_speed", cells).shape == (1, 0)


def test_names_of_the_case_go_first(tmp_path):
    path = write(tmp_path / "a", U10=3.0, V10=4.0, SPD=6.0, FMC=0.08, units={"FMC": "1"})
    wishes = Wishes(names={"wind_speed": "SPD", "fuel_moisture": "FMC"}, wind_height=6.1)
    files = describe([path], wishes=wishes)
    assert sample(files, "wind_speed", at(0)) == 6
    assert files.offer("wind_speed").height == 6.1
    assert sample(files, "fuel_moisture", at(0)).item() == pytest.approx(8)
    with pytest.raises(BadInput, match="no variable SPDD, which the case names for wind_speed; did you mean SPD"):
        describe([path], wishes=Wishes(names={"wind_speed": "SPDD"}))


def test_an_angle_of_the_case_is_interpolated_as_an_angle(tmp_path):
    path = write(tmp_path / "a", ASP=np.where(COLUMN == 0, 350.0, 20.0), units={"ASP": "degrees"})
    variables = {**VARIABLES, "aspect": Variable("aspect", "Aspect", "deg", kind="angle")}
    files = describe([path], wishes=Wishes(names={"aspect": "ASP"}, variables=variables))
    assert sample(files, "aspect", between([0, 1], [0.5, 0.5])).item() == pytest.approx(5, abs=1e-9)


# --- a nest that follows a storm ---------------------------------------------------------------------------------


def test_a_moving_nest_has_a_grid_for_every_place(tmp_path):
    hours = ("2026-11-17_00:00:00", "2026-11-17_01:00:00", "2026-11-17_02:00:00")
    shift = np.array([0.0, 0.0, 1.0])[:, None, None]
    path = write(
        tmp_path / "a", hours, attributes={**LAMBERT, "GRID_ID": 2}, XLAT=STATIC["XLAT"] + shift, U10=COLUMN, V10=0.0
    )
    files = describe([path])
    assert len(files.grids) == 2
    np.testing.assert_array_equal(files.files[0].surface, [0, 0, 1])
    np.testing.assert_allclose(files.grids[1].latitude, STATIC["XLAT"] + 1)
    np.testing.assert_allclose(sample(files, "wind_speed", [at(1), at(3)]).ravel(), [1, 1, 3])
    with pytest.raises(MismatchedSample, match="located on grids"):
        sample(files, "wind_speed", at(1))
    with pytest.raises(BadInput, match="moves to 2 places"):
        _ = files.grid


def test_a_nest_that_moves_from_file_to_file(tmp_path):
    nest = {**LAMBERT, "GRID_ID": 2}
    one = write(tmp_path / "a", ("2026-11-17_00:00:00",), attributes=nest)
    two = write(tmp_path / "b", ("2026-11-17_01:00:00",), attributes=nest, XLAT=STATIC["XLAT"] + 1)
    three = write(tmp_path / "c", ("2026-11-17_02:00:00",), attributes=nest)
    files = describe([one, two, three])
    assert [each.surface.tolist() for each in files.files] == [[0], [1], [0]]


# --- refused -----------------------------------------------------------------------------------------------------


LATER = {"times": ("2026-11-17_01:00:00",)}
SETS = [
    pytest.param({**LATER, "XLAT": STATIC["XLAT"] + 1}, "lies on another grid", id="another place"),
    pytest.param({**LATER, "attributes": {**LAMBERT, "GRID_ID": 2}}, "GRID_ID = 2 against 1", id="another domain"),
    pytest.param({**LATER, "without": ("SINALPHA",)}, "orientation of winds", id="another orientation"),
    pytest.param({}, r"starts at 2026-11-17 00:00 UTC, which .* reaches as well", id="the same time twice"),
    pytest.param(
        {**LATER, "attributes": {**LAMBERT, "START_DATE": "2026-11-16_12:00:00"}},
        "a forecast is of one cycle",
        id="another cycle",
    ),
]


@pytest.mark.parametrize(("second", "message"), SETS)
def test_files_that_do_not_go_together(tmp_path, second, message):
    first = write(tmp_path / "a", attributes={**LAMBERT, "START_DATE": "2026-11-17_00:00:00"})
    second = write(tmp_path / "b", **{"attributes": {**LAMBERT, "START_DATE": "2026-11-17_00:00:00"}, **second})
    with pytest.raises(BadInput, match=message) as raised:
        describe([first, second])
    assert str(first) in str(raised.value)
    assert str(second) in str(raised.value)


TIMELESS = [
    pytest.param(("2026-11-17_01:00:00", "2026-11-17_00:00:00"), "01:00 UTC is followed by .* 00:00", id="backwards"),
    pytest.param(("2026-11-17_01:00:00", "2026-11-17_01:00:00"), "do not run forwards", id="standing still"),
    pytest.param(("0000-00-00_00:00:00",), "expected a time such as", id="zeros"),
    pytest.param(("2026-02-31_00:00:00",), "expected a time such as", id="a day that is none"),
    pytest.param(("\0" * 19,), "expected a time such as", id="not written yet"),
]


@pytest.mark.parametrize(("times", "message"), TIMELESS)
def test_times_that_make_no_sense(tmp_path, times, message):
    with pytest.raises(BadInput, match=message):
        describe([write(tmp_path / "a", times)])


def test_a_file_without_times(tmp_path):
    with pytest.raises(BadInput, match="no valid times in it: neither Times nor XTIME"):
        describe([write(tmp_path / "a", without=("Times",))])


def test_a_file_with_no_time_yet(tmp_path):
    with netCDF4.Dataset(tmp_path / "a", "w") as dataset:
        dataset.setncatts(LAMBERT)
        for name, size in (("Time", None), ("DateStrLen", 19), ("south_north", ROWS), ("west_east", COLUMNS)):
            dataset.createDimension(name, size)
        dataset.createVariable("Times", "S1", ("Time", "DateStrLen"))
        for name in ("XLAT", "XLONG"):
            dataset.createVariable(name, "f4", ("south_north", "west_east"))[:] = STATIC[name]
    with pytest.raises(BadInput, match="there are no valid times"):
        describe([tmp_path / "a"])


def test_a_variable_that_is_not_there(tmp_path):
    path = write(tmp_path / "a", without=("V10",), T2=300.0)
    files = describe([path])
    with pytest.raises(BadInput, match="there is no U10 and V10") as raised:
        sample(files, "wind_speed", at(0))
    assert str(path) in str(raised.value)
    with pytest.raises(BadInput, match="there is no wind_gust; found temperature"):
        sample(files, "wind_gust", at(0))


def test_a_variable_that_one_file_lacks(tmp_path):
    paths = [write(tmp_path / "a"), write(tmp_path / "b", ("2026-11-17_01:00:00",), WSPD10MAX=12.0)]
    files = describe(paths)
    assert sample_file(files, files.files[1], ["wind_gust"], at(0))["wind_gust"] == 12
    with pytest.raises(BadInput, match="there is no wind_gust, which other files have") as raised:
        sample(files, "wind_gust", at(0))
    assert str(paths[0]) in str(raised.value)


BAD_UNITS = [
    pytest.param("m per mouse", "unknown unit", id="unknown"),
    pytest.param("K", "is not one of 'm/s'", id="of another quantity"),
    pytest.param("", "has no units", id="none"),
]


@pytest.mark.parametrize(("unit", "message"), BAD_UNITS)
def test_units_that_are_unknown(tmp_path, unit, message):
    path = write(tmp_path / "a", units={"U10": unit}, T2=300.0)
    files = describe([path])
    assert set(files.offers) == {"temperature"}
    with pytest.raises(UnknownUnit, match=message) as raised:
        sample(files, "wind_direction", at(0))
    assert f"{path}: U10" in str(raised.value)


def test_rotation_that_is_none(tmp_path):
    with pytest.raises(BadInput, match="not the sine and cosine of an angle"):
        describe([write(tmp_path / "a", SINALPHA=0.0, COSALPHA=0.0)])


def test_coordinates_that_are_none(tmp_path):
    with pytest.raises(BadInput, match="XLAT is not in degrees"):
        describe([write(tmp_path / "a", XLAT=4000.0)])


def test_no_files():
    with pytest.raises(MissingInput, match="no model files"):
        describe([])


def test_stations_of_another_grid(tmp_path):
    with pytest.raises(MismatchedSample, match=r"\(3, 3\)"):
        sample(describe([write(tmp_path / "a")]), "wind_speed", at(0, shape=(3, 3)))


def test_broken_files_are_listed_where_one_may_go_on(tmp_path):
    good = write(tmp_path / "good")
    cut = tmp_path / "cut"
    cut.write_bytes(good.read_bytes()[:3000])
    with pytest.raises(BadInput, match="ends early"):
        describe([cut, good])
    files = describe([cut, good, tmp_path / "absent"], keep_going=True)
    assert [each.path for each in files.files] == [good]
    assert set(files.broken) == {cut, tmp_path / "absent"}
    assert all(isinstance(each, FirecardError) for each in files.broken.values())
    with pytest.raises(BadInput, match="ends early"):
        describe([cut], keep_going=True)


def test_a_file_that_changed_after_it_was_described(tmp_path):
    path = write(tmp_path / "a")
    files = describe([path])
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    with pytest.raises(BadInput, match="since it was first looked at: it is still being written"):
        sample(files, "wind_speed", at(0))


def test_memory_does_not_grow_with_the_number_of_files(tmp_path):
    rows, columns = 200, 250
    row, column = np.mgrid[:rows, :columns]

    def write_large(hour):
        path = tmp_path / f"wrfout_{hour:02d}"
        with netCDF4.Dataset(path, "w") as dataset:
            dataset.setncatts({"MAP_PROJ": 3, "GRID_ID": 1})
            for name, size in (("Time", None), ("DateStrLen", 19), ("south_north", rows), ("west_east", columns)):
                dataset.createDimension(name, size)
            stamp = np.array([list(f"2026-11-17_{hour:02d}:00:00")], "S1")
            dataset.createVariable("Times", "S1", ("Time", "DateStrLen"))[:] = stamp
            for name, values in {"XLAT": 30 + row * 0.1, "XLONG": column * 0.1, "U10": row, "V10": column}.items():
                dataset.createVariable(name, "f4", ("Time", "south_north", "west_east"))[0] = values
                dataset[name].units = "m s-1"
        return path

    def most_memory(paths):
        tracemalloc.start()
        sample_all(describe(paths), ["wind_speed", "wind_direction"], at(0, 777, shape=(rows, columns)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    paths = [write_large(hour) for hour in range(20)]
    most_memory(paths[:1])
    slab = rows * columns * 8
    assert most_memory(paths) < most_memory(paths[:2]) + slab
