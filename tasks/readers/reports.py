"""What readers of station reports share: columns by the names of a case, and values in the unit that is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from configs.source import plain
from configs.units import convert
from metrics.errors import BadInput, UnknownUnit
from metrics.variables import Variable
from tasks.matching.quality import CODES

OPTIONAL = {"elevation": "m", "height": "m", "averaging": "min"}
"""What may be known of a station beside its position, and the unit that it is kept in."""

BRACKETS = re.compile(r"^\s*(.*?)\s*\[([^\[\]]*)\]\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file and its unit: as its header, the format or the case says; None where nobody does."""

    header: str
    unit: str | None = None


def headed(header: str) -> Column:
    """What stands before the brackets of a header such as `ff [kt]`, and the unit in them."""
    found = BRACKETS.match(header)
    return Column(found[1], found[2]) if found else Column(header)


def wished(
    names: Mapping[str, str],
    found: Sequence[str],
    known: Collection[str],
    path: Path,
    split: Callable[[str], Column] = headed,
) -> dict[str, Column]:
    """The columns that `names:` of the case gives, by firecard's names, of those `known` to the reader.

    `{wind_speed: ff}` is the column `ff` or, with its unit, `ff [kt]`; `{wind_speed: "ff [kt]"}` says the unit of a
    column that is only called `ff`. `split` takes a header apart as the format writes it.
    """
    columns = {}
    for name, given in names.items():
        if name not in known:
            expected = ", ".join(sorted(known))
            raise BadInput(f"{path}: `names:` gives {plain(repr(name), 80)}, which is not read here; known: {expected}")
        said = Column(given) if given in found else headed(given)
        headers = [each for each in found if each == said.header] or [
            each for each in found if split(each).header == said.header
        ]
        if len(headers) != 1:
            how = "stands there twice" if headers else "is missing"
            raise BadInput(
                f"{path}: the column {plain(repr(said.header), 80)}, which `names:` gives for {name}, {how}"
                f" (found: {plain(', '.join(found), 200)})"
            )
        unit = split(headers[0]).unit
        if said.unit is not None and unit is not None and said.unit != unit:
            raise BadInput(
                f"{path}: `names:` says that {name} is in {plain(repr(said.unit), 60)},"
                f" its header {plain(repr(headers[0]), 80)} says {plain(repr(unit), 60)}"
            )
        columns[name] = Column(headers[0], said.unit if unit is None else unit)
    return columns


def refuse_repeated(found: Sequence[str], path: Path) -> None:
    """Two columns of one name cannot be told apart."""
    repeated = [name for name in found if found.count(name) > 1]
    if repeated:
        raise BadInput(f"{path}: the column {plain(repr(repeated[0]), 80)} stands there twice")


def unit_of(column: Column, variable: Variable, path: Path) -> str:
    """The unit of a column; refused where nobody says it."""
    if column.unit is None:
        header = plain(column.header, 80)
        raise BadInput(
            f"{path}: the column {header!r} has no unit; write it behind the name, such as '{header} [{variable.unit}]'"
            f' (or so in `names:` of the case, {{{variable.name}: "{header} [{variable.unit}]"}})'
        )
    return column.unit


def measured(values: pd.Series, unit: str, variable: Variable, path: Path | str, header: str) -> pd.Series:
    """The values in the unit that is kept; a missing code (-9999 kt) stays what it is, for quality to see."""
    kept = converted(values, unit, variable.unit, path, header)
    possible = (kept >= variable.lowest) & (kept <= variable.highest)
    return kept.where(possible | ~values.isin(CODES), values)


def converted(values: pd.Series, unit: str, target: str, path: Path | str, header: str) -> pd.Series:
    """The values in the unit `target`; a unit that is none of its kind is refused with the column's name."""
    try:
        return pd.Series(convert(values.to_numpy(), unit, target), index=values.index)
    except UnknownUnit as error:
        raise BadInput(f"{path}: column {plain(repr(header), 120)}: {error}") from None
