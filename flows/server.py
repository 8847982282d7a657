"""The private Prefect server: started for a run, shared by the runs of the same time, stopped by the last one out.

Its directory belongs to the user alone (0700) and holds

    lock          held while somebody starts, joins, leaves or reaps
    server.json   the server: process, start time, port, machine, and the process that started it
    server.log    what it said since it was started
    users/        one file per user, locked for as long as that user's process lives
    prefect/      Prefect's own home: the database, so that artifacts stay from run to run

A user counts by its lock, which the kernel takes away even from a killed process. So whatever happened before, the
next one to come sees who is left: it joins a server that somebody uses, and clears away one that nobody does.
"""

import fcntl
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn, Self

import psutil

from metrics.errors import ServerFailed

LOOPBACK = "127.0.0.1"
START = 180.0  # seconds until a new server must answer; 6 to 30 are usual
SILENCE = 60.0  # seconds without an answer until one that had its time to start counts as stuck
STOP = 20.0  # seconds between asking a server to end and ending it
ATTEMPTS = 3  # servers that may fall over a taken port or die under us before we give up
MARK = "FIRECARD_SERVER_HOME"  # in the environment of a server: the directory that it belongs to
WORKER_MARK = "FIRECARD_WORKER_HOME"  # the same in that of a worker, and of the runs that it started

_OFFLINE = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_leases: set[int] = set()


