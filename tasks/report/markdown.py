"""The card as Markdown: the table of the card first, then what it rests on. Shown as a Prefect artifact."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tasks.report.words import (
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

SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")


def escape(text: Any) -> str:
    """Text of strangers inside Markdown: no markup, no table cell broken open."""
    return SPECIAL.sub(r"\\\1", printable(str(text)))


def markdown_card(record: Mapping[str, Any]) -> str:
    """The whole card."""
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
        "| KPI | Name | Value | Score | n | Stations | Coverage |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for group in record["groups"]:
        for kpi in group["kpis"]:
            coverage = "–" if kpi["coverage"] is None else f"{kpi['coverage']:.1%}"
            lines.append(
                f"| {escape(kpi['id'])} | {escape(kpi['name'])} | {escape(value_text(kpi))} | {kpi['text']} |"
                f" {kpi['n']} | {kpi['stations']['used']}/{kpi['stations']['total']} | {coverage} |"
            )
    lines += ["", "## Pairs", "", *(f"- {escape(line)}" for line in ledger_lines(record)), ""]
    lines += ["<details><summary>How it was scored</summary>", ""]
    for group in record["groups"]:
        for kpi in group["kpis"]:
            how = normalisation_text(kpi["normalisation"], kpi["unit"])
            lines.append(
                f"- {escape(kpi['id'])}: {how}, weight {kpi['weight']:g}"
                f" in group {escape(group['name'])} ({group['weight']:g})"
            )
    lines += ["", "</details>", ""]
    return "\n".join(lines)


def kpi_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The KPIs as rows for a table artifact."""
    return [
        {
            "KPI": kpi["id"],
            "Name": kpi["name"],
            "Group": group["name"],
            "Value": value_text(kpi),
            "Score": kpi["text"],
            "Weight": kpi["weight"],
            "n": kpi["n"],
            "Stations": f"{kpi['stations']['used']}/{kpi['stations']['total']}",
            "Coverage": None if kpi["coverage"] is None else f"{kpi['coverage']:.1%}",
            "Remarks": "; ".join(kpi["flags"]),
        }
        for group in record["groups"]
        for kpi in group["kpis"]
    ]
