"""Real files through the whole line: the published answer for HKNA out of a case file, and other models as they are."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import netCDF4
import numpy as np
import pandas as pd
import pytest

from configs.case import read_case
from metrics.variables import VARIABLES
from tasks.families.weather import matched
from tasks.find import find_files
from tasks.matching.pairs import Matched
from tasks.readers.stations import read_stations

CASE = Path(__file__).with_name("hkna.yaml")


@pytest.fixture
def hkna(shared_data: Path, tmp_path: Path) -> Path:
    """The case file with its data beside it; the mast's reports as a tidy table."""
    shutil.copyfile(shared_data / "mesh" / "northsea_mesh_wind.nc", tmp_path / "northsea_mesh_wind.nc")
    head, *lines = (shared_data / "mesh" / "HKNA_wind.csv").read_text().splitlines()
    assert head == ",wind_speed_ms"
    rows = [line.split(",") for line in lines]
    tidy = [f"HKNA,52.6887,4.2420,{time.replace(' ', 'T')}Z,{speed}" for time, speed in rows]
    (tmp_path / "HKNA.csv").write_text("\n".join(["station,lat,lon,time,wind_speed [m/s]", *tidy]) + "\n")
    return Path(shutil.copy(CASE, tmp_path))


@pytest.mark.usefixtures("prefect_server")
def test_the_published_answer_comes_out_of_a_case_file(hkna: Path, tmp_path: Path):
    from flows.evaluate import evaluate

    (outcome,) = evaluate(hkna, datetime(2017, 10, 27, tzinfo=UTC), out=tmp_path / "out")
    (folder,) = outcome.folders
    card = json.loads((folder / "card.json").read_bytes())
    kpis = {kpi["id"]: kpi for group in card["groups"] for kpi in group["kpis"]}
    assert {name: kpi["n"] for name, kpi in kpis.items()} == {"BIAS": 277, "RMSE": 277, "MAE": 277}
    assert f"{kpis['BIAS']['value']:.6f}" == "-0.923778"
    assert f"{kpis['RMSE']['value']:.6f}" == "1.305359"
    assert f"{kpis['MAE']['value']:.6f}" == "1.054030"
    assert all(kpi["coverage"] == 1 for kpi in kpis.values())
    assert card["ledger"]["wind_speed"]["pairs"] == 277
    assert not card["partial"]
    said = json.dumps(card["matching"])
    assert "inverse distance of the 5 nearest points, power 2, planar distance" in said
    assert "model linear in time to each report" in said


def test_the_time_that_hkna_observed_above_15_m_s(hkna: Path, tmp_path: Path):
    reports = read_stations([tmp_path / "HKNA.csv"], VARIABLES).reports
    assert int((reports["wind_speed"] > 15).sum()) == 208


def test_only_equal_times_and_the_nearest_element_are_other_rules_with_other_answers(hkna: Path):
    text = hkna.read_text().replace("time: {how: linear}", "time: {tolerance: 0 min}")
    hkna.write_text(text)
    equal = scored(hkna)
    assert int((equal.table["reason"] == "pair").sum()) == 15
    hkna.write_text(CASE.read_text().replace("{how: inverse_distance, k: 5, power: 2, metric: planar}", "nearest"))
    pairs = scored(hkna).table.dropna()
    error = (pairs["forecast"] - pairs["observed"]).to_numpy()
    assert error.size == 277
    assert round(math.sqrt((error**2).mean()), 3) == 1.276


def scored(case_file: Path) -> Matched:
    """What matching makes of the only model of a case."""
    case = read_case(case_file)
    (model,) = case.models
    assert case.cycle is not None
    return matched(case, find_files.fn(case, model, "weather", case.cycle))


@pytest.fixture
def made_up(tmp_path: Path) -> Callable[..., Matched]:
    """Matches a real file with reports that somebody at (lat, lon) might have made."""

    def match(pattern: Path, cycle: str, hours: int, *places: tuple[float, float], step: int = 1) -> Matched:
        start = pd.Timestamp(cycle, tz="UTC")
        rows = ["station,lat,lon,time,wind_speed [m/s],wind_direction [deg],temperature [degC]"]
        for number, (lat, lon) in enumerate(places):
            for hour in range(0, hours, step):
                when = start + pd.Timedelta(hours=hour, minutes=4)
                rows.append(f"S{number},{lat},{lon},{when:%Y-%m-%dT%H:%MZ},{5 + hour % 3},90,15")
        (tmp_path / "obs.csv").write_text("\n".join(rows) + "\n")
        (tmp_path / "case.yaml").write_text(
            f"case: REAL\ncycle: {cycle}\nmodels: {{model: {{weather: {{path: '{pattern}'}}}}}}\n"
            f"observations: {{weather: {{path: obs.csv}}}}\nwindow: {{hours: {hours}}}\n"
            "kpis:\n"
            "  A: {kpi: wind_direction_rmse, normalise: {kind: exponential, m: 45 deg}}\n"
            "  B: {kpi: rmse, variable: temperature, normalise: {kind: exponential, m: 5 K}}\n"
        )
        return scored(tmp_path / "case.yaml")

    return match


def forecasts(found: Matched, variable: str, station: str = "S0") -> np.ndarray:
    rows = found.table[(found.table["variable"] == variable) & (found.table["station"] == station)]
    return rows.sort_values("valid_time")["forecast"].to_numpy()


