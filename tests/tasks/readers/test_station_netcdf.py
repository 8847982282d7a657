"""Station reports in NetCDF: every layout of the samples says the same; names, times, units, quality; damage."""

from __future__ import annotations

import warnings

import netCDF4
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.formats import OBSERVED
from metrics.errors import BadInput, FirecardError, UnknownUnit
from metrics.variables import VARIABLES
from tasks.readers import cf
from tasks.readers import station_netcdf as reader
from tasks.readers.formats import Head, StationWishes, recognise
from tasks.readers.hdf import opened
from tasks.readers.notes import NOTES
from tasks.readers.stations import read_stations

FUZZ = settings(
    derandomize=True, deadline=None, max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SINCE = "minutes since 2026-11-17 00:00:00"
SPEED = {"standard_name": "wind_speed", "units": "m s-1"}
FROM = {"standard_name": "wind_from_direction", "units": "degree"}
TIME = {"standard_name": "time", "units": SINCE}
ROLE = {"cf_role": "timeseries_id"}
LAT, LON = (
    {"standard_name": "latitude", "units": "degrees_north"},
    {
        "standard_name": "longitude",
        "units": "degrees_east",
    },
)
# Station A reports at 0, 10 and 20 minutes, B at 10 only.
REPORTS = [("A", 0, 3.0), ("A", 10, 4.0), ("A", 20, 5.0), ("B", 10, 6.0)]


def letters(texts, length=8):
    return np.array([list(each.ljust(length, "\0")) for each in texts], "S1")


@pytest.fixture
def write(tmp_path):
    """A file of variables: name to (dimensions, values, attributes); dimensions get the lengths of the values."""

    def writing(variables, attributes=None, *, form="NETCDF4", name="obs.nc"):
        path = tmp_path / name
        with netCDF4.Dataset(path, "w", format=form) as dataset:
            dataset.setncatts(attributes or {})
            for title, (dims, values, facts) in variables.items():
                values = np.asarray(values)
                for dim, size in zip(dims, values.shape, strict=True):
                    if dim not in dataset.dimensions:
                        dataset.createDimension(dim, size)
                kind = str if values.dtype.kind in "OU" else values.dtype
                fill = facts.get("_FillValue")
                made = dataset.createVariable(title, kind, dims, fill_value=fill)
                made.setncatts({key: each for key, each in facts.items() if key != "_FillValue"})
                made[...] = values
        return path

    return writing


def read(path, **wishes):
    return reader.read_reports(path, StationWishes(**wishes))


def rows(frame):
    """Station, minute and speed of every report that has a speed."""
    minutes = (frame["time"] - pd.Timestamp("2026-11-17T00:00Z")).dt.total_seconds() / 60
    all_rows = zip(frame["station"], minutes, frame["wind_speed"], strict=True)
    return sorted((station, minute, speed) for station, minute, speed in all_rows if not np.isnan(speed))


PLACES = {
    "lat": (("station",), [40.0, 41.0], LAT),
    "lon": (("station",), [-120.0, -121.0], LON),
    "alt": (("station",), [100.0, 200.0], {"standard_name": "altitude", "units": "m"}),
}
NAMES = {"station_id": (("station", "length"), letters("AB"), ROLE)}
NAN = np.nan
LAYOUTS = {
    "orthogonal": {
        **PLACES,
        **NAMES,
        "time": (("time",), [0.0, 10.0, 20.0], TIME),
        "speed": (("station", "time"), [[3.0, 4.0, 5.0], [NAN, 6.0, NAN]], SPEED),
    },
    "orthogonal, times first": {
        **PLACES,
        **NAMES,
        "time": (("time",), [0.0, 10.0, 20.0], TIME),
        "speed": (("time", "station"), [[3.0, NAN], [4.0, 6.0], [5.0, NAN]], SPEED),
    },
    "incomplete": {
        **PLACES,
        **NAMES,
        "time": (("station", "obs"), [[0.0, 10.0, 20.0], [10.0, -1.0, -1.0]], {**TIME, "_FillValue": -1.0}),
        "speed": (("station", "obs"), [[3.0, 4.0, 5.0], [6.0, NAN, NAN]], SPEED),
    },
    "contiguous ragged": {
        **PLACES,
        **NAMES,
        "row_size": (("station",), np.array([3, 1]), {"sample_dimension": "obs"}),
        "time": (("obs",), [0.0, 10.0, 20.0, 10.0], TIME),
        "speed": (("obs",), [3.0, 4.0, 5.0, 6.0], SPEED),
    },
    "indexed ragged": {
        **PLACES,
        **NAMES,
        "which": (("obs",), np.array([1, 0, 0, 0]), {"instance_dimension": "station"}),
        "time": (("obs",), [10.0, 20.0, 0.0, 10.0], TIME),
        "speed": (("obs",), [6.0, 5.0, 3.0, 4.0], SPEED),
    },
    "a place a report": {
        "id": (("report", "length"), letters("AAAB"), {}),
        "lat": (("report",), [40.0, 40.0, 40.0, 41.0], LAT),
        "lon": (("report",), [-120.0, -120.0, -120.0, -121.0], LON),
        "elev": (("report",), [100.0, 100.0, 100.0, 200.0], {"units": "meters"}),
        "time": (("report",), [0.0, 10.0, 20.0, 10.0], TIME),
        "speed": (("report",), [3.0, 4.0, 5.0, 6.0], SPEED),
    },
}
STRINGS = {**LAYOUTS["orthogonal"], "station_id": (("station",), np.array(["A", "B"], object), ROLE)}


@pytest.mark.parametrize("form", ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_says_the_same(write, layout, form):
    variables = {
        name: (dims, np.asarray(values).astype("i4") if np.asarray(values).dtype.kind == "i" else values, facts)
        for name, (dims, values, facts) in LAYOUTS[layout].items()
    }
    path = write(variables, form=form)
    frame = read(path)
    assert rows(frame) == [(station, minute, speed) for station, minute, speed in REPORTS]
    found = read_stations([path], VARIABLES)
    assert found.stations["station"].tolist() == ["A", "B"]
    assert found.stations[["lat", "lon", "elevation"]].to_numpy().tolist() == [[40, -120, 100], [41, -121, 200]]
    assert recognise(path, OBSERVED).name == "station_netcdf"
    with opened(path) as file:
        assert not cf.recognises(file)


def test_names_as_strings_and_as_numbers(write):
    assert rows(read(write(STRINGS))) == REPORTS
    numbered = {**LAYOUTS["orthogonal"], "station_id": (("station",), np.array([72773, 5], "i4"), ROLE)}
    assert set(read(write(numbered))["station"]) == {"72773", "5"}


@pytest.mark.parametrize("name", ["Zürich, Süd", "NA", "$x$", "🔥 'q'", '"', "a b"])
def test_names_of_strangers(write, name):
    strange = {**STRINGS, "station_id": (("station",), np.array([name, "B"], object), ROLE)}
    assert set(read(write(strange))["station"]) == {name, "B"}


ONE = {
    "lat": ((), 36.6, LAT),
    "lon": ((), -97.5, LON),
    "time": (("time",), [0.0, 1.0, 2.0], TIME),
    "wspd": (("time",), [1.0, 2.0, 3.0], {"units": "m/s"}),
}


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({"station_id": "KXYZ"}, "KXYZ"),
        ({"site_id": "sgp", "facility_id": "E13"}, "sgp E13"),
        ({}, "36.6000N 97.5000W"),
    ],
)
def test_one_station_is_named_by_the_file_or_by_its_place(write, attributes, name):
    assert set(read(write(ONE, attributes))["station"]) == {name}


