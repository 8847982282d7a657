"""Observations as HARP and the HIRLAM Monitor have them, `vobsYYYYMMDDHH`: see `harp`.

Positions come with the reports and are rounded now so, now so: a station may seem to move a little from file to file.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from metrics.errors import BadInput
from tasks.readers import harp
from tasks.readers.formats import Head, StationWishes

WHAT = "a vobs file (station, lat, lon, elevation and the parameters)"
BEFORE = 4
POSITIONS_VARY = True


def recognises(head: Head) -> bool:
    """By its first lines, and by rows with an elevation."""
    return harp.looks_right(head, BEFORE, "vobs")


def read_reports(path: Path, wishes: StationWishes) -> pd.DataFrame:
    """A row a station: station, lat, lon, elevation, time, and the variables in the unit kept for them."""
    time = _time(path)
    surface = harp.read_surface(path, BEFORE, WHAT)
    frame = harp.frame_of(surface).assign(elevation=surface.measured(3, "elevation"), time=time)
    return frame.assign(**harp.variables_of(surface, wishes.variables, wishes.names), variable_direction=False)


def _time(path: Path) -> pd.Timestamp:
    found = re.fullmatch(r"vobs(\d{10})", path.name, re.ASCII)
    time = harp.moment(found[1]) if found else None
    if time is None:
        raise BadInput(
            f"{path}: its name must say the time, vobsYYYYMMDDHH, such as vobs2019021700: nothing in the file does"
        )
    return time
