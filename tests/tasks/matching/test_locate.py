"""Stations on grids: hand-worked places, brute force on random grids, and what must never happen."""

import numpy as np
import pyproj
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.interpolate import RegularGridInterpolator

from metrics.errors import BadInput, BadParameter
from tasks.matching.locate import EARTH_RADIUS, Cells, Grid, grid_key, locate

DEGREE = EARTH_RADIUS * np.pi / 180

# --- independent geometry ------------------------------------------------------------------------------------------


def vector(lat, lon):
    lat, lon = np.radians(lat), np.radians(lon)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def degrees(place):
    place = place / np.linalg.norm(place, axis=-1, keepdims=True)
    lat = np.degrees(np.arctan2(place[..., 2], np.hypot(place[..., 0], place[..., 1])))
    return lat, np.degrees(np.arctan2(place[..., 1], place[..., 0]))


def cells_of(shape):
    for row in range(shape[0] - 1):
        for column in range(shape[1] - 1):
            here = row * shape[1] + column
            yield (here, here + 1, here + shape[1] + 1, here + shape[1])


def cells_by_brute_force(lat, lon, at):
    """Corners of every cell whose four great-circle edges have the place on one side, and the closest call."""
    points = vector(lat, lon).reshape(-1, 3)
    found, margin = [], np.inf
    for corners in cells_of(lat.shape):
        ring = points[list(corners)]
        if (ring @ at).min() <= 0:
            continue
        normals = np.cross(ring, np.roll(ring, -1, axis=0))
        side = normals @ at / np.linalg.norm(normals, axis=1)
        margin = min(margin, np.abs(side).min() / np.ptp(ring, axis=0).max())
        if (side > 0).all() or (side < 0).all():
            found.append(sorted(corners))
    return found, margin


def whole(lat, lon):
    """Whether a grid covers no place twice: it spans less than 80°, and its cells are convex and turn one way."""
    points = vector(lat, lon)
    middle = points.reshape(-1, 3).mean(axis=0)
    if (points @ middle).min() < np.cos(np.radians(40)) * np.linalg.norm(middle):
        return False
    ring = np.stack([points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]])
    turn = (np.cross(ring, np.roll(ring, -1, axis=0)) * np.roll(ring, -2, axis=0)).sum(axis=-1)
    return bool((turn > 0).all() or (turn < 0).all())


def great_circle(lat, lon, other_lat, other_lon):
    one, two = vector(lat, lon), vector(other_lat, other_lon)
    return np.arctan2(np.linalg.norm(np.cross(one, two), axis=-1), (one * two).sum(axis=-1))


def flat(row_slope, column_slope, shape):
    rows, columns = np.indices(shape)
    return (1.0 + row_slope * rows + column_slope * columns).ravel()


LAMBERT = "+proj=lcc +lat_1=30 +lat_2=60 +lat_0=39 +lon_0=-96 +R=6370000"
MAPS = {
    "lambert": LAMBERT,
    "southern lambert": "+proj=lcc +lat_1=-30 +lat_2=-60 +lat_0=-40 +lon_0=146 +R=6370000",
    "over the north pole": "+proj=stere +lat_0=90 +lat_ts=60 +lon_0=-45 +R=6370000",
    "over the south pole": "+proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=0 +R=6370000",
    "across the date line": "+proj=lcc +lat_1=50 +lat_2=60 +lat_0=55 +lon_0=180 +R=6370000",
    "rotated": "+proj=ob_tran +o_proj=eqc +o_lat_p=39.25 +o_lon_p=0 +lon_0=18 +R=6370000",
    "on the equator": "+proj=merc +lon_0=0 +R=6370000",
}


@st.composite
def grids(draw):
    """A grid on some map, turned, stretched and skewed, and a few stations in and around it."""
    name = draw(st.sampled_from(sorted(MAPS)))
    rows, columns = draw(st.integers(2, 7)), draw(st.integers(2, 7))
    spacing = draw(st.floats(1e3, 2e5))
    aspect, shear = draw(st.floats(0.1, 10)), draw(st.floats(-2.5, 2.5))
    turn = draw(st.floats(0, 2 * np.pi))
    offset = draw(st.tuples(st.floats(-3, 3), st.floats(-3, 3)))
    mirrored = draw(st.booleans())
    stations = draw(st.lists(st.tuples(st.floats(-0.8, 1.8), st.floats(-0.8, 1.8)), min_size=1, max_size=8))
    to_map = pyproj.Proj(MAPS[name])
    affine = spacing * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    affine = affine @ np.array([[1, shear], [0, aspect if not mirrored else -aspect]])

    def placed(row, column):
        x, y = np.tensordot(affine, np.stack([column - (columns - 1) / 2 + offset[0], row - rows / 2 + offset[1]]), 1)
        lon, lat = to_map(x, y, inverse=True)
        return np.asarray(lat), np.asarray(lon)

    lat, lon = placed(*np.indices((rows, columns)).astype(float))
    row, column = np.array(stations).T * np.array([[rows - 1], [columns - 1]])
    station_lat, station_lon = placed(row, column)
    assume(np.isfinite(lat).all() and np.isfinite(station_lat).all())
    assume("lcc" not in MAPS[name] or np.abs(lat).max() < 85)  # beyond its pole a cone overlaps itself
    if draw(st.booleans()):
        lon = lon % 360
    assume(np.ptp(lat, axis=1).any() or np.ptp(lon, axis=0).any())  # else it is a rectilinear grid, with other edges
    return lat, lon, station_lat, station_lon


