"""Real files of fire impact against stand-in predictions: no model's output, but a rule that anybody can repeat.

Buildings: a building is "predicted" destroyed if the nearest other building was. Severity: the observed map itself,
moved 60 columns to the east.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from configs.case import Data
from configs.impact import SeverityRules, StructureRules
from metrics.severity import PRESETS
from tasks.matching.buildings import match_buildings
from tasks.matching.ledger import PAIR
from tasks.matching.rasters import Layer, match_rasters
from tasks.readers.buildings import read_buildings


@pytest.fixture(scope="module")
def dins(shared_data: Path) -> Path:
    return shared_data / "impact" / "dins_palisades_2025.geojson"


def test_dins_of_the_palisades_fire(dins):
    table = read_buildings([dins], {}, StructureRules())
    # The counts that the folder's README gives.
    assert table["damage"].value_counts().to_dict() == {
        "Destroyed": 6823,
        "No Damage": 4152,
        "Affected": 768,
        "Minor": 171,
        "Major": 74,
    }
    assert table["destroyed"].sum() == 6823 + 74
    assert len(table) == 11_988


def neighbours(observed: pd.DataFrame) -> np.ndarray:
    """The row of the nearest other building of each."""
    from scipy.spatial import cKDTree

    places = np.stack([observed["lon"] * np.cos(np.deg2rad(34.05)), observed["lat"]], axis=1)
    _, order = cKDTree(places).query(places, k=2)
    return np.where(order[:, 0] == np.arange(len(observed)), order[:, 1], order[:, 0])


def test_dins_against_the_stand_in_by_id_and_by_position(dins, tmp_path):
    observed = read_buildings([dins], {}, StructureRules())
    other = neighbours(observed)
    stand_in = pd.DataFrame({"id": observed["id"], "destroyed": observed["destroyed"].to_numpy()[other].astype(int)})
    stand_in.sample(frac=1, random_state=1).to_csv(tmp_path / "stand-in.csv", index=False)
    predicted = read_buildings([tmp_path / "stand-in.csv"], {}, StructureRules())
    table = match_buildings(predicted, observed, StructureRules(), "stand-in").table
    assert (table["reason"] == PAIR).sum() == 11_988
    expected = observed["destroyed"].to_numpy() == observed["destroyed"].to_numpy()[other]
    assert (table["forecast"] == table["observed"]).tolist() == expected.tolist()
    # The same by position, about 3 m off: some buildings stand on the same spot and cannot be told apart.
    moved = observed.assign(id="", lat=observed["lat"] + 3e-5, destroyed=stand_in["destroyed"].astype(float))
    near = match_buildings(moved, observed.assign(id=""), StructureRules(tolerance=10.0), "stand-in").table
    assert (near["reason"] == PAIR).sum() > 0.95 * 11_988


def moved_east(path: Path, to: Path) -> tuple[np.ndarray, np.ndarray]:
    """Writes the map moved by 60 columns; both maps."""
    rasterio = pytest.importorskip("rasterio", reason="GeoTIFF needs the extra `raster`")
    with rasterio.open(path, driver="GTiff") as file:
        seen, profile = file.read(1), file.profile
    moved = np.zeros_like(seen)
    moved[:, 60:] = seen[:, :-60]
    with rasterio.open(to, "w", **profile) as file:
        file.write(moved, 1)
    return moved, seen


def test_soil_burn_severity_of_the_east_troublesome_fire(shared_data, tmp_path):
    path = shared_data / "impact" / "east_troublesome_2020_sbs.tif"
    moved, seen = moved_east(path, tmp_path / "stand-in.tif")
    rules = SeverityRules(classes=PRESETS["sbs"])
    matched = match_rasters(Layer(tmp_path / "stand-in.tif", Data("")), Layer(path, Data("")), rules, None)
    assert matched.how["way"] == "the same grid"
    paired = matched.table[matched.table["reason"] == PAIR]
    assert matched.table["count"].sum() == seen.size
    assert paired["count"].sum() == ((seen > 0) | (moved > 0)).sum()
    hits = paired.loc[(paired["forecast"] == 4) & (paired["observed"] == 4), "count"].sum()
    assert hits == ((seen == 4) & (moved == 4)).sum()
    assert json.dumps(matched.how)


CASE = """\
case: REAL
title: Real observations, stand-in predictions (no model's output)
cycle: 2025-01-07T00
models:
  stand-in: DATA
observations: SEEN
severity: {classes: sbs}
kpis: KPIS
"""


def evaluated(folder: Path, **parts: str) -> dict:
    from flows.evaluate import evaluate

    text = CASE
    for name, part in parts.items():
        text = text.replace(name, part)
    (folder / "real.yaml").write_text(text)
    evaluate(folder / "real.yaml", datetime(2025, 1, 7, tzinfo=UTC), out=folder / "out")
    (path,) = (folder / "out" / "REAL-A").glob("*/stand-in/card.json")
    return json.loads(path.read_bytes())


@pytest.mark.usefixtures("prefect_server")
def test_buildings_end_to_end(dins, tmp_path):
    observed = read_buildings([dins], {}, StructureRules())
    said = observed["destroyed"].to_numpy()[neighbours(observed)]
    pd.DataFrame({"id": observed["id"], "destroyed": said.astype(int)}).to_csv(tmp_path / "stand-in.csv", index=False)
    (tmp_path / "dins.geojson").symlink_to(dins)
    record = evaluated(
        tmp_path,
        DATA="{structures: {path: stand-in.csv}}",
        SEEN="{structures: {path: dins.geojson}}",
        KPIS="{BD01: {kpi: structure_loss_accuracy}, BD02: {kpi: structure_loss_recall}}",
    )
    accuracy, recall = record["groups"][0]["kpis"]
    assert accuracy["value"] == pytest.approx((said == observed["destroyed"]).mean())
    assert recall["value"] == pytest.approx(said[observed["destroyed"] == 1].mean())
    assert (accuracy["n"], accuracy["coverage"]) == (11_988, 1.0)
    assert "stand-in" in record["title"]


@pytest.mark.usefixtures("prefect_server")
def test_severity_end_to_end(shared_data, tmp_path):
    path = shared_data / "impact" / "east_troublesome_2020_sbs.tif"
    moved, seen = moved_east(path, tmp_path / "stand-in.tif")
    (tmp_path / "sbs.tif").symlink_to(path)
    record = evaluated(
        tmp_path,
        DATA="{severity: {path: stand-in.tif}}",
        SEEN="{severity: {path: sbs.tif}}",
        KPIS="{SV01: {kpi: high_severity_f1}, SV02: {kpi: burned_area_jaccard}}",
    )
    f1, overlap = record["groups"][0]["kpis"]
    both, any_ = ((seen == 4) & (moved == 4)).sum(), (seen == 4).sum() + (moved == 4).sum()
    assert f1["value"] == pytest.approx(2 * both / any_)
    assert overlap["value"] == pytest.approx(((seen > 0) & (moved > 0)).sum() / ((seen > 0) | (moved > 0)).sum())
