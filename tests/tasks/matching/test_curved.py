"""Rasters with curved rows: the nearest cell by brute force, true areas, and the same answer by whatever pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyproj import Geod, Transformer

from configs.case import Data
from configs.impact import SeverityRules
from metrics.severity import cell_areas
from tasks.matching import curved, rasters
from tasks.matching.rasters import OFF_MODEL, Layer, MatchedRasters, match_rasters

TO_DEGREES = Transformer.from_crs("EPSG:5070", "EPSG:4326", always_xy=True)
WEST, NORTH = -2_050_000.0, 2_000_000.0
ALL = SeverityRules(domain="all")


def places(rows: int, columns: int, cell: float, west: float = WEST, north: float = NORTH):
    """Longitude and latitude of the middles of cells that are squares in Albers' projection."""
    y, x = np.meshgrid(north - cell * (np.arange(rows) + 0.5), west + cell * (np.arange(columns) + 0.5), indexing="ij")
    return TO_DEGREES.transform(x, y)


@pytest.fixture
def layer(tmp_path: Path, firebench_file):
    def make(name: str, codes: np.ndarray, cell: float, west: float = WEST, north: float = NORTH) -> Layer:
        lon, lat = places(*codes.shape, cell, west, north)
        path = firebench_file(tmp_path / f"{name}.h5", severity=(codes, lat, lon))
        return Layer(path, Data(path.name))

    return make


def counts(matched: MatchedRasters) -> np.ndarray:
    result = np.zeros((6, 6), dtype=int)
    for row in matched.table[matched.table["reason"] == "pair"].itertuples():
        result[row.forecast, row.observed] += row[4]
    return result


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 5, shape).astype(np.uint8)


def test_the_same_places_are_the_same_grid(layer):
    codes = drawn(1, 40, 30)
    matched = match_rasters(layer("m", codes, 3000.0), layer("o", codes, 3000.0), ALL, None)
    assert matched.how["way"] == "the same grid"
    assert "curved rows" in matched.how["observed_grid"]
    assert np.trace(counts(matched)) == 1200


def test_places_a_tenth_of_a_cell_apart_are_another_grid(layer):
    codes = drawn(1, 40, 30)
    matched = match_rasters(layer("m", codes, 3000.0), layer("o", codes, 3000.0, west=WEST + 300), ALL, None)
    assert "nearest cell" in matched.how["way"]
    assert np.trace(counts(matched)) == 1200


@pytest.mark.parametrize("block", [256, 7])
def test_the_nearest_cell_by_brute_force(layer, monkeypatch, block):
    monkeypatch.setattr(curved, "BLOCK", block)
    said, seen = drawn(2, 35, 41), drawn(3, 50, 60)
    model = layer("m", said, 5000.0, west=WEST + 20_000, north=NORTH - 15_000)
    observed = layer("o", seen, 3700.0)
    expected, outside = np.zeros((6, 6), dtype=int), 0
    for row in range(50):
        for column in range(60):
            # In the projection of both the cells are squares.
            x, y = 3700 * (column + 0.5) - 20_000, 3700 * (row + 0.5) - 15_000
            down, right = int(y // 5000), int(x // 5000)
            if 0 <= down < 35 and 0 <= right < 41:
                expected[said[down, right], seen[row, column]] += 1
            else:
                outside += 1
    matched = match_rasters(model, observed, ALL, None)
    assert outside
    assert (counts(matched) == expected).all()
    assert matched.table.groupby("reason")["count"].sum()[OFF_MODEL] == outside


def test_pieces_do_not_change_the_answer(layer, monkeypatch):
    model, observed = layer("m", drawn(2, 35, 41), 5000.0), layer("o", drawn(3, 50, 60), 3700.0)
    whole = match_rasters(model, observed, ALL, None)
    monkeypatch.setattr(rasters, "WINDOW", 30)
    monkeypatch.setattr(rasters, "TILES", 2)
    assert (counts(match_rasters(model, observed, ALL, None)) == counts(whole)).all()


def test_across_the_date_line(tmp_path, firebench_file):
    lat, lon = np.meshgrid(60 - 0.1 * np.arange(20), 179.0 + 0.1 * np.arange(20), indexing="ij")
    bent = lat + 0.003 * np.arange(20)  # rows that are not parallels
    codes = drawn(4, 20, 20)
    made = []
    for name, shown in (("m", lon), ("o", (lon + 180) % 360 - 180)):
        path = firebench_file(tmp_path / f"{name}.h5", severity=(codes, bent + 1e-3 * lat**2, shown))
        made.append(Layer(path, Data(path.name)))
    assert np.trace(counts(match_rasters(*made, ALL, None))) == 400


def test_a_polygon_on_curved_rows(layer, tmp_path):
    import json

    observed = layer("o", np.full((30, 30), 4, dtype=np.uint8), 3000.0)
    lon, lat = places(30, 30, 3000.0)
    west, east, south, north = (
        np.quantile(lon, 0.3),
        np.quantile(lon, 0.7),
        np.quantile(lat, 0.3),
        np.quantile(lat, 0.7),
    )
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    (tmp_path / "p.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    rules = SeverityRules(domain="polygon", polygon="p.geojson")
    matched = match_rasters(observed, observed, rules, tmp_path / "p.geojson")
    inside = ((lon > west) & (lon < east) & (lat > south) & (lat < north)).sum()
    assert counts(matched).sum() == inside > 0


def test_cells_have_their_true_areas(layer):
    # An equal-area projection: 3 km × 3 km are 900 ha, wherever they lie.
    codes = drawn(5, 40, 35)
    matched = match_rasters(layer("m", codes, 3000.0), layer("o", codes, 3000.0), ALL, None)
    assert matched.table["hectares"].sum() == pytest.approx(40 * 35 * 900, rel=1e-4)


def test_areas_of_cells_against_a_geodesic_polygon():
    lat, lon = np.meshgrid([50.0, 49.9, 49.8], [179.9, -180.0, -179.9], indexing="ij")
    edge = np.linspace(179.95, 180.05, 50)
    ring = np.concatenate([edge, edge[::-1]]), np.concatenate([np.full(50, 49.85), np.full(50, 49.95)])
    expected = abs(Geod(ellps="WGS84").polygon_area_perimeter(*ring)[0])
    assert cell_areas(lon, lat)[1, 1] == pytest.approx(expected, rel=1e-5)
