"""Extracted fields through the real flow: cards, ranking, artifacts, and what an edit makes anew."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from configs.case import read_case
from flows.demos.extraction import write_demo
from flows.evaluate import evaluate
from metrics.errors import FirecardError

pytestmark = pytest.mark.usefixtures("prefect_server")
CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
ROOT = Path(__file__).parents[2]
CASE = """\
case: EXAMPLE
title: The published example
cycle: 2026-11-17T00
models:
  Model A: {extraction: {path: a.csv}}
  Model B: {extraction: {path: b.json}}
observations:
  extraction: {path: truth.csv}
kpis:
  EX01: {kpi: macro_f1}
  EX02: {kpi: macro_precision}
  EX03: {kpi: macro_recall}
  EX04: {kpi: macro_accuracy}
  EX05: {kpi: field_recall, variable: contract_type}
"""


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The first worked example: three contracts, one field."""
    (tmp_path / "truth.csv").write_text("document,contract_type\n1,Service Agreement\n2,NDA\n3,Not Present\n")
    (tmp_path / "a.csv").write_text("document,contract_type\n1,Service Agreement\n2,License Agreement\n3,Not Present\n")
    (tmp_path / "b.json").write_text(
        json.dumps(
            {
                "3": {"contract_type": "Employment Agreement"},
                "2": {"contract_type": "nda"},
                "1": {"contract_type": "SERVICE agreement"},
            }
        )
    )
    (tmp_path / "case.yaml").write_text(CASE)
    return tmp_path / "case.yaml"


def folder(out: Path, case: str = "EXAMPLE-A") -> Path:
    return out / case / "2026-11-17T00"


def card(out: Path, model: str) -> dict:
    return json.loads((folder(out) / model / "card.json").read_bytes())


def ranking(out: Path, case: str = "EXAMPLE-A") -> dict:
    return json.loads((folder(out, case) / "ranking.json").read_bytes())


def values(record: dict) -> list[float]:
    return [kpi["value"] for group in record["groups"] for kpi in group["kpis"]]


def test_the_worked_example_to_the_last_digit(example: Path, tmp_path: Path):  # R-002-53
    out = tmp_path / "out"
    evaluate(example, CYCLE, out=out)
    one, other = card(out, "Model-A"), card(out, "Model-B")
    assert values(one) == [0.5] * 5
    assert values(other) == [0.8, 0.666666666667, 1.0, 0.666666666667, 1.0]
    (field,) = other["reports"]["extraction"]["fields"]
    assert {name: field[name] for name in ("tp", "fp", "fn", "tn")} == {"tp": 2, "fp": 1, "fn": 0, "tn": 0}
    assert field["text"] == {"f1": "80.0 %", "precision": "66.7 %", "recall": "100.0 %", "accuracy": "66.7 %"}
    assert field["log"].startswith("TP=2, FP=1, FN=0, TN=0; F1 = ")
    schema = json.loads((ROOT / "configs" / "schemas" / "card.schema.json").read_text())
    jsonschema.validate(other, schema)
    record = ranking(out)
    assert [(each["rank"], each["model"], each["won"]) for each in record["models"]] == [
        (1, "Model B", "Won 1 of 1 fields"),
        (2, "Model A", "Won 0 of 1 fields"),
    ]
    (contest,) = record["sections"]["extraction"]["fields"]
    assert (contest["winners"], contest["title"], contest["badge"]) == (["Model B"], "Sole winner", "green")
    assert [each["tier"] for each in record["sections"]["extraction"]["models"]] == ["Good", "Needs Improvement"]


def test_a_small_sample_and_the_ground_truth_are_named(example: Path, tmp_path: Path):  # D-41, R-002-45
    out = tmp_path / "out"
    evaluate(example, CYCLE, out=out)
    report = card(out, "Model-A")["reports"]["extraction"]
    assert report["warnings"] == ["small sample: fewer than 30 classified documents in 1 of 1 fields (contract_type 3)"]
    assert [each["name"] for each in report["ground_truth"]] == ["truth.csv"]
    assert report["ground_truth"][0]["sha256"][:16] in (folder(out) / "ranking.md").read_text()
    assert all(each["passed"] for each in report["checks"])


def test_the_rankings_artifact_and_files_say_the_same(example: Path, tmp_path: Path):
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

    out = tmp_path / "out"
    evaluate(example, CYCLE, out=out)
    key = ArtifactFilterKey(any_=["ranking-example-a"])
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=ArtifactFilter(key=key))
    latest = max(found, key=lambda each: each.created)
    assert latest.data == (folder(out) / "ranking.md").read_text()
    rows = list(csv.DictReader((folder(out) / "ranking.csv").read_text().splitlines()))
    cells = {(row["model"], row["name"]): row for row in rows if row["what"] == "field"}
    assert cells["Model B", "contract_type"]["f1"] == "0.8"
    assert cells["Model A", "contract_type"]["winner"] == "0"
    assert "Model B" in (folder(out) / "ranking.html").read_text()


def written(out: Path, stage: str) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (out / ".store" / stage).iterdir()}