# --- bilinear on curvilinear grids ---------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(grids())
def test_the_cell_is_the_one_that_brute_force_finds(case):
    lat, lon, station_lat, station_lon = case
    cells = locate(Grid.curvilinear(lat, lon), station_lat, station_lon, how="bilinear")
    for number, at in enumerate(vector(station_lat, station_lon)):
        found, margin = cells_by_brute_force(lat, lon, at)
        if margin < 1e-7:
            continue  # on an edge, where either answer is right
        assert cells.inside[number] == bool(found)
        if found:
            assert list(cells.index[number]) in found
            place = cells.weight[number] @ vector(lat, lon).reshape(-1, 3)[cells.index[number]]
            size = np.ptp(vector(lat, lon).reshape(-1, 3)[cells.index[number]], axis=0).max()
            assert np.linalg.norm(np.cross(place, at)) < 1e-10 * size
            assert cells.weight[number].min() >= 0
            assert cells.weight[number].sum() == pytest.approx(1, abs=1e-14)


@settings(max_examples=60, deadline=None)
@given(grids(), st.floats(0, 1), st.floats(0, 1), st.floats(-5, 5), st.floats(-5, 5), st.randoms())
def test_a_field_linear_in_rows_and_columns_is_exact(case, a, b, row_slope, column_slope, chance):
    lat, lon, *_ = case
    assume(whole(lat, lon))
    row, column = chance.randrange(lat.shape[0] - 1), chance.randrange(lat.shape[1] - 1)
    corners = vector(lat, lon)[row : row + 2, column : column + 2]
    across = (1 - b) * corners[0] + b * corners[1]
    station_lat, station_lon = degrees((1 - a) * across[0] + a * across[1])
    cells = locate(Grid.curvilinear(lat, lon), station_lat, station_lon, how="bilinear")
    field = flat(row_slope, column_slope, lat.shape)
    expected = 1 + row_slope * (row + b) + column_slope * (column + a)
    assert cells.inside.all()
    # 1e-12, or what the rounding of the station's own degrees (1e-14 to 3e-14) is worth in a thin cell.
    sides = corners[0, 1] - corners[0, 0], corners[1, 0] - corners[0, 0]
    thickness = np.degrees(np.linalg.norm(np.cross(*sides)) / max(np.linalg.norm(side) for side in sides))
    digits = max(1e-12, 1e-13 / thickness)
    assert cells.gather(field)[0] == pytest.approx(expected, abs=digits * max(1, np.abs(field).max()))


@settings(max_examples=60, deadline=None)
@given(grids())
def test_grid_points_and_middles_of_edges_are_inside(case):
    lat, lon, *_ = case
    assume(whole(lat, lon))
    points = vector(lat, lon)
    field = flat(7, 1, lat.shape).reshape(lat.shape)
    for places, expected in (
        (points, field),
        (points[1:] + points[:-1], (field[1:] + field[:-1]) / 2),
        (points[:, 1:] + points[:, :-1], (field[:, 1:] + field[:, :-1]) / 2),
    ):
        at = degrees(places.reshape(-1, 3))
        cells = locate(Grid.curvilinear(lat, lon), *at, how="bilinear")
        assert cells.inside.all()
        np.testing.assert_allclose(cells.gather(field.ravel()), expected.ravel(), rtol=1e-9)


@settings(max_examples=60, deadline=None)
@given(grids(), st.floats(0, 1))
def test_just_outside_is_outside(case, along):
    lat, lon, *_ = case
    assume(whole(lat, lon))
    points = vector(lat, lon)
    edge = (1 - along) * points[0, 0] + along * points[0, 1]
    inward = (1 - along) * points[1, 0] + along * points[1, 1] - edge
    out_lat, out_lon = degrees(edge - 1e-6 * inward)
    in_lat, in_lon = degrees(edge + 1e-6 * inward)
    cells = locate(Grid.curvilinear(lat, lon), [out_lat, in_lat], [out_lon, in_lon], how="bilinear")
    assert cells.inside.tolist() == [False, True]
    assert np.isnan(cells.gather(flat(1, 1, lat.shape))[0])


