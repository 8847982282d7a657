"""Station files that others wrote: METAR bulletins counted in the raw text by plain expressions, NetCDF by netCDF4."""

from __future__ import annotations

import re
import warnings

import netCDF4
import numpy as np
import pandas as pd
import pytest

from configs.formats import OBSERVED
from metrics.errors import BadInput
from metrics.variables import VARIABLES
from tasks.readers import cf, metar, station_netcdf
from tasks.readers.formats import Head, StationWishes, recognise
from tasks.readers.hdf import opened
from tasks.readers.notes import NOTES
from tasks.readers.stations import read_stations

KNOT = 1852 / 3600

# --- METAR ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bulletins(shared_data):
    return shared_data / "stations" / "metar_20190701_1200.txt"


@pytest.fixture(scope="module")
def text(bulletins):
    return bulletins.read_text(encoding="ascii")


@pytest.fixture(scope="module")
def reports(bulletins):
    return metar.read_reports(bulletins, StationWishes())


def first_groups(text, group):
    """How often a group comes first behind station and time, which is where the wind of a report stands."""
    # One report has no Z; every other place and time without one is in a heading.
    behind = r"(?:Z|(?= 29006KT))(?:\s+(?:AUTO|COR|RTD|CC[A-Z]))*"
    return len(re.findall(rf"\b[A-Z][A-Z0-9]{{3}}\s+\d{{6}}{behind}\s+(?:{group})(?=[\s=\x03])", text))


WIND = r"(?:\d{3}|VRB|///)\d{2,3}(?:G\d{2,3})?"


def test_the_counts_of_the_raw_text(text):
    """What the list of the data says of this file: lines that a word stands in, whatever it means there."""
    lines = text.split("\n")

    def having(pattern):
        return sum(bool(re.search(pattern, line)) for line in lines)

    assert having("VRB") == 592
    assert having("00000KT") == 3962
    assert having(r"G\d\dKT") == 765
    assert having("/////KT") == 45
    assert len(re.findall(r"\d{5}(?:G\d\d)?MPS\b", text)) == 560


def test_every_word_is_a_wind_of_a_report_or_known_to_be_something_else(text, reports):
    """From the words of the text to the winds of the reports, with nothing lost between them."""
    counts = reports.attrs[NOTES].counts
    # VRB: 601 words in 592 lines; 19 are words of remarks (VRB, VRBL), one is the station KVRB, 45 belong to trends.
    assert text.count("VRB") == 601
    assert len(re.findall(r"\bVRB\d\d(?:G\d\d)?(?:KT|MPS)", text)) == 601 - 19 - 1
    assert first_groups(text, r"VRB\d\d(?:G\d\d)?(?:KT|MPS)") == 601 - 19 - 1 - 45
    assert counts[metar.VARIABLE] == reports["variable_direction"].sum() == 536
    # Calm: a word a line, in knots and in metres per second; all are winds of reports.
    assert text.count("00000KT") + text.count("00000MPS") == first_groups(text, "00000(?:KT|MPS)") == 3962 + 10
    assert counts[metar.CALM] == (reports["wind_speed"] == 0).sum() == 3972
    # Gusts: 769 words in 765 lines, 68 more in MPS; 154 of both belong to trends and remarks.
    assert len(re.findall(r"G\d\dKT", text)) + len(re.findall(r"G\d\dMPS", text)) == 769 + 68
    assert first_groups(text, r"(?:\d{3}|VRB)\d\dG\d\d(?:KT|MPS)") == 769 + 68 - 154
    assert counts[metar.GUSTS] == reports["wind_gust"].notna().sum() == 683
    # No wind: 46 words in 45 lines; nine are winds of single runways, in remarks.
    assert text.count("/////KT") == 46
    assert len(re.findall(r"THR\d\d\s*/////KT", text)) == 9
    assert first_groups(text, "/////KT") == 46 - 9
    # Beside them eleven groups that nobody can read for certain.
    others = ("/////", "280KT", "1801KT", r"09013GKT", r"35006KT\(E\)")
    assert [first_groups(text, each) for each in others] == [1, 3, 4, 2, 1]
    assert counts[metar.UNREADABLE] == 37 + 11
    assert first_groups(text, rf"{WIND}MPS") == counts[metar.IN_METRES] == 572
    assert first_groups(text, r"///\d\dKT") == counts[metar.NO_DIRECTION] == 1


