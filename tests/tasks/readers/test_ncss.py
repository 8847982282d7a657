"""Station tables of THREDDS servers: units in the headers, CF names, and what cannot be used."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.formats import OBSERVED
from metrics.errors import BadInput
from tasks.readers.formats import StationWishes, recognise
from tasks.readers.ncss import read_reports

HEAD = 'time,station,latitude[unit="degrees_north"],longitude[unit="degrees_east"]'
TABLE = f"""\
{HEAD},air_temperature[unit="Celsius"],wind_from_direction[unit="degrees"],wind_speed[unit="m/s"],weather,peak[unit="knots"]
2016-01-16 00:14:00Z,04V,38.099,-106.169,-10.0,330,2.57222,,20
2016-01-16 00:17:00Z,0CO,39.790,-105.760,NaN,-99999,NaN,+SN,NaN
"""
ROW = "2016-01-16 00:14:00Z,A,38,-106"
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def read(tmp_path):
    def reading(text, **wishes):
        path = tmp_path / "ncss.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_reports(path, StationWishes(**wishes))

    return reading


def test_reports_by_their_cf_names(read):
    first, second = read(TABLE).to_dict("records")
    assert (first["station"], first["lat"], first["lon"]) == ("04V", 38.099, -106.169)
    assert first["time"] == pd.Timestamp("2016-01-16T00:14Z")
    assert (first["temperature"], first["wind_direction"], first["wind_speed"]) == (-10.0, 330.0, 2.57222)
    assert all(np.isnan(second[name]) for name in ("temperature", "wind_direction", "wind_speed"))
    assert "wind_gust" not in first


def test_units_are_converted(read):
    text = f'{HEAD},altitude[unit="feet"],wind_speed[unit="kt"],air_temperature[unit="K"]\n{ROW},1000,36,283.15\n'
    (row,) = read(text).to_dict("records")
    assert row["elevation"] == pytest.approx(304.8)
    assert row["wind_speed"] == pytest.approx(18.52)
    assert row["temperature"] == pytest.approx(10)


def test_names_and_zone_of_the_case(read):
    assert read(TABLE, names={"wind_gust": "peak"})["wind_gust"].iloc[0] == pytest.approx(20 * 1852 / 3600)
    local = read(TABLE.replace("00Z", "00"), zone="America/Denver")
    assert local["time"].iloc[0] == pd.Timestamp("2016-01-16T07:14Z")


def test_it_is_recognised_and_not_taken_for_firecards_own_table(tmp_path):
    (tmp_path / "a.txt").write_text(TABLE)
    assert recognise(tmp_path / "a.txt", OBSERVED).name == "ncss"


SPEED = 'wind_speed[unit="m/s"]'
BAD = [
    pytest.param(f"{HEAD},{SPEED}\n", "a header but no row", id="header only"),
    pytest.param(
        f'time,latitude[unit="degrees_north"],{SPEED}\n2016-01-16 00:14:00Z,38,1\n',
        "'station' is missing",
        id="no station",
    ),
    pytest.param(
        f"{HEAD},{SPEED}\n2016-01-16 00:14:00,A,38,-106,3\n", "row 2, column 'time'.*zone.*say `zone:`", id="no zone"
    ),
    pytest.param(f"{HEAD},wind_speed\n{ROW},3\n", r"'wind_speed' has no unit", id="no unit"),
    pytest.param(f'{HEAD},wind_speed[unit="blah"]\n{ROW},3\n', "unknown unit 'blah'", id="unit"),
    pytest.param(f'{HEAD},wind_speed[unit=""]\n{ROW},3\n', "wind_speed", id="empty unit"),
    pytest.param(f'{HEAD},foo[unit="m/s"]\n{ROW},3\n', "no variable in it.*say `names:`", id="no variable"),
    pytest.param(TABLE.replace("degrees_north", "m"), "is in 'm', expected degrees", id="projected"),
    pytest.param(f"{HEAD},{SPEED}\n{ROW},strong\n", "row 2.*expected a number", id="word"),
    pytest.param(f"{HEAD},{SPEED}\n{ROW},3\n2016-01-1", "", id="cut in half"),
    pytest.param(f"{HEAD},{SPEED},{SPEED}\n{ROW},3,3\n", "stands there twice", id="twice"),
    pytest.param(f"{HEAD},{SPEED}\n".encode() + b"2016-01-16 00:14:00Z,\xe9,1,1,1\n", "", id="latin-1"),
    pytest.param(TABLE.encode("utf-16"), "", id="UTF-16"),
    pytest.param("", "is empty", id="empty"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_what_cannot_be_used(read, text, said):
    with pytest.raises(BadInput, match=rf"(?s)ncss\.csv.*{said}"):
        read(text)


def answer(read, content):
    said = "ncss.csv"
    try:
        assert len(read(content))
    except BadInput as error:
        said = str(error)
    assert "ncss.csv" in said


@FUZZ
@given(st.data())
def test_cut_and_altered_text(read, data):
    raw = bytearray(TABLE.encode())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    answer(read, bytes(raw[: data.draw(st.integers(1, len(raw)))]))


CELLS = st.sampled_from(["", "A", "NaN", "3", "-99999", "1e400", "2016-01-16 00:14:00Z", "2016-01-16", "é", '"'])
HEADERS = st.sampled_from(
    ["time", "station", "latitude", 'longitude[unit="x"]', SPEED, "altitude", 'air_temperature[unit="K"]']
)


@FUZZ
@given(st.lists(HEADERS, min_size=1, max_size=8), st.lists(st.lists(CELLS, min_size=1, max_size=8), max_size=4))
def test_tables_of_any_columns_and_cells(read, header, rows):
    answer(read, "\n".join(",".join(each) for each in [header, *rows]) + "\n")
