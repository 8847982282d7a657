"""METAR bulletins: which pieces are reports, what a wind group says, which month it is; what is counted and refused."""

from __future__ import annotations

import sys
import warnings
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.formats import OBSERVED
from metrics.errors import BadInput, MissingInput
from metrics.variables import VARIABLES, Variable
from tasks.readers import metar
from tasks.readers.formats import Head, StationWishes, recognise
from tasks.readers.notes import NOTES
from tasks.readers.stations import read_stations

KNOT = 1852 / 3600
FIRST_OF_JULY = datetime(2019, 7, 1, 12, tzinfo=UTC)
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BULLETIN = """\
\x01
455
SAUS70 KWBC 011200
METAR
KRCM 011155Z AUTO 27008G15KT 10SM CLR 21/20 A3005 RMK AO2=
KIPJ 011150Z AUTO 00000KT 7SM CLR 21/21 A3002 RMK AO2 70004
     T02120208 10225 20196=
\x03\x01
309
SAVN24 SVMG 011200
METAR SVMG 011200Z /////KT 9000 DZ OVC010 27/25 Q1013 TEMPO 27015G30KT=
METAR HLLT NIL=
\x03"""


@pytest.fixture
def read(tmp_path):
    def reading(content, *, name="bulletins.txt", around=FIRST_OF_JULY, **wishes):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return metar.read_reports(path, StationWishes(around=around, **wishes))

    return reading


@pytest.fixture
def one(read):
    """The only report of a text, by the names of its columns."""

    def reading(text, **wishes):
        frame = read(text, **wishes)
        assert len(frame) == 1
        return frame.iloc[0]

    return reading


def counted(frame):
    return dict(frame.attrs[NOTES].counts)


def test_a_bulletin(read):
    frame = read(BULLETIN)
    assert frame["station"].tolist() == ["KRCM", "KIPJ", "SVMG"]
    times = ["2019-07-01T11:55Z", "2019-07-01T11:50Z", "2019-07-01T12:00Z"]
    assert frame["time"].tolist() == [pd.Timestamp(each) for each in times]
    assert (frame["network"] == "METAR").all()
    np.testing.assert_allclose(frame["wind_speed"], [8 * KNOT, 0, np.nan])
    np.testing.assert_allclose(frame["wind_direction"], [270, 0, np.nan])
    np.testing.assert_allclose(frame["wind_gust"], [15 * KNOT, np.nan, np.nan])
    np.testing.assert_allclose(frame["temperature"], [21, 21.2, 27])
    np.testing.assert_allclose(frame["dew_point"], [20, 20.8, 25])
    assert not frame["variable_direction"].any()
    assert counted(frame) == {
        metar.REPORTS: 3,
        metar.CALM: 1,
        metar.GUSTS: 1,
        metar.UNREADABLE: 1,
        metar.NO_REPORT: 1,
    }


WINDS = [  # group, direction, speed, gust (m/s), of variable direction
    ("27008KT", 270, 8 * KNOT, None, False),
    ("27008G15KT", 270, 8 * KNOT, 15 * KNOT, False),
    ("270108G115KT", 270, 108 * KNOT, 115 * KNOT, False),
    ("27008KTS", 270, 8 * KNOT, None, False),
    ("36007MPS", 360, 7, None, False),
    ("36007G12MPS", 360, 7, 12, False),
    ("09036KMH", 90, 10, None, False),
    ("VRB03KT", None, 3 * KNOT, None, True),
    ("VRB02G14MPS", None, 2, 14, True),
    ("00000KT", 0, 0, None, False),
    ("00000MPS", 0, 0, None, False),
    ("240P99KT", 240, 99 * KNOT, None, False),
    ("24070GP99KT", 240, 70 * KNOT, 99 * KNOT, False),
    ("24012G//KT", 240, 12 * KNOT, None, False),
    ("///05KT", None, 5 * KNOT, None, False),
]


@pytest.mark.parametrize(("group", "direction", "speed", "gust", "varies"), WINDS, ids=[each[0] for each in WINDS])
@pytest.mark.parametrize("before", ["", "AUTO ", "COR AUTO "])
@pytest.mark.parametrize("behind", ["", " 180V240", " 180V240 9999 BKN030 12/10 Q1013 BLU 03033KT TEMPO 02022KT"])
def test_winds(one, group, direction, speed, gust, varies, before, behind):
    row = one(f"METAR EHLW 011155Z {before}{group}{behind}=")
    for name, expected in (("wind_direction", direction), ("wind_speed", speed), ("wind_gust", gust)):
        assert row[name] == pytest.approx(np.nan if expected is None else expected, nan_ok=True), name
    assert row["variable_direction"] == varies


