"""Up: the server, a work pool, the deployments and a worker, together until Ctrl-C; stopped in order."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from configs.case import read_case
from flows.server import Server
from metrics.errors import ServerFailed

ROOT = Path(__file__).parents[1]
POOL = "firecard"
PATIENCE = 30.0  # seconds between asking a worker to end and ending it


def prefect(*arguments: str, log: Path, environment: dict[str, str]) -> None:
    """Run one of Prefect's commands to its end; its last words in the error if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    log.write_text(done.stdout + done.stderr)
    if done.returncode:
        words = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise ServerFailed(f"`prefect {' '.join(arguments)}` failed:\n{words}")


class Worker:
    """A worker process of the pool; ends with SIGTERM, so that it can hand back what it runs."""

    def __init__(self, log: Path, environment: dict[str, str]) -> None:
        self.log = log.open("wb")
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "prefect",
                "worker",
                "start",
                "--pool",
                POOL,
                "--type",
                "process",
                "--name",
                "firecard",
            ],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


def deploy(url: str, home: Path, case_file: Path, out: Path) -> Worker:
    """Pool, deployments and worker on the server of this address, their logs in `home`; the worker."""
    case = read_case(case_file)
    environment = {
        **os.environ,
        "PREFECT_API_URL": url,
        "FIRECARD_ROOT": str(ROOT),
        "FIRECARD_CASE": str(case.path.resolve()),
        "FIRECARD_OUT": str(out.resolve()),
        "PREFECT_WORKER_QUERY_SECONDS": os.environ.get("PREFECT_WORKER_QUERY_SECONDS", "5"),
    }
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    prefect(
        "work-pool",
        "create",
        POOL,
        "--type",
        "process",
        "--overwrite",
        log=home / "pool.log",
        environment=environment,
    )
    prefect(
        "deploy",
        "--prefect-file",
        "deployments/prefect.yaml",
        "--all",
        log=home / "deploy.log",
        environment=environment,
    )
    return Worker(home / "worker.log", environment)


def up(case_file: Path | None, out: Path, say: Callable[[str], None]) -> None:
    """Hold everything until SIGINT or SIGTERM; the worker is stopped first, then the server."""
    from flows.server import keep_running

    workers: list[Worker] = []

    def report(server: Server) -> None:
        say(f"Prefect UI: {server.ui}/artifacts")
        if case_file is not None:
            say("Deploying nightly, evaluate and backfill")
            workers.append(deploy(server.url, server.home, case_file, out))
            say(f"Worker of pool {POOL!r} is up; cards go to {out}; logs are in {server.home}")
            say(f"Deployments: {server.ui}/deployments")
        say("Stop with Ctrl-C")

    def stop_workers() -> None:
        for each in workers:
            each.stop()

    keep_running(report, leaving=stop_workers)