def test_nothing_names_the_stations(write):
    bare = {name: each for name, each in ONE.items() if name not in ("lat", "lon")}
    with pytest.raises(BadInput, match=r"obs\.nc: nothing in it names the stations"):
        read(write(bare))


def test_the_variable_with_the_role_names_the_stations(write):
    both = {**LAYOUTS["orthogonal"], "station_name": (("station", "length"), letters(["Alpha", "Bravo"]), {})}
    both["code"] = both.pop("station_id")
    assert set(read(write(both))["station"]) == {"A", "B"}


def test_variables_may_order_their_dimensions_as_they_like(write):
    turned = {**LAYOUTS["orthogonal"]}
    turned["T"] = (("time", "station"), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], {"units": "degC"})
    frame = read(write(turned))
    assert frame[frame["station"] == "A"]["temperature"].tolist() == [1.0, 2.0, 3.0]
    assert frame[frame["station"] == "B"]["temperature"].tolist() == [4.0, 5.0, 6.0]


def test_a_single_report(write):
    snapshot = {**PLACES, **NAMES, "time": ((), 10.0, TIME), "speed": (("station",), [3.0, 4.0], SPEED)}
    assert rows(read(write(snapshot))) == [("A", 10, 3.0), ("B", 10, 4.0)]
    alone = {**ONE, "time": (("time",), [7.0], TIME), "wspd": (("time",), [2.0], {"units": "m/s"})}
    assert rows(read(write(alone, {"station_id": "A"}))) == [("A", 7, 2.0)]


