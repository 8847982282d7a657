"""Bands of tiles in every place to compute: the same card, byte for byte; an error is the same error."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from configs.case import Data
from configs.impact import SeverityRules
from flows.evaluate import evaluate
from metrics.errors import FirecardError
from tasks.compute import session
from tasks.matching.rasters import Layer, match_rasters

pytestmark = pytest.mark.usefixtures("prefect_server")
CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
CASE = """\
case: FIRE
cycle: 2026-11-17T00
models: {m: {severity: {path: model.zarr}}}
observations: {severity: {path: observed.h5}}
severity: {domain: all}
kpis:
  SV01: {kpi: high_severity_f1}
  SV02: {kpi: severity_weighted_kappa}
  SV03: {kpi: burned_area_error, normalise: {kind: symmetric_exponential, m: 1000 ha}}
"""
HEIGHT, WIDTH = 200, 120  # thirteen bands


@pytest.fixture
def case(tmp_path: Path, firebench_file) -> Path:
    import xarray as xr

    generator = np.random.default_rng(8)
    lat, lon = np.meshgrid(39 - 0.003 * np.arange(HEIGHT), -120 + 0.004 * np.arange(WIDTH), indexing="ij")
    lat += 0.02 * (lon + 120) ** 2  # curved rows
    firebench_file(tmp_path / "observed.h5", severity=(generator.integers(0, 6, lat.shape).astype("u1"), lat, lon))
    codes = generator.integers(0, 6, (90, 70)).astype("u1")
    axes = {"lat": ("lat", 39.05 - 0.008 * np.arange(90), {"units": "degrees_north"})}
    axes["lon"] = ("lon", -120.01 + 0.008 * np.arange(70), {"units": "degrees_east"})
    data = xr.Dataset({"severity": (("lat", "lon"), codes)}, coords=axes)
    data.to_zarr(tmp_path / "model.zarr", consolidated=False, encoding={"severity": {"chunks": (20, 20)}})
    path = tmp_path / "fire.yaml"
    path.write_text(CASE)
    return path


def placed(where: str, request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue("dask_cluster").with_workers(2).address if where == "cluster" else where


def written(case: Path, out: Path, where: str) -> dict[str, bytes]:
    evaluate(case, CYCLE, out=out, dask=where)
    (folder,) = out.glob("FIRE-A/*/m")
    return {name: (folder / name).read_bytes() for name in ("card.json", "card.md", "card.html", "ledger.csv")}


def test_every_place_gives_the_same_bytes(case, tmp_path, request):
    expected = written(case, tmp_path / "loop", "loop")
    assert b'"candidates": 24000' in expected["card.json"]
    for where in ("threads", "processes", "cluster"):
        assert written(case, tmp_path / where, placed(where, request)) == expected, where


def test_a_fault_in_one_band_is_told_from_a_worker(case, tmp_path, request, firebench_file):
    codes = np.zeros((HEIGHT, WIDTH))
    codes[150, 30] = 3.7
    lat, lon = np.meshgrid(39 - 0.003 * np.arange(HEIGHT), -120 + 0.004 * np.arange(WIDTH), indexing="ij")
    path = firebench_file(tmp_path / "faulty.h5", severity=(codes, lat, lon))
    layers = Layer(tmp_path / "model.zarr", Data("model.zarr")), Layer(path, Data(path.name))
    with session(placed("cluster", request)) as compute, pytest.raises(FirecardError) as error:
        match_rasters(*layers, SeverityRules(), None, compute)
    assert "faulty.h5: the value 3.7 is no class: classes are whole numbers (1 such cells in a block)" in str(
        error.value
    )
