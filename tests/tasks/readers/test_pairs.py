"""Tables of matched pairs: what is read, and what is said about every row that cannot be."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.errors import BadInput
from metrics.variables import VARIABLES, Variable
from tasks.readers.pairs import COLUMNS, NEEDED, read_pairs

LAW = settings(
    derandomize=True,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
ROW = {
    "model": "gfs",
    "station": "KAAA",
    "lat": "39.25",
    "lon": "-120.5",
    "cycle": "2026-11-17T00:00Z",
    "valid_time": "2026-11-17T01:00Z",
    "variable": "wind_speed",
    "unit": "m/s",
    "forecast": "5.5",
    "observed": "4",
}
SECOND = {"valid_time": "2026-11-17T02:00Z"}


def as_csv(*rows: dict[str, str]) -> bytes:
    """The rows as a CSV, each the plain row with changes."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(COLUMNS), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**ROW, **row} for row in rows)
    return text.getvalue().encode()


def as_parquet(path: Path, **columns) -> Path:
    """Two plain rows as Parquet, with other columns."""
    values = {name: pa.array([ROW[name]] * 2) for name in COLUMNS}
    values["valid_time"] = pa.array(["2026-11-17T01:00Z", "2026-11-17T02:00Z"])
    for name in ("lat", "lon", "forecast", "observed"):
        values[name] = pa.array([float(ROW[name])] * 2)
    pyarrow.parquet.write_table(pa.table(values | columns), path)
    return path


@pytest.fixture
def read(tmp_path):
    """The table in a file of this content."""

    def read(content: bytes, name: str = "pairs.csv") -> pd.DataFrame:
        path = tmp_path / name
        path.write_bytes(content)
        return read_pairs(path, VARIABLES)

    return read


@pytest.fixture
def said(read, tmp_path):
    """What is said about a file of this content."""

    def refused(content: bytes, name: str = "pairs.csv") -> str:
        with pytest.raises(BadInput) as error:
            read(content, name)
        message = str(error.value)
        assert message.startswith(f"{tmp_path / name}: ")
        assert message.isprintable()
        assert len(message) < 800
        return message

    return refused


def utc(text: str) -> pd.Timestamp:
    return pd.Timestamp(text, tz="UTC")


def test_a_plain_table(read):
    table = read(as_csv({}, SECOND))
    assert list(table.columns) == [name for name in COLUMNS if name != "unit"]
    row = table.iloc[1]
    assert (row["model"], row["station"], row["variable"]) == ("gfs", "KAAA", "wind_speed")
    assert (row["lat"], row["lon"], row["forecast"], row["observed"]) == (39.25, -120.5, 5.5, 4.0)
    assert (row["cycle"], row["valid_time"]) == (utc("2026-11-17T00:00"), utc("2026-11-17T02:00"))
    assert all(table[name].dtype == np.float64 for name in ("lat", "lon", "forecast", "observed"))


def test_csv_and_parquet_say_the_same(read, tmp_path):
    pd.testing.assert_frame_equal(
        read(as_csv({}, SECOND)), read_pairs(as_parquet(tmp_path / "x.parquet"), VARIABLES), check_dtype=False
    )


def test_the_kind_of_file_is_told_by_its_content(read, tmp_path):
    content = as_parquet(tmp_path / "x.parquet").read_bytes()
    assert len(read(content, "parquet-called.csv")) == 2
    assert len(read(as_csv({}), "csv-called.parquet")) == 1


def test_a_file_may_leave_out_the_model(read):
    content = b"\n".join(row.split(b",", 1)[1] for row in as_csv({}).splitlines())
    assert "model" not in read(content)


def test_more_columns_and_another_order_are_harmless(read):
    content = as_csv({}).decode().splitlines()
    turned = [
        ",".join(reversed(["note" if not number else "x", *row.split(",")])) for number, row in enumerate(content)
    ]
    pd.testing.assert_frame_equal(read("\n".join(turned).encode()), read(as_csv({})))


