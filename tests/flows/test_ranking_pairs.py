"""A ranking compares models on the pairs that all of them have; a card is scored on the model's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from flows.evaluate import evaluate

CYCLE = datetime(2026, 11, 17, tzinfo=UTC)


def test_an_hour_that_one_model_lacks_counts_for_none(
    hand_case: Callable[..., Path], hand_rows: list[str], prefect_server: str, tmp_path: Path
):
    # `perfect` is 8 m/s too strong in the last hour, and `strong` has no row of that hour at all.
    rows = [
        row.replace("wind_speed,m/s,7,7", "wind_speed,m/s,15,7") if row.startswith("perfect") else row
        for row in hand_rows
        if not (row.startswith("strong") and "T03:00Z" in row)
    ]
    case = hand_case(("min_pairs: 2", "min_pairs: 2, min_completeness: 0.5, min_coverage: 0.5"), rows=rows)
    evaluate(case, CYCLE, schemes=["A"], out=tmp_path / "out")
    own = json.loads((tmp_path / "out" / "HAND-A" / "2026-11-17T00" / "perfect" / "card.json").read_bytes())
    assert own["groups"][0]["kpis"][0]["value"] == 8 / 4  # its own four hours
    ranking = json.loads((tmp_path / "out" / "HAND-A" / "2026-11-17T00" / "ranking.json").read_bytes())
    first, second = ranking["models"]
    assert (first["model"], second["model"]) == ("perfect", "strong")
    # On the three hours that both have, `perfect` is perfect and `strong` half right in every KPI.
    assert [each["score"] for each in (first, second)] == [100.0, 50.0]
    assert first["own"]["text"] == own["total"]["text"] != "100.0"
