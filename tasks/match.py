"""Match: bring forecast and observation onto the same points, and keep account of every candidate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import task
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.context import TaskRunContext

from configs.case import Case
from configs.paths import artifact_key
from tasks.compute import Session
from tasks.families import FAMILIES
from tasks.families.family import FoundFiles, Progress, Work
from tasks.find import retry_io
from tasks.store.keyed import Store

FEW = 4  # files that are not worth a progress bar


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
    told = _progress(case, found)
    work = Work(session, told) if session else Work(progress=told)
    return store.keep("pairs", key, lambda path: family.match(case, found, path, work))


def _progress(case: Case, found: FoundFiles) -> Progress:
    """Tells the Prefect UI how far the matching is, in about ten steps."""
    key = f"matching-{artifact_key(case.id, found.model)}"
    text = f"{case.id}, {found.model} ({found.family}), cycle {found.cycle:%Y-%m-%dT%H}"
    made: list[Any] = []

    def tell(done: int, total: int) -> None:
        if total < FEW or TaskRunContext.get() is None:
            return
        share = 100.0 * done / total
        if not made:
            made.append(create_progress_artifact(share, key=key, description=text))
        elif done == total or done % max(1, total // 10) == 0:
            update_progress_artifact(made[0], share, description=f"{text}: {done} of {total} files")

    return tell
