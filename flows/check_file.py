"""Check of a file alone: its format, what is in it, and what a case could do with it; nothing is scored or written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from configs.formats import MODEL, OBSERVED
from metrics.errors import BadInput, FirecardError
from tasks.describing.other import describe_other
from tasks.describing.seen import look_at
from tasks.readers.formats import OWN_TABLES, Head, candidates, is_table_of_stations, recognise
from tasks.readers.stations import read_places

Say = Callable[[str], None]


def check_file(path: Path, say: Say) -> bool:
    """Say everything about a file; True if it could be read as one thing or another."""
    head = Head.of(path)
    found = candidates(head, (*MODEL, *OBSERVED))
    if not found:
        other = describe_other(path)
        if other:
            say(f"{path}: {other[0]}")
            for line in other[1:]:
                say(f"  {line}")
            return True
        if is_table_of_stations(head):
            places = read_places(path)
            say(f"{path}: table of stations, for `stations:` beside the `path:` of observations")
            say(f"  {len(places):,} stations")
            return True
        resembled = recognise(path, (*MODEL, *OBSERVED))  # refused, unless it may be meant for a table of our own
        look_at([path], resembled)
        raise BadInput(f"{path}: is no {resembled.title}; {OWN_TABLES}")
    if len(found) > 1:
        listed = " or ".join(f"{each.name} ({each.title})" for each in found)
        say(f"{path}: could be {listed}; in a case, `source:` says which")
    good = []
    for each in found:
        say(f"{path}: {each.title} (source: {each.name}), for {PLACES[each.holds]}")
        try:
            lines = look_at([path], each).lines()
        except FirecardError as error:
            say(f"  cannot be used: {error}")
            good.append(False)
            continue
        for line in lines:
            say(f"  {line}")
        good.append(True)
    return any(good)


PLACES = {
    "grid": "`models:`",
    "forecasts": "`models:`",
    "pairs": "`models:` (the observations are in it)",
    "stations": "`observations:`",
}