def test_a_ragged_array_of_one_sample(write):
    alone = {
        **LAYOUTS["contiguous ragged"],
        "row_size": (("station",), np.array([0, 1]), {"sample_dimension": "obs"}),
        "time": (("obs",), [10.0], TIME),
        "speed": (("obs",), [6.0], SPEED),
    }
    frame = read(write(alone))
    assert rows(frame) == [("B", 10, 6.0)]
    assert frame["lat"].tolist() == [41.0]


# --- variables --------------------------------------------------------------------------------------------------------


def with_variables(**variables):
    """One station with these variables along its times."""
    bare = {name: each for name, each in ONE.items() if name != "wspd"}
    return {**bare, **{name: (("time",), values, facts) for name, (values, facts) in variables.items()}}


@pytest.mark.parametrize(
    ("name", "facts", "stored", "variable", "expected"),
    [
        ("x", SPEED | {"units": "knot"}, 36.0, "wind_speed", 36 * 1852 / 3600),
        ("SPD", {"units": "meters/second"}, 3.0, "wind_speed", 3.0),
        ("sfcWind", {"units": "km h-1"}, 36.0, "wind_speed", 10.0),
        ("DIR", {"units": "degrees"}, 350.0, "wind_direction", 350.0),
        ("x", FROM | {"units": "degree_true"}, 10.0, "wind_direction", 10.0),
        ("GUST", {"units": "m/s"}, 15.0, "wind_gust", 15.0),
        ("x", SPEED | {"cell_methods": "time: maximum"}, 15.0, "wind_gust", 15.0),
        ("T", {"units": "celsius"}, 11.0, "temperature", 11.0),
        ("tas", {"standard_name": "air_temperature", "units": "K"}, 273.15, "temperature", 0.0),
        ("T", {"units": "degF"}, 50.0, "temperature", 10.0),
        ("TD", {"units": "degC"}, 5.0, "dew_point", 5.0),
        ("rh_mean", {"units": "%"}, 40.0, "relative_humidity", 40.0),
        ("x", {"standard_name": "relative_humidity", "units": "1"}, 0.4, "relative_humidity", 40.0),
        ("T", {"units": "K"}, -9999.0, "temperature", -9999.0),  # a missing code, for quality to see
        ("T", {"units": "degC", "missing_value": -999.0}, -999.0, "temperature", NAN),
    ],
)
def test_variables_and_units(write, name, facts, stored, variable, expected):
    frame = read(write(with_variables(**{name: ([stored] * 3, facts)})))
    np.testing.assert_allclose(frame[variable], [expected] * 3)


