"""Check and why: what a case finds and understands, what is left out and why; nothing is scored or written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import pandas as pd

from configs.case import Case, Instance, Model
from configs.formats import OBSERVED
from configs.shape import meant
from flows.check_family import check_family
from metrics.errors import FirecardError, MissingInput
from metrics.kpis.kpi import KpiResult
from tasks.families.weather import format_of, matched, results_of
from tasks.find import find_files, latest_cycle
from tasks.matching.clock import step_of
from tasks.matching.ledger import PAIR
from tasks.matching.pairs import Matched
from tasks.readers.formats import recognise
from tasks.reducing.sample import night
from tasks.store.digests import InputFile


def check_case(case: Case, cycle: datetime | None, say: Callable[[str], None]) -> bool:
    """Say everything about a case; True if every model could be read."""
    say(f"{case.path}: case {case.id}{': ' + case.title if case.title else ''}")
    schemes = "schemes" if len(case.schemes) > 1 else "scheme"
    say(f"  {len(case.instances)} KPIs in {len(case.groups)} groups, {schemes} {', '.join(case.schemes)}")
    cycle = cycle or latest_cycle(case)
    say(f"  cycle {cycle:%Y-%m-%dT%H:%MZ}, valid {case.window.describe(cycle)}")
    good = []
    for model in case.models:
        for family in (each for each in case.families if each in model.data):
            if family == "weather":
                good.append(_check_model(case, model, cycle, say))
            else:
                good.append(check_family(case, model, family, cycle, say))
    return all(good)


def _say_how(how: Mapping[str, object], say: Callable[[str], None]) -> None:
    for name, value in how.items():
        if value not in (None, {}, [], ""):
            say(f"  {name.replace('_', ' ')}: {_in_words(value)}")


def _check_model(case: Case, model: Model, cycle: datetime, say: Callable[[str], None]) -> bool:
    say(f"model {model.name}")
    try:
        found = find_files.fn(case, model, "weather", cycle)
        _say_files(found.files, format_of(found.data, found.files[0].path).title, say)
        if found.observations:
            source = case.observations["weather"].source
            kind = recognise(found.observations[0].path, OBSERVED, source=source)
            _say_files(found.observations, kind.title, say)
        _say_files(found.beside, "table of stations", say)
        kept = matched(case, found)
    except FirecardError as error:
        say(f"  cannot be scored: {error}")
        return False
    _say_how(kept.how, say)
    _say_what_matched(case, kept, cycle, say)
    _say_what_is_left_out(case, kept, cycle, say)
    return True


def _say_files(files: Sequence[InputFile], kind: str, say: Callable[[str], None]) -> None:
    for each in files[:3]:
        say(f"  file {each.name} ({each.size:,} bytes): {kind}")
    if len(files) > 3:
        say(f"  and {len(files) - 3} files more")


def _in_words(value: object) -> str:
    return ", ".join(f"{name} {each}" for name, each in value.items()) if isinstance(value, dict) else str(value)


def _say_what_matched(case: Case, matched: Matched, cycle: datetime, say: Callable[[str], None]) -> None:
    table = matched.table
    own = table[table["forecast"].notna()]
    step = step_of((each.to_pydatetime() for each in own["valid_time"].unique()), case.window, cycle)
    spacing = "unknown" if step.hours is None else f"{step.hours:g} h"
    spacings = ", ".join(f"{each:g} h" for each in step.spacings)
    uneven = f", not uniform: {spacings}" if step.hours and not step.uniform else ""
    first, last = table["valid_time"].min(), table["valid_time"].max()
    period = f"{first:%Y-%m-%dT%H:%MZ} to {last:%Y-%m-%dT%H:%MZ}"
    say(f"  {table['station'].nunique()} stations, valid {period}, step {spacing}{uneven}")
    for variable, rows in table.groupby("variable", sort=True):
        counts = rows["reason"].value_counts()
        why = ", ".join(f"{count} {reason}" for reason, count in counts.items() if reason != PAIR)
        kept = case.variables[str(variable)].unit
        say(f"  {variable} [{kept}]: {counts.get(PAIR, 0)} pairs of {len(rows)} candidates{f' ({why})' if why else ''}")


def _say_what_is_left_out(case: Case, kept: Matched, cycle: datetime, say: Callable[[str], None]) -> None:
    for instance, result in _results(case, kept, cycle):
        notes = [*result.flags, *(f"{count} {reason}" for reason, count in result.left_out.items())]
        counts = f"{result.n} pairs, {result.used}/{result.total} stations"
        state = "n/a" if result.value is None and not result.penalised else counts
        say(f"  {instance.id} {instance.name}: {state}{'; ' + '; '.join(notes) if notes else ''}")


def _results(case: Case, kept: Matched, cycle: datetime) -> list[tuple[Instance, KpiResult]]:
    """Every weather KPI with what it rests on."""
    found = results_of(case, night(kept.table, kept.offered, cycle))
    return [(case.instances[name], result) for name, result in found.items()]


def explain_station(
    case: Case, station: str, cycle: datetime | None, models: Sequence[str], say: Callable[[str], None]
) -> None:
    """Say in words what became of one station, for each model."""
    cycle = cycle or latest_cycle(case)
    chosen = [case.model(name) for name in models] if models else list(case.models)
    failed: list[FirecardError] = []
    for model in chosen:
        try:
            kept = matched(case, find_files.fn(case, model, "weather", cycle))
        except FirecardError as error:
            failed.append(error)
            if len(failed) == len(chosen):
                raise
            say(f"model {model.name}: cannot be scored: {error}")
            continue
        rows = kept.table[kept.table["station"].astype(str) == station]
        if rows.empty:
            known = sorted(set(kept.table["station"].astype(str)))
            raise MissingInput(
                f"no station {station!r} for model {model.name!r}{meant(station, known)} ({len(known)} stations)"
            )
        where = f"{rows['lat'].iloc[0]:g} N, {rows['lon'].iloc[0]:g} E"
        say(f"model {model.name}, cycle {cycle:%Y-%m-%dT%H:%MZ}: station {station} at {where}")
        for variable, own in rows.groupby("variable", sort=True):
            say(f"  {variable}: {_fate(own)}")
        for instance, result in _results(case, kept, cycle):
            if station in result.dropped:
                say(f"  {instance.id} {instance.name}: left out, with {result.dropped[station]} pairs it has too few")


def _fate(rows: pd.DataFrame) -> str:
    """What became of one station's candidates of one variable."""
    counts = rows["reason"].value_counts()
    pairs = int(counts.get(PAIR, 0))
    if pairs == len(rows):
        return f"all {pairs} candidates are pairs"
    parts = [f"{pairs or 'none'} of {len(rows)} candidates {'is a pair' if pairs == 1 else 'are pairs'}"]
    for reason, own in rows[rows["reason"] != PAIR].groupby("reason", sort=True):
        when = own["valid_time"].sort_values()
        span = f"{when.iloc[0]:%d %H:%MZ}" + (f" to {when.iloc[-1]:%d %H:%MZ}" if len(when) > 1 else "")
        parts.append(f"{len(own)} {reason} ({span})")
    return "; ".join(parts)
