"""A season from matched series: errors of speed and direction, and hours above a threshold, by station and night."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from workload import CORES, Skipped, Trial, agree_on_arrays, faster, within

ID = "W2"
WORK = "one season from matched series: bias, RMSE, MAE, direction RMSE, exceedance by station and day"
MODELS, NIGHTS, STATIONS, STEPS = 3, 90, 300, 288
THRESHOLD, STEP_HOURS = 8.0, 24 / STEPS
# Nights per piece, for each contender the best of 2, 3, 5, 9, 15, 30 and 45 on two cores: all had the same choice.
NIGHTS_AT_A_TIME = {"firecard": 45, "scores": 30, "xskillscore": 15, "xarray": 30}

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # speed and direction, each forecast then observed
Found = dict[str, Any]


def prepare() -> Trial:
    try:
        import dask.array  # noqa: F401
        import scores  # noqa: F401
        import xarray as xr
        import xskillscore  # noqa: F401
    except ImportError as missing:
        raise Skipped(f"{missing.name} is not installed; `make bench` makes an environment that has it") from missing
    arrays = season()
    eager = [xr.DataArray(each, dims=("model", "night", "station", "time")) for each in arrays]
    threads = ThreadPoolExecutor(CORES)
    peers: dict[str, Callable[[], Found]] = {}
    for name, method in (("scores", with_scores), ("xskillscore", with_xskillscore), ("xarray", with_xarray)):
        lazy = [each.chunk(model=1, night=NIGHTS_AT_A_TIME[name]) for each in eager]
        peers[name] = lambda method=method: method(*eager)
        peers[f"{name} + dask"] = lambda method=method, lazy=lazy: computed(method(*lazy))
    return Trial(
        inputs=f"{MODELS} models × {NIGHTS} nights × {STATIONS} stations × {STEPS} steps, speed and direction, "
        f"float32, 1 % missing: {sum(each.nbytes for each in arrays) / 1e6:.0f} MB",
        contenders={
            "one read": lambda: one_read(arrays, threads),
            "firecard": lambda: with_firecard(arrays, threads),
            "firecard, one core": lambda: with_firecard(arrays, None),
            **peers,
        },
        # The peers compute in the float32 of the input, firecard in float64.
        agree=lambda results: agree_on_arrays(
            results, reference="firecard", others=("firecard, one core", *peers), rtol=1e-4, atol=1e-4
        ),
        goals=(
            faster("firecard", "scores", "scores + dask", than="scores", least=15, stretch=20),
            within("firecard", "one read", most=4, stretch=3),
            faster("firecard", "scores", than="scores without dask"),
            faster("firecard", "xskillscore", "xskillscore + dask", than="xskillscore"),
            faster("firecard", "xarray", "xarray + dask", than="xarray"),
        ),
        notes=(
            "A peer counts with its quicker form, eager or Dask threads. What it lacks (angles in xskillscore, hours",
            "above a threshold without a whole contingency table in both) is written in plain xarray for it.",
            f"Nights per piece, each contender's best of the same seven sizes: {NIGHTS_AT_A_TIME}.",
        ),
    )


def season() -> Arrays:
    """Gusty observations and forecasts that err around them; a hundredth of all values is missing."""
    generator = np.random.default_rng(20261117)
    shape = (MODELS, NIGHTS, STATIONS, STEPS)

    def noise(spread: float) -> np.ndarray:
        return np.float32(spread) * generator.standard_normal(shape, dtype=np.float32)

    def holed(values: np.ndarray) -> np.ndarray:
        values[generator.random(shape, dtype=np.float32) < 0.01] = np.nan
        return values

    observed_speed = np.abs(noise(7.0))
    forecast_speed = np.abs(observed_speed + noise(2.5))
    observed_direction = np.float32(360) * generator.random(shape, dtype=np.float32)
    forecast_direction = (observed_direction + noise(40.0)) % np.float32(360)
    return holed(forecast_speed), holed(observed_speed), holed(forecast_direction), holed(observed_direction)


def pieces() -> list[tuple[int, slice]]:
    """One model, some nights: contiguous in memory, enough of them to keep all cores busy to the end."""
    nights = NIGHTS_AT_A_TIME["firecard"]
    return [(model, slice(first, first + nights)) for model in range(MODELS) for first in range(0, NIGHTS, nights)]


def with_firecard(arrays: Arrays, threads: ThreadPoolExecutor | None) -> Found:
    from metrics.kernels import wind_sums

    def piece(where: tuple[int, slice]) -> Found:
        errors, turns, hours = wind_sums(*(each[where] for each in arrays), threshold=THRESHOLD, step_hours=STEP_HOURS)
        return {
            "bias": errors.bias(),
            "rmse": errors.rmse(),
            "mae": errors.mae(),
            "direction_rmse": turns.rmse(),
            "forecast_hours": hours.forecast_hours,
            "observed_hours": hours.observed_hours,
        }

    found = list((threads.map if threads else map)(piece, pieces()))
    shape = (MODELS, NIGHTS, STATIONS)
    return {name: np.concatenate([each[name] for each in found]).reshape(shape) for name in found[0]}


def one_read(arrays: Arrays, threads: ThreadPoolExecutor) -> int:
    """Every byte of the inputs once, as fast as all cores can: the integers in it added up."""
    from numba import njit

    global _added
    if _added is None:

        def added(words: np.ndarray) -> np.uint64:
            total = np.uint64(0)
            for each in range(words.size):
                total += words[each]
            return total

        _added = njit(nogil=True)(added)
    words = [each[where].reshape(-1).view(np.uint64) for where in pieces() for each in arrays]
    return sum(int(each) for each in threads.map(_added, words))


_added: Any = None


def with_scores(forecast_speed: Any, observed_speed: Any, forecast_direction: Any, observed_direction: Any) -> Found:
    from scores.continuous import mae, mean_error, rmse

    return {
        "bias": mean_error(forecast_speed, observed_speed, reduce_dims="time"),
        "rmse": rmse(forecast_speed, observed_speed, reduce_dims="time"),
        "mae": mae(forecast_speed, observed_speed, reduce_dims="time"),
        "direction_rmse": rmse(forecast_direction, observed_direction, reduce_dims="time", is_angular=True),
        **hours_above(forecast_speed, observed_speed),
    }


def with_xskillscore(
    forecast_speed: Any, observed_speed: Any, forecast_direction: Any, observed_direction: Any
) -> Found:
    from xskillscore import mae, me, rmse

    return {
        "bias": -me(observed_speed, forecast_speed, dim="time", skipna=True),
        "rmse": rmse(observed_speed, forecast_speed, dim="time", skipna=True),
        "mae": mae(observed_speed, forecast_speed, dim="time", skipna=True),
        "direction_rmse": (turned(forecast_direction - observed_direction) ** 2).mean("time") ** 0.5,
        **hours_above(forecast_speed, observed_speed),
    }


def with_xarray(forecast_speed: Any, observed_speed: Any, forecast_direction: Any, observed_direction: Any) -> Found:
    error = forecast_speed - observed_speed
    return {
        "bias": error.mean("time"),
        "rmse": (error**2).mean("time") ** 0.5,
        "mae": abs(error).mean("time"),
        "direction_rmse": (turned(forecast_direction - observed_direction) ** 2).mean("time") ** 0.5,
        **hours_above(forecast_speed, observed_speed),
    }


def turned(difference: Any) -> Any:
    return (difference + 180) % 360 - 180


def hours_above(forecast_speed: Any, observed_speed: Any) -> Found:
    paired = forecast_speed.notnull() & observed_speed.notnull()
    return {
        "forecast_hours": ((forecast_speed > THRESHOLD) & paired).sum("time") * STEP_HOURS,
        "observed_hours": ((observed_speed > THRESHOLD) & paired).sum("time") * STEP_HOURS,
    }


def computed(lazy: Found) -> Found:
    import dask

    return dict(zip(lazy, dask.compute(*lazy.values(), scheduler="threads", num_workers=CORES), strict=True))
