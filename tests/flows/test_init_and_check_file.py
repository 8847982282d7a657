"""`firecard init` and `firecard check FILE`: from own files to a case that runs, and what is said of one file."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from configs.case import read_case
from flows.cli import app
from flows.demo import write_demo

PAIRS = """model,station,lat,lon,cycle,valid_time,variable,unit,forecast,observed
hrrr,A,40,-120,2026-11-17T00:00Z,2026-11-17T00:00Z,wind_speed,m/s,3,4
gfs,A,40,-120,2026-11-17T00:00Z,2026-11-17T00:00Z,wind_speed,m/s,5,4
"""


@pytest.fixture
def firecard(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = CliRunner().invoke(app, [str(each) for each in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return run


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A made-up night, three models and two files of stations."""
    return write_demo(tmp_path_factory.mktemp("made"), noise=0).parent


@pytest.fixture
def night(made, tmp_path):
    shutil.copytree(made, tmp_path / "night")
    return tmp_path / "night"


def files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    assert found
    return found


def test_from_own_files_to_a_case_without_editing(firecard, night):
    done = firecard("init", *files(night, "*/*/wrfout*"), *files(night, "obs/*.csv"), "--to", night / "mine.yaml")
    assert done.exit_code == 0, done.stderr
    assert "WRF output (source: wrf)" in done.stderr
    case = read_case(night / "mine.yaml")
    assert case.id == "MINE"
    assert {each.name for each in case.models} == {"wrf-d02", "hrrr", "gfs"}
    assert case.model("gfs").data["weather"].path == "gfs/{cycle:%Y%m%d%H}/wrfout_d01_*_00_00"
    checked = firecard("check", night / "mine.yaml")
    assert checked.exit_code == 0, checked.stdout
    assert "cycle 2026-11-17T00:00Z, valid [2026-11-17T00:00Z, 2026-11-18T00:00Z[" in checked.stdout
    assert "wind_speed [m/s]:" in checked.stdout


def test_pairs_bring_their_observations_along(firecard, tmp_path):
    (tmp_path / "pairs.csv").write_text(PAIRS)
    done = firecard("init", "pairs.csv", "--name", "two-models")
    assert done.exit_code == 0, done.stderr
    case = read_case(tmp_path / "case.yaml")
    assert case.id == "two-models"
    assert {each.name for each in case.models} == {"hrrr", "gfs"}
    assert not case.observations
    assert firecard("check", "case.yaml").exit_code == 0


def test_an_existing_case_is_not_lost(firecard, tmp_path):
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "case.yaml").write_text("mine")
    done = firecard("init", "pairs.csv")
    assert done.exit_code == 1
    assert "case.yaml: is there already; --force replaces it" in done.stderr
    assert (tmp_path / "case.yaml").read_text() == "mine"
    assert firecard("init", "pairs.csv", "--force").exit_code == 0


