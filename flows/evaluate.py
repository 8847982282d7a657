"""Evaluate: find, match, reduce, score and publish every model of a case for one cycle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from prefect import flow
from prefect.task_runners import ThreadPoolTaskRunner
from pydantic import Field

from configs.case import read_case
from metrics.errors import BadInput, FirecardError
from metrics.scoring.scorecard import ScoreCard
from tasks.find import find_files
from tasks.match import match_model
from tasks.publish import publish_cards
from tasks.reduce import reduce_pairs
from tasks.score import score_model
from tasks.store.keyed import Store

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
)
def evaluate(
    case_file: Annotated[Path, Field(description="The case file (YAML).")],
    cycle: Annotated[datetime, Field(description="The initialisation to score, in UTC.")],
    models: Annotated[list[str] | None, Field(description="Only these models; all of the case where empty.")] = None,
    schemes: Annotated[list[str] | None, Field(description="Only these schemes; all of the case where empty.")] = None,
    out: Annotated[Path, Field(description="Where the cards go.")] = Path("scorecards"),
    recalculate: Annotated[bool, Field(description="Make every stage anew, whatever is already there.")] = False,
) -> list[Outcome]:
    """Score cards of every model of a case for one cycle; a model that fails does not take the others with it."""
    case = read_case(case_file)
    cycle = cycle if cycle.tzinfo else cycle.replace(tzinfo=UTC)
    chosen = [case.model(name) for name in models] if models else list(case.models)
    letters = [case.scheme(letter).letter for letter in schemes] if schemes else list(case.schemes)
    store = Store(out / ".store", recalculate)
    stages: dict[str, list[Future]] = {}
    for model in chosen:
        families = [each for each in case.families if each in model.data]
        found: Futures = {each: find_files.submit(case, model, each, cycle) for each in families}
        pairs: Futures = {each: match_model.submit(case, found[each], store) for each in families}
        sums: Futures = {
            each: reduce_pairs.submit(case, model.name, each, cycle, pairs[each], store) for each in families
        }
        cards: Future = score_model.submit(case, model.name, cycle, sums, letters)
        folders: Future = publish_cards.submit(case, model.name, cycle, found, pairs, sums, cards, out)
        stages[model.name] = [*found.values(), *pairs.values(), *sums.values(), cards, folders]
    outcomes = [_outcome(name, *futures) for name, futures in stages.items()]
    if all(each.problem for each in outcomes):
        raise BadInput("\n".join(each.problem for each in outcomes))
    return outcomes


def _outcome(model: str, *futures: Future) -> Outcome:
    """The model's cards, or the first error on its way."""
    for future in futures:
        error = future.result(raise_on_failure=False)
        if isinstance(error, Exception):
            return Outcome(model, problem=f"model {model!r}: {_said(error)}")
    *_, cards, folders = (future.result() for future in futures)
    return Outcome(model, tuple(cards), tuple(folders))


def _said(error: Exception) -> str:
    """What the error says to a user; one that firecard did not raise on purpose is named by its kind."""
    return str(error) if isinstance(error, FirecardError) else f"{type(error).__name__}: {error}"
