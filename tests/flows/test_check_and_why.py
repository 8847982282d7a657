"""`firecard check` and `firecard why`: what is said of a case and of one station, without scoring anything."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from flows.cli import app
from flows.demo import write_demo


class Done(NamedTuple):
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


Firecard = Callable[..., Done]


@pytest.fixture
def firecard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Firecard:
    """Runs the command in this process, in an empty folder and without a terminal."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        result = CliRunner().invoke(app, [str(each) for each in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A night without gaps, of one model, so that every count is known: 40 stations, 24 hours."""
    case = write_demo(tmp_path_factory.mktemp("night"), noise=0)
    text = re.sub(r"  (wrf-d02|gfs): .*\n", "", case.read_text())
    case.write_text(text)
    return case


@pytest.fixture
def own(night: Path, tmp_path: Path) -> Path:
    """A copy of the night, to change."""
    shutil.copytree(night.parent, tmp_path / "own", ignore=shutil.ignore_patterns("gfs", "wrf-d02"))
    return tmp_path / "own" / night.name


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_check_says_what_was_found_and_understood(firecard: Firecard, night: Path, tmp_path: Path):
    done = firecard("check", night)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert "cycle 2026-11-17T00:00Z, valid [2026-11-17T00:00Z, 2026-11-18T00:00Z[" in said
    assert "model hrrr" in said
    assert "WRF output" in said
    assert "obs/20261117_ASOS.csv" in said
    assert re.search(r"domain: 60 x 80 points, latitude 38\.\d\d to 40\.\d\d, longitude -122\.\d\d to -119\.\d\d", said)
    assert "winds: grid-relative: SINALPHA/COSALPHA" in said
    assert "time: nearest report within 15 min (RAWS 30 min)" in said
    # ASOS report thrice an hour, the first time seven minutes before the cycle.
    assert "times: model 2026-11-17T00:00Z to 2026-11-17T23:00Z, reports 2026-11-16T23:" in said
    assert "height: log law with z0 0.03 m (model 10 m to sensors 6.1 to 10 m)" in said
    assert "stations: inside 38, outside 2" in said
    assert "40 stations, valid 2026-11-17T00:00Z to 2026-11-17T23:00Z, step 1 h" in said
    # 40 stations by 24 hours; two outside, one at a bad time, one silent from the tenth hour on.
    counts = re.search(r"temperature \[degC\]: (\d+) pairs of 960 candidates \((.*)\)", said)
    assert counts is not None
    left_out = {reason: int(count) for count, reason in re.findall(r"(\d+) ([a-z ]+)", counts[2])}
    assert int(counts[1]) + sum(left_out.values()) == 960
    assert left_out["outside the grid"] == 48
    assert left_out["outside the time tolerance"] == 24
    assert not list(tmp_path.iterdir())  # nothing is written


def test_check_flags_heights_that_differ(firecard: Firecard, own: Path):
    edited(own, "  height: log_law", "  height: as_is #")
    edited(own, "  roughness: 0.03 m\n", "")
    said = firecard("check", own).stdout
    assert "height: as is (model 10 m, sensors 6.1 to 10 m)" in said
    assert "warning: winds are compared as they are: model at 10 m, sensors at 6.1 m" in said


def test_check_names_broken_files_and_counts_what_they_cost(firecard: Firecard, own: Path):
    path = own.parent / "hrrr" / "2026111700" / "wrfout_d01_2026-11-17_05_00_00"
    path.write_bytes(path.read_bytes()[:20_000])
    done = firecard("check", own)
    assert done.returncode == 0
    assert re.search(r"broken files: wrfout_d01_2026-11-17_05_00_00 ", done.stdout)
    assert re.search(r"temperature .* candidates \(.*3\d no forecast", done.stdout)


def test_check_of_another_cycle_says_which_file_is_not_there(firecard: Firecard, night: Path):
    done = firecard("check", night, "--cycle", "2026-11-18T00")
    assert done.returncode == 1
    assert "cannot be scored" in done.stdout
    assert "no file matches 'hrrr/" in done.stdout


def test_check_where_nothing_overlaps(firecard: Firecard, own: Path):
    edited(own, "window: {hours: 24}", "window: {hours: 24, offset: 72}")
    done = firecard("check", own)
    assert done.returncode == 1
    assert "2026-11-17T00:00Z to 2026-11-17T23:00Z, do not overlap the window [2026-11-20T00:00Z" in done.stdout


def test_check_where_every_station_is_outside(firecard: Firecard, own: Path):
    for path in (own.parent / "obs").iterdir():
        head, *rows = path.read_text().splitlines()
        lat = head.split(",").index("lat")
        moved = [",".join("-39.5" if k == lat else cell for k, cell in enumerate(row.split(","))) for row in rows]
        path.write_text("\n".join([head, *moved]) + "\n")
    done = firecard("check", own)
    assert "stations: inside 0, outside 40" in done.stdout
    assert "temperature [degC]: 0 pairs of 960 candidates (960 outside the grid)" in done.stdout


WHY = [
    ("RAWS11", "wind_speed", r"none of 24 candidates are pairs; 24 stuck sensor"),
    ("RAWS11", "temperature", r"all 24 candidates are pairs"),
    ("RAWS23", "wind_speed", r"none of 24 candidates are pairs; 24 outside the grid"),
    ("ASOS15", "wind_direction", r"none of 24 candidates are pairs; 24 outside the grid"),
    ("ASOS05", "temperature", r"none of 24 candidates are pairs; 24 outside the time tolerance"),
    ("RAWS07", "temperature", r"9 of 24 candidates are pairs; 15 no observation \(17 09:00Z to 17 23:00Z\)"),
]


@pytest.mark.parametrize(("station", "variable", "expected"), WHY)
def test_why_explains_one_station_in_words(firecard: Firecard, night: Path, station: str, variable: str, expected: str):
    done = firecard("why", station, night)
    assert done.returncode == 0, done.stderr
    assert f"model hrrr, cycle 2026-11-17T00:00Z: station {station} at " in done.stdout
    assert re.search(rf"^  {variable}: {expected}", done.stdout, re.MULTILINE), done.stdout


def test_why_names_the_kpis_that_leave_a_station_out(firecard: Firecard, night: Path):
    said = firecard("why", "RAWS07", night, "--model", "hrrr").stdout
    assert re.search(r"WX02 .*: left out, with 9 pairs it has too few", said)  # 0.75 of 24 are 18


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("RAWS7",), r"no station 'RAWS7' .* did you mean 'RAWS\d7'"),
        (("[/red]<b>\x1b[31m",), "no station"),
        (("RAWS07", "--model", "hrr"), "no model 'hrr': did you mean 'hrrr'"),
        (("RAWS07", "--cycle", "2026-11-18T00"), "no file matches"),
    ],
)
def test_why_of_what_is_not_there(firecard: Firecard, night: Path, arguments: tuple[str, ...], expected: str):
    station, *rest = arguments
    done = firecard("why", station, night, *rest)
    assert done.returncode == 1
    assert re.search(expected, done.stderr)
    assert "\x1b" not in done.stderr
