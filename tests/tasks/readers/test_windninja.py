"""WindNinja's station files: units from row to row, positions and datums, lists, and what cannot be used."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.formats import OBSERVED
from metrics.errors import BadInput
from tasks.readers.formats import StationWishes, recognise
from tasks.readers.windninja import read_reports

HEAD = (
    '"Station_Name","Coord_Sys(PROJCS,GEOGCS)","Datum(WGS84,NAD83,NAD27)","Lat/YCoord","Lon/XCoord","Height",'
    '"Height_Units(meters,feet)","Speed","Speed_Units(mph,kph,mps,kts)","Direction(degrees)","Temperature",'
    '"Temperature_Units(F,C)","Cloud_Cover(%)","Radius_of_Influence","Radius_of_Influence_Units(miles,feet,meters,km)",'
    '"date_time"'
)
ROW = "KMSO,GEOGCS,WGS84,46.9208,-114.093,10,meters,1.54,mps,350,19,C,100,-1,km,2018-06-21T02:30:00Z"
OTHER = "KMSO,GEOGCS,NAD83,46.9208,-114.093,20,feet,10,mph,90,50,F,100,-1,km,2018-06-21T02:35:00Z"
TABLE = f"{HEAD}\n{ROW}\n{OTHER}\n"
PLACES = pd.DataFrame({"station": ["KMSO"], "lat": [1.0], "lon": [2.0]}).set_index("station")
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def read(tmp_path):
    def reading(text, **wishes):
        path = tmp_path / "ninja.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_reports(path, StationWishes(**wishes))

    return reading


def test_every_row_has_its_own_units(read):
    first, second = read(TABLE).to_dict("records")
    assert (first["station"], first["lat"], first["lon"], first["height"]) == ("KMSO", 46.9208, -114.093, 10.0)
    assert first["time"] == pd.Timestamp("2018-06-21T02:30Z")
    assert (first["wind_speed"], first["wind_direction"], first["temperature"]) == (1.54, 350.0, 19.0)
    assert second["height"] == pytest.approx(20 * 0.3048)
    assert second["wind_speed"] == pytest.approx(10 * 1609.344 / 3600)
    assert second["temperature"] == pytest.approx(10)


@pytest.mark.parametrize(("unit", "metres"), [("mps", 1), ("kph", 1 / 3.6), ("kts", 1852 / 3600), ("MPH", 0.44704)])
def test_units_of_speed(read, unit, metres):
    assert read(f"{HEAD}\n{ROW.replace('mps', unit)}\n")["wind_speed"].item() == pytest.approx(1.54 * metres)


def test_nothing_is_missing_and_needs_no_unit(read):
    (row,) = read(f"{HEAD}\n{ROW.replace('1.54,mps,350,19,C', ',,,,')}\n").to_dict("records")
    assert all(np.isnan(row[name]) for name in ("wind_speed", "wind_direction", "temperature"))


def test_local_times_in_the_zone_of_the_case(read):
    found = read(f"{HEAD}\n{ROW.replace('00Z', '00')}\n", zone="America/Denver")
    assert found["time"].item() == pd.Timestamp("2018-06-21T08:30Z")


@pytest.mark.parametrize("row", [ROW.replace("GEOGCS", "PROJCS"), ROW.replace("WGS84", "NAD27")])
def test_positions_of_another_kind_need_a_table_of_stations(read, row):
    with pytest.raises(BadInput, match=r"ninja\.csv: row 2.*expected .*`stations:`"):
        read(f"{HEAD}\n{row}\n")
    assert read(f"{HEAD}\n{row}\n", places=PLACES)[["lat", "lon"]].isna().all(axis=None)


def test_it_is_recognised(tmp_path):
    for text in (TABLE, TABLE.replace("date_time", "datetime"), "Station_File_List,\na.csv\n"):
        (tmp_path / "a.csv").write_text(text)
        assert recognise(tmp_path / "a.csv", OBSERVED).name == "windninja"


def test_a_list_of_files_is_refused_with_the_path_to_write(read):
    with pytest.raises(BadInput, match=r"is a list of 2 station files .*such as '\*-MDT-2018-\*\.csv'"):
        read("Station_File_List,\nKMSO-MDT-2018-0.csv\nTR266-MDT-2018-1.csv\n\n")
    with pytest.raises(BadInput, match=r"is a list of 2 station files .*not the list \(aa\.csv, bb\.csv\)"):
        read("Recent_Station_File_List,\naa.csv\nbb.csv\n")


BAD = [
    pytest.param(f"{HEAD}\n", "a header but no row", id="header only"),
    pytest.param(TABLE.replace("Speed_Units", "Speed_Unit"), "'speed_units' is missing", id="no units"),
    pytest.param(TABLE.replace("Height_Units", "H_Units"), "'height_units' is missing", id="no unit of the height"),
    pytest.param(
        f"{HEAD}\n{ROW}\n{OTHER.replace('mph', 'furlongs')}\n",
        "row 3, column 'Speed_Units.*'furlongs'; expected mph, kph",
        id="unit",
    ),
    pytest.param(f"{HEAD}\n{ROW.replace(',mps,', ',,')}\n", "row 2, column 'Speed_Units", id="speed without unit"),
    pytest.param(
        f"{HEAD}\n{ROW.replace('2018-06-21T02:30:00Z', '')}\n", "row 2.*of one moment says none", id="one moment"
    ),
    pytest.param(f"{HEAD}\n{ROW.replace('00Z', '00')}\n", "row 2.*with its zone.*say `zone:`", id="no zone"),
    pytest.param(f"{HEAD}\n{ROW.replace('1.54', 'calm')}\n", "row 2, column 'Speed'.*expected a number", id="word"),
    pytest.param(f"{HEAD}\n{ROW[:60]}", "", id="cut in half"),
    pytest.param(HEAD.encode() + b"\n\xe9" + ROW.encode() + b"\n", "", id="latin-1"),
    pytest.param(TABLE.encode("utf-16"), "", id="UTF-16"),
    pytest.param("", "is empty", id="empty"),
]


@pytest.mark.parametrize(("text", "said"), BAD)
def test_what_cannot_be_used(read, text, said):
    with pytest.raises(BadInput, match=rf"(?s)ninja\.csv.*{said}"):
        read(text)


def test_names_are_of_no_use(read):
    with pytest.raises(BadInput, match="`names:` is of no use"):
        read(TABLE, names={"wind_speed": "Speed"})


def answer(read, content):
    said = "ninja.csv"
    try:
        assert len(read(content))
    except BadInput as error:
        said = str(error)
    assert "ninja.csv" in said


@FUZZ
@given(st.data())
def test_cut_and_altered_text(read, data):
    raw = bytearray(data.draw(st.sampled_from([TABLE, "Station_File_List,\nab-1.csv\nab-2.csv\n"])).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    answer(read, bytes(raw[: data.draw(st.integers(1, len(raw)))]))


CELLS = st.sampled_from(
    ["", "A", "NA", "GEOGCS", "PROJCS", "mps", "C", "3", "1e400", "2018-06-21T02:30:00Z", "é", "feet"]
)


@FUZZ
@given(st.lists(st.lists(CELLS, min_size=16, max_size=16), max_size=4))
def test_rows_of_any_cells(read, rows):
    answer(read, "\n".join([HEAD, *(",".join(each) for each in rows)]) + "\n")


@FUZZ
@given(st.lists(st.tuples(st.integers(0, 15), CELLS), max_size=3))
def test_a_good_row_with_other_cells(read, changes):
    cells = ROW.split(",")
    for place, cell in changes:
        cells[place] = cell
    answer(read, f"{HEAD}\n{','.join(cells)}\n{OTHER}\n")
