"""The synthetic night: its known errors come back, its ledger holds what it promises, and stages are kept by key."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import netCDF4
import numpy as np
import pandas as pd
import pytest

from configs.case import read_case
from configs.rules import MatchingRules
from configs.window import Window
from flows.demo import CYCLE, ROUGHNESS, SEED, SKILLS, terrain, truth_of, write_demo, write_model
from metrics.kpis.kpi import KpiResult
from metrics.variables import VARIABLES
from tasks.families import weather
from tasks.families.weather import matched
from tasks.find import find_files
from tasks.match import match_model
from tasks.matching.stations import match_grid
from tasks.readers.grids import describe
from tasks.readers.stations import read_stations
from tasks.store.keyed import Store

NEEDED = ("relative_humidity", "temperature", "wind_direction", "wind_gust", "wind_speed")


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A night without noise."""
    return write_demo(tmp_path_factory.mktemp("quiet"), noise=0)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The night as `firecard demo` writes it."""
    return write_demo(tmp_path_factory.mktemp("night"))


def pairs_of(case_file: Path, model: str) -> pd.DataFrame:
    """Every candidate of a model, by the rules of the case."""
    case = read_case(case_file)
    return matched(case, find_files.fn(case, case.model(model), "weather", CYCLE)).table


def with_skill(quiet: Path, folder: Path, **changes: float) -> pd.DataFrame:
    """Every candidate of a model with its own skill and no noise, against the quiet night's stations."""
    ground = terrain()
    truth = truth_of(ground, np.random.default_rng(SEED))
    skill = replace(SKILLS["hrrr"], noise=0.0, **changes)
    write_model(folder, "own", ground, truth, skill, np.random.default_rng(1))
    found = match_grid(
        describe(sorted(folder.iterdir())),
        read_stations(sorted((quiet.parent / "obs").iterdir()), VARIABLES),
        cycle=CYCLE,
        window=Window(hours=24),
        rules=MatchingRules(networks={"RAWS": 0.5}, roughness=ROUGHNESS),
        variables=VARIABLES,
        needed=NEEDED,
    )
    return found.table


def good(table: pd.DataFrame, variable: str) -> pd.DataFrame:
    return table[(table["variable"] == variable) & (table["reason"] == "pair")]


def turned(pairs: pd.DataFrame) -> np.ndarray:
    """How far each forecast direction is clockwise of the observed one."""
    return ((pairs["forecast"] - pairs["observed"] + 180) % 360 - 180).to_numpy()


def assert_errors_come_back(table: pd.DataFrame, strength: float, turn: float, warm: float) -> None:
    # Fields and coordinates are stored in float32: a thousandth of a grid cell at most.
    direction = good(table, "wind_direction")
    assert len(direction) > 600
    np.testing.assert_allclose(turned(direction), turn, atol=0.02)
    temperature = good(table, "temperature")
    np.testing.assert_allclose(temperature["forecast"] - temperature["observed"], warm, atol=0.005)
    speed = good(table, "wind_speed")
    blowing = speed[speed["observed"] > 0]
    assert len(blowing) > 750
    np.testing.assert_allclose(blowing["forecast"] / blowing["observed"], strength, rtol=1e-3)


def test_known_errors_come_back_station_by_station_and_hour_by_hour(quiet: Path):
    assert_errors_come_back(pairs_of(quiet, "wrf-d02"), strength=1.04, turn=4, warm=0.4)


def test_known_errors_of_another_skill_come_back(quiet: Path, tmp_path: Path):
    table = with_skill(quiet, tmp_path / "own", late=0)
    assert_errors_come_back(table, strength=0.88, turn=-8, warm=-0.8)


def test_a_perfect_model_is_perfect(quiet: Path, tmp_path: Path):
    table = with_skill(quiet, tmp_path / "own", late=0, strength=1.0, turn=0.0, warm=0.0)
    assert_errors_come_back(table, strength=1.0, turn=0, warm=0)
    humidity = good(table, "relative_humidity")
    # The generator and the reader each have their own formula of saturation; both follow Bolton.
    np.testing.assert_allclose(humidity["forecast"], humidity["observed"], atol=0.5)


def test_a_late_model_is_late(quiet: Path):
    """Three hours after a report the model says what was reported, at 0.6 of its strength and turned by 18 degrees."""
    table = pairs_of(quiet, "gfs")
    speed = good(table, "wind_speed").assign(hour=lambda rows: (rows["valid_time"] - CYCLE).dt.total_seconds() / 3600)
    observed = speed[speed["observed"] > 0].set_index(["station", "hour"])["observed"]
    later = speed.assign(hour=speed["hour"] - 3).set_index(["station", "hour"])["forecast"]
    both = pd.concat([later, observed], axis=1, join="inner")
    assert len(both) > 600
    np.testing.assert_allclose(both["forecast"] / both["observed"], 0.6, rtol=1e-3)