# What python-metar alone would take for a wind, or guess the unit of; and what nobody can read.
@pytest.mark.parametrize(
    ("group", "what"),
    [
        ("/////KT", metar.UNREADABLE),
        ("/////", metar.UNREADABLE),
        ("350//KT", metar.UNREADABLE),
        ("280KT", metar.UNREADABLE),
        ("1801KT", metar.UNREADABLE),
        ("09013GKT", metar.UNREADABLE),
        ("35006KT(E)", metar.UNREADABLE),
        ("99905KT", metar.UNREADABLE),
        ("27008", metar.UNREADABLE),
        ("VRB03", metar.UNREADABLE),
        ("0900", metar.NO_WIND),
        ("9999", metar.NO_WIND),
        ("10SM", metar.NO_WIND),
        ("R06/27008KT", metar.UNREADABLE),
        ("M", metar.NO_WIND),
        ("RMK", metar.NO_WIND),
    ],
)
def test_what_is_no_wind_is_counted_and_missing(read, group, what):
    frame = read(f"METAR EHLW 011155Z AUTO {group} 20/10 Q1013 27015KT=")
    assert frame[["wind_speed", "wind_direction", "wind_gust"]].isna().all(axis=None)
    assert counted(frame) == {metar.REPORTS: 1, what: 1}
    assert any(group in each for each in frame.attrs[NOTES].in_words())


def test_a_report_without_any_group(read):
    assert counted(read("METAR EHLW 011155Z=")) == {metar.REPORTS: 1, metar.NO_WIND: 1}


TEMPERATURES = [
    ("21/20", 21, 20),
    ("M05/M10", -5, -10),
    ("00/M00", 0, 0),
    ("23/-1", 23, -1),
    ("-05/-10", -5, -10),
    ("14/", 14, None),
    ("14///", 14, None),
    ("/////", None, None),
    ("XX/05", None, 5),
    ("21/20 Q1013 RMK T02141197", 21.4, -19.7),
    ("14/ A2999 RMK AO2 T0144", 14.4, None),
    ("RMK AO2 T10050011", -0.5, 1.1),
    ("1/2SM 21/20", 21, 20),
    ("R06/1200 21/20", 21, 20),
    ("////// 21/20", 21, 20),
    ("BKN030 TEMPO 11/10", None, None),
    ("BKN030 RMK 11/10", None, None),
]


@pytest.mark.parametrize(("groups", "temperature", "dew_point"), TEMPERATURES, ids=[each[0] for each in TEMPERATURES])
def test_temperatures(one, groups, temperature, dew_point):
    row = one(f"METAR EHLW 011155Z 27008KT {groups}=")
    for name, expected in (("temperature", temperature), ("dew_point", dew_point)):
        assert row[name] == pytest.approx(np.nan if expected is None else expected, nan_ok=True), name


def test_values_come_in_the_unit_that_is_kept(one):
    variables = {**VARIABLES, "temperature": Variable("temperature", "Temperature", "K")}
    assert one("METAR EHLW 011155Z 27008KT 21/20=", variables=variables)["temperature"] == pytest.approx(294.15)


PIECES = [  # what stands in the file, the stations of its reports
    ("one a line, without ends", "KAAA 011155Z 27008KT\nKBBB 011155Z 27008KT\n", ["KAAA", "KBBB"]),
    ("over several lines", "KAAA 011155Z\n  27008KT\n  21/20=\n\nKBBB 011155Z 27008KT=", ["KAAA", "KBBB"]),
    ("two ends in a line", "KAAA 011155Z 27008KT= KBBB 011155Z 27008KT=", ["KAAA", "KBBB"]),
    ("none between two", "METAR KAAA 011155Z 27008KT METAR KBBB 011155Z 27008KT=", ["KAAA", "KBBB"]),
    ("carriage returns", "SAUS70 KWBC 011200\r\r\nKAAA 011155Z 27008KT=\r\r\n", ["KAAA"]),
    ("names of bulletins", "SAUS46 KWBC 011200\nMTRSXT\nMETAR KSXT 011156Z 27008KT\n", ["KSXT"]),
    ("special reports", "SPECI KAAA 011155Z 27008KT=", ["KAAA"]),
    ("a time without Z", "METAR MYGF 011200 29006KT=\nMETAR MYGG 011200 AUTO 29006KT=", ["MYGF", "MYGG"]),
    ("a heading is no report", "SAAA01 KWBC 011200\nKAAA 011155Z 27008KT=", ["KAAA"]),
    ("digits in a name", "K0CO 011155Z 27008KT=", ["K0CO"]),
    ("a mark of byte order", "﻿KAAA 011155Z 27008KT=", ["KAAA"]),
    ("a remark of strangers", 'KAAA 011155Z 27008KT RMK 🔥 $ , " NA=', ["KAAA"]),
]


