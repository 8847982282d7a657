"""A made-up fire with known errors: severity on a ridge and a village in its way, predicted by two fire models."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pandas as pd

SEED = 20210814
ROWS, COLUMNS, CELL = 240, 320, 30.0
CRS = "EPSG:5070"  # the Albers projection that MTBS uses
WEST, NORTH = -2_050_000.0, 2_000_000.0
BUILDINGS = 900
DAMAGE = ("No Damage", "Affected (1-9%)", "Minor (10-25%)", "Major (26-50%)", "Destroyed (>50%)")


def write_demo(folder: Path) -> Path:
    """Rasters, tables of buildings and the case file."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    rough = _smooth(rng.normal(0, 1, (ROWS, COLUMNS)), 5)
    observed = _fire(rough, row=120, column=150, reach=1.0)
    observed[20:40, 250:280] = 6  # a cloud: not processed
    _write_raster(folder / "observed.nc", observed, CELL)
    _write_raster(folder / "spread-a.nc", _fire(rough + 0.35 * _noise(rng), row=124, column=158, reach=1.05), CELL)
    coarse = _fire(rough + 0.8 * _noise(rng), row=110, column=185, reach=1.3)[1::3, 1::3]
    _write_raster(folder / "spread-b.nc", coarse, 3 * CELL)  # three times as coarse: brought together by nearest cell
    _write_buildings(folder, observed, rng)
    case = folder / "impact.yaml"
    with as_file(files("configs") / "cases" / "impact.yaml") as shipped:
        shutil.copyfile(shipped, case)
    return case


def _smooth(values: np.ndarray, times: int) -> np.ndarray:
    for _ in range(times):
        values = np.mean([np.roll(values, step, axis) for axis in (0, 1) for step in (-2, -1, 0, 1, 2)], axis=0)
    return np.asarray(values / values.std())


def _noise(rng: np.random.Generator) -> np.ndarray:
    return _smooth(rng.normal(0, 1, (ROWS, COLUMNS)), 6)


def _fire(rough: np.ndarray, *, row: float, column: float, reach: float) -> np.ndarray:
    """Classes of a fire that ran east: hotter inside, ragged at its edge."""
    down, right = np.meshgrid(np.arange(ROWS), np.arange(COLUMNS), indexing="ij")
    distance = np.hypot((down - row) / (60 * reach), (right - column) / (95 * reach))
    heat = 1.25 - distance + 0.22 * rough
    classes: np.ndarray = np.digitize(heat, (0.25, 0.4, 0.6, 0.95)).astype(np.uint8)
    classes[(heat > 0.25) & (heat < 0.262)] = 5
    return classes


def _write_raster(path: Path, classes: np.ndarray, cell: float) -> None:
    import netCDF4
    import pyproj

    from tasks.readers.hdf import LOCK

    rows, columns = classes.shape
    with LOCK, netCDF4.Dataset(path, "w") as file:
        for name, count, first, step in (("y", rows, NORTH, -cell), ("x", columns, WEST, cell)):
            file.createDimension(name, count)
            axis = file.createVariable(name, "f8", (name,))
            axis.units, axis.standard_name = "m", f"projection_{name}_coordinate"
            axis[:] = first + step * (np.arange(count) + 0.5)
        file.createVariable("crs", "i4").crs_wkt = pyproj.CRS.from_user_input(CRS).to_wkt()
        severity = file.createVariable("severity", "u1", ("y", "x"), zlib=True)
        severity.grid_mapping, severity.long_name = "crs", "burn severity class"
        severity[:] = classes


def _write_buildings(folder: Path, observed: np.ndarray, rng: np.random.Generator) -> None:
    from pyproj import Transformer

    row, column = rng.integers(70, 170, BUILDINGS), rng.integers(200, 300, BUILDINGS)
    severity = np.where(observed[row, column] == 6, 0, observed[row, column] % 5)
    burned = rng.random(BUILDINGS) < np.array([0.02, 0.15, 0.4, 0.7, 0.92])[severity]
    damage = np.where(burned, rng.choice([3, 4, 4, 4], BUILDINGS), rng.choice([0, 0, 0, 1, 2], BUILDINGS))
    lon, lat = Transformer.from_crs(CRS, "EPSG:4326", always_xy=True).transform(
        WEST + CELL * (column + rng.random(BUILDINGS)), NORTH - CELL * (row + rng.random(BUILDINGS))
    )
    texts = np.array(DAMAGE)[damage]
    texts[rng.random(BUILDINGS) < 0.02] = "Inaccessible"
    names = [f"B{number:04d}" for number in range(BUILDINGS)]
    table = pd.DataFrame({"GLOBALID": names, "Latitude": lat.round(6), "Longitude": lon.round(6), "* Damage": texts})
    table.to_csv(folder / "dins.csv", index=False)
    for name, right, wrong, kept in (("spread-a", 0.88, 0.1, 0.99), ("spread-b", 0.7, 0.3, 0.95)):
        lost = np.where(damage >= 3, rng.random(BUILDINGS) < right, rng.random(BUILDINGS) < wrong)
        some = rng.random(BUILDINGS) < kept
        if name == "spread-a":
            own = pd.DataFrame({"id": names, "destroyed": lost.astype(int)})
        else:  # without ids: joined by position, a few metres off
            own = pd.DataFrame({"lat": (lat + 2e-5).round(6), "lon": lon.round(6), "destroyed": lost.astype(int)})
        own[some].to_csv(folder / f"{name}.csv", index=False)
