"""Severity maps of a continent: binary high severity and the matrix of six classes, from arrays and from files."""

from __future__ import annotations

import atexit
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from workload import CORES, Goal, Skipped, Trial, agree_on_arrays, faster, within

ID = "W3"
WORK = "severity rasters: binary high severity, and a 6-class matrix, from arrays and from files"
SIDE = 20_000
HIGH, CODES = 4, tuple(range(6))
BAND = 500  # rows that one piece has
ROOT = Path(__file__).resolve().parents[2]

Found = dict[str, Any]
# What a fresh process prints: its memory before and at most while it matches two files, in MiB, and the counts.
FROM_FILES = """
import json, sys
from pathlib import Path
import numba, pyproj  # what an evaluation has loaded anyway
from configs.case import Data
from configs.impact import SeverityRules
from tasks.matching.rasters import Layer, match_rasters
def most():
    return next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = most()
layers = [Layer(Path(each), Data(each)) for each in sys.argv[1:3]]
table = match_rasters(*layers, SeverityRules(domain="all"), None).table
counts = table.groupby(["forecast", "observed"])["count"].sum()
print(json.dumps([before, most(), [[int(counts.get((i, j), 0)) for j in range(6)] for i in range(6)]]))
"""


def prepare() -> Trial:
    try:
        import dask.array as da
        from firebench.metrics.confusion_matrix.utils import binary_cm
    except ImportError as missing:
        raise Skipped(f"{missing.name} is not installed; `make bench` makes an environment that has it") from missing
    model, observed = maps()
    threads = ThreadPoolExecutor(CORES)
    lazy = [da.from_array(each, chunks=(2000, 2000)) for each in (model, observed)]
    if not Path("/proc/self/status").exists():
        raise Skipped("peak memory is read from /proc, which this system lacks")
    folder = Path(tempfile.mkdtemp(prefix="w3-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    files = [write(folder / f"{name}.nc", each) for name, each in (("model", model), ("observed", observed))]
    before, peak, counted = json.loads(
        subprocess.run(
            [sys.executable, "-c", FROM_FILES, *map(str, files)], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
    )

    def with_firebench() -> Found:
        (tn, fp), (fn, tp) = binary_cm(observed == HIGH, model == HIGH)
        return {"binary": np.array([tp, fp, fn, tn])}

    contenders: dict[str, Callable[[], Found]] = {
        "firecard, binary": lambda: with_firecard(model, observed, threads),
        "firecard, 6 classes": lambda: with_firecard(model, observed, threads),
        "firecard, one core": lambda: with_firecard(model, observed, None),
        "firecard, from files": lambda: from_files(files),
        "firebench binary_cm": with_firebench,
        "dask blocks, 6 classes": lambda: with_dask(*lazy),
        "numpy, 6 classes": lambda: with_numpy(model, observed),
    }

    def agree(results: Any) -> None:
        expected = results["numpy, 6 classes"]
        everything = {**results, "firecard, peak memory": {"matrix": np.array(counted)}}
        for name in contenders | {"firecard, peak memory": None}:
            shared = {key: expected[key] for key in expected if key in everything[name]}
            agree_on_arrays(
                {"numpy": shared, name: everything[name]}, reference="numpy", others=(name,), rtol=0, atol=0
            )

    inputs = (model.nbytes + observed.nbytes) / 2**20
    return Trial(
        inputs=f"two maps of {SIDE}×{SIDE} cells, uint8: {inputs:.0f} MiB; the files are uncompressed NetCDF",
        contenders={"one read": lambda: one_read((model, observed), threads), **contenders},
        agree=agree,
        goals=(
            faster("firecard, binary", "firebench binary_cm", than="firebench", least=25),
            faster("firecard, 6 classes", "dask blocks, 6 classes", than="dask blocks", least=15),
            within("firecard, 6 classes", "one read", most=3, stretch=2),
            within("firecard, from files", "one read"),
            Goal("peak memory from files, above the start", lambda _: peak - before, "≤", inputs + 200, unit=" MiB"),
        ),
        notes=(
            "Binary counts are read off the class matrix, which one pass gives; firebench is given both comparisons.",
            f"From files a fresh process starts at {before:.0f} MiB and peaks at {peak:.0f} MiB.",
        ),
    )


def maps() -> tuple[np.ndarray, np.ndarray]:
    """Patches of a few cells that differ between the maps in every fourth patch."""
    generator = np.random.default_rng(20261117)
    small = generator.integers(0, len(CODES), (SIDE // 5, SIDE // 5), dtype=np.uint8)
    wrong = generator.random(small.shape) < 0.25
    other = np.where(wrong, generator.integers(0, len(CODES), small.shape, dtype=np.uint8), small)
    return tuple(np.ascontiguousarray(each.repeat(5, 0).repeat(5, 1)) for each in (other, small))  # type: ignore[return-value]


def write(path: Path, values: np.ndarray) -> Path:
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        for axis, unit in (("lat", "degrees_north"), ("lon", "degrees_east")):
            file.createDimension(axis, SIDE)
            variable = file.createVariable(axis, "f8", (axis,))
            variable.units, variable[:] = unit, 50 + 0.0003 * np.arange(SIDE)
        # Metres that no projection names: no area is asked for here, only cells.
        file.createVariable("crs", "i4").crs_wkt = wkt()
        severity = file.createVariable("severity", "u1", ("lat", "lon"))
        severity.grid_mapping = "crs"
        severity[:] = values
    return path


def wkt() -> str:
    from pyproj import CRS

    return str(CRS.from_epsg(5070).to_wkt())


def with_firecard(model: np.ndarray, observed: np.ndarray, threads: ThreadPoolExecutor | None) -> Found:
    from metrics.kernels_classes import code_pairs
    from metrics.severity import PRESETS, SeveritySums

    def piece(first: int) -> np.ndarray:
        return code_pairs(model[first : first + BAND], observed[first : first + BAND])

    matrix = sum((threads.map if threads else map)(piece, range(0, SIDE, BAND)))[:6, :6]  # type: ignore[index]
    high = SeveritySums(PRESETS["mtbs"], matrix).high()
    return {"matrix": matrix, "binary": np.array([high.tp, high.fp, high.fn, high.tn])}


def from_files(files: list[Path]) -> Found:
    from configs.case import Data
    from configs.impact import SeverityRules
    from tasks.matching.rasters import Layer, match_rasters

    layers = [Layer(each, Data(each.name)) for each in files]
    table = match_rasters(layers[0], layers[1], SeverityRules(domain="all"), None).table
    matrix = np.zeros((6, 6), dtype=np.int64)
    np.add.at(matrix, (table["forecast"].to_numpy(), table["observed"].to_numpy()), table["count"].to_numpy())
    return {"matrix": matrix}


def with_dask(model: Any, observed: Any) -> Found:
    import dask

    def count(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.bincount((one.astype(np.int64) * 6 + other).ravel(), minlength=36)

    blocks = zip(model.to_delayed().ravel(), observed.to_delayed().ravel(), strict=True)
    counts = dask.compute(*(dask.delayed(count)(*both) for both in blocks), scheduler="threads", num_workers=CORES)
    return {"matrix": np.sum(counts, axis=0).reshape(6, 6)}


def with_numpy(model: np.ndarray, observed: np.ndarray) -> Found:
    matrix = np.zeros(36, dtype=np.int64)
    for first in range(0, SIDE, BAND):
        rows = slice(first, first + BAND)
        matrix += np.bincount((model[rows] * np.uint8(6) + observed[rows]).ravel(), minlength=36)
    matrix = matrix.reshape(6, 6)
    tp = matrix[HIGH, HIGH]
    fp, fn = matrix[HIGH].sum() - tp, matrix[:, HIGH].sum() - tp
    return {"matrix": matrix, "binary": np.array([tp, fp, fn, matrix.sum() - tp - fp - fn])}


def one_read(arrays: tuple[np.ndarray, ...], threads: ThreadPoolExecutor) -> Found:
    """Every byte of the maps once, as fast as all cores can: the integers in it added up."""
    words = [
        each[first : first + BAND].reshape(-1).view(np.uint64) for first in range(0, SIDE, BAND) for each in arrays
    ]
    return {"sum": sum(int(each) for each in threads.map(np.sum, words))}
