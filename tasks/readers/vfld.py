"""A model at stations as HARP and the HIRLAM Monitor have it, `vfld<MODEL>YYYYMMDDHHLL`: see `harp`.

The parameter FI, if there, is the height of the model's ground (m).
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from metrics.errors import BadInput
from tasks.readers import harp
from tasks.readers.formats import Head, StationWishes

WHAT = "a vfld file (station, lat, lon and the parameters)"
BEFORE = 3
LEADS = (2, 3)  # digits


def recognises(head: Head) -> bool:
    """By its first lines, and by rows without an elevation."""
    return harp.looks_right(head, BEFORE, "vfld")


def read_forecasts(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a station: model, station, lat, lon, cycle, valid_time, and the variables in the unit kept for them."""
    model, cycle, lead = _times(path)
    surface = harp.read_surface(path, BEFORE, WHAT)
    frame = harp.frame_of(surface).assign(model=model, cycle=cycle, valid_time=cycle + lead, height=harp.WIND_HEIGHT)
    if "FI" in surface.parameters:
        frame["elevation"] = surface.measured(BEFORE + surface.parameters.index("FI"), "FI")
    return frame.assign(**harp.variables_of(surface, wishes.variables, wishes.names))


def _times(path: Path) -> tuple[str, pd.Timestamp, pd.Timedelta]:
    """The model, the cycle and the lead out of the name; a model's own name may end in digits."""
    for digits in LEADS:
        found = re.fullmatch(rf"vfld(.+?)(\d{{10}})(\d{{{digits}}})", path.name, re.ASCII)
        cycle = harp.moment(found[2]) if found else None
        if found and cycle is not None:
            return found[1], cycle, pd.Timedelta(hours=int(found[3]))
    raise BadInput(
        f"{path}: its name must say the model, the cycle and the lead, vfld<MODEL>YYYYMMDDHHLL, such as"
        " vfldAROME201902170003: nothing in the file does"
    )
