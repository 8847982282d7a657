"""Station files that others wrote: METAR bulletins, counted in the raw text by plain expressions."""

from __future__ import annotations

import re

import numpy as np
import pytest

from configs.formats import OBSERVED
from metrics.errors import BadInput
from metrics.variables import VARIABLES
from tasks.readers import metar
from tasks.readers.formats import StationWishes, recognise
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


def test_times_are_of_the_day_that_the_name_says(text, reports):
    said = re.findall(r"\b[A-Z][A-Z0-9]{3}\s+(\d{2})\d{4}Z", text)
    assert reports["time"].dt.strftime("%Y-%m-%d").unique().tolist() == [f"2019-07-{day}" for day in set(said)]


def test_bulletins_are_recognised_and_ask_for_a_table_of_stations(bulletins):
    assert recognise(bulletins, OBSERVED).name == "metar"
    with pytest.raises(BadInput, match="say `stations:` with a table of station, lat and lon"):
        read_stations([bulletins], VARIABLES)
