"""The card as one self-contained page: no script, no font, no picture from elsewhere; light or dark, wide or narrow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tasks.report import words


def html_card(record: Mapping[str, Any]) -> str:
    """The page of one card."""
    return _environment().get_template("card.html").render(card=record)


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
    }
    return environment
