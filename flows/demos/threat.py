"""A made-up cohort of fires with the counts of a real one, and three models that forecast when they hit.

221 fires, 69 hit: 63 by 24 h, 66 by 48 h, all by 72 h. Of the 152 censored fires 25 are lost before 24 h, 55 before
48 h and all before 72 h. No two fires hit at the same time, so that 2,346 pairs of hits can be compared.
"""

from __future__ import annotations

import json
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.store.keyed import writing

SEED = 20260801
HORIZONS = (12, 24, 48, 72)
HITS = ((63, 0.3, 24.0), (3, 24.5, 48.0), (3, 48.5, 72.0))  # how many, between which hours
CENSORED = ((25, 1.0, 23.9), (30, 24.0, 47.9), (97, 48.0, 66.99))


def write_demo(folder: Path) -> Path:
    """The cohort, the models' probabilities in three formats, and the case file in a folder; the case file."""
    outcomes, models = cohort()
    with writing(folder / "outcomes.csv") as temporary:
        outcomes.to_csv(temporary, index=False)
    with writing(folder / "steady.csv") as temporary:
        models["steady"].to_csv(temporary, index=False)
    with writing(folder / "hedging.parquet") as temporary:
        models["hedging"].to_parquet(temporary, index=False)
    with writing(folder / "unordered.jsonl") as temporary:
        lines = [json.dumps(record) for record in models["unordered"].to_dict("records")]
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    case = folder / "threat.yaml"
    with as_file(files("configs") / "cases" / "threat.yaml") as shipped, writing(case) as temporary:
        shutil.copyfile(shipped, temporary)
    return case


def cohort() -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """What became of the fires, and what each model said: `unordered` takes its 12 h column from another source."""
    rng = np.random.default_rng(SEED)
    hits, censored = (np.concatenate([_times(*each) for each in groups]) for groups in (HITS, CENSORED))
    order = rng.permutation(len(hits) + len(censored))
    event = np.repeat([1, 0], [len(hits), len(censored)])[order]
    time = np.concatenate([hits, censored])[order]
    fires = [f"F{number:03d}" for number in range(1, len(order) + 1)]
    hidden = np.where(event == 1, time, time + rng.exponential(150, len(time)))  # when the fire would have hit
    steady, hedging, other = (
        _probabilities(hidden * factor * rng.lognormal(0, noise, len(time)))
        for factor, noise in ((1.0, 0.45), (0.35, 0.8), (1.0, 0.6))
    )
    tables = {
        "steady": steady,
        "hedging": 0.1 + 0.8 * hedging,
        "unordered": np.column_stack([other[:, 0], steady[:, 1:]]),
    }
    columns = [f"prob_{each}h" for each in HORIZONS]
    models = {
        name: pd.DataFrame(values.round(4), columns=columns).assign(fire_id=fires)[["fire_id", *columns]]
        for name, values in tables.items()
    }
    return pd.DataFrame({"fire_id": fires, "time_to_hit": time, "event": event}), models


def _times(count: int, first: float, last: float) -> np.ndarray:
    """Different times of the first to the last hour, denser at the start."""
    spread: np.ndarray = first + (last - first) * np.linspace(0, 1, count) ** 1.3
    return spread.round(3)


def _probabilities(median: np.ndarray) -> np.ndarray:
    """The chance of a hit by each horizon, one half at the median time."""
    chance: np.ndarray = 1 - 0.5 ** (np.array(HORIZONS) / median[:, None])
    return chance