NAMES = [
    "NA",
    "nan",
    "null",
    "None",
    "007",
    "1e3",
    "true",
    "a,b",
    'he said "hi"',
    "🔥",
    "$x_1$",
    "[/red]",
    "<b>",
    "|`",
    "-",
    "a  b",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("column", ["station", "model"])
def test_a_station_or_a_model_may_be_called_anything(read, tmp_path, name, column):
    assert read(as_csv({column: name}))[column].tolist() == [name]
    both = as_parquet(tmp_path / "x.parquet", **{column: pa.array([name, name])})
    assert read_pairs(both, VARIABLES)[column].tolist() == [name, name]


def test_names_are_trimmed(read):
    table = read(as_csv({"station": "  KAAA ", "model": " gfs", "unit": " m/s ", "variable": "wind_speed "}))
    assert table.loc[0, ["station", "model", "variable"]].tolist() == ["KAAA", "gfs", "wind_speed"]


MISSING = ["", " ", "NA", "na", "NaN", "nan", "null", "NULL", "None", "N/A", "-"]


@pytest.mark.parametrize("text", MISSING)
@pytest.mark.parametrize("column", ["forecast", "observed"])
def test_what_is_missing(read, column, text):
    table = read(as_csv({}, {**SECOND, column: text}))
    assert table[column].isna().tolist() == [False, True]


NUMBERS = [
    ("5", 5),
    ("5.25", 5.25),
    ("-5", -5),
    ("+5", 5),
    (".5", 0.5),
    ("5.", 5),
    ("5e-1", 0.5),
    (" 5 ", 5),
    ("-9999", -9999),
]


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_numbers(read, text, expected):
    assert read(as_csv({"forecast": text}))["forecast"].tolist() == [expected]


# row 2 is the first row below the header, row 3 the second
WRONG = [
    pytest.param("forecast", "abc", ["'abc'", "expected a number"], id="text"),
    pytest.param("observed", "5 m/s", ["'5 m/s'", "expected a number"], id="number with a unit"),
    pytest.param("forecast", "1,5", ["expected a number"], id="decimal comma"),
    pytest.param("forecast", "1_000", ["expected a number"], id="underscore"),
    pytest.param("forecast", "0x10", ["expected a number"], id="hexadecimal"),
    pytest.param("forecast", "True", ["expected a number"], id="true"),
    pytest.param("forecast", "inf", ["finite"], id="inf"),
    pytest.param("observed", "-Infinity", ["finite"], id="-Infinity"),
    pytest.param("observed", "1e400", ["finite"], id="1e400"),
    pytest.param("lat", "91", ["91", "between -90 and 90"], id="lat"),
    pytest.param("lat", "", ["between -90 and 90"], id="no lat"),
    pytest.param("lat", "north", ["'north'", "number"], id="lat as text"),
    pytest.param("lon", "-181", ["-181", "between -180 and 360"], id="lon"),
    pytest.param("station", "", ["expected a name"], id="no station"),
    pytest.param("station", "  ", ["expected a name"], id="blank station"),
    pytest.param("model", "", ["expected a name"], id="no model"),
    pytest.param("variable", "", ["expected a name"], id="no variable"),
    pytest.param("variable", "wnd", ["'wnd'", "known: wind_speed"], id="variable"),
    pytest.param("variable", "\x1b[31mred", [r"\x1b[31mred"], id="escape code"),
    pytest.param("variable", "x" * 5000, ["…"], id="endless variable"),
    pytest.param("unit", "banana", ["'banana'", "unknown unit", "wind_speed"], id="unit"),
    pytest.param("unit", "K", ["'K' is not one of 'm/s'"], id="unit of another quantity"),
    pytest.param("unit", "", ["''", "'m/s'"], id="no unit"),
    pytest.param("unit", "9**9**9**9", ["unknown unit"], id="arithmetic for a unit"),
    pytest.param("cycle", "yesterday", ["'yesterday'", "2026-11-17T06:00Z"], id="time"),
    pytest.param("cycle", "now", ["'now'", "ISO 8601"], id="now"),
    pytest.param("cycle", "", ["ISO 8601"], id="no time"),
    pytest.param("cycle", "2026111700", ["ISO 8601"], id="time without signs"),
    pytest.param("cycle", "2026-13-01T00:00Z", ["ISO 8601"], id="month"),
    pytest.param("cycle", "11/17/2026 00:00Z", ["ISO 8601"], id="American date"),
    pytest.param("cycle", "9999-01-01T00:00Z", ["'9999-01-01", "between 1900 and 2200"], id="far away"),
    pytest.param("cycle", "2026-11-17T00:00", ["mixed time zones", "the first row has 'Z'"], id="no zone"),
    pytest.param("valid_time", "2026-11-17T02:00+01:00", ["mixed time zones", "+01:00"], id="another zone"),
    pytest.param("valid_time", "2026-11-17T02:00+00:00", ["mixed time zones"], id="the same zone, written otherwise"),
    pytest.param("valid_time", "2026-11-17T02:00-08", ["mixed time zones", "-08"], id="hours for a zone"),
]


@pytest.mark.parametrize(("column", "value", "words"), WRONG)
def test_a_wrong_value_is_named_with_row_and_column(said, column, value, words):
    message = said(as_csv({}, {**SECOND, "station": "KBBB", column: value}))
    assert f"row 3, column '{column}': got " in message
    for each in words:
        assert each in message


def test_the_number_of_such_rows_is_told(said):
    rows = [{"valid_time": f"2026-11-17T{hour:02d}:00Z", "forecast": "x" if hour % 2 else "1"} for hour in range(10)]
    message = said(as_csv(*rows))
    assert "row 3, column 'forecast'" in message
    assert "(5 such rows)" in message


def test_rows_of_parquet_have_no_header_above(tmp_path):
    with pytest.raises(BadInput, match=r"row 2, column 'forecast': got inf"):
        read_pairs(as_parquet(tmp_path / "x.parquet", forecast=pa.array([1.0, np.inf])), VARIABLES)


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_column(said, name):
    content = as_csv({}).replace(f"{name},".encode(), f"x{name},".encode())
    content = content.replace(b"observed", b"xobserved") if name == "observed" else content
    message = said(content)
    assert f"the column '{name}' is missing" in message
    assert f"x{name}" in message.split("found:")[1]


@pytest.mark.parametrize("name", NEEDED)
def test_a_column_that_stands_there_twice(said, name):
    head, row = as_csv({}).decode().splitlines()
    assert f"the column '{name}' stands there twice" in said(f"{head},{name}\n{row},1\n".encode())


NO_TABLE = [
    pytest.param(b"", ["is empty"], id="empty"),
    pytest.param(as_csv(), ["a header but no row"], id="header only"),
    pytest.param(b"\n\n", ["cannot be read as a table"], id="blank lines"),
    pytest.param(b"hello", ["cannot be read as a table"], id="a word"),
    pytest.param(b"hello\nworld\n", ["'station' is missing", "found: hello"], id="words"),
    pytest.param(as_csv({}).replace(b",", b";"), ["'station' is missing", "model;station"], id="semicolons"),
    pytest.param(bytes(range(256)), ["cannot be read"], id="bytes"),
    pytest.param(b"\x89HDF\r\n\x1a\n" + bytes(200), ["cannot be read"], id="HDF5"),
    pytest.param(b"PAR1" + bytes(100), ["cannot be read as a table"], id="not really Parquet"),
    pytest.param(b"PAR1", ["cannot be read as a table"], id="the beginning of Parquet"),
    pytest.param(as_csv({}) + b"a,b\n", ["Row #3", "Expected 10 columns, got 2"], id="short row"),
    pytest.param(as_csv({}) + b"\x1b[31m,b\n", ["Row #3", r"\x1b[31m"], id="escape code"),
    pytest.param(as_csv({"station": "Größe"}).decode().encode("latin-1"), ["Row #2", "UTF8"], id="Latin-1"),
    pytest.param("größe,x\n1,2\n".encode("latin-1"), ["cannot be read as a table"], id="Latin-1 in the header"),
]


@pytest.mark.parametrize(("content", "words"), NO_TABLE)
def test_what_is_no_table(said, content, words):
    message = said(content)
    for each in words:
        assert each in message


def test_a_short_row_far_below(said):
    rows = [{"station": f"S{number}"} for number in range(20_000)]
    assert "Row #20002" in said(as_csv(*rows) + b"a,b\n" + as_csv({}).splitlines()[1])


def test_a_directory_and_a_missing_file(tmp_path):
    with pytest.raises(BadInput, match=r"is a directory, expected a table of pairs"):
        read_pairs(tmp_path, VARIABLES)
    with pytest.raises(BadInput, match=r"nowhere\.csv: cannot be read: No such file"):
        read_pairs(tmp_path / "nowhere.csv", VARIABLES)


TIMES = [
    # written, what it is in UTC
    ("2026-11-17T06:00Z", "2026-11-17T06:00"),
    ("2026-11-17T06:00:00Z", "2026-11-17T06:00"),
    ("2026-11-17T06:00:00.000Z", "2026-11-17T06:00"),
    ("2026-11-17 06:00", "2026-11-17T06:00"),
    ("2026-11-17T06:00", "2026-11-17T06:00"),
    ("2026-11-17T06Z", "2026-11-17T06:00"),
    ("2026-11-17", "2026-11-17T00:00"),
    ("20261117T0600Z", "2026-11-17T06:00"),
    ("2026-11-17T06:00+00:00", "2026-11-17T06:00"),
    ("2026-11-16T22:00-08:00", "2026-11-17T06:00"),
    ("2026-11-16T22:00-0800", "2026-11-17T06:00"),
    ("2026-11-16 22:00:00-08", "2026-11-17T06:00"),
    ("2026-11-17T11:45+05:45", "2026-11-17T06:00"),
    ("2026-11-17T06:00:00.123456789Z", "2026-11-17T06:00:00.123456"),
]


@pytest.mark.parametrize(("text", "expected"), TIMES)
def test_times_are_brought_to_utc(read, text, expected):
    assert read(as_csv({"valid_time": text}))["valid_time"].tolist() == [utc(expected)]


def test_dates_of_several_days_are_no_mixture_of_zones(read):
    table = read(as_csv({"valid_time": "2026-11-17"}, {"valid_time": "2026-11-18"}))
    assert table["valid_time"].tolist() == [utc("2026-11-17"), utc("2026-11-18")]


def test_duplicates_are_refused(said):
    message = said(as_csv({}, SECOND, {"forecast": "9"}))
    assert "row 4, column 'station': got 'KAAA'" in message
    assert "twice" in message


def test_the_same_pair_in_another_zone_is_a_duplicate_too(said):
    both = {"cycle": "2026-11-16T16:00-08:00"}
    assert "twice" in said(
        as_csv({**both, "valid_time": "2026-11-16T17:00-08:00"}, {**both, "valid_time": "2026-11-16T17:00:00-08:00"})
    )


@pytest.mark.parametrize(
    "change",
    [{"model": "nam"}, {"station": "KBBB"}, {"cycle": "2026-11-16T00:00Z"}, SECOND, {"variable": "wind_gust"}],
    ids=lambda change: next(iter(change)),
)
def test_what_makes_a_pair_another(read, change):
    assert len(read(as_csv({}, change))) == 2


def test_a_station_has_one_position(said):
    message = said(as_csv({}, {**SECOND, "lat": "39.26"}))
    assert "row 3, column 'lat'" in message
    assert "'KAAA'" in message
    assert "two positions" in message


def test_two_stations_at_one_position(read):
    assert len(read(as_csv({}, {"station": "KBBB"}))) == 2


# A knot is 1852 m/h, a mile 1609.344 m; 50 °F are 10 °C.
UNITS = [
    ("wind_speed", "kt", "36", 36 * 1852 / 3600),
    ("wind_gust", "mph", "18", 18 * 1609.344 / 3600),
    ("wind_speed", "m s-1", "7", 7),
    ("wind_speed", "km h-1", "36", 10),
    ("temperature", "°F", "50", 10),
    ("temperature", "K", "283.15", 10),
    ("temperature", "C", "10", 10),
    ("dew_point", "F", "14", -10),
    ("relative_humidity", "1", "0.25", 25),
    ("relative_humidity", "percent", "25", 25),
    ("wind_direction", "degrees", "270", 270),
]


@pytest.mark.parametrize(("variable", "unit", "value", "expected"), UNITS)
def test_units_are_converted_on_both_sides(read, variable, unit, value, expected):
    table = read(as_csv({"variable": variable, "unit": unit, "forecast": value, "observed": value}))
    assert table.loc[0, ["forecast", "observed"]].tolist() == pytest.approx([expected, expected], rel=1e-12)


def test_each_row_has_its_own_unit(read):
    table = read(
        as_csv(
            {"unit": "m/s"},
            {**SECOND, "unit": "kt", "forecast": "36", "observed": ""},
            {"variable": "temperature", "unit": "K", "forecast": "273.15", "observed": "274.15"},
        )
    )
    np.testing.assert_allclose(table["forecast"], [5.5, 36 * 1852 / 3600, 0.0], atol=1e-12)
    np.testing.assert_allclose(table["observed"], [4, np.nan, 1.0], atol=1e-12)


def test_a_share_is_no_direction(said):
    assert "'%' is not one of 'deg'" in said(as_csv({"variable": "wind_direction", "unit": "%"}))


def test_a_variable_of_the_case(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_bytes(as_csv({"variable": "soil", "unit": "1", "forecast": "0.5"}))
    assert read_pairs(path, {"soil": Variable("soil", "Soil", "%")})["forecast"].tolist() == [50.0]


PARQUET = [
    pytest.param({"forecast": pa.array([1, None])}, [1.0, np.nan], id="whole numbers with a gap"),
    pytest.param({"forecast": pa.array([1.5, np.nan])}, [1.5, np.nan], id="NaN"),
    pytest.param({"forecast": pa.array([1.5, None], pa.float32())}, [1.5, np.nan], id="float32"),
    pytest.param({"forecast": pa.array([None, None])}, [np.nan, np.nan], id="nothing at all"),
    pytest.param({"forecast": pa.array([Decimal("1.5"), None])}, [1.5, np.nan], id="decimal"),
    pytest.param({"forecast": pa.array(["1.5", ""])}, [1.5, np.nan], id="text"),
    pytest.param({"forecast": pa.array(["1.5", None])}, [1.5, np.nan], id="text with a gap"),
]


@pytest.mark.parametrize(("columns", "expected"), PARQUET)
def test_numbers_in_parquet(tmp_path, columns, expected):
    table = read_pairs(as_parquet(tmp_path / "x.parquet", **columns), VARIABLES)
    np.testing.assert_array_equal(table["forecast"], expected)


SIX, SEVEN = datetime(2026, 11, 17, 6), datetime(2026, 11, 17, 7)
PARQUET_TIMES = [
    pytest.param(pa.array([SIX, SEVEN], pa.timestamp("s")), id="bare"),
    pytest.param(pa.array([SIX, SEVEN], pa.timestamp("ns")), id="nanoseconds"),
    pytest.param(pa.array([SIX, SEVEN], pa.timestamp("us", "UTC")), id="UTC"),
    pytest.param(pa.array([SIX, SEVEN], pa.timestamp("ms", "America/Los_Angeles")), id="another zone"),
    pytest.param(pa.array(["2026-11-17T06:00", "2026-11-17T07:00"]).dictionary_encode(), id="dictionary"),
]


@pytest.mark.parametrize("values", PARQUET_TIMES)
def test_times_in_parquet(tmp_path, values):
    table = read_pairs(as_parquet(tmp_path / "x.parquet", valid_time=values), VARIABLES)
    assert table["valid_time"].tolist() == [utc("2026-11-17T06:00"), utc("2026-11-17T07:00")]


def test_dates_in_parquet(tmp_path):
    table = read_pairs(as_parquet(tmp_path / "x.parquet", cycle=pa.array([date(2026, 11, 17)] * 2)), VARIABLES)
    assert table["cycle"].tolist() == [utc("2026-11-17")] * 2


NAMES_IN_PARQUET = [
    pytest.param(pa.array(["007", "007"]).dictionary_encode(), "007", id="dictionary"),
    pytest.param(pa.array(["007", "007"], pa.large_string()), "007", id="large text"),
    pytest.param(pa.array([b"007", b"007"]), "007", id="bytes"),
    pytest.param(pa.array([7, 7]), "7", id="numbers"),
]


@pytest.mark.parametrize(("values", "name"), NAMES_IN_PARQUET)
def test_names_in_parquet(tmp_path, values, name):
    table = read_pairs(as_parquet(tmp_path / "x.parquet", station=values), VARIABLES)
    assert table["station"].tolist() == [name, name]


WRONG_PARQUET = [
    pytest.param({"station": pa.array(["a", None])}, ["row 2, column 'station'", "expected a name"], id="no station"),
    pytest.param({"model": pa.array(["a", None])}, ["row 2, column 'model'", "expected a name"], id="no model"),
    pytest.param({"variable": pa.array(["wind_speed", None])}, ["row 2, column 'variable'"], id="no variable"),
    pytest.param({"unit": pa.array(["kt", None])}, ["row 2, column 'unit'", "expected a unit"], id="no unit"),
    pytest.param({"unit": pa.array([None, None], pa.string())}, ["row 1, column 'unit'", "2 such rows"], id="no units"),
    pytest.param(
        {"valid_time": pa.array([SIX, None], pa.timestamp("s"))}, ["row 2, column 'valid_time'", "NaT"], id="no time"
    ),
    pytest.param(
        {"valid_time": pa.array([SIX, None], pa.timestamp("s", "UTC"))}, ["row 2", "'valid_time'"], id="no time, UTC"
    ),
    pytest.param(
        {"cycle": pa.array([0, 2**58], pa.timestamp("ms"))}, ["row 2, column 'cycle'", "between 1900"], id="far away"
    ),
    pytest.param({"cycle": pa.array([1.0, 2.0])}, ["row 1, column 'cycle'", "ISO 8601"], id="number for a time"),
    pytest.param({"cycle": pa.array([None, None])}, ["row 1, column 'cycle'"], id="no times"),
    pytest.param({"forecast": pa.array([True, False])}, ["row 1, column 'forecast'", "number"], id="switch"),
    pytest.param({"forecast": pa.array([[1.0], [2.0]])}, ["row 1, column 'forecast'", "number"], id="list"),
    pytest.param({"forecast": pa.array([1.0, -np.inf])}, ["row 2, column 'forecast'", "finite"], id="inf"),
    pytest.param({"lat": pa.array([39.0, None])}, ["row 2, column 'lat'", "between -90"], id="no lat"),
    pytest.param({"station": pa.array([b"a", b"\xff"])}, ["column 'station'", "cannot be read"], id="bytes"),
]


@pytest.mark.parametrize(("columns", "words"), WRONG_PARQUET)
def test_wrong_values_in_parquet(tmp_path, columns, words):
    path = as_parquet(tmp_path / "x.parquet", **columns)
    with pytest.raises(BadInput) as refused:
        read_pairs(path, VARIABLES)
    assert str(refused.value).startswith(f"{path}: ")
    for each in words:
        assert each in str(refused.value)


def test_a_parquet_file_takes_nothing_from_its_folder(tmp_path):
    folder = tmp_path / "model=evil" / "station=other"
    folder.mkdir(parents=True)
    table = read_pairs(as_parquet(folder / "x.parquet"), VARIABLES)
    assert table["model"].tolist() == ["gfs", "gfs"]
    assert table["station"].tolist() == ["KAAA", "KAAA"]


def table_or_refused(path: Path) -> None:
    """A table, or `BadInput` with the file's name; anything else fails."""
    message = ""
    try:
        table = read_pairs(path, VARIABLES)
    except BadInput as error:
        message = str(error)
    if message:
        assert message.startswith(f"{path}: ")
        assert message.isprintable()
        return
    assert not table[["lat", "lon", "cycle", "valid_time", "station", "variable"]].isna().any().any()
    assert np.isfinite(table[["forecast", "observed"]].to_numpy(na_value=0.0)).all()


@LAW
@given(
    content=st.one_of(st.binary(max_size=300), st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore")))
)
def test_any_bytes(tmp_path, content):
    path = tmp_path / "any"
    path.write_bytes(content)
    table_or_refused(path)


@LAW
@given(data=st.data())
def test_csv_with_any_bytes_changed(tmp_path, data):
    content = bytearray(as_csv({}, SECOND, {"variable": "temperature", "unit": "degF"}))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "any.csv"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    table_or_refused(path)


@LAW
@given(data=st.data())
def test_parquet_with_any_bytes_changed_or_cut_off(tmp_path, data):
    path = as_parquet(tmp_path / "any.parquet", cycle=pa.array([SIX, SIX], pa.timestamp("us", "UTC")))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, len(content) - 1]))])
    table_or_refused(path)


@LAW
@given(data=st.data())
def test_any_value_in_any_column(tmp_path, data):
    column = data.draw(st.sampled_from(COLUMNS))
    odd = st.sampled_from(
        ["", "0", "-0", "1e308", "NaN", "Z", "+00:00", "2026-02-29", "0001-01-01T00:00Z", "°", "m^9^9^9", "\ufeff", "٣"]
    )
    value = data.draw(
        st.one_of(odd, st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=12))
    )
    path = tmp_path / "any.csv"
    path.write_bytes(as_csv({}, {**SECOND, column: value}))
    table_or_refused(path)
