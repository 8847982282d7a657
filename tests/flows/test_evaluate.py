"""The flow against a real Prefect server: cards, artifacts, keyed stages, and a model that fails alone."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from flows.evaluate import evaluate
from metrics.errors import FirecardError

pytestmark = pytest.mark.usefixtures("prefect_server")
CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
HandCase = Callable[..., Path]


def card(out: Path, model: str, scheme: str = "A") -> dict:
    return json.loads((out / f"HAND-{scheme}" / "2026-11-17T00" / model / "card.json").read_bytes())


def artifacts(key: str) -> list:
    """Every version of an artifact that the server has."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

    with get_client(sync_client=True) as client:
        return client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key])))


def test_a_perfect_model_has_100_and_a_wrong_one_what_hand_arithmetic_says(hand_case: HandCase, tmp_path: Path):
    out = tmp_path / "out"
    evaluate(hand_case(), CYCLE, out=out)
    assert card(out, "perfect")["total"] == {"score": 100.0, "text": "100.0"}
    strong = card(out, "strong")
    # 5 m/s of bias is the half-value: 50. RMSE 5 of 10 m/s, linear: 50. 45 degrees is the half-value: 50.
    assert [kpi["score"] for group in strong["groups"] for kpi in group["kpis"]] == [50.0, 50.0, 50.0]
    assert strong["total"] == {"score": 50.0, "text": "50.00"}
    assert [kpi["value"] for group in strong["groups"] for kpi in group["kpis"]] == [5.0, 5.0, 45.0]
    assert [(group["name"], group["weight"]) for group in strong["groups"]] == [("Speed", 2.0), ("Direction", 1.0)]


def test_the_artifacts_say_what_the_files_say(hand_case: HandCase, tmp_path: Path):
    out = tmp_path / "out"
    evaluate(hand_case(), CYCLE, models=["strong"], schemes=["B"], out=out)
    folder = out / "HAND-B" / "2026-11-17T00" / "strong"
    (latest, *_) = sorted(artifacts("scorecard-hand-b-strong"), key=lambda each: each.created, reverse=True)
    assert latest.type == "markdown"
    assert latest.data == (folder / "card.md").read_text()
    assert "| Total Score HAND agg. B: strong | 🟡 **50.00** |" in latest.data
    assert "| **Group** Speed | 🟡 **50.00** |" in latest.data
    (table, *_) = artifacts("kpis-hand-b-strong")
    rows = table.data if isinstance(table.data, list) else json.loads(table.data)
    assert [(row["KPI"], row["Value"], row["Score"]) for row in rows] == [
        ("WX01", "+5 m/s", "50.00"),
        ("WX02", "5 m/s", "50.00"),
        ("WX03", "45°", "50.00"),
    ]
    assert any((folder / "card.html").resolve().as_uri() in each.data for each in artifacts("page-hand-b-strong"))
    assert not (out / "HAND-A").exists()


def test_the_next_night_gets_the_same_artifact_key(hand_case: HandCase, tmp_path: Path, hand_rows: list[str]):
    rows = [*hand_rows, *(row.replace("2026-11-17T", "2026-11-18T") for row in hand_rows[1:])]
    case = hand_case(("case: HAND", "case: TWICE"), rows=rows)
    for day in (17, 18):
        evaluate(case, datetime(2026, 11, day, tzinfo=UTC), models=["perfect"], schemes=["A"], out=tmp_path / "out")
    assert len(artifacts("scorecard-twice-a-perfect")) == 2


def test_the_same_inputs_give_the_same_bytes(hand_case: HandCase, tmp_path: Path):
    case = hand_case()
    for out in (tmp_path / "one", tmp_path / "two"):
        evaluate(case, CYCLE, out=out)
    for name in ("card.json", "card.md", "card.html", "card.pdf", "ledger.csv"):
        one, two = (tmp_path / each / "HAND-A" / "2026-11-17T00" / "strong" / name for each in ("one", "two"))
        assert one.read_bytes() == two.read_bytes(), name


def kept(out: Path, stage: str) -> dict[str, int]:
    """The stage's files and when they were written."""
    return {path.name: path.stat().st_mtime_ns for path in (out / ".store" / stage).iterdir()}


def test_editing_a_weight_matches_and_reduces_nothing_again(hand_case: HandCase, tmp_path: Path):
    out = tmp_path / "out"
    evaluate(hand_case(), CYCLE, out=out)
    before = {stage: kept(out, stage) for stage in ("pairs", "sums")}
    evaluate(hand_case(("{Speed: 2}", "{Speed: 5}")), CYCLE, out=out)
    assert {stage: kept(out, stage) for stage in ("pairs", "sums")} == before
    assert card(out, "strong", "B")["groups"][0]["weight"] == 5.0


def test_a_new_threshold_reduces_but_does_not_match_again(hand_case: HandCase, tmp_path: Path):
    out = tmp_path / "out"
    calm = ("kpi: wind_direction_rmse,", "kpi: wind_direction_rmse, parameters: {min_observed_speed: 5 m/s},")
    evaluate(hand_case(), CYCLE, out=out)
    before = {stage: kept(out, stage) for stage in ("pairs", "sums")}
    evaluate(hand_case(calm), CYCLE, out=out)
    assert kept(out, "pairs") == before["pairs"]
    assert len(kept(out, "sums")) == 2 * len(before["sums"])
    # Observed speeds are 4, 5, 6, 7 m/s: one of four directions is left out at each of two stations.
    direction = card(out, "strong")["groups"][1]["kpis"][0]
    assert (direction["n"], direction["left_out"]) == (6, {"calm, or too little observed wind": 2})


