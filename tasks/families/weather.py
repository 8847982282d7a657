"""The weather family: pairs at stations, from pairs made elsewhere or from a model and station reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from configs.case import Case, Data
from configs.formats import MODEL, Format
from metrics.errors import BadInput
from metrics.kpis.kpi import KpiResult, Reduced, evaluate
from tasks.families.family import Account, Family, FoundFiles, Work
from tasks.matching.ledger import PAIR, ledger
from tasks.matching.pairs import POINT, Matched, match_pairs
from tasks.matching.table import read_matched, write_matched
from tasks.readers.formats import StationWishes, reader, recognise
from tasks.reducing.sample import Night, night
from tasks.reducing.table import as_reduced, binding, read_sums, reduce_night, write_sums
from tasks.report import weather as section

if TYPE_CHECKING:
    from tasks.readers.grids import GridFiles
    from tasks.readers.stations import Observations

WIND = ("wind_speed", "wind_direction")


def needed(case: Case) -> tuple[str, ...]:
    """The variables that the case's KPIs look at; direction needs speed to know a calm."""
    names = {each.variable.name for each in case.instances_of("weather").values()}
    if "wind_direction" in names or any(each.kpi.kind == "wind" for each in case.instances_of("weather").values()):
        names |= set(WIND)
    return tuple(sorted(names))


def format_of(data: Data, path: Path) -> Format:
    """The format of a model's file: said in the case, else recognised."""
    return recognise(path, MODEL, source=data.source)


def match_key(case: Case, found: FoundFiles) -> Any:
    paired = format_of(found.data, found.files[0].path).holds == "pairs"
    rules = () if paired else (case.matching, needed(case), case.observations.get("weather"))
    return (found.data, found.model, found.cycle, case.window, case.variables, rules)


def match(case: Case, found: FoundFiles, path: Path, work: Work) -> None:
    write_matched(path, matched(case, found, work))


def matched(case: Case, found: FoundFiles, work: Work = Work()) -> Matched:  # noqa: B008  (frozen)
    """The model's candidates with what became of them."""
    files = [each.path for each in found.files]
    kind = format_of(found.data, files[0])
    if kind.holds == "pairs":
        name = found.data.options.get("name") or found.model
        return match_pairs(files, name, found.cycle, case.window, case.variables, read=reader(kind).read_pairs)
    if not found.observations:
        raise BadInput(f"{case.path}: model {found.model!r} is {kind.title}: say `observations: {{weather: …}}`")
    if kind.holds == "forecasts":
        return _matched_forecasts(case, found, files, kind)
    from tasks.matching.stations import match_grid

    return match_grid(
        described(files, found.data, case, cycle=found.cycle, keep_going=True),
        observed(case, found),
        cycle=found.cycle,
        window=case.window,
        rules=case.matching,
        variables=case.variables,
        needed=needed(case),
        session=work.session,
        progress=work,
    )


def _matched_forecasts(case: Case, found: FoundFiles, files: Sequence[Path], kind: Format) -> Matched:
    """The candidates of a model whose files have its values at stations."""
    from tasks.matching.forecasts import match_forecasts, read_model

    model = read_model(
        files,
        kind,
        cycle=found.cycle,
        wishes=replace(model_wishes(found.data, case), around=found.cycle),
        name=found.data.options.get("name"),
        height=found.data.options.get("wind_height"),
    )
    return match_forecasts(
        model,
        observed(case, found, elsewhere=model.places),
        cycle=found.cycle,
        window=case.window,
        rules=case.matching,
        variables=case.variables,
        needed=needed(case),
    )


def model_wishes(data: Data, case: Case) -> StationWishes:
    """What the case says about a model's files of stations."""
    return StationWishes(variables=case.variables, names=data.options.get("names", {}))


