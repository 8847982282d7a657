"""The deployments with a real pool and worker: on a schedule, on demand, and after the worker was killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from flows.up import Worker, deploy


@pytest.fixture
def worker(
    hand_case: Callable[..., Path], prefect_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Worker]:
    monkeypatch.setenv("PREFECT_WORKER_QUERY_SECONDS", "1")
    started = deploy(prefect_server, tmp_path / "home", hand_case(), tmp_path / "out")
    yield started
    started.stop()


def finished(flow_run_id: object) -> object:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        while True:
            run = client.read_flow_run(flow_run_id)
            if run.state and run.state.is_final():
                return run
            time.sleep(0.5)


def test_a_worker_scores_on_demand_and_survives_its_own_death(worker: Worker, tmp_path: Path):
    from prefect.client.orchestration import get_client
    from prefect.deployments import run_deployment

    with get_client(sync_client=True) as client:
        nightly = client.read_deployment_by_name("nightly/nightly")
        (schedule,) = nightly.schedules
        assert (schedule.schedule.cron, schedule.schedule.timezone) == ("30 5 * * *", "America/Los_Angeles")
        assert nightly.global_concurrency_limit.limit == 1
        assert nightly.concurrency_options.collision_strategy.value == "ENQUEUE"
        described = client.read_deployment_by_name("evaluate/evaluate").parameter_openapi_schema["properties"]
        assert all(each.get("description") for each in described.values())

    parameters = {"cycle": "2026-11-17T00:00:00Z"}
    first = run_deployment("evaluate/evaluate", parameters=parameters, timeout=0, as_subflow=False)
    assert finished(first.id).state.name == "Completed"
    card = tmp_path / "out" / "HAND-A" / "2026-11-17T00" / "strong" / "card.json"
    before = card.read_bytes()

    # Killed without a word, with a run on its way; the next worker takes it up.
    os.kill(worker.process.pid, signal.SIGKILL)
    worker.process.wait()
    second = run_deployment("evaluate/evaluate", parameters=parameters, timeout=0, as_subflow=False)
    again = deploy(os.environ["PREFECT_API_URL"], tmp_path / "home", tmp_path / "hand.yaml", tmp_path / "out")
    try:
        assert finished(second.id).state.name == "Completed"
        listening = [
            each.laddr.ip
            for process in (
                psutil.Process(again.process.pid),
                *psutil.Process(again.process.pid).children(recursive=True),
            )
            for each in process.net_connections("inet")
            if each.status == psutil.CONN_LISTEN
        ]
        assert set(listening) <= {"127.0.0.1", "::1"}
    finally:
        again.stop()
    assert card.read_bytes() == before
