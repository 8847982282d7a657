"""Publish: the card as files that are whole or not there at all, and as artifacts in the Prefect UI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE

from configs.case import Case
from configs.paths import artifact_key, folder_name
from metrics.scoring.scorecard import ScoreCard
from tasks.families import FAMILIES
from tasks.families.family import FoundFiles
from tasks.matching.ledger import summary
from tasks.report.html import html_card
from tasks.report.markdown import kpi_rows, markdown_card
from tasks.report.record import card_bytes, card_record
from tasks.report.words import headline
from tasks.store.keyed import writing


@task(task_run_name="publish-{model}", cache_policy=NO_CACHE)
def publish_cards(
    case: Case,
    model: str,
    cycle: datetime,
    found: Mapping[str, FoundFiles],
    pairs: Mapping[str, Path],
    sums: Mapping[str, Path],
    cards: Sequence[ScoreCard],
    out: Path,
) -> list[Path]:
    """The folders of the model's cards, one per scheme."""
    accounts = {family: FAMILIES[family].account(path) for family, path in pairs.items()}
    book = pd.concat([each.ledger for each in accounts.values()], ignore_index=True)
    inputs = list(dict.fromkeys(each for files in found.values() for each in files.inputs))
    how = {family: each.how for family, each in accounts.items() if each.how}
    reports = {
        family: make(case, pairs[family], sums[family])
        for family in pairs
        if (make := FAMILIES[family].report) is not None
    }
    folders = []
    for card in cards:
        record = card_record(case, card, cycle, summary(book), how, reports, inputs)
        folder = card_folder(out, case.id, card.scheme, cycle, model)
        write_card(folder, record, book.to_csv(index=False))
        publish_artifacts(record)
        folders.append(folder)
    return folders


def card_folder(out: Path, case: str, scheme: str, cycle: datetime, model: str) -> Path:
    """Where a card lies; below `out` whatever the model is called."""
    return out / f"{case}-{scheme}" / f"{cycle:%Y-%m-%dT%H}" / folder_name(model)


def write_card(folder: Path, record: Mapping[str, Any], ledger_csv: str) -> None:
    """The files of a card; `card.json` is the record and comes last."""
    contents = {
        "ledger.csv": ledger_csv.encode(),
        "card.md": markdown(record).encode(),
        "card.html": html_card(record).encode(),
        "card.json": card_bytes(record),
    }
    for name, content in contents.items():
        with writing(folder / name) as temporary:
            temporary.write_bytes(content)


def markdown(record: Mapping[str, Any]) -> str:
    """The card in Markdown with the sections of its families."""
    sections = [
        line for name, report in record["reports"].items() if (show := FAMILIES[name].markdown) for line in show(report)
    ]
    return markdown_card(record) + "\n".join(["", *sections, ""] if sections else [])


def publish_artifacts(record: Mapping[str, Any]) -> None:
    """Card and KPI table under keys that stay the same from night to night."""
    key = artifact_key(record["case"], record["scheme"], record["model"])
    description = f"{headline(record)}, cycle {record['cycle']}"
    create_markdown_artifact(markdown(record), key=f"scorecard-{key}", description=description)
    create_table_artifact(kpi_rows(record), key=f"kpis-{key}", description=description)
