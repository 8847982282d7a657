"""The nights of a case, as lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from metrics.errors import MissingInput
from tasks.store.history import Night, nights


def show_history(root: Path, case: str, scheme: str | None, last: int, say: Callable[[str], None]) -> list[Night]:
    """Say every night's totals, one line a cycle and scheme, one column a model; the nights shown."""
    found = [each for each in nights(root, case) if scheme in (None, each.scheme)]
    if not found:
        raise MissingInput(f"{root}: no night of case {case!r} is kept there")
    models = sorted({each.model for each in found})
    width = max(8, *(len(each) + 1 for each in models))
    say(f"{'cycle':<18}{'scheme':<8}" + "".join(f"{each:>{width}}" for each in models))
    shown: list[Night] = []
    for cycle in sorted({each.cycle for each in found}, reverse=True)[:last]:
        for letter in sorted({each.scheme for each in found if each.cycle == cycle}):
            own = {each.model: each for each in found if (each.cycle, each.scheme) == (cycle, letter)}
            cells = [_cell(own.get(model)) for model in models]
            say(f"{cycle:<18}{letter:<8}" + "".join(f"{each:>{width}}" for each in cells))
            shown += own.values()
    if any(each.partial for each in shown):
        say("* partial: do not rank it against a complete card")
    return shown


def _cell(night: Night | None) -> str:
    return "–" if night is None else night.text + ("*" if night.partial else "")
