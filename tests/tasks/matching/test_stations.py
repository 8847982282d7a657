"""Grids to stations on small files written here: where, when, how high, and what becomes of every candidate."""

import math
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import netCDF4
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.rules import MatchingRules, Space
from configs.window import Window
from metrics.errors import BadInput
from metrics.variables import VARIABLES
from tasks.matching.ledger import ledger, summary
from tasks.matching.stations import match_grid
from tasks.matching.table import read_matched, write_matched
from tasks.readers.formats import StationWishes
from tasks.readers.grids import GridFiles, Wishes, describe
from tasks.readers.stations import read_stations

CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
LATITUDE, LONGITUDE = np.array([40.0, 41.0, 42.0]), np.array([-120.0, -119.0, -118.0, -117.0])
ATTRIBUTES = {
    "u": {"standard_name": "eastward_wind", "units": "m s-1"},
    "v": {"standard_name": "northward_wind", "units": "m s-1"},
    "t2m": {"standard_name": "air_temperature", "units": "degC"},
    "gust": {"standard_name": "wind_speed_of_gust", "units": "m s-1"},
}
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def cf(path, hours, latitude=LATITUDE, longitude=LONGITUDE, **fields):
    """A CF file with a time axis; a field is a number, (time), or (time, row, column). Coordinates may be 2-D."""
    with netCDF4.Dataset(path, "w") as dataset:
        rows, columns = latitude.shape[0], longitude.shape[-1]
        for name, size in (("time", len(hours)), ("y", rows), ("x", columns)):
            dataset.createDimension(name, size)
        curved = latitude.ndim == 2
        for name, values, along, unit in (
            ("time", np.array(hours, float), ("time",), f"hours since {CYCLE:%Y-%m-%d %H:%M:%S}"),
            ("lat", latitude, ("y", "x") if curved else ("y",), "degrees_north"),
            ("lon", longitude, ("y", "x") if curved else ("x",), "degrees_east"),
        ):
            dataset.createVariable(name, "f8", along)[:] = values
            dataset[name].units = unit
        for name, values in fields.items():
            variable = dataset.createVariable(name, "f8", ("time", "y", "x"))
            variable.setncatts({**ATTRIBUTES[name], **({"coordinates": "lat lon"} if curved else {})})
            values = np.asarray(values, float)
            variable[:] = np.broadcast_to(values[:, None, None] if values.ndim == 1 else values, variable.shape)
    return path


def wrf(path, hour, latitude, longitude, attributes, **fields):
    """A WRF file of one time."""
    with netCDF4.Dataset(path, "w") as dataset:
        dataset.setncatts({"TITLE": " OUTPUT FROM WRF V4.5 MODEL", "GRID_ID": 1, **attributes})
        rows, columns = latitude.shape
        for name, size in (("Time", None), ("DateStrLen", 19), ("south_north", rows), ("west_east", columns)):
            dataset.createDimension(name, size)
        valid = CYCLE + timedelta(hours=hour)
        letters = np.array([list(f"{valid:%Y-%m-%d_%H:%M:%S}")], "S1")
        dataset.createVariable("Times", "S1", ("Time", "DateStrLen"))[:] = letters
        units = {"XLAT": "degree_north", "XLONG": "degree_east", "T2": "K"}
        for name, values in {"XLAT": latitude, "XLONG": longitude, **fields}.items():
            variable = dataset.createVariable(name, "f8", ("Time", "south_north", "west_east"))
            variable.units = units.get(name, "m s-1")
            variable[:] = np.broadcast_to(values, (1, rows, columns))
    return path


def time(hours):
    return f"{CYCLE + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


@pytest.fixture
def reports(tmp_path):
    """Observations from rows of text below `columns`."""

    def reading(columns, *rows):
        path = tmp_path / "obs.csv"
        path.write_text("\n".join([f"station,lat,lon,time,{columns}", *rows]) + "\n")
        return read_stations([path], VARIABLES)

    return reading


def row(station, hours, *values, lat=41.0, lon=-119.0):
    return ",".join([station, repr(float(lat)), repr(float(lon)), time(hours), *map(str, values)])


def match(paths, observations, *, needed=("temperature",), window=None, rules=None, wishes=None):
    """The match of files, after a look at what must hold of any match."""
    files = paths if isinstance(paths, GridFiles) else describe(paths, wishes=wishes, keep_going=True)
    found = match_grid(
        files,
        observations,
        cycle=CYCLE,
        window=window or Window(hours=24),
        rules=rules or MatchingRules(),
        variables=VARIABLES,
        needed=needed,
    )
    paired = found.table["reason"] == "pair"
    both = found.table["forecast"].notna() & found.table["observed"].notna()
    assert (paired == both).all()
    assert not found.table.duplicated(["station", "valid_time", "variable"]).any()
    return found


def outcome(matched, variable, station=None):
    """Hour of the cycle to reason, of one variable (and station)."""
    rows = matched.table[matched.table["variable"] == variable]
    if station is not None:
        rows = rows[rows["station"] == station]
    hours = (rows["valid_time"] - CYCLE).dt.total_seconds() / 3600
    return dict(zip(hours, rows["reason"], strict=True))


def column(matched, variable, side):
    """Hour of the cycle to forecast or observed."""
    rows = matched.table[(matched.table["variable"] == variable) & matched.table[side].notna()]
    hours = (rows["valid_time"] - CYCLE).dt.total_seconds() / 3600
    return dict(zip(hours, rows[side], strict=True))


# --- where -----------------------------------------------------------------------------------------------------------


def unit_vector(lat, lon):
    lat, lon = np.radians(lat), np.radians(lon)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def curved_grid(rows=6, columns=7):
    """A turned and sheared grid of about half a degree."""
    y, x = np.mgrid[:rows, :columns].astype(float)
    return 39 + 0.45 * y + 0.1 * x + 0.01 * x * y, -121 + 0.5 * x - 0.12 * y + 0.008 * y**2


