"""Find: the files of a model for a cycle with their digests; and which cycle there is to score."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from configs import paths
from configs.case import Case, Data, Model
from metrics.errors import BadInput, FirecardError, MissingInput
from tasks.families.family import FoundFiles
from tasks.families.weather import described, format_of, model_wishes
from tasks.readers.formats import reader
from tasks.store.digests import InputFile, input_file


def retry_io(_task: object, _run: object, state: State[Any]) -> bool:
    """Try again what a disk or a network may have done; what firecard refuses on purpose is refused again."""
    try:
        state.result()
    except FirecardError:
        return False
    except (OSError, httpx.TransportError):
        return True
    return False


@task(
    task_run_name="find-{model.name}-{family}",
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[1, 5],
    retry_condition_fn=retry_io,
)
def find_files(case: Case, model: Model, family: str, cycle: datetime, leave_out: Collection[str] = ()) -> FoundFiles:
    """The files of one model and family for this cycle, on both sides, with their digests."""
    data = model.data[family]
    observed = case.observations.get(family)
    return FoundFiles(
        model=model.name,
        family=family,
        cycle=cycle,
        data=data,
        files=_files(case, data.path, cycle, leave_out),
        observations=_files(case, observed.path, cycle, leave_out) if observed else (),
        beside=_beside(case, observed, cycle, leave_out) if observed else (),
    )


def _beside(case: Case, observed: Data, cycle: datetime, leave_out: Collection[str]) -> tuple[InputFile, ...]:
    """The table of stations, where the case names one."""
    path = observed.options.get("stations")
    if not path:
        return ()
    found = _files(case, path, cycle, leave_out, "table of stations")
    if len(found) > 1:
        listed = ", ".join(each.path.name for each in found[:3])
        raise BadInput(f"{case.path}: `stations: {path}` is {len(found)} files ({listed} …); expected one table")
    return found


def _files(
    case: Case, path: str, cycle: datetime, leave_out: Collection[str] = (), what: str = "file"
) -> tuple[InputFile, ...]:
    everything = paths.files(path, case.root, cycle)
    found = [each for each in everything if str(each) not in leave_out]
    if everything and not found:
        raise MissingInput(f"{case.path}: {everything[0].name}: still being written, as are all that match {path!r}")
    if not found:
        when = f"{cycle:%Y-%m-%dT%H}"
        raise MissingInput(f"{case.path}: no {what} matches {path!r} for cycle {when} (below {case.root})")
    return tuple(input_file(each, case.root) for each in found)


def latest_cycle(case: Case) -> datetime:
    """The case's own cycle, else the newest that a model has: by the names of its files, else by what is in them."""
    if case.cycle is not None:
        return case.cycle
    sources = [data for model in case.models for data in model.data.values()]
    named = [cycle for data in sources for cycle in paths.cycles(data.path, case.root)]
    if named:
        return max(named)
    sources = [model.data["weather"] for model in case.models if "weather" in model.data]
    if not sources:
        raise MissingInput(f"{case.path}: no file says which cycle it is: state `cycle:` in the case, or --cycle")
    newest: list[datetime] = []
    problems: list[FirecardError] = []
    searched = [each for each in sources if not paths.is_one_url_per_cycle(each.path)]
    if not searched:
        raise MissingInput(
            f"{case.path}: {sources[0].path!r} cannot be searched for cycles: state `cycle:`, or --cycle"
        )
    candidates = {path: each for each in searched for path in paths.files(each.path, case.root, datetime.now(UTC))}
    for path, data in candidates.items():
        try:
            newest.append(_cycle_in(path, data, case))
        except FirecardError as error:
            problems.append(error)
    if newest:
        return max(newest)
    if problems:
        raise problems[0]
    patterns = ", ".join(dict.fromkeys(data.path for data in sources))
    raise MissingInput(f"{case.path}: no file matches {patterns} (below {case.root})")


def _cycle_in(path: Path, data: Data, case: Case) -> datetime:
    """The newest cycle inside a file: a column of pairs or of forecasts, or the reference time of a grid."""
    kind = format_of(data, path)
    if kind.holds != "grid":
        paired = kind.holds == "pairs"
        read = reader(kind).read_pairs if paired else reader(kind).read_forecasts
        table = read(path, case.variables if paired else model_wishes(data, case))
        newest: datetime = table["cycle"].max().to_pydatetime()
        return newest
    files = described([path], data, case)
    moment = files.reference_time if files.reference_time is not None else files.times[0]
    return datetime.fromtimestamp(float(moment.astype("datetime64[s]").astype(int)), UTC)
