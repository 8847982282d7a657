"""Every place to compute gives the same results in the same order; what is not fit for the work is refused by name."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from metrics.errors import BadInput, BadParameter, ComputeFailed
from tasks import compute
from tasks.compute import Session, session

PLACES = ("loop", "threads", "processes", "cluster")


@pytest.fixture(scope="module")
def sessions() -> Iterator[dict[str, Session]]:
    """The sessions that a test asked for, open for the whole module."""
    opened: dict[str, Session] = {}
    yield opened
    for each in opened.values():
        each.close()


@pytest.fixture(params=PLACES)
def anywhere(request: pytest.FixtureRequest, sessions: dict[str, Session]) -> Session:
    where = request.param
    if where == "cluster":
        where = request.getfixturevalue("dask_cluster").with_workers(2).address
    return sessions.setdefault(where, Session(where))


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Nine files with the numbers 0 to 8 in them."""
    made = [tmp_path / f"{number}.txt" for number in range(9)]
    for number, path in enumerate(made):
        path.write_text(str(number))
    return made


def test_results_come_in_the_order_of_the_items_and_are_the_same_bits_everywhere(anywhere: Session, files: list[Path]):
    def sines(path, shared):
        number = int(path.read_text())
        time.sleep(0.02 * (9 - number))  # the first is done last
        return number, np.sin(shared * number)

    heard: list[tuple[int, int]] = []
    shared = np.linspace(0.1, 7.3, 1001)
    found = anywhere.map_files(sines, files, shared=shared, progress=lambda *each: heard.append(each))
    assert [number for number, _ in found] == list(range(9))
    for number, values in found:
        assert values.tobytes() == np.sin(shared * number).tobytes()
    assert heard == [(done, 9) for done in range(1, 10)]


def test_an_item_that_fails_is_a_result_that_names_its_file(anywhere: Session, files: list[Path]):
    class Odd(Exception):
        def __init__(self, one, two):  # cannot be made again from its text, so it cannot travel
            super().__init__(f"{one} {two}")

    def picky(path, _shared):
        number = int(path.read_text())
        if number == 3:
            raise BadInput(f"{path}: three is not for us")
        if number == 5:
            raise OSError(5, "the disk is tired")
        if number == 7:
            raise Odd("quite", "odd")
        return number

    found = anywhere.map_files(picky, files)
    assert [each for each in found if not isinstance(each, Exception)] == [0, 1, 2, 4, 6, 8]
    three, five, seven = (found[number] for number in (3, 5, 7))
    assert type(three) is BadInput
    assert str(three) == f"{files[3]}: three is not for us"
    assert isinstance(five, OSError)
    assert five.__notes__ == [str(files[5])]
    assert "quite odd" in str(seven)
    assert seven.__notes__ == [str(files[7])]


def test_a_file_that_has_gone_is_an_error_of_its_item_alone(anywhere: Session, files: list[Path]):
    files[4].unlink()
    found = anywhere.map_files(lambda path, _: path.read_text(), files)
    assert isinstance(found[4], FileNotFoundError)
    assert str(files[4]) in str(found[4])
    assert found[:4] + found[5:] == [str(number) for number in (0, 1, 2, 3, 5, 6, 7, 8)]


def test_nothing_to_do_starts_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compute, "_Cluster", None)
    with session("processes") as none:
        assert none.map_files(len, []) == []


def test_auto_is_a_loop_for_a_few_items_and_threads_for_more(monkeypatch: pytest.MonkeyPatch, files: list[Path]):
    monkeypatch.delenv("FIRECARD_DASK", raising=False)

    def thread(_path, _shared):
        return threading.current_thread()

    before = set(threading.enumerate())
    with session() as opened:
        assert set(opened.map_files(thread, files[: compute.FEW])) == {threading.current_thread()}
        assert threading.current_thread() not in opened.map_files(thread, files[: compute.FEW + 1])
    assert not set(threading.enumerate()) - before


@pytest.mark.parametrize("where", ["nowhere", "tcp://", "tcp://host", "http://host:80", "tcp://host:port", ":80"])
def test_a_place_that_is_none_is_refused(where: str):
    with pytest.raises(BadParameter, match="is no place to compute; expected auto, loop, threads"):
        Session(where)


def test_the_setting_counts_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FIRECARD_DASK", "processes")
    assert Session().where == "processes"
    assert Session("loop").where == "loop"


def test_every_socket_of_local_processes_is_on_loopback_and_none_is_left(
    sessions: dict[str, Session], files: list[Path]
):
    opened = sessions.pop("processes", None) or Session("processes")
    try:
        workers = {psutil.Process(each) for each in opened.map_files(lambda *_: os.getpid(), files)}
        listening = [
            each.laddr.ip
            for process in (psutil.Process(), *workers)
            for each in process.net_connections(kind="inet")
            if each.status == psutil.CONN_LISTEN
        ]
    finally:
        opened.close()
    assert len(listening) >= 2  # the scheduler and a worker, at least
    assert set(listening) == {"127.0.0.1"}
    assert psutil.Process() not in workers
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive


def test_a_worker_killed_in_the_middle_costs_nothing_but_time(dask_cluster, files: list[Path], tmp_path: Path):
    marks = tmp_path / "marks"
    marks.mkdir()

    def slow(path, shared):
        (marks / f"{os.getpid()}-{path.stem}").touch()
        time.sleep(0.4)
        return int(path.read_text()) * shared

    killed: list[int] = []

    def kill_one() -> None:
        while not (begun := [each.name for each in marks.iterdir()]):
            time.sleep(0.02)
        killed.append(int(begun[0].partition("-")[0]))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one, daemon=True)
    with session(dask_cluster.with_workers(2).address) as opened:
        killer.start()
        assert opened.map_files(slow, files, shared=11) == [11 * number for number in range(9)]
        killer.join()
    attempts = [each.name for each in marks.iterdir()]
    assert len(attempts) == len(files) + 1  # what the killed worker had begun was begun again by the other
    assert any(each.startswith(f"{killed[0]}-") for each in attempts)


def test_a_worker_with_other_code_is_refused_by_name(dask_cluster, files: list[Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compute, "code_digest", lambda: "0123456789abcdef")
    with (
        session(dask_cluster.with_workers(2).address) as opened,
        pytest.raises(ComputeFailed, match=r"^Dask worker tcp://127.0.0.1:\d+ has firecard .*here it is 0123456789ab;"),
    ):
        opened.map_files(lambda path, _: path.name, files)


def test_a_worker_that_does_not_see_the_files_is_refused_by_name(dask_cluster, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log").write_text("of another size than the worker's own log")
    (tmp_path / "only-here").touch()
    with session(dask_cluster.with_workers(2).address) as opened:
        # Every process has a file of its own behind this path: the worker's stands elsewhere.
        for name, problem in (("only-here", "does not see"), ("log", "sees another")):
            path = Path("/proc/self/cwd") / name
            with pytest.raises(ComputeFailed, match=rf"^Dask worker tcp://127.0.0.1:\d+ {problem} {path}: "):
                opened.map_files(lambda path, _: path.name, [path])


def test_a_worker_that_comes_late_is_looked_at_as_well(dask_cluster, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "only-here").touch()
    monkeypatch.setattr(compute._Cluster, "_refuse_unfit_workers", lambda *_: None)
    with session(dask_cluster.with_workers(2).address) as opened:
        (found,) = opened.map_files(lambda path, _: path.name, [Path("/proc/self/cwd/only-here")])
    assert isinstance(found, ComputeFailed)
    assert "does not see /proc/self/cwd/only-here" in str(found)


def test_a_scheduler_that_is_not_there_is_an_error_at_once_for_all(monkeypatch: pytest.MonkeyPatch, files: list[Path]):
    monkeypatch.setattr(compute, "CONNECT", 0.3)
    with session("tcp://127.0.0.1:1") as opened:
        for _ in range(2):
            with pytest.raises(ComputeFailed, match=r"the Dask scheduler at tcp://127.0.0.1:1 does not answer within"):
                opened.map_files(lambda path, _: path.name, files)
            monkeypatch.setattr(compute, "_Cluster", None)  # it is not asked again


def test_a_scheduler_without_workers_or_that_goes_away_is_an_error(
    dask_cluster, monkeypatch: pytest.MonkeyPatch, files: list[Path], tmp_path: Path
):
    def slow(_path, _shared):
        (tmp_path / "begun").touch()
        time.sleep(0.5)

    def kill_scheduler() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.02)
        lonely.scheduler.kill()

    lonely = type(dask_cluster)(dask_cluster.folder.with_name("lonely"))
    killer = threading.Thread(target=kill_scheduler, daemon=True)
    try:
        with monkeypatch.context() as impatient:
            impatient.setattr(compute, "WORKERS", 0.3)
            with (
                session(lonely.address) as opened,
                pytest.raises(ComputeFailed, match=f"{lonely.address} has no worker"),
            ):
                opened.map_files(slow, files)
        with session(lonely.with_workers(1).address) as opened:
            killer.start()
            with pytest.raises(ComputeFailed, match=f"{lonely.address} went away in the middle of the work"):
                opened.map_files(slow, files)
    finally:
        lonely.stop()


def test_what_travels_to_a_worker_can(tmp_path: Path):
    """Grid files, their cells and errors; no open file is among them."""
    from flows.demo import CYCLE, SKILLS, terrain, truth_of, write_model
    from tasks.matching.locate import locate
    from tasks.readers.grids import describe, sample_all

    ground = terrain()
    rng = np.random.default_rng(1)
    write_model(tmp_path, "hrrr", ground, truth_of(ground, rng), SKILLS["hrrr"], rng)
    (tmp_path / f"wrfout_d01_{CYCLE:%Y}_broken").write_bytes(b"nothing")
    files = describe(sorted(tmp_path.iterdir()), keep_going=True)
    cells = locate(files.grid, [39.0, 39.4], [-121.0, -120.8], how="bilinear")
    again, cells_again = pickle.loads(pickle.dumps((files, cells)))
    assert [str(each) for each in again.broken.values()] == [str(each) for each in files.broken.values()] != []
    here, there = sample_all(files, ["wind_speed"], cells), sample_all(again, ["wind_speed"], cells_again)
    assert here["wind_speed"].tobytes() == there["wind_speed"].tobytes()