def test_east_and_north_become_speed_and_direction(write):
    parts = with_variables(
        a=([-3.0, 0.0, 0.0], {"standard_name": "eastward_wind", "units": "m/s"}),
        b=([-4.0, 5.0, 0.0], {"standard_name": "northward_wind", "units": "m/s"}),
    )
    frame = read(write(parts))
    np.testing.assert_allclose(frame["wind_speed"], [5, 5, 0])
    np.testing.assert_allclose(frame["wind_direction"], [np.degrees(np.arctan2(3, 4)), 180, 0])
    assert not {"u", "v"} & set(frame)


MEANS = with_variables(
    wspd_arith_mean=([3.0, 3.0, 3.0], {"units": "m/s"}),
    wspd_vec_mean=([2.0, 2.0, 2.0], {"units": "m/s"}),
    wdir_vec_mean=([90.0, 90.0, 90.0], {"units": "degree"}),
)


def test_the_arithmetic_mean_is_taken_and_said(write):
    frame = read(write(MEANS))
    assert set(frame["wind_speed"]) == {3.0}
    assert set(frame["wind_direction"]) == {90.0}
    assert any("wind_speed is wspd_arith_mean (wspd_vec_mean" in each for each in frame.attrs[NOTES].in_words())


def test_the_case_chooses(write):
    frame = read(write(MEANS), names={"wind_speed": "wspd_vec_mean"})
    assert set(frame["wind_speed"]) == {2.0}
    assert not any("arith" in each for each in frame.attrs[NOTES].in_words())
    swapped = {**ONE, "who": (("time", "n"), letters(["X", "Y", "X"]), {}), "y": ONE["lat"], "z": ONE["lon"]}
    named = {"wind_speed": "wspd", "station": "who", "lat": "y", "lon": "z", "time": "time"}
    assert read(write(swapped), names=named)["station"].tolist() == ["X", "Y", "X"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"wind_speed": "wspd_arit_mean"}, "there is no variable wspd_arit_mean, .*did you mean wspd_arith_mean"),
        ({"wind_sped": "wspd_vec_mean"}, "has 'wind_sped'; known: station, time, lat"),
        ({"time": "wspd_vec_mean"}, "wspd_vec_mean is no time"),
    ],
)
def test_what_the_case_names_must_be_there(write, names, message):
    with pytest.raises(BadInput, match=rf"obs\.nc: .*{message}"):
        read(write(MEANS), names=names)


def test_two_that_could_be_meant(write):
    both = with_variables(a=([1.0] * 3, SPEED), b=([2.0] * 3, SPEED), T=([5.0] * 3, {"units": "degC"}))
    frame = read(write(both))
    assert "wind_speed" not in frame
    assert any("a and b could both be wind_speed" in each for each in frame.attrs[NOTES].in_words())
    high = both | {"a": (("time",), [1.0] * 3, {**SPEED, "sensor_height": "60 m"})}
    high["b"] = (("time",), [2.0] * 3, {**SPEED, "sensor_height": "10 m"})
    assert set(read(write(high))["wind_speed"]) == {2.0}


def test_the_sensor(write):
    facts = {"units": "m/s", "sensor_height": "1000 cm", "averaging_interval": "10 min"}
    frame = read(write(with_variables(wspd=([1.0] * 3, facts))))
    assert frame["height"].tolist() == pytest.approx([10] * 3)
    assert frame["averaging"].tolist() == pytest.approx([10] * 3)
    level = {**with_variables(wspd=([1.0] * 3, {"units": "m/s", "coordinates": "height"}))}
    level["height"] = ((), 6.1, {"standard_name": "height", "units": "m"})
    assert set(read(write(level, {"averaging_interval": "60 seconds"}))["height"]) == {6.1}
    assert set(read(write(level, {"averaging_interval": "60 seconds"}))["averaging"]) == {1.0}
    assert "height" not in read(write(with_variables(wspd=([1.0] * 3, {"units": "m/s"}))))


