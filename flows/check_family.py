"""Check of a family other than weather: its files, its ledger and what each KPI would rest on; nothing is kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from configs.case import Case, Model
from metrics.errors import FirecardError
from tasks.families import FAMILIES
from tasks.families.family import Work
from tasks.find import find_files
from tasks.matching.ledger import summary


def check_family(case: Case, model: Model, name: str, cycle: datetime, say: Callable[[str], None]) -> bool:
    """Say what was found and understood of one model's family; True if it could be read."""
    say(f"model {model.name}: {name}")
    family = FAMILIES[name]
    try:
        found = find_files.fn(case, model, name, cycle)
        for each in found.inputs:
            say(f"  file {each.name} ({each.size:,} bytes)")
        with TemporaryDirectory() as folder:
            pairs, sums = Path(folder) / "pairs", Path(folder) / "sums"
            family.match(case, found, pairs, Work())
            account = family.account(pairs)
            family.reduce(case, model.name, cycle, pairs, sums)
            results = family.finish(case, sums)
    except FirecardError as error:
        say(f"  cannot be scored: {error}")
        return False
    for key, value in account.how.items():
        say(f"  {key.replace('_', ' ')}: {value}")
    for variable, entry in summary(account.ledger).items():
        why = ", ".join(f"{count} {reason}" for reason, count in entry["left_out"].items())
        say(f"  {variable}: {entry['pairs']} of {entry['candidates']} candidates{f' ({why})' if why else ''}")
    for key, result in results.items():
        state = "n/a" if result.value is None else f"{result.n} pairs"
        said = "".join(f"; {flag}" for flag in result.flags)
        say(f"  {key} {case.instances[key].name}: {state}{said}")
    return True
