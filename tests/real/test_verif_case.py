"""verif's example file: the published bias and RMSE out of a case file, and a card of one of its cycles."""

from __future__ import annotations

import json
import math
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from configs.case import read_case
from metrics.sums import ErrorSums
from metrics.variables import VARIABLES
from tasks.families.weather import matched
from tasks.find import find_files, latest_cycle
from tasks.readers.verif import read_pairs
from tasks.reducing.sample import night

CASE = Path(__file__).with_name("verif.yaml")


@pytest.fixture
def raw(shared_data: Path, tmp_path: Path) -> Path:
    """The case file with its data beside it."""
    shutil.copyfile(shared_data / "pairs" / "verif" / "raw.txt", tmp_path / "raw.txt")
    return Path(shutil.copy(CASE, tmp_path))


def test_the_published_numbers_are_those_of_all_cycles_together(raw: Path):
    case = read_case(raw)
    (model,) = case.models
    cycles = pd.date_range("2012-01-01", "2012-03-01", tz="UTC").to_pydatetime()
    total = None
    for cycle in cycles:
        kept = matched(case, find_files.fn(case, model, "weather", cycle))
        arrays = night(kept.table, kept.offered, cycle)
        sums = ErrorSums.of(arrays.forecast["temperature"], arrays.observed["temperature"])
        total = sums if total is None else total + sums
    assert len(cycles) == 61
    assert total is not None
    assert int(total.n) == 61 * 25
    assert f"{float(total.bias()):.4f}" == "-0.2825"
    assert f"{float(total.rmse()):.4f}" == "2.6814"


def test_the_reader_alone_says_the_same(raw: Path):
    pairs = read_pairs(raw.with_name("raw.txt"), VARIABLES)
    error = (pairs["forecast"] - pairs["observed"]).to_numpy()
    assert f"{error.mean():.4f}" == "-0.2825"
    assert f"{math.sqrt((error**2).mean()):.4f}" == "2.6814"


@pytest.mark.usefixtures("prefect_server")
def test_a_card_of_one_cycle(raw: Path, tmp_path: Path):
    from flows.evaluate import evaluate

    assert latest_cycle(read_case(raw)) == datetime(2012, 3, 1, tzinfo=UTC)
    rows = [line.split() for line in (tmp_path / "raw.txt").read_text().splitlines() if line.startswith("20120101 ")]
    error = [float(row[7]) - float(row[6]) for row in rows]
    (outcome,) = evaluate(raw, datetime(2012, 1, 1, tzinfo=UTC), out=tmp_path / "out")
    (folder,) = outcome.folders
    card = json.loads((folder / "card.json").read_bytes())
    kpis = {kpi["id"]: kpi for group in card["groups"] for kpi in group["kpis"]}
    assert kpis["BIAS"]["n"] == kpis["RMSE"]["n"] == len(error) == 25
    assert kpis["BIAS"]["value"] == pytest.approx(sum(error) / 25)
    assert kpis["RMSE"]["value"] == pytest.approx(math.sqrt(sum(each**2 for each in error) / 25))
    assert not card["partial"]