def test_every_piece_of_the_text_is_counted(text, reports):
    counts = reports.attrs[NOTES].counts
    places = len(re.findall(r"\b[A-Z][A-Z0-9]{3}\s+\d{6}(?:Z|(?= 29006KT))", text))
    assert places == 18522
    assert counts[metar.REPORTS] == len(reports) == places - first_groups(text, "NIL")
    assert (
        counts[metar.REPORTS]
        == first_groups(text, rf"{WIND}(?:KT|MPS)") + counts[metar.UNREADABLE] + counts[metar.NO_WIND]
    )
    # Canadian stations have a code of their own (SA), which is no METAR.
    canadian = len(re.findall(r"\b[A-Z]{3}\s+SA\s+\d{4}\s+AUTO8\b", text))
    assert canadian == 730
    assert canadian < counts[metar.OTHER] < canadian + 40  # and the words of a mail, of a switch, of the weather
    assert counts[metar.NO_REPORT] <= len(re.findall(r"\bNIL\b", text)) == 2624


def test_every_wind_is_what_its_group_says(text, reports):
    behind = r"(?:Z|(?= 29006KT))(?:\s+(?:AUTO|COR|RTD|CC[A-Z]))*"
    group = r"(\d{3}|VRB|///)(\d{2,3})(?:G(\d{2,3}))?(KT|MPS)"
    expected = []
    for station, time, toward, speed, gust, unit in re.findall(
        rf"\b([A-Z][A-Z0-9]{{3}})\s+(\d{{6}}){behind}\s+{group}(?=[\s=\x03])", text
    ):
        metres = KNOT if unit == "KT" else 1.0
        expected.append(
            (
                station,
                time,
                toward if toward.isdigit() else "",
                round(int(speed) * metres, 3),
                round(int(gust or -1) * metres, 3),
            )
        )
    found = []
    for row in reports[reports["wind_speed"].notna()].itertuples():
        toward = "" if np.isnan(row.wind_direction) else f"{row.wind_direction:03.0f}"
        gust = row.wind_gust if not np.isnan(row.wind_gust) else None
        found.append((row.station, f"{row.time:%d%H%M}", toward, round(row.wind_speed, 3), gust))
    none = {round(-KNOT, 3), -1.0}
    expected = sorted((*each[:4], -1.0 if each[4] in none else each[4]) for each in expected)
    found = sorted((*each[:4], -1.0 if each[4] is None else round(each[4], 3)) for each in found)
    assert found == expected


def test_python_metar_says_the_same_of_whole_reports(text, reports):
    """The reader hands over single groups; every tenth report goes to the library as a whole here."""
    library = pytest.importorskip("metar.Metar")
    known = {}
    for row in reports.itertuples():
        said = (row.wind_speed, row.wind_direction, row.wind_gust, row.temperature, row.dew_point)
        known.setdefault((row.station, row.time.tz_localize(None)), set()).add(str(np.round(said, 3)))
    whole = sorted({" ".join(each.split()) for each in re.findall(r"\b[A-Z][A-Z0-9]{3}\s+\d{6}Z\s[^=\x03]+=", text)})
    whole = [each for each in whole if " NIL" not in each and len(re.findall(r"\d{6}Z", each)) == 1]
    for each in whole[::10]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of groups that it does not know
            told = library.Metar(each, month=7, year=2019, strict=False)
        wind = [np.nan if speed is None else speed.value() for speed in (told.wind_speed, told.wind_gust)]
        unit = 1.0 if re.search(r"^\S+ \S+ (?:[A-Z]+ )*\S+MPS", each) else KNOT
        direction = np.nan if told.wind_dir is None else told.wind_dir.value()
        air = [np.nan if degrees is None else degrees.value("C") for degrees in (told.temp, told.dewpt)]
        said = str(np.round((wind[0] * unit, direction, wind[1] * unit, *air), 3))
        assert said in known[told.station_id, pd.Timestamp(told.time)], each
    assert len(whole) > 9000


def test_times_are_of_the_day_that_the_name_says(text, reports):
    said = re.findall(r"\b[A-Z][A-Z0-9]{3}\s+(\d{2})\d{4}Z", text)
    assert reports["time"].dt.strftime("%Y-%m-%d").unique().tolist() == [f"2019-07-{day}" for day in set(said)]


def test_bulletins_are_recognised_and_ask_for_a_table_of_stations(bulletins):
    assert recognise(bulletins, OBSERVED).name == "metar"
    with pytest.raises(BadInput, match="say `stations:` with a table of station, lat and lon"):
        read_stations([bulletins], VARIABLES)


