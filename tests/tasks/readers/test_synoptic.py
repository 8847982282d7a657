"""Synoptic's time series: sensors, units, flags, heights, zones; and what is said of files that cannot be used."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.formats import OBSERVED
from metrics.errors import BadInput
from metrics.variables import VARIABLES, Variable
from tasks.readers.formats import StationWishes, recognise
from tasks.readers.stations import read_stations
from tasks.readers.synoptic import read_reports

TIMES = ["2021-08-18T04:00:00Z", "2021-08-18T05:00:00Z"]
KSLC = {
    "STID": "KSLC",
    "NAME": "Salt Lake City",
    "LATITUDE": "40.77069",
    "LONGITUDE": "-111.96503",
    "ELEVATION": "1000",
    "MNET_ID": "2",
    "UNITS": {"position": "m", "elevation": "ft"},
    "SENSOR_VARIABLES": {"wind_speed": {"wind_speed_set_1": {"position": "6.1"}}},
    "OBSERVATIONS": {
        "date_time": TIMES,
        "wind_speed_set_1": [10, None],
        "wind_direction_set_1": [270.0, None],
        "wind_gust_set_1": [20.0, None],
        "air_temp_set_1": [50.0, 32.0],
        "dew_point_temperature_set_1d": [41.0, 32.0],
        "relative_humidity_set_1": [20, "21.5"],
    },
}
FILE = {
    "STATION": [KSLC],
    "SUMMARY": {"RESPONSE_CODE": 1, "RESPONSE_MESSAGE": "OK", "NUMBER_OF_OBJECTS": 1},
    "UNITS": {
        "position": "m",
        "elevation": "ft",
        "wind_speed": "Miles/hour",
        "wind_gust": "Miles/hour",
        "wind_direction": "Degrees",
        "air_temp": "Fahrenheit",
        "dew_point_temperature": "Fahrenheit",
        "relative_humidity": "%",
    },
}
MPH = 1609.344 / 3600
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def changed(**changes):
    """The file with other things at places such as `STATION.0.OBSERVATIONS.date_time`; `...` takes them away."""
    content = copy.deepcopy(FILE)
    for place, value in changes.items():
        *above, last = (int(each) if each.isdigit() else each for each in place.split("__"))
        part = content
        for each in above:
            part = part[each]
        if value is ...:
            del part[last]
        else:
            part[last] = value
    return content


def observed(**columns):
    return {f"STATION__0__OBSERVATIONS__{name}": values for name, values in columns.items()}


@pytest.fixture
def read(tmp_path):
    def reading(content=FILE, **wishes):
        path = tmp_path / "synoptic.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return read_reports(path, StationWishes(**wishes))

    return reading


def test_miles_per_hour_and_fahrenheit_are_converted(read):
    first, second = read().to_dict("records")
    assert (first["station"], first["lat"], first["lon"]) == ("KSLC", 40.77069, -111.96503)
    assert first["time"] == pd.Timestamp("2021-08-18T04:00Z")
    assert first["elevation"] == pytest.approx(304.8)
    assert (first["height"], first["network"]) == (6.1, "RAWS")
    assert first["wind_speed"] == pytest.approx(10 * MPH)
    assert first["wind_gust"] == pytest.approx(20 * MPH)
    assert first["wind_direction"] == 270
    assert [first["temperature"], first["dew_point"], first["relative_humidity"]] == pytest.approx([10, 5, 20])
    assert second["temperature"] == pytest.approx(0, abs=1e-9)
    assert second["relative_humidity"] == 21.5
    assert all(np.isnan(second[name]) for name in ("wind_speed", "wind_direction", "wind_gust"))
    assert not first["variable_direction"]


UNITS = [
    ("wind_speed", "m/s", 10.0),
    ("wind_speed", "knots", 10 * 1852 / 3600),
    ("wind_speed", "kts", 10 * 1852 / 3600),
    ("wind_speed", "Kilometers/hour", 10 / 3.6),
    ("wind_speed", "mph", 10 * MPH),
]


@pytest.mark.parametrize(("variable", "unit", "expected"), UNITS)
def test_units_as_the_block_says(read, variable, unit, expected):
    assert read(changed(**{f"UNITS__{variable}": unit}))[variable].iloc[0] == pytest.approx(expected)


def test_the_units_of_a_station_go_before_those_of_the_file(read):
    found = read(changed(STATION__0__UNITS={"wind_speed": "m/s", "elevation": "m"}))
    assert found["wind_speed"].iloc[0] == 10
    assert found["elevation"].iloc[0] == 1000


def test_elevation_is_in_feet_and_heights_in_metres_unless_it_says_otherwise(read):
    found = read(changed(STATION__0__UNITS=..., UNITS__position=..., UNITS__elevation=...))
    assert found["elevation"].iloc[0] == pytest.approx(304.8)
    assert found["height"].iloc[0] == 6.1
    assert read(changed(STATION__0__UNITS={"position": "ft"}))["height"].iloc[0] == pytest.approx(6.1 * 0.3048)


def test_fuel_moisture_in_grams_of_a_stick_is_per_cent(read):
    found = read(changed(**observed(fuel_moisture_set_1=[7.5, 8]), UNITS__fuel_moisture="gm"))
    assert found["fuel_moisture"].tolist() == [7.5, 8]


SENSORS = [
    pytest.param({"wind_speed_set_2": [1, 1]}, 10 * MPH, id="the first"),
    pytest.param(
        {"wind_speed_set_1": ..., "wind_speed_set_10": [5, 5], "wind_speed_set_2": [2, 2]}, 2 * MPH, id="by number"
    ),
    pytest.param(
        {"wind_speed_set_1": [None, None], "wind_speed_set_2": [2, 2]}, 2 * MPH, id="the first that has a value"
    ),
    pytest.param(
        {"wind_speed_set_1": ..., "wind_speed_set_1d": [5, 5], "wind_speed_set_3": [2, 2]}, 2 * MPH, id="measured first"
    ),
    pytest.param({"wind_speed_set_1": ..., "wind_speed_set_1d": [5, 5]}, 5 * MPH, id="derived where there is no other"),
]


@pytest.mark.parametrize(("columns", "expected"), SENSORS)
def test_of_several_sensors_the_first_measured_counts(read, columns, expected):
    assert read(changed(**observed(**columns)))["wind_speed"].iloc[0] == pytest.approx(expected)


def test_the_case_names_a_sensor_or_another_variable(read):
    content = changed(**observed(wind_speed_set_2=[1, 2], soil_moisture_set_1=[12, 13]), UNITS__soil_moisture="%")
    assert read(content, names={"wind_speed": "wind_speed_set_2"})["wind_speed"].tolist() == pytest.approx(
        [MPH, 2 * MPH]
    )
    variables = {**VARIABLES, "soil": Variable("soil", "Soil", "%")}
    assert read(content, names={"soil": "soil_moisture"}, variables=variables)["soil"].tolist() == [12, 13]
    with pytest.raises(
        BadInput, match=r"no station has 'wind_speed_set_9', which `names:` gives for wind_speed \(found: "
    ):
        read(content, names={"wind_speed": "wind_speed_set_9"})
    with pytest.raises(BadInput, match="`names:` gives 'windy', which is not read here"):
        read(content, names={"windy": "wind_speed"})


def test_flagged_values_are_missing(read):
    flags = {"air_temp_set_1": [[1, 10], None], "relative_humidity_set_1": [None, []]}
    found = read(changed(STATION__0__QC=flags, STATION__0__QC_FLAGGED=True))
    assert np.isnan(found["temperature"].iloc[0])
    assert found["temperature"].iloc[1] == pytest.approx(0, abs=1e-9)
    assert found["relative_humidity"].tolist() == [20, 21.5]
    unflagged = read(changed(STATION__0__QC={}, STATION__0__QC_FLAGGED=False))
    assert unflagged["temperature"].notna().all()


@pytest.mark.parametrize("position", [None, "", "0", -1])
def test_a_sensor_of_unknown_height(read, position):
    sensors = {"wind_speed": {"wind_speed_set_1": {"position": position}}}
    assert read(changed(STATION__0__SENSOR_VARIABLES=sensors))["height"].isna().all()
    assert read(changed(STATION__0__SENSOR_VARIABLES=...))["height"].isna().all()


def test_local_times_with_their_offsets(read):
    written = ["2021-11-07T01:30:00-0600", "2021-11-07T01:30:00-0700"]  # the hour that comes twice
    found = read(changed(**observed(date_time=written)))["time"]
    assert found.tolist() == [pd.Timestamp("2021-11-07T07:30Z"), pd.Timestamp("2021-11-07T08:30Z")]


def test_times_without_a_zone_need_that_of_the_case(read):
    content = changed(**observed(date_time=["2021-08-18T04:00:00", "2021-08-18T05:00:00Z"]))
    with pytest.raises(BadInput, match=r"STATION\[0\] \(KSLC\): date_time\[0\].*with its zone.*say `zone:`"):
        read(content)
    found = read(content, zone="America/Denver")["time"]
    assert found.tolist() == [pd.Timestamp("2021-08-18T10:00Z"), pd.Timestamp("2021-08-18T05:00Z")]
    for written, said in (("2021-11-07T01:30:00", "comes twice in"), ("2021-03-14T02:30:00", "no such time in")):
        content = changed(**observed(date_time=[TIMES[0], written]))
        with pytest.raises(BadInput, match=rf"date_time\[1\].*{said} America/Denver"):
            read(content, zone="America/Denver")


def test_a_wrong_time_is_named_with_its_station(read):
    content = changed(**observed(date_time=TIMES))
    other = copy.deepcopy(KSLC)
    other["STID"], other["OBSERVATIONS"]["date_time"] = "B", [TIMES[0], "noon"]
    content["STATION"] += [other, copy.deepcopy(KSLC)]
    with pytest.raises(BadInput, match=r"STATION\[1\] \(B\): date_time\[1\]: got 'noon'"):
        read(content)


def test_units_may_differ_from_station_to_station(read):
    other = {**copy.deepcopy(KSLC), "STID": "B", "UNITS": {"wind_speed": "m/s", "air_temp": "Celsius"}}
    found = read({**FILE, "STATION": [KSLC, other, {**KSLC, "STID": "C"}]})
    assert found["station"].tolist() == ["KSLC", "KSLC", "B", "B", "C", "C"]
    speeds, degrees = found["wind_speed"].tolist(), found["temperature"].tolist()
    assert speeds[::2] == pytest.approx([10 * MPH, 10, 10 * MPH])
    assert degrees == pytest.approx([10, 0, 50, 32, 10, 0], abs=1e-9)


def test_stations_without_reports_and_in_several_parts(read, tmp_path):
    content = copy.deepcopy(FILE)
    later = copy.deepcopy(KSLC)
    later["OBSERVATIONS"]["date_time"] = ["2021-08-18T03:00:00Z", "2021-08-18T02:00:00Z"]
    silent = {"STID": "NA", "LATITUDE": "1", "LONGITUDE": "2", "OBSERVATIONS": {}}
    lost = {**copy.deepcopy(KSLC), "STID": "LOST", "LATITUDE": None, "LONGITUDE": None, "ELEVATION": None}
    content["STATION"] += [silent, later, lost]
    path = tmp_path / "synoptic.json"
    path.write_text(json.dumps(content))
    found = read_stations([path], VARIABLES)
    assert found.stations["station"].tolist() == ["KSLC", "LOST"]
    assert found.stations["lat"].isna().tolist() == [False, True]
    assert found.reports[found.number == 0]["time"].dt.hour.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize("name", ["NA", "007", 7, "a,b", 'say "hi"', "$x$", "🔥", "<b>"])
def test_stations_may_be_called_anything(read, name):
    assert set(read(changed(STATION__0__STID=name))["station"]) == {str(name)}


def test_it_is_recognised(tmp_path):
    for content in (FILE, {"SUMMARY": {"RESPONSE_CODE": 2, "RESPONSE_MESSAGE": "No stations found"}}):
        for text in (json.dumps(content), json.dumps(content, indent=2), "\ufeff" + json.dumps(content)):
            (tmp_path / "a.txt").write_text(text)
            assert recognise(tmp_path / "a.txt", OBSERVED).name == "synoptic"


def place(name, value):
    return changed(**{name: value})


BAD = [
    pytest.param(
        {"SUMMARY": {"RESPONSE_CODE": 2, "RESPONSE_MESSAGE": "No stations found for this request."}},
        r"answered with an error \(2\) and no data: No stations found",
        id="the service's error",
    ),
    pytest.param({"UNITS": {}}, "no list STATION", id="no stations"),
    pytest.param(place("STATION", []), "STATION is empty", id="empty list"),
    pytest.param(place("STATION__0", 3), r"STATION\[0\]: expected an object", id="a number for a station"),
    pytest.param(
        place("STATION__0__STID", None), r"STATION\[0\]: expected an object with a name in STID", id="no name"
    ),
    pytest.param(place("STATION__0__OBSERVATIONS", {}), "none of its 1 stations has a report", id="no reports"),
    pytest.param(
        place("STATION__0__LATITUDE", "north"), r"\(KSLC\): LATITUDE: expected a number, got 'north'", id="latitude"
    ),
    pytest.param(place("STATION__0__ELEVATION", [1]), "ELEVATION: expected a number", id="elevation"),
    pytest.param(place("UNITS__wind_speed", ...), r"\(KSLC\): UNITS does not say the unit of wind_speed", id="no unit"),
    pytest.param(place("UNITS", ...), "UNITS does not say the unit", id="no units"),
    pytest.param(place("UNITS", [1]), "UNITS is no object", id="a list of units"),
    pytest.param(
        place("UNITS__wind_speed", "blah"), r"\(KSLC\): column 'wind_speed_set_1': unknown unit 'blah'", id="unit"
    ),
    pytest.param(place("UNITS__wind_speed", "Celsius"), "'degC' is not one of 'm/s'", id="unit of another kind"),
    pytest.param(place("STATION__0__UNITS__elevation", "blah"), "UNITS of elevation", id="unit of elevation"),
    pytest.param(
        changed(**observed(wind_speed_set_1=[1])), "wind_speed_set_1 has 1 values, date_time has 2", id="too few values"
    ),
    pytest.param(changed(**observed(wind_speed_set_1=3)), "wind_speed_set_1 is no list but 3", id="no list"),
    pytest.param(
        changed(**observed(wind_speed_set_1=[1, "calm"])),
        r"wind_speed_set_1\[1\]: expected a number.*'calm'",
        id="word",
    ),
    pytest.param(changed(**observed(wind_speed_set_1=[1, True])), r"wind_speed_set_1\[1\].*True", id="truth"),
    pytest.param(
        changed(**observed(wind_speed_set_1=[1, float("inf")])), r"\[1\]: expected a finite number", id="infinite"
    ),
    pytest.param(changed(**observed(wind_speed_set_1=[1, 10**400])), r"wind_speed_set_1\[1\]", id="too large"),
    pytest.param(
        changed(**observed(date_time=["11:45 AM", "11:50 AM"])), r"date_time\[0\]: got '11:45 AM'", id="clock"
    ),
    pytest.param(changed(**observed(date_time=[TIMES[0], 3])), r"date_time\[1\]: got 3", id="number for a time"),
    pytest.param(changed(**observed(date_time=["0001-01-01T00:00Z"] * 2)), "between 1900 and 2200", id="long ago"),
    pytest.param(changed(**observed(date_time=...)), "no date_time beside its values", id="no times"),
    pytest.param(
        place("STATION__0__OBSERVATIONS", {"wind_speed_value_1": {"value": 3, "date_time": TIMES[0]}}),
        "holds latest values.*timeseries",
        id="another service",
    ),
    pytest.param(
        place("STATION__0__OBSERVATIONS", {"date_time": TIMES, "solar_radiation_set_1": [1, 2]}),
        "no variable in it",
        id="sun",
    ),
    pytest.param(place("STATION__0__QC", {"air_temp_set_1": [None]}), "QC of air_temp_set_1 has 1 values", id="flags"),
    pytest.param(place("STATION__0__QC", [1]), "QC is no object", id="a list of flags"),
    pytest.param(
        place("STATION__0__SENSOR_VARIABLES", {"w": {"wind_speed_set_1": {"position": "high"}}}),
        "position of wind_speed_set_1.*'high'",
        id="height in words",
    ),
    pytest.param([1], "is no JSON object", id="a list"),
    pytest.param(b"", "is empty", id="empty"),
    pytest.param(json.dumps(FILE).encode()[:300], "line 1, column .*cut off", id="cut in half"),
    pytest.param(json.dumps(FILE).encode("utf-16"), "is text in UTF-16", id="UTF-16"),
    pytest.param(b'{"STATION": [{"STID": "\xe9"}]}', "not UTF-8 at byte 23", id="latin-1"),
    pytest.param(b"[" * 100_000, "", id="brackets"),
    pytest.param(b'{"STATION": ' + b"9" * 5000 + b"}", "", id="digits"),
    pytest.param(b"\x89HDF\r\n\x1a\n" + bytes(40), "", id="a grid"),
]


@pytest.mark.parametrize(("content", "said"), BAD)
def test_what_cannot_be_used(read, content, said):
    with pytest.raises(BadInput, match=rf"(?s)synoptic\.json.*{said}"):
        read(content)


def test_a_folder(tmp_path):
    with pytest.raises(BadInput, match="is a directory"):
        read_reports(tmp_path, StationWishes())


def answer(read, content):
    said = "synoptic.json"
    try:
        assert len(read(content))
    except BadInput as error:
        said = str(error)
    assert "synoptic.json" in said


@FUZZ
@given(st.data())
def test_cut_and_altered_text(read, data):
    raw = bytearray(json.dumps(FILE).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    answer(read, bytes(raw[: data.draw(st.sampled_from([len(raw), len(raw) - 1, len(raw) // 2]))]))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(TIMES),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KSLC, "wind_speed_set_1", "x"]), inner)
    ),
    max_leaves=6,
)
PARTS = [
    "STATION",
    "UNITS",
    "SUMMARY",
    "SUMMARY__RESPONSE_CODE",
    "UNITS__wind_speed",
    "STATION__0",
    *(f"STATION__0__{each}" for each in (*KSLC, "QC")),
    *(f"STATION__0__OBSERVATIONS__{each}" for each in KSLC["OBSERVATIONS"]),
    "STATION__0__OBSERVATIONS__date_time__1",
    "STATION__0__OBSERVATIONS__wind_speed_set_1__0",
]


@FUZZ
@given(st.sampled_from(PARTS), JSON)
def test_anything_in_any_place(read, part, value):
    answer(read, place(part, value))
