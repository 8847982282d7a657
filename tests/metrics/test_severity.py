"""Class matrices and what comes out of them, worked by hand or published elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.errors import BadParameter, BadValue, MismatchedSample
from metrics.severity import (
    PRESETS,
    Classes,
    SeveritySums,
    class_matrix,
    class_precision,
    class_recall,
    collapsed,
    critical_success_index,
    dice,
    frequency_bias,
    jaccard,
    kappa,
    weighted_kappa,
    zone_areas,
)

# Three classes, twelve cells; rows the evaluated map.
HAND = np.array([[4, 1, 0], [1, 2, 1], [0, 1, 2]])


def test_the_matrix_has_the_evaluated_map_in_rows():
    evaluated = [[1, 1, 2], [2, 3, 3]]
    reference = [[1, 2, 2], [2, 3, 1]]
    assert class_matrix(evaluated, reference, classes=(1, 2, 3)).tolist() == [[1, 1, 0], [0, 2, 0], [1, 0, 1]]


def test_a_cell_missing_on_one_side_is_left_out_on_both():  # SPEC part 4: fill values at different pixels
    evaluated = np.array([4.0, np.nan, 1.0, 4.0])
    reference = np.array([4.0, 4.0, np.nan, 4.0])
    assert class_matrix(evaluated, reference, classes=(1, 4)).tolist() == [[0, 0], [0, 2]]


def test_a_class_that_is_not_in_the_table_is_refused():
    with pytest.raises(BadValue, match=r"reference map holds 3\.7"):
        class_matrix([1, 1], [1, 3.7], classes=(1, 2, 3))


def test_shapes_must_agree():
    with pytest.raises(MismatchedSample, match=r"\(100, 400\).*\(200, 200\)"):
        class_matrix(np.zeros((100, 400)), np.zeros((200, 200)), classes=(0,))


def test_kappa_as_published():
    # Two readers on 50 proposals: 20 and 15 in agreement, 5 and 10 not; p_o 0.7, p_e 0.5, so 0.4.
    assert kappa(np.array([[20, 5], [10, 15]])) == pytest.approx((0.7 - 0.5) / (1 - 0.5))


def test_kappas_by_hand():
    # Row sums 5, 4, 3; column sums 5, 4, 3. Agreement 8/12; by chance (25 + 16 + 9) / 144 = 50/144.
    assert kappa(HAND) == pytest.approx((8 / 12 - 50 / 144) / (1 - 50 / 144))
    # Squared distances: observed 4 cells one class off: 4/12. Expected (1·(20+20+12+12) + 4·(15+15)) / 144 = 184/144.
    assert weighted_kappa(HAND) == pytest.approx(1 - (4 / 12) / (184 / 144))


PERFECT = [
    pytest.param(np.diag([3, 2, 1]), 1.0, id="perfect"),
    pytest.param(np.array([[7, 0], [0, 0]]), np.nan, id="one class only: chance explains it all"),
    pytest.param(np.zeros((2, 2)), np.nan, id="nothing at all"),
]


@pytest.mark.parametrize(("matrix", "expected"), PERFECT)
def test_kappa_at_its_ends(matrix, expected):
    assert kappa(matrix) == pytest.approx(expected, nan_ok=True)
    assert weighted_kappa(matrix) == pytest.approx(expected, nan_ok=True)


def test_recall_and_precision_of_each_class():
    matrix = np.array([[3, 1, 0], [1, 3, 0], [0, 0, 0]])
    assert class_recall(matrix) == pytest.approx([3 / 4, 3 / 4, np.nan], nan_ok=True)
    assert class_precision(matrix) == pytest.approx([3 / 4, 3 / 4, np.nan], nan_ok=True)


def test_a_matrix_collapses_into_four_counts():
    counts = collapsed(HAND, [False, False, True])
    assert [counts.tp, counts.fp, counts.fn, counts.tn, counts.n] == [2, 1, 1, 8, 12]


def test_overlap_of_masks():
    evaluated, reference = [1, 1, 1, 0, 0], [1, 1, 0, 1, 0]
    assert jaccard(evaluated, reference) == critical_success_index(evaluated, reference) == 2 / 4
    assert dice(evaluated, reference) == 4 / 6
    assert frequency_bias(evaluated, reference) == 3 / 3
    assert np.isnan(jaccard([0, 0], [0, 0]))
    assert np.isnan(dice([0, 0], [0, 0]))


def test_a_fire_shifted_by_half_its_width():
    # Ten columns burned of ten rows, the model five columns to the east: half of it is hit.
    observed, model = np.zeros((10, 30)), np.zeros((10, 30))
    observed[:, 5:15], model[:, 10:20] = 4, 4
    sums = SeveritySums(PRESETS["mtbs"], class_matrix(model, observed, classes=PRESETS["mtbs"].codes))
    assert sums.high().recall() == 0.5
    assert sums.burned().csi() == pytest.approx(50 / 150)


def test_increased_greenness_counts_as_unburned():
    mtbs = PRESETS["mtbs"]
    assert dict(zip(mtbs.codes, mtbs.ranks, strict=True)) == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 0}
    counts = class_matrix([5, 0, 4, 2], [0, 5, 4, 3], classes=mtbs.codes)
    assert SeveritySums(mtbs, counts).ordered().tolist() == [
        [2, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
    ]


def test_burned_area_error_is_signed():
    classes = Classes({0: "out", 4: "high"})
    hectares = np.array([[10.0, 2.0], [5.0, 3.0]])  # model burned 8 ha, observation 5 ha
    assert SeveritySums(classes, hectares, hectares).area_error() == 3.0


def test_zones_of_the_ellipsoid():
    from pyproj import Geod

    edges = np.array([-30.0, -29.99, 0.0, 40.0, 40.0003, 89.0])
    geod = Geod(ellps="WGS84")
    for south, north, area in zip(edges[:-1], edges[1:], zone_areas(edges, 0.25), strict=True):
        # The geodesic between two points of a circle of latitude bulges; many points along it do not.
        lon = np.linspace(0, 0.25, 200)
        ring = np.concatenate([lon, lon[::-1]]), np.concatenate([np.full(200, south), np.full(200, north)])
        assert abs(geod.polygon_area_perimeter(*ring)[0]) == pytest.approx(area, rel=1e-6)
    assert zone_areas(np.array([-90.0, 90.0]), 360.0).sum() == pytest.approx(510_065_621.724e6, rel=1e-9)


WRONG = [
    pytest.param({"high": frozenset({7})}, "high: 7 is not one of the classes 0, 4", id="high of nowhere"),
    pytest.param({"high": frozenset({0})}, "both high and unburned", id="high and unburned"),
    pytest.param({"nodata": frozenset({4})}, "both a class and no data", id="class and no data"),
    pytest.param({"names": {0: "out", 4: "high", 251: "?"}}, "0 to 250", id="too large"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_classes_that_make_no_sense(change, message):
    with pytest.raises(BadParameter, match=message):
        Classes(**{"names": {0: "out", 4: "high"}, **change})
