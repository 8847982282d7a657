"""HARP's files of a real run: every published number out of a case file."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from configs.case import read_case
from flows.check import check_case
from metrics.continuous import rmse
from metrics.variables import VARIABLES
from tasks.families.weather import matched
from tasks.find import find_files, latest_cycle
from tasks.readers.stations import read_stations

CASE = Path(__file__).with_name("harp.yaml")

# n and value as published (see the case file for what was pooled)
PUBLISHED = {
    "BIAS": (1462, "0.2514"),
    "RMSE": (1462, "2.5448"),
    "DIRECTION": (1409, "49.0903"),
    "STRONG": (864, "29.4909"),
    "GUST": (565, "2.2437"),
    "GUST_BIAS": (565, "0.2234"),
    "BIAS12": (166, "0.1399"),
    "RMSE12": (166, "2.2752"),
}


@pytest.fixture
def harp(shared_data: Path, tmp_path: Path) -> Path:
    """The case file with its data beside it."""
    for each in (shared_data / "pairs" / "harp").iterdir():
        shutil.copyfile(each, tmp_path / each.name)
    return Path(shutil.copy(CASE, tmp_path))


@pytest.mark.usefixtures("prefect_server")
def test_the_published_numbers_come_out_of_a_case_file(harp: Path, tmp_path: Path):
    from flows.evaluate import evaluate

    (outcome,) = evaluate(harp, datetime(2019, 2, 17, tzinfo=UTC), out=tmp_path / "out")
    (folder,) = outcome.folders
    card = json.loads((folder / "card.json").read_bytes())
    kpis = {kpi["id"]: kpi for group in card["groups"] for kpi in group["kpis"]}
    assert {name: kpi["n"] for name, kpi in kpis.items()} == {name: n for name, (n, _) in PUBLISHED.items()}
    for name, (_, value) in PUBLISHED.items():
        digits = 3 if name in ("DIRECTION", "STRONG") else 4
        assert f"{kpis[name]['value']:.{digits}f}" == f"{float(value):.{digits}f}", name
    assert not card["partial"]
    # The model has no gust in its analysis, and every observed one there asks for it.
    assert kpis["GUST"]["coverage"] == pytest.approx(565 / 635)
    assert card["ledger"]["wind_gust"]["left_out"]["no forecast"] == 70
    strangers = 7151 - 201  # stations that report and are not the model's
    assert card["ledger"]["wind_speed"]["left_out"]["not a station of the model"] == 9 * strangers
    assert kpis["RMSE"]["coverage"] == 1
    page = (folder / "card.html").read_text(encoding="utf-8")
    assert "201 stations are among the model" in page
    assert "Map of 201 stations" in page


def test_degrees_that_do_not_wrap_give_another_answer(harp: Path):
    case = read_case(harp)
    table = matched(case, find_files.fn(case, case.models[0], "weather", case.cycle)).table
    pairs = table[(table["variable"] == "wind_direction") & (table["reason"] == "pair")]
    assert round(float(rmse(pairs["forecast"].to_numpy(), pairs["observed"].to_numpy())), 3) == 101.027


def test_check_says_what_was_found(harp: Path):
    said: list[str] = []
    assert check_case(read_case(harp), None, said.append)
    text = "\n".join(said)
    assert "HARP's forecasts at stations (vfld)" in text
    assert "HARP's observations (vobs)" in text
    assert "wind_speed [m/s]: 1462 pairs" in text
    assert "stations: of the model 201, not of the model 6950" in text


def test_the_newest_cycle_is_in_the_names(harp: Path):
    text = harp.read_text().replace("cycle: 2019-02-17T00\n", "").replace("{cycle:%Y%m%d%H}*", "*")
    harp.write_text(text)
    assert latest_cycle(read_case(harp)) == datetime(2019, 2, 17, tzinfo=UTC)


def test_stations_that_seem_to_move(shared_data: Path):
    paths = sorted((shared_data / "pairs" / "harp").glob("vobs*"))
    found = read_stations(paths, VARIABLES)
    assert len(found.stations) == 7151
    lost = found.stations["lat"].isna()
    assert int(lost.sum()) == found.moved
    # 37545 is at 41 N 44 E in one file and 105 km from there in another.
    assert np.isnan(found.stations.set_index("station").loc["37545", "lat"])
    assert found.stations.set_index("station").loc["01003", ["lat", "lon"]].tolist() == [77.0, 15.5]