def test_a_place_in_a_flat_quadrilateral_worked_by_hand():
    # Near (0°, 0°) a small patch is flat: corners (0,0) (4,0) (6,2) (0,2) units; a = 1/2, b = 1/2 is (2.5, 1).
    unit = 1e-4
    grid = Grid.curvilinear(np.array([[0, 0], [2, 2]]) * unit, np.array([[0, 4], [0, 6]]) * unit)
    cells = locate(grid, [1 * unit], [2.5 * unit], how="bilinear")
    np.testing.assert_allclose(cells.weight, [[1 / 4, 1 / 4, 1 / 4, 1 / 4]], atol=1e-9)
    np.testing.assert_allclose(cells.gather([0.0, 1.0, 10.0, 11.0]), [5.5], atol=1e-8)


POLE = pyproj.Proj(MAPS["over the north pole"])(
    *np.meshgrid([-3e5, -1e5, 1e5, 3e5], [-3e5, -1e5, 1e5, 3e5]), inverse=True
)


@pytest.mark.parametrize("longitude", [0.0, -180.0, 77.0, 300.0])
def test_the_pole_is_the_middle_of_its_cell_whatever_its_longitude(longitude):
    grid = Grid.curvilinear(POLE[1], POLE[0])
    cells = locate(grid, [90.0], [longitude], how="bilinear")
    assert cells.index.tolist() == [[5, 6, 9, 10]]
    np.testing.assert_allclose(cells.weight, [[1 / 4] * 4], atol=1e-12)


def test_a_grid_over_the_date_line_in_either_convention():
    latitude, longitude = np.meshgrid([50.0, 51.0], [179.0, 180.0, 181.0], indexing="ij")
    skewed = longitude + np.array([[0.0], [0.25]])
    for lon in (skewed, (skewed + 180) % 360 - 180):
        cells = locate(Grid.curvilinear(latitude, lon), [50.5, 50.5, 50.5], [179.6, -179.6, -178.0], how="bilinear")
        assert cells.inside.tolist() == [True, True, False]
        assert cells.index[:2].tolist() == [[0, 1, 3, 4], [1, 2, 4, 5]]


def test_strongly_skewed_cells_far_from_their_nearest_point():
    # Rows shifted by ten columns each: a station's nearest grid point belongs to none of the cells around it.
    rows, columns = np.indices((6, 40)).astype(float)
    lat, lon = 40 + 0.01 * rows, -120 + 0.01 * (columns + 10 * rows)
    inside_row, inside_column = np.meshgrid(np.arange(5) + 0.37, np.arange(39) + 0.61, indexing="ij")
    station_lat = 40 + 0.01 * inside_row.ravel()
    station_lon = -120 + 0.01 * (inside_column + 10 * inside_row).ravel()
    cells = locate(Grid.curvilinear(lat, lon), station_lat, station_lon, how="bilinear")
    assert cells.inside.all()
    np.testing.assert_allclose(
        cells.gather(columns.ravel()), inside_column.ravel(), atol=0.02
    )  # degrees against great circles
    np.testing.assert_allclose(cells.gather(rows.ravel()), inside_row.ravel(), atol=0.02)


def test_cells_of_very_different_sizes_are_all_searched():
    step = np.concatenate([np.full(5, 1e-3), np.full(5, 0.1), np.full(3, 5.0)])
    axis = np.concatenate([[0], np.cumsum(step)])
    rows, columns = np.meshgrid(axis, axis, indexing="ij")
    lat, lon = rows + 1e-3 * columns, columns - 1e-3 * rows  # not a rectilinear grid written out
    middle = (axis[:-1] + axis[1:]) / 2
    at_row, at_column = (each.ravel() for each in np.meshgrid(middle, middle, indexing="ij"))
    cells = locate(Grid.curvilinear(lat, lon), at_row + 1e-3 * at_column, at_column - 1e-3 * at_row, how="bilinear")
    assert cells.inside.all()
    expected = (np.arange(13)[:, None] * 14 + np.arange(13)).ravel()
    np.testing.assert_array_equal(cells.index[:, 0], expected)


def test_a_missing_corner_spoils_its_cells_only():
    lon, lat = pyproj.Proj(LAMBERT)(*np.meshgrid(np.arange(4) * 3e3, np.arange(4) * 3e3), inverse=True)
    middle_lon, middle_lat = pyproj.Proj(LAMBERT)(
        *np.meshgrid(np.arange(3) * 3e3 + 1e3, np.arange(3) * 3e3 + 1e3), inverse=True
    )
    expected = [False, False, True, False, False, True, True, True, True]
    for missing in (np.nan, 9.96921e36):
        holed = lat.copy()
        holed[1, 1] = missing
        cells = locate(Grid.curvilinear(holed, lon), middle_lat.ravel(), middle_lon.ravel(), how="bilinear")
        assert cells.inside.tolist() == expected
    masked = np.ma.masked_array(lat, mask=np.isnan(np.where(np.arange(16).reshape(4, 4) == 5, np.nan, lat)))
    cells = locate(Grid.curvilinear(masked, lon), middle_lat.ravel(), middle_lon.ravel(), how="nearest")
    assert cells.inside.tolist() == expected


