"""One night of one model: hourly files on a grid, wind at stations, KPIs of its speed and direction.

    python tests/benchmarks/w1_night.py FOLDER

does firecard's part once on a night that was written before, and prints its memory; `prepare` asks it that.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from workload import CORES, Goal, Skipped, Trial, agree_on_arrays, faster, within

ID = "W1"
WORK = "one night, one model, from hourly grids to wind speed and direction KPIs at stations"
FILES, ROWS, COLUMNS, STATIONS = 48, 400, 500, 300
CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
MINUTES = 5
SPACING = 3000.0
CASE = f"""\
case: W1
title: One night
models: {{wrf: {{weather: {{path: "wrfout_*"}}}}}}
observations: {{weather: {{path: stations.parquet}}}}
window: {{hours: {FILES - 1}, closed: both}}
matching: {{space: bilinear}}
kpis:
  bias: {{kpi: wind_speed_bias, normalise: {{kind: symmetric_exponential, m: 5 m/s}}}}
  rmse: {{kpi: wind_speed_rmse, normalise: {{kind: exponential, m: 5 m/s}}}}
  direction_rmse: {{kpi: wind_direction_rmse, normalise: {{kind: exponential, m: 45 deg}}}}
groups: {{Wind: [bias, rmse, direction_rmse]}}
schemes: {{A: mean}}
"""

Found = dict[str, float]


def prepare() -> Trial:
    try:
        import deflate  # noqa: F401
        import firebench  # noqa: F401
        import netCDF4  # noqa: F401
        import scores  # noqa: F401
    except ImportError as missing:
        raise Skipped(f"{missing.name} is not installed; `make bench` makes an environment that has it") from missing
    from tasks.compute import Session

    folder = Path(_kept().name)
    write_night(folder)
    loop, threads = Session("loop"), Session("threads")
    pool = ThreadPoolExecutor(CORES)
    stored = chunks(folder)
    imports, observations, peak = memory(folder)
    return Trial(
        inputs=f"{FILES} files of {ROWS} × {COLUMNS}, zlib 4 + shuffle, {STATIONS} stations every {MINUTES} minutes; "
        f"U10 and V10 are {sum(map(len, stored)) / 1e6:.0f} MB in {len(stored)} chunks, "
        f"{4 * ROWS * COLUMNS * len(stored) / 1e6:.0f} MB inflated",
        contenders={
            "inflate with libdeflate": lambda: inflated(stored, pool),
            "firecard": lambda: with_firecard(folder, threads),
            "firecard, one thread": lambda: with_firecard(folder, loop),
            "netCDF4 + firebench": lambda: with_firebench(folder),
            "open_mfdataset + scores": lambda: with_scores(folder),
        },
        # Stored numbers are float32; the peers interpolate in it, firecard in float64.
        agree=lambda results: agree_on_arrays(
            results,
            reference="firecard",
            others=("firecard, one thread", "netCDF4 + firebench", "open_mfdataset + scores"),
            rtol=1e-5,
            atol=1e-5,
        ),
        goals=(
            faster("firecard", "netCDF4 + firebench", than="netCDF4 + firebench", least=6, stretch=8),
            faster("firecard", "open_mfdataset + scores", than="open_mfdataset + scores", least=15, stretch=20),
            within("firecard", "inflate with libdeflate", most=3, stretch=2.5),
            Goal("firecard: peak memory of a process", lambda _seconds: peak, "≤", 150, unit=" MB"),
            Goal("firecard: of this, imports", lambda _seconds: imports, "≤", unit=" MB"),
            Goal("firecard: of this, reading the observations", lambda _seconds: observations, "≤", unit=" MB"),
        ),
        notes=(
            "All have the observations in memory and know where the stations lie on the grid; the peers get firecard's",
            "points and weights, so that they find the same values. firecard also makes its ledger and sums by lead.",
            "firebench has no RMSE of directions: its RMSE is given the turned difference.",
        ),
    )


@cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="firecard-w1-")


def write_night(folder: Path, seed: int = 20261117) -> None:
    """The model's files, and what the stations saw: the same wind, 0.5 m/s weaker and 10° to the left, and noise."""
    import netCDF4
    import pandas as pd

    from tasks.matching.wind import rotation_from_projection

    rng = np.random.default_rng(seed)
    latitude, longitude, projection = grid()
    sine, cosine = rotation_from_projection(projection, latitude, longitude)
    row, column = np.mgrid[0:ROWS, 0:COLUMNS]
    for hour in range(FILES):
        valid = CYCLE + timedelta(hours=hour)
        # Smooth waves with the small noise of real fields, which is what makes them hard to compress.
        u = 9 + 4 * np.sin(row / 31 + hour / 5) * np.cos(column / 47) + rng.normal(0, 0.05, (ROWS, COLUMNS))
        v = 3 * np.cos(row / 53 - hour / 7) * np.sin(column / 29) + rng.normal(0, 0.05, (ROWS, COLUMNS))
        fields = {"XLAT": latitude, "XLONG": longitude, "SINALPHA": sine, "COSALPHA": cosine, "U10": u, "V10": v}
        with netCDF4.Dataset(folder / f"wrfout_d01_{valid:%Y-%m-%d_%H_%M_%S}", "w") as file:
            file.setncatts({**projection, "TITLE": "one night", "DX": SPACING, "DY": SPACING, "GRID_ID": 1})
            file.SIMULATION_START_DATE = file.START_DATE = f"{CYCLE:%Y-%m-%d_%H:%M:%S}"
            for name, size in (("Time", None), ("DateStrLen", 19), ("south_north", ROWS), ("west_east", COLUMNS)):
                file.createDimension(name, size)
            times = file.createVariable("Times", "S1", ("Time", "DateStrLen"))
            times[0] = np.frombuffer(f"{valid:%Y-%m-%d_%H:%M:%S}".encode(), dtype="S1")
            for name, values in fields.items():
                variable = file.createVariable(
                    name,
                    "f4",
                    ("Time", "south_north", "west_east"),
                    zlib=True,
                    complevel=4,
                    shuffle=True,
                    chunksizes=(1, ROWS, COLUMNS),
                )
                variable.units = {"X": "degree", "U": "m s-1", "V": "m s-1"}.get(name[0], "")
                variable[0] = values
    places = rng.integers(5, ROWS - 6, STATIONS), rng.integers(5, COLUMNS - 6, STATIONS)
    steps = np.arange(0, 60 * (FILES - 1) + 1, MINUTES)
    shape = (STATIONS, steps.size)
    reports = {
        "station": np.repeat([f"S{number:03d}" for number in range(STATIONS)], steps.size),
        "lat": np.repeat(latitude[places] + 0.007, steps.size),
        "lon": np.repeat(longitude[places] + 0.009, steps.size),
        "time": np.tile([f"{CYCLE + timedelta(minutes=int(each)):%Y-%m-%dT%H:%MZ}" for each in steps], STATIONS),
        "wind_speed [m/s]": (8.5 + rng.normal(0, 1, shape)).clip(1).ravel(),
        "wind_direction [deg]": (260 + rng.normal(0, 12, shape)).ravel() % 360,
    }
    pd.DataFrame(reports).to_parquet(folder / "stations.parquet")
    (folder / "case.yaml").write_text(CASE)