def test_a_unit_that_nobody_knows(write):
    strange = with_variables(wspd=([1.0] * 3, {"units": "furlongs"}), T=([5.0] * 3, {"units": "degC"}))
    frame = read(write(strange))
    assert any("wind_speed is left out: wspd: " in each for each in frame.attrs[NOTES].in_words())
    with pytest.raises(UnknownUnit, match=r"obs\.nc: wspd: .*furlongs"):
        read(write(strange), names={"wind_speed": "wspd"})
    with pytest.raises(BadInput, match=r"obs\.nc: there is no variable that is known here.*wspd: .*furlongs"):
        read(write(with_variables(wspd=([1.0] * 3, {"units": "furlongs"}))))
    with pytest.raises(BadInput, match="wspd has no units"):
        read(write(with_variables(wspd=([1.0] * 3, {}))))


def test_a_variable_that_lies_elsewhere(write):
    apart = {**ONE, "T": (("day",), [1.0, 2.0], {"units": "degC"})}
    frame = read(write(apart))
    assert "temperature" not in frame
    assert any("temperature is left out: T lies along day" in each for each in frame.attrs[NOTES].in_words())
    with pytest.raises(BadInput, match=r"obs\.nc: T lies along day"):
        read(write(apart), names={"temperature": "T"})


# --- quality ----------------------------------------------------------------------------------------------------------

BITS = [0, 1, 8]  # good, bit 1, bit 4
ARM = {"qc_bit_1_assessment": "Bad", "qc_bit_2_assessment": "Bad", "qc_bit_4_assessment": "Indeterminate"}
FLAGS = [
    pytest.param({}, ARM, [1, NAN, 3], 1, id="bits of the file"),
    pytest.param({"bit_4_assessment": "Bad", "bit_1_assessment": "Indeterminate"}, {}, [1, 2, NAN], 1, id="own bits"),
    pytest.param(
        {"flag_masks": np.array([1, 2, 8], "i4"), "flag_assessments": "Bad Bad Indeterminate"},
        {},
        [1, NAN, 3],
        1,
        id="masks",
    ),
    pytest.param(
        {"flag_values": np.array([0, 1, 8], "i4"), "flag_meanings": "good failed suspect"},
        {},
        [1, NAN, 3],
        1,
        id="values",
    ),
    pytest.param({}, {}, [1, NAN, NAN], 2, id="nothing says which bits are bad"),
]


@pytest.mark.parametrize(("facts", "attributes", "expected", "count"), FLAGS)
def test_bad_bits_leave_a_value_out(write, facts, attributes, expected, count):
    flagged = {**ONE, "qc_wspd": (("time",), np.array(BITS, "i4"), facts)}
    frame = read(write(flagged, attributes))
    np.testing.assert_array_equal(frame["wind_speed"], expected)
    assert frame.attrs[NOTES].counts[reader.BAD_BITS] == count
    assert any("does not say which" in each for each in frame.attrs[NOTES].sentences) == (count == 2)


def test_flags_that_a_variable_lists(write):
    facts = {"flag_values": np.array([1, 3, 4], "i1"), "flag_meanings": "pass suspect fail"}
    listed = {**ONE, "wspd": (("time",), [1.0, 2.0, 3.0], {"units": "m/s", "ancillary_variables": "ok spread"})}
    listed |= {"ok": (("time",), np.array([1, 3, 4], "i1"), facts), "spread": (("time",), [9.0] * 3, {"units": "m/s"})}
    np.testing.assert_array_equal(read(write(listed))["wind_speed"], [1, 2, NAN])


# --- times ------------------------------------------------------------------------------------------------------------

WRITTEN = [
    "2026-11-17T06:30:00Z",
    "2026-11-17 06:30Z",
    "2026 11 17 06:30 UTC",
    "20261117063000Z",
    "202611170630 GMT",
    "2026-11-17T07:30:00+01:00",
    "2026-11-17T01:30-0500",
    "2026/11/17 06:30:00.25 UTC",
]


def spoken(*texts):
    length = max(map(len, texts))
    return {
        **ONE,
        "time": (("time", "words"), letters(texts, length), {}),
        "wspd": (("time",), [1.0] * len(texts), SPEED),
    }


