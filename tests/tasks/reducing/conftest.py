"""Candidates of a night by hand, and KPIs bound by a case."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from configs.case import Instance, read_case

CYCLE = datetime(2026, 11, 17, 0, tzinfo=UTC)
KPIS = """\
case: X
models: {m: {weather: {path: pairs.csv}}}
kpis:
  BIAS: {kpi: wind_speed_bias, normalise: {kind: symmetric_linear, m: 5}}
  RMSE: {kpi: wind_speed_rmse, normalise: {kind: linear, m: 5}}
  HOURS: {kpi: sustained_wind_speed, parameters: {threshold: 8 m/s}, normalise: {kind: symmetric_linear, m: 6}}
  CSI: {kpi: exceedance_csi, variable: wind_speed, parameters: {threshold: 8 m/s}}
  TURN: {kpi: wind_direction_rmse, normalise: {kind: linear, m: 45}}
  TURN3: {kpi: wind_direction_rmse, parameters: {min_observed_speed: 3 m/s}, normalise: {kind: linear, m: 45}}
  VECTOR: {kpi: vector_rmse, normalise: {kind: linear, m: 5}}
  GUST: {kpi: wind_gust_rmse, normalise: {kind: linear, m: 5}}
"""


@pytest.fixture
def cycle() -> datetime:
    return CYCLE


@pytest.fixture
def bound(tmp_path):
    """The KPIs by name, with a window for all of them."""

    def read(window: str = "{hours: 24}", text: str = KPIS) -> dict[str, Instance]:
        path = tmp_path / "case.yaml"
        path.write_text(f"{text}window: {window}\n")
        return dict(read_case(path).instances)

    return read


@pytest.fixture
def candidates():
    """Rows as the match stage gives them, from (station, lead in hours, variable, forecast, observed)."""

    def table(*rows: tuple[str, float, str, float, float]) -> pd.DataFrame:
        frame = pd.DataFrame(rows, columns=["station", "lead", "variable", "forecast", "observed"])
        moments = [CYCLE + timedelta(hours=float(lead)) for lead in frame["lead"]]
        return frame.assign(
            valid_time=pd.DatetimeIndex(moments).as_unit("ns"), lat=39.0, lon=-120.0, reason="pair"
        ).drop(columns="lead")

    return table
