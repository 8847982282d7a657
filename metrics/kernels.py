"""Compiled single-pass loops: another way to build the same sums, for arrays too large to pass over again and again.

A kernel walks the last axis (time) of C-contiguous float32 or float64 arrays and returns what `metrics.sums` returns
for `dim=-1`, to 1e-12. It accumulates in float64 in a fixed order (D-80), compiled in: a row is added up in blocks of
1024 steps, a block in the lanes of the processor's vectors. So a row gives the same bytes every time, in any thread and
whichever rows stand beside it; another kind of processor may differ in the last bit, which is what rounding is for.

numba takes seconds to import and to compile, so both wait for the first call; what was compiled is kept on disk.
Kernels release the GIL and keep to one core each: parallelism comes from calling them on slices in threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from metrics.errors import MismatchedSample
from metrics.sums import Array, ContingencySums, DirectionSums, ErrorSums, ExceedanceSums, Sums

BLOCK = 1024  # steps added up apart, so that the error of a sum does not grow with the length of the series
BAND = 2**17  # values of each array that one loop walks before the next loop comes over them: still in the cache
SUMS = {"reassoc", "contract"}  # a loop may add in lanes, and multiply and add in one instruction; NaN stays NaN


def error_sums(forecast: Array, observed: Array) -> ErrorSums:
    """`ErrorSums.of(forecast, observed, dim=-1)` in one pass."""
    rows = _Rows(forecast, observed)
    forecast, observed = rows.arrays
    sums = rows.zeros(ErrorSums)
    _errors(forecast, observed, 0, rows.count, sums)
    return ErrorSums(*rows.shaped(sums))


def direction_sums(forecast: Array, observed: Array) -> DirectionSums:
    """`DirectionSums.of(forecast, observed, dim=-1)` in one pass."""
    rows = _Rows(forecast, observed)
    forecast, observed = rows.arrays
    sums = rows.zeros(DirectionSums)
    _directions(forecast, observed, 0, rows.count, sums)
    return DirectionSums(*rows.shaped(sums))


def exceedance_sums(forecast: Array, observed: Array, *, threshold: float, step_hours: float) -> ExceedanceSums:
    """`ExceedanceSums.of(forecast, observed, threshold=…, step_hours=…, dim=-1)` in one pass."""
    rows = _Rows(forecast, observed)
    forecast, observed = rows.arrays
    counts = rows.zeros(ContingencySums)
    _exceedances(forecast, observed, rows.limit(threshold), 0, rows.count, counts)
    return _with_hours(rows.shaped(counts), step_hours)


def wind_sums(
    forecast_speed: Array,
    observed_speed: Array,
    forecast_direction: Array,
    observed_direction: Array,
    *,
    threshold: float,
    step_hours: float,
) -> tuple[ErrorSums, DirectionSums, ExceedanceSums]:
    """Errors and hours above the threshold of the speed, and differences of the direction, in one pass over all four.

    Each family leaves out the points that it misses itself: a step without a direction still counts for the speed.
    Calms are up to the caller, who makes their directions NaN.
    """
    rows = _Rows(forecast_speed, observed_speed, forecast_direction, observed_direction)
    forecast_speed, observed_speed, forecast_direction, observed_direction = rows.arrays
    errors, turns, counts = (rows.zeros(each) for each in (ErrorSums, DirectionSums, ContingencySums))
    limit = rows.limit(threshold)
    for first, last in rows.bands():
        _errors(forecast_speed, observed_speed, first, last, errors)
        _exceedances(forecast_speed, observed_speed, limit, first, last, counts)
        _directions(forecast_direction, observed_direction, first, last, turns)
    return (
        ErrorSums(*rows.shaped(errors)),
        DirectionSums(*rows.shaped(turns)),
        _with_hours(rows.shaped(counts), step_hours),
    )


def _with_hours(counts: Array, step_hours: float) -> ExceedanceSums:
    n, tp, fp, fn, tn = counts
    return ExceedanceSums(n, tp, fp, fn, tn, (tp + fp) * step_hours, (tp + fn) * step_hours)


class _Rows:
    """Arrays as the loops want them: rows of steps, one float type, C-contiguous; copied only where they are not."""

    def __init__(self, *arrays: Array) -> None:
        arrays = tuple(np.asarray(each) for each in arrays)
        shapes = {each.shape for each in arrays}
        if len(shapes) != 1 or () in shapes:
            raise MismatchedSample(f"a kernel takes arrays of one shape with a time axis, not {sorted(shapes)}")
        *self.leading, self.steps = shapes.pop()
        self.count = math.prod(self.leading)
        self.type = np.float32 if np.result_type(*arrays) == np.float32 else np.float64
        self.arrays = [np.ascontiguousarray(each, self.type).reshape(self.count, self.steps) for each in arrays]
        _load()

    def zeros(self, sums: type[Sums]) -> Array:
        """A line for each of the sums, over the rows."""
        return np.zeros((len(sums.names()), self.count))

    def shaped(self, sums: Array) -> Array:
        """The lines in the shape of the leading axes."""
        return sums.reshape(len(sums), *self.leading)

    def bands(self) -> Iterator[tuple[int, int]]:
        """First and last row (exclusive) of one band after the other."""
        height = max(1, BAND // max(1, self.steps))
        return ((first, min(first + height, self.count)) for first in range(0, self.count, height))

    def limit(self, threshold: float) -> Any:
        """The largest number of the arrays' type up to the threshold: no value of that type lies between the two."""
        with np.errstate(over="ignore"):
            limit = self.type(threshold)
        return np.nextafter(limit, self.type(-np.inf)) if float(limit) > float(threshold) else limit


