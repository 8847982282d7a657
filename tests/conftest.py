"""What all tests share: one real Prefect server, the real files beside the project, and small cases on disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

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


@pytest.fixture
def firebench_file() -> Callable[..., Path]:
    """Writes a file of FireBench's standard 1.0, by its documented layout; groups are added to a file that is there."""
    return write_standard


def write_standard(
    path: Path,
    *,
    severity: tuple[Any, Any, Any] | None = None,
    buildings: tuple[Any, Any, Any] | None = None,
    stations: Mapping[str, tuple[float, float, Any, Mapping[str, tuple[str, Any]]]] | None = None,
    crs: str = "EPSG:4326",
    name: str = "Caldor_MTBS",
    version: str = "1.0",
    packed: bool = False,
    confidence: object = 2,
) -> Path:
    """The file.

    `severity` is (codes, lat, lon); `buildings` (damage, lat, lon), without places where lat is None; `stations` by id
    (lat, lon, minutes since 2021-08-17T00:00-07:00, variables as (unit, values)).
    """
    import h5py
    import numpy as np

    packing: dict[str, Any] = {}
    if packed:
        import hdf5plugin

        packing = dict(hdf5plugin.Zstd(clevel=3))
    with h5py.File(path, "a") as file:
        file.attrs.update({"FireBench_io_version": version, "created_on": "2026-11-17T00:00+00:00", "created_by": "us"})
        if severity is not None:
            group = file.create_group(f"spatial_2d/{name}")
            group.attrs["crs"] = crs
            codes = group.create_dataset("fire_burn_severity", data=np.asarray(severity[0]), **packing)
            codes.attrs["units"], codes.attrs["_FillValue"] = "dimensionless", 0
            for axis, places in zip(("position_lat", "position_lon"), severity[1:], strict=True):
                group.create_dataset(axis, data=np.asarray(places, dtype="f8"), **packing).attrs["units"] = "degrees"
        if buildings is not None:
            group = file.create_group("points/building_damaged")
            damage = group.create_dataset("building_damage", data=np.asarray(buildings[0], dtype="S"), **packing)
            damage.attrs["units"] = "dimensionless"
            for axis, places in zip(("position_lat", "position_lon"), buildings[1:], strict=True):
                if places is not None:
                    group.create_dataset(axis, data=np.asarray(places, dtype="f8")).attrs["units"] = "degree"
        for station, (lat, lon, minutes, variables) in (stations or {}).items():
            group = file.create_group(f"time_series/station_{station}")
            group.attrs.update({"position_lat": lat, "position_lon": lon, "position_alt": 1000.0})
            group.attrs.update({"position_alt_units": "ft", "providers": "RAWS"})
            time = group.create_dataset("time", data=np.asarray(minutes, dtype="f8"), **packing)
            time.attrs.update({"time_origin": "2021-08-17T00:00:00-07:00", "time_units": "min"})
            for variable, (unit, values) in variables.items():
                series = group.create_dataset(variable, data=np.asarray(values, dtype="f8"), **packing)
                series.attrs.update({"units": unit, "sensor_height": 20.0, "sensor_height_units": "ft"})
                series.attrs["sensor_height_source_confidence_lvl"] = confidence
    return path
