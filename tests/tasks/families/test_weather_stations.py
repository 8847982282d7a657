"""A case whose reports say neither where nor in which zone: the table of stations, `names:` and `zone:` together."""

from datetime import UTC, datetime

import netCDF4
import numpy as np
import pytest

from configs.case import read_case
from metrics.errors import BadInput, MissingInput
from tasks.families.weather import matched
from tasks.find import find_files
from tasks.matching.ledger import ledger

CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
CASE = """\
case: LOCAL
cycle: 2026-11-17T00
models: {grid: {weather: {path: grid.nc}}}
observations:
  weather:
    path: reports.csv
    stations: stations.csv
    names: {station: id, time: when, wind_speed: ff}
    zone: America/Denver
window: {hours: 3}
matching: {min_completeness: 0, min_pairs: 1}
kpis: {WX01: {kpi: wind_speed_bias, normalise: {kind: symmetric_exponential, m: 5 m/s}}}
"""
# 17:00 in Denver is 00Z. C is in no table.
REPORTS = "id,when,ff [kt]\n" + "".join(
    f"{station},2026-11-16 {17 + hour}:00,{speed}\n"
    for station, speed in (("A", 18), ("B", 36), ("C", 99))
    for hour in range(3)
)
STATIONS = "station,lat,lon,height\nA,40.5,-119.5,10\nB,41.0,-118.5,10\n"


@pytest.fixture
def case(tmp_path):
    """The case with a grid of 10 m/s everywhere, three hours long."""
    with netCDF4.Dataset(tmp_path / "grid.nc", "w") as dataset:
        for name, values in (("time", [0.0, 1, 2]), ("lat", [40.0, 41, 42]), ("lon", [-120.0, -119, -118])):
            dataset.createDimension(name, len(values))
            dataset.createVariable(name, "f8", (name,))[:] = values
        dataset["time"].units = "hours since 2026-11-17 00:00:00"
        dataset["lat"].units, dataset["lon"].units = "degrees_north", "degrees_east"
        for name, standard, value in (("u", "eastward_wind", 6.0), ("v", "northward_wind", 8.0)):
            variable = dataset.createVariable(name, "f8", ("time", "lat", "lon"))
            variable.setncatts({"standard_name": standard, "units": "m s-1"})
            variable[:] = np.full((3, 3, 3), value)
    (tmp_path / "reports.csv").write_text(REPORTS)
    (tmp_path / "stations.csv").write_text(STATIONS)
    path = tmp_path / "case.yaml"
    path.write_text(CASE)
    return path


def found(path):
    case = read_case(path)
    return case, find_files.fn(case, case.models[0], "weather", CYCLE)


def test_pairs_where_the_table_says_and_when_the_zone_says(case):
    kept = matched(*found(case))
    pairs = kept.table[kept.table["reason"] == "pair"]
    assert sorted(set(pairs["station"].astype(str))) == ["A", "B"]
    assert len(pairs) == 2 * 3
    assert pairs["forecast"].to_numpy() == pytest.approx(10.0)
    observed = pairs.groupby("station", observed=True)["observed"].mean()
    assert observed["A"] == pytest.approx(18 * 1852 / 3600)
    assert observed["B"] == pytest.approx(36 * 1852 / 3600)
    assert kept.how["not_listed"] == "1 stations of the reports are not in the table of stations"


def test_without_the_zone_every_report_is_seven_hours_off(case):
    case.write_text(CASE.replace("    zone: America/Denver\n", ""))
    with pytest.raises(BadInput, match=r"no report in the window.*of 2026-11-16T17:00Z to 2026-11-16T19:00Z"):
        matched(*found(case))


def test_the_table_is_an_input_of_the_case(case, tmp_path):
    _, files = found(case)
    assert [each.path.name for each in files.inputs] == ["grid.nc", "reports.csv", "stations.csv"]
    before = files.beside[0].sha256
    (tmp_path / "stations.csv").write_text(STATIONS.replace("40.5", "40.6"))
    assert found(case)[1].beside[0].sha256 != before


def test_a_table_that_is_missing(case, tmp_path):
    (tmp_path / "stations.csv").unlink()
    with pytest.raises(MissingInput, match=r"no table of stations matches 'stations\.csv' for cycle 2026-11-17T00"):
        found(case)


def test_tables_that_are_two(case, tmp_path):
    (tmp_path / "stations2.csv").write_text(STATIONS)
    case.write_text(CASE.replace("stations: stations.csv", 'stations: "stations*.csv"'))
    with pytest.raises(BadInput, match=r"is 2 files \(stations\.csv, stations2\.csv …\); expected one table"):
        found(case)


def test_a_station_nowhere_on_earth_stays_in_the_ledger(case, tmp_path):
    rows = ["station,lat,lon,time,wind_speed [m/s]"]
    rows += [f"A,40.5,-119.5,2026-11-17T0{hour}:00Z,9\nX,35.7,-790.2,2026-11-17T0{hour}:00Z,9" for hour in range(3)]
    (tmp_path / "reports.csv").write_text("\n".join(rows) + "\n")
    start, stop = CASE.index("    stations:"), CASE.index("window:")
    case.write_text(CASE[:start] + CASE[stop:])
    kept = matched(*found(case))
    counted = ledger(kept.table).set_index(["station", "reason"])["count"]
    assert counted["A", "pair"] == 3
    assert counted["X", "station without a position"] == 3
