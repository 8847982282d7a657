"""A ranking of fire impact: the union of all fires, and the cells and buildings that all models have (D-05, D-15)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from flows.evaluate import evaluate

pytestmark = pytest.mark.usefixtures("prefect_server")
CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
CASE = """\
case: FIRE
cycle: 2026-11-17T00
models:
  east: {severity: {path: east.npy}, structures: {path: east.csv}}
  wide: {severity: {path: wide.npy}, structures: {path: wide.csv}}
observations: {severity: {path: observed.npy}, structures: {path: observed.csv}}
severity: {aligned: true}
matching: {min_coverage: 0.5}
kpis:
  SV01: {kpi: high_severity_accuracy}
  BD01: {kpi: structure_loss_accuracy}
"""


def about(values: tuple[float, float]) -> object:
    """A ranking shows scores, of four digits."""
    return pytest.approx(values, abs=5e-5)


def fire(*columns: slice) -> np.ndarray:
    values = np.zeros((40, 60), dtype=np.uint8)
    for each in columns:
        values[10:20, each] = 4
    return values


@pytest.fixture
def scored(tmp_path: Path):
    """Own value and ranked value of each KPI, by model."""

    def score(text: str = CASE, **changed: np.ndarray) -> dict[str, dict[str, tuple[float, float]]]:
        # Observed 100 cells; `east` half a width off; `wide` hits all of them and 200 more.
        maps = {"observed": fire(slice(10, 20)), "east": fire(slice(15, 25)), "wide": fire(slice(10, 40)), **changed}
        for name, values in maps.items():
            np.save(tmp_path / f"{name}.npy", values)
        (tmp_path / "observed.csv").write_text("id,damage\na,Destroyed\nb,No Damage\nc,Destroyed\nd,No Damage\n")
        (tmp_path / "east.csv").write_text("id,destroyed\na,1\nb,0\nc,0\n")  # says nothing of d
        (tmp_path / "wide.csv").write_text("id,destroyed\nd,1\nc,1\nb,0\na,1\n")
        (tmp_path / "fire.yaml").write_text(text)
        evaluate(tmp_path / "fire.yaml", CYCLE, out=tmp_path / "out")
        folder = tmp_path / "out" / "FIRE-A" / "2026-11-17T00"
        ranking = json.loads((folder / "ranking.json").read_bytes())
        found: dict[str, dict[str, tuple[float, float]]] = {}
        for model in ("east", "wide"):
            card = json.loads((folder / model / "card.json").read_bytes())
            own = {kpi["id"]: kpi["value"] for group in card["groups"] for kpi in group["kpis"]}
            ranked = {kpi["id"]: kpi["scores"][model]["score"] / 100 for kpi in ranking["kpis"]}
            found[model] = {name: (own[name], ranked[name]) for name in own}
        return found

    return score


def test_the_domain_of_a_ranking_is_the_union_of_all_fires(scored):
    found = scored()
    # Own unions of 150 and 300 cells: 50 hits, and 100 hits. In the union of all, 300 cells, `east` is right 150 times
    # more: it does not burn where `wide` does.
    assert found["east"]["SV01"] == about((50 / 150, (50 + 150) / 300))
    assert found["wide"]["SV01"] == about((100 / 300, 100 / 300))


def test_cells_that_one_model_does_not_cover_count_for_none(scored):
    blind = fire(slice(10, 40))
    blind[10:20, 10:12] = 6  # 20 cells of the fire without a forecast; `east` missed them
    found = scored(wide=blind)
    assert found["wide"]["SV01"] == about((80 / 280, 80 / 280))
    assert found["east"]["SV01"] == about((50 / 150, 200 / 280))


def test_all_cells_are_the_domain_where_the_case_says_so(scored):
    found = scored(CASE.replace("aligned: true", "aligned: true, domain: all"))
    assert found["east"]["SV01"] == about((2300 / 2400, 2300 / 2400))
    assert found["wide"]["SV01"] == about((2200 / 2400, 2200 / 2400))


def test_buildings_that_one_model_says_nothing_of_count_for_none(scored):
    found = scored()
    assert found["east"]["BD01"] == about((2 / 3, 2 / 3))
    assert found["wide"]["BD01"] == about((3 / 4, 3 / 3))  # d, its only fault, is not compared
