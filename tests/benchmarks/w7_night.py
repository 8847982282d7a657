"""The whole nightly run: three models from their files to cards, history and artifacts, on a server that is up."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from w1_night import CASE, COLUMNS, CYCLE, FILES, ROWS, STATIONS, write_night
from workload import Disagreement, Goal, Results, Trial

ID = "W7"
WORK = "the whole nightly run: three models, cards, history, artifacts, server already up"
MODELS = ("one", "two", "three")
ALL, REST, STAGES = "the whole run", "the run with pairs and sums kept", "find, match and reduce"


def prepare() -> Trial:
    folder = Path(_kept().name)
    for number, model in enumerate(MODELS):
        (folder / model).mkdir()
        write_night(folder / model, seed=number)
    shutil.copy(folder / MODELS[0] / "stations.parquet", folder)
    models = ", ".join(f"{each}: {{weather: {{path: '{each}/wrfout_*'}}}}" for each in MODELS)
    text = CASE.replace("case: W1", "case: W7").replace('{wrf: {weather: {path: "wrfout_*"}}}', f"{{{models}}}")
    assert all(each in text for each in MODELS)
    case_file = folder / "case.yaml"
    case_file.write_text(text)
    _serve(folder)
    return Trial(
        inputs=f"3 models, each {FILES} files of {ROWS} × {COLUMNS} and the same {STATIONS} stations",
        contenders={
            ALL: lambda: run(case_file, folder / "cards", recalculate=True),
            REST: lambda: run(case_file, folder / "cards", recalculate=False),
            STAGES: lambda: stages(case_file, folder / "stages"),
        },
        agree=agree,
        goals=(
            Goal("all that is not find, match or reduce", lambda seconds: seconds[REST], "≤", 3, unit=" s"),
            Goal("the whole run less its stages", lambda seconds: seconds[ALL] - seconds[STAGES], "≤", 3, unit=" s"),
        ),
        notes=(
            "With pairs and sums kept a run looks its files up (digests are remembered), scores, draws, writes and",
            "publishes; the warm-up has imported everything. The stages alone run without Prefect, model after model.",
        ),
    )


@cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="firecard-w7-")


def _serve(folder: Path) -> None:
    """A private server for as long as this process lives."""
    from flows.server import Server

    os.environ.pop("PREFECT_API_URL", None)
    os.environ["PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"] = "CRITICAL"
    server = Server(folder / "home").launch()
    atexit.register(server.leave)
    server.wait()


def run(case_file: Path, out: Path, *, recalculate: bool) -> dict[str, bytes]:
    from flows.evaluate import evaluate

    evaluate(case_file, CYCLE, out=out, recalculate=recalculate)
    return {path.parent.name: path.read_bytes() for path in out.rglob("card.json")}


def stages(case_file: Path, out: Path) -> dict[str, Any]:
    """What the run does before it scores, without Prefect."""
    from configs.case import read_case
    from tasks.compute import session
    from tasks.find import find_files
    from tasks.match import match_model
    from tasks.reduce import reduce_pairs
    from tasks.store.keyed import Store

    case, store = read_case(case_file), Store(out, recalculate=True)
    sums = {}
    with session("threads") as compute:
        for model in case.models:
            found = find_files.fn(case, model, "weather", CYCLE)
            pairs = match_model.fn(case, found, store, compute)
            sums[model.name] = reduce_pairs.fn(case, model.name, "weather", CYCLE, pairs, store)
    return {model: path.name for model, path in sums.items()}


def agree(results: Results) -> None:
    if set(results[ALL]) != set(MODELS) or results[ALL] != results[REST]:
        raise Disagreement("the run with its stages kept writes other cards")
    if set(results[STAGES]) != set(MODELS):
        raise Disagreement("the stages have not been done for every model")
