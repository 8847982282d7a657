"""verif's text: a small file written here, what its first lines say, and what is said of one that cannot be used."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.formats import MODEL, OBSERVED
from configs.window import Window
from metrics.errors import BadInput, FirecardError, MissingInput
from metrics.variables import VARIABLES, Variable
from tasks.matching.pairs import match_pairs
from tasks.readers.formats import Head, candidates, recognise
from tasks.readers.verif import read_pairs

TEXT = """\
# variable: T
# units: $^oC$
date leadtime location lat lon altitude obs fcst p0 q0.1 pit
20120101 0 415 49.35 -122.77 3 -6.5 -7.5 1.000 1.0 0.61
20120101 1.5 415 49.35 -122.77 3 -999 -5.5 1.000 1.0 0.49
20120102 0 NA 50 10 3 1 NA 1.000 1.0 0.49
"""
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def file(tmp_path):
    def write(content=TEXT, name="raw.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def read(path, variables=VARIABLES):
    return read_pairs(path, variables)


def test_what_it_holds(file):
    found = read(file())
    assert found["station"].tolist() == ["415", "415", "NA"]
    assert found["cycle"].tolist() == [pd.Timestamp(f"2012-01-0{day}T00:00Z") for day in (1, 1, 2)]
    assert found["valid_time"].tolist()[1] == pd.Timestamp("2012-01-01T01:30Z")
    assert set(found["variable"]) == {"temperature"}
    assert found["forecast"].tolist()[:2] == [-7.5, -5.5]
    assert found["observed"].isna().tolist() == [False, True, False]
    assert found["forecast"].isna().tolist() == [False, False, True]
    assert found[["lat", "lon"]].iloc[0].tolist() == [49.35, -122.77]
    assert "model" not in found  # the file is the model's own


def test_the_other_names_of_columns(file):
    other = """\
