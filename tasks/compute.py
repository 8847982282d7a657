"""Where the items of a stage run: one after the other, in threads, in processes, or on an existing Dask cluster.

A session is opened once per flow run and starts nothing before there is work. Whatever it is, the results come in the
order of the items and are the same bits; an item that fails gives its error as its result. Items are files or know
theirs (`path`), and may be done twice: that is what happens when a worker dies over one.

    auto        a loop for a few items, threads for more; where nothing is said here, in $FIRECARD_DASK or in the case
    loop        one after the other
    threads     of this process: reading HDF5 is under one lock, what follows is not
    processes   of this machine, started for the run: seconds before the first item, so for work of minutes
    tcp://…     the scheduler of a cluster; its workers must have the same code and see the same files
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from metrics.errors import BadParameter, ComputeFailed
from tasks.store.digests import code_digest
from tasks.store.remote import is_url

Progress: TypeAlias = Callable[[int, int], None]
Outcome: TypeAlias = tuple[int, Any]  # the number of an item, and its result or error

SETTING = "FIRECARD_DASK"
LOOPBACK = "127.0.0.1"
FEW = 4  # items up to which threads gain nothing
CONNECT = 15.0  # seconds for a scheduler to answer
WORKERS = 30.0  # seconds without a single worker until that is an error


class _HasPath(Protocol):
    @property
    def path(self) -> Path: ...


Item = TypeVar("Item", bound=Path | _HasPath)
Result = TypeVar("Result")


class Session:
    """The place where a flow run computes; used from several threads, started by the first that has work."""

    def __init__(self, where: str | None = None, otherwise: str | None = None) -> None:
        self.where = place(where, otherwise)
        self._starting = threading.Lock()
        self._backends: dict[str, _Threads | _Cluster | ComputeFailed] = {}

    def map_files(
        self,
        fn: Callable[[Item, Any], Result],
        items: Iterable[Item],
        *,
        shared: Any = None,
        progress: Progress | None = None,
    ) -> list[Result | Exception]:
        """`fn(item, shared)` of every item, in their order; an error is a result and names the item's file.

        `shared` is sent to a cluster once, not with every item. `progress(done, total)` hears of each item done.
        """
        work = list(items)
        results: dict[int, Result | Exception] = {}
        with closing(self._run(fn, work, shared)) as outcomes:
            for number, result in outcomes:
                results[number] = result
                if progress:
                    progress(len(results), len(work))
        return [results[number] for number in range(len(work))]

    def _run(self, fn: Callable[..., Any], items: Sequence[Any], shared: Any) -> Generator[Outcome]:
        where = self.where
        if where == "auto":
            where = "loop" if len(items) <= FEW else "threads"
        if where == "loop" or not items:
            return ((number, _attempt(fn, item, shared)) for number, item in enumerate(items))
        return self._backend(where).run(fn, items, shared)

    def _backend(self, where: str) -> _Threads | _Cluster:
        with self._starting:
            if where not in self._backends:
                try:
                    self._backends[where] = _Threads() if where == "threads" else _Cluster(where)
                except ComputeFailed as error:
                    self._backends[where] = error  # every model would wait as long for the same answer
            backend = self._backends[where]
        if isinstance(backend, ComputeFailed):
            raise ComputeFailed(str(backend))
        return backend

    def close(self) -> None:
        """Stop whatever was started."""
        with self._starting:
            for each in self._backends.values():
                if not isinstance(each, ComputeFailed):
                    each.close()
            self._backends.clear()


@contextmanager
def session(where: str | None = None, otherwise: str | None = None) -> Iterator[Session]:
    """A session for one flow run; nothing of it is left afterwards."""
    opened = Session(where, otherwise)
    try:
        yield opened
    finally:
        opened.close()


def place(where: str | None, otherwise: str | None = None) -> str:
    """Where to compute, as said here, else in $FIRECARD_DASK, else what the case says; refused where it is no place."""
    said = where or os.environ.get(SETTING) or otherwise or "auto"
    host, _, port = said.removeprefix("tcp://").rpartition(":")
    if said in ("auto", "loop", "threads", "processes") or (said.startswith("tcp://") and host and port.isdecimal()):
        return said
    raise BadParameter(
        f"dask: {said!r} is no place to compute; expected auto, loop, threads, processes or tcp://host:port"
    )


def _path(item: Path | _HasPath) -> Path:
    return item if isinstance(item, Path) else item.path


def _attempt(fn: Callable[..., Any], item: Any, shared: Any) -> Any:
    """The item's result, or the error with the name of its file."""
    try:
        return fn(item, shared)
    except Exception as error:
        path = _path(item)
        if path.name not in str(error):
            error.add_note(str(path))
        return error


