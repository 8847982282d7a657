"""A made-up night with known errors: downslope wind over a ridge, three models on a WRF grid, forty stations.

The truth is a field on the models' own grid; a model is that field made weaker, turned, delayed and warmed by a known
amount, with noise. The stations measure the truth, at their own minutes and heights, with gaps, calms, variable winds,
one sensor that sticks, one that falls silent, two beyond the grid and one whose reports come at a bad time.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pandas as pd
from pyproj import Proj

from metrics.sums import Array
from tasks.matching.locate import Grid, locate
from tasks.matching.wind import log_law, rotation_from_projection, speed_and_direction
from tasks.store.keyed import writing

CYCLE = datetime(2026, 11, 17, 0, tzinfo=UTC)
HOURS, SEED = 24, 20261117
ROWS, COLUMNS, SPACING = 60, 80, 3000.0
PROJECTION = {
    "MAP_PROJ": 1,
    "TRUELAT1": 38.0,
    "TRUELAT2": 41.0,
    "STAND_LON": -110.0,
    "CEN_LAT": 39.4,
    "CEN_LON": -120.8,
}
ROUGHNESS = 0.03
SENSORS = {"RAWS": 6.1, "ASOS": 10.0}
STARTS_TO_TURN = 1.0  # m/s: in less wind an anemometer reports calm


@dataclass(frozen=True, slots=True)
class Skill:
    """How a model is wrong: the share of the wind it has, how late its event is, its turn and warmth; and its noise."""

    strength: float
    late: int
    turn: float
    warm: float
    noise: float = 1.0
    gusts: bool = True
    domain: str = "d01"


SKILLS = {
    "wrf-d02": Skill(strength=1.04, late=0, turn=4, warm=0.4, noise=1.0, domain="d02"),
    "hrrr": Skill(strength=0.88, late=1, turn=-8, warm=-0.8, noise=1.4),
    "gfs": Skill(strength=0.6, late=3, turn=18, warm=2.2, noise=1.8, gusts=False),
}


@dataclass(frozen=True, slots=True)
class Terrain:
    """The grid: where its points are, how high, and how it is turned against east."""

    latitude: Array
    longitude: Array
    height: Array
    sine: Array
    cosine: Array


@dataclass(frozen=True, slots=True)
class Truth:
    """What the air did on the grid: (hour, row, column), winds towards east and north."""

    east: Array
    north: Array
    temperature: Array
    humidity: Array


def write_demo(folder: Path, *, noise: float = 1.0) -> Path:
    """The night's model output, its station reports and its case file in a folder; the case file.

    Without noise the models are wrong by exactly their skill's strength, turn and warmth.
    """
    rng = np.random.default_rng(SEED)
    ground = terrain()
    truth = truth_of(ground, rng)
    for model, skill in SKILLS.items():
        write_model(
            folder / model / f"{CYCLE:%Y%m%d%H}", model, ground, truth, replace(skill, noise=skill.noise * noise), rng
        )
    for network, reports in station_reports(ground, truth, rng, noise).groupby("network"):
        with writing(folder / "obs" / f"{CYCLE:%Y%m%d}_{network}.csv") as temporary:
            reports.dropna(axis="columns", how="all").to_csv(temporary, index=False, float_format="%.10g")
    case = folder / "demo.yaml"
    with as_file(files("configs") / "cases" / "demo.yaml") as shipped, writing(case) as temporary:
        shutil.copyfile(shipped, temporary)
    return case


def terrain() -> Terrain:
    """A ridge from north to south with a bend, on a Lambert grid whose x axis is turned against east."""
    projection = Proj(
        proj="lcc",
        lat_1=PROJECTION["TRUELAT1"],
        lat_2=PROJECTION["TRUELAT2"],
        lon_0=PROJECTION["STAND_LON"],
        lat_0=39,
        R=6370000,
    )
    x0, y0 = projection(PROJECTION["CEN_LON"], PROJECTION["CEN_LAT"])
    x = x0 + SPACING * (np.arange(COLUMNS) - COLUMNS / 2)
    y = y0 + SPACING * (np.arange(ROWS) - ROWS / 2)
    east, north = np.meshgrid(x, y)
    longitude, latitude = projection(east, north, inverse=True)
    row, column = np.mgrid[0:ROWS, 0:COLUMNS]
    crest = 48 + 6 * np.sin(row / 9)
    height = 300 + 1900 * np.exp(-(((column - crest) / 11) ** 2)) + 120 * np.sin(row / 3.5) * np.cos(column / 5)
    sine, cosine = rotation_from_projection(PROJECTION, latitude, longitude)
    return Terrain(latitude, longitude, height, sine, cosine)


def truth_of(ground: Terrain, rng: np.random.Generator) -> Truth:
    """A downslope wind from the north-east that peaks after ten hours on the lee of the ridge; light wind elsewhere."""
    hour = np.arange(HOURS)[:, None, None]
    east_slope = np.gradient(ground.height, axis=1)
    lee = np.clip(east_slope / east_slope.max(), 0, None)[None]
    event = np.exp(-(((hour - 10) / 4.0) ** 2))
    background = 1.6 + 1.1 * np.sin((hour - 15) * np.pi / 12) + 0.9 * ground.height[None] / 2000
    speed = np.clip(background, 0.0, None) + 24.0 * lee * event
    waves = rng.normal(0, 1, (HOURS, 6, 8))
    direction = 55 + 20 * (1 - event) * np.sin(hour * np.pi / 6) + 10 * _smooth(waves)
    angle = np.deg2rad(direction)
    height_cools = -6.5e-3 * (ground.height[None] - 300)
    temperature = 14 + 5 * np.sin((hour - 14) * np.pi / 12) + height_cools + 5 * event * lee
    humidity = np.clip(58 - 36 * event * lee - 1.5 * (temperature - 12), 6, 98)
    return Truth(-speed * np.sin(angle), -speed * np.cos(angle), temperature, humidity)


def _smooth(coarse: Array) -> Array:
    """Coarse noise (hour, 6, 8) as a smooth field on the grid."""
    rows = np.linspace(0, coarse.shape[1] - 1, ROWS)
    columns = np.linspace(0, coarse.shape[2] - 1, COLUMNS)
    low_row, low_column = np.floor(rows).astype(int), np.floor(columns).astype(int)
    high_row = np.minimum(low_row + 1, coarse.shape[1] - 1)
    high_column = np.minimum(low_column + 1, coarse.shape[2] - 1)
    a, b = (rows - low_row)[:, None], (columns - low_column)[None, :]
    top = coarse[:, low_row][:, :, low_column] * (1 - b) + coarse[:, low_row][:, :, high_column] * b
    bottom = coarse[:, high_row][:, :, low_column] * (1 - b) + coarse[:, high_row][:, :, high_column] * b
    mixed: Array = top * (1 - a) + bottom * a
    return mixed


def write_model(
    folder: Path, model: str, ground: Terrain, truth: Truth, skill: Skill, rng: np.random.Generator
) -> None:
    """One model's hourly files, as WRF writes them: winds along the grid, humidity as a mixing ratio."""
    turned = np.deg2rad(skill.turn)  # clockwise, as directions count
    east, north = (np.roll(each, skill.late, axis=0) * skill.strength for each in (truth.east, truth.north))
    east, north = east * np.cos(turned) + north * np.sin(turned), north * np.cos(turned) - east * np.sin(turned)
    shape = (HOURS, 6, 8)
    if skill.noise:
        east = east + skill.noise * _smooth(rng.normal(0, 1, shape))
        north = north + skill.noise * _smooth(rng.normal(0, 1, shape))
    temperature = truth.temperature + skill.warm + 0.6 * skill.noise * _smooth(rng.normal(0, 1, shape))
    humidity = np.clip(truth.humidity - 2.5 * skill.warm + 3 * skill.noise * _smooth(rng.normal(0, 1, shape)), 3, 100)
    for hour in range(HOURS):
        valid = CYCLE + timedelta(hours=hour)
        name = f"wrfout_{skill.domain}_{valid:%Y-%m-%d_%H_%M_%S}"
        with writing(folder / name) as temporary:
            _write_wrf(
                temporary, valid, ground, east[hour], north[hour], temperature[hour], humidity[hour], model, skill
            )