@pytest.mark.parametrize(("text", "stations"), [each[1:] for each in PIECES], ids=[each[0] for each in PIECES])
def test_reports_are_found(read, text, stations):
    frame = read(text)
    assert frame["station"].tolist() == stations
    assert frame["wind_speed"].tolist() == pytest.approx([(6 if "MYGF" in text else 8) * KNOT] * len(stations))


def test_latin_1_in_a_remark(one):
    assert one("KAAA 011155Z 27008KT RMK caf\xe9=".encode("latin-1"))["wind_direction"] == 270


@pytest.mark.parametrize(
    "text",
    ["NIL", "KAAA NIL", "METAR KAAA NIL", "METAR KAAA 011155Z NIL", "KAAA 011155Z AUTO NIL", "KAAA RMK NIL", "VBD NIL"],
)
def test_nil_is_no_report(read, text):
    frame = read(f"KZZZ 011155Z 27008KT=\n{text}=")
    assert counted(frame) == {metar.REPORTS: 1, metar.NO_REPORT: 1}


@pytest.mark.parametrize(
    "text",
    [
        "TAF KAAA 011130Z 0112/0218 27008KT",
        "KAAA 011130Z 0112/0218 27008KT 9999",
        "VAS SA 1200 AUTO8 M M M 170/13/07/0000/M/ 3001 20MM",
        "This email and any attachments may be confidential",
    ],
)
def test_what_is_no_metar_is_counted_with_an_example(read, text):
    frame = read(f"KZZZ 011155Z 27008KT=\n{text}=")
    assert counted(frame) == {metar.REPORTS: 1, metar.OTHER: 1}
    assert frame.attrs[NOTES].examples[metar.OTHER][0][:40] == text[:40]


def test_some_groups_that_cannot_be_read_are_shown(read):
    text = "".join(f"KAAA 011155Z {group}=\n" for group in ("/////KT", "280KT", "/////KT", "27008"))
    assert (
        "4 wind groups that cannot be read (such as '/////KT', '280KT', '27008')" in read(text).attrs[NOTES].in_words()
    )


def test_reports_without_an_end_are_counted_only_where_others_have_one(read):
    assert metar.NO_END not in counted(read("KAAA 011155Z 27008KT\nKBBB 011155Z 27008KT\n"))
    assert counted(read("KAAA 011155Z 27008KT=\nKBBB 011155Z 27008KT 9999 2"))[metar.NO_END] == 1
    assert counted(read("METAR KAAA 011155Z 27008KT METAR KBBB 011155Z 27008KT="))[metar.NO_END] == 1


@pytest.mark.parametrize("cut", ["2", "27", "2700", "27008", "27008K", "27008G", "27008G1", "VRB0", "2700/KT"])
def test_a_wind_that_is_cut_is_not_guessed(read, cut):
    assert np.isnan(read(f"KAAA 011155Z {cut}")["wind_speed"].item())


@pytest.mark.parametrize(
    "corrected",
    [
        "METAR COR KAAA 011155Z 27009KT=",
        "METAR KAAA 011155Z COR 27009KT=",
        "METAR KAAA 011155Z CCA 27009KT=",
        "SAUS70 KWBC 011200 CCA\nMETAR\nKAAA 011155Z 27009KT=",
        "METAR COR\nKAAA 011155Z 27009KT=",
    ],
)
def test_a_correction_goes_before_what_it_corrects(read, corrected):
    original = "SAUS70 KWBC 011200\nMETAR\nKAAA 011155Z 27008KT=\n"
    for text in (original + corrected, corrected + "\n" + original):
        frame = read(text)
        np.testing.assert_allclose(frame["wind_speed"], [9 * KNOT, 8 * KNOT])


def test_a_copy_that_is_whole_goes_before_one_that_is_garbled(read):
    frame = read("KAAA 011155Z 270KT=\nKAAA 011155Z 27008KT=\nKAAA 011155Z 27009KT=\n")
    np.testing.assert_allclose(frame["wind_speed"], [8 * KNOT, 9 * KNOT, np.nan])


