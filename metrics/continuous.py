"""Errors of a scalar variable: forecast first, observed second, options by keyword.

A point missing on either side is left out of both (D-13); where nothing is left the result is missing (NaN). The NMSE
forms are undefined on some samples (D-12): asked for a single number they raise `Undefined`, in a field the cell is
missing.
"""

from __future__ import annotations

import numpy as np

from metrics.metric import Metric, defined, same_shape
from metrics.sums import Array, Dims, ErrorSums, floats, present, ratio, total, where

NO_RANGE = "nmse_range is undefined: the observations have no range"


def mean(values: Array, *, dim: Dims = None) -> Array:
    """Average over `dim`, missing values left out.

    >>> float(mean([1.0, 2.0, float("nan"), 6.0]))
    3.0
    """
    values = floats(values)
    return ratio(total(values, dim), total(present(values), dim))


def bias(forecast: Array, observed: Array, *, dim: Dims = None) -> Array:
    """Mean of forecast minus observed over `dim`, positive where the forecast is too high.

    >>> float(bias([3.0, 5.0], [2.0, 2.0]))
    2.0
    """
    same_shape(forecast, observed)
    return ErrorSums.of(forecast, observed, dim=dim).bias()


def mae(forecast: Array, observed: Array, *, dim: Dims = None) -> Array:
    """Mean absolute error over `dim`."""
    same_shape(forecast, observed)
    return ErrorSums.of(forecast, observed, dim=dim).mae()


def rmse(forecast: Array, observed: Array, *, dim: Dims = None) -> Array:
    """Root mean square error over `dim`.

    >>> float(rmse([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 2.0, 5.0]))
    0.75
    """
    same_shape(forecast, observed)
    return ErrorSums.of(forecast, observed, dim=dim).rmse()


def nmse_range(forecast: Array, observed: Array, *, dim: Dims = None) -> Array:
    """Root mean square error over the range of the observations (the seed's NMSE_p, D-11); undefined for zero range."""
    same_shape(forecast, observed)
    forecast, observed = floats(forecast), floats(observed)
    paired = present(forecast - observed)
    if not observed.size:  # nothing has no extremes to ask for
        return defined(rmse(forecast, observed, dim=dim), NO_RANGE)
    # A range does not add, so the sample is needed whole: with the unpaired points pushed out of the way.
    high = where(paired, observed, -np.inf).max(dim)
    low = where(paired, observed, np.inf).min(dim)
    span = where(high > low, high - where(high > low, low, 0.0))
    return defined(rmse(forecast, observed, dim=dim) / span, NO_RANGE)


def nmse_power(forecast: Array, observed: Array, *, dim: Dims = None) -> Array:
    """Mean square error over the product of both means (the seed's NMSE_r, D-11); undefined unless it is positive."""
    same_shape(forecast, observed)
    value = ErrorSums.of(forecast, observed, dim=dim).nmse_power()
    return defined(value, "nmse_power is undefined: the product of the means is not positive")


METRICS = (
    Metric(mean, unit="input", range="that of the input", symbol="x̄"),
    Metric(bias, unit="input", range="]-∞, ∞[", symbol="B"),
    Metric(mae, unit="input", range="[0, ∞[", symbol="MAE"),
    Metric(rmse, unit="input", range="[0, ∞[", symbol="RMSE"),
    Metric(nmse_range, unit="1", range="[0, ∞[", symbol="NMSE_p"),
    Metric(nmse_power, unit="1", range="[0, ∞[", symbol="NMSE_r"),
)
