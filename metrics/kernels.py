"""Compiled single-pass loops: another way to build the same sums, for arrays too large to pass over again and again.

A kernel walks the last axis (time) of C-contiguous float32 or float64 arrays once and returns what `metrics.sums` would
return for `dim=-1`, to 1e-12. It accumulates in float64 in a fixed order (D-80): step j of a row goes to lane j mod 16,
the lanes are added from left to right after every block of 512 steps, and the blocks of a row from left to right. The
order is that of the source, whatever the width of the machine's vectors.

numba takes seconds to import and to compile, so both wait for the first call; what was compiled is kept on disk.
Kernels release the GIL and run on one core each: parallelism comes from calling them on slices in threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from metrics.errors import MismatchedSample
from metrics.sums import Array, DirectionSums, ErrorSums, ExceedanceSums

LANES = 16  # independent partial sums, which is what lets a compiler use vector instructions and keep the order
BLOCK = 512  # steps between two additions of the lanes; a block and its buffer fit into the fastest cache

Loop = TypeVar("Loop", bound=Callable[..., Any])

_loops: dict[str, dict[str, Any]] = {}
_loading = Lock()


def loop(**options: Any) -> Callable[[Loop], Loop]:
    """Mark a plain function as a loop, to be replaced in this module by its compiled form at first use."""

    def mark(function: Loop) -> Loop:
        _loops[function.__name__] = options
        return function

    return mark


def _load() -> None:
    """Import numba and put the compiled loops in the place of the plain ones, once."""
    with _loading:
        if not _loops:
            return
        from numba import njit

        for name, options in _loops.items():
            options = {"nogil": True, "error_model": "numpy", **options}
            try:
                globals()[name] = njit(cache=True, **options)(globals()[name])
            except RuntimeError:  # nowhere to keep compiled code: neither this folder nor the user's can be written
                globals()[name] = njit(**options)(globals()[name])
        _loops.clear()


def error_sums(forecast: Array, observed: Array) -> ErrorSums:
    """`ErrorSums.of(forecast, observed, dim=-1)` in one pass."""
    forecast, observed = _rows(forecast, observed)
    out = _out(ErrorSums, forecast)
    _load()
    _errors(*_flat(forecast, observed), *_flat_out(out))
    return ErrorSums(*out)


def direction_sums(forecast: Array, observed: Array) -> DirectionSums:
    """`DirectionSums.of(forecast, observed, dim=-1)` in one pass."""
    forecast, observed = _rows(forecast, observed)
    out = _out(DirectionSums, forecast)
    _load()
    _directions(*_flat(forecast, observed), *_flat_out(out))
    return DirectionSums(*out)


def exceedance_sums(forecast: Array, observed: Array, *, threshold: float, step_hours: float) -> ExceedanceSums:
    """`ExceedanceSums.of(forecast, observed, threshold=…, step_hours=…, dim=-1)` in one pass."""
    forecast, observed = _rows(forecast, observed)
    out = _out(ExceedanceSums, forecast)
    _load()
    _exceedances(*_flat(forecast, observed), _limit(threshold, forecast.dtype), step_hours, *_flat_out(out))
    return ExceedanceSums(*out)


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

    Each family drops the points that it misses itself: a step without a direction still counts for the speed. Calms
    are left to the caller, who makes their directions NaN.
    """
    arrays = _rows(forecast_speed, observed_speed, forecast_direction, observed_direction)
    out = [_out(each, arrays[0]) for each in (ErrorSums, DirectionSums, ExceedanceSums)]
    _load()
    _winds(*_flat(*arrays), _limit(threshold, arrays[0].dtype), step_hours, *_flat_out(*out))
    return ErrorSums(*out[0]), DirectionSums(*out[1]), ExceedanceSums(*out[2])