class _Threads:
    """Threads of this process."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_cores(), thread_name_prefix="firecard")

    def run(self, fn: Callable[..., Any], items: Sequence[Any], shared: Any) -> Generator[Outcome]:
        futures = {self._pool.submit(_attempt, fn, item, shared): number for number, item in enumerate(items)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            for future in futures:
                future.cancel()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class _Cluster:
    """Processes behind a Dask scheduler: our own on this machine, or those of an address."""

    def __init__(self, where: str) -> None:
        import dask
        from distributed import Client

        # What items share is part of the graph, so that it survives its worker; Dask would warn of its size.
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "4 GiB"})
        logging.getLogger("distributed").setLevel(logging.ERROR)
        self._own = _local_cluster() if where == "processes" else None
        self._name = "the local Dask cluster" if self._own else f"the Dask scheduler at {where}"
        try:
            self._client: Any = Client(  # type: ignore[no-untyped-call]
                self._own or where, timeout=CONNECT, set_as_default=False, name="firecard"
            )
        except (OSError, ValueError) as error:
            if self._own:
                self._own.close()
            raise ComputeFailed(f"{self._name} does not answer within {CONNECT:g} s: {error}") from error
        try:
            self._client.wait_for_workers(1, timeout=WORKERS)
        except TimeoutError as error:
            self.close()
            raise ComputeFailed(f"{self._name} has no worker, not after {WORKERS:g} s either") from error

    def run(self, fn: Callable[..., Any], items: Sequence[Any], shared: Any) -> Generator[Outcome]:
        files = [_sizes(item) for item in items]
        if not self._own:
            self._refuse_unfit_workers({path: size for each in files for path, size in each.items()})
        ours = versions()
        common = self._client.submit(_given, shared, pure=False)
        done: queue.SimpleQueue[int] = queue.SimpleQueue()
        futures = [
            self._client.submit(_attempt_there, fn, item, common, sizes, ours, pure=False)
            for item, sizes in zip(items, files, strict=True)
        ]
        for number, future in enumerate(futures):
            future.add_done_callback(partial(_tell, done, number))
        for _ in items:
            number = self._next(done)
            yield number, self._result(futures[number], items[number])

    def _next(self, done: queue.SimpleQueue[int]) -> int:
        """The number of the next item that is done; an error where nobody is left to do it."""
        while True:
            try:
                return done.get(timeout=WORKERS)
            except queue.Empty:
                if not self._client.nthreads():
                    raise ComputeFailed(f"{self._name} has lost all of its workers") from None

    def _result(self, future: Any, item: Any) -> Any:
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise ComputeFailed(f"{self._name} went away in the middle of the work")
        error = future.exception()
        if isinstance(error, KilledWorker):
            return ComputeFailed(f"{_path(item)}: {self._name} lost several workers over it, one after the other")
        if error is not None:
            return _attempt(_raised, item, error)
        return future.result()

    def _refuse_unfit_workers(self, files: dict[str, int]) -> None:
        """Refuse a cluster with a worker that has other code, or does not see the files as they are here."""

        def asked(files: dict[str, int]) -> tuple[dict[str, str], str]:
            # A function inside a function travels as it is, so that a worker without firecard can answer as well.
            try:
                from tasks.compute import unreached, versions
            except ImportError:
                return {}, ""
            return versions(), unreached(files)

        answers = self._client.run(asked, files, on_error="return")
        fit = 0
        for worker, answer in sorted(answers.items()):
            if isinstance(answer, OSError):
                continue  # died since; what it does not do others will
            if isinstance(answer, Exception):
                raise ComputeFailed(f"Dask worker {worker} cannot be asked for its code: {answer!r}")
            theirs, problem = answer
            _refuse_difference(f"Dask worker {worker}", theirs, versions())
            if problem:
                raise ComputeFailed(f"Dask worker {worker} {problem}")
            fit += 1
        if not fit:
            raise ComputeFailed(f"{self._name} has lost all of its workers")

    def close(self) -> None:
        self._client.close()
        if self._own:
            self._own.close()


def _local_cluster() -> Any:
    """A worker process per core; every socket on the loopback, where Dask's own choice is all interfaces."""
    from distributed import LocalCluster

    try:
        return LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=_cores(),
            threads_per_worker=1,  # HDF5 is read under a lock
            processes=True,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",  # of the scheduler's metrics; with none said it wants a fixed port
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.ERROR,
        )
    except (RuntimeError, OSError) as error:
        raise ComputeFailed(f"processes to compute in cannot be started: {error.__cause__ or error}") from error


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions() -> dict[str, str]:
    """What must be the same for the same bits: the code, and what it computes with."""
    return {"firecard": code_digest()[:12], **_packages()}


