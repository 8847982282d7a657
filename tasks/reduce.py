"""Reduce: pairs into sums that add."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.case import Case
from tasks.families import FAMILIES
from tasks.find import retry_io
from tasks.store.keyed import Store


@task(
    task_run_name="reduce-{model}-{family}",
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[1, 5],
    retry_condition_fn=retry_io,
)
def reduce_pairs(case: Case, model: str, family: str, cycle: datetime, pairs: Path, store: Store) -> Path:
    """What the KPIs of a family need of the pairs, as a file named by what went into it."""
    chosen = FAMILIES[family]
    key = (family, pairs.name, chosen.reduce_key(case), case.id, model, cycle)
    return store.keep("sums", key, lambda path: chosen.reduce(case, model, cycle, pairs, path))
