"""Which files are one model: those that hold its variables, or its hours, each in a file of its own.

Two sets of files are one model only where nothing speaks against it: they lie on one grid, and what both hold does not
overlap. Several models with such files are told apart by the files' names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path

from metrics.errors import FirecardError
from tasks.describing.seen import Seen, look_at

COMPONENT = re.compile(
    r"(?<![^\W_\d])(?:[uv](?:gr?d|wind|as|comp(?:onent)?)?|eastward|northward)(?![^\W_\d])", re.IGNORECASE
)


def one_each(sets: Sequence[Seen], say: Callable[[str], None]) -> list[Seen]:
    """The sets with those joined that belong to one model; what was joined is said."""
    told = list(sets)
    for key, apart in (
        (lambda each: (_grid(each), each.parts, _unnumbered(each.paths[0])), lambda each: each.times),
        (lambda each: (_grid(each), each.times, COMPONENT.sub("*", str(each.paths[0]))), lambda each: each.parts),
        (lambda each: (_grid(each), each.times, each.paths[0].parent), lambda each: each.parts),
    ):
        groups: dict[object, list[Seen]] = {}
        for each in told:
            groups.setdefault(key(each) if each.shape else id(each), []).append(each)
        told = [one for group in groups.values() for one in _joined(group, apart, say)]
    return told


def _joined(
    group: Sequence[Seen], apart: Callable[[Seen], Iterable[object]], say: Callable[[str], None]
) -> Sequence[Seen]:
    """The group as one set, or as it is where its members share what should be apart or do not go together."""
    held = [each for seen in group for each in apart(seen)]
    if len(group) < 2 or len(set(held)) < len(held):
        return group
    paths = tuple(chain.from_iterable(each.paths for each in group))
    try:
        whole = look_at(paths, group[0].format)
    except FirecardError:
        return group
    listed = ", ".join(str(path) for path in paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    say(f"{listed}: one model, on one grid with {'other variables' if _same_times(group) else 'other times'} in each")
    return [whole]


def _same_times(group: Sequence[Seen]) -> bool:
    return len({each.times for each in group}) == 1


def _grid(seen: Seen) -> tuple[object, ...]:
    return seen.format, seen.shape, seen.cycles, next(fact for fact in seen.facts if fact.startswith("grid"))


def _unnumbered(path: Path) -> Path:
    return path.with_name(re.sub(r"\d+", "*", path.name))
