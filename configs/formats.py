"""The formats that weather data may come in, a line each; what `source:` in a case may say.

A reader is one file, named here and imported on use: its `recognises` tells its files from others, and it reads what
the format `holds` (see `tasks.readers.formats`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

Holds: TypeAlias = Literal["grid", "forecasts", "pairs", "stations"]
"""A model on a grid, a model at stations, forecasts beside observations, or observations at stations."""

MODEL: tuple[Holds, ...] = ("grid", "forecasts", "pairs")
OBSERVED: tuple[Holds, ...] = ("stations",)


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its name in a case, what it is called, what it holds, and the module that reads it."""

    name: str
    title: str
    holds: Holds
    reader: str


FORMATS = {
    each.name: each
    for each in (
        Format("wrf", "WRF output", "grid", "tasks.readers.wrf"),
        Format("cf", "gridded output by CF conventions", "grid", "tasks.readers.cf"),
        Format("vfld", "HARP's forecasts at stations (vfld)", "forecasts", "tasks.readers.vfld"),
        Format("firebench_model", "a model in FireBench's standard file", "forecasts", "tasks.readers.firebench_model"),
        Format("pairs", "table of matched pairs", "pairs", "tasks.readers.pairs"),
        Format("met", "MET's matched pairs (MPR)", "pairs", "tasks.readers.met"),
        Format("verif", "verif's text", "pairs", "tasks.readers.verif"),
        Format("stations", "table of station reports", "stations", "tasks.readers.station_table"),
        Format("vobs", "HARP's observations (vobs)", "stations", "tasks.readers.vobs"),
        Format("station_netcdf", "station reports in NetCDF", "stations", "tasks.readers.station_netcdf"),
        Format("metar", "METAR bulletins", "stations", "tasks.readers.metar"),
        Format("synoptic", "Synoptic Data time series in JSON", "stations", "tasks.readers.synoptic"),
        Format("asos", "ASOS reports of the Iowa Environmental Mesonet", "stations", "tasks.readers.asos"),
        Format("ncss", "station reports of a THREDDS server in CSV", "stations", "tasks.readers.ncss"),
        Format("windninja", "WindNinja station file", "stations", "tasks.readers.windninja"),
        Format("firebench", "FireBench's standard file", "stations", "tasks.readers.firebench"),
    )
}


def names(holds: Collection[Holds]) -> tuple[str, ...]:
    """What `source:` may say where data of these kinds belongs."""
    return tuple(name for name, each in FORMATS.items() if each.holds in holds)