def _write_wrf(
    path: Path,
    valid: datetime,
    ground: Terrain,
    east: Array,
    north: Array,
    temperature: Array,
    humidity: Array,
    model: str,
    skill: Skill,
) -> None:
    import netCDF4

    from tasks.readers.hdf import LOCK

    pressure = 101325 * (1 - 2.2558e-5 * ground.height) ** 5.2559
    fields = {
        "XLAT": (ground.latitude, "degree_north"),
        "XLONG": (ground.longitude, "degree_east"),
        "HGT": (ground.height, "m"),
        "SINALPHA": (ground.sine, ""),
        "COSALPHA": (ground.cosine, ""),
        "U10": (east * ground.cosine + north * ground.sine, "m s-1"),
        "V10": (north * ground.cosine - east * ground.sine, "m s-1"),
        "T2": (temperature + 273.15, "K"),
        "Q2": (mixing_ratio(temperature, humidity, pressure), "kg kg-1"),
        "PSFC": (pressure, "Pa"),
    }
    if skill.gusts:
        fields["WSPD10MAX"] = (1.42 * np.hypot(east, north), "m s-1")
    with LOCK, netCDF4.Dataset(path, "w", format="NETCDF4") as dataset:
        dataset.setncatts({**PROJECTION, "TITLE": f"synthetic night of {model}", "DX": SPACING, "DY": SPACING})
        dataset.SIMULATION_START_DATE = dataset.START_DATE = f"{CYCLE:%Y-%m-%d_%H:%M:%S}"
        for dimension, size in (("Time", None), ("DateStrLen", 19), ("south_north", ROWS), ("west_east", COLUMNS)):
            dataset.createDimension(dimension, size)
        times = dataset.createVariable("Times", "S1", ("Time", "DateStrLen"))
        times[0] = np.frombuffer(f"{valid:%Y-%m-%d_%H:%M:%S}".encode(), dtype="S1")
        for name, (values, unit) in fields.items():
            variable = dataset.createVariable(
                name, "f4", ("Time", "south_north", "west_east"), zlib=True, complevel=4, shuffle=True
            )
            variable.units = unit
            variable[0] = values