def mixed_places(latitude, longitude, count=40):
    """Places in random cells: a mix of the corners as vectors in space; with the row and column that they stand for."""
    rng = np.random.default_rng(11)
    row, column = rng.integers(0, latitude.shape[0] - 1, count), rng.integers(0, latitude.shape[1] - 1, count)
    a, b = rng.random(count), rng.random(count)
    corner = unit_vector(latitude, longitude)
    mix = sum(
        weight[:, None] * corner[row + i, column + j]
        for i, j, weight in ((0, 0, (1 - a) * (1 - b)), (0, 1, a * (1 - b)), (1, 1, a * b), (1, 0, (1 - a) * b))
    )
    lat = np.degrees(np.arctan2(mix[:, 2], np.hypot(mix[:, 0], mix[:, 1])))
    return lat, np.degrees(np.arctan2(mix[:, 1], mix[:, 0])), row + b, column + a


def linear_in_grid(row, column, hour):
    return 2 + 3 * row - 0.7 * column + hour


@pytest.mark.parametrize("kind", ["wrf", "curvilinear CF"])
def test_a_field_linear_in_rows_and_columns_is_matched_exactly(tmp_path, reports, kind):
    latitude, longitude = curved_grid()
    y, x = np.mgrid[: latitude.shape[0], : latitude.shape[1]]
    if kind == "wrf":
        shift, attributes = 273.15, {"MAP_PROJ": 3, "TRUELAT1": 40.0}
        paths = [
            wrf(tmp_path / f"wrfout_{h}", h, latitude, longitude, attributes, T2=linear_in_grid(y, x, h) + shift)
            for h in (0, 1, 2)
        ]
    else:
        values = np.stack([linear_in_grid(y, x, h) for h in (0, 1, 2)])
        paths = [cf(tmp_path / "a.nc", [0, 1, 2], latitude, longitude, t2m=values)]
    lat, lon, at_row, at_column = mixed_places(latitude, longitude)
    rows = [row(f"S{k:03d}", h, 0, lat=lat[k], lon=lon[k]) for k in range(len(lat)) for h in (0, 1, 2)]
    found = match(paths, reports("temperature [degC]", *rows), window=Window(hours=3))
    table = found.table.sort_values(["station", "valid_time"])
    assert (table["reason"] == "pair").all()
    expected = linear_in_grid(at_row[:, None], at_column[:, None], np.arange(3)[None, :])
    np.testing.assert_allclose(table["forecast"].to_numpy().reshape(-1, 3), expected, rtol=0, atol=1e-12)


def test_a_field_linear_in_degrees_on_a_rectilinear_grid(tmp_path, reports):
    values = 10 * LATITUDE[:, None] + LONGITUDE[None, :] - 250
    path = cf(tmp_path / "a.nc", [0, 1], t2m=values)
    found = match([path], reports("temperature [degC]", row("A", 0, 0, lat=40.3, lon=-118.45)), window=Window(hours=1))
    assert column(found, "temperature", "forecast")[0] == pytest.approx(403 - 118.45 - 250, abs=1e-12)


@pytest.mark.parametrize("known_from", ["SINALPHA/COSALPHA", "projection attributes"])
def test_a_uniform_wind_on_a_turned_grid_gives_its_direction_back(tmp_path, reports, known_from):
    latitude, longitude = curved_grid()
    one, two = math.radians(30), math.radians(60)
    cone = math.log(math.cos(one) / math.cos(two)) / math.log(
        math.tan(math.pi / 4 - one / 2) / math.tan(math.pi / 4 - two / 2)
    )
    turn = np.radians(cone * (-100 - longitude))  # from east to the grid's x axis, counter-clockwise
    assert np.abs(np.degrees(turn)).min() > 10
    speed, direction = 12.0, 237.0
    east, north = -speed * math.sin(math.radians(direction)), -speed * math.cos(math.radians(direction))
    fields = {"U10": east * np.cos(turn) + north * np.sin(turn), "V10": north * np.cos(turn) - east * np.sin(turn)}
    if known_from.startswith("SIN"):
        fields |= {"SINALPHA": np.sin(turn), "COSALPHA": np.cos(turn)}
    lambert = {"MAP_PROJ": 1, "TRUELAT1": 30.0, "TRUELAT2": 60.0, "STAND_LON": -100.0}
    path = wrf(tmp_path / "wrfout", 0, latitude, longitude, lambert, **fields)
    lat, lon, *_ = mixed_places(latitude, longitude)
    rows = [row(f"S{k}", 0, 5, 90, lat=lat[k], lon=lon[k]) for k in range(len(lat))]
    found = match(
        [path], reports("wind_speed [m/s],wind_direction [deg]", *rows), needed=("wind_direction", "wind_speed")
    )
    forecast = found.table.groupby("variable")["forecast"]
    np.testing.assert_allclose(forecast.get_group("wind_direction"), direction, rtol=0, atol=1e-9)
    np.testing.assert_allclose(forecast.get_group("wind_speed"), speed, rtol=1e-12)
    assert found.how["winds"] == f"grid-relative: {known_from}"


def test_winds_of_unknown_orientation_are_refused(tmp_path, reports):
    latitude, longitude = curved_grid()
    path = wrf(tmp_path / "wrfout", 0, latitude, longitude, {"MAP_PROJ": 99}, U10=1.0, V10=1.0)
    with pytest.raises(BadInput, match=r"wrfout.*MAP_PROJ = 99"):
        match([path], reports("wind_speed [m/s]", row("A", 0, 3)), needed=("wind_speed",))


