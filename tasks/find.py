"""Find: the files of a model for a cycle with their digests; and which cycle there is to score."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from configs import paths
from configs.case import Case, ModelFiles
from metrics.errors import FirecardError, MissingInput
from tasks.store.digests import InputFile, input_file


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """A model's files of one cycle."""

    model: ModelFiles
    cycle: datetime
    files: tuple[InputFile, ...]


def retry_io(_task: object, _run: object, state: State[Any]) -> bool:
    """Try again what a disk or a network may have done; what firecard refuses on purpose is refused again."""
    try:
        state.result()
    except FirecardError:
        return False
    except OSError:
        return True
    return False


@task(
    task_run_name="find-{model.name}",
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[1, 5],
    retry_condition_fn=retry_io,
)
def find_files(case: Case, model: ModelFiles, cycle: datetime) -> FoundFiles:
    """The model's files of this cycle."""
    found = paths.files(model.path, case.root, cycle)
    if not found:
        when = f"{cycle:%Y-%m-%dT%H}"
        raise MissingInput(f"{case.path}: no file matches {model.path!r} for cycle {when} (below {case.root})")
    return FoundFiles(model, cycle, tuple(input_file(path, case.root) for path in found))


def latest_cycle(case: Case) -> datetime:
    """The newest cycle that any model of the case has: by the names of its files, else by what is in them."""
    from tasks.readers.pairs import read_pairs

    named = [cycle for model in case.models for cycle in paths.cycles(model.path, case.root)]
    if named:
        return max(named)
    newest: list[datetime] = []
    problems: list[FirecardError] = []
    for path in sorted(
        {path for model in case.models for path in paths.files(model.path, case.root, datetime.now(UTC))}
    ):
        try:
            newest.append(read_pairs(path, case.variables)["cycle"].max().to_pydatetime())
        except FirecardError as error:
            problems.append(error)
    if newest:
        return max(newest)
    if problems:
        raise problems[0]
    patterns = ", ".join(model.path for model in case.models)
    raise MissingInput(f"{case.path}: no file matches {patterns} (below {case.root})")
