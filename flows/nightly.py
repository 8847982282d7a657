"""Nightly: decide the cycle once, wait for what is late, score what is there and say what is missing (D-72)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from prefect import flow
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from pydantic import Field

from configs import paths
from configs.case import Case, Data, read_case
from configs.paths import artifact_key
from flows.evaluate import Outcome, evaluate
from metrics.errors import MissingInput
from tasks.store.digests import state as state_of


@flow(name="nightly", flow_run_name="nightly-{case_file.stem}", persist_result=False)
def nightly(
    case_file: Path,
    out: Path = Path("scorecards"),
    observation_delay: Annotated[float, Field(ge=0)] = 3.0,
    wait: Annotated[float, Field(ge=0)] = 2.0,
    settle: Annotated[float, Field(ge=0)] = 60.0,
    poll: Annotated[float, Field(gt=0)] = 30.0,
    now: datetime | None = None,
) -> list[Outcome]:
    """Score the newest cycle whose window and observations are past; wait for its files, then take what is there.

    Args:
        case_file: The case file (YAML); its paths hold {cycle:%Y%m%d%H} or the like.
        out: Where cards and history go.
        observation_delay: Hours after the window's end until the observations are in.
        wait: Hours to wait for files that are late.
        settle: Seconds that a file must rest before it is read.
        poll: Seconds between two looks at the files.
        now: Pretend that it is this time (UTC).
    """
    case = read_case(case_file)
    cycle = due_cycle(case, now or datetime.now(UTC), observation_delay)
    watch = _wait_for_files(case, cycle, wait, settle, poll)
    result: list[Outcome] = evaluate(case_file, cycle, out=out, leave_out=[str(each) for each in watch.growing])
    return result


def due_cycle(case: Case, now: datetime, delay: float) -> datetime:
    """The newest cycle that has files and whose window, and the observations' delay after it, are past."""
    if case.cycle is not None:
        return case.cycle
    found = sorted({each for data in _sources(case) for each in paths.cycles(data.path, case.root)}, reverse=True)
    due = [each for each in found if case.window.bounds(each)[1] + timedelta(hours=delay) <= now]
    if due:
        return due[0]
    if not found:
        raise MissingInput(f"{case.path}: no file names a cycle yet (below {case.root})")
    ready = case.window.bounds(found[-1])[1] + timedelta(hours=delay)
    raise MissingInput(f"{case.path}: no cycle is due before {ready:%Y-%m-%dT%H:%MZ}: its observations are not in")


def _sources(case: Case) -> list[Data]:
    return [data for model in case.models for data in model.data.values()]


@dataclass(frozen=True, slots=True)
class Watch:
    """What there is of a cycle: sides without a file, and files that still change."""

    absent: tuple[str, ...]
    growing: tuple[Path, ...]
    state: dict[Path, tuple[int, int]]

    @property
    def complete(self) -> bool:
        return not self.absent and not self.growing


def look(case: Case, cycle: datetime, settle: float, before: Watch | None) -> Watch:
    """One look at the files of a cycle; a file rests if it is old enough, or as it was at the look before."""
    sides: Iterable[tuple[str, str]] = [
        *((f"{model.name} ({family})", data.path) for model in case.models for family, data in model.data.items()),
        *((f"observations ({family})", data.path) for family, data in case.observations.items()),
        *(
            (f"table of stations ({family})", data.options["stations"])
            for family, data in case.observations.items()
            if data.options.get("stations")
        ),
    ]
    absent: list[str] = []
    state: dict[Path, tuple[int, int]] = {}
    for name, path in sides:
        found = paths.files(path, case.root, cycle)
        if not found:
            absent.append(name)
        for each in found:
            state[each] = state_of(each)
    young = time.time_ns() - int(settle * 1e9)
    growing = [
        path
        for path, seen in state.items()
        if seen[1] > young and (before is None or settle == 0 or before.state.get(path) != seen)
    ]
    return Watch(tuple(absent), tuple(growing), state)


def _wait_for_files(case: Case, cycle: datetime, wait: float, settle: float, poll: float) -> Watch:
    """Look until the cycle is complete or the limit is reached; the progress is an artifact."""
    deadline = time.monotonic() + wait * 3600
    watch = look(case, cycle, settle, None)
    progress: Any = None
    while not watch.complete and time.monotonic() < deadline:
        waited = 100 * (1 - (deadline - time.monotonic()) / max(wait * 3600, 1e-9))
        text = f"{case.id} {cycle:%Y-%m-%dT%H}: waiting for {_words(watch)}"
        if progress is None:
            progress = create_progress_artifact(waited, key=f"waiting-{artifact_key(case.id)}", description=text)
        else:
            update_progress_artifact(progress, waited, description=text)
        time.sleep(min(poll, max(0.0, deadline - time.monotonic())))
        watch = look(case, cycle, settle, watch)
    if progress is not None:
        ended = "complete" if watch.complete else f"goes on without {_words(watch)}"
        update_progress_artifact(progress, 100.0, description=f"{case.id} {cycle:%Y-%m-%dT%H}: {ended}")
    return watch


def _words(watch: Watch) -> str:
    parts = [*watch.absent, *(f"{path.name} (still growing)" for path in watch.growing)]
    return ", ".join(parts[:6]) + (f" and {len(parts) - 6} more" if len(parts) > 6 else "")
