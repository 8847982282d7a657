"""The card as one self-contained page: no script, no font, no picture from elsewhere; light or dark, wide or narrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tasks.report import weather, words

if TYPE_CHECKING:
    from tasks.report.plots import Picture

REASONS = 7  # colours for reasons in the page; the last is for all others


def html_card(record: Mapping[str, Any], pictures: Mapping[str, Mapping[str, Picture]] | None = None) -> str:
    """The page of one card, with the pictures of its families."""
    return _environment().get_template("card.html").render(card=record, drawn=pictures or {})


def html_page(template: str, **data: Any) -> str:
    """A page of another template in this folder, with the same filters."""
    return _environment().get_template(template).render(**data)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "band": words.band,
        "value_text": words.value_text,
        "printable": words.printable,
    }
    environment.globals |= {
        "headline": words.headline,
        "total_text": words.total_text,
        "total_score": words.total_score,
        "remarks": words.remarks,
        "normalisation_text": words.normalisation_text,
        "command": words.command,
        "size_text": words.size_text,
        "how_in_words": weather.how_in_words,
        "ledger_parts": ledger_parts,
    }
    return environment


def ledger_parts(ledger: Mapping[str, Any]) -> dict[str, str]:
    """A class for each reason in the ledger, the most frequent first; where colours run out, one for all others."""
    counts: Counter[str] = Counter()
    for entry in ledger.values():
        counts.update(entry["left_out"])
    order = sorted(counts, key=lambda reason: (-counts[reason], reason))
    return {reason: f"why{min(number, REASONS)}" for number, reason in enumerate(order, start=1)}
