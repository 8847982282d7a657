"""Errors of an angle in degrees, and of the wind as a vector.

Differences are taken the short way round, clockwise positive. Which points have a direction at all (calm, variable) is
decided where the pairs are made; here a missing direction is NaN and drops out.
"""

from __future__ import annotations

import numpy as np

from metrics.metric import Metric, same_shape
from metrics.sums import Array, Dims, DirectionSums, VectorSums, floats, turn, where


def direction_difference(forecast: Array, observed: Array) -> Array:
    """Forecast minus observed direction the short way round, in [-180, 180).

    >>> float(direction_difference(10, 350)), float(direction_difference(350, 10)), float(direction_difference(180, 0))
    (20.0, -20.0, -180.0)
    """
    same_shape(forecast, observed)
    return turn(floats(forecast) - floats(observed))


def direction_rmse(forecast: Array, observed: Array, *, dim: Dims = None) -> Array:
    """Root mean square direction difference over `dim`."""
    same_shape(forecast, observed)
    return DirectionSums.of(forecast, observed, dim=dim).rmse()


def direction_mae(forecast: Array, observed: Array, *, dim: Dims = None) -> Array:
    """Mean absolute direction difference over `dim`."""
    same_shape(forecast, observed)
    return DirectionSums.of(forecast, observed, dim=dim).mae()


def direction_bias(forecast: Array, observed: Array, *, dim: Dims = None) -> Array:
    """Circular mean of the direction differences over `dim`, clockwise positive (D-78); missing where they cancel."""
    same_shape(forecast, observed)
    return DirectionSums.of(forecast, observed, dim=dim).bias()


def components(speed: Array, direction: Array) -> tuple[Array, Array]:
    """Eastward and northward wind from speed and the direction it blows from; a calm needs no direction."""
    speed, angle = floats(speed), np.deg2rad(floats(direction))
    calm = speed == 0
    return where(calm, 0.0 * speed, -speed * np.sin(angle)), where(calm, 0.0 * speed, -speed * np.cos(angle))


def vector_rmse(forecast: tuple[Array, Array], observed: tuple[Array, Array], *, dim: Dims = None) -> Array:
    """Root mean square length of the difference of two winds, each given as (eastward, northward), over `dim`."""
    for each in (0, 1):
        same_shape(forecast[each], observed[each])
    return VectorSums.of(forecast, observed, dim=dim).rmse()


METRICS = (
    Metric(direction_difference, unit="deg", range="[-180, 180[", symbol="d"),
    Metric(direction_rmse, unit="deg", range="[0, 180]"),
    Metric(direction_mae, unit="deg", range="[0, 180]"),
    Metric(direction_bias, unit="deg", range="[-180, 180["),
    Metric(vector_rmse, unit="input", range="[0, ∞["),
)
