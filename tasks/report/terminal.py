"""The card in a terminal: coloured where there is one, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tasks.report.words import band, headline, printable, remarks, total_score, total_text, value_text

COLOURS = {"good": "green", "fair": "yellow", "poor": "red", "none": "dim"}


def print_cards(records: Sequence[Mapping[str, Any]]) -> None:
    """The first scheme's cards in full; of the other schemes the totals."""
    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console.width = 110  # a log has no edge; names need not be cut
    first = records[0]["scheme"] if records else ""
    for record in records:
        if record["scheme"] == first:
            console.print(_card(record))
            for line in remarks(record):
                console.print(Text(f"  ! {printable(line)}", style="yellow"))
            console.print()
    others = [record for record in records if record["scheme"] != first]
    if others:
        table = Table(box=None, pad_edge=False, show_header=False)
        for record in others:
            table.add_row(Text(printable(headline(record))), _score(total_score(record), total_text(record)))
        console.print(table)
        console.print()


def print_rankings(records: Sequence[Mapping[str, Any]]) -> None:
    """The models in order, under each scheme."""
    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console.width = 110
    for record in records:
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column(Text(f"Ranking {record['case']} agg. {record['scheme']}", style="bold"), no_wrap=True)
        table.add_column("score", justify="right")
        for name in ("won", "card", "decided by"):
            table.add_column(name)
        for each in record["models"]:
            card = each["own"]["text"] + (" (partial)" if each["own"]["partial"] else "")
            table.add_row(
                Text(f"#{each['rank']} {printable(each['model'])}"),
                _score(each["score"], each["text"]),
                each["won"],
                card,
                each["decided_by"] or "",
            )
        console.print(table)
        console.print(Text(f"  by {', then '.join(record['by'])}", style="dim"))
        for line in record["remarks"]:
            console.print(Text(f"  ! {printable(line)}", style="yellow"))
        console.print()


def _card(record: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(Text(printable(headline(record)), style="bold"), overflow="ellipsis", no_wrap=True)
    table.add_column(_score(total_score(record), total_text(record)), justify="right")
    for name in ("value", "n", "stations"):
        table.add_column(name, justify="right")
    for group in record["groups"]:
        table.add_row(
            Text.assemble(("Group", "bold"), f" {printable(group['name'])}"), _score(group["score"], group["text"])
        )
        for kpi in group["kpis"]:
            table.add_row(
                Text(f"  {printable(kpi['id'])}  {printable(kpi['name'])}"),
                _score(kpi["score"], kpi["text"]),
                value_text(kpi),
                str(kpi["n"]),
                f"{kpi['stations']['used']}/{kpi['stations']['total']}",
            )
    return table


def _score(score: float | None, text: str) -> Text:
    return Text(text, style=COLOURS[band(score)])
