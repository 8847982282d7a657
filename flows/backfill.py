"""Backfill: score a range of cycles, doing only what the history lacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from prefect import flow
from prefect.states import Completed
from pydantic import Field

from configs.case import read_case
from flows.again import take_up
from flows.evaluate import evaluate
from metrics.errors import BadInput, BadParameter, FirecardError
from tasks.publish import told
from tasks.record import FOLDER
from tasks.store import history


@flow(
    name="backfill",
    flow_run_name="backfill-{case_file.stem}-{first:%Y%m%dT%H}-{last:%Y%m%dT%H}",
    persist_result=False,
    on_crashed=[take_up],
)
def backfill(
    case_file: Path,
    first: datetime,
    last: datetime,
    every: Annotated[float, Field(gt=0)] = 24.0,
    out: Path = Path("scorecards"),
    recalculate: bool = False,
) -> dict[str, str]:
    """What became of each cycle: done, kept (it was there), or why not. One bad cycle does not stop the rest.

    Args:
        case_file: The case file (YAML).
        first: The first cycle, in UTC.
        last: The last cycle, in UTC.
        every: Hours from cycle to cycle.
        out: Where cards and history go.
        recalculate: Score all of them again.
    """
    first, last = (each if each.tzinfo else each.replace(tzinfo=UTC) for each in (first, last))
    period = f"--param first={first:%Y-%m-%dT%H:%M}Z --param last={last:%Y-%m-%dT%H:%M}Z --param every={every:g}"
    with told(case_file, f"prefect deployment run backfill/backfill {period}"):
        case = read_case(case_file)
        if last < first:
            raise BadParameter(f"the last cycle {last:%Y-%m-%dT%H} is before the first {first:%Y-%m-%dT%H}")
    count = int((last - first) / timedelta(hours=every)) + 1
    ended: dict[str, str] = {}
    for cycle in (first + timedelta(hours=every * number) for number in range(count)):
        name = f"{cycle:%Y-%m-%dT%H}"
        missing = [
            model.name
            for model in case.models
            if recalculate or not history.has(out / FOLDER, case.id, model.name, cycle, case.schemes)
        ]
        if not missing:
            ended[name] = "kept"
            continue
        try:
            outcomes = evaluate(case_file, cycle, models=missing, out=out, recalculate=recalculate)
            problems = [each.problem for each in outcomes if each.problem]
            ended[name] = "; ".join(problems) if problems else "done"
        except FirecardError as error:
            ended[name] = str(error)
    bad = [f"{name}: {said}" for name, said in ended.items() if said not in ("done", "kept")]
    if len(bad) == len(ended):
        raise BadInput("\n".join(bad))
    if bad:
        state: Any = Completed(name="Partial", message="\n".join(bad)[:2000], data=ended)
        return state  # type: ignore[no-any-return]  # Prefect unwraps it for the caller
    return ended