def test_the_ledger_holds_every_kind_of_trouble_that_the_night_promises(night: Path):
    table = pairs_of(night, "hrrr")
    hour = (table["valid_time"] - CYCLE).dt.total_seconds() / 3600
    table = table.assign(station=table["station"].astype(str), hour=hour)
    reasons = table[table["variable"] == "wind_speed"].groupby("station")["reason"].agg(set)
    assert reasons["RAWS11"] <= {"stuck sensor", "no observation"}
    assert "stuck sensor" in reasons["RAWS11"]
    assert reasons["RAWS23"] == reasons["ASOS15"] == {"outside the grid"}
    assert reasons["ASOS05"] <= {"outside the time tolerance", "no observation"}
    silent = table[(table["station"] == "RAWS07") & (table["hour"] >= 10)]
    assert set(silent["reason"]) == {"no observation"}
    gaps = table[(table["reason"] == "no observation") & (table["variable"] == "temperature")]
    assert gaps["station"].nunique() > 5
    directions = table[table["variable"] == "wind_direction"].groupby("reason")["station"].nunique()
    assert {"pair", "calm", "variable direction", "stuck sensor"} <= set(directions.index)
    assert directions["calm"] > 2
    assert table["station"].nunique() == 40
    assert (table.groupby(["station", "variable"]).size() == 24).all()


def test_the_same_night_every_time(night: Path, tmp_path: Path):
    again = write_demo(tmp_path / "again")
    for path in (night.parent / "obs").iterdir():
        assert path.read_bytes() == (again.parent / "obs" / path.name).read_bytes()
    name = "hrrr/2026111700/wrfout_d01_2026-11-17_05_00_00"
    with netCDF4.Dataset(night.parent / name) as one, netCDF4.Dataset(again.parent / name) as other:
        np.testing.assert_array_equal(one["U10"][:], other["U10"][:])


# --- stages are kept by what goes into them ------------------------------------------------------------------------


@pytest.fixture
def copied(night: Path, tmp_path: Path) -> Path:
    """A night of one's own with one model, to change."""
    folder = tmp_path / "mine"
    for part in ("hrrr", "obs"):
        shutil.copytree(night.parent / part, folder / part)
    return Path(shutil.copy(night, folder))


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def stages(case_file: Path, out: Path) -> tuple[dict[str, int], dict[str, KpiResult]]:
    """The files of pairs that are kept, with when each was written, and the KPIs; the stages run as in the flow."""
    case, store = read_case(case_file), Store(out)
    pairs = match_model.fn(case, find_files.fn(case, case.model("hrrr"), "weather", CYCLE), store)
    weather.reduce(case, "hrrr", CYCLE, pairs, out / "sums.parquet")
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "pairs").glob("*.parquet")}
    return kept, weather.finish(case, out / "sums.parquet")


def test_what_is_matched_again_and_what_is_not(copied: Path, tmp_path: Path):
    out = tmp_path / "out"
    first, kpis = stages(copied, out)
    assert len(first) == 1
    assert kpis["WX10"].coverage == 1

    edited(copied, "WX02: 2}", "WX02: 7}")  # a weight
    again, weighed = stages(copied, out)
    assert again == first
    assert weighed["WX02"].value == kpis["WX02"].value

    edited(copied, "RAWS: 30 min", "RAWS: 20 min")  # a rule
    assert len(stages(copied, out)[0]) == 2

    reports = copied.parent / "obs" / "20261117_RAWS.csv"
    head, line, *rest = reports.read_text().splitlines()
    place = head.split(",").index("temperature [degC]")
    cells = line.split(",")
    cells[place] = str(float(cells[place]) + 1)
    reports.write_text("\n".join([head, ",".join(cells), *rest]) + "\n")
    assert len(stages(copied, out)[0]) == 3

    path = copied.parent / "hrrr" / "2026111700" / "wrfout_d01_2026-11-17_05_00_00"
    with netCDF4.Dataset(path, "a") as dataset:
        dataset["T2"][:] = dataset["T2"][:] + 1
    assert len(stages(copied, out)[0]) == 4

    path.unlink()  # a file that never came: the model owes 1 of 24 hours at every station
    absent, kpis = stages(copied, out)
    assert len(absent) == 5
    assert 0.94 < kpis["WX10"].coverage < 1
    missing = pairs_of(copied, "hrrr").query("reason == 'no forecast' and variable == 'temperature'")
    assert set(missing["valid_time"]) == {pd.Timestamp("2026-11-17T05:00Z")}
    assert len(missing) > 30
