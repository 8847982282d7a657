"""Init: a case file for a user's own files, ready to run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from configs.case import read_case
from configs.formats import MODEL, OBSERVED, Format
from metrics.errors import BadInput, OutputRefused
from tasks.describing.draft import DATED, Draft, case_text, model_names
from tasks.describing.seen import Seen, look_at
from tasks.describing.together import one_each
from tasks.readers.formats import Head, is_table_of_stations, recognise
from tasks.store.keyed import writing


def write_case(files: Sequence[Path], to: Path, name: str | None, force: bool, say: Callable[[str], None]) -> None:
    """Recognise the files, draft the case, and write it if it reads well; an existing one only with `force`."""
    if to.exists() and not force:
        raise OutputRefused(f"{to}: is there already; --force replaces it, --to names another")
    label = name or re.sub(r"[^A-Za-z0-9_-]+", "-", to.stem).strip("-_")[:40] or "case"
    draft = drafted(files, to.parent, say)
    text = case_text(draft, label.upper() if name is None else label)
    with writing(to) as temporary:
        temporary.write_text(text, encoding="utf-8")
        read_case(temporary)
    say(f"Wrote {to}. Next: firecard check {to}; firecard run {to}")


def drafted(files: Sequence[Path], root: Path, say: Callable[[str], None]) -> Draft:
    """What the files hold, told apart: models, observations, a table of stations."""
    places: list[Path] = []
    sets: dict[tuple[Format, str], list[Path]] = {}
    for path in dict.fromkeys(files):
        if is_table_of_stations(Head.of(path)):
            say(f"{path}: table of stations")
            places.append(path)
            continue
        found = recognise(path, (*MODEL, *OBSERVED))
        together = "" if found.holds in OBSERVED else DATED.sub("", str(path))
        sets.setdefault((found, together), []).append(path)
    if len(places) > 1:
        raise BadInput(f"{places[1]}: a second table of stations beside {places[0]}; one is used")
    for (found, _), paths in sets.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        say(f"{paths[0]}{more}: {found.title} (source: {found.name})")
    seen = [look_at(paths, found) for (found, _), paths in sets.items() if found.holds in MODEL]
    seen = one_each(seen, say)
    nameless = [each for each in seen if not each.models]
    models = {name: each for each in seen for name in each.models}
    models |= dict(zip(model_names(nameless), nameless, strict=True))
    if not models:
        raise BadInput(f"{files[0]}: no model among the files; give model output and observations together")
    return Draft(models, _observed(sets, models, places), places[0] if places else None, root)


def _observed(
    sets: dict[tuple[Format, str], list[Path]], models: dict[str, Seen], places: Sequence[Path]
) -> Seen | None:
    """The observations, which models that are no pairs need."""
    observed = {found: paths for (found, _), paths in sets.items() if found.holds in OBSERVED}
    if len(observed) > 1:
        listed = ", ".join(f"{paths[0].name} ({found.title})" for found, paths in observed.items())
        raise BadInput(f"observations of several formats: {listed}; a case takes one, so give one of them")
    around = max((each.cycles or each.times)[-1] for each in models.values())
    seen = next((look_at(paths, found, around=around) for found, paths in observed.items()), None)
    needing = [each for each in models.values() if each.format.holds != "pairs"]
    if needing and seen is None:
        raise BadInput(f"{needing[0].paths[0]}: is {needing[0].format.title}; give the observations too")
    if seen and not seen.placed and not places and any(each.format.holds == "grid" for each in needing):
        raise BadInput(
            f"{seen.paths[0]}: does not say where its stations are; give a table with the columns station, lat and lon"
            " beside it"
        )
    return seen if needing else None