def test_only_what_changed_is_made_anew(example: Path, tmp_path: Path):  # R-002-44, D-40
    out = tmp_path / "out"
    evaluate(example, CYCLE, out=out)
    first = written(out, "pairs")
    evaluate(example, CYCLE, out=out)
    assert written(out, "pairs") == first
    answers = tmp_path / "a.csv"
    answers.write_text(answers.read_text().replace("License Agreement", "NDA"))
    evaluate(example, CYCLE, out=out)
    second = written(out, "pairs")
    assert len(second) == len(first) + 1  # of the one model whose results changed
    assert ranking(out)["models"][0]["model"] == "Model A"
    truth = tmp_path / "truth.csv"
    truth.write_text(truth.read_text().replace("3,Not Present", "3,Employment Agreement"))
    evaluate(example, CYCLE, out=out)
    third = written(out, "pairs")
    assert len(third) == len(second) + 2  # of both: the ground truth is everybody's
    assert ranking(out)["models"][0]["model"] == "Model B"
    example.write_text(CASE + "extraction: {fields: {contract_type: date}}\n")
    evaluate(example, CYCLE, out=out)
    assert len(written(out, "pairs")) == len(third) + 2  # a change of the template
    evaluate(example, CYCLE, out=out, recalculate=True)
    assert all(written(out, "pairs")[name] >= third[name] for name in third)


def test_pending_documents_leave_a_field_without_value(example: Path, tmp_path: Path):  # R-002-19, D-35
    (tmp_path / "a.csv").write_text("document,contract_type\n1,pending\n2,error\n3,pending\n")
    out = tmp_path / "out"
    evaluate(example, CYCLE, out=out)
    record = card(out, "Model-A")
    assert values(record)[:4] == [0.0] * 4
    assert "no field has a classified document: every metric is 0 %" in record["reports"]["extraction"]["warnings"]
    assert record["ledger"]["contract_type"] == {"candidates": 3, "pairs": 0, "left_out": {"pending or error": 3}}


BAD = [
    ("a.csv", "document,contract_type\n1,x\n2,y\n", r"a\.csv: 2 documents against 3"),
    ("a.csv", "document,contract_type\n1,x\n2,y\n3,z\n9,z\n", r"a\.csv: row 5: document '9' is not in"),
    ("a.csv", "document,contract_type\n1,x\n1,y\n3,z\n", r"a\.csv: row 3: document '1' stands there twice"),
    ("a.csv", "document,type\n1,x\n2,y\n3,z\n", r"a\.csv: unknown field 'type'"),
    ("a.csv", "model,document,contract_type\nother,1,x\n", r"a\.csv: no row of model 'Model A'"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD, ids=lambda value: str(value)[:20])
def test_a_model_with_bad_results_fails_alone(name, content, message, example: Path, tmp_path: Path):
    (tmp_path / name).write_text(content)
    out = tmp_path / "out"
    bad, good = evaluate(example, CYCLE, out=out)
    assert not good.problem
    with pytest.raises(FirecardError, match=message):
        raise FirecardError(bad.problem)
    record = ranking(out)
    assert [each["model"] for each in record["models"]] == ["Model B"]
    assert [each["model"] for each in record["unranked"]] == ["Model A"]


def test_names_of_strangers_do_no_harm(example: Path, tmp_path: Path):
    evil = "<b>|`$x$ \u202e"
    for name in ("truth.csv", "a.csv"):
        path = tmp_path / name
        path.write_text(path.read_text().replace("contract_type", f'"{evil}"').replace("License", "<i>Lic\u202e"))
    (tmp_path / "b.json").write_text(json.dumps([{"document": each, evil: "[/red]"} for each in (1, 2, 3)]))
    example.write_text(CASE.replace("  EX05: {kpi: field_recall, variable: contract_type}\n", ""))
    out = tmp_path / "out"
    evaluate(example, CYCLE, out=out)
    for page in (folder(out) / "ranking.html", folder(out) / "Model-A" / "card.html", folder(out) / "ranking.md"):
        text = page.read_text()
        assert "<b>|" not in text
        assert "<i>Lic" not in text
        assert "\u202e" not in text


def test_the_demo_runs_and_ranks(tmp_path: Path):
    case_file = write_demo(tmp_path)
    outcomes = evaluate(case_file, CYCLE, out=tmp_path / "out")
    assert not any(each.problem for each in outcomes)
    record = ranking(tmp_path / "out", "CONTRACTS-A")
    assert [each["rank"] for each in record["models"]] == [1, 2, 3]
    assert record["rule"] == "extraction"
    assert read_case(case_file).extraction.fields["renewal_date"].order == "day_first"


def test_weather_models_are_ranked_on_the_kpis_that_all_have(hand_case, hand_rows: list[str], tmp_path: Path):  # D-05
    rows = [row for row in hand_rows if not (row.startswith("strong") and "wind_direction" in row)]
    evaluate(hand_case(rows=rows), CYCLE, out=tmp_path / "out")
    record = ranking(tmp_path / "out", "HAND-A")
    assert [(each["model"], each["text"], each["won"]) for each in record["models"]] == [
        ("perfect", "100.0", "Won 2 of 2 KPIs"),
        ("strong", "50.00", "Won 0 of 2 KPIs"),
    ]
    assert [each["left_out"] for each in record["kpis"]] == [None, None, "no score of strong"]


def test_one_model_alone_is_not_ranked(example: Path, tmp_path: Path):
    evaluate(example, CYCLE, models=["Model A"], out=tmp_path / "out")
    assert not (folder(tmp_path / "out") / "ranking.json").exists()