def observed(case: Case, found: FoundFiles, *, elsewhere: pd.DataFrame | None = None) -> Observations:
    """The reports of the case's stations for the cycle; `elsewhere` has positions for reports without any."""
    from tasks.readers.stations import read_places, read_stations

    data = case.observations["weather"]
    wishes = StationWishes(
        names=data.options.get("names", {}),
        places=read_places(found.beside[0].path) if found.beside else None,
        around=found.cycle,
        zone=data.options.get("zone"),
        trusted=bool(data.options.get("trusted")),
    )
    paths = [each.path for each in found.observations]
    return read_stations(paths, case.variables, source=data.source, wishes=wishes, elsewhere=elsewhere)


def described(
    files: Sequence[Path], data: Data, case: Case, *, cycle: datetime | None = None, keep_going: bool = False
) -> GridFiles:
    """What a model's files offer, with what the case says about them; `cycle` is for files that have several."""
    from tasks.readers.grids import Wishes, describe

    wishes = Wishes(
        names=data.options.get("names", {}),
        winds=data.options.get("winds"),
        wind_height=data.options.get("wind_height"),
        cycle=None if cycle is None else np.datetime64(cycle.astimezone(UTC).replace(tzinfo=None), "ns"),
        variables=case.variables,
    )
    return describe(files, source=data.source, wishes=wishes, keep_going=keep_going)  # type: ignore[arg-type]


def reduce_key(case: Case) -> Any:
    return [binding(each) for each in case.instances_of("weather").values()]


def reduce(case: Case, model: str, cycle: datetime, pairs: Path, path: Path) -> None:
    """The sums of every KPI by station, over the window and by lead."""
    kept = read_matched(pairs)
    arrays = night(kept.table, kept.offered, cycle)
    labels = {"case": case.id, "model": model, "cycle": f"{cycle:%Y-%m-%dT%H:%MZ}"}
    write_sums(path, reduce_night(arrays, case.instances_of("weather").values()), arrays.stations, labels)


def finish(case: Case, sums: Path) -> dict[str, KpiResult]:
    """Every KPI's value with what it rests on."""
    return _evaluated(case, read_sums(sums, case.instances_of("weather")))


def results_of(case: Case, arrays: Night) -> dict[str, KpiResult]:
    """The same, straight from a night's pairs."""
    instances = case.instances_of("weather")
    reduced = reduce_night(arrays, instances.values())
    return _evaluated(
        case, {each.instance: as_reduced(each, instances[each.instance], arrays.stations) for each in reduced}
    )


def _evaluated(case: Case, reduced: Mapping[str, Reduced]) -> dict[str, KpiResult]:
    instances = case.instances_of("weather")
    return {
        name: evaluate(
            instances[name].kpi,
            each,
            unit=instances[name].unit,
            aggregate=instances[name].aggregate,
            rules=case.rules,
        )
        for name, each in reduced.items()
    }


def common(case: Case, cycle: datetime, pairs: Mapping[str, Path]) -> dict[str, dict[str, KpiResult]]:
    """Every model's KPIs on the pairs that all models have which offer the variable (D-05)."""
    kept = {model: read_matched(path) for model, path in pairs.items()}
    own = {model: each.table[each.table["reason"] == PAIR] for model, each in kept.items()}
    points = {model: pd.MultiIndex.from_frame(table[POINT].astype({"station": str})) for model, table in own.items()}
    results = {}
    for model, table in own.items():
        shared = np.ones(len(table), dtype=bool)
        for other, index in points.items():
            offered = table["variable"].isin(kept[other].offered).to_numpy()
            shared &= ~offered | points[model].isin(index)
        arrays = night(table[shared], kept[model].offered, cycle)
        results[model] = results_of(case, arrays)
    return results


def account(pairs: Path) -> Account:
    kept = read_matched(pairs)
    return Account(ledger(kept.table), kept.how)


FAMILY = Family(
    "weather",
    match_key,
    match,
    reduce_key,
    reduce,
    finish,
    account,
    report=section.report,
    markdown=section.markdown,
    common=common,
    pictures=section.pictures,
)
