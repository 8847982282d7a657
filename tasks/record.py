"""Record: pairs, sums and card of a night into the history."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.case import Case
from tasks.find import retry_io
from tasks.store.history import record

FOLDER = "history"


@task(
    task_run_name="record-{model}",
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[1, 5],
    retry_condition_fn=retry_io,
)
def record_night(
    case: Case,
    model: str,
    cycle: datetime,
    pairs: Mapping[str, Path],
    sums: Mapping[str, Path],
    folders: Sequence[Path],
    out: Path,
) -> Path:
    """The night's files in the history; a rerun replaces its own. A run of one scheme keeps the cards of the others."""
    published = {folder / "card.json" for folder in folders}
    others = (out.glob(f"{case.id}-[A-Z]/{cycle:%Y-%m-%dT%H}/{folders[0].name}/card.json")) if folders else ()
    cards = [json.loads(path.read_bytes()) for path in sorted({*published, *others})]
    return record(out / FOLDER, case.id, model, cycle, pairs, sums, cards)
