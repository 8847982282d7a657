"""Nightly, backfill and history: the cycle that is due, files that are late or still grow, and nights kept once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from configs.case import read_case
from flows.backfill import backfill
from flows.history import show_history
from flows.nightly import due_cycle, look, nightly, usual_files
from metrics.errors import FirecardError, MissingInput
from tasks.store.history import has, nights

CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
MORNING = datetime(2026, 11, 19, 12, tzinfo=UTC)
HandCase = Callable[..., Path]


@pytest.fixture
def nights_case(hand_case: HandCase, hand_rows: list[str], tmp_path: Path) -> Path:
    """The hand-worked case with a file per model and cycle, for three cycles; all of them long at rest."""
    changes = [
        (f"{model}: {{weather: {{path: pairs.csv", f"{model}: {{weather: {{path: '{model}/{{cycle:%Y%m%d}}.csv'")
        for model in ("perfect", "strong")
    ]
    case = hand_case(*changes)
    head, *rows = hand_rows
    for model in ("perfect", "strong"):
        (tmp_path / model).mkdir()
        for day in (17, 18, 19):
            own = [row.replace("2026-11-17T", f"2026-11-{day}T") for row in rows if row.startswith(model)]
            path = tmp_path / model / f"202611{day}.csv"
            path.write_text("\n".join([head, *own]) + "\n")
            os.utime(path, (1e9, 1e9))
    return case


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        # The window is four hours, observations take three: a cycle of 00Z is due at 07Z.
        pytest.param(datetime(2026, 11, 19, 7, tzinfo=UTC), 19, id="just due"),
        pytest.param(datetime(2026, 11, 19, 6, 59, tzinfo=UTC), 18, id="a minute too early"),
        pytest.param(datetime(2026, 12, 24, tzinfo=UTC), 19, id="long after"),
    ],
)
def test_the_newest_cycle_whose_observations_are_in(nights_case: Path, now: datetime, expected: int):
    assert due_cycle(read_case(nights_case), now, 3.0) == datetime(2026, 11, expected, tzinfo=UTC)


def test_no_cycle_is_due_yet(nights_case: Path):
    with pytest.raises(MissingInput, match="no cycle is due before 2026-11-17T07:00Z"):
        due_cycle(read_case(nights_case), datetime(2026, 11, 17, 1, tzinfo=UTC), 3.0)


def test_a_cycle_that_should_be_there_is_due_before_it_has_a_file(nights_case: Path):
    case, now = read_case(nights_case), datetime(2026, 11, 20, 7, tzinfo=UTC)
    assert due_cycle(case, now, 3.0).day == 19
    assert due_cycle(case, now, 3.0, every=24).day == 20
    assert due_cycle(case, now - timedelta(minutes=1), 3.0, every=24).day == 19


def test_as_many_files_are_expected_as_the_cycle_before_had(nights_case: Path, tmp_path: Path):
    nights_case.write_text(nights_case.read_text().replace("strong/{cycle:%Y%m%d}.csv", "strong/{cycle:%Y%m%d}*.csv"))
    for hour in ("a", "b", "c"):
        (tmp_path / "strong" / f"20261118{hour}.csv").touch()
    os.utime(tmp_path / "strong" / "20261119.csv", (1e9, 1e9))
    case, cycle = read_case(nights_case), CYCLE + timedelta(days=2)
    usual = usual_files(case, cycle)
    assert usual == {"perfect (weather)": 1, "strong (weather)": 4}
    assert look(case, cycle, 0, None, usual).absent == ("strong (weather): 3 of 4 files",)
    assert usual_files(case, CYCLE) == {}  # nothing is known of the first


def test_a_file_grows_until_it_rests(nights_case: Path, tmp_path: Path):
    case = read_case(nights_case)
    late = tmp_path / "strong" / "20261117.csv"
    assert look(case, CYCLE, 60, None).complete
    late.touch()
    first = look(case, CYCLE, 60, None)
    assert first.growing == (late,)
    assert look(case, CYCLE, 60, first).complete  # the same at two looks
    late.write_text(late.read_text() + "\n")
    assert look(case, CYCLE, 60, first).growing == (late,)
    late.unlink()
    assert look(case, CYCLE, 60, None).absent == ("strong (weather)",)


def test_nightly_waits_for_a_late_file(nights_case: Path, tmp_path: Path, prefect_server: str):
    late = tmp_path / "strong" / "20261119.csv"
    text = late.read_text()
    late.unlink()

    def arrive() -> None:
        time.sleep(2)
        late.write_text(text)

    arrival = threading.Thread(target=arrive)
    arrival.start()
    outcomes = nightly(nights_case, out=tmp_path / "out", now=MORNING, wait=0.05, settle=1, poll=0.5)
    arrival.join()
    assert [each.problem for each in outcomes] == ["", ""]
    assert newest("waiting-hand").description == "HAND 2026-11-19T00: complete"
    assert has(tmp_path / "out" / "history", "HAND", "strong", datetime(2026, 11, 19, tzinfo=UTC), "AB")


def test_nightly_goes_on_without_what_never_comes(nights_case: Path, tmp_path: Path, prefect_server: str):
    (tmp_path / "strong" / "20261119.csv").unlink()
    state = nightly(nights_case, out=tmp_path / "out", now=MORNING, wait=0.0005, settle=0, poll=0.5, return_state=True)
    assert (state.name, state.type.value) == ("Partial", "COMPLETED")
    assert state.message == "partial or failed: strong; without strong (weather)"
    assert run_name(state.state_details.flow_run_id) == "nightly-hand-20261119T00"
    good, bad = state.result()
    assert good.cards[0].total == 100.0
    assert "strong" in bad.problem
    assert not list((tmp_path / "out").glob("HAND-*/2026-11-19T00/strong"))
    waiting = newest("waiting-hand")
    assert waiting.type == "progress"
    assert float(waiting.data) == 100.0
    assert waiting.description == "HAND 2026-11-19T00: goes on without strong (weather)"


def test_a_file_that_still_grows_is_not_read(nights_case: Path, tmp_path: Path, prefect_server: str):
    (tmp_path / "strong" / "20261119.csv").touch()
    state = nightly(nights_case, out=tmp_path / "out", now=MORNING, wait=0, settle=3600, return_state=True)
    assert state.message == "partial or failed: strong; without 20261119.csv (still growing)"
    _, bad = state.result()
    assert "still being written" in bad.problem
    assert newest("waiting-hand").description == "HAND 2026-11-19T00: goes on without 20261119.csv (still growing)"


def test_backfill_does_only_what_is_missing(nights_case: Path, tmp_path: Path, prefect_server: str):
    out = tmp_path / "out"
    last = CYCLE + timedelta(days=1)
    assert backfill(nights_case, CYCLE, last, out=out) == {"2026-11-17T00": "done", "2026-11-18T00": "done"}
    card = out / "HAND-A" / "2026-11-17T00" / "strong" / "card.json"
    written = card.stat().st_mtime_ns
    (out / "history" / "cards" / "HAND" / "strong" / "2026-11-18T0000.parquet").unlink()
    ended = backfill(nights_case, CYCLE, CYCLE + timedelta(days=2), out=out)
    assert ended == {"2026-11-17T00": "kept", "2026-11-18T00": "done", "2026-11-19T00": "done"}
    assert card.stat().st_mtime_ns == written
    assert {(each.cycle, each.model, each.scheme) for each in nights(out / "history", "HAND")} == {
        (f"2026-11-{day}T00:00Z", model, scheme)
        for day in (17, 18, 19)
        for model in ("perfect", "strong")
        for scheme in "AB"
    }


def test_backfill_names_the_cycle_that_failed(nights_case: Path, tmp_path: Path, prefect_server: str):
    ended = backfill(nights_case, CYCLE, CYCLE + timedelta(days=4), every=48, out=tmp_path / "out")
    assert ended["2026-11-17T00"] == "done"
    assert ended["2026-11-19T00"] == "done"
    assert "20261121" in ended["2026-11-21T00"] or "2026-11-21" in ended["2026-11-21T00"]
    with pytest.raises(FirecardError, match="before the first"):
        backfill(nights_case, CYCLE, CYCLE - timedelta(days=1), out=tmp_path / "out")


def test_a_rerun_replaces_its_own_night(nights_case: Path, tmp_path: Path, prefect_server: str):
    out = tmp_path / "out"
    for recalculate in (False, True):
        backfill(nights_case, CYCLE, CYCLE, out=out, recalculate=recalculate)
    files = list((out / "history").rglob("*.parquet"))
    assert len(files) == 3 * 2  # pairs, sums and card of two models
    rows = pq.read_table(out / "history" / "cards" / "HAND" / "strong" / "2026-11-17T0000.parquet").to_pylist()
    # Two schemes; in each a total, two groups and three KPIs.
    assert len(rows) == 2 * (1 + 2 + 3)
    assert {row["text"] for row in rows if row["level"] == "total"} == {"50.00"}


def test_the_history_in_lines(nights_case: Path, tmp_path: Path, prefect_server: str):
    backfill(nights_case, CYCLE, CYCLE + timedelta(days=1), out=tmp_path / "out")
    lines: list[str] = []
    show_history(tmp_path / "out" / "history", "HAND", "A", 30, lines.append)
    assert [line.split() for line in lines] == [
        ["cycle", "scheme", "perfect", "strong"],
        ["2026-11-18T00:00Z", "A", "100.0", "50.00"],
        ["2026-11-17T00:00Z", "A", "100.0", "50.00"],
    ]
    with pytest.raises(MissingInput, match="no night of case 'NONE'"):
        show_history(tmp_path / "out" / "history", "NONE", None, 30, lines.append)


def test_a_partial_run_ends_in_a_state_that_says_so(nights_case: Path, tmp_path: Path, prefect_server: str):
    from flows.evaluate import evaluate

    (tmp_path / "strong" / "20261117.csv").unlink()
    state = evaluate(nights_case, CYCLE, out=tmp_path / "out", return_state=True)
    assert (state.name, state.type.value) == ("Partial", "COMPLETED")
    assert "strong" in state.message
    problem = newest("problem-hand-strong").data
    assert "no file matches 'strong/" in problem.replace("\\", "")
    assert "- paths are relative to: " in problem
    assert f"firecard run {nights_case} --cycle 2026-11-17T00 --model strong --out {tmp_path / 'out'}" in problem


def test_a_run_that_fails_as_a_whole_says_so_in_an_artifact(nights_case: Path, tmp_path: Path, prefect_server: str):
    state = nightly(nights_case, now=datetime(2026, 11, 17, 1, tzinfo=UTC), return_state=True)
    assert state.is_failed()
    problem = newest("problem-hand").data.replace("\\", "")
    assert "> " + str(nights_case) + ": no cycle is due before 2026-11-17T07:00Z" in problem
    assert "    prefect deployment run nightly/nightly\n" in problem
    nights_case.write_text("case: [")
    assert backfill(nights_case, CYCLE, CYCLE, return_state=True).is_failed()
    problem = newest("problem-hand").data
    assert "hand.yaml:1" in problem.replace("\\", "")
    assert "--param first=2026-11-17T00:00Z --param last=2026-11-17T00:00Z --param every=24" in problem


def run_name(flow_run: Any) -> str:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return str(client.read_flow_run(flow_run).name)


def newest(key: str) -> Any:
    """The latest version of an artifact."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key])))
    return max(found, key=lambda each: each.created)