def test_a_station_outside_has_a_reason_and_asks_nothing_of_the_model(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1, 2], t2m=5.0)
    observed = reports(
        "temperature [degC]", *(row(name, h, 4, lat=lat) for name, lat in (("IN", 41), ("OUT", 50)) for h in range(3))
    )
    found = match([path], observed, window=Window(hours=3))
    assert set(outcome(found, "temperature", "OUT").values()) == {"outside the grid"}
    assert set(outcome(found, "temperature", "IN").values()) == {"pair"}
    assert found.table.loc[found.table["station"] == "OUT", ["forecast", "observed"]].isna().all(axis=None)
    assert found.how["stations"] == {"inside": 1, "outside": 1}


def test_all_stations_outside(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1], t2m=5.0)
    for rules in (MatchingRules(), MatchingRules(interpolate_time=True)):
        found = match(
            [path], reports("temperature [degC]", row("OUT", 0, 4, lat=-10)), window=Window(hours=2), rules=rules
        )
        assert found.how["stations"] == {"inside": 0, "outside": 1}
        assert outcome(found, "temperature")[0] == "outside the grid"


def test_impossible_positions_and_excluded_stations(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1], t2m=5.0)
    observed = reports(
        "temperature [degC]",
        row("FAR", 0, 4, lon=-790.2),
        row("NOT", 0, 4),
        row("NOWHERE", 0, 4).replace("41.0", ""),
        row("OK", 0, 4),
    )
    found = match([path], observed, window=Window(hours=1), rules=MatchingRules(exclude=("NOT", "UNHEARD OF")))
    assert found.how["excluded"] == "NOT, UNHEARD OF (not there: UNHEARD OF)"
    reasons = {name: outcome(found, "temperature", name)[0] for name in ("FAR", "NOT", "NOWHERE", "OK")}
    assert reasons == {
        "FAR": "station without a position",
        "NOT": "excluded by the case",
        "NOWHERE": "station without a position",
        "OK": "pair",
    }


def test_nearest_point_and_inverse_distance(tmp_path, reports):
    values = np.arange(12.0).reshape(3, 4)
    path = cf(tmp_path / "a.nc", [0, 1], t2m=values)
    observed = reports("temperature [degC]", row("A", 0, 4, lat=41.1, lon=-118.2))
    for space, expected in (
        (Space("nearest"), 6.0),
        # Distances in degrees: 0.1²+0.2² = 0.05 to point 6, 0.1²+0.8² = 0.65 to point 5.
        (Space("inverse_distance", k=2, power=2, metric="planar"), (6 / 0.05 + 5 / 0.65) / (1 / 0.05 + 1 / 0.65)),
    ):
        found = match([path], observed, window=Window(hours=1), rules=MatchingRules(space=space))
        assert column(found, "temperature", "forecast")[0] == pytest.approx(expected, rel=1e-12)


# --- when ------------------------------------------------------------------------------------------------------------


def test_speed_and_direction_come_from_the_same_report(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1], u=3.0, v=4.0, t2m=10.0)
    observed = reports(
        "wind_speed [m/s],wind_direction [deg],temperature [degC]",
        row("A", 0.05, "", 45, 21),  # nearest, but without a speed
        row("A", 0.10, 7, 180, 22),
        row("A", -0.15, 8, 270, 23),
        row("B", 0.05, 5, "", 31),  # nearest, but without a direction
        row("B", 0.10, 6, 90, 32),
        row("C", 0.05, "", 33, 41),  # never a speed
    )
    found = match([path], observed, needed=("temperature", "wind_direction", "wind_speed"), window=Window(hours=1))
    table = found.table.set_index(["station", "variable"])
    taken = {key: table.loc[key, "observed"] for key in table.index if table.loc[key, "reason"] == "pair"}
    assert taken == {
        ("A", "temperature"): 21.0,
        ("A", "wind_speed"): 7.0,
        ("A", "wind_direction"): 180.0,
        ("B", "temperature"): 31.0,
        ("B", "wind_speed"): 5.0,
        ("C", "temperature"): 41.0,
        ("C", "wind_direction"): 33.0,
    }
    assert table.loc[("B", "wind_direction"), "reason"] == "no observation"
    assert table.loc[("C", "wind_speed"), "reason"] == "no observation"


def test_an_hourly_model_against_observations_every_ten_minutes(tmp_path, reports):
    path = cf(tmp_path / "a.nc", range(7), t2m=5.0)
    observed = reports("temperature [degC]", *(row("A", k / 6, k) for k in range(-3, 40)))
    found = match([path], observed, window=Window(hours=6))
    assert column(found, "temperature", "observed") == {hour: 6.0 * hour for hour in range(6)}
    assert set(found.table["reason"]) == {"pair"}  # six of six: nothing is missing of the model


def test_times_clustered_at_the_edges_are_not_paired_by_position(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1, 2, 21, 22, 23], t2m=5.0)
    found = match([path], reports("temperature [degC]", *(row("A", hour, 5) for hour in range(9, 15))))
    reasons = outcome(found, "temperature")
    assert len(reasons) == 24
    assert {hour for hour, reason in reasons.items() if reason == "no forecast"} == set(range(9, 15))
    assert {reason for hour, reason in reasons.items() if not 9 <= hour < 15} == {"no observation"}


def test_a_station_that_reports_at_half_past_is_outside_the_tolerance(tmp_path, reports):
    path = cf(tmp_path / "a.nc", range(4), t2m=5.0)
    rows = [row("A", hour + 0.5, hour) for hour in range(4)]
    found = match([path], reports("temperature [degC]", *rows), window=Window(hours=4))
    assert set(outcome(found, "temperature").values()) == {"outside the time tolerance"}
    wide = match([path], reports("temperature [degC]", *rows), window=Window(hours=4), rules=MatchingRules(tolerance=2))
    # Half the step at most: each valid time has the report half an hour after it, and each report one valid time.
    assert column(wide, "temperature", "observed") == {0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0}