def test_flat_and_folded_cells_do_not_crash():
    same = np.full((3, 3), 40.0)
    assert not locate(Grid.curvilinear(same, same), [40.0, 41.0], [40.0, 40.0], how="bilinear").inside.any()
    line = np.array([[0.0, 1, 2], [1, 2, 3], [2, 3, 4]])
    assert not locate(Grid.curvilinear(line, line * 0), [0.5], [1.0], how="bilinear").inside.any()
    bow_tie = Grid.curvilinear([[0.0, 0.0], [1.0, 1.01]], [[0.0, 1.0], [1.0, 0.0]])
    assert not locate(bow_tie, [5.0], [5.0], how="bilinear").inside.any()
    triangle = Grid.curvilinear([[0.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [0.5, 0.5]])
    assert locate(triangle, [0.5, 0.9, 1.0], [0.5, 0.1, 0.5], how="bilinear").inside.tolist() == [True, False, True]


# --- bilinear on rectilinear grids ---------------------------------------------------------------------------------

UP, DOWN = [10.0, 20.0, 30.0], [30.0, 20.0, 10.0]
PLACES = [
    pytest.param(UP, [0.0, 10.0], 15.0, 2.5, {0: 3 / 8, 1: 1 / 8, 2: 3 / 8, 3: 1 / 8}, id="ascending"),
    pytest.param(DOWN, [0.0, 10.0], 15.0, 2.5, {2: 3 / 8, 3: 1 / 8, 4: 3 / 8, 5: 1 / 8}, id="descending latitude"),
    pytest.param(UP, [10.0, 0.0], 15.0, 2.5, {0: 1 / 8, 1: 3 / 8, 2: 1 / 8, 3: 3 / 8}, id="descending longitude"),
    pytest.param(UP, [210.0, 220.0], 10.0, -142.5, {0: 1 / 4, 1: 3 / 4}, id="0..360 grid, west station"),
    pytest.param(UP, [-150.0, -140.0], 10.0, 217.5, {0: 1 / 4, 1: 3 / 4}, id="−180..180 grid, 0..360 station"),
    pytest.param(UP, [170.0, 180.0, -170.0], 30.0, -175.0, {7: 1 / 2, 8: 1 / 2}, id="axis jumps at the date line"),
    pytest.param(UP, [350.0, 0.0, 10.0], 30.0, -5.0, {6: 1 / 2, 7: 1 / 2}, id="axis jumps at Greenwich"),
    pytest.param(UP, [0.0, 90.0, 180.0, 270.0], 10.0, -45.0, {0: 1 / 2, 3: 1 / 2}, id="round the globe"),
    pytest.param(UP, [0.0, 90.0, 180.0, 270.0], 10.0, 315.0, {0: 1 / 2, 3: 1 / 2}, id="round the globe, 0..360"),
    pytest.param(UP, [-90.0, 0.0, 90.0, 180.0], 10.0, -135.0, {0: 1 / 2, 3: 1 / 2}, id="globe closed in the west"),
    pytest.param(UP, [270.0, 180.0, 90.0, 0.0], 10.0, -45.0, {0: 1 / 2, 3: 1 / 2}, id="globe, descending"),
    pytest.param(UP, [0.0, 120.0, 240.0, 360.0], 10.0, 350.0, {2: 1 / 12, 3: 11 / 12}, id="globe with both ends"),
    pytest.param(UP, [359.75, 0.0], 10.0, -0.1875, {0: 3 / 4, 1: 1 / 4}, id="two columns beside Greenwich"),
    pytest.param(UP, [0.0, 10.0], 30.0, 10.0, {5: 1}, id="last corner"),
    pytest.param([90.0, 0.0], [0.0, 90.0, 180.0, 270.0], 90.0, 45.0, {0: 1 / 2, 1: 1 / 2}, id="the pole"),
]


@pytest.mark.parametrize(("latitude", "longitude", "lat", "lon", "expected"), PLACES)
def test_place_on_a_rectilinear_grid(latitude, longitude, lat, lon, expected):
    cells = locate(Grid.rectilinear(latitude, longitude), [lat], [lon], how="bilinear")
    found = {int(i): w for i, w in zip(cells.index[0], cells.weight[0], strict=True) if w}
    assert found == pytest.approx(expected, abs=1e-14)
    assert (np.diff(cells.index[0]) > 0).all()


OUTSIDE = [
    pytest.param(9.999999, 5.0, id="south"),
    pytest.param(30.000001, 5.0, id="north"),
    pytest.param(20.0, -0.000001, id="west"),
    pytest.param(20.0, 10.000001, id="east"),
    pytest.param(20.0, 185.0, id="other side of the earth"),
    pytest.param(90.5, 5.0, id="no such latitude"),
    pytest.param(-91.0, 5.0, id="no such southern latitude"),
    pytest.param(20.0, -790.2, id="no such longitude"),
    pytest.param(20.0, 361.0, id="longitude beyond a turn"),
    pytest.param(np.nan, 5.0, id="missing latitude"),
    pytest.param(20.0, np.nan, id="missing longitude"),
    pytest.param(np.inf, 5.0, id="infinite latitude"),
]


@pytest.mark.parametrize("how", ["bilinear", "nearest", "inverse_distance"])
@pytest.mark.parametrize(("lat", "lon"), OUTSIDE)
def test_outside_has_no_value_and_the_neighbour_keeps_its_own(lat, lon, how):
    cells = locate(Grid.rectilinear(UP, [0.0, 5.0, 10.0]), [lat, 20.0], [lon, 5.0], how=how)
    assert cells.inside.tolist() == [False, True]
    assert np.isnan(cells.weight[0]).all()
    values = cells.gather(np.arange(9.0))
    assert np.isnan(values[0])
    assert values[1] == pytest.approx(4)


def test_regions_are_not_closed_round_the_globe():
    assert not locate(Grid.rectilinear(UP, [359.75, 0.0]), [15.0], [180.0], how="bilinear").inside.any()
    # 0..355 by 5 has a gap of 5 and is closed; 0..350 by 5 has a gap of 10 and is not.
    for last, inside in ((355, True), (350, False)):
        grid = Grid.rectilinear([0.0, 1.0], np.arange(0.0, last + 1, 5))
        assert locate(grid, [0.5], [357.0], how="bilinear").inside.tolist() == [inside]


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.floats(-90, 90, width=32), min_size=2, max_size=8, unique=True).map(sorted),
    columns=st.lists(st.floats(-180, 170, width=32), min_size=2, max_size=8, unique=True).map(sorted),
    where=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=10),
    turned=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_rectilinear_agrees_with_scipy(rows, columns, where, turned):
    assume(np.diff(rows).min() > 1e-3 and np.diff(columns).min() > 1e-3)
    assume(np.diff(columns).max() < 179)  # a wider step is one the other way
    rows, columns = np.array(rows), np.array(columns)
    values = np.random.default_rng(len(rows)).normal(size=(rows.size, columns.size))
    north, east = np.array(where).T
    lat, lon = rows[0] + north * np.ptp(rows), columns[0] + east * np.ptp(columns)
    lat, lon = np.clip(lat, rows[0], rows[-1]), np.clip(lon, columns[0], columns[-1])
    expected = RegularGridInterpolator((rows, columns), values)(np.stack([lat, lon], axis=1))
    if turned[0]:
        rows, values = rows[::-1], values[::-1]
    if turned[1]:
        columns, values = columns[::-1], values[:, ::-1]
    if turned[2]:
        columns = columns % 360
    cells = locate(Grid.rectilinear(rows, columns), lat, lon, how="bilinear")
    assert cells.inside.all()
    np.testing.assert_allclose(cells.gather(values.ravel()), expected, atol=1e-9)


