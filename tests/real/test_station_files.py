"""Station files that others wrote, against counts and values taken from their raw text without our readers."""

import csv
import math
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest

from configs.formats import MODEL, OBSERVED
from metrics.errors import BadInput
from metrics.variables import VARIABLES
from tasks.matching.quality import GOOD, judged
from tasks.readers.formats import Head, candidates, recognise
from tasks.readers.stations import read_stations

KNOT = 1852 / 3600


def raw(path):
    """The rows as the text has them."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def of(found, station, time):
    """The reports of a station at a time."""
    rows = found.reports
    return rows[(rows["station"] == station) & (rows["time"] == time)].to_dict("records")


def present(rows, column, absent=("", "M", "NaN")):
    return sum(row[column] not in absent for row in rows)


def test_asos_of_the_storm_of_the_century(shared_data):
    path = shared_data / "stations" / "asos_19930312.csv"
    assert recognise(path, OBSERVED).name == "asos"
    rows = raw(path)
    found = read_stations([path], VARIABLES)
    assert len(found.reports) == len(rows) == 9938
    assert len(found.stations) == len({row["station"] for row in rows}) == 1080
    assert found.reports["wind_gust"].count() == present(rows, "gust") == 985
    for name, column in (
        ("wind_speed", "sknt"),
        ("wind_direction", "drct"),
        ("temperature", "tmpf"),
        ("dew_point", "dwpf"),
        ("relative_humidity", "relh"),
    ):
        assert found.reports[name].count() == present(rows, column), name
    assert found.reports["wind_speed"].sum() == pytest.approx(
        math.fsum(float(row["sknt"]) for row in rows if row["sknt"]) * KNOT
    )
    # YUM, 06:00: 73.94 °F, 32 °F, 330 degrees, 9 knots, no gust.
    (yuma,) = of(found, "YUM", datetime(1993, 3, 12, 6, tzinfo=UTC))
    assert yuma["temperature"] == pytest.approx((73.94 - 32) / 1.8)
    assert yuma["dew_point"] == pytest.approx(0, abs=1e-9)
    assert (yuma["wind_direction"], yuma["relative_humidity"]) == (330.0, 21.37)
    assert yuma["wind_speed"] == pytest.approx(4.63)
    assert math.isnan(yuma["wind_gust"])
    place = found.stations.set_index("station").loc["YUM"]
    assert (place["lat"], place["lon"]) == (32.6566, -114.606)


def test_a_thredds_server_in_january(shared_data):
    path = shared_data / "stations" / "station_data_20160116.txt"
    assert recognise(path, OBSERVED).name == "ncss"
    rows = raw(path)
    direction, speed = 'wind_from_direction[unit="degrees"]', 'wind_speed[unit="m/s"]'
    found = read_stations([path], VARIABLES)
    assert len(found.reports) == len(rows) == 1532
    assert len(found.stations) == len({row["station"] for row in rows}) == 1495
    missing = sum(row[direction] == "-99999" for row in rows)
    assert missing > 0
    assert found.reports["wind_direction"].isna().sum() == missing
    assert found.reports["wind_speed"].count() == present(rows, speed)
    assert (found.reports["wind_speed"] == 0).sum() == sum(row[speed] == "0.0" for row in rows)
    assert found.reports["temperature"].count() == present(rows, 'air_temperature[unit="Celsius"]')
    (report,) = of(found, "04V", datetime(2016, 1, 16, 0, 14, tzinfo=UTC))
    assert (report["temperature"], report["dew_point"]) == (-10.0, -14.0)
    assert (report["wind_direction"], report["wind_speed"]) == (330.0, 2.57222)
    repeated = sum(each - 1 for each in Counter((row["station"], row["time"]) for row in rows).values())
    assert found.reports.duplicated(["station", "time"]).sum() == repeated


NINJA = ("KMSO", "PNTM8", "TR266", "TS934")


def test_windninja_in_the_missoula_valley(shared_data):
    paths = sorted(each for name in NINJA for each in (shared_data / "stations").glob(f"{name}-*.csv"))
    assert {recognise(each, OBSERVED).name for each in paths} == {"windninja"}
    rows = [row for path in paths for row in raw(path)]
    assert {row["Speed_Units(mph,kph,mps,kts)"] for row in rows} == {"mps"}
    assert {row["Temperature_Units(F,C)"] for row in rows} == {"C"}
    found = read_stations(paths, VARIABLES)
    assert found.stations["station"].tolist() == list(NINJA)
    assert found.stations["height"].tolist() == [10, 6.0959, 6.0959, 6.0959]
    assert found.stations["lat"].tolist() == [46.9208, 47.0414, 47.0459, 46.8207]
    assert np.bincount(found.number).tolist() == [341, 26, 27, 26]
    assert len(rows) == 341 + 26 + 27 + 26
    assert found.reports["wind_speed"].sum() == pytest.approx(math.fsum(float(row["Speed"]) for row in rows))
    calm = sum(float(row["Speed"]) == 0 for row in rows)
    assert (found.reports["wind_speed"] == 0).sum() == calm
    reasons = judged(found.reports, VARIABLES)
    assert (reasons["wind_direction"] == "calm").sum() == calm
    assert (reasons["temperature"] == GOOD).all()
    (report,) = of(found, "KMSO", datetime(2018, 6, 21, 2, 30, tzinfo=UTC))
    assert (report["wind_speed"], report["wind_direction"], report["temperature"]) == (1.54, 350.0, 19.0)


def test_a_list_of_windninja_says_the_path_that_reads_its_files(shared_data):
    folder = shared_data / "stations"
    path = folder / "missoula_valley_stations_4.csv"
    pattern = "*-MDT-2018-06-20_2128-2018-06-21_2128-*.csv"
    with pytest.raises(BadInput, match="is a list of 4 station files of WindNinja") as refused:
        read_stations([path], VARIABLES)
    assert pattern in str(refused.value)
    listed = [each for each in path.read_text().split("\n")[1:] if each]
    assert sorted(each.name for each in folder.glob(pattern)) == sorted(listed)


def test_no_two_formats_claim_one_file(shared_data):
    known = {
        "asos_19930312.csv": "asos",
        "station_data_20160116.txt": "ncss",
        "missoula_valley_stations_4.csv": "windninja",
    }
    known |= {path.name: "windninja" for name in NINJA for path in (shared_data / "stations").glob(f"{name}-*.csv")}
    assert len(known) == 3 + 4
    for name, expected in known.items():
        found = candidates(Head.of(shared_data / "stations" / name), (*MODEL, *OBSERVED))
        assert [each.name for each in found] == [expected], name