def test_a_report_of_something_else_does_not_make_it_late(tmp_path, reports):
    path = cf(tmp_path / "a.nc", range(2), t2m=5.0, u=1.0, v=1.0)
    observed = reports("temperature [degC],wind_speed [m/s]", row("A", 0.4, 5, ""), row("B", 0, 5, 3))
    found = match([path], observed, needed=("temperature", "wind_speed"), window=Window(hours=1))
    assert outcome(found, "temperature", "A")[0] == "outside the time tolerance"
    assert outcome(found, "wind_speed", "A")[0] == "no observation"


def test_the_tolerance_of_a_network(tmp_path, reports):
    path = cf(tmp_path / "a.nc", range(2), t2m=5.0)
    observed = reports("network,temperature [degC]", row("A", 0.4, "RAWS", 5), row("B", 0.4, "ASOS", 5))
    rules = MatchingRules(networks={"RAWS": 0.5})
    found = match([path], observed, window=Window(hours=1), rules=rules)
    assert outcome(found, "temperature", "A")[0] == "pair"
    assert outcome(found, "temperature", "B")[0] == "outside the time tolerance"
    assert found.how["time"] == "nearest report within 15 min (RAWS 30 min)"


def test_an_observed_gust_is_the_highest_of_the_step_before(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1, 2, 3, 4], u=1.0, v=1.0, gust=20.0)
    observed = reports(
        "wind_speed [m/s],wind_gust [m/s]",
        row("A", 0, 5, 30),
        row("A", 0.5, 5, 11),
        row("A", 0.9, 5, 17),
        row("A", 1, 5, 12),
        row("A", 1.5, 5, 4),  # below its speed
        row("A", 2.5, 5, ""),
        row("A", 3.5, 5, 200),
        row("A", 3.6, 5, 9),
    )
    found = match([path], observed, needed=("wind_gust", "wind_speed"), window=Window(hours=5))
    assert column(found, "wind_gust", "observed") == {0: 30.0, 1: 17.0, 4: 9.0}
    assert outcome(found, "wind_gust") == {0: "pair", 1: "pair", 2: "gust below speed", 3: "no observation", 4: "pair"}


def test_a_variable_that_no_station_reports_or_whose_reports_are_all_bad(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1], t2m=5.0, u=1.0, v=1.0)
    needed = ("temperature", "wind_direction", "wind_speed")
    found = match([path], reports("temperature [degC]", row("A", 0, -9999)), needed=needed, window=Window(hours=1))
    assert outcome(found, "temperature") == {0: "missing code"}
    assert outcome(found, "wind_speed") == outcome(found, "wind_direction") == {0: "no observation"}


def test_reasons_of_quality_reach_the_ledger(tmp_path, reports):
    path = cf(tmp_path / "a.nc", range(10), t2m=5.0, u=1.0, v=1.0)
    observed = reports(
        "wind_speed [m/s],wind_direction [deg],temperature [degC]",
        *(row("STUCK", hour, 3.7, 214, 5) for hour in range(10)),
        row("CALM", 0, 0, "", 5),
        row("VARYING", 0, 1.5, "VRB", 5),
        row("ODD", 0, 300, 400, 500),
        row("TWICE", 0, "", 90, 5),
        row("TWICE", 0, 5, 90, 6),
    )
    found = match([path], observed, needed=("temperature", "wind_direction", "wind_speed"), window=Window(hours=10))
    assert set(outcome(found, "wind_speed", "STUCK").values()) == {"stuck sensor"}
    assert set(outcome(found, "temperature", "STUCK").values()) == {"pair"}
    first = {
        name: [outcome(found, variable, name)[0] for variable in ("wind_speed", "wind_direction", "temperature")]
        for name in ("CALM", "VARYING", "ODD", "TWICE")
    }
    assert first == {
        "CALM": ["pair", "calm", "pair"],
        "VARYING": ["pair", "variable direction", "pair"],
        "ODD": ["impossible observation"] * 3,
        "TWICE": ["no observation", "pair", "pair"],  # the first counts, and it had no speed
    }
    assert found.how["repeated_reports"].startswith("1,")


def test_what_a_reader_counted_is_said(tmp_path):
    path = cf(tmp_path / "a.nc", range(2), u=0.0, v=3.0)
    bulletin = tmp_path / "metar.txt"
    bulletin.write_text(f"KAAA {CYCLE:%d%H}00Z VRB03KT=\nKAAA {CYCLE:%d%H}50Z /////KT=\n")
    places = pd.DataFrame({"lat": [41.0], "lon": [-119.0]}, index=["KAAA"])
    observations = read_stations([bulletin], VARIABLES, wishes=StationWishes(places=places, around=CYCLE))
    found = match([path], observations, needed=("wind_speed", "wind_direction"))
    assert found.how["reports"] == (
        "2 METAR and SPECI reports; 1 winds of variable direction (VRB);"
        " 1 wind groups that cannot be read (such as '/////KT')"
    )
    assert outcome(found, "wind_speed")[0] == "pair"
    assert outcome(found, "wind_direction")[0] == "variable direction"


def test_the_first_of_a_repeated_report_says_why(tmp_path, reports):
    path = cf(tmp_path / "a.nc", range(2), t2m=5.0)
    observed = reports("temperature [degC]", row("A", 0, 500), row("A", 0, 5), row("B", 0, 3), row("B", 0, 5))
    for rules in (MatchingRules(), MatchingRules(interpolate_time=True)):
        found = match([path], observed, window=Window(hours=1), rules=rules)
        assert outcome(found, "temperature", "A") == {0: "impossible observation"}
        assert found.table["observed"].dropna().tolist() == [3.0]