@cache
def _packages() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "h5py")}


def _sizes(item: Path | _HasPath) -> dict[str, int]:
    """The item's file with its size here; nothing where it has gone, which the item's own error tells best."""
    if is_url(_path(item)):
        return {}
    path = _path(item).absolute()
    try:
        return {str(path): _size(path)}
    except OSError:
        return {}


def _size(path: Path) -> int:
    """Bytes of a file; a directory (a Zarr store) has no size of its own that would be the same everywhere."""
    return 0 if path.is_dir() else path.stat().st_size


def unreached(files: dict[str, int]) -> str:
    """The first file that is not here, or not with this size; nothing where all are."""
    for path, size in files.items():
        try:
            here = _size(Path(path))
        except OSError as error:
            return f"does not see {path}: {error.strerror}"
        if here != size:
            return f"sees another {path}: {here} bytes, expected {size}"
    return ""


def _refuse_difference(who: str, theirs: dict[str, str], ours: dict[str, str]) -> None:
    if not theirs:
        raise ComputeFailed(f"{who} has no firecard; install the version that runs here")
    for name, needed in ours.items():
        if theirs[name] != needed:
            raise ComputeFailed(f"{who} has {name} {theirs[name]}, here it is {needed}; both must be the same")


def _given(shared: Any) -> Any:
    """What items share, as a task: a copy that dies with its worker is made anew."""
    return shared


def _attempt_there(fn: Callable[..., Any], item: Any, shared: Any, files: dict[str, int], ours: dict[str, str]) -> Any:
    """The item's result on a worker; one that came after the others were looked at is looked at here."""
    from distributed import get_worker

    who = f"Dask worker {get_worker().address}"
    try:
        _refuse_difference(who, versions(), ours)
        if problem := unreached(files):
            raise ComputeFailed(f"{who} {problem}")
    except ComputeFailed as error:
        return error
    result = _attempt(fn, item, shared)
    return _portable(result) if isinstance(result, Exception) else result


def _portable(error: Exception) -> Exception:
    """The error, or what it says where it cannot travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        told = ComputeFailed(f"{type(error).__name__}: {error}")
        for note in getattr(error, "__notes__", ()):
            told.add_note(note)
        return told
    return error


def _raised(_item: Any, error: Exception) -> Any:
    raise error


def _tell(done: queue.SimpleQueue[int], number: int, _future: Any) -> None:
    done.put(number)
