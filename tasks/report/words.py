"""How a card speaks: numbers with units, bands of scores, and what is wrong in a sentence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

# Thirds of the scale; a symbol stands beside the colour, so that a card can be read without colours.
BANDS = ((200 / 3, "good", "🟢"), (100 / 3, "fair", "🟡"), (0.0, "poor", "🔴"))
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def band(score: float | None) -> str:
    """good, fair, poor, or none without a score."""
    return next((name for least, name, _ in BANDS if score is not None and score >= least), "none")


def emoji(score: float | None) -> str:
    """The band as a sign."""
    return next((sign for least, _, sign in BANDS if score is not None and score >= least), "⚪")


def value_text(kpi: Mapping[str, Any]) -> str:
    """A KPI's value with its unit, signed where it can be negative."""
    if kpi["value"] is None:
        return "n/a"
    signed = isinstance(kpi["worst"], str) and "|" in kpi["worst"]
    number = f"{kpi['value']:+.3g}" if signed else f"{kpi['value']:.3g}"
    return (
        number if kpi["unit"] == "1" else f"{number} {'°' if kpi['unit'] == 'deg' else kpi['unit']}".replace(" °", "°")
    )


def normalisation_text(normalisation: Mapping[str, Any], unit: str) -> str:
    """How the value became a score."""
    unit = {"1": "", "deg": "°"}.get(unit, f" {unit}")
    kind, a = normalisation["kind"], normalisation["a"]
    if kind == "bounded":
        return f"0 at {a:g}{unit}, 100 at {normalisation['b']:g}{unit}"
    at_m = "50" if kind.endswith("exponential") else "0"
    distance = "±" if kind.startswith("symmetric") and a == 0 else ""
    return f"100 at {a:g}{unit}, {at_m} at {distance}{normalisation['m']:g}{unit}"


def headline(record: Mapping[str, Any]) -> str:
    """The card's first row (R-000-14)."""
    return f"Total Score {record['case']} agg. {record['scheme']}: {record['model']}"


def total_text(record: Mapping[str, Any]) -> str:
    return record["total"]["text"] if record["total"] else "n/a"


def total_score(record: Mapping[str, Any]) -> float | None:
    return record["total"]["score"] if record["total"] else None


def remarks(record: Mapping[str, Any]) -> list[str]:
    """What a reader must know before trusting the number."""
    lines = []
    scored = record["scored"]
    if record["partial"]:
        few = "" if scored["kpis"] < scored["of"] else ", some from less than half of the stations"
        have = f"{scored['kpis']} of {scored['of']} KPIs have a score{few}"
        lines.append(f"Partial: {have}; do not rank it against a complete card.")
    elif scored["kpis"] < scored["of"]:
        lines.append(f"{scored['kpis']} of {scored['of']} KPIs: this model does not offer the others.")
    said: dict[str, list[str]] = {}
    for group in record["groups"]:
        for kpi in group["kpis"]:
            for flag in kpi["flags"]:
                said.setdefault(flag, []).append(kpi["id"])
    return lines + [f"{', '.join(ids)}: {flag}" for flag, ids in said.items()]


def command(record: Mapping[str, Any]) -> str:
    """The command that makes this card again."""
    case, model = (shlex.quote(printable(each)) for each in (record["provenance"]["case"]["name"], record["model"]))
    when = record["cycle"].removesuffix("Z").removesuffix(":00")
    return f"firecard run {case} --cycle {when} --model {model} --scheme {record['scheme']}"


def size_text(size: float) -> str:
    """A number of bytes as people say it."""
    steps = max(0, min(4, (len(f"{size:.0f}") - 1) // 3))
    return f"{size / 1000**steps:.3g} {('bytes', 'kB', 'MB', 'GB', 'TB')[steps]}"


def ledger_lines(record: Mapping[str, Any]) -> list[str]:
    """The ledger, a line a variable."""
    lines = []
    for variable, entry in record["ledger"].items():
        why = ", ".join(f"{count} {reason}" for reason, count in entry["left_out"].items())
        lines.append(
            f"{variable}: {entry['pairs']} pairs of {entry['candidates']} candidates" + (f" ({why})" if why else "")
        )
    return lines


def printable(text: str) -> str:
    """Text of strangers for a terminal: no escape codes, no control characters, no turned-round writing."""
    return CONTROL.sub("�", text)
