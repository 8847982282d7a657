"""Nights of a few pairs, and the card that comes of them without a flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from configs.case import Case, read_case
from tasks.families import FAMILIES
from tasks.matching.ledger import ledger, summary
from tasks.matching.pairs import Matched
from tasks.matching.table import write_matched
from tasks.report.record import card_record
from tasks.score import cards

CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
WEATHER = """\
case: X
title: A few pairs
models: {m: {weather: {path: pairs.csv}}}
window: {hours: 72}
matching: {min_completeness: 0, min_pairs: 1}
kpis:
  BIAS: {kpi: wind_speed_bias, normalise: {kind: symmetric_linear, m: 5}}
  RMSE: {kpi: wind_speed_rmse, normalise: {kind: linear, m: 5}}
  TURN: {kpi: wind_direction_rmse, parameters: {min_observed_speed: 3 m/s}, normalise: {kind: linear, m: 45}}
groups:
  Speed: [BIAS, RMSE]
  Direction: [TURN]
"""
Row = tuple[str, float, str, float, float]  # station, lead in hours, variable, forecast, observed


@dataclass(frozen=True)
class Published:
    """A night on disk, and its card."""

    case: Case
    pairs: Path
    sums: Path

    @property
    def report(self) -> dict[str, Any]:
        return FAMILIES["weather"].report(self.case, self.pairs, self.sums)

    @property
    def pictures(self) -> dict[str, Any]:
        return dict(FAMILIES["weather"].pictures(self.case, self.pairs, self.sums))

    def record(self, **changed: Any) -> dict[str, Any]:
        results = FAMILIES["weather"].finish(self.case, self.sums)
        (card,) = cards(self.case, "m", CYCLE, results, ["A"])
        account = FAMILIES["weather"].account(self.pairs)
        how = {"weather": account.how} if account.how else {}
        made = card_record(self.case, card, CYCLE, summary(account.ledger), how, {"weather": self.report}, [])
        return {**made, **changed}


@pytest.fixture
def night_of(tmp_path: Path) -> Callable[..., Published]:
    """Pairs and sums of a night of weather, from rows."""

    def write(
        rows: list[Row],
        *,
        places: dict[str, tuple[float, float]] | None = None,
        how: dict[str, Any] | None = None,
        backdrop: np.ndarray | None = None,
        text: str = WEATHER,
    ) -> Published:
        frame = pd.DataFrame(rows, columns=["station", "lead", "variable", "forecast", "observed"])
        moments = [CYCLE + timedelta(hours=float(lead)) for lead in frame["lead"]]
        at = [(places or {}).get(each, (39.0, -120.0)) for each in frame["station"]]
        absent = [(frame["observed"].isna()), (frame["forecast"].isna())]
        table = frame.assign(
            valid_time=pd.DatetimeIndex(moments).as_unit("ns"),
            lat=[each[0] for each in at],
            lon=[each[1] for each in at],
            reason=np.select(absent, ["no observation", "no forecast"], "pair"),
        ).drop(columns="lead")
        assert len(ledger(table))
        (tmp_path / "case.yaml").write_text(text)
        case = read_case(tmp_path / "case.yaml")
        night = Published(case, tmp_path / "pairs.parquet", tmp_path / "sums.parquet")
        offered = tuple(sorted(frame["variable"].unique()))
        write_matched(night.pairs, Matched(table, offered, how or {}, backdrop))
        FAMILIES["weather"].reduce(case, "m", CYCLE, night.pairs, night.sums)
        return night

    return write