MONTHS = [  # the report's time, the cycle, the day that is meant
    ("011200", "2019-07-01T12", "2019-07-01T12:00"),
    ("302350", "2019-07-01T00", "2019-06-30T23:50"),
    ("010000", "2019-06-30T18", "2019-07-01T00:00"),
    ("312350", "2026-01-01T00", "2025-12-31T23:50"),
    ("010010", "2025-12-31T18", "2026-01-01T00:10"),
    ("290600", "2024-03-01T00", "2024-02-29T06:00"),
    ("290600", "2023-03-01T00", "2023-03-29T06:00"),  # there was no 29 February
    ("310600", "2023-02-20T00", "2023-01-31T06:00"),
]


@pytest.mark.parametrize(("code", "cycle", "expected"), MONTHS)
def test_the_month_is_the_nearest_to_the_cycle(one, code, cycle, expected):
    around = datetime.fromisoformat(f"{cycle}:00+00:00")
    assert one(f"KAAA {code}Z 27008KT=", around=around)["time"] == pd.Timestamp(expected, tz="UTC")
    assert one(f"KAAA {code}Z 27008KT=", around=around.replace(tzinfo=None))["time"] == pd.Timestamp(expected, tz="UTC")


@pytest.mark.parametrize("code", ["000000", "320000", "012400", "011260", "999999"])
def test_an_impossible_time_is_counted(read, code):
    frame = read(f"KAAA {code}Z 27008KT=\nKBBB 011155Z 27008KT=")
    assert counted(frame) == {metar.REPORTS: 1, metar.NO_TIME: 1}


@pytest.mark.parametrize(
    "name", ["metar_20190701_1200.txt", "20190701.txt", "sa2019070112.dat", "201907011200.txt", "20190701-20190701.txt"]
)
def test_without_a_cycle_the_name_of_the_file_says_the_month(one, name):
    row = one("KAAA 302355Z 27008KT=", name=name, around=None)
    assert row["time"] == pd.Timestamp("2019-06-30T23:55Z")


@pytest.mark.parametrize("name", ["metar.txt", "20191341.txt", "190701.txt", "20190701_20190801.txt", "120190701.txt"])
def test_without_any_date_it_is_refused(read, name):
    with pytest.raises(BadInput, match=rf"{name}: METAR reports say day and hour but neither month nor year"):
        read("KAAA 011155Z 27008KT=", name=name, around=None)


def test_reports_out_of_order_are_sorted_and_the_first_of_a_time_counts(tmp_path):
    path, places = tmp_path / "metar.txt", pd.DataFrame({"lat": [40.0], "lon": [-120.0]}, index=["KAAA"])
    path.write_text("KAAA 011155Z 27008KT=\nKBBB 011155Z 18010KT=\nKAAA 011055Z 27007KT=\nKAAA 011155Z 27099KT=\n")
    found = read_stations([path], VARIABLES, wishes=StationWishes(places=places, around=FIRST_OF_JULY))
    np.testing.assert_allclose(found.reports["wind_speed"], np.array([7, 8, 99]) * KNOT)
    assert found.stations["network"].tolist() == ["METAR"]
    assert found.not_listed == 1
    assert found.notes == ("4 METAR and SPECI reports",)


def test_notes_of_several_files_add(tmp_path):
    paths, places = [], pd.DataFrame({"lat": [40.0], "lon": [-120.0]}, index=["KAAA"])
    for day, group in (("01", "VRB03KT"), ("02", "/////KT"), ("03", "VRB04KT")):
        paths.append(tmp_path / f"metar_201907{day}.txt")
        paths[-1].write_text(f"KAAA {day}1155Z {group}=\n")
    found = read_stations(paths, VARIABLES, wishes=StationWishes(places=places, around=FIRST_OF_JULY))
    assert found.notes == (
        "3 METAR and SPECI reports",
        "2 winds of variable direction (VRB)",
        "1 wind groups that cannot be read (such as '/////KT')",
    )


def test_positions_are_asked_for(tmp_path):
    path = tmp_path / "metar_20190701.txt"
    path.write_text("KAAA 011155Z 27008KT=\n")
    with pytest.raises(BadInput, match=r"no position of station 'KAAA'.*say `stations:`"):
        read_stations([path], VARIABLES)


def test_without_the_library(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "metar.Metar", None)
    with pytest.raises(BadInput, match=r"bulletins\.txt: reading METAR needs the extra `metar`"):
        read("KAAA 011155Z 27008KT=")