@pytest.mark.parametrize("text", WRITTEN)
def test_times_in_words(write, text):
    path = write(spoken(text, text.replace("17", "18", 1)))
    assert read(path)["time"].tolist() == [pd.Timestamp("2026-11-17T06:30Z"), pd.Timestamp("2026-11-18T06:30Z")]
    assert recognise(path, OBSERVED).name == "station_netcdf"


def test_local_times_need_a_zone(write):
    path = write(spoken("2026-07-01 06:30", "2026-12-01 06:30"))
    with pytest.raises(BadInput, match=r"obs\.nc: time says '2026-.*', which has no time zone; say `zone:`"):
        read(path)
    times = read(path, zone="America/Denver")["time"].tolist()
    assert times == [pd.Timestamp("2026-07-01T12:30Z"), pd.Timestamp("2026-12-01T13:30Z")]
    for text in ("2026-11-01 01:30", "2026-03-08 02:30"):
        with pytest.raises(BadInput, match=rf"time says '{text}', when clocks change in America/Denver"):
            read(write(spoken(text, "2026-07-01 06:30")), zone="America/Denver")
    with pytest.raises(BadInput, match="there is no time zone 'Mars/Base'"):
        read(path, zone="Mars/Base")


@pytest.mark.parametrize("text", ["soon", "2026-13-01T00:00Z", "0001-01-01T00:00Z", "9999-01-01T00:00Z", "2026-11-17"])
def test_times_that_are_none(write, text):
    with pytest.raises(BadInput, match=rf"obs\.nc: time says '{text}', expected a time such as"):
        read(write(spoken(text, "2026-11-17T06:30Z")))


def test_reports_without_a_time_are_counted(write):
    late = {**ONE, "time": (("time",), [0.0, -1.0, 2.0], {**TIME, "_FillValue": -1.0})}
    frame = read(write(late))
    assert len(frame) == 2
    assert frame.attrs[NOTES].counts[reader.NO_TIME] == 1
    never = {**ONE, "time": (("time",), [-1.0] * 3, {**TIME, "_FillValue": -1.0})}
    with pytest.raises(BadInput, match="no sample has a time"):
        read(write(never))


def test_times_that_run_backwards_are_sorted(write):
    backwards = {**ONE, "time": (("time",), [2.0, 1.0, 0.0], TIME)}
    found = read_stations([write(backwards)], VARIABLES)
    assert found.reports["wind_speed"].tolist() == [3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": (("day",), [0.0, 1.0], TIME)}, "wspd has no times along its dimensions time"),
        ({"time": (("time",), [0.0] * 3, {"units": "hours"})}, "wspd has no times along its dimensions"),
        (
            {"time": (("time",), [0.0] * 3, {"units": "days since 0001-01-01"})},
            "expected one of 1900 to 2200|is not a time",
        ),
        ({"time": (("time",), [0.0] * 3, {**TIME, "calendar": "360_day"})}, "time counts in the calendar '360_day'"),
        ({"wspd": (("time", "n"), letters("abc"), {})}, "there is no variable that is known here"),
        (
            {"wspd": (("time", "y", "x"), np.zeros((3, 2, 2)), SPEED)},
            "lies along time, y, x; reports lie along one or two",
        ),
        ({"elev": ((), 3.0, {"units": "K"})}, "elev: the unit 'K' is not one of 'm'"),
        ({"id": (("time", "n"), letters(["A", "", "B"]), {})}, r"report 2 has no station \(1 such reports\)"),
    ],
)
def test_refused(write, changes, message):
    with pytest.raises(BadInput, match=rf"obs\.nc: .*(?:{message})"):
        read(write({**ONE, **changes}, form="NETCDF3_CLASSIC"))