def _rows(*arrays: Array) -> list[Array]:
    """The arrays as the loops want them: one shape, one float type, C-contiguous; copied only where they are not."""
    shapes = {np.shape(each) for each in arrays}
    if len(shapes) != 1:
        raise MismatchedSample(f"the arrays have shapes {sorted(shapes)}; they must be the same points")
    if shapes == {()}:
        raise MismatchedSample("a single number has no time axis to sum over")
    dtype = np.result_type(*arrays)
    dtype = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return [np.ascontiguousarray(each, dtype) for each in arrays]


def _flat(*arrays: Array) -> list[Array]:
    """The arrays with all leading axes made one."""
    return [each.reshape(math.prod(each.shape[:-1]), each.shape[-1]) for each in arrays]


def _out(sums: type[ErrorSums | DirectionSums | ExceedanceSums], rows: Array) -> Array:
    """Zeros for every sum of every row."""
    return np.zeros((len(sums.names()), *rows.shape[:-1]))


def _flat_out(*out: Array) -> list[Array]:
    """The same memory with all leading axes made one."""
    return [each.reshape(len(each), math.prod(each.shape[1:])) for each in out]


def _limit(threshold: float, dtype: Any) -> Any:
    """The largest number of the type up to the threshold: a value of that type is above one where it is above both."""
    limit = dtype.type(threshold)
    return np.nextafter(limit, dtype.type(-np.inf)) if limit > threshold else limit


# What follows is compiled, helpers first. Loops are kept small and apart where a fused one would not be vectorised.


@loop(inline="always")
def _wrapped(degrees: float) -> float:
    """`metrics.sums.turn` of one number: a division would be slower, so the quotient may be one off and is mended."""
    shifted = degrees + 180.0
    rest = shifted - 360.0 * np.floor(shifted * (1.0 / 360.0))
    rest = rest + 360.0 if rest < 0.0 else rest
    rest = rest - 360.0 if rest >= 360.0 else rest
    return rest - 180.0


