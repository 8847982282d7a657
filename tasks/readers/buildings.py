"""Buildings with their damage: CAL FIRE's DINS as GeoJSON or CSV, FireBench's HDF5, or a tidy table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from configs.impact import StructureRules
from configs.source import plain
from metrics.errors import BadInput
from tasks.readers.firebench import is_firebench, read_damage
from tasks.readers.tables import MISSING, Rows, column, names, numbers, read_table

# What the columns are called, as DINS and others spell them; small and large letters are the same.
ALIASES = {
    "id": ("id", "building_id", "building", "globalid", "objectid"),
    "lat": ("lat", "latitude"),
    "lon": ("lon", "longitude"),
    "damage": ("damage", "* damage", "damage_class"),
    "destroyed": ("destroyed",),
}
YES, NO = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no"}
DEGREES = re.compile(r"CRS84|EPSG:+4326", re.IGNORECASE)
SHARE = re.compile(r"\s*\([^)]*\)\s*$")  # DINS writes `Destroyed (>50%)`
WHAT = "a table of buildings"


def read_buildings(files: Sequence[Path], called: Mapping[str, str], rules: StructureRules) -> pd.DataFrame:
    """id (empty where there are none), lat, lon, damage, and destroyed as 1, 0 or NaN where the damage says neither."""
    tables = [_read(path, called, rules) for path in files]
    table = pd.concat(tables, ignore_index=True)
    twice = table["id"].duplicated() & (table["id"] != "")
    if twice.any():
        shown = plain(repr(table.loc[twice, "id"].iloc[0]), 80)
        where = ", ".join(path.name for path in files)
        raise BadInput(f"{where}: building {shown} stands twice; expected every id once ({int(twice.sum())} such rows)")
    if table["destroyed"].isna().all():
        found = ", ".join(plain(repr(each), 40) for each in table["damage"].unique()[:5])
        expected = ", ".join((*rules.destroyed, *rules.kept))
        raise BadInput(f"{files[0]}: no building has a known damage class: found {found}; expected {expected}")
    return table


def is_geojson(path: Path) -> bool:
    """JSON, judged by its first character."""
    if path.is_dir():
        raise BadInput(f"{path}: is a directory, expected {WHAT} (CSV, Parquet or GeoJSON)")
    with path.open("rb") as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def _read(path: Path, called: Mapping[str, str], rules: StructureRules) -> pd.DataFrame:
    if is_geojson(path):
        raw, rows = _features(path), Rows(path)
        rows.header = 0  # a row is a feature
        columns = {name: raw[name] for name in raw.columns}
    elif is_firebench(path):
        return _damage(path, rules)
    else:
        table, rows = read_table(path, WHAT), Rows(path)
        columns = {name: column(table, name, path) for name in table.column_names}
    chosen = {role: found for role in ALIASES if (found := _called(role, columns, called, path)) is not None}
    if "damage" not in chosen and "destroyed" not in chosen:
        raise BadInput(f"{path}: no column `damage` or `destroyed`; columns: {_some(columns)}")
    if "id" not in chosen and not {"lat", "lon"} <= chosen.keys():
        raise BadInput(f"{path}: no column `id`, and no `lat` and `lon`: buildings cannot be told apart")
    count = len(next(iter(columns.values())))
    if not count:
        raise BadInput(f"{path}: has no rows, expected {WHAT}")
    blank = pd.Series([""] * count)
    nowhere = pd.Series(np.full(count, np.nan))
    result = pd.DataFrame(
        {
            "id": names(columns[chosen["id"]], chosen["id"], rows) if "id" in chosen else blank,
            "lat": numbers(columns[chosen["lat"]], chosen["lat"], rows) if "lat" in chosen else nowhere,
            "lon": numbers(columns[chosen["lon"]], chosen["lon"], rows) if "lon" in chosen else nowhere,
        }
    )
    for role, least, most in (("lat", -90.0, 90.0), ("lon", -180.0, 360.0)):
        wrong = result[role].notna() & ~result[role].between(least, most)
        rows.refuse(wrong, chosen.get(role, role), result[role], f"expected degrees between {least:g} and {most:g}")
    if "damage" in chosen:
        _judge(result, columns[chosen["damage"]], rules)
    else:
        name = chosen["destroyed"]
        text = _text(columns[name]).str.lower()
        absent = text.isin(MISSING)
        rows.refuse(~(absent | text.isin(YES | NO)), name, columns[name], "expected 1 or 0, true or false, or nothing")
        result["destroyed"] = np.where(absent, np.nan, text.isin(YES))
        result["damage"] = np.where(absent, "", np.where(text.isin(YES), "destroyed", "not destroyed"))
    return result


def _judge(buildings: pd.DataFrame, damage: pd.Series, rules: StructureRules) -> None:
    """Add the damage class, and whether it counts as destroyed."""
    buildings["damage"] = _text(damage).str.replace(SHARE, "", regex=True)
    known = {each.casefold(): 1.0 for each in rules.destroyed} | {each.casefold(): 0.0 for each in rules.kept}
    buildings["destroyed"] = buildings["damage"].str.casefold().map(known).astype(float)


def _damage(path: Path, rules: StructureRules) -> pd.DataFrame:
    """The buildings of a FireBench file, without ids: their place in the file is theirs."""
    columns = read_damage(path)
    damage = columns["damage"]
    nowhere = pd.Series(np.full(len(damage), np.nan))
    result = pd.DataFrame(
        {"id": pd.Series([""] * len(damage)), "lat": columns.get("lat", nowhere), "lon": columns.get("lon", nowhere)}
    )
    for role, least, most in (("lat", -90.0, 90.0), ("lon", -180.0, 360.0)):
        wrong = result[role].notna() & ~result[role].between(least, most)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise BadInput(
                f"{path}: building {at}: {role} is {result[role][at]:g}, expected {least:g} to {most:g} degrees"
            )
    _judge(result, damage, rules)
    return result


def _called(role: str, columns: Mapping[str, Any], called: Mapping[str, str], path: Path) -> str | None:
    """The name of a column: as the case says, else as it is commonly spelt."""
    if role in called:
        if called[role] not in columns:
            raise BadInput(f"{path}: no column {called[role]!r} for `{role}`; columns: {_some(columns)}")
        return called[role]
    spelt = {name.strip().lower(): name for name in reversed(list(columns))}
    return next((spelt[each] for each in ALIASES[role] if each in spelt), None)


def _features(path: Path) -> pd.DataFrame:
    """The properties of a GeoJSON file's features, with lat and lon of their points or of their outlines' middles."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be read as GeoJSON: {plain(str(error), 200)}") from None
    features = content.get("features")
    if content.get("type") != "FeatureCollection" or not isinstance(features, list):
        raise BadInput(f"{path}: expected a GeoJSON FeatureCollection of buildings")
    if not features:
        raise BadInput(f"{path}: has no features, expected buildings")
    projection = json.dumps(content.get("crs")) if content.get("crs") else ""
    if projection and not DEGREES.search(projection):
        raise BadInput(f"{path}: expected longitude and latitude (CRS84), got {plain(projection, 120)}")
    found = []
    for number, feature in enumerate(features, 1):
        properties = feature.get("properties") if isinstance(feature, dict) else None
        if not isinstance(properties, dict):
            raise BadInput(f"{path}: feature {number}: expected `properties`")
        place = _middle(feature.get("geometry"), f"{path}: feature {number}")
        own = {str(name): value for name, value in properties.items() if str(name).lower() not in POSITION}
        found.append({**own, "lon": place[0], "lat": place[1]})
    return pd.DataFrame(found)


