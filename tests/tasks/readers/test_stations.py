"""Station reports: both layouts, units, names, many files; and what is said of a file that cannot be used."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.rules import MatchingRules
from metrics.errors import BadInput, MissingInput
from metrics.variables import VARIABLES, Variable
from tasks.readers.formats import StationWishes
from tasks.readers.stations import Observations, read_places, read_stations

HEAD = "station,lat,lon,time"
WIDE = f"""\
{HEAD},wind_speed [m/s],wind_direction [deg],temperature [degC]
B,39.5,-120.5,2026-11-17T01:00Z,5,270,11
A,39.0,-120.0,2026-11-17T01:00Z,4,90,
A,39.0,-120.0,2026-11-17T00:00Z,3,,10
"""
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def read(tmp_path):
    """Reads texts (or bytes), each as a file of its own."""

    def reading(*texts, variables=VARIABLES):
        paths = []
        for number, text in enumerate(texts):
            paths.append(tmp_path / f"obs{number}.csv")
            paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_stations(paths, variables)

    return reading


def values(observations, variable):
    """A variable by station and hour."""
    reports = observations.reports
    return {
        (row["station"], row["time"].hour): row[variable]
        for _, row in reports.iterrows()
        if not np.isnan(row[variable])
    }


def test_the_wide_layout(read):
    found = read(WIDE)
    assert found.stations["station"].tolist() == ["A", "B"]
    assert found.stations[["lat", "lon"]].to_numpy().tolist() == [[39.0, -120.0], [39.5, -120.5]]
    assert found.number.tolist() == [0, 0, 1]
    midnight = pd.Timestamp("2026-11-17T00:00Z").timestamp()
    assert (found.seconds - midnight).tolist() == [0, 3600, 3600]
    assert values(found, "wind_speed") == {("A", 0): 3.0, ("A", 1): 4.0, ("B", 1): 5.0}
    assert values(found, "wind_direction") == {("A", 1): 90.0, ("B", 1): 270.0}
    assert values(found, "temperature") == {("A", 0): 10.0, ("B", 1): 11.0}


def test_the_long_layout_says_the_same(read):
    long = f"""\
{HEAD},variable,unit,value
B,39.5,-120.5,2026-11-17T01:00Z,wind_direction,deg,270
A,39.0,-120.0,2026-11-17T01:00Z,wind_speed,m/s,4
B,39.5,-120.5,2026-11-17T01:00Z,wind_speed,m/s,5
A,39.0,-120.0,2026-11-17T00:00Z,temperature,degC,10
A,39.0,-120.0,2026-11-17T00:00Z,wind_speed,m/s,3
B,39.5,-120.5,2026-11-17T01:00Z,temperature,degC,11
A,39.0,-120.0,2026-11-17T01:00Z,wind_direction,deg,90
"""
    one, other = read(WIDE), read(long)
    for variable in ("wind_speed", "wind_direction", "temperature"):
        assert values(one, variable) == values(other, variable)
    assert one.number.tolist() == other.number.tolist()
    assert one.seconds.tolist() == other.seconds.tolist()


UNITS = [
    ("wind_speed", "kt", 36, 36 * 1852 / 3600),
    ("wind_speed", "knots", 36, 36 * 1852 / 3600),
    ("wind_speed", "mph", 10, 10 * 1609.344 / 3600),
    ("wind_speed", "km/h", 36, 10.0),
    ("wind_speed", "m s-1", 7, 7.0),
    ("wind_gust", "kt", 100, 100 * 1852 / 3600),
    ("temperature", "degF", 50, 10.0),
    ("temperature", "°F", -40, -40.0),
    ("temperature", "K", 273.15, 0.0),
    ("relative_humidity", "1", 0.25, 25.0),
    ("wind_direction", "degrees", 350, 350.0),
]


@pytest.mark.parametrize(("variable", "unit", "given_value", "expected"), UNITS)
def test_units_are_converted_in_both_layouts(read, variable, unit, given_value, expected):
    place = "A,39.0,-120.0,2026-11-17T00:00Z"
    wide = read(f"{HEAD},{variable} [{unit}]\n{place},{given_value}\n")
    long = read(f"{HEAD},variable,unit,value\n{place},{variable},{unit},{given_value}\n")
    for found in (wide, long):
        assert found.reports[variable].item() == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_missing_code_in_knots_is_still_one(read):
    found = read(f"{HEAD},wind_speed [kt]\nA,39.0,-120.0,2026-11-17T00:00Z,-9999\n")
    assert found.reports["wind_speed"].item() == -9999


def test_units_may_change_from_row_to_row_of_the_long_layout(read):
    place = "A,39.0,-120.0,2026-11-17T0"
    found = read(f"{HEAD},variable,unit,value\n{place}0:00Z,temperature,degF,50\n{place}1:00Z,temperature,K,273.15\n")
    assert found.reports["temperature"].to_numpy() == pytest.approx([10.0, 0.0], abs=1e-9)


@pytest.mark.parametrize("text", ["VRB", "vrb", " VRB "])
def test_a_wind_of_no_one_direction(read, text):
    place = "A,39.0,-120.0,2026-11-17T00:00Z"
    wide = read(f"{HEAD},wind_speed [m/s],wind_direction [deg]\n{place},1.5,{text}\n")
    long = read(f"{HEAD},variable,unit,value\n{place},wind_speed,m/s,1.5\n{place},wind_direction,deg,{text}\n")
    for found in (wide, long):
        assert found.reports["variable_direction"].tolist() == [True]
        assert found.reports["wind_speed"].tolist() == [1.5]
        assert np.isnan(found.reports["wind_direction"].item())


def test_only_a_direction_may_vary(read):
    with pytest.raises(BadInput, match=r"obs0\.csv: row 2, column 'wind_speed \[m/s\]': got 'VRB'"):
        read(f"{HEAD},wind_speed [m/s]\nA,39.0,-120.0,2026-11-17T00:00Z,VRB\n")


def test_optional_columns(read):
    found = read(
        f"{HEAD},network,elevation,height [ft],averaging,wind_speed [m/s]\n"
        "A,39.0,-120.0,2026-11-17T00:00Z,RAWS,1200,20,10,3\n"
        "B,39.5,-120.0,2026-11-17T00:00Z,ASOS,,,2,3\n"
    )
    stations = found.stations.set_index("station")
    assert stations["network"].tolist() == ["RAWS", "ASOS"]
    assert stations["elevation"].fillna(-1).tolist() == [1200, -1]
    assert stations.loc["A", "height"] == pytest.approx(20 * 0.3048)
    assert np.isnan(stations.loc["B", "height"])
    assert stations["averaging"].tolist() == [10, 2]
    rules = MatchingRules(tolerance=0.25, networks={"RAWS": 0.5})
    assert found.tolerances(rules, 1.0).tolist() == [0.5, 0.25]
    assert found.tolerances(rules, 0.25).tolist() == [0.125, 0.125]  # at most half the step (D-73)


def test_many_files_are_one_network_and_of_a_repeated_report_the_first_file_counts(read):
    other = f"""\
{HEAD},network,wind_speed [kt]
A,39.0,-120.0,2026-11-17T00:00Z,X,36
C,38.0,-119.0,2026-11-17T00:00Z,X,36
"""
    found = read(WIDE, other)
    assert found.stations["station"].tolist() == ["A", "B", "C"]
    assert found.stations["network"].tolist() == ["X", "", "X"]
    speeds = found.reports["wind_speed"].tolist()
    assert speeds == pytest.approx([3.0, 18.52, 4.0, 5.0, 18.52])
    assert "obs0.csv" in found.name


def test_a_repeated_report_stays_two_in_the_long_layout(read):
    place = "A,39.0,-120.0,2026-11-17T00:00Z"
    found = read(
        f"{HEAD},variable,unit,value\n{place},wind_speed,m/s,3\n{place},wind_direction,deg,90\n"
        f"{place},wind_speed,m/s,4\n{place},wind_direction,deg,180\n"
    )
    assert found.reports[["wind_speed", "wind_direction"]].to_numpy().tolist() == [[3, 90], [4, 180]]


def test_times_are_taken_to_the_second(read):
    row = "A,39.0,-120.0,2026-11-17T00:00:00"
    found = read(f"{HEAD},wind_speed [m/s]\n{row}.1Z,3\n{row}.7Z,4\n")
    assert found.reports.duplicated(["station", "time"]).tolist() == [False, True]


NAMES = ["NA", "null", "007", "7", "nan", "a,b", 'say "hi"', "🔥", "$x$", "<b>", "[/red]", "Ä b", "-", "1e5", "True"]


def test_stations_may_be_called_anything(read):
    rows = [f'"{name.replace(chr(34), 2 * chr(34))}",39.0,-120.0,2026-11-17T00:00Z,3' for name in NAMES]
    found = read(f"{HEAD},wind_speed [m/s]\n" + "\n".join(rows) + "\n")
    assert sorted(found.stations["station"]) == sorted(NAMES)
    assert found.stations["station"].to_numpy()[found.number].tolist() == found.reports["station"].tolist()


def test_a_very_long_name_does_not_cost_its_length_for_every_report(read):
    rows = [f"{'x' * 200_000},1,1,2026-11-17T00:00Z,3"]
    rows += [f"B,1,1,2026-11-17T{hour:02d}:{minute:02d}Z,3" for hour in range(24) for minute in range(60)]
    found = read(f"{HEAD},wind_speed [m/s]\n" + "\n".join(rows) + "\n")
    assert found.number.tolist() == [0] * 1440 + [1]


def test_bom_and_windows_line_ends(read):
    assert values(read(b"\xef\xbb\xbf" + WIDE.replace("\n", "\r\n").encode()), "wind_speed")[("A", 1)] == 4.0


def test_parquet(tmp_path):
    path = tmp_path / "obs.parquet"
    table = pa.table(
        {
            "station": pa.array(["NA", "007"]).dictionary_encode(),
            "lat": [39.0, 39.5],
            "lon": pa.array([-120, -121], pa.int32()),
            "time": pa.array([pd.Timestamp("2026-11-17T01:00")] * 2, pa.timestamp("ms")),
            "wind_speed [kt]": pa.array([36.0, None], pa.float32()),
            "wind_direction [deg]": ["VRB", None],
        }
    )
    pyarrow.parquet.write_table(table, path)
    found = read_stations([path], VARIABLES)
    assert found.stations["station"].tolist() == ["007", "NA"]
    assert found.reports["wind_speed"].to_numpy() == pytest.approx([np.nan, 18.52], nan_ok=True)
    assert found.reports["variable_direction"].tolist() == [False, True]


def test_a_variable_of_the_case(read):
    own = {**VARIABLES, "energy": Variable("energy", "Energy", "J")}
    found = read(f"{HEAD},energy [kJ]\nA,39.0,-120.0,2026-11-17T00:00Z,2\n", variables=own)
    assert found.reports["energy"].item() == pytest.approx(2000)


# --- what cannot be used ---------------------------------------------------------------------------------------------

ROW = "A,39.0,-120.0,2026-11-17T00:00Z"
BAD = [
    pytest.param(
        "lat,lon,time,wind_speed [m/s]\n1,1,2026-11-17T00:00Z,3\n", "column 'station' is missing", id="column"
    ),
    pytest.param(f"{HEAD},wind_speed\n{ROW},3\n", "'wind_speed' has no unit", id="no unit"),
    pytest.param(
        f"{HEAD},wind_speed [furlong]\n{ROW},3\n", r"'wind_speed \[furlong\]'.*'furlong'", id="other quantity"
    ),
    pytest.param(f"{HEAD},wind_speed [blah]\n{ROW},3\n", r"'wind_speed \[blah\]'.*unknown unit 'blah'", id="unit"),
    pytest.param(f"{HEAD},wind_speed []\n{ROW},3\n", r"wind_speed \[\]", id="empty unit"),
    pytest.param(f"{HEAD},height [blah],wind_speed [m/s]\n{ROW},3,3\n", r"height \[blah\]", id="unit of the height"),
    pytest.param(f"{HEAD},variable,unit,value\n{ROW},wind_sped,m/s,3\n", "row 2, column 'variable'", id="variable"),
    pytest.param(f"{HEAD},variable,unit,value\n{ROW},wind_speed,,3\n", "value of wind_speed", id="long without unit"),
    pytest.param(f"{HEAD},foo\n{ROW},3\n", "no variable in it", id="no variable"),
    pytest.param(
        f"{HEAD},wind_speed [m/s],wind_speed [kt]\n{ROW},3,3\n", "wind_speed stands there twice", id="two units"
    ),
    pytest.param(f"{HEAD},lat,wind_speed [m/s]\n{ROW},3,3\n", "column 'lat' stands there twice", id="two columns"),
    pytest.param(
        f"{HEAD},height,height [ft],wind_speed [m/s]\n{ROW},3,3,3\n", "height stands there twice", id="heights"
    ),
    pytest.param(
        f"{HEAD},wind_speed [m/s]\n{ROW},3\nA,39.0,-120.0,2026-11-17T01:00,3\n",
        "row 3, column 'time'.*mixed time zones",
        id="mixed zones",
    ),
    pytest.param(
        f"{HEAD},wind_speed [m/s]\n{ROW},3\nA,39.0,-120.0,2026-11-17T01:00+01:00,3\n",
        "row 3, column 'time'.*mixed time zones",
        id="two zones",
    ),
    pytest.param(
        f"{HEAD},wind_speed [m/s]\n{ROW},3\nA,39.1,-120.0,2026-11-17T01:00Z,3\n",
        "station 'A' has two positions",
        id="two positions",
    ),
    pytest.param(f"{HEAD},wind_speed [m/s]\n", "a header but no row", id="header only"),
    pytest.param("", "is empty", id="empty"),
    pytest.param("\n\n\n", "", id="blank lines"),
    pytest.param(f"{HEAD},wind_speed [m/s]\n{ROW},3\nA,39.0,-1", "", id="cut in half"),
    pytest.param(f"{HEAD},wind_speed [m/s]\n{ROW},three\n", "row 2.*'three'.*expected a number", id="text in numbers"),
    pytest.param(f"{HEAD},wind_speed [m/s]\n{ROW},inf\n", "row 2.*finite", id="infinite"),
    pytest.param(f"{HEAD},wind_speed [m/s]\nA,north,-120,2026-11-17T00:00Z,3\n", "row 2, column 'lat'", id="latitude"),
    pytest.param(f"{HEAD},wind_speed [m/s]\nA,39,-120,17 Nov 2026,3\n", "row 2, column 'time'", id="a time in words"),
    pytest.param(f"{HEAD},wind_speed [m/s]\n,39,-120,2026-11-17T00:00Z,3\n", "row 2, column 'station'", id="no name"),
    pytest.param(f"{HEAD},height,wind_speed [m/s]\n{ROW},tall,3\n", "row 2, column 'height'", id="height in words"),
    pytest.param(f"{HEAD},wind_speed [m/s]\n".encode() + b"\xff\xfe,39,-120,2026-11-17T00:00Z,3\n", "", id="not UTF-8"),
    pytest.param(b"PAR1" + bytes(40), "", id="no Parquet after all"),
    pytest.param(b"\x89HDF\r\n\x1a\n" + bytes(40), "", id="a grid"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_a_file_that_cannot_be_used_is_named_with_what_is_wrong(read, text, said):
    with pytest.raises(BadInput, match=rf"(?s)obs0\.csv.*{said}"):
        read(text)


def test_two_positions_in_two_files(read):
    with pytest.raises(BadInput, match=r"obs0\.csv, obs1\.csv: station 'A' has two positions"):
        read(WIDE, f"{HEAD},wind_speed [m/s]\nA,39.1,-120.0,2026-11-17T05:00Z,3\n")


def test_a_directory(tmp_path):
    with pytest.raises(BadInput, match="is a directory"):
        read_stations([tmp_path], VARIABLES)


def test_a_file_that_went_away(tmp_path):
    with pytest.raises(MissingInput, match=r"gone\.csv"):
        read_stations([tmp_path / "gone.csv"], VARIABLES)


def answer(read, content):
    """Observations or a message that names the file; a warning is as bad as any other error."""
    said = "obs0.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = read(content)
        except BadInput as error:
            found, said = None, str(error)
    assert "obs0.csv" in said
    if found is not None:
        assert isinstance(found, Observations)
        assert len(found.reports) == len(found.number) == len(found.seconds) > 0


@FUZZ
@given(st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(lambda each: b"PAR1" + each)))
def test_random_bytes(read, content):
    answer(read, content)


LONG = f"""\
{HEAD},network,variable,unit,value
A,39.0,-120.0,2026-11-17T01:00Z,RAWS,wind_speed,kt,4
A,39.0,-120.0,2026-11-17T01:00Z,RAWS,wind_direction,deg,VRB
"""


@FUZZ
@given(st.sampled_from([WIDE, LONG]), st.data())
def test_cut_and_altered_text(read, text, data):
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
        raw = raw or bytearray(b"x")
    answer(read, bytes(raw[: data.draw(st.integers(1, len(raw)))]))


@FUZZ
@given(st.data())
def test_cut_and_altered_parquet(read, parquet, data):
    raw = bytearray(parquet)
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    answer(read, bytes(raw[: data.draw(st.sampled_from([len(raw), len(raw) // 2, len(raw) - 4]))]))


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "obs.parquet"
    pd.DataFrame(
        {"station": ["A", "B"], "lat": 39.0, "lon": -120.0, "time": "2026-11-17T00:00Z", "wind_speed [kt]": [3.0, 4.0]}
    ).to_parquet(path, compression="none")
    return path.read_bytes()


CELLS = st.sampled_from(
    ["", "A", "NA", "3", "-9999", "VRB", "1e400", "2026-11-17T00:00Z", "2026-11-17", "é", '"', "39,0"]
)


@FUZZ
@given(
    st.lists(
        st.sampled_from(
            ["station", "lat", "lon", "time", "wind_speed [kt]", "wind_direction [deg]", "height", "variable"]
        ),
        min_size=1,
        max_size=9,
    ),
    st.lists(st.lists(CELLS, min_size=1, max_size=9), max_size=4),
)
def test_tables_of_any_columns_and_cells(read, header, rows):
    answer(read, "\n".join(",".join(each) for each in [header, *rows]) + "\n")


# --- a table of stations beside the data -----------------------------------------------------------------------------

PLACES = """\
name,station,lat,lon,elevation [ft],height,averaging,network
the first,A,40.0,-120.0,1000,6.1,10,RAWS
the second,B,41.0,240.5,,,,
"""
NOWHERE = "station,time,wind_speed [m/s]\nB,2026-11-17T01:00Z,5\nA,2026-11-17T01:00Z,4\nC,2026-11-17T01:00Z,6\n"


@pytest.fixture
def places(tmp_path):
    """Reads a table of stations."""

    def reading(text, name="stations.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_places(path)

    return reading


@pytest.fixture
def read_beside(tmp_path, places):
    """Reads reports with a table of stations beside them."""

    def reading(reports, table):
        path = tmp_path / "obs.csv"
        path.write_text(reports)
        return read_stations([path], VARIABLES, wishes=StationWishes(places=places(table)))

    return reading


def test_what_a_table_of_stations_says(places):
    found = places(PLACES)
    assert found.index.tolist() == ["A", "B"]
    assert found[["lat", "lon"]].to_numpy().tolist() == [[40.0, -120.0], [41.0, 240.5]]
    assert found.loc["A", "elevation"] == pytest.approx(1000 * 0.3048)
    assert found.loc["A", ["height", "averaging", "network"]].tolist() == [6.1, 10.0, "RAWS"]
    assert found.loc["B", ["elevation", "height", "averaging", "network"]].isna().all()
    assert "name" not in found


def test_a_table_of_stations_in_parquet(tmp_path):
    path = tmp_path / "stations.parquet"
    pyarrow.parquet.write_table(pa.table({"station": ["NA"], "lat": [39.5], "lon": pa.array([-120], pa.int16())}), path)
    assert read_places(path).loc["NA"].tolist() == [39.5, -120.0]


BAD_PLACES = [
    pytest.param("station,lat\nA,40\n", "the column 'lon' is missing.*found: station, lat", id="no longitude"),
    pytest.param("station,lat,lat,lon\nA,1,1,1\n", "'lat' stands there twice", id="two latitudes"),
    pytest.param(
        "station,lat,lon,height,height [ft]\nA,1,1,1,1\n", "'height' stands there twice", id="heights in two units"
    ),
    pytest.param("station,lat,lon\nA,40,1\nA,41,1\n", "row 3.*'A'; this station stands there twice", id="twice"),
    pytest.param("station,lat,lon\n,40,1\n", "row 2.*expected a name", id="no name"),
    pytest.param("station,lat,lon\nA,91,1\n", "row 2, column 'lat'.*from -90 to 90", id="beyond the pole"),
    pytest.param("station,lat,lon\nA,40,-790.2\n", "row 2, column 'lon'.*from -180 to 360", id="twice around"),
    pytest.param("station,lat,lon\nA,40,\n", "row 2, column 'lon'", id="no number"),
    pytest.param("station,lat,lon\nA,40,east\n", "row 2, column 'lon'.*expected a number", id="a word"),
    pytest.param("station,lat,lon,elevation [kg]\nA,40,1,1\n", r"elevation \[kg\]", id="unit"),
    pytest.param("station,lat,lon\n", "a header but no station", id="header only"),
    pytest.param("", "is empty", id="empty"),
    pytest.param(b"\xff\xfes\0t\0", "", id="UTF-16"),
]


@pytest.mark.parametrize(("text", "said"), BAD_PLACES)
def test_a_table_of_stations_that_cannot_be_used(places, text, said):
    with pytest.raises(BadInput, match=rf"(?s)stations\.csv.*{said}"):
        places(text)


def test_reports_without_positions_get_those_of_the_table(read_beside):
    found = read_beside(NOWHERE, PLACES)
    assert found.stations["station"].tolist() == ["A", "B"]
    assert found.stations[["lat", "lon"]].to_numpy().tolist() == [[40.0, -120.0], [41.0, 240.5]]
    assert found.stations["network"].tolist() == ["RAWS", ""]
    assert values(found, "wind_speed") == {("A", 1): 4.0, ("B", 1): 5.0}


def test_stations_that_the_table_does_not_know_are_left_out_and_counted(read_beside):
    assert read_beside(NOWHERE, PLACES).not_listed == 1
    assert read_beside(NOWHERE, PLACES + "the third,C,40,-120,,,,\n").not_listed == 0


def test_the_table_wins_over_what_the_file_says(read_beside):
    reports = f"{HEAD},network,height,wind_speed [m/s]\nA,1,2,2026-11-17T01:00Z,X,2,4\nB,1,2,2026-11-17T01:00Z,Y,3,5\n"
    found = read_beside(reports, PLACES).stations.set_index("station")
    assert found.loc["A", ["lat", "lon", "network", "height"]].tolist() == [40.0, -120.0, "RAWS", 6.1]
    assert found.loc["B", ["lat", "lon", "network", "height"]].tolist() == [
        41.0,
        240.5,
        "Y",
        3.0,
    ]  # where it says nothing


def test_a_table_of_other_stations(read_beside):
    with pytest.raises(
        BadInput, match=r"obs\.csv: none of its stations is in the table of stations: B, A, C here, X there"
    ):
        read_beside(NOWHERE, "station,lat,lon\nX,40,1\n")


def test_without_positions_there_is_a_hint_at_the_table(read, tmp_path):
    with pytest.raises(BadInput, match=r"there is no position of station 'A', nor of another one; say `stations:`"):
        read(f"{HEAD},wind_speed [m/s]\nA,,,2026-11-17T00:00Z,3\n")


def test_a_position_that_is_nowhere_on_earth_is_none(read):
    found = read(f"{HEAD},wind_speed [m/s]\nA,39.0,-790.2,2026-11-17T00:00Z,3\nB,39.0,-120.0,2026-11-17T00:00Z,4\n")
    assert found.stations["station"].tolist() == ["A", "B"]
    assert found.stations.loc[0, ["lat", "lon"]].isna().all()


def test_a_position_that_only_one_of_two_files_knows(read):
    found = read(WIDE, f"{HEAD},wind_speed [m/s]\nA,,,2026-11-17T05:00Z,3\n")
    assert found.stations.loc[0, ["lat", "lon"]].tolist() == [39.0, -120.0]
    assert found.number.tolist() == [0, 0, 0, 1]


@FUZZ
@given(st.data())
def test_cut_and_altered_tables_of_stations(places, data):
    raw = bytearray(PLACES.encode())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    said = "stations.csv"
    try:
        found = places(bytes(raw))
    except BadInput as error:
        found, said = None, str(error)
    assert "stations.csv" in said
    assert found is None or found[["lat", "lon"]].notna().all(axis=None)
