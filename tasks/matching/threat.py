"""Fires of a model beside what became of them, joined by id; who is on one side only is refused or accounted for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from configs.source import plain
from metrics.errors import BadInput
from metrics.kpis.threat import Cohort
from tasks.matching.ledger import NO_FORECAST, NO_OBSERVATION, PAIR

META = b"firecard"


@dataclass(frozen=True, slots=True)
class Fires:
    """Every fire of either side with what became of it as a candidate; in the order of their ids."""

    table: pd.DataFrame  # fire, time, event, reason and a column for each horizon
    horizons: tuple[float, ...]
    how: Mapping[str, Any] = field(default_factory=dict)

    def cohort(self) -> Cohort:
        """The fires that have both."""
        kept = self.table[self.table["reason"] == PAIR]
        return Cohort(
            fires=kept["fire"].to_numpy(dtype=object),
            time=kept["time"].to_numpy(float),
            event=kept["event"].to_numpy(bool),
            horizons=self.horizons,
            probability=kept[list(self.horizons)].to_numpy(float),
        )


def match_fires(
    forecasts: pd.DataFrame,
    outcomes: pd.DataFrame,
    *,
    horizons: Sequence[float],
    unmatched: str,
    how: Mapping[str, Any],
) -> Fires:
    """The fires of both sides; by `refuse` every fire must stand on both."""
    if unmatched == "refuse":
        _refuse_absent(forecasts, outcomes, "has a probability but no outcome")
        _refuse_absent(outcomes, forecasts, "has an outcome but no probability")
    sides = [forecasts.drop(columns=["row", "file"]), outcomes.drop(columns=["row", "file"])]
    table = pd.merge(*sides, on="fire", how="outer", indicator="side").sort_values("fire", ignore_index=True)
    reason = table["side"].map({"both": PAIR, "left_only": NO_OBSERVATION, "right_only": NO_FORECAST}).astype(str)
    if not (reason == PAIR).any():
        files = [plain(str(each["file"].iloc[0]), 80) for each in (forecasts, outcomes)]
        raise BadInput(f"{files[0]} and {files[1]} have no fire in common")
    table = table.assign(event=table["event"].astype("boolean").fillna(False).astype(bool), reason=reason)
    return Fires(table[["fire", "time", "event", "reason", *horizons]], tuple(horizons), how)


def _refuse_absent(table: pd.DataFrame, other: pd.DataFrame, what: str) -> None:
    absent = table[~table["fire"].isin(other["fire"])]
    if len(absent):
        first = absent.iloc[0]
        more = f" ({len(absent)} such fires)" if len(absent) > 1 else ""
        raise BadInput(
            f"{first['file']}: row {first['row']}: the fire {plain(repr(first['fire']), 80)} {what} in"
            f" {plain(str(other['file'].iloc[0]), 80)}{more}; to leave them out, say `threat: {{unmatched: leave_out}}`"
        )


def write_fires(path: Path, fires: Fires) -> None:
    """The candidates as Parquet; how they came about stands in its metadata."""
    table = pa.Table.from_pandas(fires.table.rename(columns=str), preserve_index=False)
    meta = json.dumps({"horizons": fires.horizons, "how": fires.how}, ensure_ascii=False)
    pyarrow.parquet.write_table(table.replace_schema_metadata({META: meta.encode()}), path, compression="zstd")


def read_fires(path: Path) -> Fires:
    """The candidates as `write_fires` kept them."""
    table = pyarrow.parquet.read_table(path)
    meta = json.loads(table.schema.metadata[META])
    horizons = tuple(meta["horizons"])
    frame = table.to_pandas(ignore_metadata=True)
    return Fires(frame.rename(columns={str(each): each for each in horizons}), horizons, meta["how"])


@dataclass(frozen=True, slots=True)
class Sample:
    """What is scored, kept whole because a C-index does not add; and what it came from."""

    cohort: Cohort
    falls: Any  # by how much each fire's probability fell before any repair
    repaired: bool
    left_out: Mapping[str, int]  # candidates by reason

    @property
    def expected(self) -> int:
        """Fires with an outcome, which ask for a forecast."""
        return len(self.cohort.time) + self.left_out.get(NO_FORECAST, 0)


def sample_of(fires: Fires, *, repair: bool) -> Sample:
    """The fires to score, their probabilities sorted only if asked (D-59)."""
    cohort = fires.cohort()
    counts = fires.table["reason"].value_counts().sort_index()
    return Sample(
        cohort.repaired() if repair else cohort,
        cohort.falls(),
        repair,
        {str(reason): int(count) for reason, count in counts.items() if reason != PAIR},
    )


def write_sample(path: Path, sample: Sample, labels: Mapping[str, str]) -> None:
    """A row a fire: what can be resampled."""
    cohort = sample.cohort
    columns: dict[str, Any] = {"unit": cohort.fires, "time": cohort.time, "event": cohort.event, "fall": sample.falls}
    columns |= {str(each): cohort.at(each) for each in cohort.horizons}
    meta = {"horizons": cohort.horizons, "repaired": sample.repaired, "left_out": sample.left_out, **labels}
    table = pa.table(columns).replace_schema_metadata({META: json.dumps(meta, ensure_ascii=False).encode()})
    pyarrow.parquet.write_table(table, path, compression="zstd")


def read_sample(path: Path) -> Sample:
    """The sample as `write_sample` kept it."""
    table = pyarrow.parquet.read_table(path)
    meta = json.loads(table.schema.metadata[META])
    horizons = tuple(float(each) for each in meta["horizons"])
    cohort = Cohort(
        fires=table.column("unit").to_numpy(),
        time=table.column("time").to_numpy(),
        event=table.column("event").to_numpy(),
        horizons=horizons,
        probability=np.column_stack([table.column(str(each)).to_numpy() for each in horizons]),
    )
    return Sample(cohort, table.column("fall").to_numpy(), meta["repaired"], meta["left_out"])