REFUSED = [
    pytest.param({"a.csv": "hello\n"}, r"a.csv: its format is not recognised", id="no format"),
    pytest.param({"a.csv": ""}, "a.csv: is empty", id="empty"),
    pytest.param(
        {"obs.csv": "station,lat,lon,time,wind_speed [m/s]\nA,40,-120,2026-11-17T00:00Z,3\n"},
        "no model among the files",
        id="observations only",
    ),
    pytest.param(
        {"a.csv": "station,lat,lon\nA,40,-120\n", "b.csv": "station,lat,lon\nA,40,-120\n"},
        "b.csv: a second table of stations",
        id="two tables of stations",
    ),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_what_cannot_become_a_case_is_refused(firecard, tmp_path, given, said):
    for name, text in given.items():
        (tmp_path / name).write_text(text)
    done = firecard("init", *given)
    assert done.exit_code == 1
    assert said in done.stderr
    assert not (tmp_path / "case.yaml").exists()


def test_a_grid_alone_asks_for_observations(firecard, night):
    done = firecard("init", files(night, "gfs/*/wrfout*")[0])
    assert done.exit_code == 1
    assert "is WRF output; give the observations too" in done.stderr


def test_a_model_file_explained(firecard, night):
    done = firecard("check", files(night, "wrf-d02/*/wrfout*")[0])
    assert done.exit_code == 0, done.stderr
    assert "WRF output (source: wrf), for `models:`" in done.stdout
    assert "grid: curvilinear 60×80" in done.stdout
    assert "cycles: 2026-11-17T00:00Z" in done.stdout
    assert "valid 2026-11-17T00:00Z: 1 time\n" in done.stdout
    assert "temperature: [degC] from T2 at 2 m, as stored" in done.stdout


def test_reports_explained(firecard, tmp_path):
    rows = "A,40,-120,2026-11-17T00:00Z,3\nA,40,-120,2026-11-17T00:10Z,-9999\nB,41,-121,2026-11-17T00:00Z,5\n"
    (tmp_path / "obs.csv").write_text("station,lat,lon,time,wind_speed [m/s]\n" + rows)
    done = firecard("check", "obs.csv")
    assert done.exit_code == 0, done.stderr
    assert "obs.csv: table of station reports (source: stations), for `observations:`" in done.stdout
    assert "2 stations, 3 reports" in done.stdout
    assert "40 to 41 °N, -121 to -120 °E" in done.stdout
    assert "wind_speed: [m/s] 2 values, 3 to 5; 1 missing code" in done.stdout


def test_pairs_explained(firecard, tmp_path):
    (tmp_path / "pairs.csv").write_text(PAIRS)
    done = firecard("check", "pairs.csv")
    assert "models: gfs, hrrr" in done.stdout
    assert "wind_speed: [m/s] 2 pairs" in done.stdout


def test_a_raster_of_classes_explained(firecard, tmp_path):
    np.save(tmp_path / "classes.npy", np.array([[0, 0, 4], [1, 4, 4]], dtype=np.uint8))
    done = firecard("check", "classes.npy")
    assert done.exit_code == 0, done.stderr
    assert "for `severity:`" in done.stdout
    assert "cells by class: 0: 2, 1: 1, 4: 3" in done.stdout


def test_buildings_explained(firecard, tmp_path):
    (tmp_path / "dins.csv").write_text("id,lat,lon,damage\n1,34,-118,Destroyed (>50%)\n2,34,-118.1,No Damage\n")
    done = firecard("check", "dins.csv")
    assert "2 buildings, 1 of them destroyed" in done.stdout


def test_documents_and_probabilities_are_known_by_their_columns(firecard, tmp_path):
    (tmp_path / "truth.csv").write_text("document,signed,amount\nd1,2024-01-01,3\n")
    assert "for `extraction:`" in firecard("check", "truth.csv").stdout
    (tmp_path / "threat.csv").write_text("fire_id,prob_12h,prob_24h\nf,0.1,0.2\n")
    assert "probabilities: {12 h: prob_12h, 24 h: prob_24h}" in firecard("check", "threat.csv").stdout


UNREADABLE = [
    pytest.param(b"", "is empty", id="empty"),
    pytest.param(b"\x89HDF\r\n\x1a\n cut", "x.dat", id="cut HDF5"),
    pytest.param(
        b"hello world\n", "its format is not recognised: it is text that starts with 'hello world'", id="text"
    ),
    pytest.param(bytes(range(256)), "its format is not recognised: it starts with", id="bytes"),
    pytest.param("größe".encode("latin-1"), "its format is not recognised", id="Latin-1"),
    pytest.param("station,time".encode("utf-16"), "its format is not recognised", id="UTF-16"),
]


@pytest.mark.parametrize(("content", "said"), UNREADABLE)
def test_a_file_that_is_nothing(firecard, tmp_path, content, said):
    (tmp_path / "x.dat").write_bytes(content)
    done = firecard("check", "x.dat")
    assert done.exit_code == 1
    assert said in done.stderr
    assert done.stdout == ""


def test_hdf5_of_something_else(firecard, tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["weights"] = np.zeros(3)
    done = firecard("check", "other.h5")
    assert done.exit_code == 1
    assert "other.h5: its format is not recognised: it is NetCDF or HDF5 with weights" in done.stderr


def test_a_file_that_is_not_there(firecard):
    done = firecard("check", "gone.nc")
    assert done.exit_code == 1
    assert "gone.nc: there is no such file" in done.stderr


def test_asos_reports_with_positions_are_no_table_of_stations(firecard, night):
    reports = night / "asos.csv"
    reports.write_text("station,valid,lon,lat,tmpf,drct,sknt\nKA,2026-11-17 00:00,-120,40,50,270,10\n")
    done = firecard("init", *files(night, "gfs/*/wrfout*"), reports, "--to", night / "mine.yaml")
    assert "asos.csv: ASOS reports of the Iowa Environmental Mesonet (source: asos)" in done.stderr
    assert "table of stations" not in done.stderr


def test_a_table_of_stations_explained(firecard, tmp_path):
    (tmp_path / "places.csv").write_text("station,lat,lon\nKA,40,-120\nKB,41,-121\n")
    done = firecard("check", "places.csv")
    assert done.exit_code == 0
    assert "places.csv: table of stations, for `stations:`" in done.stdout
    assert "2 stations" in done.stdout


def test_a_table_of_stations_with_a_mistake(firecard, tmp_path):
    (tmp_path / "places.csv").write_text("station,lat,lon\nKA,north,-120\n")
    done = firecard("check", "places.csv")
    assert done.exit_code == 1
    assert "places.csv" in done.stderr
    assert "lat" in done.stderr


def test_a_table_of_reports_without_a_time_says_which_column_is_missing(firecard, tmp_path):
    (tmp_path / "reports.csv").write_text("station,when,wind_speed [m/s]\nKA,2026-11-17T00:00Z,3\n")
    done = firecard("check", "reports.csv")
    assert done.exit_code == 1
    assert "reports.csv: the column 'lat' is missing" in done.stderr