POSITION = {alias for role in ("lat", "lon") for alias in ALIASES[role]}  # the geometry says it better


def _middle(geometry: Any, where: str) -> tuple[float, float]:
    """Longitude and latitude of a point, or of the centre of mass of an outline; NaN without a geometry."""
    if geometry is None:
        return np.nan, np.nan
    try:
        kind, coordinates = geometry["type"], geometry["coordinates"]
        if kind == "Point":
            return float(coordinates[0]), float(coordinates[1])
        if kind in ("Polygon", "MultiPolygon"):
            rings = [coordinates[0]] if kind == "Polygon" else [each[0] for each in coordinates]
            middles = [_centroid(np.asarray(ring, dtype=float)[:, :2]) for ring in rings]
            return max(middles)[1:]
    except (TypeError, KeyError, IndexError, ValueError):
        raise BadInput(f"{where}: the geometry cannot be understood") from None
    raise BadInput(f"{where}: expected a Point or a Polygon, got {plain(str(kind), 40)}")


def _centroid(ring: np.ndarray) -> tuple[float, float, float]:
    """Area, x and y of the centre of mass of a closed outline."""
    origin = ring[0]
    x, y = (ring - origin).T
    cross = x[:-1] * y[1:] - x[1:] * y[:-1]
    area = cross.sum() / 2
    if area == 0:
        return 0.0, float(ring[:, 0].mean()), float(ring[:, 1].mean())
    middle = [((each[:-1] + each[1:]) * cross).sum() / (6 * area) for each in (x, y)]
    return abs(float(area)), float(origin[0] + middle[0]), float(origin[1] + middle[1])


def _text(values: pd.Series) -> pd.Series:
    return values.astype(object).where(values.notna(), "").astype(str).str.strip()


def _some(columns: Mapping[str, Any]) -> str:
    shown = ", ".join(plain(str(each), 40) for each in list(columns)[:12])
    return shown + (f" and {len(columns) - 12} more" if len(columns) > 12 else "")
