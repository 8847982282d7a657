"""A made-up night with known errors: downslope wind at forty stations, forecast by three models of different skill."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.store.keyed import writing

CYCLE = datetime(2026, 11, 17, 0, tzinfo=UTC)
STATIONS, HOURS, SEED = 40, 24, 20261117
UNITS = {
    "wind_speed": "m/s",
    "wind_direction": "deg",
    "wind_gust": "m/s",
    "temperature": "degC",
    "relative_humidity": "%",
}


@dataclass(frozen=True, slots=True)
class Skill:
    """How a model is wrong: its bias and noise in speed, how much of the event it sees and how late, and the rest."""

    bias: float
    noise: float
    event: float
    late: int
    turn: float
    turn_noise: float
    warm: float
    gusts: bool = True


SKILLS = {
    "wrf-d02": Skill(bias=0.3, noise=1.1, event=1.0, late=0, turn=4, turn_noise=14, warm=0.4),
    "hrrr": Skill(bias=-0.6, noise=1.5, event=0.85, late=1, turn=-8, turn_noise=20, warm=-0.8),
    "gfs": Skill(bias=-1.0, noise=1.9, event=0.5, late=3, turn=18, turn_noise=32, warm=2.2, gusts=False),
}


def write_demo(folder: Path) -> Path:
    """The night's pairs and its case file in a folder; the case file."""
    with writing(folder / "pairs.csv") as temporary:
        night_of_pairs().to_csv(temporary, index=False, float_format="%.4g")
    case = folder / "demo.yaml"
    with as_file(files("configs") / "cases" / "demo.yaml") as shipped, writing(case) as temporary:
        shutil.copyfile(shipped, temporary)
    return case


def night_of_pairs() -> pd.DataFrame:
    """The night as a tidy table of pairs."""
    rng = np.random.default_rng(SEED)
    truth = _truth(rng)
    observed = _as_observed(truth, rng)
    tables = [_rows(model, _forecast(truth, skill, rng), observed) for model, skill in SKILLS.items()]
    return pd.concat(tables, ignore_index=True)


def _truth(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """What the air did: (station, hour). The ridge stations get the event, the valley stays calm for long."""
    hour = np.arange(HOURS)
    exposure = np.linspace(0.15, 1.0, STATIONS)[:, None]
    event = np.exp(-(((hour - 10) / 4.0) ** 2))[None, :]
    background = 1.2 + 1.6 * exposure + 0.8 * np.sin((hour - 15) * np.pi / 12)[None, :]
    noise = rng.normal(0, 0.7, (STATIONS, HOURS))
    event_speed = 16.0 * exposure * event
    direction = (58 + 25 * (1 - event) * np.sin(hour * np.pi / 6) + rng.normal(0, 9, (STATIONS, HOURS))) % 360
    temperature = (
        12 + 6 * np.sin((hour - 14) * np.pi / 12)[None, :] + 4 * event * exposure + rng.normal(0, 0.6, noise.shape)
    )
    humidity = np.clip(62 - 38 * event * exposure - 2.0 * (temperature - 12) + rng.normal(0, 4, noise.shape), 4, 100)
    return {
        "background": np.clip(background + noise, 0, None),
        "event": event_speed,
        "wind_direction": direction,
        "temperature": temperature,
        "relative_humidity": humidity,
    }


def _as_observed(truth: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """What the stations reported: calms, gaps, gusts only when it is gusty, and one station that fell silent."""
    speed = truth["background"] + truth["event"]
    speed = np.where(speed < 1.3, 0.0, speed)  # a cup anemometer starts to turn at about this wind
    observed = {
        "wind_speed": speed,
        "wind_direction": np.where(speed > 0, truth["wind_direction"], np.nan),
        "wind_gust": np.where(speed > 4.5, 1.45 * speed + rng.normal(0, 0.8, speed.shape), np.nan),
        "temperature": truth["temperature"],
        "relative_humidity": truth["relative_humidity"],
    }
    gone = rng.random(speed.shape) < 0.03
    gone[7, 9:] = True
    return {name: np.where(gone, np.nan, values) for name, values in observed.items()}


def _forecast(truth: dict[str, np.ndarray], skill: Skill, rng: np.random.Generator) -> dict[str, np.ndarray]:
    shape = truth["event"].shape
    event = np.roll(truth["event"], skill.late, axis=1) * skill.event
    speed = np.clip(truth["background"] + event + skill.bias + rng.normal(0, skill.noise, shape), 0.05, None)
    forecast = {
        "wind_speed": speed,
        "wind_direction": (truth["wind_direction"] + skill.turn + rng.normal(0, skill.turn_noise, shape)) % 360,
        "temperature": truth["temperature"] + skill.warm + rng.normal(0, 1.0, shape),
        "relative_humidity": np.clip(truth["relative_humidity"] - 3 * skill.warm + rng.normal(0, 5, shape), 1, 100),
    }
    if skill.gusts:
        forecast["wind_gust"] = 1.4 * speed + rng.normal(0, 1.2, shape)
    return forecast


def _rows(model: str, forecast: dict[str, np.ndarray], observed: dict[str, np.ndarray]) -> pd.DataFrame:
    station, hour = (each.ravel() for each in np.meshgrid(np.arange(STATIONS), np.arange(HOURS), indexing="ij"))
    valid = np.array([f"{CYCLE + timedelta(hours=int(each)):%Y-%m-%dT%H:%MZ}" for each in range(HOURS)])[hour]
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "model": model,
                    "station": [f"RIDGE{each:02d}" for each in station],
                    "lat": np.round(39.2 + 0.04 * (station % 8), 4),
                    "lon": np.round(-121.1 + 0.05 * (station // 8), 4),
                    "cycle": f"{CYCLE:%Y-%m-%dT%H:%MZ}",
                    "valid_time": valid,
                    "variable": variable,
                    "unit": UNITS[variable],
                    "forecast": values.ravel(),
                    "observed": observed[variable].ravel(),
                }
            )
            for variable, values in forecast.items()
        ],
        ignore_index=True,
    )