def test_a_changed_observation_is_matched_again_and_recalculate_always_is(
    hand_case: HandCase, tmp_path: Path, hand_rows: list[str]
):
    out = tmp_path / "out"
    evaluate(hand_case(), CYCLE, models=["strong"], out=out)
    first = kept(out, "pairs")
    changed = [*hand_rows[:-1], hand_rows[-1].rsplit(",", 1)[0] + ",11"]
    evaluate(hand_case(rows=changed), CYCLE, models=["strong"], out=out)
    second = kept(out, "pairs")
    assert len(second) == len(first) + 1
    evaluate(hand_case(), CYCLE, models=["strong"], out=out, recalculate=True)
    third = kept(out, "pairs")
    assert third.keys() == second.keys()
    assert all(third[name] > first[name] for name in first)


def test_deleting_a_stage_is_harmless(hand_case: HandCase, tmp_path: Path):
    out, case = tmp_path / "out", hand_case()
    evaluate(case, CYCLE, out=out)
    before = card(out, "strong")
    for path in (out / ".store").rglob("*.parquet"):
        path.unlink()
    evaluate(case, CYCLE, out=out)
    assert card(out, "strong") == before


@pytest.mark.parametrize(
    ("place", "once"),
    [
        pytest.param("tasks.find.input_file", OSError(5, "Input/output error"), id="a disk"),
        pytest.param("tasks.publish.create_table_artifact", httpx.ConnectError("refused"), id="the server"),
    ],
)
def test_what_goes_wrong_once_on_the_way_out_or_in_is_tried_again(
    hand_case: HandCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, once: Exception
):
    module, _, name = place.rpartition(".")
    real, calls = getattr(importlib.import_module(module), name), []

    def flaky(*arguments: object, **options: object) -> object:
        calls.append(arguments)
        if len(calls) == 1:
            raise once
        return real(*arguments, **options)

    monkeypatch.setattr(place, flaky)
    (outcome,) = evaluate(hand_case(), CYCLE, models=["strong"], schemes=["A"], out=tmp_path / "out")
    assert outcome.problem == ""
    assert len(calls) > 1


def test_one_bad_model_leaves_the_others_whole(hand_case: HandCase, tmp_path: Path):
    out = tmp_path / "out"
    case = hand_case(("  strong: {weather: {path: pairs.csv}}", "  absent: {weather: {path: nowhere.csv}}"))
    good, bad = evaluate(case, CYCLE, out=out)
    assert good.cards[0].total == 100.0
    assert "nowhere.csv" in bad.problem
    assert "absent" in bad.problem
    assert not (out / "HAND-A" / "2026-11-17T00" / "absent").exists()


def test_all_models_failing_fails_the_run(hand_case: HandCase, tmp_path: Path):
    with pytest.raises(FirecardError, match=r"pairs\.csv: no row of model"):
        evaluate(hand_case(("  perfect:", "  other:"), ("  strong:", "  another:")), CYCLE, out=tmp_path / "out")
    assert not list((tmp_path / "out").rglob("card.*"))


def test_a_kpi_without_value_makes_a_partial_card_or_fails_a_strict_case(
    hand_case: HandCase, tmp_path: Path, hand_rows: list[str]
):
    calm = [row if ",wind_speed," not in row else row.rsplit(",", 1)[0] + ",0" for row in hand_rows]
    (outcome, _) = evaluate(hand_case(rows=calm), CYCLE, out=tmp_path / "out")
    assert outcome.partial
    record = card(tmp_path / "out", "perfect")
    assert record["partial"]
    assert record["groups"][1]["text"] == "n/a"
    assert record["groups"][1]["kpis"][0]["reason"] == "no observation left: calm, or too little observed wind"
    with pytest.raises(FirecardError, match=r"WX03 has no value .* strict"):
        evaluate(hand_case(("case: HAND", "strict: true\ncase: HAND"), rows=calm), CYCLE, out=tmp_path / "strict")


def test_a_file_each_without_a_model_column(hand_case: HandCase, tmp_path: Path, hand_rows: list[str]):
    case = hand_case(
        *(
            (f"{model}: {{weather: {{path: pairs.csv", f"{model}: {{weather: {{path: '{model}-{{cycle:%Y%m%d}}.csv'")
            for model in ("perfect", "strong")
        )
    )
    head, *rows = hand_rows
    for model in ("perfect", "strong"):
        own = [row.removeprefix(f"{model},") for row in rows if row.startswith(model)]
        (tmp_path / f"{model}-20261117.csv").write_text("\n".join([head.removeprefix("model,"), *own]) + "\n")
    outcomes = evaluate(case, CYCLE, out=tmp_path / "out")
    assert [outcome.cards[0].total for outcome in outcomes] == [100.0, 50.0]


def test_a_model_may_be_called_anything(hand_case: HandCase, tmp_path: Path, hand_rows: list[str]):
    name = "../../[/red]<b>|`$x$ \u202e evil"
    rows = [row.replace("strong,", f'"{name}",') for row in hand_rows]
    case = hand_case(("  strong: ", f"  '{name}': "), rows=rows)
    _, outcome = evaluate(case, CYCLE, schemes=["A"], out=tmp_path / "out")
    (folder,) = outcome.folders
    assert (tmp_path / "out").resolve() in folder.resolve().parents
    page = (folder / "card.html").read_text()
    assert "<b>|" not in page
    assert "\u202e" not in page
    assert "<b>" not in (folder / "card.md").read_text()


def test_matching_says_how_far_it_is(tmp_path: Path):
    from flows.demo import write_demo

    evaluate(write_demo(tmp_path), CYCLE, models=["gfs"], schemes=["A"], out=tmp_path)
    (progress, *_) = artifacts("matching-demo-gfs")
    assert progress.type == "progress"
    assert float(progress.data) == 100.0
    assert "24 of 24 files" in progress.description