def test_katrina_is_a_nest_that_moves(shared_data: Path, made_up: Callable[..., Matched]):
    path = shared_data / "wrf" / "katrina_wrfout_d01_2005-08-28.nc"
    with netCDF4.Dataset(path) as dataset:
        latitude, longitude = dataset["XLAT"][:].astype(float), dataset["XLONG"][:].astype(float)
        times = ["".join(each.astype(str)) for each in dataset["Times"][:].filled()]
        speed = np.hypot(dataset["U10"][:].astype(float), dataset["V10"][:].astype(float))
    first = pd.Timestamp(times[0].replace("_", " "))
    hours = [int((pd.Timestamp(each.replace("_", " ")) - first) / pd.Timedelta(hours=1)) for each in times]
    inner, corner = (latitude[0, 24, 24], longitude[0, 24, 24]), (latitude[0, 1, 1], longitude[0, 1, 1])
    found = made_up(path, f"{first:%Y-%m-%dT%H}", hours[-1] + 1, inner, corner)
    assert "Mercator" in found.how["winds"]
    table = found.table[found.table["variable"] == "wind_speed"].set_index(["station", "valid_time"])
    assert table.loc[("S0", first.tz_localize("UTC")), "forecast"] == pytest.approx(speed[0, 24, 24], rel=1e-4)
    wind = forecasts(found, "wind_speed")
    assert np.nanmax(wind) < 80
    assert np.nanmin(wind) >= 0
    # A place that the nest has left is outside its grid, which is no fault of the model.
    for step, hour in enumerate(hours):
        south, north = latitude[step].min(), latitude[step].max()
        west, east = longitude[step].min(), longitude[step].max()
        held = south <= corner[0] <= north and west <= corner[1] <= east
        when = (first + pd.Timedelta(hours=hour)).tz_localize("UTC")
        assert table.loc[("S1", when), "reason"] == ("pair" if held else "outside the grid")


def test_sup3r_is_turned_by_its_projection(shared_data: Path, made_up: Callable[..., Matched]):
    paths = sorted((shared_data / "wrf").glob("sup3r_wrf_*.nc"))
    with netCDF4.Dataset(paths[0]) as dataset:
        lat, lon = (float(dataset[name][0, 5, 5]) for name in ("XLAT", "XLONG"))
        u, v = (float(dataset[name][0, 5, 5]) for name in ("U10", "V10"))
        kelvin = float(dataset["T2"][0, 5, 5])
    found = made_up(shared_data / "wrf" / "sup3r_wrf_*.nc", "2014-10-01T00", 2, (lat, lon))
    assert found.how["winds"] == "grid-relative: projection attributes"
    assert set(found.table["reason"]) == {"pair"}
    # The station stands on a grid point, to the digits that a position is written with.
    assert forecasts(found, "wind_speed")[0] == pytest.approx(math.hypot(u, v), rel=1e-4)
    assert forecasts(found, "temperature")[0] == pytest.approx(kelvin - 273.15, abs=1e-3)
    one, two = math.radians(30), math.radians(60)
    cone = math.log(math.cos(one) / math.cos(two)) / math.log(
        math.tan(math.pi / 4 - one / 2) / math.tan(math.pi / 4 - two / 2)
    )
    turn = cone * (-96 - lon)
    along_grid = math.degrees(math.atan2(-u, -v))
    gap = (forecasts(found, "wind_direction")[0] - (along_grid - turn) + 180) % 360 - 180
    assert gap == pytest.approx(0, abs=0.05)
    assert abs(turn) > 5


def test_era5(shared_data: Path, made_up: Callable[..., Matched]):
    path = shared_data / "cf_grid" / "era5_berlin_2017.nc"
    with netCDF4.Dataset(path) as dataset:
        lat, lon = (float(dataset[name][:2].mean()) for name in ("latitude", "longitude"))
        noon = 182 * 24 + 12  # the second of July
        expected = float(dataset["t2m"][noon, :2, :2].mean()) - 273.15
    found = made_up(path, "2017-07-02T00", 24, (lat, lon), (48.0, 11.0))
    assert found.how["winds"] == "earth-relative: latitude and longitude axes: zero"
    inside = found.table[found.table["station"] == "S0"]
    assert set(inside["reason"]) == {"pair"}
    assert set(found.table.loc[found.table["station"] == "S1", "reason"]) == {"outside the grid"}
    assert forecasts(found, "temperature")[12] == pytest.approx(expected, abs=1e-9)
    assert ((forecasts(found, "temperature") > 5) & (forecasts(found, "temperature") < 35)).all()


def test_gfs(shared_data: Path, made_up: Callable[..., Matched]):
    path = shared_data / "cf_grid" / "gfs_20101026.nc"
    with netCDF4.Dataset(path) as dataset:
        kelvin = float(dataset["Temperature_height_above_ground"][0, 0, 25, 45])
    found = made_up(path, "2010-10-26T12", 1, (40.0, -105.0), (40.0, 255.0))  # Denver, twice
    assert found.how["winds"].startswith("earth-relative: ")
    assert set(found.table["reason"]) == {"pair"}
    for station in ("S0", "S1"):
        assert forecasts(found, "temperature", station).item() == pytest.approx(kelvin - 273.15, abs=1e-9)
        assert 0 < forecasts(found, "wind_speed", station).item() < 40