Loop = TypeVar("Loop", bound=Callable[..., Any])

_waiting: dict[str, dict[str, Any]] = {}
_loading = Lock()
_source = Path(__file__)
_written = _source.stat().st_mtime_ns


def _compiled(**options: Any) -> Callable[[Loop], Loop]:
    """Mark a loop; at the first use of any kernel its compiled form takes its place in this module."""

    def mark(function: Loop) -> Loop:
        _waiting[function.__name__] = options
        return function

    return mark


def _load() -> None:
    """Import numba and put the compiled loops in the place of the plain ones, once."""
    with _loading:
        if not _waiting:
            return
        from numba import njit

        current = _source.stat().st_mtime_ns == _written  # or numba would file this code under the newer source
        for name, options in _waiting.items():
            # Without a word on fast mathematics a function would inherit that of its caller.
            options = {"nogil": True, "error_model": "numpy", "fastmath": False, **options}
            try:
                globals()[name] = njit(cache=current, **options)(globals()[name])
            except RuntimeError:  # nowhere to keep compiled code: neither this folder nor the user's can be written
                globals()[name] = njit(**options)(globals()[name])
        _waiting.clear()


# The loops. A NaN is what does not equal itself. Choices are values instead of branches and inner loops run over slices
# from 0 to their size: otherwise they would not be vectorised. What is not a sum stands in functions without `reassoc`.


@_compiled(fastmath=SUMS)
def _errors(forecast: Array, observed: Array, first_row: int, last_row: int, sums: Array) -> None:
    for row in range(first_row, last_row):
        for first in range(0, forecast.shape[1], BLOCK):
            left, right = forecast[row, first : first + BLOCK], observed[row, first : first + BLOCK]
            n = 0
            total = absolute = squared = forecasts = observeds = 0.0
            for step in range(left.size):
                one, other = np.float64(left[step]), np.float64(right[step])
                difference = one - other
                paired = difference == difference
                error = difference if paired else 0.0
                n += paired
                total += error
                absolute += abs(error)
                squared += error * error
                forecasts += one if paired else 0.0
                observeds += other if paired else 0.0
            sums[0, row] += n
            sums[1, row] += total
            sums[2, row] += absolute
            sums[3, row] += squared
            sums[4, row] += forecasts
            sums[5, row] += observeds


@_compiled(fastmath=SUMS)
def _directions(forecast: Array, observed: Array, first_row: int, last_row: int, sums: Array) -> None:
    for row in range(first_row, last_row):
        for first in range(0, forecast.shape[1], BLOCK):
            left, right = forecast[row, first : first + BLOCK], observed[row, first : first + BLOCK]
            n = 0
            absolute = squared = sines = cosines = 0.0
            for step in range(left.size):
                difference = _turn(np.float64(left[step]), np.float64(right[step]))
                sine, cosine = _sine_cosine(difference)
                paired = difference == difference
                turned = difference if paired else 0.0
                n += paired
                absolute += abs(turned)
                squared += turned * turned
                sines += sine if paired else 0.0
                cosines += cosine if paired else 0.0
            sums[0, row] += n
            sums[1, row] += absolute
            sums[2, row] += squared
            sums[3, row] += sines
            sums[4, row] += cosines


@_compiled()  # not contracted: the product must be rounded to the half that it is
def _turn(forecast: float, observed: float) -> float:
    """`metrics.sums.turn` of the difference, to the last bits: opposite winds give -180 here too (D-24)."""
    difference = forecast - observed
    turned: float = difference - 360.0 * np.floor(difference * (1.0 / 360.0) + 0.5)
    return turned


@_compiled(fastmath={"contract"})
def _sine_cosine(degrees: float) -> tuple[float, float]:
    """Sine and cosine of an angle within [-180, 180], to 4e-16, in the same steps for every angle.

    With b = 90° − |angle|, the cosine is sin b and the sine is cos b with the sign of the angle. Both come from b/2,
    which lies within ±45°, where the polynomials of fdlibm (k_sin.c, k_cos.c) hold.
    """
    half = (90.0 - abs(degrees)) * (math.pi / 360.0)
    z = half * half
    high = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
    low = -1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * high))
    sine = half + half * z * low
    high = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)
    low = 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * high))
    cosine = 1.0 - z * (0.5 - z * low)
    twice = sine + sine
    return math.copysign(1.0 - twice * sine, degrees), twice * cosine


@_compiled()
def _exceedances(forecast: Array, observed: Array, limit: float, first_row: int, last_row: int, counts: Array) -> None:
    for row in range(first_row, last_row):
        left, right = forecast[row], observed[row]
        n = both = yes = event = 0
        for step in range(left.size):
            paired = (left[step] == left[step]) & (right[step] == right[step])
            above, happened = paired & (left[step] > limit), paired & (right[step] > limit)
            n += paired
            both += above & happened
            yes += above
            event += happened
        counts[0, row] = n
        counts[1, row] = both
        counts[2, row] = yes - both
        counts[3, row] = event - both
        counts[4, row] = n - yes - event + both
