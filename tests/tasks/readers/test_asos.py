"""ASOS tables of the Iowa Environmental Mesonet: units by convention, zones by remark, and what cannot be used."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.formats import OBSERVED
from metrics.errors import BadInput
from metrics.variables import VARIABLES, Variable
from tasks.readers.asos import read_reports
from tasks.readers.formats import StationWishes, recognise

REMARKS = """\
#DEBUG: Format Typ    -> comma
#DEBUG: Time Period   -> 2026-11-17 00:00:00+00:00 2026-11-18 00:00:00+00:00
#DEBUG: Time Zone     -> America/Chicago
#DEBUG: Entries Found -> 2
"""
TABLE = """\
station,valid,lon,lat,tmpf,dwpf,relh,drct,sknt,p01i,gust,metar
AMW,2026-11-17 00:53,-93.62,42.0,50.00,32.00,49.55,350.00,10.00,T,20.00,KAMW 170053Z 35010G20KT
AMW,2026-11-17 00:10,-93.62,42.0,M,M,M,M,0.00,0.00,M,KAMW 170010Z 00000KT
"""
KNOT = 1852 / 3600
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def read(tmp_path):
    def reading(text, **wishes):
        path = tmp_path / "asos.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_reports(path, StationWishes(**wishes))

    return reading


def test_units_are_those_of_the_convention(read):
    first, second = read(TABLE).to_dict("records")
    assert (first["station"], first["lat"], first["lon"]) == ("AMW", 42.0, -93.62)
    assert first["time"] == pd.Timestamp("2026-11-17T00:53Z")
    assert first["temperature"] == pytest.approx(10)
    assert first["dew_point"] == pytest.approx(0, abs=1e-9)
    assert first["relative_humidity"] == 49.55
    assert first["wind_direction"] == 350
    assert first["wind_speed"] == pytest.approx(10 * KNOT)
    assert first["wind_gust"] == pytest.approx(20 * KNOT)
    assert second["wind_speed"] == 0
    assert all(np.isnan(second[name]) for name in ("temperature", "wind_direction", "wind_gust"))


def test_other_columns_of_the_service(read):
    found = read("station,valid,elevation,tmpc,dwpc,sped,gust_mph\nA,2026-11-17 00:53,100,1.5,null,10,20\n")
    assert found["elevation"].item() == 100
    assert found["temperature"].item() == 1.5
    assert np.isnan(found["dew_point"].item())
    assert found["wind_speed"].item() == pytest.approx(10 * 1609.344 / 3600)
    assert found["wind_gust"].item() == pytest.approx(20 * 1609.344 / 3600)
    assert "lat" not in found


def test_of_two_columns_of_a_variable_the_first_counts(read):
    assert read("station,valid,tmpc,tmpf\nA,2026-11-17 00:53,3,99\n")["temperature"].item() == 3


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        pytest.param(TABLE, None, "00:53", id="UTC unless it says otherwise"),
        pytest.param(TABLE, "America/Denver", "07:53", id="the case says otherwise"),
        pytest.param(REMARKS + TABLE, None, "06:53", id="a remark says it"),
        pytest.param(REMARKS + TABLE, "America/Denver", "06:53", id="a remark goes before the case"),
        pytest.param(
            TABLE.replace("valid", "valid (GMT timezone)"), "America/Denver", "00:53", id="the header says it"
        ),
        pytest.param(TABLE.replace("valid", "valid(America/Denver)"), None, "07:53", id="so does this one"),
    ],
)
def test_the_zone_of_the_times(read, text, zone, expected):
    assert read(text, zone=zone)["time"].iloc[0] == pd.Timestamp(f"2026-11-17T{expected}Z")


def test_tabs_padding_and_windows(read):
    text = REMARKS.replace("comma", "tdf") + TABLE.replace(",", "\t").replace("tmpf\t", " tmpf \t").replace(
        "\n", "\r\n"
    )
    pd.testing.assert_frame_equal(read(text), read(REMARKS + TABLE))


@pytest.mark.parametrize("text", [TABLE, REMARKS + TABLE, TABLE.replace(",", "\t"), "\ufeff" + TABLE])
def test_it_is_recognised(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    assert recognise(tmp_path / "a.txt", OBSERVED).name == "asos"


def test_a_trace_is_nothing_to_measure(read):
    variables = {**VARIABLES, "rain": Variable("rain", "Rain", "mm", lowest=0, highest=500)}
    found = read(
        TABLE.replace(",T,", ",0.10,", 1) + TABLE.splitlines()[1] + "\n", variables=variables, names={"rain": "p01i"}
    )
    assert found["rain"].tolist() == pytest.approx([2.54, 0.0, 0.0])


def test_a_column_of_no_convention_needs_its_unit(read):
    text = "station,valid,sknt,peak\nA,2026-11-17 00:53,3,30\n"
    assert read(text, names={"wind_gust": "peak [kt]"})["wind_gust"].item() == pytest.approx(30 * KNOT)
    with pytest.raises(BadInput, match=r"'peak' has no unit; .*`names:`.*\{wind_gust: \"peak \[m/s\]\"\}"):
        read(text, names={"wind_gust": "peak"})


def test_stations_may_be_called_anything(read):
    called = ["NA", "007", "M", "T", "a,b", 'say "hi"', "$x$", "🔥"]
    rows = [f'"{name.replace(chr(34), 2 * chr(34))}",2026-11-17 00:53,3\n' for name in called]
    assert read("station,valid,sknt\n" + "".join(rows))["station"].tolist() == called


ROW = "A,2026-11-17 00:53,3\n"
BAD = [
    pytest.param("station,valid,sknt\n", "a header but no row", id="header only"),
    pytest.param(REMARKS, "", id="remarks only"),
    pytest.param("valid,sknt\n2026-11-17 00:53,3\n", "'station' is missing.*say `names:`", id="no station"),
    pytest.param("station,sknt\nA,3\n", "'valid' is missing", id="no time"),
    pytest.param("station,valid,alti\n" + ROW, "no variable in it", id="no variable"),
    pytest.param("station,valid,sknt,sknt\nA,2026-11-17 00:53,3,3\n", "'sknt' stands there twice", id="twice"),
    pytest.param(
        "station,valid,sknt\n" + ROW + "A,2026-11-17 00:53,T\n", "row 3, column 'sknt': got 'T'", id="trace of wind"
    ),
    pytest.param(
        REMARKS + "station,valid,sknt\n" + ROW + "A,2026-11-17 01:53,x\n",
        "row 7, column 'sknt'",
        id="row below remarks",
    ),
    pytest.param(
        REMARKS.replace("America/Chicago", "Mars/Olympus") + "station,valid,sknt\n" + ROW,
        "'Mars/Olympus', which nobody knows",
        id="zone",
    ),
    pytest.param(
        REMARKS + "station,valid,sknt\nA,2026-11-01 01:30,3\n",
        "row 6.*comes twice in America/Chicago",
        id="twice an hour",
    ),
    pytest.param("station,valid,sknt\nA,yesterday,3\n", "row 2, column 'valid'", id="no time of day"),
    pytest.param("station,valid,sknt\nA,2026-11-17 00:53,inf\n", "row 2.*finite", id="infinite"),
    pytest.param("station,valid,sknt\nA,2026-11-17 00:53\n", "", id="cut in half"),
    pytest.param(b"station,valid,sknt\n" + b"\xe9,2026-11-17 00:53,3\n", "", id="latin-1"),
    pytest.param(("station,valid,sknt\n" + ROW).encode("utf-16"), "", id="UTF-16"),
    pytest.param("", "is empty", id="empty"),
    pytest.param(b"\x89HDF\r\n\x1a\n" + bytes(40), "", id="a grid"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_what_cannot_be_used(read, text, said):
    with pytest.raises(BadInput, match=rf"(?s)asos\.csv.*{said}"):
        read(text)


def answer(read, content):
    said = "asos.csv"
    try:
        assert len(read(content))
    except BadInput as error:
        said = str(error)
    assert "asos.csv" in said


@FUZZ
@given(st.binary(max_size=200), st.booleans())
def test_random_bytes(read, content, headed):
    answer(read, (b"station,valid,sknt\n" if headed else b"") + content)


@FUZZ
@given(st.data())
def test_cut_and_altered_text(read, data):
    raw = bytearray((REMARKS + TABLE).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    answer(read, bytes(raw[: data.draw(st.integers(1, len(raw)))]))


CELLS = st.sampled_from(
    ["", "A", "M", "T", "3", "-99", "1e400", "2026-11-17 00:53", "2026-11-17T00:53Z", "é", '"', "#"]
)
HEADERS = st.sampled_from(
    ["station", "valid", "valid (UTC timezone)", "lat", "lon", "sknt", "drct", "tmpf", "elevation", "#x"]
)


@FUZZ
@given(st.lists(HEADERS, min_size=1, max_size=8), st.lists(st.lists(CELLS, min_size=1, max_size=8), max_size=4))
def test_tables_of_any_columns_and_cells(read, header, rows):
    answer(read, "\n".join(",".join(each) for each in [header, *rows]) + "\n")
