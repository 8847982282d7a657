"""Reduce: pairs into sums that add."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.case import Case
from tasks.match import read_matched
from tasks.reducing.sample import night
from tasks.reducing.table import binding, reduce_night, write_sums
from tasks.store.keyed import Store


@task(task_run_name="reduce-{model}", cache_policy=NO_CACHE)
def reduce_pairs(case: Case, model: str, cycle: datetime, pairs: Path, store: Store) -> Path:
    """The sums of every KPI by station, over the window and by lead, as a file named by what went into it."""
    bindings = [binding(each) for each in case.instances.values()]

    def make(path: Path) -> None:
        matched = read_matched(pairs)
        arrays = night(matched.table, matched.offered, cycle)
        labels = {"case": case.id, "model": model, "cycle": f"{cycle:%Y-%m-%dT%H:%MZ}"}
        write_sums(path, reduce_night(arrays, case.instances.values()), arrays.stations, labels)

    return store.keep("sums", (pairs.name, bindings, case.id, model, cycle), make)
