"""MET's matched pairs, by the layout that its documentation gives; winds, repetitions, files that cannot be used."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.case import read_case
from configs.formats import MODEL, OBSERVED
from configs.window import Window
from flows.check import check_case
from metrics.errors import BadInput, FirecardError
from metrics.variables import VARIABLES, Variable
from tasks.families.weather import matched, results_of
from tasks.find import find_files, latest_cycle
from tasks.matching.pairs import match_pairs
from tasks.readers.formats import Head, candidates, recognise
from tasks.readers.met import read_pairs
from tasks.reducing.sample import night

HEAD = (
    "VERSION MODEL DESC FCST_LEAD FCST_VALID_BEG FCST_VALID_END OBS_LEAD OBS_VALID_BEG OBS_VALID_END FCST_VAR"
    " FCST_UNITS FCST_LEV OBS_VAR OBS_UNITS OBS_LEV OBTYPE VX_MASK INTERP_MTHD INTERP_PNTS FCST_THRESH OBS_THRESH"
    " COV_THRESH ALPHA LINE_TYPE"
)
MPR = " TOTAL INDEX OBS_SID OBS_LAT OBS_LON OBS_LVL OBS_ELV FCST OBS OBS_QC CLIMO_MEAN CLIMO_STDEV CLIMO_CDF"
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def row(
    variable="TMP",
    forecast="283.15",
    observed="282.15",
    *,
    station="KBOU",
    unit="K",
    units=None,
    level="Z2",
    valid="20261117_120000",
    measured=None,
    lead="120000",
    model="HRRR",
    mask="FULL",
    method="BILIN",
    obtype="ADPSFC",
    place="40.0 -105.3",
    other=None,
    version="V10.0.0",
):
    """One line of MPR as version 10 writes it."""
    measured = measured or valid
    head = f"{version} {model} NA {lead} {valid} {valid} 000000 {measured} {measured} {variable} {unit} {level}"
    head += f" {other or variable} {units or unit} {level} {obtype} {mask} {method} 4 NA NA NA NA MPR"
    return f"{head} 10 1 {station} {place} 840.2 1600 {forecast} {observed} NA NA NA NA"


@pytest.fixture
def file(tmp_path):
    def write(*lines, name="point_stat_120000L_20261117_120000V_mpr.txt", head=HEAD + MPR):
        path = tmp_path / name
        if len(lines) == 1 and isinstance(lines[0], bytes):
            path.write_bytes(lines[0])
        else:
            path.write_text("\n".join([*([head] if head else []), *lines]) + "\n", encoding="utf-8")
        return path

    return write


def read(path, variables=VARIABLES):
    return read_pairs(path, variables)


def test_one_pair(file):
    (found,) = read(file(row())).to_dict("records")
    assert found == {
        "model": "HRRR",
        "station": "KBOU",
        "lat": 40.0,
        "lon": -105.3,
        "cycle": pd.Timestamp("2026-11-17T00:00Z"),
        "valid_time": pd.Timestamp("2026-11-17T12:00Z"),
        "variable": "temperature",
        "forecast": pytest.approx(10.0),
        "observed": pytest.approx(9.0),
    }


OTHERS = [
    "V10.0.0 HRRR NA 120000 20261117_120000 20261117_120000 000000 20261117_113000 20261117_123000 TMP K Z2 TMP K Z2"
    f" ADPSFC FULL BILIN 4 {rest}"
    for rest in ("NA NA NA NA SL1L2 10 280 281 78680 78400 78961 1.2", ">273 >273 NA 0.05 CTC 10 4 3 2 1")
]


def test_a_stat_file_names_only_the_columns_that_all_types_share(file):
    stat = file(OTHERS[0], row(), OTHERS[1], row(station="KDEN"), name="a.stat", head=HEAD)
    assert read(stat)["station"].tolist() == ["KBOU", "KDEN"]
    assert read(stat)["forecast"].tolist() == pytest.approx([10.0, 10.0])


def test_columns_of_other_versions(file):
    twelve = HEAD + MPR.replace(" CLIMO_MEAN CLIMO_STDEV CLIMO_CDF", " OBS_CLIMO_MEAN OBS_CLIMO_STDEV OBS_CLIMO_CDF")
    more = file(row(version="V12.1.0") + " NA NA", head=twelve + " FCST_CLIMO_MEAN FCST_CLIMO_STDEV")
    assert read(more)["forecast"].tolist() == pytest.approx([10.0])
    moved = HEAD.replace("VERSION MODEL DESC", "VERSION DESC MODEL") + MPR
    assert read(file(row().replace("HRRR NA", "NA HRRR", 1), head=moved))["model"].tolist() == ["HRRR"]
    assert read(file(row(), head=""))["forecast"].tolist() == pytest.approx([10.0])  # no header: as documented
    again = file(row(), HEAD + MPR, row(station="KDEN"))  # two files, one behind the other
    assert read(again)["station"].tolist() == ["KBOU", "KDEN"]


def test_versions_without_units_are_refused(file):
    old = HEAD.replace(" FCST_UNITS", "").replace(" OBS_UNITS", "")
    line = row().replace(" TMP K ", " TMP ").replace("V10.0.0", "V8.0")
    with pytest.raises(BadInput, match=r"line 2: there is no FCST_UNITS; MET writes units from version 8\.1 on"):
        read(file(line, head=old + MPR))
    with pytest.raises(BadInput, match=r"line 1: there is no header, and V8\.0 writes no units"):
        read(file(line, head=""))


def test_components_become_wind(file):
    rows = [
        row("UGRD", "-3", "0", unit="m/s", level="Z10"),
        row("VGRD", "-4", "-5", unit="m/s", level="Z10"),
        row("UGRD", "0", "10", unit="m/s", units="kt", level="Z10", station="NA"),
        row("VGRD", "0", "0", unit="m/s", units="kt", level="Z10", station="NA"),
        row("UGRD", "1", "1", unit="m/s", level="Z10", station="LONE"),
    ]
    found = read(file(*rows)).set_index(["variable", "station"])[["forecast", "observed"]]
    assert found.loc[("wind_speed", "KBOU")].tolist() == [5.0, 5.0]
    # From the north-east, 3 parts to 4; from the north.
    assert found.loc[("wind_direction", "KBOU")].tolist() == pytest.approx([math.degrees(math.atan2(3, 4)), 0.0])
    assert found.loc[("wind_speed", "NA")].tolist() == pytest.approx([0.0, 10 * 1852 / 3600])
    assert found.loc[("wind_direction", "NA"), "observed"] == pytest.approx(270)
    assert found.loc[("wind_direction", "NA")].isna().tolist() == [True, False]  # a calm has no direction
    assert found.loc[("wind_speed", "LONE")].isna().all()  # a component alone is a pair that is missing
    assert len(found) == 6


def test_speed_and_direction_go_before_components_of_the_same_model(file):
    wind = [row("UGRD", "3", "3", unit="m/s"), row("VGRD", "4", "4", unit="m/s")]
    other = [each.replace(" HRRR ", " GFS ") for each in wind]
    direct = [row("WIND", "7", "8", unit="m/s"), row("WDIR", "10", "20", unit="deg")]
    found = read(file(*wind, *other, *direct)).set_index(["model", "variable"])["forecast"]
    assert found.to_dict() == {
        ("HRRR", "wind_speed"): 7.0,
        ("HRRR", "wind_direction"): 10.0,
        ("GFS", "wind_speed"): 5.0,
        ("GFS", "wind_direction"): pytest.approx(180 + math.degrees(math.atan2(3, 4))),
    }


def test_every_variable_and_its_unit(file):
    rows = [
        row("GUST", "20", "10", unit="kt", units="m/s"),
        row("DPT", "0", "32", unit="degC", units="degF"),
        row("RH", "50", "NA", unit="%"),
        row("HGT", "5500", "5510", unit="gpm", level="P500"),
        row("TMP", "250", "251", level="P500"),
        row("T2", "274.15", "273.15", other="TMP"),
    ]
    found = read(file(*rows)).set_index("variable")[["forecast", "observed"]]
    assert found.loc["wind_gust"].tolist() == pytest.approx([20 * 1852 / 3600, 10])
    assert found.loc["dew_point"].tolist() == pytest.approx([0, 0])
    assert found.loc["relative_humidity"].tolist() == pytest.approx([50, math.nan], nan_ok=True)
    assert found.loc["temperature"].tolist() == pytest.approx([1, 0])
    soil = {**VARIABLES, "SOILM": Variable("SOILM", "Soil", "%")}
    assert read(file(row("SOILM", "1", "2", unit="%")), soil)["variable"].tolist() == ["SOILM"]


def test_leads_beyond_99_hours_and_minutes(file):
    found = read(file(row(lead="1200000"), row(lead="003000", station="KDEN")))
    assert found["cycle"].tolist() == [pd.Timestamp("2026-11-12T12:00Z"), pd.Timestamp("2026-11-17T11:30Z")]


def test_a_row_for_another_mask_or_message_type_counts_once(file):
    found = read(file(row(), row(mask="WEST"), row(obtype="ONLYSF"), row(station="KDEN")))
    assert found["station"].tolist() == ["KBOU", "KDEN"]


@pytest.mark.parametrize(
    ("other", "listed"),
    [
        ({"method": "NEAREST"}, "INTERP_MTHD BILIN or NEAREST"),
        ({"level": "Z10"}, "FCST_LEV Z10 or Z2; OBS_LEV Z10 or Z2"),
        ({"obtype": "MSONET"}, "OBTYPE ADPSFC or MSONET"),
        ({}, "numbers 10, 9 or 11, 9"),
    ],
)
def test_rows_that_differ_are_refused(file, other, listed):
    with pytest.raises(BadInput) as refused:
        read(file(row(), row(forecast="284.15", **other)))
    assert "line 3: temperature of station 'KBOU' at 2026-11-17T12:00Z stands there several times" in str(refused.value)
    assert listed in str(refused.value)


def test_of_several_observations_the_nearest_counts_and_of_two_the_earlier(file):
    early, late = "20261117_115000", "20261117_121000"
    far = row(observed="270", measured="20261117_110000")
    for rows in ([far, row(observed="281.15", measured=late), row(observed="280.15", measured=early)],):
        for ordered in (rows, rows[::-1]):
            found = read(file(*ordered))
            assert found["observed"].tolist() == pytest.approx([7.0])
    assert read(file(row(measured="NA")))["observed"].tolist() == pytest.approx([9.0])


def test_recognised_by_header_or_version(file):
    for each in (file(row()), file(row(), head=""), file(*OTHERS, name="b.stat", head=HEAD)):
        assert [found.name for found in candidates(Head.of(each), (*MODEL, *OBSERVED))] == ["met"]
    assert recognise(file(row()), MODEL).name == "met"


def test_names_of_stations(file):
    odd = ["NA", "$x$", "a,b", "'\"", "🔥"]
    assert read(file(*(row(station=each) for each in odd)))["station"].tolist() == odd


def test_times_may_run_backwards(file):
    found = read(file(row(valid="20261117_180000", lead="180000"), row()))
    assert found["cycle"].nunique() == 1


def test_pairs_of_one_model_cycle_and_window(file):
    path = file(row(), row(model="GFS"), row(station="KDEN", model="GFS"), row(valid="20261118_120000"))
    cycle = pd.Timestamp("2026-11-17T00:00Z").to_pydatetime()
    found = match_pairs([path], "HRRR", cycle, Window(hours=24.0), VARIABLES, read=read_pairs)
    assert found.table[["station", "reason"]].to_numpy().tolist() == [["KBOU", "pair"], ["KDEN", "no forecast"]]


CASE = """\
case: MET
models: {rapid: {weather: {path: "*.stat", name: HRRR}}}
window: {hours: 24}
matching: {min_completeness: 0, min_pairs: 1}
kpis:
  T: {kpi: bias, variable: temperature, normalise: {kind: symmetric_exponential, m: 5 K}}
  S: {kpi: wind_speed_bias, normalise: {kind: symmetric_exponential, m: 5 m/s}}
  D: {kpi: wind_direction_rmse, normalise: {kind: exponential, m: 45 deg}}