# variable: Wind_Speed
# units: m/s
unixtime offset id lat lon elev obs fcst
1325376000 6 A 49 -122 0 3 4
"""
    (row,) = read(file(other)).to_dict("records")
    assert row["cycle"] == pd.Timestamp("2012-01-01T00:00Z")
    assert row["valid_time"] == pd.Timestamp("2012-01-01T06:00Z")
    assert (row["variable"], row["forecast"], row["observed"]) == ("wind_speed", 4.0, 3.0)
    hours = TEXT.replace("date leadtime", "date hour leadtime").replace("20120101 ", "20120101 12 ")
    assert read(file(hours.replace("20120102 ", "20120102 6 ")))["cycle"].tolist()[1:] == [
        pd.Timestamp("2012-01-01T12:00Z"),
        pd.Timestamp("2012-01-02T06:00Z"),
    ]


UNITS = [
    ("T", "K", "temperature", -7.5 - 273.15),
    ("Temperature", "$^{o}C$", "temperature", -7.5),
    ("air temperature", r"$^{\circ}C$", "temperature", -7.5),
    ("T", "$^oF$", "temperature", (-7.5 - 32) / 1.8),
    ("RH", r"\%", "relative_humidity", -7.5),
    ("WS", "knots", "wind_speed", -7.5 * 1852 / 3600),
    ("wind_gust", "m/s", "wind_gust", -7.5),
    ("Wind Direction", "$^o$", "wind_direction", -7.5),
]


@pytest.mark.parametrize(("variable", "unit", "name", "value"), UNITS)
def test_variables_and_units(file, variable, unit, name, value):
    found = read(file(TEXT.replace("variable: T", f"variable: {variable}").replace("$^oC$", unit)))
    assert set(found["variable"]) == {name}
    assert found["forecast"].iloc[0] == pytest.approx(value)


def test_a_variable_of_the_case(file):
    known = {**VARIABLES, "soil": Variable("soil", "Soil", "%")}
    assert set(read(file(TEXT.replace(": T", ": soil").replace("$^oC$", "%")), known)["variable"]) == {"soil"}


def test_recognised_by_its_columns(file):
    assert [each.name for each in candidates(Head.of(file()), (*MODEL, *OBSERVED))] == ["verif"]
    assert recognise(file(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode()), MODEL).name == "verif"
    assert read(file(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode()))["station"].tolist()[0] == "415"
    with pytest.raises(BadInput, match="not recognised"):
        recognise(file("date obs\n20120101 3\n"), MODEL)


def test_it_is_of_the_model_of_the_case_and_a_card_of_one_cycle(file):
    cycle = pd.Timestamp("2012-01-01T00:00Z").to_pydatetime()
    found = match_pairs([file()], "mine", cycle, Window(hours=24.0), VARIABLES, read=read_pairs)
    assert found.table["reason"].tolist() == ["pair", "no observation"]
    other = pd.Timestamp("2012-01-05T00:00Z").to_pydatetime()
    with pytest.raises(MissingInput, match="has no cycle 2012-01-05T00; cycles here: 2012-01-01T00, 2012-01-02T00"):
        match_pairs([file()], "mine", other, Window(hours=24.0), VARIABLES, read=read_pairs)


def test_rows_may_stand_in_any_order_and_names_be_odd(file):
    *head, one, two, three = TEXT.splitlines(keepends=True)
    turned = read(file("".join([*head, three, two, one])))
    pd.testing.assert_frame_equal(turned.iloc[::-1].reset_index(drop=True), read(file()))
    for name in ("a,b", "'\"", "$x$", "🔥", "007"):
        assert read(file(TEXT.replace(" 415 ", f" {name} ")))["station"].iloc[0] == name


BAD = [
    pytest.param("", "is empty", id="empty"),
    pytest.param("# variable: T\n# units: K\n", "no line with the names of columns", id="comments only"),
    pytest.param("".join(TEXT.splitlines(keepends=True)[:3]), "there is a header but no row", id="header only"),
    pytest.param(TEXT[: TEXT.index("-5.5")], "line 5: expected 11 columns, as the header has, got 7", id="cut"),
    pytest.param(TEXT.encode("utf-16"), "no text in ASCII or UTF-8", id="utf-16"),
    pytest.param(
        TEXT.replace(" 415 ", " Mür ").encode("latin-1"), "line 4: is no text in ASCII or UTF-8", id="latin-1"
    ),
    pytest.param("PAR1" + TEXT, "no line says which variable|column leadtime", id="wrong magic"),
    pytest.param(TEXT.replace("# variable: T\n", ""), "no line says which variable it is", id="no variable"),
    pytest.param(TEXT.replace(": T", ": Precip"), "'# variable: Precip': is none that is known", id="unknown variable"),
    pytest.param(TEXT.replace("# units: $^oC$\n", ""), "no line says the unit", id="no unit"),
    pytest.param(TEXT.replace("$^oC$", "mm"), "'# units: mm', temperature: the unit 'mm' is not", id="wrong unit"),
    pytest.param(TEXT.replace("$^oC$", "$x_{i}$"), "temperature: unknown unit", id="unknown unit"),
    pytest.param(TEXT.replace(" fcst ", " model "), "line 3: the column fcst is missing", id="no forecast"),
    pytest.param(TEXT.replace("date ", "day "), "line 3: the column date or unixtime is missing", id="no date"),
    pytest.param(TEXT.replace(" lat ", " obs "), "line 3: the column 'obs' stands there twice", id="twice"),
    pytest.param(TEXT.replace("20120102", "2012-01-02"), "line 6, column 'date': got '2012-01-02'", id="date"),
    pytest.param(TEXT.replace("20120102", "20121302"), "line 6, column 'date'", id="no such day"),
    pytest.param(TEXT.replace("20120102", "00010102"), "line 6, column 'date': got '00010102'", id="year"),
    pytest.param(TEXT.replace(" 1.5 ", " -3 "), "line 5, column 'leadtime': got '-3'; expected hours", id="lead"),
    pytest.param(TEXT.replace(" 1.5 ", " NA "), "line 5, column 'leadtime': got 'NA'", id="no lead"),
    pytest.param(TEXT.replace("-6.5", "cold"), "line 4, column 'obs': got 'cold'; expected a number", id="no number"),
    pytest.param(TEXT.replace("-6.5", "inf"), "line 4, column 'obs': .*expected a finite number", id="infinite"),
    pytest.param(TEXT.replace(" 50 10 ", " 95 10 "), "line 6, column 'lat': got '95'; expected degrees", id="latitude"),
    pytest.param(
        TEXT.replace(" 1.5 ", " 0 "), "line 5, column 'location': got '415'; this forecast stands", id="again"
    ),
    pytest.param(
        TEXT.replace("1.5 415 49.35", "1.5 415 48.35"), "line 5, .* the location has two positions", id="moved"
    ),
    pytest.param(
        "# variable: T\n# units: K\nunixtime leadtime id lat lon obs fcst\n1e30 0 A 1 1 1 1\n",
        "line 4, column 'unixtime': got '1e30'; expected seconds since 1970",
        id="unixtime",
    ),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_bad_files(file, content, message):
    path = file(content)
    with pytest.raises(BadInput, match=message) as refused:
        read(path)
    assert str(path) in str(refused.value)


def harmless(path):
    try:
        found = read(path)
    except FirecardError:
        return
    assert len(found)
    assert not found.duplicated(["station", "cycle", "valid_time"]).any()


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
        ["-999", "NA", "20120101", "1325376000", "1e308", "nan", "inf", "-1", "0.5", "💨", "$x$", "9999999999"]
    ),
    st.floats().map(str),
    st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=4),
)
NAMES = ["date", "hour", "unixtime", "leadtime", "offset", "location", "id", "lat", "lon", "obs", "fcst", "p0"]


@FUZZ
@given(
    said=st.lists(st.tuples(st.sampled_from(["variable", "units", "x0"]), WORD), max_size=3),
    columns=st.lists(st.sampled_from(NAMES), min_size=5, max_size=12, unique=True),
    data=st.data(),
)
def test_any_structure(file, said, columns, data):
    rows = data.draw(st.lists(st.lists(WORD, min_size=len(columns), max_size=len(columns)), max_size=3))
    lines = [f"# {name}: {word}" for name, word in (("variable", "T"), ("units", "K"), *said)]
    lines += [" ".join(columns), *(" ".join(each) for each in rows)]
    harmless(file("\n".join(lines).encode("utf-8", "replace")))
