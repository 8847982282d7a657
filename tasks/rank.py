"""Rank: the models of a case beside each other, on what all of them have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from prefect import task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from configs.case import Case
from configs.paths import artifact_key
from metrics.scoring.normalise import format_score
from metrics.scoring.ranking import Ranking, rank_cards
from metrics.scoring.scorecard import ScoreCard
from tasks.families import FAMILIES
from tasks.find import retry_io
from tasks.report.ranking import ranking_csv, ranking_headline, ranking_html, ranking_markdown, ranking_record
from tasks.report.record import card_bytes
from tasks.score import cards as score_cards
from tasks.store.keyed import writing

Files = Mapping[str, Mapping[str, Path]]  # of each model, by family


@task(
    task_run_name="rank-{case.id}",
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[1, 5],
    retry_condition_fn=retry_io,
)
def rank_models(
    case: Case,
    cycle: datetime,
    cards: Mapping[str, Sequence[ScoreCard]],
    pairs: Files,
    sums: Files,
    absent: Mapping[str, str],
    out: Path,
) -> list[Path]:
    """The rankings, one for each scheme; `absent` are the models that have no card, and why."""
    own = family_rankings(case, pairs, sums)
    compared = on_common_pairs(case, cycle, cards, pairs)
    written = []
    for scheme in zip(*compared.values(), strict=True):
        record = ranking(case, scheme, own, absent)
        for entry in record["models"]:
            card = next(each for each in cards[entry["model"]] if each.scheme == record["scheme"])
            entry["own"] = {"text": format_score(card.total), "partial": card.partial}
        folder = out / f"{case.id}-{record['scheme']}" / f"{cycle:%Y-%m-%dT%H}"
        write_ranking(folder, record)
        create_markdown_artifact(
            ranking_markdown(record),
            key=f"ranking-{artifact_key(case.id, record['scheme'])}",
            description=f"{ranking_headline(record)}, cycle {record['cycle']}",
        )
        written.append(folder / "ranking.json")
    return written


def on_common_pairs(
    case: Case, cycle: datetime, given: Mapping[str, Sequence[ScoreCard]], pairs: Files
) -> dict[str, list[ScoreCard]]:
    """The cards that a ranking compares: on the pairs that all models have (D-05).

    A model that left too many holes keeps the score that this costs it (D-17): what all have would hide them.
    """
    results = {model: {unit.id: unit.result for unit in own[0].units} for model, own in given.items()}
    for family in case.families:
        shared = FAMILIES[family].common
        with_data = {model: pairs[model][family] for model in given if family in pairs[model]}
        if shared is None or len(with_data) < 2:
            continue
        for model, found in shared(case, cycle, with_data).items():
            results[model] |= {name: each for name, each in found.items() if not results[model][name].penalised}
    return {
        model: score_cards(replace(case, strict=False), model, cycle, results[model], [card.scheme for card in own])
        for model, own in given.items()
    }


def family_rankings(case: Case, pairs: Files, sums: Files) -> dict[str, tuple[Ranking, dict[str, Any]]]:
    """The order that a family has rules of its own for, where a model has data of it."""
    rankings = {}
    for family in case.families:
        order = FAMILIES[family].rank
        with_data = [model for model in sums if family in sums[model]]
        if order is not None and with_data:
            rankings[family] = order(
                case,
                {model: pairs[model][family] for model in with_data},
                {model: sums[model][family] for model in with_data},
            )
    return rankings


def ranking(
    case: Case,
    cards: Sequence[ScoreCard],
    own: Mapping[str, tuple[Ranking, dict[str, Any]]],
    absent: Mapping[str, str],
) -> dict[str, Any]:
    """The ranking of one scheme as plain data; a family's own rules decide where the case is about nothing else."""
    leading = next(((family, order) for family, (order, _) in own.items() if case.families == (family,)), None)
    sections = {family: section for family, (_, section) in own.items()}
    return ranking_record(case, cards, rank_cards(cards, case.scheme(cards[0].scheme)), leading, sections, absent)


def write_ranking(folder: Path, record: Mapping[str, Any]) -> None:
    """The files of a ranking; `ranking.json` is the record and comes last."""
    contents = {
        "ranking.csv": ranking_csv(record).encode(),
        "ranking.md": ranking_markdown(record).encode(),
        "ranking.html": ranking_html(record).encode(),
        "ranking.json": card_bytes(record),
    }
    for name, content in contents.items():
        with writing(folder / name) as temporary:
            temporary.write_bytes(content)
