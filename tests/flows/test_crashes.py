"""Runs of a deployment that are killed, with real processes: they are taken up again and hold nothing up."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from prefect.context import refresh_global_settings_context

from flows import server as servers
from flows.demo import CYCLE, write_demo
from flows.evaluate import evaluate
from flows.server import WORKER_MARK, Server
from flows.up import Worker, deploy
from tasks.store.history import nights

FILES = ("card.json", "card.md", "card.html", "card.pdf", "ledger.csv")


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's night; its case file."""
    return write_demo(tmp_path_factory.mktemp("night"))


@pytest.fixture(scope="module")
def undisturbed(night: Path, prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The cards of a run that nobody disturbed."""
    out = tmp_path_factory.mktemp("undisturbed")
    evaluate(night, CYCLE, models=["hrrr"], out=out)
    return card_files(out)


def card_files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.glob("DEMO-*/*/hrrr/*") if path.name in FILES}


def matching(out: Path) -> bool:
    return any((out / ".store" / "pairs").glob(".*"))


def publishing(out: Path) -> bool:
    return (out / "DEMO-A" / "2026-11-17T00" / "hrrr").is_dir()


def client() -> Any:
    from prefect.client.orchestration import get_client

    return get_client(sync_client=True)


def started(**parameters: Any) -> Any:
    """A run of the deployment `evaluate`, for the worker to take."""
    from prefect.deployments import run_deployment

    given = {"cycle": "2026-11-17T00:00:00Z", "models": ["hrrr"], **parameters}
    return run_deployment("evaluate/evaluate", parameters=given, timeout=0, as_subflow=False).id


def stopped(flow_run: Any, moment: Callable[[Path], bool], out: Path) -> psutil.Process:
    """The process of a run, halted in the middle of what it does at this moment."""
    process = None
    while process is None:
        process = next((each for each in psutil.process_iter() if runs(each, flow_run)), None)
    while not moment(out):
        time.sleep(0.001)
    process.suspend()
    with client() as asked:
        assert asked.read_flow_run(flow_run).state.name == "Running"
    return process


def runs(process: psutil.Process, flow_run: Any) -> bool:
    try:
        return bool(process.environ().get("PREFECT__FLOW_RUN_ID") == str(flow_run))
    except (psutil.Error, OSError):
        return False


def finished(flow_run: Any, worker: Worker) -> Any:
    """The run when it is over."""
    with client() as asked:
        while not (run := asked.read_flow_run(flow_run)).state.is_final():
            assert worker.alive()
            time.sleep(0.2)
        return run


def state_of(flow_run: Any, but: tuple[str, ...]) -> str:
    """The state of a run once it is none of these."""
    with client() as asked:
        while (name := asked.read_flow_run(flow_run).state.name) in but:
            time.sleep(0.2)
        return str(name)


def follower(flow_run: Any) -> Any:
    """The run that takes the place of this one, once there is one."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterIdempotencyKey

    place = FlowRunFilter(idempotency_key=FlowRunFilterIdempotencyKey(any_=[f"again-{flow_run}"]))
    with client() as asked:
        while not (found := asked.read_flow_runs(flow_run_filter=place)):
            time.sleep(0.2)
    return found[0].id


def assert_as_undisturbed(out: Path, undisturbed: dict[str, bytes]) -> None:
    """Every card whole and as it should be, the night kept once, and nothing left of what was killed."""
    assert card_files(out) == undisturbed
    kept = [(each.cycle, each.model, each.scheme) for each in nights(out / "history", "DEMO")]
    assert sorted(kept) == [("2026-11-17T00:00Z", "hrrr", scheme) for scheme in "AB"]
    assert not [path for path in out.rglob(".*-*") if path.is_file()]


def slots_taken() -> int:
    """How many runs of the deployment `evaluate` the server counts as under way."""
    with client() as asked:
        limit = asked.read_deployment_by_name("evaluate/evaluate").global_concurrency_limit
        return int(asked.read_global_concurrency_limit_by_name(limit.name).active_slots)


@pytest.fixture
def worker(night: Path, prefect_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    monkeypatch.setenv("PREFECT_WORKER_QUERY_SECONDS", "1")
    started = deploy(prefect_server, tmp_path / "home", night, tmp_path / "out")
    yield started
    started.stop()


def test_a_killed_run_is_taken_up_again_and_its_deployment_is_not_blocked(
    worker: Worker, undisturbed: dict[str, bytes], tmp_path: Path
):
    run = started(out=str(tmp_path / "out"))
    process = stopped(run, matching, tmp_path / "out")
    assert slots_taken() == 1
    process.kill()
    again = finished(follower(run), worker)
    assert again.state.name == "Completed"
    assert "again" in again.tags
    with client() as asked:
        assert asked.read_flow_run(run).state.name == "Crashed"
    assert slots_taken() == 0
    assert_as_undisturbed(tmp_path / "out", undisturbed)


@pytest.fixture
def own_home(tmp_path: Path) -> Iterator[Path]:
    """A directory for a server that the test may kill; it looks for leases and slots every second."""
    environment = servers._environment

    def impatient(home: Path, port: int) -> dict[str, str]:
        return {
            **environment(home, port),
            "PREFECT_SERVER_SERVICES_REPOSSESSOR_LOOP_SECONDS": "1",
            "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": "1",
        }

    home = (tmp_path / "home").resolve()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PREFECT_API_URL", "PREFECT_HOME"):
            patch.delenv(name, raising=False)
        patch.setattr(servers, "_environment", impatient)
        patch.setenv("PREFECT_WORKER_QUERY_SECONDS", "1")
        yield home
        servers._reap(home)
    refresh_global_settings_context()  # to the session's server, which the tests after this one use


def test_the_night_after_everything_was_killed(
    own_home: Path, night: Path, undisturbed: dict[str, bytes], tmp_path: Path
):
    out = tmp_path / "out"
    with Server(own_home) as server:
        killed = deploy(server.wait().url, own_home, night, out)
        run = started()
        stopped(run, publishing, out)
        twin = started()
        assert state_of(twin, but=("Scheduled", "Pending")) == "AwaitingConcurrencySlot"
        for mark in (WORKER_MARK, servers.MARK):  # as when the power fails
            for process in [each for each in psutil.process_iter() if servers._is_marked(each, own_home, mark)]:
                process.kill()
        killed.process.wait()
    for path in out.rglob("card.json"):
        json.loads(path.read_bytes())  # there whole, or not there

    with Server(own_home) as server:
        server.wait()
        with client() as asked:
            assert asked.read_flow_run(run).state.name == "Running"  # nobody has told
        assert slots_taken() == 1
        # Without anybody's help the slot comes back when the lease of 300 s runs out: here its clock is put forward.
        leases = own_home / "prefect" / "concurrency_leases"
        for path in leases.glob("*.json"):
            path.write_text(re.sub(r'"20\d\d-[^"]*"', '"2020-01-01T00:00:00+00:00"', path.read_text()))
        while slots_taken():
            time.sleep(0.2)
        # `firecard up` does not wait for that.
        worker = deploy(server.url, own_home, night, out)
        try:
            assert finished(follower(run), worker).state.name == "Completed"
            assert finished(twin, worker).state.name == "Completed"
            assert slots_taken() == 0
            listening = [
                each.laddr.ip
                for process in psutil.process_iter()
                if servers._is_marked(process, own_home, WORKER_MARK) or servers._is_marked(process, own_home)
                for each in process.net_connections("inet")
                if each.status == psutil.CONN_LISTEN
            ]
            assert listening
            assert set(listening) == {"127.0.0.1"}
        finally:
            worker.stop()
    assert_as_undisturbed(out, undisturbed)
