"""Compiled single-pass loops: another way to build the same sums, for arrays too large to pass over again and again.

A kernel walks the last axis (time) of C-contiguous float32 or float64 arrays and returns what `metrics.sums` returns
for `dim=-1`, to 1e-12. It accumulates in float64 in a fixed order (D-80): step j of a row goes to lane j mod 16, the
lanes are added from left to right after every block of 512 steps, and so are the blocks of a row. That is the order of
the source, not one that the compiler chose for the vectors of this machine.

numba takes seconds to import and to compile, so both wait for the first call; what was compiled is kept on disk.
Kernels release the GIL and keep to one core each: parallelism comes from calling them on slices in threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from metrics.errors import MismatchedSample
from metrics.sums import Array, ContingencySums, DirectionSums, ErrorSums, ExceedanceSums, Sums

LANES = 16  # partial sums that do not wait for each other: vector instructions without a change of order
BLOCK = 512  # steps between two additions of the lanes; a block and its buffer fit into the fastest cache
BAND = 2**17  # values of each array that one loop walks before the next loop comes over them: still in the cache


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

        for name, options in _waiting.items():
            options = {"nogil": True, "error_model": "numpy", **options}
            try:
                globals()[name] = njit(cache=True, **options)(globals()[name])
            except RuntimeError:  # nowhere to keep compiled code: neither this folder nor the user's can be written
                globals()[name] = njit(**options)(globals()[name])
        _waiting.clear()


# The loops. A NaN is what does not equal itself. Inner loops run over slices from 0 to their size, take their choices
# as values instead of branches, and are inlined where they add to lanes: otherwise they would not be vectorised.


@_compiled()
def _errors(forecast: Array, observed: Array, first_row: int, last_row: int, sums: Array) -> None:
    lanes = np.empty((5, LANES))
    for row in range(first_row, last_row):
        for first in range(0, forecast.shape[1], BLOCK):
            last = min(first + BLOCK, forecast.shape[1])
            _error_block(forecast[row, first:last], observed[row, first:last], lanes, sums, row)


@_compiled(inline="always")
def _error_block(forecast: Array, observed: Array, lanes: Array, sums: Array, row: int) -> None:
    n = 0
    for step in range(forecast.size):
        error = forecast[step] - observed[step]
        n += error == error
    sums[0, row] += n
    lanes[:] = 0.0
    for first in range(0, forecast.size, LANES):
        last = min(first + LANES, forecast.size)
        _add_errors(forecast[first:last], observed[first:last], lanes[0], lanes[1], lanes[2], lanes[3], lanes[4])
    _add_lanes(lanes, sums, row)


@_compiled(inline="always")
def _add_errors(
    forecast: Array, observed: Array, total: Array, absolute: Array, squared: Array, forecasts: Array, observeds: Array
) -> None:
    for lane in range(forecast.size):
        left, right = np.float64(forecast[lane]), np.float64(observed[lane])
        difference = left - right
        paired = difference == difference
        error = difference if paired else 0.0
        total[lane] += error
        absolute[lane] += abs(error)
        squared[lane] += error * error
        forecasts[lane] += left if paired else 0.0
        observeds[lane] += right if paired else 0.0


@_compiled(inline="always")
def _add_lanes(lanes: Array, sums: Array, row: int) -> None:
    """Each line of lanes, from left to right, onto its sum of the row; the count, sum 0, has no lanes."""
    for line in range(lanes.shape[0]):
        together = 0.0
        for lane in range(LANES):
            together += lanes[line, lane]
        sums[line + 1, row] += together


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


@_compiled()
def _directions(forecast: Array, observed: Array, first_row: int, last_row: int, sums: Array) -> None:
    lanes, turned = np.empty((4, LANES)), np.empty(BLOCK)
    for row in range(first_row, last_row):
        for first in range(0, forecast.shape[1], BLOCK):
            last = min(first + BLOCK, forecast.shape[1])
            _direction_block(forecast[row, first:last], observed[row, first:last], turned, lanes, sums, row)


@_compiled(inline="always")
def _direction_block(forecast: Array, observed: Array, turned: Array, lanes: Array, sums: Array, row: int) -> None:
    turned = turned[: forecast.size]
    for step in range(forecast.size):  # apart from the rest: together they need more registers than there are
        turned[step] = _turn(np.float64(forecast[step]) - np.float64(observed[step]))
    n = 0
    for step in range(turned.size):
        n += turned[step] == turned[step]
    sums[0, row] += n
    lanes[:] = 0.0
    for first in range(0, turned.size, LANES):
        last = min(first + LANES, turned.size)
        _add_directions(turned[first:last], lanes[0], lanes[1], lanes[2], lanes[3])
    _add_lanes(lanes, sums, row)


@_compiled(inline="always")
def _add_directions(turned: Array, absolute: Array, squared: Array, sines: Array, cosines: Array) -> None:
    for lane in range(turned.size):
        difference = turned[lane]
        sine, cosine = _sine_cosine(difference)
        paired = difference == difference
        difference = difference if paired else 0.0
        absolute[lane] += abs(difference)
        squared[lane] += difference * difference
        sines[lane] += sine if paired else 0.0
        cosines[lane] += cosine if paired else 0.0


@_compiled(inline="always")
def _turn(degrees: float) -> float:
    """`metrics.sums.turn`; multiplied instead of divided, the number of turns may be one off, which is mended."""
    shifted = degrees + 180.0
    rest: float = shifted - 360.0 * np.floor(shifted * (1.0 / 360.0))
    rest = rest + 360.0 if rest < 0.0 else rest
    rest = rest - 360.0 if rest >= 360.0 else rest
    return rest - 180.0


@_compiled(fastmath={"contract"})  # a multiplication and an addition may become one instruction, here only
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
