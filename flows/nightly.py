"""Nightly: decide the cycle once, wait for what is late, score what is there and say what is missing (D-72)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from prefect import flow
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext, get_run_context
from pydantic import Field

from configs import paths
from configs.case import Case, Data, read_case
from configs.paths import artifact_key
from flows.again import take_up
from flows.evaluate import Outcome, ended, evaluate
from metrics.errors import MissingInput
from tasks.publish import told
from tasks.store.digests import state as state_of


@flow(name="nightly", flow_run_name="nightly-{case_file.stem}", persist_result=False, on_crashed=[take_up])
def nightly(
    case_file: Path,
    out: Path = Path("scorecards"),
    observation_delay: Annotated[float, Field(ge=0)] = 3.0,
    wait: Annotated[float, Field(ge=0)] = 2.0,
    settle: Annotated[float, Field(ge=0)] = 60.0,
    poll: Annotated[float, Field(gt=0)] = 30.0,
    every: Annotated[float, Field(gt=0)] | None = None,
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
        every: Hours from cycle to cycle. The night then waits for the cycle that should be there, though no model has a
            file of it yet; where empty, it takes the newest of which there is a file.
        now: Pretend that it is this time (UTC).
    """
    with told(case_file, "prefect deployment run nightly/nightly"):
        case = read_case(case_file)
        cycle = due_cycle(case, now or datetime.now(UTC), observation_delay, every)
        _name_run(f"nightly-{case_file.stem}-{cycle:%Y%m%dT%H}")
        watch = _wait_for_files(case, cycle, wait, settle, poll)
    outcomes = evaluate(case_file, cycle, out=out, leave_out=[str(each) for each in watch.growing])
    return ended(outcomes, watch.missing)


def _name_run(name: str) -> None:
    """Call the run by its cycle, which nobody knows before it has begun."""
    context = get_run_context()
    assert isinstance(context, FlowRunContext)
    assert context.flow_run
    with get_client(sync_client=True) as client:
        client.update_flow_run(context.flow_run.id, name=name)


def due_cycle(case: Case, now: datetime, delay: float, every: float | None = None) -> datetime:
    """The newest cycle that has files, or should have, and whose window and the observations' delay are past."""
    if case.cycle is not None:
        return case.cycle

    def due(cycle: datetime) -> bool:
        return case.window.bounds(cycle)[1] + timedelta(hours=delay) <= now

    found = sorted({each for data in _sources(case) for each in paths.cycles(data.path, case.root)}, reverse=True)
    newest = next((each for each in found if due(each)), None)
    if newest is not None:
        while every is not None and due(newest + timedelta(hours=every)):
            newest += timedelta(hours=every)
        return newest
    if not found:
        raise MissingInput(f"{case.path}: no file names a cycle yet (below {case.root})")
    ready = case.window.bounds(found[-1])[1] + timedelta(hours=delay)
    raise MissingInput(f"{case.path}: no cycle is due before {ready:%Y-%m-%dT%H:%MZ}: its observations are not in")


def _sources(case: Case) -> list[Data]:
    return [data for model in case.models for data in model.data.values()]


@dataclass(frozen=True, slots=True)
class Watch:
    """What there is of a cycle: sides that lack files, and files that still change."""

    absent: tuple[str, ...]
    growing: tuple[Path, ...]
    state: dict[Path, tuple[int, int]]

    @property
    def complete(self) -> bool:
        return not self.absent and not self.growing

    @property
    def missing(self) -> list[str]:
        """What a reader should know to be missing."""
        return [*self.absent, *(f"{path.name} (still growing)" for path in self.growing)]


def _sides(case: Case) -> list[tuple[str, str]]:
    """Everything that a cycle needs: its name and its path."""
    return [
        *((f"{model.name} ({family})", data.path) for model in case.models for family, data in model.data.items()),
        *((f"observations ({family})", data.path) for family, data in case.observations.items()),
        *(
            (f"table of stations ({family})", data.options["stations"])
            for family, data in case.observations.items()
            if data.options.get("stations")
        ),
    ]


def usual_files(case: Case, cycle: datetime) -> dict[str, int]:
    """How many files each side had for its cycle before this one: so many are expected now."""
    usual = {}
    for name, path in _sides(case):
        earlier = [each for each in paths.cycles(path, case.root) if each < cycle]
        if earlier:
            usual[name] = len(paths.files(path, case.root, earlier[-1]))
    return usual


def look(case: Case, cycle: datetime, settle: float, before: Watch | None, usual: Mapping[str, int] = {}) -> Watch:
    """One look at the files of a cycle; a file rests if it is old enough, or as it was at the look before."""
    absent: list[str] = []
    state: dict[Path, tuple[int, int]] = {}
    for name, path in _sides(case):
        found = paths.files(path, case.root, cycle)
        if not found:
            absent.append(name)
        elif len(found) < usual.get(name, 0):
            absent.append(f"{name}: {usual[name] - len(found)} of {usual[name]} files")
        for each in found:
            with suppress(FileNotFoundError):  # gone since: a writer may rename it into its place
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
    usual = usual_files(case, cycle)
    watch = look(case, cycle, settle, None, usual)
    progress: Any = None
    while not watch.complete:
        left = deadline - time.monotonic()
        waited = 100 * (1 - left / (wait * 3600)) if left > 0 else 100.0
        said = f"waiting for {_words(watch)}" if left > 0 else f"goes on without {_words(watch)}"
        progress = _tell(progress, case, cycle, waited, said)
        if left <= 0:
            return watch
        time.sleep(min(poll, left))
        watch = look(case, cycle, settle, watch, usual)
    if progress is not None:
        _tell(progress, case, cycle, 100.0, "complete")
    return watch


def _tell(progress: Any, case: Case, cycle: datetime, share: float, said: str) -> Any:
    """How long the night has waited, and for what, as an artifact."""
    text = f"{case.id} {cycle:%Y-%m-%dT%H}: {said}"
    if progress is None:
        return create_progress_artifact(share, key=f"waiting-{artifact_key(case.id)}", description=text)
    update_progress_artifact(progress, share, description=text)
    return progress


def _words(watch: Watch) -> str:
    parts = watch.missing
    return ", ".join(parts[:6]) + (f" and {len(parts) - 6} more" if len(parts) > 6 else "")