def test_a_missing_file_is_a_missing_forecast(tmp_path, reports):
    paths = [cf(tmp_path / f"{hour}.nc", [hour], t2m=5.0) for hour in range(6) if hour != 3]
    observed = reports("temperature [degC]", *(row(name, hour, 5) for name in "AB" for hour in range(6)))
    found = match(paths, observed, window=Window(hours=6))
    for name in "AB":
        assert outcome(found, "temperature", name) == {h: "no forecast" if h == 3 else "pair" for h in range(6)}
    missing = found.table[found.table["reason"] == "no forecast"]
    assert missing["observed"].tolist() == [5.0, 5.0]  # asked of the model, so that coverage is 10 of 12


@pytest.mark.parametrize("cut", [1, 3, 9], ids=["a time a file", "three times a file", "one file"])
@pytest.mark.parametrize(
    ("hours", "window", "expected"),
    [
        pytest.param(
            [0, 2, 3, 4, 5, 6], Window(hours=2), {0: "pair", 1: "no forecast"}, id="a hole in a window of two steps"
        ),
        pytest.param(
            [0, 1, 2, 3, 4, 5, 6, 9, 12, 15],
            Window(hours=8, offset=6),
            {6: "pair", 9: "pair", 12: "pair"},
            id="hourly at first, three-hourly later",
        ),
        pytest.param(range(0, 30, 6), Window(hours=5, offset=5), {6: "pair"}, id="one time in the window"),
    ],
)
def test_the_step_is_that_of_the_model_around_the_window(tmp_path, reports, hours, window, expected, cut):
    hours = list(hours)
    parts = [hours[start : start + cut] for start in range(0, len(hours), cut)]
    paths = [cf(tmp_path / f"{number}.nc", part, t2m=5.0) for number, part in enumerate(parts)]
    found = match(paths, reports("temperature [degC]", *(row("A", hour, 5) for hour in range(24))), window=window)
    assert outcome(found, "temperature") == expected