"""


def test_through_a_case_file(file, tmp_path):
    wind = [row("UGRD", "-3", "0", unit="m/s"), row("VGRD", "-4", "-4", unit="m/s")]
    file(*OTHERS, row(), *wind, row(model="GFS"), name="a.stat", head=HEAD)
    (tmp_path / "case.yaml").write_text(CASE)
    case = read_case(tmp_path / "case.yaml")
    cycle = latest_cycle(case)
    assert f"{cycle:%Y-%m-%dT%H:%M%z}" == "2026-11-17T00:00+0000"
    kept = matched(case, find_files.fn(case, case.models[0], "weather", cycle))
    results = results_of(case, night(kept.table, kept.offered, cycle))
    assert results["T"].value == pytest.approx(1.0)
    assert results["S"].value == pytest.approx(5.0 - 4.0)
    assert results["D"].value == pytest.approx(math.degrees(math.atan2(3, 4)))
    said: list[str] = []
    assert check_case(case, None, said.append)
    assert any("MET's matched pairs (MPR)" in line for line in said)


BAD = [
    pytest.param([b""], "is empty", id="empty"),
    pytest.param([b"CDF\x01 something"], "line 1: expected a version such as", id="wrong magic"),
    pytest.param([f"{HEAD}{MPR}\n{row()}".encode("utf-16")], "no text in ASCII or UTF-8", id="utf-16"),
    pytest.param(
        [f"{HEAD}{MPR}\n{row(station='Mürren')}".encode("latin-1")], "line 2: is no text in ASCII", id="latin-1"
    ),
    pytest.param([], r"no matched pair in it \(no line of type MPR\)$", id="header only"),
    pytest.param(OTHERS, r"no line of type MPR\); line types here: CTC, SL1L2", id="no pairs"),
    pytest.param([row()[: len(row()) // 2]], "line 2: expected at least 24 columns, got", id="cut in half"),
    pytest.param([row(), row().rsplit(" ", 6)[0]], "line 3: expected at least 33 columns, got 31", id="cut at the end"),
    pytest.param([row(unit="NA")], "line 2, column 'FCST_UNITS': got 'NA'; temperature: expected a unit", id="no unit"),
    pytest.param([row(units="m")], "line 2, column 'OBS_UNITS': got 'm'; temperature: the unit 'm'", id="wrong unit"),
    pytest.param([row(), row(unit="furlong")], "line 3, column 'FCST_UNITS': got 'furlong'", id="unknown unit"),
    pytest.param(
        [row(valid="2026-11-17T12")], "column 'FCST_VALID_BEG': got .* expected a time as YYYYMMDD", id="time"
    ),
    pytest.param([row(valid="20261317_120000")], "column 'FCST_VALID_BEG'", id="month"),
    pytest.param([row(valid="00011117_120000")], "column 'FCST_VALID_BEG'", id="year"),
    pytest.param([row(lead="12")], "column 'FCST_LEAD': got '12'; expected a lead as HHMMSS", id="lead"),
    pytest.param([row(forecast="warm")], "line 2, column 'FCST': got 'warm'; expected a number", id="number"),
    pytest.param([row(place="95.0 0")], "column 'OBS_LAT': got '95.0'; expected degrees", id="latitude"),
    pytest.param([row("PRMSL", unit="Pa")], "none of its variables at the surface is known: PRMSL", id="variable"),
    pytest.param([row(level="P850")], "none of its variables at the surface is known", id="free air"),
    pytest.param([row("TMP", other="DPT")], "got 'TMP and DPT'; forecast and observation are of different", id="mixed"),
    pytest.param(["VERSION MODEL", row()], "line 2: expected a header of MET", id="bad header"),
]


@pytest.mark.parametrize(("lines", "message"), BAD)
def test_bad_files(file, lines, message):
    path = file(*lines)
    with pytest.raises(BadInput, match=message) as refused:
        read(path)
    assert str(path) in str(refused.value)


def test_a_header_without_a_column(file):
    with pytest.raises(BadInput, match="line 2: the column OBS_LAT is missing from the header"):
        read(file(row(), head=HEAD + MPR.replace(" OBS_LAT", "")))


def harmless(path):
    try:
        found = read(path)
    except FirecardError:
        return
    assert len(found)
    assert not found.duplicated(["model", "station", "cycle", "valid_time", "variable"]).any()


@FUZZ
@given(data=st.data())
def test_any_bytes(file, data):
    text = "\n".join([HEAD + MPR, row(), row("UGRD", "1", "2", unit="m/s"), row("VGRD", "1", "2", unit="m/s")])
    content = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 6))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position : position + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    harmless(file(bytes(content)))


WORD = st.one_of(
    st.sampled_from(["NA", "-9999", "0", "K", "m/s", "99999999_000000", "1e308", "nan", "inf", "$", "💨", "V1", "MPR"]),
    st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=6),
)
FIELDS = ("variable", "forecast", "observed", "station", "unit", "units", "level", "valid", "measured", "lead", "model")


@FUZZ
@given(
    rows=st.lists(st.dictionaries(st.sampled_from(FIELDS), WORD, max_size=3), min_size=1, max_size=4),
    kinds=st.lists(st.sampled_from(["TMP", "UGRD", "VGRD", "WIND", "RH"]), min_size=4, max_size=4),
    head=st.sampled_from([HEAD, HEAD + MPR, ""]),
)
def test_any_structure(file, rows, kinds, head):
    harmless(file(*(row(**{"variable": kind, **each}) for kind, each in zip(kinds, rows, strict=False)), head=head))
