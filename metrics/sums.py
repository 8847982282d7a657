"""Statistics that add: the sums of two halves are the sums of the whole.

Every metric of the continuous, circular, exceedance and confusion families is a ratio of such sums, so that data may
be cut by station, day, file or chunk in any way and put together with `+`. All of them take numpy arrays, xarray
objects and Dask-backed ones alike: lazy in, lazy out. Missing is NaN; a point missing on one side is left out on both
(D-13).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, TypeAlias

import numpy as np

# numpy, xarray (eager or lazy) and Dask arrays share the operators used here; no common type says so.
Array: TypeAlias = Any
# Names of xarray dimensions, or axes of a numpy array; None is all of them.
Dims: TypeAlias = Hashable | Sequence[Hashable] | None
# Points from which `metrics.kernels` is worth the second that numba takes to import.
LARGE = 10_000_000


def floats(values: Array) -> Array:
    """The values in float64 (D-80): a list becomes an array, what is lazy stays lazy."""
    if not hasattr(values, "dtype"):
        values = np.asarray(values)
    return values.astype(np.float64, copy=False)


def present(values: Array) -> Array:
    """True where there is a value."""
    return ~np.isnan(values)


def where(condition: Array, values: Array, otherwise: Array = np.nan) -> Array:
    """Values where the condition holds, `otherwise` elsewhere; labels and laziness stay."""
    if hasattr(condition, "dims"):  # xarray: its own `where` keeps the labels, numpy's would drop them
        return (condition * 0 + values).where(condition, otherwise)
    return np.where(condition, values, otherwise)


def ratio(numerator: Array, denominator: Array) -> Array:
    """The quotient; missing where the denominator is zero."""
    return numerator / where(denominator != 0, denominator)


def total(values: Array, dim: Dims = None) -> Array:
    """The sum over `dim`, missing values left out."""
    if hasattr(values, "dims"):
        return values.sum(dim, skipna=True, dtype=np.float64) if values.dtype.kind == "f" else values.sum(dim) * 1.0
    return np.nansum(values, axis=dim, dtype=np.float64)  # type: ignore[arg-type]  # an axis here, by the caller's choice


def compiled(forecast: Array, observed: Array, dim: Dims) -> bool:
    """Whether a compiled loop builds these sums: plain arrays of one type, large, contiguous, over the last axis."""
    return (
        all(type(each) is np.ndarray and each.flags.c_contiguous for each in (forecast, observed))
        and forecast.size >= LARGE
        and forecast.shape == observed.shape
        and forecast.dtype == observed.dtype
        and forecast.dtype in (np.float32, np.float64)
        and dim in (-1, forecast.ndim - 1)
    )


@dataclass(frozen=True, slots=True)
class Sums:
    """What adds. Each field is an array over whatever was not summed; all have the same shape."""

    n: Array

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in self.names()))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the sums, in order."""
        return tuple(field.name for field in fields(cls))

    def arrays(self) -> dict[str, Array]:
        """The sums by name."""
        return {name: getattr(self, name) for name in self.names()}

    def over(self, dim: Dims) -> Self:
        """These sums, added up over `dim`."""
        return type(self)(*(total(each, dim) for each in self.arrays().values()))

    def pooled(self) -> Self:
        """All units together: the last axis added up, leading (replicate) axes left as they are."""
        return self.over(-1)

    def only(self, keep: Array) -> Self:
        """These sums with the units that are not kept emptied."""
        return type(self)(*(where(keep, each, 0.0) for each in self.arrays().values()))


@dataclass(frozen=True, slots=True)
class ErrorSums(Sums):
    """What bias, MAE, RMSE and NMSE by power need of one scalar variable."""

    error: Array
    absolute: Array
    squared: Array
    forecast: Array
    observed: Array

    @classmethod
    def of(cls, forecast: Array, observed: Array, *, dim: Dims = None) -> Self:
        if compiled(forecast, observed, dim):
            from metrics import kernels

            return cls(**kernels.error_sums(forecast, observed).arrays())
        forecast, observed = floats(forecast), floats(observed)
        error = forecast - observed  # a point missing on one side is missing here, and drops out
        paired = present(error)
        return cls(
            *(
                total(each, dim)
                for each in (paired, error, abs(error), error**2, where(paired, forecast), where(paired, observed))
            )
        )

    def mean(self) -> Array:
        """Mean of the forecast over the paired points, in the variable's unit."""
        return ratio(self.forecast, self.n)

    def bias(self) -> Array:
        """Mean of forecast minus observed, signed, in the variable's unit."""
        return ratio(self.error, self.n)

    def mae(self) -> Array:
        """Mean absolute error, in the variable's unit, 0 and up."""
        return ratio(self.absolute, self.n)

    def mse(self) -> Array:
        """Mean square error, in the variable's unit squared, 0 and up."""
        return ratio(self.squared, self.n)

    def rmse(self) -> Array:
        """Root mean square error, in the variable's unit, 0 and up."""
        return self.mse() ** 0.5

    def nmse_power(self) -> Array:
        """Mean square error over the product of both means; missing where that is not positive and finite (D-12)."""
        product = ratio(self.forecast, self.n) * ratio(self.observed, self.n)
        return self.mse() / where((product > 0) & (product < np.inf), product)


