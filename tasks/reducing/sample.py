"""From matched pairs to arrays: one (station, valid time) grid per model, missing as NaN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from configs.window import Window
from metrics.kpis.kpi import Sample
from metrics.sums import Array


@dataclass(frozen=True, slots=True)
class Night:
    """One model's pairs of one cycle on the same stations and valid times."""

    cycle: datetime
    stations: tuple[str, ...]
    valid: tuple[datetime, ...]
    forecast: Mapping[str, Array]
    observed: Mapping[str, Array]
    offered: tuple[str, ...]

    def lead_hours(self) -> Array:
        """Hours from the cycle to each valid time."""
        return np.array([(each - self.cycle) / timedelta(hours=1) for each in self.valid])

    def inside(self, window: Window) -> Array:
        """Which valid times lie in a window, and on its step where the case states one (D-74)."""
        inside = [window.contains(each, self.cycle) for each in self.valid]
        if window.step is None:
            return np.array(inside, dtype=bool)
        step = timedelta(hours=window.step)
        on_step = [(each - self.cycle) % step == timedelta() for each in self.valid]
        return np.array(inside, dtype=bool) & np.array(on_step, dtype=bool)

    def select(self, keep: Array, step_hours: float | None) -> Sample:
        """The arrays on the valid times that are kept."""
        return Sample(
            {name: each[:, keep] for name, each in self.forecast.items()},
            {name: each[:, keep] for name, each in self.observed.items()},
            step_hours,
        )


def night(matched: pd.DataFrame, offered: tuple[str, ...], cycle: datetime) -> Night:
    """The pairs as arrays; stations and valid times sorted, so that sums are made in a fixed order (D-80)."""
    stations, station_of = np.unique(matched["station"].to_numpy(dtype=object).astype(str), return_inverse=True)
    times, time_of = np.unique(matched["valid_time"].to_numpy("datetime64[ns]"), return_inverse=True)
    forecast: dict[str, Array] = {}
    observed: dict[str, Array] = {}
    for variable, rows in matched.groupby("variable", sort=True).indices.items():
        for side, arrays in (("forecast", forecast), ("observed", observed)):
            grid = np.full((len(stations), len(times)), np.nan)
            grid[station_of[rows], time_of[rows]] = matched[side].to_numpy()[rows]
            arrays[str(variable)] = grid
    valid = tuple(each.to_pydatetime().replace(tzinfo=UTC) for each in pd.DatetimeIndex(times))
    return Night(cycle, tuple(str(each) for each in stations), valid, forecast, observed, offered)
