"""Evaluate: find, match, reduce, score and publish every model of a case for one cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from prefect import flow
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner

from configs.case import read_case
from flows.again import take_up
from metrics.errors import BadInput, FirecardError
from metrics.scoring.scorecard import ScoreCard
from tasks.compute import session
from tasks.find import find_files
from tasks.match import match_model
from tasks.publish import publish_cards, repeat_command, report_problem, told
from tasks.rank import rank_models
from tasks.record import record_night
from tasks.reduce import reduce_pairs
from tasks.score import score_model
from tasks.store.keyed import Store, sweep

# A task takes the future of what it is given as well, which Prefect's own types do not say.
Future: TypeAlias = Any
Futures: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one model: its cards and their folders, or why there are none."""

    model: str
    cards: tuple[ScoreCard, ...] = ()
    folders: tuple[Path, ...] = ()
    problem: str = ""

    @property
    def partial(self) -> bool:
        return bool(self.problem) or any(card.partial for card in self.cards)


@flow(
    name="evaluate",
    flow_run_name="{case_file.stem}-{cycle:%Y%m%dT%H}",
    task_runner=ThreadPoolTaskRunner(max_workers=4),  # type: ignore[arg-type]  # Prefect's own runner, Prefect's own types
    validate_parameters=True,
    persist_result=False,
    on_crashed=[take_up],
)
def evaluate(
    case_file: Path,
    cycle: datetime,
    models: list[str] | None = None,
    schemes: list[str] | None = None,
    out: Path = Path("scorecards"),
    recalculate: bool = False,
    dask: str | None = None,
    leave_out: list[str] | None = None,
) -> list[Outcome]:
    """Score cards of every model of a case for one cycle; a model that fails does not take the others with it.

    Args:
        case_file: The case file (YAML).
        cycle: The initialisation to score, in UTC.
        models: Only these models; all of the case where empty.
        schemes: Only these schemes; all of the case where empty.
        out: Where cards and history go.
        recalculate: Make every stage anew, whatever is already there.
        dask: Where to compute: auto, loop, threads, processes, or tcp://host:port of a Dask scheduler. Where empty,
            FIRECARD_DASK, else what the case says, else auto.
        leave_out: Files not to read, because they still grow.
    """
    cycle = cycle if cycle.tzinfo else cycle.replace(tzinfo=UTC)
    with told(case_file, repeat_command(case_file, cycle, out)):
        case = read_case(case_file)
        chosen = [case.model(name) for name in models] if models else list(case.models)
        letters = [case.scheme(letter).letter for letter in schemes] if schemes else list(case.schemes)
        sweep(out)
        store = Store(out / ".store", recalculate)
        stages: dict[str, list[Future]] = {}
        matched: Futures = {}
        reduced: Futures = {}
        with session(dask, case.dask) as compute:
            for model in chosen:
                families = [each for each in case.families if each in model.data]
                found: Futures = {
                    each: find_files.submit(case, model, each, cycle, leave_out or []) for each in families
                }
                pairs: Futures = {each: match_model.submit(case, found[each], store, compute) for each in families}
                sums: Futures = {
                    each: reduce_pairs.submit(case, model.name, each, cycle, pairs[each], store) for each in families
                }
                cards: Future = score_model.submit(case, model.name, cycle, sums, letters)
                folders: Future = publish_cards.submit(case, model.name, cycle, found, pairs, sums, cards, out)
                kept: Future = record_night.submit(case, model.name, cycle, pairs, sums, folders, out)
                matched[model.name], reduced[model.name] = pairs, sums
                stages[model.name] = [*found.values(), *pairs.values(), *sums.values(), cards, folders, kept]
            outcomes = [_outcome(name, *futures) for name, futures in stages.items()]
        for each in outcomes:
            if each.problem:
                report_problem(case, each.model, cycle, each.problem, out)
        good = {each.model: each.cards for each in outcomes if not each.problem}
        if good and len(chosen) > 1:
            bad = {each.model: each.problem for each in outcomes if each.problem}
            pairs, sums = ({name: files[name] for name in good} for files in (matched, reduced))
            rank_models(case, cycle, good, pairs, sums, bad, out)
    return ended(outcomes)


def ended(outcomes: list[Outcome], missing: Sequence[str] = ()) -> list[Outcome]:
    """The outcomes, in a state that says what they are: failed, partial or complete; `missing` is what never came."""
    if all(each.problem for each in outcomes):
        raise BadInput("\n".join(each.problem for each in outcomes))
    partial = [each.model for each in outcomes if each.partial]
    said = [f"partial or failed: {', '.join(partial)}"] if partial else []
    said += [f"without {', '.join(missing)}"] if missing else []
    if not said:
        return outcomes
    state: Any = Completed(name="Partial", message="; ".join(said)[:2000], data=outcomes)
    return state  # type: ignore[no-any-return]  # Prefect unwraps it for the caller


def _outcome(model: str, *futures: Future) -> Outcome:
    """The model's cards, or the first error on its way."""
    for future in futures:
        error = future.result(raise_on_failure=False)
        if isinstance(error, Exception):
            return Outcome(model, problem=f"model {model!r}: {_said(error)}")
    *_, cards, folders, _kept = (future.result() for future in futures)
    return Outcome(model, tuple(cards), tuple(folders))


def _said(error: Exception) -> str:
    """What the error says to a user; one that firecard did not raise on purpose is named by its kind."""
    said = str(error) if isinstance(error, FirecardError) else f"{type(error).__name__}: {error}"
    return " ".join((said, *(f"({note})" for note in getattr(error, "__notes__", ()))))
