"""`firecard up` with real processes: all of it together and ended in order; and what kill -9 leaves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from flows import server as servers

ROOT = Path(__file__).parents[2]
CYCLE = "2026-11-17T00"


class Desk:
    """A user with a home of their own, who starts firecard as a process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, (folder / "home").resolve()
        self.started: list[subprocess.Popen[str]] = []

    def firecard(self, *arguments: object) -> subprocess.Popen[str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "FIRECARD_"))}
        environment = {
            **ours,
            "FIRECARD_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "PREFECT_WORKER_QUERY_SECONDS": "1",
        }
        self.started.append(
            subprocess.Popen(
                [sys.executable, "-m", "flows.cli", *map(str, arguments)],
                cwd=self.folder,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return self.started[-1]

    def up(self, *arguments: object) -> tuple[subprocess.Popen[str], str]:
        """`firecard up` when all of it is there, and what it said."""
        process = self.firecard("up", *arguments)
        assert process.stderr
        said = ""
        for line in process.stderr:
            said += line
            if "Ctrl-C" in line:
                return process, said
        raise AssertionError(said)

    def processes(self) -> list[psutil.Process]:
        """Everything that belongs to this home and lives."""
        marks = (servers.MARK, servers.WORKER_MARK)
        return [
            each
            for each in psutil.process_iter()
            if any(servers._is_marked(each, self.home, mark) for mark in marks) and servers._runs(each)
        ]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    user = Desk(tmp_path)
    yield user
    for process in user.started:
        process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()
    servers._reap(user.home)


def asked(address: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"} if data else {})
    with servers._DIRECT.open(request) as answer:
        return json.loads(answer.read())


def test_up_holds_server_pool_deployments_and_worker_and_ends_them_in_order(desk: Desk, hand_case: Callable[..., Path]):
    case = hand_case()
    process, said = desk.up(case, "--out", "out")
    ui = re.search(r"Prefect UI: (http://127\.0\.0\.1:\d+)/artifacts", said)
    assert ui, said
    api = f"{ui[1]}/api"
    assert asked(f"{api}/health") is True

    # What was deployed: a schedule with its time zone, one run at a time, and forms that explain themselves.
    found = {name: asked(f"{api}/deployments/name/{name}/{name}") for name in ("nightly", "evaluate", "backfill")}
    (schedule,) = found["nightly"]["schedules"]
    assert schedule["schedule"]["cron"] == "30 5 * * *"
    assert schedule["schedule"]["timezone"] == "America/Los_Angeles"
    assert not found["evaluate"]["schedules"]
    for each in found.values():
        assert each["global_concurrency_limit"]["limit"] == 1
        assert each["concurrency_options"]["collision_strategy"] == "ENQUEUE"
        assert each["parameters"]["case_file"] == str(case)
        form = each["parameter_openapi_schema"]["properties"]
        assert all(field.get("description") for field in form.values())

    # A worker that is killed is replaced.
    log = desk.home / "worker.log"
    while "started" not in log.read_text():
        time.sleep(0.1)
    (worker,) = [each for each in desk.processes() if servers._is_marked(each, desk.home, servers.WORKER_MARK)]
    worker.kill()
    assert process.stderr
    assert process.stderr.readline() == "The worker died; here is another\n"

    # On demand; the page that the artifact links to is to be had.
    run = asked(
        f"{api}/deployments/{found['evaluate']['id']}/create_flow_run",
        {"parameters": {"cycle": f"{CYCLE}:00Z"}, "state": {"type": "SCHEDULED"}},
    )
    while (state := asked(f"{api}/flow_runs/{run['id']}")["state"])["type"] not in ("COMPLETED", "FAILED", "CRASHED"):
        time.sleep(0.2)
    assert state["name"] == "Completed", state
    assert asked(f"{api}/flow_runs/{run['id']}")["name"] == "hand-20261117T00"
    link = asked(f"{api}/artifacts/page-hand-a-strong/latest")["data"]
    page = re.search(r"http://127\.0\.0\.1:\d+/HAND-A/2026-11-17T00/strong/card\.html", link)
    assert page, link
    with servers._DIRECT.open(page[0]) as answer:
        assert answer.read() == (desk.folder / "out/HAND-A/2026-11-17T00/strong/card.html").read_bytes()

    # Everything listens on the loopback only.
    everybody = [psutil.Process(process.pid), *desk.processes()]
    sockets = [each for one in everybody for each in one.net_connections("inet") if each.status == psutil.CONN_LISTEN]
    assert len(sockets) >= 2  # the server's and that of the pages
    assert {each.laddr.ip for each in sockets} == {"127.0.0.1"}

    # Another schedule would replace this one.
    second = desk.firecard("up", case)
    assert f"already runs the schedule of {case}" in second.communicate()[1]
    assert second.returncode == 1

    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 0
    assert desk.processes() == []
    assert "stopped" in (desk.home / "worker.log").read_text()


def test_what_kill_9_leaves_is_reaped_by_two_runs_that_share_a_server(desk: Desk, hand_case: Callable[..., Path]):
    case = hand_case()
    killed, _ = desk.up(case)
    orphans = desk.processes()
    assert len(orphans) >= 2  # server and worker
    killed.kill()
    killed.communicate()
    runs = [desk.firecard("run", case, "--cycle", CYCLE, "--out", name) for name in ("one", "two")]
    said = [run.communicate()[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert not [each for each in orphans if servers._runs(each)]
    (address,) = {each for text in said for each in re.findall(r"Prefect at (http://127\.0\.0\.1:\d+)", text)}
    assert address
    one, two = (desk.folder / name / "HAND-A" / CYCLE / "strong" / "card.json" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert desk.processes() == []