def test_a_table_of_stations_is_waited_for_as_well(hand_case: HandCase, tmp_path: Path):
    path = hand_case(("models:", "observations: {weather: {path: obs.csv, stations: stations.csv}}\nmodels:"))
    case = read_case(path)
    for name in ("pairs.csv", "obs.csv"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1e9, 1e9))
    assert look(case, CYCLE, 60, None).absent == ("table of stations (weather)",)
    table = tmp_path / "stations.csv"
    table.write_text("station,lat,lon\n")
    assert look(case, CYCLE, 60, None).growing == (table,)
    os.utime(table, (1e9, 1e9))
    assert look(case, CYCLE, 60, None).complete


def test_nightly_says_which_table_of_stations_never_came(hand_case: HandCase, tmp_path: Path, prefect_server: str):
    beside = "cycle: 2026-11-17T00\nobservations: {weather: {path: obs.csv, stations: places.csv}}\nmodels:"
    case = hand_case(("models:", beside))
    (tmp_path / "obs.csv").write_text("station,time,wind_speed [m/s]\nA,2026-11-17T00:00Z,3\n")
    state = nightly(case, out=tmp_path / "out", now=MORNING, wait=0, settle=0, return_state=True)
    assert state.is_failed()
    assert "no table of stations matches 'places.csv' for cycle 2026-11-17T00" in state.message


def test_a_table_of_stations_that_still_grows_is_not_read(hand_case: HandCase, tmp_path: Path):
    from tasks.find import find_files

    case = read_case(hand_case(("models:", "observations: {weather: {path: obs.csv, stations: at.csv}}\nmodels:")))
    for name in ("obs.csv", "at.csv"):
        (tmp_path / name).write_text("station\n")
    with pytest.raises(MissingInput, match=r"at\.csv: still being written"):
        find_files.fn(case, case.models[0], "weather", CYCLE, [str(tmp_path / "at.csv")])
