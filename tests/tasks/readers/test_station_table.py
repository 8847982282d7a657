"""The tidy table under other names and in local time: what the case says of it, and what it cannot say."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from metrics.errors import BadInput
from metrics.variables import VARIABLES, Variable
from tasks.readers.formats import StationWishes
from tasks.readers.station_table import read_reports

OTHERS = """\
STID,when,breite,länge,ff [kt],dd,t2 [K]
A,2026-11-17 01:00,39.0,-120.0,36,270,283.15
"""
NAMES = {"station": "STID", "time": "when", "lat": "breite", "lon": "länge", "wind_speed": "ff", "temperature": "t2"}
PLACE = "A,39.0,-120.0"
HEAD = "station,lat,lon,time,wind_speed [m/s]"


@pytest.fixture
def read(tmp_path):
    def reading(text, **wishes):
        path = tmp_path / "obs.csv"
        path.write_text(text)
        return read_reports(path, StationWishes(**wishes))

    return reading


def test_columns_by_the_names_of_the_case(read):
    (row,) = read(OTHERS, names=NAMES).to_dict("records")
    assert (row["station"], row["lat"], row["lon"]) == ("A", 39.0, -120.0)
    assert row["time"] == pd.Timestamp("2026-11-17T01:00Z")
    assert row["wind_speed"] == pytest.approx(18.52)
    assert row["temperature"] == pytest.approx(10.0)
    assert "wind_direction" not in row


def test_the_case_says_the_unit_of_a_column_that_has_none(read):
    assert read(OTHERS, names={**NAMES, "wind_direction": "dd [deg]"})["wind_direction"].item() == 270


def test_a_column_may_be_given_with_its_unit(read):
    assert read(OTHERS, names={**NAMES, "wind_speed": "ff [kt]"})["wind_speed"].item() == pytest.approx(18.52)


def test_a_name_of_the_case_goes_before_firecards_own(read):
    text = f"{HEAD},peak [m/s]\n{PLACE},2026-11-17T00:00Z,3,9\n"
    assert read(text)["wind_speed"].item() == 3
    assert read(text, names={"wind_speed": "peak"})["wind_speed"].item() == 9


def test_a_variable_of_the_case_by_another_name(read):
    variables = {**VARIABLES, "soil": Variable("soil", "Soil moisture", "%")}
    text = f"{HEAD},SM [1]\n{PLACE},2026-11-17T00:00Z,3,0.25\n"
    assert read(text, names={"soil": "SM"}, variables=variables)["soil"].item() == pytest.approx(25)


def test_variables_by_other_names_in_the_long_layout(read):
    text = f"station,lat,lon,time,what,unit,value\n{PLACE},2026-11-17T00:00Z,ff,kt,36\n"
    found = read(text, names={"variable": "what", "wind_speed": "ff"})
    assert found["wind_speed"].item() == pytest.approx(18.52)
    with pytest.raises(BadInput, match="row 2, column 'what': got 'ff'; known: wind_speed"):
        read(text, names={"variable": "what"})


WRONG = [
    pytest.param({**NAMES, "wind_direction": "dd"}, r"'dd' has no unit; .*'dd \[deg\]'.*`names:`", id="no unit"),
    pytest.param({**NAMES, "wind_gust": "fx"}, "'fx', which `names:` gives for wind_gust, is missing", id="no column"),
    pytest.param({**NAMES, "wind_sped": "ff"}, "`names:` gives 'wind_sped', which is not read here", id="no variable"),
    pytest.param({**NAMES, "wind_speed": "ff [m/s]"}, r"in 'm/s', its header 'ff \[kt\]' says 'kt'", id="two units"),
    pytest.param({**NAMES, "temperature": "ff"}, r"'ff \[kt\]': the unit 'kt' is not one of 'degC'", id="another kind"),
    pytest.param({}, "the column 'station' is missing.*say `names:`", id="nothing named"),
]


@pytest.mark.parametrize(("names", "said"), WRONG)
def test_names_that_do_not_fit(read, names, said):
    with pytest.raises(BadInput, match=rf"obs\.csv: .*{said}"):
        read(OTHERS, names=names)


def test_a_name_for_two_columns(read):
    with pytest.raises(BadInput, match="'ff', which `names:` gives for wind_gust, stands there twice"):
        read(f"{HEAD},ff [kt],ff [m/s]\n{PLACE},2026-11-17T00:00Z,3,4,5\n", names={"wind_gust": "ff"})


# --- local times -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "zone", "expected"),
    [
        pytest.param("2026-11-17 01:00", "America/Denver", "2026-11-17T08:00Z", id="seven hours in winter"),
        pytest.param("2026-07-17T01:00:30", "America/Denver", "2026-07-17T07:00:30Z", id="six in summer"),
        pytest.param("2026-11-17T01:00", "Asia/Kolkata", "2026-11-16T19:30Z", id="half an hour"),
        pytest.param("2026-11-17T01:00", "UTC", "2026-11-17T01:00Z", id="said to be UTC"),
        pytest.param("2026-11-17T01:00", None, "2026-11-17T01:00Z", id="nothing said is UTC"),
        pytest.param("2026-11-17T01:00Z", "America/Denver", "2026-11-17T01:00Z", id="a time with its zone keeps it"),
        pytest.param("2026-11-01T00:59", "America/Denver", "2026-11-01T06:59Z", id="before clocks go back"),
        pytest.param("2026-11-01T02:00", "America/Denver", "2026-11-01T09:00Z", id="after"),
        pytest.param("2026-03-08T03:00", "America/Denver", "2026-03-08T09:00Z", id="after clocks went forward"),
    ],
)
def test_bare_times_are_those_of_the_zone(read, written, zone, expected):
    found = read(f"{HEAD}\n{PLACE},{written},3\n", zone=zone)
    assert found["time"].item() == pd.Timestamp(expected)


def test_times_that_clocks_show_twice_or_never(read):
    text = f"{HEAD}\n{PLACE},2026-11-01T00:30,3\n{PLACE},2026-11-01T01:30,3\n"
    with pytest.raises(BadInput, match=r"obs\.csv: row 3, column 'time': .*01:30:00.*comes twice in America/Denver"):
        read(text, zone="America/Denver")
    text = f"{HEAD}\n{PLACE},2026-03-08T01:30,3\n{PLACE},2026-03-08T02:30,3\n"
    with pytest.raises(BadInput, match=r"obs\.csv: row 3, column 'time': .*02:30:00.*no such time in America/Denver"):
        read(text, zone="America/Denver")


def test_local_times_in_parquet(tmp_path):
    path = tmp_path / "obs.parquet"
    columns = {"station": ["A"], "lat": [1.0], "lon": [1.0], "wind_speed [m/s]": [3.0]}
    bare = pa.array([pd.Timestamp("2026-11-17T01:00")], pa.timestamp("ms"))
    pyarrow.parquet.write_table(pa.table({**columns, "time": bare}), path)
    found = read_reports(path, StationWishes(zone="America/Denver"))
    assert found["time"].item() == pd.Timestamp("2026-11-17T08:00Z")
