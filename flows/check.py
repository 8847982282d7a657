"""Check: what a case finds and understands, and what would be left out and why; nothing is scored or written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from configs.case import Case, Model
from metrics.errors import FirecardError
from metrics.kpis.kpi import evaluate
from tasks.families.weather import is_grid, matched
from tasks.find import find_files, latest_cycle
from tasks.matching.clock import step_of
from tasks.matching.ledger import PAIR
from tasks.matching.pairs import Matched
from tasks.reducing.sample import night
from tasks.reducing.table import as_reduced, reduce_night
from tasks.store.digests import InputFile


def check_case(case: Case, cycle: datetime | None, say: Callable[[str], None]) -> bool:
    """Say everything about a case; True if every model could be read."""
    say(f"{case.path}: case {case.id}{': ' + case.title if case.title else ''}")
    say(f"  {len(case.instances)} KPIs in {len(case.groups)} groups, schemes {', '.join(case.schemes)}")
    cycle = cycle or latest_cycle(case)
    say(f"  cycle {cycle:%Y-%m-%dT%H:%MZ}, valid {case.window.describe(cycle)}")
    good = [_check_model(case, model, cycle, say) for model in case.models]
    return all(good)


def _check_model(case: Case, model: Model, cycle: datetime, say: Callable[[str], None]) -> bool:
    say(f"model {model.name}")
    try:
        found = find_files.fn(case, model, "weather", cycle)
        kind = "gridded output" if is_grid(found) else "table of pairs"
        _say_files(found.files, kind, say)
        _say_files(found.observations, "station reports", say)
        kept = matched(case, found)
    except FirecardError as error:
        say(f"  cannot be scored: {error}")
        return False
    for name, value in kept.how.items():
        if value not in (None, {}):
            say(f"  {name.replace('_', ' ')}: {_in_words(value)}")
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


def _say_what_is_left_out(case: Case, matched: Matched, cycle: datetime, say: Callable[[str], None]) -> None:
    arrays = night(matched.table, matched.offered, cycle)
    for each in reduce_night(arrays, case.instances.values()):
        instance = case.instances[each.instance]
        result = evaluate(
            instance.kpi,
            as_reduced(each, instance, arrays.stations),
            unit=instance.unit,
            aggregate=instance.aggregate,
            rules=case.rules,
        )
        notes = [*result.flags, *(f"{count} {reason}" for reason, count in result.left_out.items())]
        state = (
            "n/a"
            if result.value is None and not result.penalised
            else f"{result.n} pairs, {result.used}/{result.total} stations"
        )
        say(f"  {instance.id} {instance.name}: {state}{'; ' + '; '.join(notes) if notes else ''}")
