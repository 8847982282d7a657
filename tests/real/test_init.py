"""From files that others wrote to a card without editing: init, check, run; and each file explained alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli import app


def said(*arguments: object) -> str:
    """What a command that succeeds prints."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("prefect_server")
def test_harp_files_become_a_card(shared_data: Path, tmp_path: Path):
    from flows.evaluate import evaluate

    case = tmp_path / "mine.yaml"
    said("init", *sorted((shared_data / "pairs" / "harp").iterdir()), "--to", case)
    assert 'vfldAROME_Arctic_prod{cycle:%Y%m%d%H}*", source: vfld' in case.read_text()
    assert 'vobs*", source: vobs' in case.read_text()
    assert "HARP's forecasts at stations (vfld)" in said("check", case)
    (outcome,) = evaluate(case, datetime(2019, 2, 17, tzinfo=UTC), out=tmp_path / "out")
    card = json.loads((outcome.folders[0] / "card.json").read_bytes())
    assert card["model"] == "AROME_Arctic_prod"
    assert {group["name"] for group in card["groups"]} == {
        "Wind Speed",
        "Wind Direction",
        "Gusts",
        "Temperature",
        "Humidity",
    }
    assert 0 < card["total"]["score"] < 100


def test_a_grid_and_its_stations(shared_data: Path, tmp_path: Path):
    """ERA5 around Berlin, a year of hours, and a station that reports on one day of March."""
    rows = [f"TXL,52.5,13.3,2017-03-05T{hour:02d}:00Z,{hour / 2}" for hour in range(24)]
    (tmp_path / "obs.csv").write_text("station,lat,lon,time,wind_speed [m/s]\n" + "\n".join(rows) + "\n")
    said("init", shared_data / "cf_grid" / "era5_berlin_2017.nc", tmp_path / "obs.csv", "--to", tmp_path / "c.yaml")
    text = said("check", tmp_path / "c.yaml")
    assert "cycle 2017-03-05T00:00Z, valid [2017-03-05T00:00Z, 2017-03-06T00:00Z[" in text
    assert "wind_speed [m/s]: 24 pairs of 24 candidates" in text


def test_reports_without_positions_ask_for_a_table(shared_data: Path, tmp_path: Path):
    grid, bulletins = (
        shared_data / "cf_grid" / "era5_berlin_2017.nc",
        shared_data / "stations" / "metar_20190701_1200.txt",
    )
    done = CliRunner().invoke(app, ["init", str(grid), str(bulletins), "--to", str(tmp_path / "c.yaml")])
    assert done.exit_code == 1
    assert "does not say where its stations are; give a table with the columns station, lat and lon" in done.stderr
    assert not (tmp_path / "c.yaml").exists()


EXPLAINED = [
    ("wrf/katrina_wrfout_d01_2005-08-28.nc", "WRF output (source: wrf)"),
    ("wrf/sup3r_wrf_2014-10-01_00_00_00.nc", "WRF output (source: wrf)"),
    ("cf_grid/era5_berlin_2017.nc", "8760 times, every 1 h"),
    ("cf_grid/gfs_20101026.nc", "grid: rectilinear 46×101"),
    ("cf_grid/ndfd_20170603T1800.nc", "from components made of stored speed and direction"),
    ("cf_grid/arome_arctic_2018071000+003.grib1", "stored as GRIB"),
    ("mesh/northsea_mesh_wind.nc", "grid: mesh 958"),
    ("stations/metar_20190701_1200.txt", "METAR bulletins (source: metar)"),
    ("stations/asos_19930312.csv", "wind_gust: [m/s] 985 values"),
    ("stations/station_data_20160116.txt", "(source: ncss)"),
    ("stations/KMSO-MDT-2018-06-20_2128-2018-06-21_2128-0.csv", "WindNinja station file"),
    ("stations/arm_sgpmetE13.b1.20190101.cdf", "1 station, 1,440 reports"),
    ("stations/sao_95031800.cdf", "without a position"),
    ("pairs/harp/vfldAROME_Arctic_prod201902170003", "259 stations"),
    ("pairs/harp/vobs2019021700", "HARP's observations"),
    ("pairs/verif/raw.txt", "verif's text (source: verif)"),
    ("impact/dins_palisades_2025.geojson", "11,988 buildings, 6,897 of them destroyed"),
    ("impact/east_troublesome_2020_sbs.tif", "1224×3051 cells"),
]


@pytest.mark.parametrize(("name", "expected"), EXPLAINED)
def test_every_real_file_is_explained(shared_data: Path, name: str, expected: str):
    assert expected in said("check", shared_data / name)


REFUSED = [
    ("stations/missoula_valley_stations_4.csv", "is a list of 4 station files of WindNinja"),
    ("mesh/HKNA_wind.csv", "firecard's own tables have the columns station, lat, lon, time"),
]


@pytest.mark.parametrize(("name", "expected"), REFUSED)
def test_or_refused_with_what_to_do(shared_data: Path, name: str, expected: str):
    done = CliRunner().invoke(app, ["check", str(shared_data / name)])
    assert done.exit_code == 1
    assert expected in done.stdout + done.stderr
