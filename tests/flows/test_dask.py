"""The same card from every place to compute, also when a worker is killed over it."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli import app
from flows.demo import CYCLE, write_demo
from flows.evaluate import evaluate
from metrics.errors import FirecardError
from tasks import compute

pytestmark = pytest.mark.usefixtures("prefect_server")
MODEL = "hrrr"


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The case of the made-up night."""
    return write_demo(tmp_path_factory.mktemp("night"))


@pytest.fixture(scope="module")
def expected(night: Path, tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> dict[str, bytes]:
    """What a plain loop writes."""
    return scored(night, tmp_path_factory.mktemp("loop"), "loop")


def scored(night: Path, out: Path, where: str) -> dict[str, bytes]:
    """Every card, page and ledger that a run writes, by its place."""
    evaluate(night, CYCLE, models=[MODEL], out=out, dask=where)
    written = {str(path.relative_to(out)): path.read_bytes() for path in out.glob("DEMO-*/*/*/*")}
    assert sum(name.endswith("card.json") for name in written) == 2
    return {name: content for name, content in written.items() if not name.endswith("run.json")}


@pytest.mark.parametrize("where", ["threads", "processes", "cluster"])
def test_every_place_gives_the_same_bytes(where: str, night: Path, tmp_path: Path, expected, request):
    if where == "cluster":
        where = request.getfixturevalue("dask_cluster").with_workers(2).address
    assert scored(night, tmp_path, where) == expected


def test_a_worker_killed_while_it_matches_changes_nothing(
    dask_cluster, night: Path, tmp_path: Path, expected, monkeypatch: pytest.MonkeyPatch
):
    marks = tmp_path / "marks"
    marks.mkdir()

    def slow(file, shared):  # inside the test, so that it travels as it is
        from tasks.matching.stations import _sampled_file

        (marks / f"{os.getpid()}-{file.path.name}").touch()
        time.sleep(0.1)
        return _sampled_file(file, shared)

    def kill_one() -> None:
        while len(begun := [each.name for each in marks.iterdir()]) < 5:
            time.sleep(0.02)
        os.kill(int(begun[-1].partition("-")[0]), signal.SIGKILL)

    monkeypatch.setattr("tasks.matching.stations._sampled_file", slow)
    where = dask_cluster.with_workers(2).address
    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    assert scored(night, tmp_path / "out", where) == expected
    killer.join()
    assert sum(each.wait(60) == -signal.SIGKILL for each in dask_cluster.workers if each.poll() is not None) == 1
    assert len({each.name.partition("-")[0] for each in marks.iterdir()}) == 2


def test_a_run_whose_stages_are_all_there_starts_nothing(night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = scored(night, tmp_path, "loop")
    monkeypatch.setattr(compute, "_Cluster", None)
    assert scored(night, tmp_path, "processes") == first


def test_a_cluster_that_is_not_there_is_told_to_the_user(night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compute, "CONNECT", 0.3)
    with pytest.raises(FirecardError, match=r"model 'hrrr': the Dask scheduler at tcp://127.0.0.1:1 does not answer"):
        scored(night, tmp_path, "tcp://127.0.0.1:1")
    assert not list(tmp_path.glob("DEMO-*"))


def test_the_case_says_where_unless_somebody_else_does(night: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compute, "CONNECT", 0.3)
    case = night.with_name("elsewhere.yaml")
    case.write_text(night.read_text() + "\ndask: tcp://127.0.0.1:1\n")
    with pytest.raises(FirecardError, match=r"the Dask scheduler at tcp://127.0.0.1:1 does not answer"):
        evaluate(case, CYCLE, models=[MODEL], schemes=["A"], out=tmp_path)
    monkeypatch.setenv("FIRECARD_DASK", "tcp://127.0.0.1:2")
    with pytest.raises(FirecardError, match=r"the Dask scheduler at tcp://127.0.0.1:2 does not answer"):
        evaluate(case, CYCLE, models=[MODEL], schemes=["A"], out=tmp_path)
    assert evaluate(case, CYCLE, models=[MODEL], schemes=["A"], out=tmp_path, dask="loop")
    case.write_text(night.read_text() + "\ndask: nowhere\n")
    with pytest.raises(FirecardError, match=r"elsewhere.yaml:\d+.*expected auto, loop, threads, processes or tcp://"):
        evaluate(case, CYCLE, out=tmp_path)


def test_a_place_that_is_none_is_refused_at_the_front_door(night: Path, monkeypatch: pytest.MonkeyPatch):
    said = (
        "firecard: dask: 'nowhere' is no place to compute; expected auto, loop, threads, processes or tcp://host:port"
    )
    done = CliRunner().invoke(app, ["run", str(night), "--dask", "nowhere"])
    assert (done.exit_code, done.stderr.strip()) == (1, said)
    monkeypatch.setenv("FIRECARD_DASK", "nowhere")
    done = CliRunner().invoke(app, ["run", str(night)])
    assert (done.exit_code, done.stderr.strip()) == (1, said)