def test_a_rectilinear_grid_written_out_gives_the_same_weights():
    latitude, longitude = np.linspace(60, 30, 7), np.linspace(-130, -100, 13)
    lat, lon = np.random.default_rng(3).uniform([[29], [-131]], [[61], [-99]], (2, 200))
    one = locate(Grid.rectilinear(latitude, longitude), lat, lon, how="bilinear")
    other = locate(Grid.curvilinear(*np.meshgrid(latitude, longitude, indexing="ij")), lat, lon, how="bilinear")
    np.testing.assert_array_equal(one.index, other.index)
    np.testing.assert_array_equal(one.weight, other.weight)


# --- nearest and inverse distance ----------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(grids(), st.integers(1, 6), st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_nearest_and_inverse_distance_agree_with_brute_force(case, k, power):
    lat, lon, station_lat, station_lon = case
    grid = Grid.mesh(lat.ravel(), lon.ravel())
    values = np.random.default_rng(1).normal(size=lat.size)
    distance = great_circle(station_lat[:, None], station_lon[:, None], lat.ravel(), lon.ravel())
    ranked = np.sort(distance, axis=1)
    assume(ranked[:, 0].min() > 1e-6)
    assume(np.diff(ranked, axis=1).min() > 1e-7 * ranked.max())  # ties have a rule of their own
    near = locate(grid, station_lat, station_lon, how="nearest", max_distance=1e9)
    np.testing.assert_array_equal(near.index[:, 0], distance.argmin(axis=1))
    cells = locate(grid, station_lat, station_lon, how="inverse_distance", k=k, power=power, max_distance=1e9)
    weight = np.where(distance <= ranked[:, [min(k, lat.size) - 1]], distance**-power, 0)
    np.testing.assert_allclose(cells.gather(values), weight @ values / weight.sum(axis=1), rtol=1e-6, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(grids())
def test_every_method_has_the_same_stations(case):
    lat, lon, station_lat, station_lon = case
    grid = Grid.curvilinear(lat, lon)
    inside = [
        locate(grid, station_lat, station_lon, how=how).inside for how in ("bilinear", "nearest", "inverse_distance")
    ]
    np.testing.assert_array_equal(inside[0], inside[1])
    np.testing.assert_array_equal(inside[0], inside[2])


WEIGHTS = [
    pytest.param("great_circle", 2.0, [4 / 5, 1 / 5], id="one and two degrees, squared"),
    pytest.param("great_circle", 1.0, [2 / 3, 1 / 3], id="plain"),
    pytest.param("planar", 2.0, [4 / 5, 1 / 5], id="planar"),
    pytest.param("planar", 0.0, [1 / 2, 1 / 2], id="power 0 is the mean"),
]


@pytest.mark.parametrize(("metric", "power", "expected"), WEIGHTS)
def test_inverse_distance_on_the_equator(metric, power, expected):
    mesh = Grid.mesh([0.0, 0.0, 50.0], [0.0, 3.0, 50.0])
    cells = locate(mesh, [0.0], [1.0], how="inverse_distance", k=2, power=power, metric=metric)
    assert cells.index.tolist() == [[0, 1]]
    np.testing.assert_allclose(cells.weight, [expected], rtol=1e-12)


def test_planar_degrees_differ_from_great_circles_far_north():
    # At 60° a degree of longitude is half a degree: on the great circle the eastern point is the nearer one.
    mesh = Grid.mesh([60.0, 60.8], [1.0, 0.0])
    nearer = {
        metric: locate(mesh, [60.0], [0.0], how="inverse_distance", k=1, metric=metric).index.item()
        for metric in ("planar", "great_circle")
    }
    assert nearer == {"planar": 1, "great_circle": 0}


@pytest.mark.parametrize("metric", ["planar", "great_circle"])
def test_planar_neighbours_across_the_date_line(metric):
    mesh = Grid.mesh([0.0, 0.0, 0.0], [179.0, -178.0, 170.0])
    cells = locate(mesh, [0.0, 0.0], [180.0, -180.0], how="inverse_distance", k=2, metric=metric)
    assert cells.index.tolist() == [[0, 1], [0, 1]]
    np.testing.assert_allclose(cells.weight, [[4 / 5, 1 / 5]] * 2, rtol=1e-12)


@pytest.mark.parametrize("metric", ["planar", "great_circle"])
@pytest.mark.parametrize("longitude", [-120.1, 239.9])
def test_a_station_on_a_point_takes_that_point(metric, longitude):
    mesh = Grid.mesh([40.0, 40.1, 40.2], [-120.0, -120.1, -120.2])
    cells = locate(mesh, [40.1], [longitude], how="inverse_distance", k=3, metric=metric)
    assert cells.weight.tolist() == [[0, 1, 0]]
    assert cells.gather([np.nan, 5.0, np.nan]).tolist() == [5]


def test_of_equally_near_points_the_first_is_taken():
    grid = Grid.rectilinear([0.0, 1.0], [0.0, 1.0, 2.0])
    assert locate(grid, [0.5, 0.0, 1.0], [1.0, 0.5, 1.5], how="nearest").index.tolist() == [[1], [0], [4]]


def test_a_mesh_ends_at_twice_its_spacing():
    # A row of points one degree apart: spacing of the end point is the median of 1, 2 and 3 degrees.
    mesh = Grid.mesh(np.zeros(10), np.arange(10.0))
    cells = locate(mesh, [0.0, 0.0, 1.9, 2.1], [-3.99, -4.01, 5.0, 5.0], how="nearest")
    # In the middle the three nearest are 1, 1 and 2 degrees away: 2 × 1.
    assert cells.inside.tolist() == [True, False, True, False]
    limited = locate(mesh, [0.0, 0.0], [-0.99, -1.01], how="nearest", max_distance=DEGREE)
    assert limited.inside.tolist() == [True, False]


def test_repeated_points_of_a_mesh_do_not_shrink_its_spacing():
    mesh = Grid.mesh(np.zeros(12), np.repeat([0.0, 1.0, 2.0, 3.0], 3))
    assert locate(mesh, [1.5], [1.0], how="nearest").inside.all()


def test_missing_points_of_a_mesh_are_never_neighbours():
    mesh = Grid.mesh([0.0, np.nan, 0.0, 0.0], [0.0, 1.0, np.nan, 2.0])
    cells = locate(mesh, [0.0], [0.9], how="inverse_distance", k=4)
    assert cells.index.tolist() == [[0, 3]]


def test_a_single_row_follows_the_rule_of_a_mesh():
    grid = Grid.rectilinear([45.0], [0.0, 1.0, 2.0])
    assert locate(grid, [45.1, 60.0], [1.1, 1.1], how="nearest").inside.tolist() == [True, False]
    assert locate(grid, [45.1], [1.1], how="nearest").index.tolist() == [[1]]


def test_max_distance_also_limits_a_grid():
    grid = Grid.rectilinear([0.0, 1.0], [0.0, 1.0])
    cells = locate(grid, [0.1, 0.5], [0.1, 0.5], how="nearest", max_distance=0.5 * DEGREE)
    assert cells.inside.tolist() == [True, False]


# --- gathering -----------------------------------------------------------------------------------------------------


def test_missing_points_count_only_where_they_weigh():
    grid = Grid.rectilinear([0.0, 1.0], [0.0, 1.0, 2.0])
    values = [1.0, 2.0, np.nan, 3.0, 4.0, np.inf]
    cells = locate(grid, [0.5, 0.5, 0.5, 0.0], [0.5, 1.0, 1.5, 1.0], how="bilinear")
    np.testing.assert_array_equal(cells.gather(values), [2.5, 3.0, np.nan, 2.0])


def test_gather_keeps_leading_axes_and_takes_integers_floats_and_masks():
    cells = locate(Grid.rectilinear([0.0, 1.0], [0.0, 1.0]), [0.5, 0.0], [0.5, 0.0], how="bilinear")
    values = np.arange(24).reshape(2, 3, 4)
    expected = np.stack([values.mean(axis=-1), values[..., 0]], axis=-1)
    for given_values in (values, values.astype(np.float32), values.tolist()):
        gathered = cells.gather(given_values)
        assert gathered.dtype == np.float64
        np.testing.assert_array_equal(gathered, expected)
    masked = np.ma.masked_equal(values, 3)
    np.testing.assert_array_equal(np.isnan(cells.gather(masked)[0, 0]), [True, False])
    np.testing.assert_array_equal(np.isnan(cells.gather(masked.astype(float))[0, 0]), [True, False])


def test_values_of_another_grid_are_refused():
    cells = locate(Grid.rectilinear([0.0, 1.0], [0.0, 1.0]), [0.5], [0.5], how="bilinear")
    with pytest.raises(BadInput, match=r"\(3, 5\) do not end in the 4 points"):
        cells.gather(np.zeros((3, 5)))


@pytest.mark.parametrize("how", ["bilinear", "nearest", "inverse_distance"])
def test_order_and_company_of_stations_change_no_bit(how):
    lon, lat = pyproj.Proj(LAMBERT)(*np.meshgrid(np.arange(30) * 3e3, np.arange(20) * 3e3), inverse=True)
    x, y = np.random.default_rng(5).uniform(-1e4, [[9.7e4], [6.7e4]], (2, 300))
    station_lon, station_lat = pyproj.Proj(LAMBERT)(x, y, inverse=True)
    grid, field = Grid.curvilinear(lat, lon), np.random.default_rng(6).normal(size=lat.size)
    all_values = locate(grid, station_lat, station_lon, how=how).gather(field)
    order = np.random.default_rng(7).permutation(300)[:100]
    some = locate(grid, station_lat[order], station_lon[order], how=how).gather(field)
    assert some.tobytes() == all_values[order].tobytes()


@pytest.mark.parametrize("how", ["bilinear", "nearest", "inverse_distance"])
def test_no_stations_at_all(how):
    cells = locate(Grid.curvilinear(POLE[1], POLE[0]), [], [], how=how)
    assert cells.gather(np.zeros((2, 16))).shape == (2, 0)


# --- keeping -------------------------------------------------------------------------------------------------------


def test_weights_are_computed_once_per_grid_stations_and_rule():
    latitude, longitude = np.linspace(0, 1, 5), np.linspace(0, 1, 5)
    first = locate(Grid.rectilinear(latitude, longitude), [0.5], [0.5], how="nearest")
    again = locate(Grid.rectilinear(latitude.astype(np.float32), longitude), [0.5], [0.5], how="nearest")
    assert again is first
    assert locate(Grid.rectilinear(latitude, longitude), [0.5], [0.25], how="nearest") is not first
    assert locate(Grid.rectilinear(latitude, longitude), [0.5], [0.5], how="bilinear") is not first
    assert locate(Grid.rectilinear(latitude + 1e-9, longitude), [0.5], [0.5], how="nearest") is not first
    with pytest.raises(ValueError, match="read-only"):
        first.weight[0] = 2


def test_cells_come_back_from_their_arrays():
    cells = locate(Grid.rectilinear([0.0, 1.0], [0.0, 1.0]), [0.5, 7.0], [0.5, 0.5], how="bilinear")
    again = Cells.of_arrays(cells.as_arrays())
    assert again.shape == cells.shape
    for name in ("index", "weight", "inside"):
        np.testing.assert_array_equal(getattr(again, name), getattr(cells, name))
    with pytest.raises(BadInput, match="lack inside, weight"):
        Cells.of_arrays({"shape": [2, 2], "index": [[0]]})
    with pytest.raises(BadInput, match=r"leaves the grid of 4 points"):
        Cells.of_arrays(cells.as_arrays() | {"index": cells.index + 2})
    with pytest.raises(BadInput, match="do not fit"):
        Cells.of_arrays(cells.as_arrays() | {"inside": [True]})


def test_grid_key_tells_grids_apart():
    lat, lon = np.arange(6.0), np.arange(6.0)
    keys = [
        grid_key(lat, lon),
        grid_key(lat, lon, kind="mesh"),
        grid_key(lat[:5], lon),
        grid_key(lat.reshape(2, 3), lon.reshape(2, 3)),
        grid_key(lat + 1e-12, lon),
    ]
    assert len(set(keys)) == len(keys)
    assert grid_key(lat, lon) == grid_key(lat.astype(np.float32), lon.tolist())


# --- what is refused -----------------------------------------------------------------------------------------------

SQUARE = Grid.rectilinear([0.0, 1.0], [0.0, 1.0])
REFUSED = [
    pytest.param(SQUARE, {"how": "cubic"}, "how = 'cubic'", id="unknown method"),
    pytest.param(SQUARE, {"how": "inverse_distance", "metric": "taxi"}, "metric = 'taxi'", id="unknown metric"),
    pytest.param(SQUARE, {"how": "inverse_distance", "k": 0}, "k = 0", id="no neighbour"),
    pytest.param(SQUARE, {"how": "inverse_distance", "power": -1}, "power = -1", id="negative power"),
    pytest.param(SQUARE, {"how": "nearest", "max_distance": -5.0}, "max_distance = -5", id="negative distance"),
    pytest.param(Grid.mesh([0.0], [0.0]), {"how": "bilinear"}, "a mesh has none", id="bilinear on a mesh"),
    pytest.param(Grid.rectilinear([0.0], [0.0, 1.0]), {"how": "bilinear"}, r"\(1, 2\)", id="bilinear on one row"),
    pytest.param(Grid.mesh([0.0], [0.0]), {"how": "nearest"}, "give max_distance", id="a lone point"),
]


@pytest.mark.parametrize(("grid", "rule", "message"), REFUSED)
def test_rules_that_make_no_sense(grid, rule, message):
    with pytest.raises(BadParameter, match=message):
        locate(grid, [0.5], [0.5], **rule)


BROKEN = [
    pytest.param(lambda: Grid.rectilinear([0.0, 1.0, 0.5], [0.0, 1.0]), "latitude axis", id="latitude turns back"),
    pytest.param(lambda: Grid.rectilinear([0.0, np.nan], [0.0, 1.0]), "latitude axis", id="latitude missing"),
    pytest.param(lambda: Grid.rectilinear([0.0, 95.0], [0.0, 1.0]), "latitude axis", id="latitude beyond the pole"),
    pytest.param(lambda: Grid.rectilinear([0.0, 1.0], [0.0, 2.0, 1.0]), "longitude axis", id="longitude turns back"),
    pytest.param(lambda: Grid.rectilinear([[0.0]], [0.0]), r"shape \(1, 1\)", id="axis of two dimensions"),
    pytest.param(lambda: Grid.rectilinear([], [0.0]), r"shape \(0,\)", id="empty axis"),
    pytest.param(lambda: Grid.curvilinear(np.zeros((2, 2)), np.zeros((2, 3))), r"\(2, 3\)", id="unlike shapes"),
    pytest.param(lambda: Grid.curvilinear([0.0], [0.0]), "2 dimension", id="curvilinear of one dimension"),
    pytest.param(lambda: Grid.mesh([[0.0]], [[0.0]]), "1 dimension", id="mesh of two dimensions"),
    pytest.param(lambda: Grid.mesh([np.nan], [0.0]), "no point", id="no usable point"),
    pytest.param(lambda: locate(SQUARE, [0.5, 0.6], [0.5], how="nearest"), r"\(2,\).*\(1,\)", id="unlike stations"),
]


@pytest.mark.parametrize(("make", "message"), BROKEN)
def test_broken_coordinates_are_named(make, message):
    with pytest.raises(BadInput, match=message):
        make()
