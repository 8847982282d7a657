"""Severity and structures through the real flow: a card by hand, the made-up fire, a mixed case, and bad input."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner

from flows.cli import app
from flows.demos.impact import write_demo
from flows.evaluate import evaluate
from metrics.errors import FirecardError

pytestmark = pytest.mark.usefixtures("prefect_server")
ROOT = Path(__file__).parents[2]
CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
CASE = """\
case: FIRE
cycle: 2026-11-17T00
models:
  m:
    severity: {path: model.npy}
    structures: {path: model.csv}
observations:
  severity: {path: observed.npy}
  structures: {path: observed.csv}
severity: {aligned: true}
kpis:
  SV01: {kpi: high_severity_accuracy}
  SV02: {kpi: high_severity_recall}
  SV03: {kpi: burned_area_jaccard}
  BD01: {kpi: structure_loss_precision}
  BD02: {kpi: structure_loss_npv}
groups:
  Burn Severity: [SV01, SV02, SV03]
  Building Damaged: [BD01, BD02]
schemes:
  A: mean
  B: {groups: {Building Damaged: 2}}
"""


def written(folder: Path, text: str = CASE) -> Path:
    """A fire of 10×10 cells, predicted half its width to the east; five buildings, one inaccessible."""
    for name, left in (("observed", 10), ("model", 15)):
        values = np.zeros((40, 40), dtype=np.uint8)
        values[10:20, left : left + 10] = 4
        np.save(folder / f"{name}.npy", values)
    (folder / "observed.csv").write_text("id,damage\na,Destroyed\nb,No Damage\nc,Inaccessible\nd,Minor\ne,Major\n")
    (folder / "model.csv").write_text("id,destroyed\ne,0\nd,1\nc,1\nb,0\na,1\n")
    case = folder / "fire.yaml"
    case.write_text(text)
    return case


def card(out: Path, scheme: str = "A", case: str = "FIRE", model: str = "m") -> dict:
    (path,) = (out / f"{case}-{scheme}").glob(f"*/{model}/card.json")
    return json.loads(path.read_bytes())


def test_a_card_by_hand(tmp_path):
    out = tmp_path / "out"
    evaluate(written(tmp_path), CYCLE, out=out)
    record = card(out)
    kpis = {kpi["id"]: kpi for group in record["groups"] for kpi in group["kpis"]}
    # 150 cells burned on a side: 50 hits. Buildings: a hit, d false alarm, b correct, e missed, c left out.
    values = {"SV01": 50 / 150, "SV02": 0.5, "SV03": 50 / 150, "BD01": 1 / 2, "BD02": 1 / 2}
    assert {name: kpi["value"] for name, kpi in kpis.items()} == pytest.approx(values)
    assert record["total"]["score"] == pytest.approx(100 * sum(values.values()) / 5, abs=0.005)
    severity, buildings = 100 * (50 / 150 + 0.5 + 50 / 150) / 3, 50.0
    assert card(out, "B")["total"]["score"] == pytest.approx((severity + 2 * buildings) / 3, abs=0.005)
    assert kpis["SV01"]["name"] == "Binary High Severity Accuracy"
    assert record["ledger"] == {
        "severity": {"candidates": 1600, "pairs": 150, "left_out": {"outside the domain": 1450}},
        "structures": {"candidates": 5, "pairs": 4, "left_out": {"observed 'Inaccessible' says neither": 1}},
    }
    assert record["reports"]["severity"]["outcomes"] == {
        "hits": 50,
        "misses": 50,
        "false alarms": 50,
        "correct rejections": 0,
    }
    assert record["reports"]["severity"]["area_error"] is None  # arrays say nothing about their cells
    assert "aligned" in record["matching"]["severity"]["way"]
    assert record["matching"]["structures"]["join"] == "by id"


def test_the_made_up_fire(tmp_path):
    out = tmp_path / "out"
    case = write_demo(tmp_path / "demo")
    outcomes = evaluate(case, datetime(2021, 8, 14, tzinfo=UTC), out=out)
    assert [each.problem for each in outcomes] == ["", ""]
    schema = json.loads((ROOT / "configs" / "schemas" / "card.schema.json").read_text())
    for model in ("spread-a", "spread-b"):
        record = card(out, case="IMPACT", model=model)
        jsonschema.validate(record, schema)
        assert not record["partial"]
        (folder,) = (out / "IMPACT-A").glob(f"*/{model}")
        page, text = (folder / "card.html").read_text(), (folder / "card.md").read_text()
        for shown in (page, text):
            assert "data:image/png;base64," in shown
            assert "false alarms" in shown
        assert "<script" not in page
        assert len(text) < 500_000
    assert (
        card(out, case="IMPACT", model="spread-a")["total"]["score"]
        > card(out, case="IMPACT", model="spread-b")["total"]["score"]
    )
    assert "nearest cell" in card(out, case="IMPACT", model="spread-b")["matching"]["severity"]["way"]


def test_the_same_inputs_give_the_same_bytes(tmp_path):
    case = write_demo(tmp_path / "demo")
    for name in ("one", "two"):
        evaluate(case, datetime(2021, 8, 14, tzinfo=UTC), models=["spread-b"], schemes=["A"], out=tmp_path / name)
    one, two = (next((tmp_path / name / "IMPACT-A").glob("*/spread-b")) for name in ("one", "two"))
    for file in ("card.json", "card.md", "card.html", "ledger.csv"):
        assert (one / file).read_bytes() == (two / file).read_bytes()


def test_three_families_make_one_card_with_one_total(tmp_path, hand_rows):
    (tmp_path / "pairs.csv").write_text("\n".join(hand_rows) + "\n")
    text = (
        CASE.replace("  m:\n", "  strong:\n    weather: {path: pairs.csv}\n")
        .replace(
            "kpis:\n",
            "window: {hours: 4}\nkpis:\n  WX01: {kpi: wind_speed_rmse, normalise: {kind: linear, m: 10 m/s}}\n",
        )
        .replace("groups:\n", "groups:\n  Wind: [WX01]\n", 1)
    )
    evaluate(written(tmp_path, text), CYCLE, out=tmp_path / "out")
    record = card(tmp_path / "out", model="strong")
    assert [group["name"] for group in record["groups"]] == ["Wind", "Burn Severity", "Building Damaged"]
    expected = (50 + 100 * (50 / 150 + 0.5 + 50 / 150) + 50 + 50) / 6  # 5 of 10 m/s is 50
    assert record["total"]["score"] == pytest.approx(expected, abs=0.005)


def test_another_high_class_counts_again_but_matches_nothing_again(tmp_path):
    out = tmp_path / "out"
    evaluate(written(tmp_path), CYCLE, out=out)
    before = {path.name: path.stat().st_mtime_ns for path in (out / ".store" / "pairs").iterdir()}
    evaluate(written(tmp_path, CASE.replace("aligned: true", "aligned: true, high: [3, 4]")), CYCLE, out=out)
    assert {path.name: path.stat().st_mtime_ns for path in (out / ".store" / "pairs").iterdir()} == before


def test_no_event_makes_a_partial_card_not_a_zero(tmp_path):
    case = written(tmp_path)
    for name in ("observed", "model"):
        np.save(tmp_path / f"{name}.npy", np.full((20, 20), 2, dtype=np.uint8))
    (outcome,) = evaluate(case, CYCLE, out=tmp_path / "out")
    assert outcome.partial
    kpis = {kpi["id"]: kpi for group in card(tmp_path / "out")["groups"] for kpi in group["kpis"]}
    assert (kpis["SV01"]["score"], kpis["SV02"]["text"]) == (100.0, "n/a")
    assert kpis["SV02"]["reason"] == "no event on either side: nothing to score"


def test_a_model_with_too_few_buildings_scores_zero(tmp_path):
    case = written(tmp_path)
    (tmp_path / "model.csv").write_text("id,destroyed\na,1\n")
    evaluate(case, CYCLE, out=tmp_path / "out")
    (bd01, bd02) = card(tmp_path / "out")["groups"][1]["kpis"]
    assert (bd01["score"], bd02["score"]) == (0.0, 0.0)
    assert bd01["flags"][0] == "coverage 25.0% is below 90%: scored 0"


BROKEN = [
    pytest.param(("model.npy", np.zeros((5, 7), np.uint8)), "model.npy 5×7 cells", id="shape"),
    pytest.param(("model.npy", np.full((40, 40), 9, np.uint8)), "which is no class", id="class"),
    pytest.param(("model.npy", np.full((40, 40), 3.7)), "the value 3.7 is no class", id="fraction"),
    pytest.param(("observed.npy", np.full((40, 40), 6, np.uint8)), "observed.npy: holds nothing", id="no data"),
    pytest.param(("model.csv", "id,destroyed\nz,1\n"), "no common building: 1 predicted, 5 observed", id="buildings"),
    pytest.param(("model.csv", "id\na\n"), "model.csv: no column `damage`", id="no damage"),
    pytest.param(("model.npy", None), "model.npy: is a directory", id="directory"),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_bad_input_writes_nothing(tmp_path, broken, message):
    case = written(tmp_path)
    name, content = broken
    if content is None:
        (tmp_path / name).unlink()
        (tmp_path / name).mkdir()
    elif isinstance(content, str):
        (tmp_path / name).write_text(content)
    else:
        np.save(tmp_path / name, content)
    with pytest.raises(FirecardError, match=message):
        evaluate(case, CYCLE, out=tmp_path / "out")
    assert not list((tmp_path / "out").rglob("card.*"))


def test_a_missing_band_is_told_with_exit_code_1(tmp_path):
    rasterio = pytest.importorskip("rasterio", reason="GeoTIFF needs the extra `raster`")
    case = written(tmp_path, CASE.replace("path: model.npy", "path: model.tif, band: 2"))
    profile = {"driver": "GTiff", "count": 1, "height": 40, "width": 40, "dtype": "uint8", "crs": "EPSG:5070"}
    with rasterio.open(tmp_path / "model.tif", "w", transform=rasterio.Affine(30, 0, 0, 0, -30, 0), **profile) as file:
        file.write(np.zeros((1, 40, 40), dtype=np.uint8))
    ran = CliRunner().invoke(app, ["run", str(case), "--out", str(tmp_path / "out")])
    assert ran.exit_code == 1
    assert "model.tif: no band 2; it has 1 band" in ran.output
    assert "Traceback" not in ran.output
    assert not list((tmp_path / "out").rglob("card.*"))