@pytest.mark.parametrize(
    ("layout", "name", "values", "message"),
    [
        ("contiguous ragged", "row_size", [3, 2], "row_size does not add up to the 4 samples along obs"),
        ("contiguous ragged", "row_size", [-1, 5], "row_size does not add up"),
        ("indexed ragged", "which", [2, 0, 0, 0], "which points at stations that are not along station"),
        ("indexed ragged", "which", [-1, 0, 0, 0], "which points at stations"),
    ],
)
def test_ragged_arrays_that_do_not_add_up(write, layout, name, values, message):
    dims, _, facts = LAYOUTS[layout][name]
    with pytest.raises(BadInput, match=rf"obs\.nc: {message}"):
        read(write({**LAYOUTS[layout], name: (dims, np.array(values), facts)}))


def test_a_ragged_array_that_points_at_itself(write):
    itself = {**LAYOUTS["indexed ragged"], "which": (("obs",), np.array([1, 0, 0, 0]), {"instance_dimension": "obs"})}
    with pytest.raises(BadInput, match=r"obs\.nc: which relates samples along obs to themselves"):
        read(write(itself))


def test_a_variable_that_was_not_written_to_the_end(tmp_path):
    path = tmp_path / "obs.nc"
    with netCDF4.Dataset(path, "w") as dataset:
        dataset.createDimension("time", None)
        for name, (dims, values, facts) in {**ONE, "T": (("time",), [5.0], {"units": "degC"})}.items():
            made = dataset.createVariable(name, "f8", dims)
            made.setncatts(facts)
            made[:] = values
    frame = read(path)  # one temperature is not that of all times
    assert frame["wind_speed"].tolist() == [1.0, 2.0, 3.0]
    assert "temperature" not in frame
    assert any("temperature is left out" in each for each in frame.attrs[NOTES].in_words())


def test_a_dimension_that_stands_there_twice(write):
    square = {**ONE, "wspd": (("time", "time"), np.ones((3, 3)), SPEED)}
    with pytest.raises(BadInput, match=r"obs\.nc: wspd lies along time, time; reports lie along one or two"):
        read(write(square, form="NETCDF3_CLASSIC"))


def test_no_report_at_all(write):
    with pytest.raises(BadInput, match="there is no report in it"):
        read(write({**ONE, "time": (("time",), np.zeros(0), TIME), "wspd": (("time",), np.zeros(0), SPEED)}))


# --- recognised, damaged ----------------------------------------------------------------------------------------------


def test_grids_stay_grids(write):
    grid = {
        "lat": (("lat",), [40.0, 41.0], LAT),
        "lon": (("lon",), [-120.0, -119.0], LON),
        "time": (("time",), [0.0, 60.0], TIME),
        "speed": (("time", "lat", "lon"), np.ones((2, 2, 2)), SPEED),
    }
    mesh = {
        "lat": (("cell",), [40.0, 41.0, 42.0], LAT),
        "lon": (("cell",), [-120.0, -119.0, -118.0], LON),
        "time": (("time",), [0.0, 60.0], TIME),
        "speed": (("time", "cell"), np.ones((2, 3)), SPEED),
    }
    on_map = {
        "y": (("y",), [0.0, 1000.0], {"standard_name": "projection_y_coordinate", "units": "m"}),
        "x": (("x",), [0.0, 1000.0], {"standard_name": "projection_x_coordinate", "units": "m"}),
        "lat": ((), 40.0, LAT),  # where the map begins
        "lon": ((), -120.0, LON),
        "time": (("time",), [0.0, 60.0], TIME),
        "speed": (("time", "y", "x"), np.ones((2, 2, 2)), SPEED),
    }
    for variables in (grid, mesh, on_map):
        path = write(variables)
        assert not reader.recognises(Head.of(path))
        with opened(path) as file:
            assert cf.recognises(file)
    assert reader.recognises(Head.of(write(mesh, {"featureType": "timeSeries"})))


def test_a_name_for_each_place_makes_stations_of_them(write):
    variables = {
        name: (dims, values, {} if name == "station_id" else facts)
        for name, (dims, values, facts) in LAYOUTS["orthogonal"].items()
    }
    assert recognise(write(variables), OBSERVED).name == "station_netcdf"