def state_home() -> Path:
    """Where firecard keeps what outlives a run: $FIRECARD_HOME, or `firecard` below the user's state directory."""
    if own := os.environ.get("FIRECARD_HOME"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "firecard"


@dataclass(frozen=True, slots=True)
class _Record:
    """The server that was started last; pid and start time together name one process, a pid alone may be reused."""

    pid: int
    started: float
    port: int
    host: str
    owner: int

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """What the file says, or None where there is none or nothing sensible in it."""
        try:
            said = json.loads(file.read_bytes())
            record = cls(int(said["pid"]), float(said["started"]), int(said["port"]), said["host"], int(said["owner"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return record if record.pid > 0 else None

    def write(self, file: Path) -> None:
        draft = file.with_suffix(".new")
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(file)


class Server:
    """A user's hold on the Prefect server, the one of `PREFECT_API_URL` or a private one below `home`.

    `launch` starts or joins and returns at once, so that imports can go on meanwhile; `wait` returns when the server
    answers; `leave` lets go of it. As a context it launches on entry and leaves on exit. From `launch` to `leave`
    the environment of this process points Prefect to the server, whether it is imported before or after.
    """

    url: str  # of the API
    ui: str  # for people
    started: bool  # by this user; False for one that was joined or given

    def __init__(self, home: Path | None = None) -> None:
        self.home = (home or state_home()).resolve()
        self.log = self.home / "server.log"
        self.url = self.ui = ""
        self.started = False
        self._record: _Record | None = None
        self._lease: tuple[int, Path] | None = None
        self._process = 0
        self._environment: dict[str, str | None] = {}

    def launch(self) -> Self:
        """Starts the server or joins the one that is there, without waiting for it to answer."""
        self._process = os.getpid()
        if given := os.environ.get("PREFECT_API_URL"):
            self.url = given.rstrip("/")
            self.ui = os.environ.get("PREFECT_UI_URL") or self.url.removesuffix("/api")
            self._set(DO_NOT_TRACK=os.environ.get("DO_NOT_TRACK", "1"))
            return self
        try:
            make_private(self.home)
            self._join_or_start()
        except OSError as error:
            raise ServerFailed(f"the Prefect server cannot use the directory {self.home}: {error}") from error
        return self

    def wait(self, limit: float = START) -> Self:
        """Returns when the server answers; raises ServerFailed, with its last words, if it does not."""
        if self._record is None:
            if not _someone_answers(self.url):
                raise ServerFailed(
                    f"no Prefect server answers at PREFECT_API_URL={self.url}; start it, or unset the variable and "
                    "firecard runs its own"
                )
            return self
        attempts, deadline = 1, self._deadline(limit)
        while not self._healthy():
            ended, late = not self.alive(), time.monotonic() > deadline
            if ended or late:
                if attempts == ATTEMPTS or (self.started and not self._lost_its_place()):
                    what = "ended" if ended else "does not answer"
                    raise ServerFailed(
                        f"the Prefect server at {self.url} {what}; {self.log} ends:\n{self._last_words()}"
                    )
                self._join_or_start(hopeless=self._record)
                attempts, deadline = attempts + 1, self._deadline(limit)
            time.sleep(0.1)
        return self

    def leave(self) -> None:
        """Lets go of the server and, if nobody else holds it, stops it once it has written down all it was told."""
        if self._process != os.getpid():
            return  # never launched, or a fork of the one that did
        try:
            if self._lease:
                if healthy := self._healthy():
                    _send_what_is_left()
                with _locked(self.home):
                    self._let_go()
                    if not _users(self.home):
                        if healthy:
                            _let_write(self.url)
                        _reap(self.home)
        finally:
            self._let_go()
            self._set(**self._environment)
            self._environment.clear()
            self._record, self._process = None, 0

    def alive(self) -> bool:
        """Whether the process of the server lives; a server given by its address is taken to."""
        return self._record is None or _process_of(self._record, self.home) is not None

    def __enter__(self) -> Self:
        try:
            return self.launch()
        except BaseException:
            self.leave()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.leave()

    def _join_or_start(self, hopeless: _Record | None = None) -> None:
        """Joins the server that others use, unless it is the one found hopeless; otherwise starts a new one."""
        with _locked(self.home):
            others = _users(self.home, but=self._lease)
            record = _Record.read(self.home / "server.json")
            if record and others and record.host != socket.gethostname():
                raise ServerFailed(
                    f"the Prefect server of {self.home} runs on {record.host} and is in use there; set FIRECARD_HOME "
                    "to a directory of this machine"
                )
            if self._lease is None:
                self._lease = _lease(self.home)
            if record and others and record != hopeless and _process_of(record, self.home):
                self.started = False
            else:
                _reap(self.home)
                record = _start(self.home)
                self.started = True
        self._record = record
        self.ui = f"http://{LOOPBACK}:{record.port}"
        self.url = f"{self.ui}/api"
        self._point_prefect_here()

    def _healthy(self) -> bool:
        """Whether the server answers, and it is ours that does, not a stranger who took the port before it."""
        process = self._record and _process_of(self._record, self.home)
        if not (self._record and process and _answers(self.url)):
            return False
        try:
            sockets = process.net_connections("tcp")
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True
        return any(each.status == psutil.CONN_LISTEN and each.laddr.port == self._record.port for each in sockets)

    def _deadline(self, limit: float) -> float:
        """Until when to wait: a server that others started long ago has had most of its time."""
        age = time.time() - self._record.started if self._record else 0
        return time.monotonic() + max(min(limit, SILENCE), limit - age)

    def _lost_its_place(self) -> bool:
        """Whether our server fell over a taken port, or somebody has put another in its place: worth another try."""
        replaced = _Record.read(self.home / "server.json") not in (None, self._record)
        return replaced or "already in use" in self._last_words()

    def _last_words(self) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").strip().splitlines()[-20:])
        except OSError as error:
            return f"({error})"

    def _let_go(self) -> None:
        if self._lease:
            number, file = self._lease
            self._lease = None
            _leases.discard(number)
            file.unlink(missing_ok=True)
            os.close(number)

    def _point_prefect_here(self) -> None:
        """Sets the environment for Prefect in this process, without its silent fallback to an ephemeral server."""
        self._set(
            PREFECT_API_URL=self.url,
            PREFECT_HOME=os.environ.get("PREFECT_HOME") or str(self.home / "prefect"),
            PREFECT_SERVER_ALLOW_EPHEMERAL_MODE="false",
            **_OFFLINE,
        )
        if not urllib.request.proxy_bypass_environment(LOOPBACK):  # type: ignore[attr-defined]
            direct = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
            direct = f"{direct},{LOOPBACK}" if direct else LOOPBACK
            self._set(no_proxy=direct, NO_PROXY=direct)

    def _set(self, **values: str | None) -> None:
        """Sets or removes environment variables, remembers what they were, and tells a Prefect already imported."""
        for name, value in values.items():
            self._environment.setdefault(name, os.environ.get(name))
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        refresh = getattr(sys.modules.get("prefect.context"), "refresh_global_settings_context", None)
        if refresh:
            refresh()


@contextmanager
def private_server(home: Path | None = None) -> Iterator[Server]:
    """A server that answers, for the time of the block."""
    with Server(home) as server:
        yield server.wait()


def keep_running(
    report: Callable[[Server], None],
    home: Path | None = None,
    leaving: Callable[[], object] | None = None,
    watching: Callable[[], object] | None = None,
) -> None:
    """Starts or joins the server, gives it to `report` once it answers, and holds it until SIGINT or SIGTERM.

    `watching` is called every now and then; `leaving` before the server is let go: what runs on it ends first.
    """

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        for each in before:
            signal.signal(each, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the leaving
        raise KeyboardInterrupt

    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        for each in before:
            signal.signal(each, stop)
        with private_server(home) as server:
            try:
                report(server)
                while server.alive():
                    if watching:
                        watching()
                    time.sleep(0.5)
                raise ServerFailed(f"the Prefect server at {server.url} ended by itself; see {server.log}")
            finally:
                if leaving:
                    leaving()
    except KeyboardInterrupt:
        return
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def make_private(home: Path) -> None:
    """Makes the directory, for its owner only; one that holds other people's things is not changed but refused."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if home.stat().st_mode & 0o077:
        if not (home / "lock").exists() and any(home.iterdir()):
            raise ServerFailed(
                f"{home} holds other files and is open to others, so the Prefect server does not move in; set "
                "FIRECARD_HOME to a directory of its own, or `chmod 700` this one"
            )
        home.chmod(0o700)
    for name in ("users", "prefect"):
        (home / name).mkdir(mode=0o700, exist_ok=True)


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """The directory to ourselves; others hold it for moments, or for as long as a server takes to stop."""
    deadline = time.monotonic() + 5 * STOP
    with (home / "lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise ServerFailed(f"{file.name} is held by a process that does not let go") from error
            time.sleep(0.05)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # a fork may hold the same file open: closing ours would not unlock it


def _lease(home: Path) -> tuple[int, Path]:
    """A locked file that says that this process uses the server."""
    number, name = tempfile.mkstemp(prefix=f"{os.getpid()}-", dir=home / "users")
    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    _leases.add(number)
    return number, Path(name)


def _close_leases() -> None:
    """In a fork: a lease must end with the process that took it, not with its children."""
    for number in _leases:
        os.close(number)
    _leases.clear()


os.register_at_fork(after_in_child=_close_leases)


def _users(home: Path, *, but: tuple[int, Path] | None = None) -> int:
    """How many users live; removes the files of the dead."""
    count = 0
    for file in (home / "users").iterdir():
        if but and file == but[1]:
            continue
        with suppress(FileNotFoundError), file.open("r+") as lease:
            try:
                fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                count += 1
            else:
                file.unlink()
    return count


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def _command(port: int) -> list[str]:
    """All services stay on: without the recorder task runs are lost, without the scheduler a deployment never runs."""
    start = ["-m", "prefect", "--no-prompt", "server", "start", "--host", LOOPBACK, "--port", str(port)]
    return [sys.executable, "-P", *start]


def _environment(home: Path, port: int) -> dict[str, str]:
    """The server's environment: nothing of the user's Prefect settings, which are about other servers."""
    ours = f"http://{LOOPBACK}:{port},http://localhost:{port}"
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
        **_OFFLINE,
        MARK: str(home),
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_API_HOST": LOOPBACK,  # the UI takes the address of the API from here, not from the command line
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ours,  # by default any page in the user's browser may read along
        "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(home / "prefect" / "ui"),  # by default it writes into site-packages
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        # By default in memory: a run that dies together with the server would keep its concurrency slot for ever.
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    }


def _start(home: Path) -> _Record:
    """Starts a server in a session of its own, so that a Ctrl-C meant for us does not end it first."""
    port = _free_port()
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            _command(port),
            env=_environment(home, port),
            cwd=home / "prefect",  # Prefect reads settings from .env, prefect.toml and pyproject.toml where it starts
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    started = psutil.Process(process.pid).create_time()
    threading.Thread(target=process.wait, daemon=True).start()  # or it stays a zombie if another user stops it
    record = _Record(process.pid, started, port, socket.gethostname(), os.getpid())
    record.write(home / "server.json")
    return record


def _process_of(record: _Record, home: Path) -> psutil.Process | None:
    """The recorded process if it lives; None for a stranger who was given its number later."""
    with suppress(psutil.Error):
        process = psutil.Process(record.pid)
        # Start times move when the system clock is set; the mark does not, but not every system shows it.
        if _runs(process) and (abs(process.create_time() - record.started) < 1 or _is_marked(process, home)):
            return process
    return None


def _is_marked(process: psutil.Process, home: Path, mark: str = MARK) -> bool:
    with suppress(psutil.Error, OSError):
        return bool(process.environ().get(mark) == str(home))
    return False


def end_workers(home: Path) -> int:
    """Ends what is left of the workers of this directory and of their runs; how many processes that were.

    Without a word: whatever they write is written whole or not at all, and a run that heard of its end would report it
    to a server that may be gone.
    """
    left = [each for each in psutil.process_iter() if _is_marked(each, home, WORKER_MARK)]
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=STOP)
    return len(left)


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _reap(home: Path) -> None:
    """Stops every server of this directory, the recorded one and any that lost its record, after their workers."""
    end_workers(home)
    record = _Record.read(home / "server.json")
    recorded = record and _process_of(record, home)
    strays = [each for each in psutil.process_iter() if each != recorded and _is_marked(each, home)]
    for process in [recorded, *strays] if recorded else strays:
        for end in (process.terminate, process.kill):
            with suppress(psutil.NoSuchProcess):
                end()
            deadline = time.monotonic() + STOP
            while _runs(process) and time.monotonic() < deadline:
                time.sleep(0.05)
    (home / "server.json").unlink(missing_ok=True)


def _answers(url: str) -> bool:
    try:
        with _DIRECT.open(f"{url}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, http.client.HTTPException):
        return False


def _someone_answers(url: str) -> bool:
    """Whether the server the user named is there; certificates and keys are between it and Prefect."""
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=10, context=trusting) as answer:
            return bool(answer.status == 200)
    except urllib.request.HTTPError as error:
        with error:
            return error.code in (401, 403)
    except (OSError, http.client.HTTPException, ValueError):
        return False


def _send_what_is_left() -> None:
    """Sends the events and logs that Prefect in this process still has in its queues."""
    for module, queue in (("prefect.events.worker", "EventsWorker"), ("prefect.logging.handlers", "APILogWorker")):
        if worker := getattr(sys.modules.get(module), queue, None):
            worker.drain_all(timeout=STOP, at_exit=False)


def _let_write(url: str) -> None:
    """Waits until the counts of task runs stand still for a second.

    The server writes task runs down behind its queue, and forgets the queue when it stops: of 60 tasks of a flow that
    had just ended 26 were recorded as completed.
    """
    over = {"any_": ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]}
    filters: list[dict[str, object]] = [{}, {"task_runs": {"state": {"type": over}}}]
    seen: list[bytes] = []
    now = time.monotonic()
    deadline, quiet = now + STOP, now + 1
    while now < min(deadline, quiet):
        try:
            counts = [_post(f"{url}/task_runs/count", each) for each in filters]
        except (OSError, http.client.HTTPException):
            return
        now = time.monotonic()
        if counts != seen:
            seen, quiet = counts, now + 1
        time.sleep(0.1)


def _post(url: str, body: dict[str, object]) -> bytes:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with _DIRECT.open(request, timeout=5) as answer:
        said: bytes = answer.read()
        return said
