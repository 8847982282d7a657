"""HARP's vfld: a small file written here, what its name says, and what is said of a file that cannot be used."""

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
from tasks.readers.vfld import read_forecasts

NAME = "vfldAROME201902170003"
TEXT = """\
      3     1     4
           6
 FI               0
 DD               0
 FF               0
 TT               0
 PE              12
 GX               0
     01001   70.933   -8.667    63.9 214.8676E+00   7.4932E+00 269.8049E+00 -99 9.5
     01002   80.059   16.250     1.4 -99.0000E+00  -99.0000E+00 249.8601E+00 0.1 -99.
     01001   10.000   10.000     0.0 1 1 250 0 1
          1
           2
 PP           0
 FI           0
     01001   70.933   -8.667    63.9
 1000. 25.
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


def read(path, **wishes):
    return read_forecasts(path, StationWishes(**wishes))


def test_what_it_holds(file):
    found = read(file())
    assert found["station"].tolist() == ["01001", "01002"]  # the first row of 01001 counts
    assert found[["lat", "lon", "elevation"]].to_numpy().tolist() == [[70.933, -8.667, 63.9], [80.059, 16.25, 1.4]]
    assert set(found["cycle"]) == {pd.Timestamp("2019-02-17T00:00Z")}
    assert set(found["valid_time"]) == {pd.Timestamp("2019-02-17T03:00Z")}
    assert set(found["model"]) == {"AROME"}
    assert found["wind_speed"].iloc[0] == 7.4932
    assert found["wind_direction"].iloc[0] == 214.8676
    assert found["temperature"].tolist() == pytest.approx([269.8049 - 273.15, 249.8601 - 273.15])
    assert found["wind_gust"].iloc[0] == 9.5
    assert found.loc[1, ["wind_speed", "wind_direction", "wind_gust"]].isna().all()
    assert set(found["height"]) == {10.0}
    assert "relative_humidity" not in found
    assert "dew_point" not in found


@pytest.mark.parametrize(
    ("name", "model", "cycle", "hours"),
    [
        ("vfldAROME_Arctic_prod201902170024", "AROME_Arctic_prod", "2019-02-17T00:00Z", 24),
        ("vfldMEPS2019123118120", "MEPS", "2019-12-31T18:00Z", 120),
        ("vfldsgl40h11201902170003", "sgl40h11", "2019-02-17T00:00Z", 3),
        ("vfldMODELmbr0022019021706048", "MODELmbr002", "2019-02-17T06:00Z", 48),
    ],
)
def test_the_name_says_model_cycle_and_lead(file, name, model, cycle, hours):
    row = read(file(name=name)).iloc[0]
    assert row["model"] == model
    assert row["cycle"] == pd.Timestamp(cycle)
    assert row["valid_time"] == pd.Timestamp(cycle) + pd.Timedelta(hours=hours)


@pytest.mark.parametrize(
    "name",
    ["forecast.txt", "vfld201902170003", "vfldAROME2019021700", "vfldAROME201913170003", "vfldA201902170003.txt"],
)
def test_another_name_is_refused(file, name):
    with pytest.raises(BadInput, match=r"its name must say the model, the cycle and the lead, vfld<MODEL>YYYYMMDDHHLL"):
        read(file(name=name))


def test_the_case_may_name_another_parameter(file):
    found = read(file(TEXT.replace(" GX  ", " FFP1")), names={"wind_speed": "FFP1"})
    assert found["wind_speed"].tolist()[0] == 9.5
    assert "wind_gust" not in found


def test_a_gust_is_the_highest_where_there_is_one(file):
    both = TEXT.replace(" PE              12", " GW               0")
    assert read(file(both))["wind_gust"].tolist()[0] == 9.5
    assert read(file(both.replace(" GX  ", " G1  ")))["wind_gust"].isna().tolist() == [True, False]


def test_it_is_recognised_by_what_is_in_it(file):
    assert recognise(file(), MODEL).name == "vfld"
    assert recognise(file(name="whatever.txt"), MODEL).name == "vfld"  # so that its reader can say what is wrong
    assert [each.name for each in candidates(Head.of(file()), (*MODEL, *OBSERVED))] == ["vfld"]
    assert recognise(file(b"\xef\xbb\xbf" + TEXT.encode(), NAME), MODEL).name == "vfld"
    assert read(file(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode(), NAME))["station"].tolist()[0] == "01001"


ROWS = TEXT.splitlines(keepends=True)
BAD = [
    pytest.param("", "is empty", id="empty"),
    pytest.param("\n\n", "is empty", id="blank"),
    pytest.param(
        "".join(ROWS[:10]), "line 11: expected 9 columns|cut short: line 1 announces 3", id="cut between rows"
    ),
    pytest.param(TEXT[: TEXT.index("80.059") + 3], "line 10: expected 9 columns, .* got 2", id="cut in a row"),
    pytest.param("".join(ROWS[:4]), r"line 5: expected a parameter .*6 parameters are announced", id="cut in the head"),
    pytest.param("".join(ROWS[:8]), "cut short|line 9", id="header only"),
    pytest.param(ROWS[0], "line 2: expected the number of parameters", id="first line only"),
    pytest.param(
        TEXT.replace("     4\n", "     3\n", 1), "is version 3 of the format; version 4 is read", id="version"
    ),
    pytest.param("CDF\x01" + TEXT, "line 1: expected the number of stations", id="wrong magic"),
    pytest.param(TEXT.encode("utf-16"), "no text in ASCII or UTF-8", id="utf-16"),
    pytest.param(TEXT.replace("01002", "Måkøy").encode("latin-1"), "line 10: is no text in ASCII", id="latin-1"),
    pytest.param(TEXT.replace("7.4932E+00", "7.49x"), "line 9, FF: got '7.49x'; expected a number", id="no number"),
    pytest.param(TEXT.replace("7.4932E+00", "**********"), r"line 9, FF: got '\*\*", id="stars"),
    pytest.param(TEXT.replace("7.4932E+00", "inf"), "line 9, FF: got 'inf'", id="infinite"),
    pytest.param(TEXT.replace("70.933", "north"), "line 9, latitude: got 'north'", id="latitude"),
    pytest.param("      0     1     4\n           1\n FF  0\n", "line 1: there is no surface station", id="no station"),
    pytest.param(
        "      1     0     4\n           1\n PS  0\n 1 2 3 1000\n",
        "none of FF, DD, .* is among its parameters: PS",
        id="nothing that we know",
    ),
    pytest.param(TEXT.replace("      3     1", "99999999999999999999 1", 1), "line 2", id="too many stations"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_bad_files(file, content, message):
    path = file(content)
    with pytest.raises(BadInput, match=message) as refused:
        read(path)
    assert str(path) in str(refused.value)


def test_names_of_stations(file):
    odd = TEXT.replace("01002", "$NA🔥,'\"")
    assert read(file(odd))["station"].tolist() == ["01001", "$NA🔥,'\""]
    assert read(file(TEXT.replace("01002", "0000001002")))["station"].tolist() == ["01001", "01002"]
    assert read(file(TEXT.replace("01002", "0")))["station"].tolist() == ["01001", "00000"]
    assert read(file(TEXT.replace("01002", "1234567")))["station"].tolist() == ["01001", "1234567"]


def harmless(path):
    """Whatever is in it: a table, or a word on why not."""
    try:
        found = read(path)
    except FirecardError:
        return
    assert len(found)
    assert not found["station"].duplicated().any()
    for name in (each for each in VARIABLES if each in found):
        assert found[name].dtype == np.float64


@FUZZ
@given(data=st.data())
def test_any_bytes(file, data):
    content = bytearray(TEXT.encode())
    for _ in range(data.draw(st.integers(1, 6))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position : position + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    harmless(file(bytes(content)))


WORD = st.one_of(
    st.sampled_from(
        ["-99", "-99.0000E+00", "1E400", "nan", "NA", "0x1", "1_0", "٣", "4", "FF", "0", "-1", "💨", "$x$"]
    ),
    st.floats().map(str),
    st.integers().map(str),
    st.text(min_size=1, max_size=4),
)


@FUZZ
@given(
    first=st.lists(st.one_of(st.integers(0, 4), WORD), max_size=4),
    parameters=st.lists(st.tuples(st.sampled_from(["FF", "DD", "TT", "GX", "RH", "XX"]), WORD), max_size=4),
    rows=st.lists(st.lists(WORD, max_size=7), max_size=4),
)
def test_any_structure(file, first, parameters, rows):
    lines = [" ".join(map(str, first)), str(len(parameters))]
    lines += [" ".join(each) for each in parameters]
    lines += [" ".join(each) for each in rows]
    harmless(file("\n".join(lines).encode("utf-8", "replace")))
    lines[0] = f"{len(rows)} 0 4"
    harmless(file("\n".join(lines).encode("utf-8", "replace")))


@FUZZ
@given(name=st.text(st.characters(codec="utf-8", exclude_characters="/\0"), max_size=20))
def test_any_name(file, name):
    harmless(file(name=f"vfld{name}"))
