"""Publish: the card as files that are whole or not there at all, and as artifacts in the Prefect UI."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

import pandas as pd
from prefect import task
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE

from configs.case import Case
from configs.paths import artifact_key, folder_name
from metrics.errors import FirecardError
from metrics.scoring.scorecard import ScoreCard
from tasks.families import FAMILIES
from tasks.families.family import FoundFiles
from tasks.find import retry_io
from tasks.matching.ledger import summary
from tasks.report.html import html_card
from tasks.report.markdown import escape, kpi_rows, markdown_card
from tasks.report.record import card_bytes, card_record
from tasks.report.words import headline, printable
from tasks.store.keyed import writing

if TYPE_CHECKING:
    from tasks.report.plots import Picture

PAGES = "FIRECARD_PAGES"  # the setting that says under which address the folder of the cards is served
Pictures: TypeAlias = "Mapping[str, Mapping[str, Picture]]"


@task(
    task_run_name="publish-{model}",
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[1, 5],
    retry_condition_fn=retry_io,
)
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
    pictures = {
        family: draw(case, pairs[family], sums[family])
        for family in pairs
        if (draw := FAMILIES[family].pictures) is not None
    }
    folders = []
    for card in cards:
        record = card_record(case, card, cycle, summary(book), how, reports, inputs)
        folder = card_folder(out, case.id, card.scheme, cycle, model)
        text = markdown(record, pictures)
        write_card(folder, record, book.to_csv(index=False), text, pictures)
        if case.firebench:
            write_firebench(folder, case, card, found)
        publish_artifacts(record, text, page_address(folder / "card.html", out))
        folders.append(folder)
    return folders


def card_folder(out: Path, case: str, scheme: str, cycle: datetime, model: str) -> Path:
    """Where a card lies; below `out` whatever the model is called."""
    return out / f"{case}-{scheme}" / f"{cycle:%Y-%m-%dT%H}" / folder_name(model)


def write_card(folder: Path, record: Mapping[str, Any], ledger_csv: str, text: str, pictures: Pictures) -> None:
    """The files of a card; `card.json` is the record and comes last."""
    from tasks.report.pdf import pdf_card

    contents = {
        "ledger.csv": ledger_csv.encode(),
        "card.md": text.encode(),
        "card.html": html_card(record, pictures).encode(),
        "card.pdf": pdf_card(record),
        "card.json": card_bytes(record),
    }
    for name, content in contents.items():
        with writing(folder / name) as temporary:
            temporary.write_bytes(content)


def write_firebench(folder: Path, case: Case, card: ScoreCard, found: Mapping[str, FoundFiles]) -> None:
    """The card in the form of FireBench's result file, beside the others."""
    from tasks.report.firebench import firebench_bytes, firebench_result

    report = (folder / "card.pdf").read_bytes()
    with writing(folder / "firebench.json") as temporary:
        temporary.write_bytes(firebench_bytes(firebench_result(case, card, found, report)))


def markdown(record: Mapping[str, Any], pictures: Pictures) -> str:
    """The card in Markdown with its bars, the maps of its families and their sections."""
    from tasks.report.plots import bars_of

    maps = [drawn["map"] for drawn in pictures.values() if "map" in drawn]
    sections = [
        line for name, report in record["reports"].items() if (show := FAMILIES[name].markdown) for line in show(report)
    ]
    return markdown_card(record, [bars_of(record), *maps], sections)


def report_problem(case: Case, model: str, cycle: datetime, problem: str, out: Path) -> None:
    """A readable artifact of what went wrong with one model."""
    given = {family: data.path for family, data in case.model(model).data.items()}
    sides = {**given, **{f"observations ({family})": case.observations[family].path for family in case.observations}}
    inputs = {"cycle": f"{cycle:%Y-%m-%dT%H:%MZ}", **sides, "paths are relative to": str(case.root.absolute())}
    command = repeat_command(case.path, cycle, out, model)
    title = f"{case.id}: no card of {model}"
    _problem(artifact_key(case.id, model), title, problem, {"case file": str(case.path.absolute()), **inputs}, command)


def repeat_command(case_file: Path, cycle: datetime, out: Path, model: str | None = None) -> str:
    """The command that does the same again, from wherever one is."""
    words = ["firecard", "run", str(case_file.absolute()), "--cycle", f"{cycle:%Y-%m-%dT%H:%M}".removesuffix(":00")]
    return shlex.join([*words, *(["--model", model] if model else []), "--out", str(out.absolute())])


@contextmanager
def told(case_file: Path, command: str) -> Iterator[None]:
    """What stops a whole run is told in an artifact before the run fails over it."""
    try:
        yield
    except Exception as error:
        said = str(error) if isinstance(error, FirecardError) else f"{type(error).__name__}: {error}"
        inputs = {"case file": str(case_file.absolute())}
        try:
            _problem(artifact_key(case_file.stem), f"{case_file.stem}: the run failed", said, inputs, command)
        except Exception as second:  # the run fails over the first, whatever became of its artifact
            error.add_note(f"(and there is no artifact of it: {second})")
        raise


def _problem(key: str, title: str, problem: str, inputs: Mapping[str, str], command: str) -> None:
    """Error, input, and the command to repeat it."""
    text = "\n".join(
        [
            f"# {escape(title)}",
            "",
            *(f"> {escape(line)}  " for line in problem.splitlines()),
            "",
            *(f"- {escape(name)}: {escape(value)}" for name, value in inputs.items()),
            "",
            "To repeat it:",
            "",
            f"    {printable(command)}",
            "",
        ]
    )
    create_markdown_artifact(text, key=f"problem-{key}", description=title)


def page_address(page: Path, out: Path) -> str:
    """Where a browser finds the page: below $FIRECARD_PAGES, where the cards are served, else as a file."""
    if base := os.environ.get(PAGES):
        return f"{base.rstrip('/')}/{quote(page.relative_to(out).as_posix())}"
    return page.resolve().as_uri()


def publish_artifacts(record: Mapping[str, Any], text: str, page: str) -> None:
    """Card, KPI table and the way to the page, under keys that stay the same from night to night."""
    key = artifact_key(record["case"], record["scheme"], record["model"])
    description = f"{headline(record)}, cycle {record['cycle']}"
    create_markdown_artifact(text, key=f"scorecard-{key}", description=description)
    create_table_artifact(kpi_rows(record), key=f"kpis-{key}", description=description)
    create_link_artifact(page, "card.html", key=f"page-{key}", description=description)