def test_what_is_no_netcdf(tmp_path):
    path = tmp_path / "obs.nc"
    path.write_bytes(b"station,time\n")
    assert not reader.recognises(Head.of(path))
    with pytest.raises(BadInput, match=r"obs\.nc: not a netCDF file"):
        read(path)
    path.write_bytes(b"")
    with pytest.raises(BadInput, match=r"obs\.nc: is empty"):
        read(path)


@pytest.mark.parametrize("form", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_cut_in_half(write, form):
    path = write({**ONE, "qc_wspd": (("time",), np.array(BITS, "i4"), {})}, form=form)
    raw = path.read_bytes().rstrip(b"\0")  # the classic library fills a small file up to a page
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(BadInput, match=r"obs\.nc: "):
        read(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Some sound files, as bytes."""
    folder = tmp_path_factory.mktemp("whole")
    found = []
    for layout, form in (
        ("orthogonal", "NETCDF4"),
        ("indexed ragged", "NETCDF4"),
        ("contiguous ragged", "NETCDF3_CLASSIC"),
        ("a place a report", "NETCDF3_CLASSIC"),
        ("strings", "NETCDF4"),
    ):
        path = folder / "obs.nc"
        variables = STRINGS if layout == "strings" else LAYOUTS[layout]
        with netCDF4.Dataset(path, "w", format=form) as dataset:
            for title, (dims, values, facts) in variables.items():
                values = np.asarray(values)
                values = values.astype("i4") if values.dtype.kind == "i" else values
                for dim, size in zip(dims, values.shape, strict=True):
                    if dim not in dataset.dimensions:
                        dataset.createDimension(dim, size)
                made = dataset.createVariable(title, str if values.dtype.kind == "O" else values.dtype, dims)
                made.setncatts(facts)
                made[...] = values
        found.append(path.read_bytes())
    return found


@FUZZ
@given(st.data())
def test_damaged_copies_are_read_or_refused(tmp_path, whole, data):
    raw = bytearray(data.draw(st.sampled_from(whole)))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        raw = raw[: data.draw(st.integers(1, len(raw)))]
    path = tmp_path / "obs.nc"
    path.write_bytes(bytes(raw))
    said = "obs.nc"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            frame = read(path)
        except FirecardError as error:
            frame, said = None, str(error)
    assert "obs.nc" in said
    assert frame is None or len(frame) > 0


DIMS = st.sampled_from(
    [(), ("time",), ("station",), ("time", "time"), ("station", "time"), ("time", "station"), ("obs",), ("one",)]
)
SIZES = {"time": 3, "station": 2, "obs": 4, "one": 1, "length": 8}


@FUZZ
@given(st.fixed_dictionaries(dict.fromkeys(("time", "lat", "lon", "wspd", "T", "qc_wspd", "which"), DIMS)), st.data())
def test_any_dimensions(write, dims, data):
    facts = {
        "time": TIME,
        "lat": LAT,
        "lon": LON,
        "wspd": {"units": "m/s"},
        "T": {"units": "degC"},
        "qc_wspd": {},
        "which": {data.draw(st.sampled_from(["sample_dimension", "instance_dimension"])): "obs"},
    }
    variables = {name: (each, np.ones([SIZES[dim] for dim in each]), facts[name]) for name, each in dims.items()}
    variables["id"] = ((*data.draw(DIMS), "length"), None, {})
    shape = [SIZES[dim] for dim in variables["id"][0]]
    variables["id"] = (variables["id"][0], np.full(shape, "A", "S1"), {})
    path = write(variables, form="NETCDF3_CLASSIC")  # netCDF-4 cannot write a `time` along another dimension
    said = "obs.nc"
    try:
        frame = read(path)
    except FirecardError as error:
        frame, said = None, str(error)
    assert "obs.nc" in said
    assert frame is None or (len(frame) > 0 and frame["station"].ne("").all())
