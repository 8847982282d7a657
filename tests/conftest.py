"""What all tests share: one real Prefect server, the real files beside the project, and small cases on disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# A test that forgets the server fails, instead of starting one of Prefect's own that outlives the summary.
os.environ["PREFECT_SERVER_ALLOW_EPHEMERAL_MODE"] = "false"
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real files; a user's checkout has none."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("real files (../shared/data) are not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API address of one private server for the whole session; flows of this process run against it."""
    from flows.server import Server

    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    given = os.environ.pop("PREFECT_API_URL", None)
    with Server(tmp_path_factory.mktemp("home") / "firecard") as server:
        yield server.wait().url
    if given is not None:
        os.environ["PREFECT_API_URL"] = given


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser; not every machine has one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        pytest.skip("no chromium on this machine")
    return found


class DaskCluster:
    """A real scheduler and real workers on loopback, each a process in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self.address = ""
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", str(folder / "scheduler.json"))
        self.workers: list[subprocess.Popen[bytes]] = []
        while not self.address:
            assert self.scheduler.poll() is None, "the scheduler ended"
            time.sleep(0.05)
            with suppress(OSError, ValueError):
                self.address = json.loads((folder / "scheduler.json").read_text())["address"]

    def with_workers(self, count: int) -> DaskCluster:
        """As many workers as this, once all have come; those that were killed are replaced."""
        from distributed import Client

        self.workers = [each for each in self.workers if each.poll() is None]
        while len(self.workers) < count:
            self.workers.append(self._start("worker", self.address, "--nthreads", "1", "--no-nanny"))
        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count)
        return self

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        home = self.folder / f"{what}-{len(list(self.folder.iterdir()))}"
        home.mkdir(parents=True)
        command = [sys.executable, "-m", "dask", what, *options, "--host", "127.0.0.1", "--no-dashboard"]
        with (home / "log").open("wb") as log:
            path = {"PYTHONPATH": str(ROOT)}
            return subprocess.Popen(command, cwd=home, stdout=log, stderr=log, env=os.environ | path)

    def stop(self) -> None:
        for each in (*self.workers, self.scheduler):
            each.kill()
            each.wait()


@pytest.fixture(scope="session")
def dask_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """One cluster for the whole session; ask it for workers."""
    cluster = DaskCluster(tmp_path_factory.mktemp("dask"))
    yield cluster
    cluster.stop()


CASE = """\
case: HAND
title: Worked by hand
models:
  perfect: {weather: {path: pairs.csv}}
  strong: {weather: {path: pairs.csv}}
window: {hours: 4}
matching: {min_pairs: 2}
kpis:
  WX01: {kpi: wind_speed_bias, normalise: {kind: symmetric_exponential, m: 5 m/s}}
  WX02: {kpi: wind_speed_rmse, normalise: {kind: linear, m: 10 m/s}}
  WX03: {kpi: wind_direction_rmse, normalise: {kind: exponential, m: 45 deg}}
groups:
  Speed: [WX01, WX02]
  Direction: [WX03]
schemes:
  A: mean
  B: {groups: {Speed: 2}}
"""


@pytest.fixture
def hand_rows() -> list[str]:
    """Two stations, four hours: `strong` is 5 m/s too strong and turned by 45 degrees, `perfect` is right."""
    rows = ["model,station,lat,lon,cycle,valid_time,variable,unit,forecast,observed"]
    for model, stronger, turned in (("perfect", 0, 0), ("strong", 5, 45)):
        for station, lat in (("NA", 39.0), ("007", 39.5)):
            for hour in range(4):
                head = f"{model},{station},{lat},-120.5,2026-11-17T00:00Z,2026-11-17T{hour:02d}:00Z"
                rows.append(f"{head},wind_speed,m/s,{4 + hour + stronger},{4 + hour}")
                rows.append(f"{head},wind_direction,deg,{(340 + 10 * hour + turned) % 360},{(340 + 10 * hour) % 360}")
    return rows


@pytest.fixture
def hand_case(tmp_path: Path, hand_rows: list[str]) -> Callable[..., Path]:
    """Writes the hand-worked case, with replacements in its text and rows if asked; the case file."""

    def write(*changes: tuple[str, str], rows: list[str] | None = None, name: str = "hand.yaml") -> Path:
        text = CASE
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (tmp_path / "pairs.csv").write_text("\n".join(rows if rows is not None else hand_rows) + "\n")
        case = tmp_path / name
        case.write_text(text)
        return case

    return write
