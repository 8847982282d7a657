"""Sums as one long table: a row per unit, instance and slice, so that nights, regions and leads add up later.

Columns: unit, instance, params_hash, slice (`all` or `lead`), bin (the lead in whole hours), expected, filtered, then
every sum by name. What belongs to an instance as a whole stands in the file's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from configs.case import Instance
from metrics.kpis.kpi import Points, Reduced, Sample
from metrics.sums import Array, Sums
from metrics.variables import Variable
from tasks.matching.clock import Step, step_of
from tasks.reducing.sample import Night
from tasks.store.keyed import digest_of

META = b"firecard"


@dataclass(frozen=True, slots=True)
class Binding:
    """What of an instance the sums depend on; weights and normalisation are not among it."""

    instance: str
    kpi: str
    variable: Variable
    parameters: Mapping[str, float | None]
    window: Any


def binding(instance: Instance) -> Binding:
    return Binding(instance.id, instance.kpi.id, instance.variable, instance.parameters, instance.window)


@dataclass(frozen=True, slots=True)
class Slice:
    """The sums of one instance over one set of valid times."""

    name: str
    bin: int
    sums: Sums
    expected: Array
    filtered: Array


@dataclass(frozen=True, slots=True)
class InstanceSums:
    """Everything that reduce knows of one instance."""

    instance: str
    params_hash: str
    steps: int
    step_hours: float | None
    offered: bool
    fault: str
    slices: tuple[Slice, ...]


def reduce_night(night: Night, instances: Iterable[Instance]) -> list[InstanceSums]:
    """The sums of every instance, over the whole window and by lead."""
    return [_reduce(night, each) for each in instances]


def _reduce(night: Night, instance: Instance) -> InstanceSums:
    kpi, window = instance.kpi, instance.window
    keep = night.inside(window)
    own = [each for each, inside in zip(night.valid, keep, strict=True) if inside]
    step = step_of(own, window, night.cycle)
    needed = ("wind_speed", "wind_direction") if kpi.kind == "wind" else (instance.variable.name,)
    offered = all(name in night.offered for name in needed)
    fault = _fault(kpi.in_hours, step, bool(own))
    observed = all(name in night.observed for name in needed)
    slices: list[Slice] = []
    if offered and observed and not fault:
        hours = np.floor(night.lead_hours()).astype(int)
        slices.append(_slice("all", 0, night.select(keep, step.hours), instance))
        slices += [
            _slice("lead", int(lead), night.select(keep & (hours == lead), step.hours), instance)
            for lead in np.unique(hours[keep])
        ]
    return InstanceSums(
        instance=instance.id,
        params_hash=digest_of(binding(instance))[:16],
        steps=window.steps(night.cycle, step.hours, step.anchor or night.cycle) if step.hours else len(own),
        step_hours=step.hours,
        offered=offered,
        fault=fault,
        slices=tuple(slices),
    )


def _fault(in_hours: bool, step: Step, any_time: bool) -> str:
    """Why a KPI in hours cannot be made of these valid times (D-82)."""
    if not any_time:
        return "no valid time in the window"
    if in_hours and step.hours is None:
        return "the time step is unknown: one valid time only, and the case states none"
    if in_hours and not step.uniform:
        spacings = " and ".join(f"{each:g} h" for each in step.spacings[:3])
        return f"the model's step is not uniform in the window ({spacings}); state `window.step`"
    return ""


def _slice(name: str, bin_: int, sample: Sample, instance: Instance) -> Slice:
    points = instance.kpi.points(sample, instance.variable.name, instance.parameters)
    observed = np.isfinite(sample.observed[instance.variable.name]).sum(axis=-1)
    expected = points.expected.sum(axis=-1)
    return Slice(name, bin_, _sums(instance, points, sample.step_hours), expected, observed - expected)


def _sums(instance: Instance, points: Points, step_hours: float | None) -> Sums:
    extra: dict[str, Any] = {}
    if "threshold" in instance.parameters:
        extra = {"threshold": instance.parameters["threshold"], "step_hours": step_hours or 1.0}
    made: Sums = instance.kpi.sums.of(points.forecast, points.observed, dim=-1, **extra)  # type: ignore[attr-defined]
    return made


def write_sums(
    path: Path, reduced: Iterable[InstanceSums], stations: tuple[str, ...], labels: Mapping[str, str]
) -> None:
    """The long table; `labels` (case, model, cycle) stand in every row."""
    reduced = list(reduced)
    names = sorted({name for each in reduced for part in each.slices for name in part.sums.names()})
    columns: dict[str, list[Any]] = {
        name: []
        for name in (*labels, "unit", "instance", "params_hash", "slice", "bin", "expected", "filtered", *names)
    }
    for each in reduced:
        for part in each.slices:
            count = len(stations)
            sums = part.sums.arrays()
            for name, values in (
                *((name, [value] * count) for name, value in labels.items()),
                ("unit", stations),
                ("instance", [each.instance] * count),
                ("params_hash", [each.params_hash] * count),
                ("slice", [part.name] * count),
                ("bin", [part.bin] * count),
                ("expected", part.expected.astype(float)),
                ("filtered", part.filtered.astype(float)),
                *((name, sums.get(name, [None] * count)) for name in names),
            ):
                columns[name].extend(values)
    meta = {
        each.instance: {
            "steps": each.steps,
            "step_hours": each.step_hours,
            "offered": each.offered,
            "fault": each.fault,
        }
        for each in reduced
    }
    floating = {"expected", "filtered", *names}
    table = pa.table(
        {
            name: pa.array(values, pa.float64() if name in floating else pa.int32() if name == "bin" else pa.string())
            for name, values in columns.items()
        }
    )
    pyarrow.parquet.write_table(
        table.replace_schema_metadata({META: json.dumps(meta, sort_keys=True).encode()}), path, compression="zstd"
    )


def as_reduced(each: InstanceSums, instance: Instance, stations: tuple[str, ...]) -> Reduced:
    """One instance's sums over the whole window, ready to be finished."""
    whole = next((part for part in each.slices if part.name == "all"), None)
    nothing = np.zeros(0)
    return Reduced(
        sums=whole.sums if whole else instance.kpi.sums(*(nothing for _ in instance.kpi.sums.names())),
        expected=whole.expected if whole else nothing,
        units=stations,
        filtered=whole.filtered if whole else nothing,
        steps=each.steps,
        offered=each.offered,
        fault=each.fault,
    )


def read_sums(path: Path, instances: Mapping[str, Instance]) -> dict[str, Reduced]:
    """Each instance's sums over the whole window, ready to be finished."""
    table = pyarrow.parquet.read_table(path)
    meta = json.loads(table.schema.metadata[META])
    frame = table.to_pandas()
    frame = frame[frame["slice"] == "all"]
    result = {}
    for name, instance in instances.items():
        rows = frame[frame["instance"] == name]
        # A sum that no instance of the file has, has no column; then this instance has no row either.
        columns = (rows[each] if each in rows else rows["expected"] for each in instance.kpi.sums.names())
        sums = instance.kpi.sums(*(each.to_numpy(dtype=float) for each in columns))
        result[name] = Reduced(
            sums=sums,
            expected=rows["expected"].to_numpy(dtype=float),
            filtered=rows["filtered"].to_numpy(dtype=float),
            units=tuple(rows["unit"]),
            steps=int(meta[name]["steps"]),
            offered=bool(meta[name]["offered"]),
            fault=str(meta[name]["fault"]),
        )
    return result


def read_table(path: Path) -> pd.DataFrame:
    """The long table as it was written."""
    return pyarrow.parquet.read_table(path).to_pandas()
