"""HARP's vobs: a small file written here, its time in the name, and what is said of a file that cannot be used."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.formats import MODEL, OBSERVED
from metrics.errors import BadInput, FirecardError
from metrics.variables import VARIABLES
from tasks.readers.formats import Head, StationWishes, candidates, recognise
from tasks.readers.stations import read_stations
from tasks.readers.vobs import read_reports

NAME = "vobs2019021700"
TEXT = """\
   3   1     4
          5
 DD               0
 FF               0
 TD               0
 RH               0
 GX               0
0001001 70.939 -8.669 9.0 202.0000E+00 8.8000E+00 267.5000E+00 85.3046E+00 -99.00
01013 78.063 13.619 -99 -99 -99 -99 -99 14.5
0001001 70.000 -8.000 9.0 1 1 260 1 1
          1
           1
 PP           0
0001001 70.939 -8.669 9.0
 1000.
"""
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def file(tmp_path):
    def write(content=TEXT, name=NAME):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_what_it_holds(file):
    found = read_reports(file(), StationWishes())
    assert found["station"].tolist() == ["01001", "01013"]
    assert found[["lat", "lon"]].to_numpy().tolist() == [[70.939, -8.669], [78.063, 13.619]]
    assert found["elevation"].iloc[0] == 9.0
    assert np.isnan(found["elevation"].iloc[1])
    assert set(found["time"]) == {pd.Timestamp("2019-02-17T00:00Z")}
    assert found["wind_speed"].iloc[0] == 8.8
    assert found["wind_direction"].iloc[0] == 202.0
    assert found["dew_point"].iloc[0] == pytest.approx(267.5 - 273.15)
    assert found["relative_humidity"].iloc[0] == 85.3046
    assert found["wind_gust"].tolist()[1] == 14.5
    assert found.loc[1, ["wind_speed", "wind_direction", "dew_point", "relative_humidity"]].isna().all()
    assert np.isnan(found["wind_gust"].iloc[0])


def test_it_is_recognised_and_not_taken_for_a_forecast(file):
    assert recognise(file(), OBSERVED).name == "vobs"
    assert [each.name for each in candidates(Head.of(file()), (*MODEL, *OBSERVED))] == ["vobs"]
    with pytest.raises(BadInput, match="its format is not recognised"):
        recognise(file(), MODEL)


def test_a_file_without_stations_is_known_by_its_name(file):
    nobody = "   0   0     4\n          1\n FF               0\n"
    assert recognise(file(nobody), OBSERVED).name == "vobs"
    with pytest.raises(BadInput, match="line 1: there is no surface station in it"):
        read_reports(file(nobody), StationWishes())


@pytest.mark.parametrize("name", ["obs.txt", "vobs20190217", "vobs2019021724", "vobs2019021700.txt", "vobs0001010100"])
def test_another_name_is_refused(file, name):
    with pytest.raises(BadInput, match="its name must say the time, vobsYYYYMMDDHH, such as vobs2019021700"):
        read_reports(file(name=name), StationWishes())


def test_a_position_that_is_rounded_otherwise_is_the_first_and_one_far_away_is_none(file):
    later = TEXT.replace("70.939 -8.669", "70.941 -8.650").replace("78.063 13.619", "78.200 13.619")
    paths = [file(), file(later, "vobs2019021703")]
    found = read_stations(paths, VARIABLES)
    places = found.stations.set_index("station")
    assert places.loc["01001", ["lat", "lon"]].tolist() == [70.939, -8.669]
    assert places.loc["01013", ["lat", "lon"]].isna().all()  # 0.137 degrees are 15 km
    assert found.moved == 1
    known = pd.DataFrame({"lat": [78.1], "lon": [13.6]}, index=pd.Index(["01013"], name="station"))
    filled = read_stations(paths, VARIABLES, elsewhere=known).stations.set_index("station")
    assert filled.loc["01013", ["lat", "lon"]].tolist() == [78.1, 13.6]
    assert filled.loc["01001", ["lat", "lon"]].tolist() == [70.939, -8.669]


def test_across_the_date_line_nothing_moves(file):
    texts = [TEXT.replace("78.063 13.619", f"78.063 {lon}") for lon in ("179.999", "-179.999")]
    found = read_stations([file(texts[0]), file(texts[1], "vobs2019021703")], VARIABLES)
    assert found.moved == 0


def test_files_in_any_order_are_sorted(file):
    paths = [file(TEXT, "vobs2019021703"), file()]
    assert np.diff(read_stations(paths, VARIABLES).seconds).tolist() == [10800, -10800, 10800]  # by station, then time


BAD = [
    pytest.param("", "is empty", id="empty"),
    pytest.param(TEXT[: len(TEXT) // 2], "cut short|expected 9 columns", id="cut in half"),
    pytest.param("".join(TEXT.splitlines(keepends=True)[:7]), "expected 9 columns|cut short", id="header only"),
    pytest.param("\x89HDF\r\n" + TEXT, "line 1: expected the number", id="wrong magic"),
    pytest.param(TEXT.encode("utf-16"), "no text in ASCII or UTF-8", id="utf-16"),
    pytest.param(
        TEXT.replace(" 9.0 202.0", " 202.0"), "line 8: expected 9 columns, of a vobs file .* got 8", id="column"
    ),
    pytest.param(TEXT.replace("8.8000E+00", "8,8"), "line 8, FF: got '8,8'; expected a number", id="comma"),
    pytest.param(TEXT.replace(" FF  ", " F-F "), "line 4: expected a parameter", id="parameter"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_bad_files(file, content, message):
    path = file(content)
    with pytest.raises(BadInput, match=message) as refused:
        read_reports(path, StationWishes())
    assert str(path) in str(refused.value)


@FUZZ
@given(data=st.data())
def test_any_bytes(file, data):
    content = bytearray(TEXT.encode())
    for _ in range(data.draw(st.integers(1, 6))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position : position + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    try:
        found = read_stations([file(bytes(content))], VARIABLES, source="vobs")
    except FirecardError:
        return
    assert len(found.stations)


@FUZZ
@given(
    positions=st.lists(
        st.tuples(st.sampled_from("AB"), st.floats(-100, 100), st.floats(-400, 400)), min_size=1, max_size=5
    )
)
def test_any_positions(file, positions):
    paths = []
    for number, (station, lat, lon) in enumerate(positions):
        text = f"1 0 4\n1\n FF 0\n {station} {lat} {lon} 5.0 3.0\n"
        paths.append(file(text, f"vobs20190217{number:02d}"))
    try:
        found = read_stations(paths, VARIABLES)
    except FirecardError:
        return
    assert len(found.stations) == len({station for station, _, _ in positions})
