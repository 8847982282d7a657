"""Up: the server, a work pool, the deployments and a worker, together until Ctrl-C; stopped in order."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from configs.case import read_case
from flows.pages import serving
from flows.server import WORKER_MARK, Server, end_workers, keep_running, make_private
from metrics.errors import ServerFailed
from tasks.publish import PAGES

ROOT = Path(__file__).parents[1]
POOL = "firecard"
WORKER = ("--type", "process", "--name", "firecard")
PATIENCE = 30.0  # seconds between asking a worker to end and ending it
STEADY = 60.0  # seconds that a worker must have lived to be worth another one


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

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self.home, self.environment = home, environment
        self.started = time.monotonic()
        self.log = home / "worker.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "prefect", "worker", "start", "--pool", POOL, *WORKER],
                cwd=ROOT,
                env={**environment, WORKER_MARK: str(home)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        """End the worker, and whatever of its runs does not end with it."""
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        end_workers(self.home)


@contextmanager
def only_schedule(home: Path, case_file: Path) -> Iterator[None]:
    """The pool and the deployments of a directory to ourselves, for as long as this process lives.

    A second case on the same server would replace the deployments of the first.
    """
    make_private(home)
    with (home / "schedule.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise ServerFailed(
                f"{home} already runs the schedule of {file.read().strip()}; set FIRECARD_HOME to another directory "
                "to run one more"
            ) from None
        file.truncate(0)
        file.write(f"{case_file.resolve()}\n")
        file.flush()
        yield


def make_pool() -> None:
    """The work pool, whose worker runs flows as processes; one that is there is set to what it should be."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.workers.process import ProcessWorker

    template = ProcessWorker.get_default_base_job_template()
    with get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name=POOL, type="process", base_job_template=template), overwrite=True)


def deploy(url: str, home: Path, case_file: Path, out: Path, *, private: bool = True) -> Worker:
    """Pool, deployments and worker on the server of this address, their logs in `home`; the worker.

    What an earlier worker of this directory left is ended, and on a private server its runs are taken up again; on a
    server of others a run that seems dead may be another machine's.
    """
    from flows.again import take_up_dead_runs

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
    end_workers(home)
    make_pool()
    deployments = ("deploy", "--prefect-file", "deployments/prefect.yaml", "--all")
    prefect(*deployments, log=home / "deploy.log", environment=environment)
    if private:
        take_up_dead_runs()
    return Worker(home, environment)


def replaced(worker: Worker, *, private: bool = True) -> Worker:
    """Another worker in the place of one that died; an error with its last words where it died at once."""
    from flows.again import take_up_dead_runs

    if time.monotonic() - worker.started < STEADY:
        words = "\n".join(worker.log.read_text(errors="replace").strip().splitlines()[-8:])
        raise ServerFailed(f"the worker ended by itself; {worker.log} ends:\n{words}")
    end_workers(worker.home)
    if private:
        take_up_dead_runs()
    return Worker(worker.home, worker.environment)


def up(case_file: Path | None, out: Path, say: Callable[[str], None]) -> None:
    """Hold everything until SIGINT or SIGTERM; the worker is stopped first, then the server."""
    workers: list[Worker] = []
    private = not os.environ.get("PREFECT_API_URL")

    def report(server: Server) -> None:
        say(f"Prefect UI: {server.ui}/artifacts")
        if case_file is not None:
            say("Deploying nightly, evaluate and backfill")
            workers.append(deploy(server.url, server.home, case_file, out, private=private))
            say(f"Worker of pool {POOL!r} is up; cards go to {out}; logs are in {server.home}")
            say(f"Deployments: {server.ui}/deployments (on the command line with PREFECT_API_URL={server.url})")
        say("Stop with Ctrl-C")

    def watch() -> None:
        for number, each in enumerate(workers):
            if not each.alive():
                say("The worker died; here is another")
                workers[number] = replaced(each, private=private)

    def stop_workers() -> None:
        for each in workers:
            each.stop()

    if case_file is None:
        keep_running(report)
        return
    home = Server().home
    with only_schedule(home, case_file), serving(out, home) as pages:
        os.environ[PAGES] = os.environ.get(PAGES) or pages
        say(f"Cards: {os.environ[PAGES]}/<case>-<scheme>/<cycle>/<model>/card.html")
        keep_running(report, leaving=stop_workers, watching=watch)