@dataclass(frozen=True, slots=True)
class DirectionSums(Sums):
    """What direction RMSE, MAE and circular bias need, of differences in degrees within [-180, 180)."""

    absolute: Array
    squared: Array
    sine: Array
    cosine: Array

    @classmethod
    def of(cls, forecast: Array, observed: Array, *, dim: Dims = None) -> Self:
        if compiled(forecast, observed, dim):
            from metrics import kernels

            return cls(**kernels.direction_sums(forecast, observed).arrays())
        difference = turn(floats(forecast) - floats(observed))
        angle = np.deg2rad(difference)
        parts = (present(difference), abs(difference), difference**2, np.sin(angle), np.cos(angle))
        return cls(*(total(each, dim) for each in parts))

    def rmse(self) -> Array:
        """Root mean square of the differences, in degrees, 0 to 180."""
        return ratio(self.squared, self.n) ** 0.5

    def mae(self) -> Array:
        """Mean of the absolute differences, in degrees, 0 to 180."""
        return ratio(self.absolute, self.n)

    def bias(self) -> Array:
        """The angle of the mean sine and cosine of the differences, clockwise positive, [-180, 180) (D-78).

        Missing where the differences cancel out and no angle is left.
        """
        angle = turn(np.rad2deg(np.arctan2(self.sine, self.cosine)))
        return where((self.n > 0) & (np.hypot(self.sine, self.cosine) > 1e-12 * self.n), angle)


def turn(degrees: Array) -> Array:
    """The same angle within [-180, 180): opposite winds give -180 (D-24)."""
    wrapped = (degrees + 180.0) % 360.0 - 180.0
    return where(wrapped >= 180.0, -180.0, wrapped)  # a hair below -180 rounds up to a whole turn in the modulo


@dataclass(frozen=True, slots=True)
class VectorSums(Sums):
    """What the vector RMSE needs: squared lengths of the difference of two wind vectors."""

    squared: Array

    @classmethod
    def of(cls, forecast: tuple[Array, Array], observed: tuple[Array, Array], *, dim: Dims = None) -> Self:
        """Both sides as (eastward, northward) components."""
        east, north = (floats(f) - floats(o) for f, o in zip(forecast, observed, strict=True))
        squared = east**2 + north**2
        return cls(total(present(squared), dim), total(squared, dim))

    def rmse(self) -> Array:
        """Root mean square length of the difference vector, in the wind's unit, 0 and up."""
        return ratio(self.squared, self.n) ** 0.5


@dataclass(frozen=True, slots=True)
class ContingencySums(Sums):
    """Counts of a yes/no forecast against a yes/no observation: tp, fp, fn, tn (D-10)."""

    tp: Array
    fp: Array
    fn: Array
    tn: Array

    @classmethod
    def of(cls, forecast: Array, observed: Array, *, dim: Dims = None) -> Self:
        """From 0/1 (or boolean) arrays; NaN on either side leaves the point out."""
        forecast, observed = floats(forecast), floats(observed)
        paired = present(forecast - observed)
        yes, event = forecast > 0.5, observed > 0.5
        parts = (paired, paired & yes & event, paired & yes & ~event, paired & ~yes & event, paired & ~yes & ~event)
        return cls(*(total(each, dim) for each in parts))

    def accuracy(self) -> Array:
        """Share of right answers, 0 to 1; missing for an empty matrix."""
        return ratio(self.tp + self.tn, self.n)

    def precision(self) -> Array:
        """Share of forecast events that happened, 0 to 1."""
        return self._zero_where_undefined(self.tp, self.tp + self.fp)

    def recall(self) -> Array:
        """Share of events that were forecast, 0 to 1 (sensitivity, true positive rate)."""
        return self._zero_where_undefined(self.tp, self.tp + self.fn)

    def specificity(self) -> Array:
        """Share of non-events that were forecast as such, 0 to 1 (true negative rate, D-25)."""
        return self._zero_where_undefined(self.tn, self.tn + self.fp)

    def npv(self) -> Array:
        """Negative predictive value: share of forecast non-events that did not happen, 0 to 1."""
        return self._zero_where_undefined(self.tn, self.tn + self.fn)

    def f1(self) -> Array:
        """Harmonic mean of precision and recall, 0 to 1."""
        return self._zero_where_undefined(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    def csi(self) -> Array:
        """Critical success index: hits over everything but correct rejections, 0 to 1; missing without any event."""
        return ratio(self.tp, self.tp + self.fp + self.fn)

    def frequency_bias(self) -> Array:
        """Forecast events over observed events, 0 and up, 1 best; missing without an observed event."""
        return ratio(self.tp + self.fp, self.tp + self.fn)

    def _zero_where_undefined(self, numerator: Array, denominator: Array) -> Array:
        """The ratio, 0 where it is 0/0 (D-14), missing only where the whole matrix is empty."""
        safe = where(denominator != 0, ratio(numerator, denominator), 0.0)
        return where(self.n != 0, safe)


@dataclass(frozen=True, slots=True)
class ExceedanceSums(ContingencySums):
    """Hours above a threshold on both sides, and the hour-by-hour contingency beside them (D-19)."""

    forecast_hours: Array
    observed_hours: Array

    @classmethod
    def of(  # type: ignore[override]  # needs the threshold and the step as well
        cls, forecast: Array, observed: Array, *, threshold: float, step_hours: float, dim: Dims = None
    ) -> Self:
        """Strictly above the threshold, on the steps where both sides have a value, each worth `step_hours`."""
        if compiled(forecast, observed, dim):
            from metrics import kernels

            sums = kernels.exceedance_sums(forecast, observed, threshold=threshold, step_hours=step_hours)
            return cls(**sums.arrays())
        counts = ContingencySums.of(
            *(where(present(each), each > threshold) for each in (floats(forecast), floats(observed))), dim=dim
        )
        hours = ((counts.tp + counts.fp) * step_hours, (counts.tp + counts.fn) * step_hours)
        return cls(counts.n, counts.tp, counts.fp, counts.fn, counts.tn, *hours)

    def gap(self) -> Array:
        """Forecast hours minus observed hours above the threshold; missing where nothing is paired."""
        return where(self.n > 0, self.forecast_hours - self.observed_hours)
