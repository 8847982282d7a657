"""A model's weather at stations in FireBench's standard file: the same groups as the observations, see `firebench`.

Nothing in such a file tells it from one of observations, nor which cycle it is of: the case says both, with
`source: firebench_model` and `cycle:`. A model need not repeat where the stations stand.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from metrics.errors import BadInput
from tasks.readers.firebench import reports_of
from tasks.readers.formats import Head, StationWishes


def recognises(_head: Head) -> bool:
    """Never: a file of the standard is taken for observations unless the case says otherwise."""
    return False


def read_forecasts(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a station and valid time: station, lat, lon, cycle, valid_time, height, and the variables."""
    if wishes.around is None:
        raise BadInput(f"{path}: it does not say which cycle it is of: state `cycle:` in the case, or --cycle")
    table = reports_of(path, wishes, places_needed=False).rename(columns={"time": "valid_time"})
    cycle = pd.Timestamp(wishes.around)
    return table.drop(columns=["network", "elevation", "variable_direction"]).assign(cycle=cycle)
