"""What happens when processes die and disks fill up: nothing is half-written, and the next run completes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flows.demo import CYCLE, write_demo
from flows.evaluate import evaluate
from metrics.errors import FirecardError
from tasks.store.history import nights

ROOT = Path(__file__).parents[2]
FILES = ("card.json", "card.md", "card.html", "ledger.csv")


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's night; its case file."""
    return write_demo(tmp_path_factory.mktemp("night"))


@pytest.fixture(scope="module")
def undisturbed(night: Path, prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The outputs of a run that nobody disturbed."""
    out = tmp_path_factory.mktemp("undisturbed")
    evaluate(night, CYCLE, models=["hrrr"], schemes=["A"], out=out)
    return out


def card_files(out: Path) -> dict[str, bytes]:
    folder = out / "DEMO-A" / "2026-11-17T00" / "hrrr"
    return {name: (folder / name).read_bytes() for name in FILES}


def matching(out: Path) -> bool:
    return any((out / ".store" / "pairs").glob(".*"))


def publishing(out: Path) -> bool:
    return (out / "DEMO-A" / "2026-11-17T00" / "hrrr").is_dir()


@pytest.mark.parametrize("moment", [matching, publishing])
def test_a_killed_run_leaves_nothing_half_written_and_the_next_completes(
    night: Path, undisturbed: Path, prefect_server: str, tmp_path: Path, moment: Callable[[Path], bool]
):
    command = [sys.executable, "-m", "flows.cli", "run", str(night), "--model", "hrrr", "--scheme", "A"]
    started = subprocess.Popen(
        [*command, "--out", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PREFECT_API_URL": prefect_server},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not moment(tmp_path) and started.poll() is None:
        time.sleep(0.001)
    started.send_signal(signal.SIGKILL)
    started.wait()
    for path in tmp_path.rglob("card.json"):
        json.loads(path.read_bytes())  # there whole, or not there
    evaluate(night, CYCLE, models=["hrrr"], schemes=["A"], out=tmp_path)
    assert card_files(tmp_path) == card_files(undisturbed)
    assert [(each.cycle, each.scheme) for each in nights(tmp_path / "history", "DEMO")] == [("2026-11-17T00:00Z", "A")]
    assert not [path for path in tmp_path.rglob(".*-*") if path.is_file()]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 400 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here (not root)")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_named_and_earlier_outputs_stay(
    hand_case: Callable[..., Path], small_disk: Path, prefect_server: str
):
    cycle = datetime(2026, 11, 17, tzinfo=UTC)
    evaluate(hand_case(), cycle, models=["perfect"], schemes=["A"], out=small_disk)
    folder = small_disk / "HAND-A" / "2026-11-17T00" / "perfect"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    free = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(b"\0" * (free.f_bavail * free.f_frsize))
    with pytest.raises(FirecardError, match="cannot be written: No space left on device"):
        evaluate(hand_case(("m: 10 m/s", "m: 20 m/s")), cycle, models=["perfect"], schemes=["A"], out=small_disk)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_read_only_output_directory_is_named_and_earlier_outputs_stay(
    hand_case: Callable[..., Path], small_disk: Path, prefect_server: str
):
    case = hand_case()
    command = [sys.executable, "-m", "flows.cli", "run", str(case), "--model", "perfect", "--scheme", "A"]
    environment = {**os.environ, "PREFECT_API_URL": prefect_server}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "--out", str(small_disk)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    assert run().returncode == 0
    before = {path: path.read_bytes() for path in small_disk.rglob("*") if path.is_file()}
    assert any(path.name == "card.json" for path in before)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = run()
    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        f"firecard: {small_disk}: cannot be written: no permission to write in {small_disk}"
    ]
    # Found out only on the way, as by a worker: the run fails with the same kind of message.
    with pytest.raises(FirecardError, match="cannot be written: Read-only file system"):
        evaluate(hand_case(("m: 10 m/s", "m: 20 m/s")), CYCLE, models=["perfect"], schemes=["A"], out=small_disk)
    assert {path: path.read_bytes() for path in small_disk.rglob("*") if path.is_file()} == before
