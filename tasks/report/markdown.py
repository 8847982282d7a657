"""The card as Markdown: the table of the card first, then what it rests on. Shown as a Prefect artifact."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tasks.report.words import (
    command,
    emoji,
    headline,
    ledger_lines,
    normalisation_text,
    printable,
    remarks,
    total_score,
    total_text,
    value_text,
)

if TYPE_CHECKING:
    from tasks.report.plots import Picture

MOST_BYTES = 500_000  # of an artifact
SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")


def escape(text: Any) -> str:
    """Text of strangers inside Markdown: no markup, no table cell broken open."""
    return SPECIAL.sub(r"\\\1", printable(str(text)))


def markdown_card(record: Mapping[str, Any], pictures: Sequence[Picture] = (), sections: Sequence[str] = ()) -> str:
    """The whole card with pictures and the sections of its families; pictures that would be too much are dropped."""
    before, after = _before(record), _after(record, sections)
    room = MOST_BYTES - sum(len(line.encode()) + 1 for line in (*before, *after)) - 1000  # for what is said of the rest
    shown, dropped = [], []
    for each in pictures:
        line = f"![{escape(each.alt)}]({each.uri})"
        room -= len(line.encode()) + 2
        if room >= 0:
            shown += [line, ""]
        else:
            room += len(line.encode()) + 2
            dropped.append(each.alt)
    if dropped:
        shown += [f"Left out here, to stay below {MOST_BYTES // 1000} kB: {escape('; '.join(dropped)[:600])}", ""]
    return _cut("\n".join([*before, *shown, *after]))


def _cut(text: str) -> str:
    """A card that is too long even without pictures ends early, and says so."""
    if len(text.encode()) <= MOST_BYTES:
        return text
    said = f"\n\nCut here, to stay below {MOST_BYTES // 1000} kB; card.html has the rest.\n"
    return text.encode()[: MOST_BYTES - len(said)].decode(errors="ignore").rsplit("\n", 1)[0] + said


def _before(record: Mapping[str, Any]) -> list[str]:
    """What ten seconds are for."""
    lines = [
        f"# {escape(headline(record))}",
        "",
        f"Cycle {escape(record['cycle'])}, valid {escape(record['window'])}"
        + (f". {escape(record['title'])}" if record["title"] else ""),
        "",
        f"| {escape(headline(record))} | {emoji(total_score(record))} **{total_text(record)}** |",
        "| --- | ---: |",
    ]
    for group in record["groups"]:
        lines.append(f"| **Group** {escape(group['name'])} | {emoji(group['score'])} **{group['text']}** |")
        lines += [f"| {escape(kpi['id'])} | {emoji(kpi['score'])} {kpi['text']} |" for kpi in group["kpis"]]
    lines += ["", *(f"> ⚠️ {escape(line)}\n>" for line in remarks(record)), ""]
    lines += [
        "## KPIs",
        "",
        "| KPI | Value | Score | n | Stations | Coverage | Name |",  # what is cut off on a narrow screen comes last
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for group in record["groups"]:
        for kpi in group["kpis"]:
            coverage = "–" if kpi["coverage"] is None else f"{kpi['coverage']:.1%}"
            lines.append(
                f"| {escape(kpi['id'])} | {escape(value_text(kpi))} | {emoji(kpi['score'])} {kpi['text']} |"
                f" {kpi['n']} | {kpi['stations']['used']}/{kpi['stations']['total']} | {coverage} |"
                f" {escape(kpi['name'])} |"
            )
    return [*lines, "", "## Pairs", "", *(f"- {escape(line)}" for line in ledger_lines(record)), ""]


def _after(record: Mapping[str, Any], sections: Sequence[str]) -> list[str]:
    """What the families say, and how the values became scores."""
    lines = [*sections, *([""] if sections else []), "<details><summary>How it was scored</summary>", ""]
    for group in record["groups"]:
        for kpi in group["kpis"]:
            how = normalisation_text(kpi["normalisation"], kpi["unit"])
            lines.append(
                f"- {escape(kpi['id'])}: {how}, weight {kpi['weight']:g}"
                f" in group {escape(group['name'])} ({group['weight']:g})"
            )
    return [*lines, "", "</details>", "", f"To make it again: {escape(command(record))}", ""]


def kpi_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The KPIs as rows for a table artifact."""
    return [
        {
            "KPI": kpi["id"],
            "Value": value_text(kpi),
            "Score": kpi["text"],
            "n": kpi["n"],
            "Stations": f"{kpi['stations']['used']}/{kpi['stations']['total']}",
            "Coverage": None if kpi["coverage"] is None else f"{kpi['coverage']:.1%}",
            "Name": kpi["name"],
            "Group": group["name"],
            "Weight": kpi["weight"],
            "Remarks": "; ".join(kpi["flags"]),
        }
        for group in record["groups"]
        for kpi in group["kpis"]
    ]
