"""Match: bring forecast and observation onto the same points, and keep account of every candidate."""

from __future__ import annotations

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.case import Case
from tasks.compute import Session
from tasks.families import FAMILIES
from tasks.families.family import FoundFiles, Work
from tasks.find import retry_io
from tasks.store.keyed import Store


@task(
    task_run_name="match-{found.model}-{found.family}",
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[1, 5],
    retry_condition_fn=retry_io,
)
def match_model(case: Case, found: FoundFiles, store: Store, session: Session | None = None) -> Path:
    """The model's candidates with their outcome, as a file named by what went into it."""
    family = FAMILIES[found.family]
    digests = [each.sha256 for each in found.inputs]
    key = (family.name, digests, family.match_key(case, found))
    work = Work(session) if session else Work()
    return store.keep("pairs", key, lambda path: family.match(case, found, path, work))
