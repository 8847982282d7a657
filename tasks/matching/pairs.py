"""Matching where it is already done: the rows of a table of pairs that belong to one model, cycle and window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from configs.window import Window
from metrics.errors import BadInput, MissingInput
from metrics.sums import Array
from metrics.variables import Variable
from tasks.matching import ledger
from tasks.matching.clock import step_of
from tasks.readers.notes import NOTES, Notes
from tasks.readers.pairs import read_pairs

POINT = ["station", "valid_time", "variable"]


@dataclass(frozen=True, slots=True)
class Matched:
    """Every candidate of a model with its outcome, and the variables that the model offers at all."""

    table: pd.DataFrame  # station, lat, lon, valid_time, variable, forecast, observed, reason
    offered: tuple[str, ...]
    how: Mapping[str, Any] = field(default_factory=dict)  # how it was matched, for the card
    backdrop: Array | None = None  # for the map, coarse: latitude, longitude and height of the ground by row and column


def match_pairs(
    files: Sequence[Path],
    name: str,
    cycle: datetime,
    window: Window,
    variables: Mapping[str, Variable],
    *,
    read: Callable[[Path, Mapping[str, Variable]], pd.DataFrame] = read_pairs,
) -> Matched:
    """The model's pairs in the window.

    The observations of a file are those of all its rows, whichever the model: a point that another model has and this
    one lacks is a missing forecast, not a point that never was (D-17).
    """
    tables = [read(path, variables) for path in files]
    told = sum((each.attrs.pop(NOTES, Notes()) for each in tables), Notes()).in_words()
    # A file that names no model is this model's own.
    table = pd.concat([each if "model" in each else each.assign(model=name) for each in tables], ignore_index=True)
    where = ", ".join(path.name for path in files)
    moment = pd.Timestamp(cycle)
    own = table["model"] == name
    if not own.any():
        raise MissingInput(f"{where}: no row of model {name!r}; models here: {some(table['model'].unique())}")
    if not (own & (table["cycle"] == moment)).any():
        cycles = sorted(table.loc[own, "cycle"].unique())
        shown = some([f"{each:%Y-%m-%dT%H}" for each in cycles])
        raise MissingInput(f"{where}: model {name!r} has no cycle {moment:%Y-%m-%dT%H}; cycles here: {shown}")
    offered = tuple(sorted(table.loc[own, "variable"].unique()))
    table = table[(table["cycle"] == moment) & _inside(table["valid_time"], cycle, window)]
    if not own[table.index].any():
        raise BadInput(f"{where}: model {name!r} has no pair in the window {window.describe(cycle)}")
    mine = table[own[table.index]]
    if mine.duplicated(POINT).any():
        row = mine[mine.duplicated(POINT)].iloc[0]
        when = f"{row['valid_time']:%Y-%m-%dT%H:%MZ}"
        raise BadInput(
            f"{where}: {row['variable']} at station {row['station']!r}, {when}: this pair stands in two files"
        )
    points = _one_row_per_point(table, own[table.index], cycle, window)
    return Matched(_with_outcomes(points, variables), offered, {"reports": "; ".join(told)} if told else {})


def _one_row_per_point(table: pd.DataFrame, own: pd.Series, cycle: datetime, window: Window) -> pd.DataFrame:
    """The model's rows, and one row without a forecast for each point of its step that only other models have."""
    mine = table[own]
    step = step_of(_moments(mine["valid_time"]), window, cycle)
    expected = [each for each in table["valid_time"].unique() if step.on_step(each.to_pydatetime())]
    asked = ~own & table["observed"].notna() & table["valid_time"].isin(expected)
    others = table[asked].drop_duplicates(POINT)
    known = pd.MultiIndex.from_frame(mine[POINT])
    absent = others[~pd.MultiIndex.from_frame(others[POINT]).isin(known)].assign(forecast=np.nan)
    return pd.concat([mine, absent], ignore_index=True) if len(absent) else mine.reset_index(drop=True)


def _with_outcomes(table: pd.DataFrame, variables: Mapping[str, Variable]) -> pd.DataFrame:
    """The candidates with what became of them; impossible values (a fill value, say) are taken out of the numbers."""
    low = table["variable"].map({name: each.lowest for name, each in variables.items()})
    high = table["variable"].map({name: each.highest for name, each in variables.items()})
    strange = {side: table[side].notna() & ~table[side].between(low, high) for side in ("forecast", "observed")}
    reason = np.select(
        [strange["observed"], table["observed"].isna(), strange["forecast"], table["forecast"].isna()],
        [ledger.BAD_OBSERVATION, ledger.NO_OBSERVATION, ledger.BAD_FORECAST, ledger.NO_FORECAST],
        ledger.PAIR,
    )
    return (
        table.assign(
            forecast=table["forecast"].mask(strange["forecast"]),
            observed=table["observed"].mask(strange["observed"]),
            reason=reason,
        )[["station", "lat", "lon", "valid_time", "variable", "forecast", "observed", "reason"]]
        .sort_values(["variable", "station", "valid_time"], kind="stable")
        .reset_index(drop=True)
    )


def _inside(valid: pd.Series, cycle: datetime, window: Window) -> pd.Series:
    inside = {each: window.contains(each.to_pydatetime(), cycle) for each in valid.unique()}
    return valid.map(inside).astype(bool)


def _moments(valid: pd.Series) -> list[datetime]:
    return [each.to_pydatetime() for each in valid.unique()]


def some(names: Sequence[object]) -> str:
    """The first names of a list, and how many there are besides."""
    shown = ", ".join(str(each) for each in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