# --- what is refused, and what is not taken for METAR ------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (
            "KAAA 011155Z 27008KT=".encode("utf-16"),
            "is no text in ASCII or UTF-8 .a zero byte., expected METAR reports",
        ),
        (b"hello\n", "there is no METAR report in it .*no METAR.*hello"),
        (b"SAUS70 KWBC 011200\nMETAR\n", "there is no METAR report in it .there is nothing in it"),
        (b"SAUS70 KWBC 011200\nMETAR\nNIL=\n", "there is no METAR report in it .1 NIL reports"),
        (b"KAAA 991155Z 27008KT=", "1 reports of an impossible day or hour"),
        (b"TAF KAAA 011130Z 0112/0218 27008KT=", "1 pieces of text that are no METAR"),
    ],
)
def test_refused(read, content, message):
    with pytest.raises(BadInput, match=rf"bulletins\.txt: .*{message}"):
        read(content)


def test_nothing_to_read(tmp_path):
    with pytest.raises(MissingInput, match="no such file"):
        metar.read_reports(tmp_path / "gone.txt", StationWishes())
    with pytest.raises(BadInput, match="is a directory, expected METAR reports"):
        metar.read_reports(tmp_path, StationWishes())


@pytest.mark.parametrize(
    ("text", "is_metar"),
    [
        (BULLETIN, True),
        ("KAAA 011155Z AUTO 27008KT\n", True),
        ("2019/07/01 11:55\nKAAA 011155Z AUTO 27008KT\n", True),
        ("SPECI COR KAAA 011155Z=", True),
        ("TAF KAAA 011130Z 0112/0218 27008KT", False),
        ("TAF\nKAAA 011130Z 0112/0218 27008KT", False),
        ("SAUS70 KWBC 011200\n", False),
        ("station,valid,metar\nKAAA,2019-07-01 11:55,KAAA 011155Z AUTO 27008KT\n", False),
        ("station,lat,lon,time,wind_speed [m/s]\n", False),
    ],
)
def test_recognised(tmp_path, text, is_metar):
    path = tmp_path / "file"
    path.write_text(text)
    assert metar.recognises(Head.of(path)) == is_metar
    if is_metar:
        assert recognise(path, OBSERVED).name == "metar"


def answer(read, content):
    """Reports, or a message that names the file; a warning is as bad as any other error."""
    said = "bulletins.txt"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            frame = read(content)
        except BadInput as error:
            frame, said = None, str(error)
    assert "bulletins.txt" in said
    if frame is None:
        return
    assert len(frame) == frame.attrs[NOTES].counts[metar.REPORTS] > 0
    assert frame["station"].str.fullmatch(r"[A-Z][A-Z0-9]{3}").all()
    assert not frame["wind_speed"].lt(0).any()
    assert frame["wind_direction"].dropna().between(0, 360).all()


@FUZZ
@given(st.binary(max_size=300))
def test_random_bytes(read, content):
    answer(read, content)


@FUZZ
@given(st.data())
def test_cut_and_altered_bulletins(read, data):
    raw = bytearray(BULLETIN.encode())
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        raw = raw or bytearray(b"x")
    answer(read, bytes(raw[: data.draw(st.integers(1, len(raw)))]))


GROUPS = st.sampled_from(
    [
        *("METAR", "SPECI", "COR", "KAAA", "EGLL", "SAUS70", "011155Z", "011200", "312359Z", "999999Z", "AUTO", "NIL"),
        *("27008KT", "VRB03G15MPS", "00000KT", "P99KT", "240P99KT", "/////KT", "OOOOOKT", "R06/29007G10MPS", "180V240"),
        *("0900", "9999", "CAVOK", "1/2SM", "21/20", "M01/", "/////", "//////", "Q1013", "A3005", "WS", "R23L", "BLU"),
        *("TEMPO", "BECMG", "RMK", "T02141197", "T0144", "0112/0218", "NNNN", "=", "\n", "\x01", "\x03"),
        *("é", "🔥", "NA", "$", ",", "'", '"', ""),
    ]
)


@FUZZ
@given(st.lists(GROUPS, max_size=40).map(" ".join))
def test_any_order_of_groups(read, text):
    answer(read, text)


@FUZZ
@given(st.integers(0, 36), st.integers(0, 199), st.none() | st.integers(0, 199), st.sampled_from(["KT", "MPS", "KMH"]))
def test_whatever_is_encoded_is_decoded(one, tens, speed, gust, unit):
    group = f"{tens * 10:03}{speed:02}{'' if gust is None else f'G{gust:02}'}{unit}"
    row = one(f"METAR EHLW 011155Z {group} 9999=")
    metres = {"KT": KNOT, "MPS": 1, "KMH": 1 / 3.6}[unit]
    assert row["wind_direction"] == tens * 10
    assert row["wind_speed"] == pytest.approx(speed * metres)
    assert row["wind_gust"] == pytest.approx(np.nan if gust is None else gust * metres, nan_ok=True)
