"""Publish: the card as files that are whole or not there at all, and as artifacts in the Prefect UI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE

from configs.case import Case
from configs.paths import artifact_key, folder_name
from metrics.scoring.scorecard import ScoreCard
from tasks.find import FoundFiles
from tasks.match import read_matched
from tasks.matching.ledger import ledger, summary
from tasks.report.html import html_card
from tasks.report.markdown import kpi_rows, markdown_card
from tasks.report.record import card_bytes, card_record
from tasks.report.words import headline
from tasks.store.keyed import writing


@task(task_run_name="publish-{found.model.name}", cache_policy=NO_CACHE)
def publish_cards(case: Case, found: FoundFiles, pairs: Path, cards: Sequence[ScoreCard], out: Path) -> list[Path]:
    """The folders of the model's cards, one per scheme."""
    book = ledger(read_matched(pairs).table)
    folders = []
    for card in cards:
        record = card_record(case, card, found.cycle, summary(book), found.files)
        folder = card_folder(out, case.id, card.scheme, found.cycle, card.model)
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
        "card.md": markdown_card(record).encode(),
        "card.html": html_card(record).encode(),
        "card.json": card_bytes(record),
    }
    for name, content in contents.items():
        with writing(folder / name) as temporary:
            temporary.write_bytes(content)


def publish_artifacts(record: Mapping[str, Any]) -> None:
    """Card and KPI table under keys that stay the same from night to night."""
    key = artifact_key(record["case"], record["scheme"], record["model"])
    description = f"{headline(record)}, cycle {record['cycle']}"
    create_markdown_artifact(markdown_card(record), key=f"scorecard-{key}", description=description)
    create_table_artifact(kpi_rows(record), key=f"kpis-{key}", description=description)