@pytest.mark.parametrize("harm", ["cut", "emptied", "text", "damaged values"])
def test_a_broken_file_among_good_ones(tmp_path, reports, harm):
    noise = np.random.default_rng(1).normal(5, 1, (1, 3, 4))
    paths = [cf(tmp_path / f"{hour}.nc", [hour], t2m=noise) for hour in range(6)]
    if harm == "damaged values":
        with netCDF4.Dataset(paths[3], "w") as dataset:
            for name, size in (("time", 1), ("lat", 3), ("lon", 4)):
                dataset.createDimension(name, size)
                dataset.createVariable(name, "f8", (name,))
            dataset["time"].units, dataset["time"][:] = f"hours since {CYCLE:%Y-%m-%d}", 3
            dataset["lat"].units, dataset["lat"][:] = "degrees_north", LATITUDE
            dataset["lon"].units, dataset["lon"][:] = "degrees_east", LONGITUDE
            variable = dataset.createVariable("t2m", "f8", ("time", "lat", "lon"), zlib=True)
            variable.setncatts(ATTRIBUTES["t2m"])
            variable[:] = noise
        raw = bytearray(paths[3].read_bytes())
        start = raw.rindex(b"\x78\x5e")  # where zlib's data starts
        raw[start + 8 : start + 40] = bytes(32)
        paths[3].write_bytes(raw)
    else:
        whole = paths[3].read_bytes()
        paths[3].write_bytes({"cut": whole[: len(whole) // 2], "emptied": b"", "text": b"not a grid\n"}[harm])
    observed = reports("temperature [degC]", *(row("A", hour, 5) for hour in range(6)))
    found = match(paths, observed, window=Window(hours=6))
    assert outcome(found, "temperature") == {h: "no forecast" if h == 3 else "pair" for h in range(6)}
    assert list(found.how["broken_files"]) == ["3.nc"]
    assert found.how["broken_files"]["3.nc"]
    assert str(tmp_path) not in str(found.how)  # the card holds no path of a machine


def test_a_variable_that_one_file_lacks_is_missing_there_only(tmp_path, reports):
    paths = [cf(tmp_path / f"{h}.nc", [h], t2m=5.0, **({"gust": 20.0} if h else {})) for h in range(3)]
    observed = reports("temperature [degC],wind_gust [m/s]", *(row("A", hour, 5, 15) for hour in range(3)))
    found = match(paths, observed, needed=("temperature", "wind_gust"), window=Window(hours=3))
    assert outcome(found, "wind_gust") == {0: "no forecast", 1: "pair", 2: "pair"}
    assert set(outcome(found, "temperature").values()) == {"pair"}
    assert "0.nc" in found.how["broken_files"]


@pytest.mark.parametrize("fill", [-9999.0, 1e6, -1e6, 9.96921e36])
def test_fill_values_that_no_attribute_declares_are_never_scored(tmp_path, reports, fill):
    ones = np.ones((2, 3, 4))
    path = cf(
        tmp_path / "a.nc", [0, 1], u=np.where([[[True]], [[False]]], fill, 3 * ones), v=4.0, t2m=np.array([fill, 5])
    )
    observed = reports(
        "wind_speed [m/s],wind_direction [deg],temperature [degC]", *(row("A", hour, 5, 80, 5) for hour in (0, 1))
    )
    needed = ("temperature", "wind_direction", "wind_speed")
    found = match([path], observed, needed=needed, window=Window(hours=2))
    for variable in needed:
        assert outcome(found, variable) == {0: "impossible forecast", 1: "pair"}, variable
        assert list(column(found, variable, "observed")) == [0, 1]  # the model owes a forecast


def test_a_model_wind_of_exactly_zero_has_a_speed_but_owes_a_direction(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1], u=0.0, v=0.0)
    observed = reports("wind_speed [m/s],wind_direction [deg]", row("A", 0, 5, 80))
    found = match([path], observed, needed=("wind_direction", "wind_speed"), window=Window(hours=1))
    assert outcome(found, "wind_speed") == {0: "pair"}
    assert outcome(found, "wind_direction") == {0: "no forecast"}


NO_OVERLAP = [
    pytest.param([48, 49, 50], Window(hours=24), id="the next night but one"),
    pytest.param([-3, -2], Window(hours=24), id="the night before"),
    pytest.param([24], Window(hours=24), id="only the end, which is not inside"),
    pytest.param([24, 30, 36], Window(hours=24), id="the end and beyond"),
    pytest.param([0, 1, 2], Window(hours=24, first_lead=3), id="only leads that do not count"),
]


@pytest.mark.parametrize(("hours", "window"), NO_OVERLAP)
def test_a_model_of_other_times_is_refused(tmp_path, reports, hours, window):
    path = cf(tmp_path / "a.nc", hours, t2m=5.0)
    with pytest.raises(BadInput, match=r"a\.nc: the model's times, .* do not overlap the window \[2026-11-17T00:00Z"):
        match([path], reports("temperature [degC]", row("A", 24, 5)), window=window)


@pytest.mark.parametrize("linear", [False, True])
def test_reports_of_another_day_are_refused(tmp_path, reports, linear):
    path = cf(tmp_path / "a.nc", range(24), t2m=5.0)
    with pytest.raises(BadInput, match=r"obs\.csv: no report in the window .*2026-11-20T00:00Z"):
        match([path], reports("temperature [degC]", row("A", 72, 5)), rules=MatchingRules(interpolate_time=linear))


def test_a_window_that_holds_no_step_of_the_case_is_refused(tmp_path, reports):
    path = cf(tmp_path / "a.nc", range(24), t2m=5.0)
    with pytest.raises(BadInput, match="no valid time of the step, 6 h"):
        match([path], reports("temperature [degC]", row("A", 1, 5)), window=Window(hours=2, offset=1, step=6))


def test_a_variable_that_is_not_there_is_named_with_what_is(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1], t2m=5.0)
    with pytest.raises(BadInput, match=r"a\.nc: there is no wind_speed; found temperature"):
        match([path], reports("wind_speed [m/s]", row("A", 0, 5)), needed=("wind_speed",))


# --- linear in time --------------------------------------------------------------------------------------------------

LINEAR = MatchingRules(interpolate_time=True)


@FUZZ
@given(
    st.sets(st.integers(0, 16), min_size=1, max_size=9),
    st.lists(st.integers(-4, 40), min_size=1, max_size=15, unique=True),
    st.sampled_from([None, 1.0]),
)
def test_linear_in_time_is_what_brute_force_finds(tmp_path, reports, halves, quarters, step):
    model = [half / 2 for half in sorted(halves)]  # hours
    value = {hour: 20 * math.sin(3 * hour) for hour in model}
    path = cf(tmp_path / "a.nc", model, t2m=np.array([value[hour] for hour in model]))
    # Seen from hour 0, so that there is always a report and a model time in the window.
    observed = reports("temperature [degC]", *(row("A", quarter / 4, 1) for quarter in {0, *quarters}))
    window = Window(hours=8, closed="both", step=step)
    gaps = [later - earlier for earlier, later in pairwise(model)]
    longest = min(gaps, key=lambda gap: (-gaps.count(gap), gap)) if gaps else 0
    found = match([path], observed, window=window, rules=LINEAR)
    reasons, forecast = outcome(found, "temperature"), column(found, "temperature", "forecast")
    assert set(reasons) == {quarter / 4 for quarter in {0, *quarters} if 0 <= quarter <= 32}
    for hour, reason in reasons.items():
        before = max((each for each in model if each <= hour), default=None)
        after = min((each for each in model if each >= hour), default=None)
        if before is None or after is None or after - before > longest:
            assert reason == "no forecast"
        else:
            share = (hour - before) / (after - before) if after > before else 0
            assert forecast[hour] == pytest.approx(value[before] + share * (value[after] - value[before]), abs=1e-9)


def test_a_direction_between_two_times_goes_through_north(tmp_path, reports):
    # 10 m/s from 350 and from 10 degrees; 3 m/s from 90 and 4 m/s from 180: halfway the components are (−1.5, 2).
    winds = [(10, 350), (10, 10), (3, 90), (4, 180)]
    u = np.array([-speed * math.sin(math.radians(angle)) for speed, angle in winds])
    v = np.array([-speed * math.cos(math.radians(angle)) for speed, angle in winds])
    path = cf(tmp_path / "a.nc", range(4), u=u, v=v)
    observed = reports("wind_speed [m/s],wind_direction [deg]", row("A", 0.5, 10, 0), row("A", 2.5, 10, 0))
    found = match([path], observed, needed=("wind_direction", "wind_speed"), window=Window(hours=4), rules=LINEAR)
    direction = column(found, "wind_direction", "forecast")
    assert (direction[0.5] + 180) % 360 - 180 == pytest.approx(0, abs=1e-9)
    assert direction[2.5] == pytest.approx(math.degrees(math.atan2(1.5, -2)), abs=1e-9)
    assert found.how["time"] == "model linear in time to each report"


def test_nothing_is_said_beyond_the_first_and_last_model_time(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [2, 3], t2m=np.array([10.0, 20.0]))
    observed = reports("temperature [degC]", *(row("A", hour, 0) for hour in (1.9, 2, 2.25, 3, 3.1)))
    found = match([path], observed, rules=LINEAR)
    assert column(found, "temperature", "forecast") == pytest.approx({2: 10.0, 2.25: 12.5, 3: 20.0})
    assert list(outcome(found, "temperature").values()).count("no forecast") == 2


def test_a_missing_value_between_two_times(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1, 2], t2m=np.array([10.0, 1e30, 20.0]))
    observed = reports("temperature [degC]", *(row("A", hour, 0) for hour in (0, 0.5, 1, 1.5, 2)))
    found = match([path], observed, rules=LINEAR)
    strange = "impossible forecast"
    assert outcome(found, "temperature") == {0: "pair", 0.5: strange, 1: strange, 1.5: strange, 2: "pair"}


