"""A good case with every part on a line of its own, so that a mistake has one line to be found on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from configs.case import read_case
from metrics.errors import BadCase

GOOD = """\
# a comment first, so that nothing stands on line 1
case: NIGHT
title: A night
models:
  wrf:
    weather:
      path: "wrf/{cycle:%Y%m%d%H}/wrfout_*"
      source: pairs
  gfs:
    weather: {path: gfs.csv, name: GFS-0.25}
window:
  hours: 24
  closed: left
matching:
  min_completeness: 0.75
  min_pairs: 6
  missing_model: penalise
variables:
  soil_moisture: {unit: "%"}
kpis:
  WX01:
    kpi: wind_speed_bias
    normalise:
      kind: symmetric_exponential
      m: 5 m/s
  WX02:
    kpi: sustained_wind_speed
    parameters:
      threshold: 8 m/s
    normalise:
      kind: symmetric_linear
      m: 6 h
  WX03:
    kpi: rmse
    variable: temperature
    normalise:
      kind: exponential
      m: 5 K
  WX04:
    kpi: exceedance_csi
    variable: wind_gust
    parameters: {threshold: 18 m/s}
groups:
  Wind:
    - WX01
    - WX02
  Rest: [WX03, WX04]
schemes:
  A: mean
  B:
    groups: {Wind: 2}
    kpis: {WX01: 3}
strict: false
"""


@pytest.fixture
def good() -> str:
    return GOOD


@pytest.fixture
def case_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes the good case with replacements, each of which must be possible in one place only; the file."""

    def write(*changes: tuple[str, str], text: str | bytes = GOOD) -> Path:
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the good case"
            text = text.replace(old, new)
        path = tmp_path / "night.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def complaint(case_file: Callable[..., Path]) -> Callable[..., str]:
    """What is said about the good case with replacements."""

    def read(*changes: tuple[str, str], text: str | bytes = GOOD) -> str:
        with pytest.raises(BadCase) as refused:
            read_case(case_file(*changes, text=text))
        return str(refused.value)

    return read
