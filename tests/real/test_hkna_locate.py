"""The published answer for HKNA: a mesh, inverse distance in planar degrees, linear in time."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from tasks.matching.locate import Grid, locate

DATA = Path(__file__).parents[3] / "shared" / "data" / "mesh"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real data of {DATA} is not on this machine")

LATITUDE, LONGITUDE = 52.6887, 4.2420


@pytest.fixture(scope="module")
def mesh():
    with xr.open_dataset(DATA / "northsea_mesh_wind.nc", engine="netcdf4") as dataset:
        return dataset.load()


@pytest.fixture(scope="module")
def observed():
    return pd.read_csv(DATA / "HKNA_wind.csv", index_col=0, parse_dates=True, keep_default_na=False, na_values=[""])


def differences(mesh, observed, **rule):
    cells = locate(Grid.mesh(mesh.lat.values, mesh.lon.values), [LATITUDE], [LONGITUDE], **rule)
    assert cells.inside.all()
    modelled = cells.gather(mesh.wind_speed.values)[:, 0]
    wind = observed["wind_speed_ms"].dropna()
    start = mesh.time.values[0]
    hours = (mesh.time.values - start) / np.timedelta64(1, "h")
    at = (wind.index.values - start) / np.timedelta64(1, "h")
    covered = (at >= hours[0]) & (at <= hours[-1])
    return np.interp(at[covered], hours, modelled) - wind.to_numpy()[covered]


def test_five_nearest_elements_by_squared_planar_distance(mesh, observed):
    error = differences(mesh, observed, how="inverse_distance", k=5, power=2, metric="planar")
    assert error.size == 277
    assert round(error.mean(), 6) == -0.923778
    assert round(float(np.sqrt((error**2).mean())), 6) == 1.305359
    assert round(np.abs(error).mean(), 6) == 1.054030


def test_nearest_element(mesh, observed):
    error = differences(mesh, observed, how="nearest")
    assert round(float(np.sqrt((error**2).mean())), 3) == 1.276
