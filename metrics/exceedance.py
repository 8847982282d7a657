"""How long a variable stays above a threshold, in the forecast and in the observation.

Strictly above counts; only steps with a value on both sides count; each is worth `step_hours` (D-19).
"""

from __future__ import annotations

from metrics.metric import Metric, same_shape
from metrics.sums import Array, Dims, ExceedanceSums


def exceedance(
    forecast: Array, observed: Array, *, threshold: float, step_hours: float = 1.0, dim: Dims = None
) -> ExceedanceSums:
    """Hours above the threshold on both sides, and the hour-by-hour contingency, over `dim`."""
    same_shape(forecast, observed)
    return ExceedanceSums.of(forecast, observed, threshold=threshold, step_hours=step_hours, dim=dim)


def hours_above_gap(
    forecast: Array, observed: Array, *, threshold: float, step_hours: float = 1.0, dim: Dims = None
) -> Array:
    """Forecast minus observed hours above the threshold over `dim`.

    >>> float(hours_above_gap([9.0, 9.0, 8.0, 3.0], [9.0, 2.0, 8.0, 3.0], threshold=8.0))
    1.0
    """
    return exceedance(forecast, observed, threshold=threshold, step_hours=step_hours, dim=dim).gap()


def hours_above_csi(forecast: Array, observed: Array, *, threshold: float, dim: Dims = None) -> Array:
    """Critical success index of the steps above the threshold over `dim`; missing where neither side exceeds it."""
    return exceedance(forecast, observed, threshold=threshold, dim=dim).csi()


def hours_above_frequency_bias(forecast: Array, observed: Array, *, threshold: float, dim: Dims = None) -> Array:
    """Steps forecast above the threshold per step observed above it, over `dim`."""
    return exceedance(forecast, observed, threshold=threshold, dim=dim).frequency_bias()


METRICS = (
    Metric(hours_above_gap, unit="h", range="]-∞, ∞["),
    Metric(hours_above_csi, unit="1", range="[0, 1]", symbol="CSI"),
    Metric(hours_above_frequency_bias, unit="1", range="[0, ∞["),
)