# --- how high --------------------------------------------------------------------------------------------------------


@pytest.fixture
def windy(tmp_path):
    return cf(tmp_path / "a.nc", [0, 1], u=6.0, v=8.0)


def test_the_log_law_brings_the_wind_to_the_sensor(windy, reports):
    observed = reports(
        "height,wind_speed [m/s],wind_direction [deg]", row("LOW", 0, 6.1, 9, 90), row("HIGH", 0, 10, 9, 90)
    )
    rules = MatchingRules(roughness=0.03)
    found = match(
        [windy],
        observed,
        needed=("wind_direction", "wind_speed"),
        window=Window(hours=1),
        rules=rules,
        wishes=Wishes(wind_height=10.0),
    )
    table = found.table.set_index(["station", "variable"])["forecast"]
    assert table["LOW", "wind_speed"] == pytest.approx(10 * math.log(6.1 / 0.03) / math.log(10 / 0.03), rel=1e-12)
    assert table["HIGH", "wind_speed"] == pytest.approx(10, rel=1e-12)
    assert table["LOW", "wind_direction"] == pytest.approx(table["HIGH", "wind_direction"], abs=1e-12)
    assert found.how["height"] == "log law with z0 0.03 m (model 10 m to sensors 6.1 to 10 m)"
    assert "warning" not in found.how


def test_the_log_law_from_a_level_that_the_case_chooses(windy, reports):
    with netCDF4.Dataset(windy, "a") as dataset:
        dataset.createDimension("level", 3)
        dataset.createVariable("level", "f8", ("level",))[:] = [10, 80, 120]
        dataset["level"].setncatts({"standard_name": "height", "units": "m"})
        for name, values in (("east", [3, 6, 9]), ("north", [4, 8, 12])):
            made = dataset.createVariable(name, "f8", ("time", "level", "y", "x"))
            made[:] = np.broadcast_to(np.array(values, float)[:, None, None], made.shape)
            made.units = "m/s"
    found = match(
        [windy],
        reports("height,wind_speed [m/s]", row("A", 0, 6.1, 9)),
        needed=("wind_speed",),
        window=Window(hours=1),
        rules=MatchingRules(roughness=0.1),
        wishes=Wishes(names={"u": "east", "v": "north"}, wind_height=80.0),
    )
    expected = 10 * math.log(6.1 / 0.1) / math.log(80 / 0.1)
    assert found.table["forecast"].iloc[0] == pytest.approx(expected, rel=1e-12)
    assert found.how["height"] == "log law with z0 0.1 m (model 80 m to sensors 6.1 m)"
    assert found.how["read"]["wind_speed"] == "east and north at 80 m (from the components, interpolated as such)"


def test_winds_of_another_height_are_flagged(windy, reports):
    observed = reports("height,wind_speed [m/s]", row("LOW", 0, 6.1, 9), row("HIGH", 0, 10, 9))
    found = match([windy], observed, needed=("wind_speed",), window=Window(hours=1), wishes=Wishes(wind_height=10.0))
    assert column(found, "wind_speed", "forecast")[0] == pytest.approx(10, rel=1e-12)
    assert found.how["height"] == "as is (model 10 m, sensors 6.1 to 10 m)"
    assert "model at 10 m, sensors at 6.1 m" in found.how["warning"]


def test_a_sensor_of_unknown_height_is_said(windy, reports):
    observed = reports("height,wind_speed [m/s]", row("LOW", 0, 6.1, 9), row("SOME", 0, "", 9))
    rules = MatchingRules(roughness=0.03)
    found = match(
        [windy], observed, needed=("wind_speed",), window=Window(hours=1), rules=rules, wishes=Wishes(wind_height=10.0)
    )
    assert found.table.set_index("station")["forecast"]["SOME"] == pytest.approx(10, rel=1e-12)
    assert "1 stations" in found.how["warning"]


@pytest.mark.parametrize("height", [0, -3, 0.03])
def test_a_sensor_in_the_ground_is_named_unless_it_is_excluded(windy, reports, height):
    observed = reports("height,wind_speed [m/s]", row("A", 0, 10, 9), row("DEEP", 0, height, 9))
    arguments = {"needed": ("wind_speed",), "window": Window(hours=1), "wishes": Wishes(wind_height=10.0)}
    with pytest.raises(BadInput, match=r"obs\.csv: station 'DEEP'"):
        match([windy], observed, rules=MatchingRules(roughness=0.03), **arguments)
    found = match([windy], observed, rules=MatchingRules(roughness=0.03, exclude=("DEEP",)), **arguments)
    assert outcome(found, "wind_speed", "A") == {0: "pair"}


def test_the_log_law_needs_the_height_of_the_model(windy, reports):
    with pytest.raises(BadInput, match="wind_height"):
        match(
            [windy],
            reports("height,wind_speed [m/s]", row("A", 0, 6.1, 9)),
            needed=("wind_speed",),
            rules=MatchingRules(roughness=0.03),
        )


# --- the books -------------------------------------------------------------------------------------------------------

KNOWN = {
    "pair",
    "no observation",
    "no forecast",
    "outside the grid",
    "outside the time tolerance",
    "missing code",
    "impossible observation",
    "calm",
    "variable direction",
    "station without a position",
    "excluded by the case",
}
PLACES = {
    "IN": (41.0, -119.0),
    "EDGE": (42.0, -117.0),
    "OUT": (50.0, -119.0),
    "FAR": (41.0, -790.2),
    "NOT": (41.2, -118.3),
}