# --- ARM ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("day", ["20190101", "20190102"])
def test_a_day_of_arm(shared_data, day):
    path = shared_data / "stations" / f"arm_sgpmetE13.b1.{day}.cdf"
    frame = station_netcdf.read_reports(path, StationWishes())
    with netCDF4.Dataset(path) as raw:
        for name, stored in (
            ("wind_speed", "wspd_arith_mean"),
            ("wind_direction", "wdir_vec_mean"),
            ("temperature", "temp_mean"),
            ("relative_humidity", "rh_mean"),
        ):
            assert not raw[f"qc_{stored}"][:].any()
            np.testing.assert_array_equal(frame[name], np.ma.filled(raw[stored][:].astype(float), np.nan))
        assert frame[["lat", "lon", "elevation"]].drop_duplicates().to_numpy().tolist() == [
            [float(raw[each][...]) for each in ("lat", "lon", "alt")]
        ]
    assert frame["time"].tolist() == list(pd.date_range(f"{day}T00:00Z", periods=1440, freq="min"))
    assert set(frame["station"]) == {"sgp E13"}
    assert set(frame["averaging"]) == {1.0}
    assert any("wind_speed is wspd_arith_mean (wspd_vec_mean" in each for each in frame.attrs[NOTES].in_words())


def test_the_case_can_ask_arm_for_the_vector_mean(shared_data):
    path = shared_data / "stations" / "arm_sgpmetE13.b1.20190101.cdf"
    frame = station_netcdf.read_reports(path, StationWishes(names={"wind_speed": "wspd_vec_mean"}))
    with netCDF4.Dataset(path) as raw:
        np.testing.assert_array_equal(frame["wind_speed"], raw["wspd_vec_mean"][:].astype(float))


def test_bad_bits_of_arm_leave_values_out_and_doubtful_ones_do_not(shared_data, tmp_path):
    path = tmp_path / "arm.cdf"
    path.write_bytes((shared_data / "stations" / "arm_sgpmetE13.b1.20190101.cdf").read_bytes())
    with netCDF4.Dataset(path, "a") as raw:
        raw["qc_wspd_arith_mean"][:5] = [1, 2, 4, 8, 12]  # bits 1 to 3 are bad, bit 4 is indeterminate
        speeds = raw["wspd_arith_mean"][:].astype(float)
    frame = station_netcdf.read_reports(path, StationWishes())
    assert frame["wind_speed"].isna().tolist() == [True, True, True, False, True] + [False] * 1435
    assert frame["wind_speed"][3] == speeds[3]
    assert frame.attrs[NOTES].counts[station_netcdf.BAD_BITS] == 4


def test_both_days_of_arm_are_one_station(shared_data):
    found = read_stations(sorted((shared_data / "stations").glob("arm_*.cdf")), VARIABLES)
    assert found.stations["station"].tolist() == ["sgp E13"]
    assert (np.diff(found.seconds) == 60).all()
    assert len(found.reports) == 2880


# --- surface airways observations of 1995 ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def airways(shared_data):
    return shared_data / "stations" / "sao_95031800.cdf"


def test_airways_observations(airways):
    frame = station_netcdf.read_reports(airways, StationWishes())
    with netCDF4.Dataset(airways) as raw:
        for name, stored in (
            ("wind_speed", "SPD"),
            ("wind_direction", "DIR"),
            ("wind_gust", "GUST"),
            ("temperature", "T"),
            ("dew_point", "TD"),
            ("lat", "lat"),
            ("lon", "lon"),
            ("elevation", "elev"),
        ):
            np.testing.assert_array_equal(frame[name], np.ma.filled(raw[stored][:].astype(float), np.nan), name)
        ids = [bytes(each).rstrip(b"\0 ").decode() for each in np.ma.filled(raw["id"][:], b"\0")]
        words = [bytes(each).rstrip(b"\0 ").decode() for each in np.ma.filled(raw["time"][:], b"\0")]
    assert frame["station"].tolist() == ids
    assert frame["time"].dt.strftime("%Y %m %d %H:%M UTC").tolist() == words
    assert len(frame) == 2084


def test_an_impossible_longitude_is_no_position(airways):
    with netCDF4.Dataset(airways) as raw:
        lon = raw["lon"][:]
        ids = [bytes(each).rstrip(b"\0 ").decode() for each in np.ma.filled(raw["id"][:], b"\0")]
    odd = np.flatnonzero(np.ma.filled(lon, 0.0) < -180)
    assert [round(float(each), 1) for each in lon[odd]] == [-790.2] * len(odd)
    nowhere = {ids[each] for each in (*odd, *np.flatnonzero(np.ma.getmaskarray(lon)))}
    found = read_stations([airways], VARIABLES)
    assert set(found.stations["station"][found.stations["lat"].isna()]) == nowhere
    assert len(found.stations) == len(set(ids)) == 1623


def test_station_files_are_no_grids(shared_data):
    for path in sorted((shared_data / "stations").glob("*.cdf")):
        assert recognise(path, OBSERVED).name == "station_netcdf"
        with opened(path) as file:
            assert not cf.recognises(file)


def test_grids_are_no_station_files(shared_data):
    grids = [each for folder in ("wrf", "cf_grid", "mesh") for each in sorted((shared_data / folder).glob("*.nc"))]
    assert len(grids) >= 6
    for path in grids:
        assert not station_netcdf.recognises(Head.of(path)), path.name
