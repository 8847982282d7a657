"""Fire threat through the real flow: the synthetic cohort in three formats, cards that hold their schema."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

from flows.demos.threat import write_demo
from flows.evaluate import evaluate
from metrics.errors import FirecardError

pytestmark = pytest.mark.usefixtures("prefect_server")
CYCLE = datetime(2026, 8, 1, tzinfo=UTC)
SCHEMA = Path(__file__).parents[2] / "configs" / "schemas" / "card.schema.json"


def card(out: Path, model: str, scheme: str = "A") -> dict:
    return json.loads((out / f"THREAT-{scheme}" / "2026-08-01T00" / model / "card.json").read_bytes())


def kpis(record: dict) -> dict[str, dict]:
    return {kpi["id"]: kpi for group in record["groups"] for kpi in group["kpis"]}


def by_hand(outcomes: pd.DataFrame, table: pd.DataFrame) -> dict[str, float]:
    """The four scores from loops over fires and pairs."""
    whole = outcomes.merge(table, on="fire_id").to_dict("records")
    right = comparable = 0.0
    for one in whole:
        for other in whole:
            if one["event"] and (not other["event"] or one["time_to_hit"] < other["time_to_hit"]):
                comparable += 1
                right += (one["prob_12h"] > other["prob_12h"]) + 0.5 * (one["prob_12h"] == other["prob_12h"])
    brier = 0.0
    for horizon, weight in ((24, 0.3), (48, 0.4), (72, 0.3)):
        terms = [
            (each[f"prob_{horizon}h"] - (each["event"] and each["time_to_hit"] <= horizon)) ** 2
            for each in whole
            if each["event"] or each["time_to_hit"] >= horizon
        ]
        brier += weight * sum(terms) / len(terms)
    falling = sum(
        any(each[f"prob_{a}h"] > each[f"prob_{b}h"] + 1e-9 for a, b in ((12, 24), (24, 48), (48, 72))) for each in whole
    )
    hybrid = 0.3 * right / comparable + 0.7 * (1 - brier)
    return {"FT01": hybrid * (1 - falling / len(whole)), "FT02": hybrid, "FT03": right / comparable, "FT04": brier}


def test_the_demo(tmp_path: Path):
    case = write_demo(tmp_path)
    evaluate(case, CYCLE, out=tmp_path / "out")
    outcomes = pd.read_csv(tmp_path / "outcomes.csv")
    tables = {
        "steady": pd.read_csv(tmp_path / "steady.csv"),
        "hedging": pd.read_parquet(tmp_path / "hedging.parquet"),
        "unordered": pd.read_json(tmp_path / "unordered.jsonl", lines=True),
    }
    schema = json.loads(SCHEMA.read_text())
    for model, table in tables.items():
        record = card(tmp_path / "out", model)
        jsonschema.validate(record, schema)
        expected = by_hand(outcomes, table)
        found = kpis(record)
        assert {name: each["value"] for name, each in found.items()} == pytest.approx(expected, abs=1e-11)
        scores = {name: 100 * (1 - value if name == "FT04" else value) for name, value in expected.items()}
        assert {name: each["score"] for name, each in found.items()} == pytest.approx(scores, rel=1e-3)
        assert record["total"]["score"] == found["FT01"]["score"]  # scheme A: the hybrid alone
        assert record["ledger"]["threat"] == {"candidates": 221, "pairs": 221, "left_out": {}}
        assert not record["partial"]
        folder = tmp_path / "out" / "THREAT-A" / "2026-08-01T00" / model
        assert 'id="threat"' in (folder / "card.html").read_text()
        assert "## Fire threat" in (folder / "card.md").read_text()
    both = card(tmp_path / "out", "steady", "B")
    assert both["total"]["score"] == pytest.approx(
        sum(kpis(both)[name]["score"] for name in ("FT03", "FT04")) / 2, rel=1e-3
    )


def test_the_same_inputs_give_the_same_bytes_and_weights_match_nothing_again(tmp_path: Path):
    case = write_demo(tmp_path)
    for out in ("one", "two"):
        evaluate(case, CYCLE, models=["unordered"], out=tmp_path / out)
    folders = [tmp_path / out / "THREAT-A" / "2026-08-01T00" / "unordered" for out in ("one", "two")]
    for name in ("card.json", "card.md", "card.html", "ledger.csv"):
        assert folders[0].joinpath(name).read_bytes() == folders[1].joinpath(name).read_bytes(), name
    before = sorted(path.name for path in (tmp_path / "one" / ".store").rglob("*.parquet"))
    case.write_text(case.read_text().replace("c_index: 0.3, brier: 0.7", "c_index: 1, brier: 0"))
    evaluate(case, CYCLE, models=["unordered"], out=tmp_path / "one")
    assert sorted(path.name for path in (tmp_path / "one" / ".store").rglob("*.parquet")) == before
    found = kpis(card(tmp_path / "one", "unordered"))
    assert found["FT02"]["value"] == found["FT03"]["value"]


def test_a_bad_row_fails_its_model_alone_and_writes_nothing(tmp_path: Path):
    case = write_demo(tmp_path)
    lines = (tmp_path / "steady.csv").read_text().splitlines()
    lines[7] = lines[7].rsplit(",", 1)[0] + ",1.01"
    (tmp_path / "steady.csv").write_text("\n".join(lines) + "\n")
    steady, hedging, _ = evaluate(case, CYCLE, out=tmp_path / "out")
    assert "steady.csv: row 8, column 'prob_72h': got 1.01; expected a probability between 0 and 1" in steady.problem
    assert not hedging.problem
    assert not (tmp_path / "out" / "THREAT-A" / "2026-08-01T00" / "steady").exists()


def test_bad_outcomes_fail_the_run(tmp_path: Path):
    case = write_demo(tmp_path)
    with (tmp_path / "outcomes.csv").open("a") as file:
        file.write("F001,5,1\n")
    with pytest.raises(FirecardError, match=r"outcomes\.csv: row 223, column 'fire_id': got 'F001'; .*twice"):
        evaluate(case, CYCLE, out=tmp_path / "out")


def test_all_censored_makes_a_partial_card(tmp_path: Path):
    case = write_demo(tmp_path)
    outcomes = pd.read_csv(tmp_path / "outcomes.csv").assign(event=0)
    outcomes.to_csv(tmp_path / "outcomes.csv", index=False)
    (outcome,) = evaluate(case, CYCLE, models=["steady"], out=tmp_path / "out")
    assert outcome.partial
    record = card(tmp_path / "out", "steady")
    jsonschema.validate(record, json.loads(SCHEMA.read_text()))
    assert record["total"] is None
    assert kpis(record)["FT03"]["reason"] == "no two fires can be compared: no fire hit"
    assert kpis(record)["FT04"]["value"] is not None
