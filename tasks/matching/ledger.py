"""The ledger: of every candidate, whether it became a pair, and why not. Candidates = pairs + reasons, always."""

from __future__ import annotations

from typing import Any

import pandas as pd

PAIR = "pair"
NO_OBSERVATION = "no observation"
NO_FORECAST = "no forecast"
OUTSIDE_GRID = "outside the grid"
NOT_OF_THE_MODEL = "not a station of the model"
OUTSIDE_TOLERANCE = "outside the time tolerance"
BAD_OBSERVATION = "impossible observation"
BAD_FORECAST = "impossible forecast"


def ledger(matched: pd.DataFrame) -> pd.DataFrame:
    """Candidates by station, variable and what became of them."""
    counted = matched.groupby(["station", "variable", "reason"], sort=True).size()
    return counted.rename("count").reset_index()


def summary(book: pd.DataFrame) -> dict[str, Any]:
    """The ledger of a card: by variable, candidates, pairs and what was left out."""
    result = {}
    for variable, rows in book.groupby("variable", sort=True):
        counts = rows.groupby("reason", sort=True)["count"].sum()
        result[str(variable)] = {
            "candidates": int(counts.sum()),
            "pairs": int(counts.get(PAIR, 0)),
            "left_out": {str(reason): int(count) for reason, count in counts.items() if reason != PAIR},
        }
    return result
