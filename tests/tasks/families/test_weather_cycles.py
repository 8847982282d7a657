"""A case and files of several cycles: the card's cycle is the one that is read, the newest where nobody says one."""

import netCDF4
import numpy as np
import pytest

from configs.case import read_case
from tasks.families.weather import matched
from tasks.find import find_files, latest_cycle

CASE = """
case: CYCLES
models: {model: {weather: {path: model.nc}}}
observations: {weather: {path: obs.csv}}
window: {hours: 4}
kpis:
  A: {kpi: rmse, variable: temperature, normalise: {kind: exponential, m: 5 K}}
"""


@pytest.fixture
def case(tmp_path):
    """Two cycles of four hourly leads: the temperature is 100 × the place among the cycles + the lead."""
    with netCDF4.Dataset(tmp_path / "model.nc", "w") as dataset:
        axes = {
            "reference_time": (np.array([0.0, 2.0]), "hours since 2026-11-17"),
            "lead_time": (np.arange(4.0), "hours"),
            "lat": (np.array([40.0, 41.0]), "degrees_north"),
            "lon": (np.array([-120.0, -119.0]), "degrees_east"),
        }
        for name, (values, units) in axes.items():
            dataset.createDimension(name, values.size)
            dataset.createVariable(name, "f8", (name,))[:] = values
            dataset[name].units = units
        made = dataset.createVariable("t2m", "f8", tuple(axes))
        made[:] = (100.0 * np.arange(2)[:, None] + np.arange(4))[..., None, None] * np.ones((1, 1, 2, 2))
        made.units = "degC"
    rows = [f"A,40.5,-119.5,2026-11-17T{hour:02}:00Z,1" for hour in range(8)]
    (tmp_path / "obs.csv").write_text("\n".join(["station,lat,lon,time,temperature [degC]", *rows]) + "\n")
    (tmp_path / "case.yaml").write_text(CASE)
    return read_case(tmp_path / "case.yaml")


def forecasts(case, cycle):
    found = matched(case, find_files.fn(case, case.models[0], "weather", cycle))
    return found.table.sort_values("valid_time")[["valid_time", "forecast"]]


def test_the_newest_cycle_of_a_file_and_the_one_that_is_asked_for(case):
    newest = latest_cycle(case)
    assert f"{newest:%Y-%m-%dT%H}" == "2026-11-17T02"
    table = forecasts(case, newest.replace(hour=0))
    assert [f"{each:%H}" for each in table["valid_time"]] == ["00", "01", "02", "03"]
    np.testing.assert_allclose(table["forecast"].dropna(), [0, 1, 2, 3], atol=1e-9)


def test_the_cycle_that_is_read_is_the_one_of_the_card(case):
    with netCDF4.Dataset(case.root / "model.nc", "a") as dataset:
        dataset["t2m"][:] = dataset["t2m"][:] / 10  # 10 is a temperature, 100 is none
    table = forecasts(case, latest_cycle(case))
    assert [f"{each:%H}" for each in table["valid_time"]] == ["02", "03", "04", "05"]
    np.testing.assert_allclose(table["forecast"], [10, 10.1, 10.2, 10.3], atol=1e-9)