@loop(fastmath={"contract"})
def _sine_cosine(degrees: float) -> tuple[float, float]:
    """Sine and cosine of an angle within [-180, 180] to 4e-16, without a branch.

    With b = 90° − |angle|, the cosine is sin b and the sine cos b with the angle's sign; both come from b/2, which lies
    within ±45°, where the polynomials of fdlibm (k_sin.c, k_cos.c) hold.
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


@loop(inline="always")
def _add_lanes(lanes: Array, sums: Array, row: int) -> None:
    """Add the lanes up from left to right, each line of them into its sum of the row."""
    for each in range(lanes.shape[0]):
        together = 0.0
        for lane in range(LANES):
            together += lanes[each, lane]
        sums[each + 1, row] += together


@loop(inline="always")
def _add_errors(forecast: Array, observed: Array, error: Array, absolute: Array, squared: Array, f: Array, o: Array) -> None:
    for lane in range(forecast.size):
        left, right = np.float64(forecast[lane]), np.float64(observed[lane])
        difference = left - right
        paired = difference == difference
        difference = difference if paired else 0.0
        error[lane] += difference
        absolute[lane] += abs(difference)
        squared[lane] += difference * difference
        f[lane] += left if paired else 0.0
        o[lane] += right if paired else 0.0


@loop(inline="always")
def _error_block(forecast: Array, observed: Array, lanes: Array, sums: Array, row: int) -> None:
    n = 0
    for step in range(forecast.size):
        difference = forecast[step] - observed[step]
        n += difference == difference
    sums[0, row] += n
    lanes[:] = 0.0
    for first in range(0, forecast.size, LANES):
        last = min(first + LANES, forecast.size)
        _add_errors(forecast[first:last], observed[first:last], lanes[0], lanes[1], lanes[2], lanes[3], lanes[4])
    _add_lanes(lanes, sums, row)


@loop(inline="always")
def _exceedance_block(forecast: Array, observed: Array, limit: float, sums: Array, row: int) -> None:
    n = tp = yes = event = 0
    for step in range(forecast.size):
        left, right = forecast[step], observed[step]
        paired = (left == left) & (right == right)
        above, happened = paired & (left > limit), paired & (right > limit)
        n += paired
        tp += above & happened
        yes += above
        event += happened
    sums[0, row] += n
    sums[1, row] += tp
    sums[2, row] += yes - tp
    sums[3, row] += event - tp
    sums[4, row] += n - yes - event + tp


@loop()
def _exceedance_hours(step_hours: float, sums: Array, row: int) -> None:
    sums[5, row] = (sums[1, row] + sums[2, row]) * step_hours
    sums[6, row] = (sums[1, row] + sums[3, row]) * step_hours


@loop(inline="always")
def _turn(forecast: Array, observed: Array, turned: Array) -> None:
    for step in range(forecast.size):
        turned[step] = _wrapped(np.float64(forecast[step]) - np.float64(observed[step]))


@loop(inline="always")
def _add_directions(turned: Array, absolute: Array, squared: Array, sine: Array, cosine: Array) -> None:
    for lane in range(turned.size):
        difference = turned[lane]
        s, c = _sine_cosine(difference)
        paired = difference == difference
        difference = difference if paired else 0.0
        absolute[lane] += abs(difference)
        squared[lane] += difference * difference
        sine[lane] += s if paired else 0.0
        cosine[lane] += c if paired else 0.0


@loop(inline="always")
def _direction_block(forecast: Array, observed: Array, turned: Array, lanes: Array, sums: Array, row: int) -> None:
    turned = turned[: forecast.size]
    _turn(forecast, observed, turned)
    n = 0
    for step in range(turned.size):
        n += turned[step] == turned[step]
    sums[0, row] += n
    lanes[:] = 0.0
    for first in range(0, turned.size, LANES):
        last = min(first + LANES, turned.size)
        _add_directions(turned[first:last], lanes[0], lanes[1], lanes[2], lanes[3])
    _add_lanes(lanes, sums, row)


@loop()
def _errors(forecast: Array, observed: Array, sums: Array) -> None:
    lanes = np.empty((5, LANES))
    for row in range(forecast.shape[0]):
        for first in range(0, forecast.shape[1], BLOCK):
            last = min(first + BLOCK, forecast.shape[1])
            _error_block(forecast[row, first:last], observed[row, first:last], lanes, sums, row)


@loop()
def _directions(forecast: Array, observed: Array, sums: Array) -> None:
    lanes, turned = np.empty((4, LANES)), np.empty(BLOCK)
    for row in range(forecast.shape[0]):
        for first in range(0, forecast.shape[1], BLOCK):
            last = min(first + BLOCK, forecast.shape[1])
            _direction_block(forecast[row, first:last], observed[row, first:last], turned, lanes, sums, row)


@loop()
def _exceedances(forecast: Array, observed: Array, limit: float, step_hours: float, sums: Array) -> None:
    for row in range(forecast.shape[0]):
        _exceedance_block(forecast[row], observed[row], limit, sums, row)
        _exceedance_hours(step_hours, sums, row)


@loop()
def _winds(
    forecast_speed: Array,
    observed_speed: Array,
    forecast_direction: Array,
    observed_direction: Array,
    limit: float,
    step_hours: float,
    errors: Array,
    directions: Array,
    exceedances: Array,
) -> None:
    error_lanes, direction_lanes, turned = np.empty((5, LANES)), np.empty((4, LANES)), np.empty(BLOCK)
    for row in range(forecast_speed.shape[0]):
        for first in range(0, forecast_speed.shape[1], BLOCK):
            last = min(first + BLOCK, forecast_speed.shape[1])
            forecast, observed = forecast_speed[row, first:last], observed_speed[row, first:last]
            _error_block(forecast, observed, error_lanes, errors, row)
            _exceedance_block(forecast, observed, limit, exceedances, row)
            forecast, observed = forecast_direction[row, first:last], observed_direction[row, first:last]
            _direction_block(forecast, observed, turned, direction_lanes, directions, row)
        _exceedance_hours(step_hours, exceedances, row)
