"""Severity rasters on the observation's grid: outcomes by hand, nearest cells by brute force, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from configs.case import Data
from configs.impact import SeverityRules
from metrics.errors import FirecardError
from metrics.severity import PRESETS, Classes, SeveritySums
from tasks.matching import rasters
from tasks.matching.ledger import NO_FORECAST, NO_OBSERVATION, PAIR
from tasks.matching.rasters import OFF_DOMAIN, OFF_MODEL, Layer, MatchedRasters, match_rasters, tile_size

ALIGNED = SeverityRules(aligned=True)
ALL = SeverityRules(aligned=True, domain="all")


def array(folder: Path, name: str, values: np.ndarray) -> Layer:
    np.save(folder / f"{name}.npy", values)
    return Layer(folder / f"{name}.npy", Data(f"{name}.npy"))


def netcdf(
    folder: Path,
    name: str,
    values: np.ndarray,
    *,
    west: float,
    north: float,
    cell: float,
    crs: str,
    **attributes: object,
) -> Layer:
    """A map whose upper left corner is at (west, north)."""
    import netCDF4
    from pyproj import CRS

    path = folder / f"{name}.nc"
    with netCDF4.Dataset(path, "w") as file:
        for axis, count, first, step in (("y", values.shape[0], north, -cell), ("x", values.shape[1], west, cell)):
            file.createDimension(axis, count)
            file.createVariable(axis, "f8", (axis,))[:] = first + step * (np.arange(count) + 0.5)
        file.createVariable("crs", "i4").crs_wkt = CRS.from_user_input(crs).to_wkt()
        fill = attributes.pop("_FillValue", None)
        variable = file.createVariable("severity", values.dtype, ("y", "x"), fill_value=fill)
        variable.setncatts({"grid_mapping": "crs", **attributes})
        variable.set_auto_maskandscale(False)
        variable[:] = values
    return Layer(path, Data(path.name))


def reasons(matched: MatchedRasters) -> dict[str, int]:
    return matched.table.groupby("reason")["count"].sum().to_dict()


def sums(matched: MatchedRasters, classes: Classes = PRESETS["mtbs"]) -> SeveritySums:
    counts, hectares = (np.zeros((len(classes.codes),) * 2) for _ in range(2))
    for row in matched.table[matched.table["reason"] == PAIR].itertuples():
        place = classes.codes.index(row.forecast), classes.codes.index(row.observed)
        counts[place] += row[4]
        hectares[place] += row.hectares
    return SeveritySums(classes, counts, hectares)


def square(size: int, rows: slice, columns: slice, code: int = 4) -> np.ndarray:
    values = np.zeros((size, size), dtype=np.uint8)
    values[rows, columns] = code
    return values


def test_the_frame_around_the_fire_is_not_a_success(tmp_path):  # SPEC part 4, D-15
    # Observed 10×10 cells, the model 5 columns to the east: 50 hits, 50 misses, 50 false alarms, the rest is frame.
    observed = array(tmp_path, "observed", square(40, slice(10, 20), slice(10, 20)))
    model = array(tmp_path, "model", square(40, slice(10, 20), slice(15, 25)))
    union = match_rasters(model, observed, ALIGNED, None)
    assert reasons(union) == {PAIR: 150, OFF_DOMAIN: 1450}
    assert sums(union).high().accuracy() == pytest.approx(50 / 150)
    assert sums(union).high().recall() == 0.5
    assert sums(union).burned().csi() == pytest.approx(50 / 150)
    everything = match_rasters(model, observed, ALL, None)
    assert reasons(everything) == {PAIR: 1600}
    assert sums(everything).high().accuracy() == pytest.approx(1500 / 1600)


def test_no_data_at_different_cells_is_masked_jointly(tmp_path):  # SPEC part 4: equal maps stay equal
    values = np.tile(np.array([4, 1, 2, 4, 3], dtype=np.uint8), (5, 1))
    one, other = values.copy(), values.copy()
    one[0, 0], other[3, 4] = 6, 6
    matched = match_rasters(array(tmp_path, "m", one), array(tmp_path, "o", other), ALIGNED, None)
    assert sums(matched).high().f1() == 1.0
    assert reasons(matched) == {PAIR: 23, NO_FORECAST: 1, NO_OBSERVATION: 1}


def test_nan_is_no_positive(tmp_path):  # SPEC part 4
    one = np.array([[4.0, np.nan], [0.0, 4.0]])
    other = np.array([[4.0, 0.0], [np.nan, 4.0]])
    matched = match_rasters(array(tmp_path, "m", one), array(tmp_path, "o", other), ALL, None)
    assert sums(matched).high().tp == 2
    assert sums(matched).n == 2


def test_a_cell_that_is_burned_and_not_forecast_is_a_missing_forecast(tmp_path):
    observed = np.array([[4, 0, 6]], dtype=np.uint8)
    model = np.array([[6, 6, 6]], dtype=np.uint8)
    model = np.vstack([model, [[4, 4, 4]]]).astype(np.uint8)
    observed = np.vstack([observed, [[4, 4, 4]]]).astype(np.uint8)
    matched = match_rasters(array(tmp_path, "m", model), array(tmp_path, "o", observed), ALIGNED, None)
    # In the union an unburned cell without a forecast is asked of nobody.
    assert reasons(matched) == {PAIR: 3, NO_FORECAST: 1, OFF_DOMAIN: 1, NO_OBSERVATION: 1}


ALBERS = {"west": -2_050_000.0, "north": 2_000_000.0, "crs": "EPSG:5070"}


def test_the_same_grid_needs_no_word_of_the_case(tmp_path):
    values = square(20, slice(5, 10), slice(5, 10))
    model, observed = (netcdf(tmp_path, name, values, cell=30.0, **ALBERS) for name in "mo")
    matched = match_rasters(model, observed, SeverityRules(), None)
    assert matched.how["way"] == "the same grid"
    assert sums(matched).high().tp == 25
    # An equal-area projection: 30 m × 30 m are 0.09 ha.
    assert sums(matched).hectares.sum() == pytest.approx(25 * 0.09, rel=1e-6)


def test_a_coarser_model_is_looked_up_at_the_nearest_cell(tmp_path):
    generator = np.random.default_rng(2)
    coarse = generator.integers(0, 5, (7, 9)).astype(np.uint8)
    fine = generator.integers(0, 5, (20, 26)).astype(np.uint8)
    model = netcdf(tmp_path, "m", coarse, cell=90.0, **ALBERS)
    observed = netcdf(tmp_path, "o", fine, cell=30.0, **ALBERS)
    matched = match_rasters(model, observed, SeverityRules(domain="all"), None)
    assert "nearest cell" in matched.how["way"]
    expected = np.zeros((6, 6))
    for row in range(20):
        for column in range(26):
            expected[coarse[row // 3, column // 3], fine[row, column]] += 1
    assert (sums(matched).counts == expected).all()


def test_another_projection_is_looked_up_at_the_nearest_cell(tmp_path):
    from pyproj import Transformer

    generator = np.random.default_rng(3)
    said = generator.integers(0, 5, (60, 60)).astype(np.uint8)
    seen = generator.integers(0, 5, (30, 40)).astype(np.uint8)
    observed = netcdf(tmp_path, "o", seen, cell=100.0, **ALBERS)
    move = Transformer.from_crs("EPSG:5070", "EPSG:4326", always_xy=True)
    lon, lat = move.transform(ALBERS["west"] + 2000, ALBERS["north"] - 1500)
    model = netcdf(tmp_path, "m", said, west=lon - 0.015, north=lat + 0.015, cell=0.0005, crs="EPSG:4326")
    matched = match_rasters(model, observed, SeverityRules(domain="all"), None)
    expected, outside = np.zeros((6, 6)), 0
    for row in range(30):
        for column in range(40):
            x, y = move.transform(ALBERS["west"] + 100 * (column + 0.5), ALBERS["north"] - 100 * (row + 0.5))
            across, down = int((x - (lon - 0.015)) // 0.0005), int((lat + 0.015 - y) // 0.0005)
            if 0 <= across < 60 and 0 <= down < 60:
                expected[said[down, across], seen[row, column]] += 1
            else:
                outside += 1
    assert outside
    assert (sums(matched).counts == expected).all()
    assert reasons(matched)[OFF_MODEL] == outside


def test_pieces_do_not_change_the_answer(tmp_path, monkeypatch):
    generator = np.random.default_rng(4)
    observed = netcdf(tmp_path, "o", generator.integers(0, 5, (90, 70)).astype(np.uint8), cell=30.0, **ALBERS)
    model = netcdf(tmp_path, "m", generator.integers(0, 5, (50, 60)).astype(np.uint8), cell=45.0, **ALBERS)
    whole = match_rasters(model, observed, SeverityRules(), None)
    monkeypatch.setattr(rasters, "WINDOW", 40)
    monkeypatch.setattr(rasters, "TILES", 2)
    pieces = match_rasters(model, observed, SeverityRules(), None)
    assert (sums(pieces).counts == sums(whole).counts).all()
    assert reasons(pieces) == reasons(whole)
    assert whole.table["unit"].nunique() > pieces.table["unit"].nunique()


def test_degrees_have_their_true_areas(tmp_path):
    from pyproj import Geod

    values = np.full((4, 3), 4, dtype=np.uint8)
    layers = [netcdf(tmp_path, name, values, west=-120.0, north=60.0, cell=0.5, crs="EPSG:4326") for name in "mo"]
    found = sums(match_rasters(*layers, SeverityRules(), None)).hectares.sum()
    lon = np.linspace(-120.0, -118.5, 400)
    ring = np.concatenate([lon, lon[::-1]]), np.concatenate([np.full(400, 58.0), np.full(400, 60.0)])
    assert found == pytest.approx(abs(Geod(ellps="WGS84").polygon_area_perimeter(*ring)[0]) / 1e4, rel=1e-5)


def test_a_polygon_is_the_domain(tmp_path):
    values = np.full((10, 10), 4, dtype=np.uint8)
    layers = [netcdf(tmp_path, name, values, west=0.0, north=10.0, cell=1.0, crs="EPSG:4326") for name in "mo"]
    outline = [[2, 2], [7, 2], [7, 9], [2, 9], [2, 2]]  # 5 × 7 cells, with a hole of one
    hole = [[3, 3], [4, 3], [4, 4], [3, 4], [3, 3]]
    (tmp_path / "domain.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [outline, hole]}))
    rules = SeverityRules(domain="polygon", polygon="domain.geojson")
    matched = match_rasters(*layers, rules, tmp_path / "domain.geojson")
    assert reasons(matched) == {PAIR: 34, OFF_DOMAIN: 66}


def test_a_tag_of_no_data_does_not_take_out_what_lies_outside_the_fire(tmp_path):  # D-15
    observed = netcdf(tmp_path, "o", square(20, slice(5, 10), slice(4, 8)), cell=30.0, **ALBERS, _FillValue=np.uint8(0))
    model = netcdf(tmp_path, "m", square(20, slice(5, 10), slice(6, 10)), cell=30.0, **ALBERS, _FillValue=np.uint8(0))
    matched = match_rasters(model, observed, SeverityRules(), None)
    assert sums(matched).high().recall() == 0.5
    assert "0 is tagged as no data" in matched.how["note"]


def test_a_tag_of_another_code_is_no_data(tmp_path):
    values = square(20, slice(5, 10), slice(4, 8))
    values[0, :5] = 255
    observed = netcdf(tmp_path, "o", values, cell=30.0, **ALBERS, _FillValue=np.uint8(255))
    matched = match_rasters(observed, observed, SeverityRules(domain="all"), None)
    assert reasons(matched) == {PAIR: 395, NO_OBSERVATION: 5}


def test_there_are_at_most_a_thousand_tiles():
    for shape in ((20_000, 20_000), (1, 1), (31, 31), (1224, 3051), (497, 100_000)):
        size = tile_size(shape)
        assert -(-shape[0] // size) * -(-shape[1] // size) <= 1000


def refused(tmp_path: Path, model: np.ndarray, observed: np.ndarray, rules: SeverityRules = ALIGNED) -> str:
    with pytest.raises(FirecardError) as error:
        match_rasters(array(tmp_path, "model", model), array(tmp_path, "observed", observed), rules, None)
    return str(error.value)


FIRE = square(6, slice(1, 4), slice(1, 4))


def test_shapes_that_cannot_be_brought_together(tmp_path):  # SPEC part 4
    message = refused(tmp_path, np.zeros((100, 400), np.uint8), np.zeros((200, 200), np.uint8))
    assert "model.npy 100×400 cells" in message
    assert "observed.npy 200×200 cells" in message


def test_arrays_without_georeference_need_the_cases_word(tmp_path):
    assert "aligned: true" in refused(tmp_path, FIRE, FIRE, SeverityRules())


def test_a_class_that_is_not_in_the_table(tmp_path):
    message = refused(tmp_path, np.where(FIRE == 4, 9, FIRE).astype(np.uint8), FIRE)
    assert "model.npy: 9 cells have the value 9, which is no class" in message
    assert "nodata: [9]" in message


def test_a_fraction_is_no_class(tmp_path):
    assert "observed.npy: the value 3.7 is no class" in refused(tmp_path, FIRE, np.where(FIRE == 4, 3.7, 0.0))


def test_a_negative_number_is_no_class(tmp_path):
    assert "the value -9999 is no class" in refused(tmp_path, np.full((6, 6), -9999, np.int16), FIRE)


@pytest.mark.parametrize("empty", [np.full((6, 6), 6, np.uint8), np.full((6, 6), np.nan)])
def test_a_raster_of_nothing(tmp_path, empty):
    assert "observed.npy: holds nothing but no-data" in refused(tmp_path, FIRE, empty)


def test_rasters_that_do_not_overlap(tmp_path):
    observed = netcdf(tmp_path, "o", FIRE, cell=30.0, **ALBERS)
    model = netcdf(tmp_path, "m", FIRE, cell=30.0, **{**ALBERS, "west": 0.0})
    with pytest.raises(FirecardError, match=r"m\.nc: does not overlap o\.nc"):
        match_rasters(model, observed, SeverityRules(), None)


LOCAL = 'LOCAL_CS["survey",UNIT["metre",1]]'
MARS = """GEOGCRS["Mars",DATUM["M",ELLIPSOID["m",3396190,169.9]],CS[ellipsoidal,2],AXIS["lat",north],AXIS["lon",east],
ANGLEUNIT["degree",0.0174532925199433]]"""


@pytest.mark.parametrize("crs", [LOCAL, MARS])
def test_projections_that_cannot_be_brought_together(tmp_path, crs):
    observed = netcdf(tmp_path, "o", FIRE, cell=30.0, **ALBERS)
    model = netcdf(tmp_path, "m", FIRE, west=0.0, north=10.0, cell=1.0, crs=crs)
    for sides in ((model, observed), (observed, model)):
        with pytest.raises(FirecardError, match="their projections cannot be brought together") as error:
            match_rasters(*sides, SeverityRules(), None)
        assert "o.nc (NAD83 / Conus Albers)" in str(error.value)
        assert "m.nc (" in str(error.value)


def test_two_maps_of_one_local_grid_have_no_area(tmp_path):
    maps = [netcdf(tmp_path, name, FIRE, west=0.0, north=10.0, cell=1.0, crs=LOCAL) for name in "mo"]
    matched = match_rasters(*maps, SeverityRules(), None)
    assert sums(matched).high().tp == 9
    assert np.isnan(matched.table["hectares"]).all()


def test_a_polygon_on_a_local_grid(tmp_path):
    observed = netcdf(tmp_path, "o", FIRE, west=0.0, north=10.0, cell=1.0, crs=LOCAL)
    (tmp_path / "p.geojson").write_text('{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}')
    rules = SeverityRules(domain="polygon", polygon="p.geojson")
    with pytest.raises(FirecardError, match=r"p\.geojson \(longitude and latitude\) and the raster: their projections"):
        match_rasters(observed, observed, rules, tmp_path / "p.geojson")


@pytest.mark.parametrize("content", ["{", '{"type": "Point", "coordinates": [0, 0]}', '{"type": "Polygon"}', "[]"])
def test_a_polygon_that_is_none(tmp_path, content):
    observed = netcdf(tmp_path, "o", FIRE, west=0.0, north=10.0, cell=1.0, crs="EPSG:4326")
    (tmp_path / "domain.geojson").write_text(content)
    rules = SeverityRules(domain="polygon", polygon="domain.geojson")
    with pytest.raises(FirecardError, match=r"domain\.geojson: expected a GeoJSON polygon"):
        match_rasters(observed, observed, rules, tmp_path / "domain.geojson")