@pytest.fixture(scope="module")
def holey(tmp_path_factory):
    """Hours 0 to 5 without hour 3, described once."""
    folder = tmp_path_factory.mktemp("holey")
    hours = (0, 1, 2, 4, 5)
    return describe([cf(folder / f"{hour}.nc", [hour], u=1.0 + hour, v=2.0, t2m=10.0 + hour) for hour in hours])


@FUZZ
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(PLACES)),
            st.integers(-3, 26),  # quarters of an hour
            st.sampled_from(["", "3", "0", "-9999", "300"]),
            st.sampled_from(["", "90", "VRB", "400"]),
            st.sampled_from(["", "12", "-9999", "500"]),
        ),
        min_size=1,
        max_size=25,
    ),
    st.booleans(),
)
def test_candidates_are_pairs_and_reasons_and_pairs_are_those_of_brute_force(reports, holey, given_rows, linear):
    rows = [("IN", 2, "3", "90", "12"), *given_rows]  # something in the window, always
    lines = [row(name, quarter / 4, *rest, lat=PLACES[name][0], lon=PLACES[name][1]) for name, quarter, *rest in rows]
    observed = reports("wind_speed [m/s],wind_direction [deg],temperature [degC]", *lines)
    needed = ("temperature", "wind_direction", "wind_speed")
    rules = MatchingRules(tolerance=0.25, exclude=("NOT",), interpolate_time=linear)
    found = match(holey, observed, needed=needed, window=Window(hours=6), rules=rules)
    names = {name for name, *_ in rows}
    reported = {(name, quarter / 4) for name, quarter, *_ in rows if 0 <= quarter < 24}
    for name in names:
        for variable in needed:
            asked = {hour for own, hour in reported if own == name} if linear else set(map(float, range(6)))
            assert set(outcome(found, variable, name)) == asked
    book = ledger(found.table)
    assert set(book["reason"]) <= KNOWN
    counts = summary(book)
    for variable in needed:
        expected = len(reported) if linear else 6 * len(names)
        assert counts[variable]["candidates"] == expected
        assert counts[variable]["pairs"] + sum(counts[variable]["left_out"].values()) == expected
    # Temperatures, tried one by one: the first report of a moment, possible, at a station on the grid.
    first = {}
    for name, quarter, *_, temperature in rows:
        first.setdefault((name, quarter / 4), temperature)
    good = {place: 12.0 for place, text in first.items() if text == "12" and place[0] in ("IN", "EDGE")}
    taken = found.table[(found.table["variable"] == "temperature") & (found.table["reason"] == "pair")]
    taken = {
        (own, (when - CYCLE).total_seconds() / 3600)
        for own, when in zip(taken["station"], taken["valid_time"], strict=True)
    }
    if linear:
        expected = {(name, hour) for name, hour in good if 0 <= hour <= 2 or 4 <= hour <= 5}
    else:
        expected = {
            (name, float(hour))
            for name in ("IN", "EDGE")
            for hour in (0, 1, 2, 4, 5)
            if any(own == name and abs(moment - hour) <= 0.25 for own, moment in good)
        }
    assert taken == expected
    if not linear:
        assert_winds_are_those_of_brute_force(found, rows)


def assert_winds_are_those_of_brute_force(found, rows):
    """Speed from the nearest report that has one; direction from the same report, or from its own if none has."""
    first = {}
    for name, quarter, speed, direction, _ in rows:
        first.setdefault((name, quarter / 4), (speed, direction))
    for name in {"IN", "EDGE"} & {each for each, *_ in rows}:
        near = {moment: winds for (own, moment), winds in first.items() if own == name}
        for hour in (0, 1, 2, 4, 5):
            order = sorted(
                (each for each in near if abs(each - hour) <= 0.25), key=lambda each: (abs(each - hour), each)
            )
            with_speed = [each for each in order if near[each][0] in ("3", "0")]
            with_direction = [each for each in order if near[each][1] == "90" and near[each][0] != "0"]
            speed = float(near[with_speed[0]][0]) if with_speed else None
            if with_speed:
                direction = 90.0 if with_speed[0] in with_direction else None
            else:
                direction = 90.0 if with_direction else None
            at = found.table[(found.table["station"] == name) & (found.table["valid_time"] == time(hour))]
            observed = at.set_index("variable")["observed"]
            for variable, expected in (("wind_speed", speed), ("wind_direction", direction)):
                assert np.isnan(observed[variable]) if expected is None else observed[variable] == expected


def test_a_match_survives_its_file(tmp_path, holey, reports):
    observed = reports("temperature [degC]", row("🔥 $x$ NA", 0, 12), row("007", 0, 12, lat=50))
    found = match(holey, observed, window=Window(hours=6))
    write_matched(tmp_path / "kept.parquet", found)
    kept = read_matched(tmp_path / "kept.parquet")
    assert kept.offered == found.offered
    assert dict(kept.how) == dict(found.how)
    assert ledger(kept.table).astype(str).equals(ledger(found.table).astype(str))
    assert ledger(kept.table)["count"].sum() == 12


def test_a_hundred_thousand_stations(tmp_path, reports):
    path = cf(tmp_path / "a.nc", [0, 1], t2m=np.stack([np.full((3, 4), 5.0), np.full((3, 4), 6.0)]))
    count = 100_000
    rng = np.random.default_rng(2)
    lat, lon = rng.uniform(39.5, 42.5, count), rng.uniform(-120, -117, count)
    lines = [f"S{k},{lat[k]:.5f},{lon[k]:.5f},{time(0)},5" for k in range(count)]
    found = match([path], reports("temperature [degC]", *lines), window=Window(hours=2))
    counts = summary(ledger(found.table))["temperature"]
    inside = int(((lat.round(5) >= 40) & (lat.round(5) <= 42)).sum())
    assert counts["candidates"] == 2 * count
    assert counts["pairs"] == inside
    assert counts["left_out"] == {"no observation": inside, "outside the grid": 2 * (count - inside)}
