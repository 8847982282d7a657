"""`firecard init` and `firecard check FILE`: from own files to a case that runs, and what is said of one file."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import netCDF4
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


@pytest.fixture
def written(tmp_path):
    """Writes a CF file of a grid with some variables at some hours, and reports without a zone at its middle."""
    standard = {
        "u10": ("eastward_wind", "m s-1"),
        "v10": ("northward_wind", "m s-1"),
        "t2m": ("air_temperature", "K"),
    }
    obs = "".join(f"A,41,-120,2026-11-17 {hour:02d}:00,5,90,10\n" for hour in range(6))
    (tmp_path / "obs.csv").write_text(
        "station,lat,lon,time,wind_speed [m/s],wind_direction [deg],temperature [degC]\n" + obs
    )

    def write(name, variables, hours=range(6)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with netCDF4.Dataset(path, "w") as file:
            for dim, size in (("time", len(hours)), ("lat", 3), ("lon", 3)):
                file.createDimension(dim, size)
            for axis, units, values in (
                ("time", "hours since 2026-11-17", list(hours)),
                ("lat", "degrees_north", [40, 41, 42]),
                ("lon", "degrees_east", [-121, -120, -119]),
            ):
                file.createVariable(axis, "f8", (axis,))[:] = values
                file[axis].units = units
            for each in variables:
                file.createVariable(each, "f8", ("time", "lat", "lon"))[:] = 3.0
                file[each].standard_name, file[each].units = standard[each]
        return path.relative_to(tmp_path)

    return write


TOGETHER = [
    pytest.param({"sep_u.nc": ["u10"], "sep_v.nc": ["v10"]}, {"sep": "sep_*.nc"}, id="components"),
    pytest.param({"u/x.nc": ["u10"], "v/x.nc": ["v10"]}, {"x": "*/x.nc"}, id="components in folders"),
    pytest.param(
        {"a_u10.nc": ["u10"], "a_v10.nc": ["v10"], "b_u10.nc": ["u10"], "b_v10.nc": ["v10"]},
        {"a": "a_*.nc", "b": "b_*.nc"},
        id="components of two models",
    ),
    pytest.param(
        {"wind.nc": ["u10", "v10"], "t2m.nc": ["t2m"]}, {"model-1": "*.nc"}, id="variables in files of their own"
    ),
    pytest.param({"a/w.nc": ["u10", "v10"], "b/t.nc": ["t2m"]}, {"a": "a/w.nc", "b": "b/t.nc"}, id="two models"),
    pytest.param(
        {"a/w.nc": ["u10", "v10"], "b/w.nc": ["u10", "v10"]},
        {"a": "a/w.nc", "b": "b/w.nc"},
        id="the same of two models",
    ),
]


@pytest.mark.parametrize(("given", "models"), TOGETHER)
def test_variables_in_files_of_their_own_are_one_model(firecard, written, tmp_path, given, models):
    files = [written(name, variables) for name, variables in given.items()]
    done = firecard("init", *files, "obs.csv")
    assert done.exit_code == 0, done.stderr
    case = read_case(tmp_path / "case.yaml")
    named = {each.name: each.data["weather"].path for each in case.models}
    if "model-1" in models:  # what the files' names do not tell, the folder does
        assert list(named.values()) == list(models.values())
    else:
        assert named == models
    assert firecard("check", "case.yaml").exit_code == 0


def test_hours_in_numbered_files_are_one_model(firecard, written, tmp_path):
    files = [written(f"run_{number:02d}.nc", ["u10", "v10"], hours=(2 * number, 2 * number + 1)) for number in range(3)]
    done = firecard("init", *files[:2], "obs.csv")
    assert done.exit_code == 0, done.stderr
    assert "run_00.nc, run_01.nc: one model, on one grid with other times in each" in done.stderr
    case = read_case(tmp_path / "case.yaml")
    assert [(each.name, each.data["weather"].path) for each in case.models] == [("run", "run_0[01].nc")]


def test_a_component_without_its_other_half(firecard, written):
    alone = written("u.nc", ["u10"])
    said = "not used, wind_speed and wind_direction: u.nc: u10 is the eastward wind, and the northward wind is missing"
    assert said in firecard("check", alone).stdout
    done = firecard("init", alone, "obs.csv")
    assert done.exit_code == 1
    assert "u10 is the eastward wind, and the northward wind is missing" in done.stderr


def test_times_without_a_zone_are_not_taken_silently(firecard, written, tmp_path):
    files = [written("m.nc", ["u10", "v10"])]
    assert firecard("init", *files, "obs.csv").exit_code == 0
    said = "times have no zone and are taken as UTC"
    assert said in (tmp_path / "case.yaml").read_text()
    assert said in firecard("check", "obs.csv").stdout
    assert said in firecard("check", "case.yaml").stdout
    zoned = (tmp_path / "obs.csv").read_text().replace(":00,", ":00Z,")
    (tmp_path / "obs.csv").write_text(zoned)
    assert said not in firecard("check", "case.yaml").stdout
    (tmp_path / "pairs.csv").write_text(PAIRS)
    assert said not in firecard("check", "pairs.csv").stdout
    (tmp_path / "pairs.csv").write_text(PAIRS.replace("Z,", ","))
    assert said in firecard("check", "pairs.csv").stdout


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
    pytest.param("station,time".encode("utf-16"), "x.dat: is text in UTF-16, expected UTF-8", id="UTF-16"),
    pytest.param(b" \n\n", "x.dat: is empty", id="blank"),
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