def grid() -> tuple[Any, Any, dict[str, float]]:
    """A Lambert grid whose x axis is turned against east."""
    from pyproj import Proj

    facts = {"MAP_PROJ": 1, "TRUELAT1": 38.0, "TRUELAT2": 41.0, "STAND_LON": -110.0, "CEN_LAT": 39.4, "CEN_LON": -120.8}
    projection = Proj(proj="lcc", lat_1=38.0, lat_2=41.0, lon_0=-110.0, lat_0=39.0, R=6370000)
    x, y = projection(facts["CEN_LON"], facts["CEN_LAT"])
    x, y = np.meshgrid(x + SPACING * (np.arange(COLUMNS) - COLUMNS / 2), y + SPACING * (np.arange(ROWS) - ROWS / 2))
    longitude, latitude = projection(x, y, inverse=True)
    return latitude, longitude, facts


@cache
def observed(folder: Path) -> Any:
    """The case and its stations' reports, read once."""
    from configs.case import read_case
    from tasks.readers.stations import read_stations

    case = read_case(folder / "case.yaml")
    return case, read_stations([folder / "stations.parquet"], case.variables)


@cache
def given(folder: Path) -> tuple[Any, Any, Any, Any]:
    """What the peers are given: points and weights of the stations, and the reports at valid times, (station, time)."""
    from tasks.matching.locate import locate
    from tasks.readers.grids import describe

    case, observations = observed(folder)
    stations = observations.stations
    cells = locate(
        describe([next(folder.glob("wrfout_*"))]).grid,
        stations["lat"].to_numpy(),
        stations["lon"].to_numpy(),
        **case.matching.space.arguments(),
    )
    hourly = slice(None, None, 60 // MINUTES)
    speed, direction = (
        observations.reports[name].to_numpy(float).reshape(STATIONS, -1)[:, hourly]
        for name in ("wind_speed", "wind_direction")
    )
    return cells.index, cells.weight, speed, direction


def with_firecard(folder: Path, session: Any) -> Found:
    """What a run does from its files to its KPIs, without its own files between the stages."""
    from metrics.kpis.kpi import evaluate
    from tasks.families.weather import needed
    from tasks.matching.stations import match_grid
    from tasks.readers.grids import describe
    from tasks.reducing.sample import night
    from tasks.reducing.table import as_reduced, reduce_night

    case, observations = observed(folder)
    matched = match_grid(
        describe(sorted(folder.glob("wrfout_*"))),
        observations,
        cycle=CYCLE,
        window=case.window,
        rules=case.matching,
        variables=case.variables,
        needed=needed(case),
        session=session,
    )
    instances = case.instances_of("weather")
    arrays = night(matched.table, matched.offered, CYCLE)
    found = {}
    for sums in reduce_night(arrays, instances.values()):
        each = instances[sums.instance]
        reduced = as_reduced(sums, each, arrays.stations)
        found[each.id] = evaluate(each.kpi, reduced, unit=each.unit, aggregate=each.aggregate, rules=case.rules).value
    return found


def with_firebench(folder: Path) -> Found:
    """A loop over the files with netCDF4, whole fields, then firebench station by station."""
    import netCDF4
    from firebench.metrics.stats import bias, rmse

    index, weight, observed_speed, observed_direction = given(folder)
    us, vs = [], []
    for path in sorted(folder.glob("wrfout_*")):
        with netCDF4.Dataset(path) as file:
            u, v, sine, cosine = (
                np.asarray(file[name][0]).ravel()[index] for name in ("U10", "V10", "SINALPHA", "COSALPHA")
            )
        us.append(((u * cosine - v * sine) * weight).sum(axis=1))
        vs.append(((v * cosine + u * sine) * weight).sum(axis=1))
    u, v = np.array(us).T, np.array(vs).T
    speed, direction = np.hypot(u, v), np.rad2deg(np.arctan2(-u, -v)) % 360
    turned = (direction - observed_direction + 180) % 360 - 180
    return {
        "bias": np.mean([bias(*each) for each in zip(speed, observed_speed, strict=True)]),
        "rmse": np.mean([rmse(*each) for each in zip(speed, observed_speed, strict=True)]),
        "direction_rmse": np.mean([rmse(each, np.zeros_like(each)) for each in turned]),
    }


def with_scores(folder: Path) -> Found:
    """One lazy dataset of all files, points picked by their index, then scores."""
    import xarray as xr
    from scores.continuous import mean_error, rmse

    index, weight, *reports = given(folder)
    observed_speed, observed_direction = (xr.DataArray(each, dims=("station", "Time")) for each in reports)
    corner = ("station", "corner")
    rows, columns = (xr.DataArray(each, dims=corner) for each in np.unravel_index(index, (ROWS, COLUMNS)))
    with xr.open_mfdataset(
        sorted(folder.glob("wrfout_*")), engine="netcdf4", combine="nested", concat_dim="Time", decode_times=False
    ) as files:
        names = ["U10", "V10", "SINALPHA", "COSALPHA"]
        at = files[names].isel(south_north=rows, west_east=columns).load()
    weights = xr.DataArray(weight, dims=corner)
    u = ((at.U10 * at.COSALPHA - at.V10 * at.SINALPHA) * weights).sum("corner")
    v = ((at.V10 * at.COSALPHA + at.U10 * at.SINALPHA) * weights).sum("corner")
    speed, direction = np.hypot(u, v), np.rad2deg(np.arctan2(-u, -v)) % 360
    return {
        "bias": float(mean_error(speed, observed_speed, reduce_dims="Time").mean()),
        "rmse": float(rmse(speed, observed_speed, reduce_dims="Time").mean()),
        "direction_rmse": float(rmse(direction, observed_direction, reduce_dims="Time", is_angular=True).mean()),
    }


def chunks(folder: Path) -> list[bytes]:
    """The chunks of U10 and V10 as they are stored."""
    import h5py

    found = []
    for path in sorted(folder.glob("wrfout_*")):
        with h5py.File(path) as file:
            found += [file[name].id.read_direct_chunk((0, 0, 0))[1] for name in ("U10", "V10")]
    return found


def inflated(stored: list[bytes], pool: ThreadPoolExecutor) -> int:
    import deflate

    size = 4 * ROWS * COLUMNS
    return sum(pool.map(lambda each: len(deflate.zlib_decompress(each, size)), stored))


def memory(folder: Path) -> tuple[float, float, float]:
    """MB of a process with firecard's imports, what reading the observations adds, and its peak over the whole work."""
    script = Path(__file__)
    told = subprocess.run(
        [sys.executable, script, folder], capture_output=True, text=True, check=True, cwd=script.parents[2]
    )
    imported, read, peak = map(float, told.stdout.split())
    return imported, read - imported, peak


def tell_memory(folder: Path) -> None:
    import tasks.families.weather
    import tasks.matching.stations
    import tasks.readers.wrf  # noqa: F401
    from tasks.compute import session

    def so_far() -> float:  # of this program; getrusage counts what its parent had when it was started
        (line,) = (each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM"))
        return int(line.split()[1]) / 1e3

    imported = so_far()
    observed(folder)
    read = so_far()
    with session("threads") as opened:
        with_firecard(folder, opened)
    print(imported, read, so_far())


if __name__ == "__main__":
    tell_memory(Path(sys.argv[1]))
