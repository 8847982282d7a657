"""What a family of data brings to the stages; everything else is the same for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from configs.case import Case, Data
from metrics.kpis.kpi import KpiResult
from metrics.scoring.ranking import Ranking
from tasks.compute import Session
from tasks.store.digests import InputFile

if TYPE_CHECKING:
    from tasks.report.plots import Picture

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files of one model, family and cycle, on both sides."""

    model: str
    family: str
    cycle: datetime
    data: Data
    files: tuple[InputFile, ...]
    observations: tuple[InputFile, ...] = ()
    beside: tuple[InputFile, ...] = ()  # a table of stations

    @property
    def inputs(self) -> tuple[InputFile, ...]:
        return (*self.files, *self.observations, *self.beside)


@dataclass(frozen=True, slots=True)
class Work:
    """Where a stage computes, and who is told how far it is: called as (done, total)."""

    session: Session = field(default_factory=lambda: Session("loop"))
    progress: Progress | None = None

    def __call__(self, done: int, total: int) -> None:
        if self.progress:
            self.progress(done, total)


@dataclass(frozen=True, slots=True)
class Account:
    """What became of every candidate, and how both sides were brought together."""

    ledger: pd.DataFrame  # station, variable, reason, count
    how: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Family:
    """One family: each stage is a function of paths and small values, and writes to the path that it is given."""

    name: str
    match_key: Callable[[Case, FoundFiles], Any]  # what the matched file depends on beside its inputs' digests
    match: Callable[[Case, FoundFiles, Path, Work], None]
    reduce_key: Callable[[Case], Any]  # what the reduced file depends on beside the matched file
    reduce: Callable[[Case, str, datetime, Path, Path], None]
    finish: Callable[[Case, Path], dict[str, KpiResult]]
    account: Callable[[Path], Account]
    # What the family's section of a card shows, as plain data, from the matched and the reduced file; and in Markdown.
    # The page includes `report/<family>.html`, which finds it as `report`.
    report: Callable[[Case, Path, Path], dict[str, Any]] | None = None
    markdown: Callable[[Mapping[str, Any]], list[str]] | None = None
    # Pictures by name, from the same two files; drawn once, whatever the schemes. The section finds them as `pictures`.
    pictures: Callable[[Case, Path, Path], Mapping[str, Picture]] | None = None
    # Every model's KPIs on the pairs that all models have, from the matched files by model: what a ranking compares.
    common: Callable[[Case, datetime, Mapping[str, Path]], dict[str, dict[str, KpiResult]]] | None = None
    # The family's own order of the models and what the ranking shows of it, from matched and reduced files by model.
    rank: Callable[[Case, Mapping[str, Path], Mapping[str, Path]], tuple[Ranking, dict[str, Any]]] | None = None
