"""From a small table of stations to a KPI's value, the short way."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from metrics.kpis.kpi import Kpi, KpiResult, Reduced, Rules, Sample, evaluate
from metrics.sums import ExceedanceSums

ANY_PAIR = Rules(min_completeness=0.0, min_pairs=1)  # D-17: the metric's own default, one pair is enough


def _reduced(
    kpi: Kpi, forecast: Mapping, observed: Mapping, *, variable: str = "", step_hours: float = 1.0, **parameters
) -> Reduced:
    """The sums of (station, time) tables, forecast and observed by variable."""
    sample = Sample(
        {name: np.asarray(each, dtype=float) for name, each in forecast.items()},
        {name: np.asarray(each, dtype=float) for name, each in observed.items()},
        step_hours,
    )
    variable = variable or kpi.variable
    points = kpi.points(sample, variable, parameters)
    options = {}
    if kpi.sums is ExceedanceSums:
        options = {"threshold": parameters["threshold"], "step_hours": step_hours}
    sums = kpi.sums.of(points.forecast, points.observed, dim=-1, **options)
    expected = points.expected.sum(axis=-1)
    observed_points = np.isfinite(sample.observed[variable]).sum(axis=-1)
    return Reduced(sums, expected, observed_points - expected, steps=points.expected.shape[-1])


def _evaluated(kpi: Kpi, forecast: Mapping, observed: Mapping, *, rules=ANY_PAIR, aggregate=None, **more) -> KpiResult:
    """The same, finished."""
    reduced = _reduced(kpi, forecast, observed, **more)
    return evaluate(kpi, reduced, unit="", aggregate=aggregate or kpi.aggregate, rules=rules)


@pytest.fixture
def reduced():
    return _reduced


@pytest.fixture
def evaluated():
    return _evaluated