def mixing_ratio(temperature: Array, humidity: Array, pressure: Array) -> Array:
    """Water vapour of air at a temperature (degC), relative humidity (%) and pressure (Pa), in kg/kg."""
    saturation = 611.2 * np.exp(17.67 * temperature / (temperature + 243.5))
    vapour = humidity / 100 * saturation
    return 0.622 * vapour / (pressure - vapour)


def station_reports(ground: Terrain, truth: Truth, rng: np.random.Generator, noise: float) -> pd.DataFrame:
    """What forty stations reported through the night, one row a report; RAWS in m/s and degC, ASOS in kt and degF."""
    stations = _stations(ground, rng)
    cells = locate(
        Grid.curvilinear(ground.latitude, ground.longitude),
        stations["lat"].to_numpy(),
        stations["lon"].to_numpy(),
        how="bilinear",
    )
    at = {
        name: cells.gather(getattr(truth, name).reshape(HOURS, -1))
        for name in ("east", "north", "temperature", "humidity")
    }
    speed, direction = speed_and_direction(at["east"], at["north"])
    rows = []
    for number, station in stations.iterrows():
        for hour in range(HOURS):
            if noise and rng.random() < 0.03:
                continue  # a gap
            if station["station"] == "RAWS07" and hour >= 9:
                continue  # fell silent
            minutes = [station["minute"]] if station["network"] == "RAWS" else [-7, 0, 13]
            if station["station"] == "ASOS05":
                minutes = [30]  # never within a quarter of an hour of a valid time
            wind = (speed[hour, number], direction[hour, number])
            rows += [_report(station, hour, minute, *wind, at, number) for minute in minutes]
    return pd.DataFrame(rows)


def _stations(ground: Terrain, rng: np.random.Generator) -> pd.DataFrame:
    """Twenty-four RAWS on the slopes, sixteen ASOS in the valleys; two lie beyond the grid."""
    places = [(ROWS * (0.08 + 0.84 * (k % 8) / 7), COLUMNS * (0.34 + 0.26 * (k // 8) / 2)) for k in range(24)]
    places += [(ROWS * (0.1 + 0.8 * (k % 4) / 3), COLUMNS * (0.08 + 0.84 * (k // 4) / 3)) for k in range(16)]
    rows = []
    for index, (row, column) in enumerate(places):
        network = "RAWS" if index < 24 else "ASOS"
        i, j = int(row), int(column)
        outside = index in (23, 39)
        rows.append(
            {
                "station": f"{network}{index if index < 24 else index - 24:02d}",
                "lat": round(float(ground.latitude[i, j] + 0.011), 4) + (4.0 if outside else 0.0),
                "lon": round(float(ground.longitude[i, j] + 0.013), 4),
                "elevation": round(float(ground.height[i, j])),
                "network": network,
                "height": SENSORS[network],
                "minute": int(rng.integers(-25, 26)),
            }
        )
    return pd.DataFrame(rows)


def _report(
    station: pd.Series, hour: int, minute: int, speed: float, direction: float, at: dict[str, Array], number: int
) -> dict[str, object]:
    """One report, in the units of its network."""
    raws = station["network"] == "RAWS"
    time = CYCLE + timedelta(hours=hour, minutes=minute)
    measured = float(log_law(np.array(speed), 10.0, station["height"], ROUGHNESS)) if np.isfinite(speed) else 2.0
    calm = measured < STARTS_TO_TURN if np.isfinite(direction) else True
    varying = not raws and not calm and measured < 1.6
    if station["station"] == "RAWS11":
        measured, direction = 3.7, 214.0  # sticks
    wind, degrees = (0.0, "") if calm else (measured, "VRB" if varying else f"{direction:.10g}")
    temperature, humidity = float(at["temperature"][hour, number]), float(at["humidity"][hour, number])
    gust = 1.42 * measured if measured > 4.5 else np.nan
    facts = {key: station[key] for key in ("station", "lat", "lon", "elevation", "network", "height")}
    if not np.isfinite(temperature):
        temperature, humidity = 12.0, 50.0  # beyond the grid, where the truth ends
    if raws:
        values = {"wind_speed [m/s]": wind, "wind_gust [m/s]": gust, "temperature [degC]": temperature}
    else:
        knot = 0.514444444444444
        values = {
            "wind_speed [kt]": wind / knot,
            "wind_gust [kt]": gust / knot,
            "temperature [degF]": temperature * 1.8 + 32,
        }
    return {
        **facts,
        "time": f"{time:%Y-%m-%dT%H:%MZ}",
        **values,
        "wind_direction [deg]": degrees,
        "relative_humidity [%]": humidity,
    }
