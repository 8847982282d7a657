"""From a KPI value to a score, and how a score is rounded and written."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.errors import BadParameter, BadValue, OutOfRange
from metrics.scoring.normalise import (
    Normalisation,
    clean,
    exponential_half_open,
    format_score,
    linear_bounded,
    linear_half_open,
    round_score,
)

NAN, INF = float("nan"), float("inf")

SCORES = [
    # R-000-18: from 0 at a to 100 at b
    pytest.param("bounded", 0, 1, 0, 0, id="bounded: worst"),
    pytest.param("bounded", 0, 1, 1, 100, id="bounded: best"),
    pytest.param("bounded", 0, 10, 2.5, 25, id="bounded: a quarter"),
    pytest.param("bounded", 5, 10, 7.5, 50, id="bounded: half way from 5 to 10"),
    pytest.param("bounded", -1, 1, -0.2763, 36.185, id="bounded: on both sides of zero"),
    # R-000-19: from 100 at a to 0 at m, and 0 beyond
    pytest.param("linear", 0, 5, 0, 100, id="linear: best"),
    pytest.param("linear", 0, 5, 3.489, 30.22, id="linear: in between"),
    pytest.param("linear", 0, 5, 5, 0, id="linear: at m"),
    pytest.param("linear", 0, 5, 7, 0, id="linear: beyond m"),
    pytest.param("linear", 1, 3, 2, 50, id="linear: half way from 1 to 3"),
    pytest.param("linear", 0, 5, INF, 0, id="linear: infinitely bad"),
    # R-000-20: 100 at a, 50 at m, halved with every further step
    pytest.param("exponential", 0, 5, 0, 100, id="exponential: best"),
    pytest.param("exponential", 0, 5, 5, 50, id="exponential: at m"),
    pytest.param("exponential", 0, 5, 10, 25, id="exponential: at 2 m"),
    pytest.param("exponential", 1, 3, 2, 100 * 0.5**0.5, id="exponential: half way to m"),
    pytest.param("exponential", 0, 5, 3.489, 100 * np.exp(-np.log(2) * 3.489 / 5), id="exponential: as printed"),
    pytest.param("exponential", 0, 5, INF, 0, id="exponential: infinitely bad"),
    # D-03: the value keeps its sign, the score does not care
    pytest.param("symmetric_linear", 0, 10, -5, 50, id="symmetric linear: too low"),
    pytest.param("symmetric_linear", 0, 10, 5, 50, id="symmetric linear: too high"),
    pytest.param("symmetric_linear", 0, 10, 0, 100, id="symmetric linear: right"),
    pytest.param("symmetric_linear", 0, 10, -15, 0, id="symmetric linear: far too low"),
    pytest.param("symmetric_linear", 0, 10, -INF, 0, id="symmetric linear: infinitely low"),
    pytest.param("symmetric_linear", 1, 3, 0, 50, id="symmetric linear: around 1"),
    pytest.param("symmetric_exponential", 0, 10, -20, 25, id="symmetric exponential: too low"),
    pytest.param("symmetric_exponential", 0, 10, 20, 25, id="symmetric exponential: too high"),
    pytest.param("symmetric_exponential", 0, 45, 180, 6.25, id="symmetric exponential: four halvings"),
    pytest.param("symmetric_exponential", 0, 5, -INF, 0, id="symmetric exponential: infinitely low"),
    pytest.param("symmetric_exponential", 1, 2, 0, 50, id="symmetric exponential: around 1"),
]


@pytest.mark.parametrize(("kind", "a", "m", "value", "expected"), SCORES)
def test_scores(kind, a, m, value, expected):
    assert Normalisation(kind, a, m)(value) == pytest.approx(expected, rel=1e-14, abs=1e-13)


def test_the_functions_behind():
    assert linear_bounded(0.25, 0, 1) == 25
    assert linear_half_open(1, 0, 4) == 75
    assert exponential_half_open(8, 0, 4) == 25


FIXED = [("bounded", 0, 100), ("linear", 100, 0), ("exponential", 100, 50)]
FIXED += [(f"symmetric_{kind}", at_a, at_m) for kind, at_a, at_m in FIXED[1:]]


@pytest.mark.parametrize(("kind", "at_a", "at_m"), FIXED)
@pytest.mark.parametrize(("a", "m"), [(0, 5), (-1, 1), (0.1, 0.3), (1e-7, 3e9), (-273.15, -40)])
def test_fixed_points_are_exact(kind, at_a, at_m, a, m):
    assert Normalisation(kind, a, m)(a) == at_a
    assert Normalisation(kind, a, m)(m) == at_m


OUTSIDE = [
    pytest.param("bounded", 0, 1, 1.1, id="bounded: above"),
    pytest.param("bounded", 0, 1, -0.1, id="bounded: below"),
    pytest.param("bounded", 0, 1, 1 + 1e-9, id="bounded: more than rounding"),
    pytest.param("bounded", 0, 1, -1e-9, id="bounded: more than rounding, below"),
    pytest.param("bounded", 0, 1, INF, id="bounded: infinite"),
    pytest.param("bounded", 0, 1, -INF, id="bounded: minus infinity"),
    pytest.param("linear", 0, 5, -1, id="linear: better than best"),
    pytest.param("linear", 0, 5, -1e-9, id="linear: more than rounding"),
    pytest.param("linear", 0, 5, -INF, id="linear: minus infinity"),
    pytest.param("exponential", 0, 5, -1, id="exponential: better than best"),
    pytest.param("exponential", 10, 15, 9.99, id="exponential: below 10"),
]


@pytest.mark.parametrize(("kind", "a", "m", "value"), OUTSIDE)
def test_outside_is_an_error_never_a_clipped_score(kind, a, m, value):  # D-02
    with pytest.raises(OutOfRange, match=r"outside \["):
        Normalisation(kind, a, m)(value)
    with pytest.raises(ValueError):
        Normalisation(kind, a, m)(np.array([a, value]))


ROUNDING = [
    pytest.param("bounded", 0, 1, 1 + 2e-16, 100, id="bounded: a hair above"),
    pytest.param("bounded", 0, 1, -1e-16, 0, id="bounded: a hair below"),
    pytest.param("bounded", -1, 1, 1 + 5e-13, 100, id="bounded: within 1e-12"),
    pytest.param("bounded", 100, 200, 200 * (1 + 5e-13), 100, id="bounded: the tolerance is relative"),
    pytest.param("linear", 0, 5, -1e-16, 100, id="linear: a hair below, at zero too"),
    pytest.param("linear", 1, 5, 1 - 1e-15, 100, id="linear: a hair below"),
    pytest.param("exponential", 0, 5, -1e-16, 100, id="exponential: a hair below, at zero too"),
    pytest.param("exponential", 300, 310, 300 * (1 - 5e-13), 100, id="exponential: the tolerance is relative"),
]


@pytest.mark.parametrize(("kind", "a", "m", "value", "expected"), ROUNDING)
def test_rounding_is_forgiven_and_clipped(kind, a, m, value, expected):  # D-02: rel 1e-12, then clip
    assert Normalisation(kind, a, m)(value) == expected


@pytest.mark.parametrize("kind", [each[0] for each in FIXED])
def test_a_missing_value_is_an_error(kind):  # D-02, SPEC part 4: NaN through a linear normalisation gave 0.0
    with pytest.raises(BadValue, match="missing"):
        Normalisation(kind, 0, 5)(NAN)
    with pytest.raises(ValueError):
        Normalisation(kind, 0, 5)(np.float64(NAN))


@pytest.mark.parametrize(("kind", "at_a", "at_m"), FIXED)
def test_in_an_array_a_missing_value_stays_missing(kind, at_a, at_m):
    scores = Normalisation(kind, 0, 4)(np.array([[0.0, NAN], [4.0, NAN], [NAN, NAN]]))
    np.testing.assert_array_equal(scores, [[at_a, NAN], [at_m, NAN], [NAN, NAN]])


BAD = [
    pytest.param(1, 1, id="equal"),
    pytest.param(10, 0, id="the wrong way round"),
    pytest.param(0, -1, id="negative"),
    pytest.param(0, NAN, id="not a number"),
    pytest.param(NAN, 1, id="from nowhere"),
    pytest.param(0, INF, id="infinite"),
    pytest.param(-INF, 0, id="minus infinity"),
]


@pytest.mark.parametrize(("a", "m"), BAD)
@pytest.mark.parametrize("kind", [each[0] for each in FIXED])
def test_bad_parameters_are_refused_at_once(kind, a, m):  # D-02
    with pytest.raises(BadParameter):
        Normalisation(kind, a, m)


@pytest.mark.parametrize("function", [linear_bounded, linear_half_open, exponential_half_open])
def test_bad_parameters_of_the_functions(function):
    with pytest.raises(ValueError, match="got a=5 and"):
        function(5, 5, 5)


def test_an_unknown_kind_is_refused():
    with pytest.raises(BadParameter, match="quadratic"):
        Normalisation("quadratic", 0, 1)


WRITTEN = [  # D-01: four significant digits, half up on the value cleaned to 12 digits
    pytest.param(0, "0.000", id="the low end"),
    pytest.param(100, "100.0", id="the high end"),
    pytest.param(36.185, "36.19", id="half up, where half even gives 36.18"),
    pytest.param(34.763, "34.76", id="down"),
    pytest.param(87.355, "87.36", id="half up again"),
    pytest.param(99.995, "100.0", id="up to a hundred"),
    pytest.param(99.9949999, "99.99", id="not quite up to a hundred"),
    pytest.param(9.9995, "10.00", id="up to ten"),
    pytest.param(9.9994, "9.999", id="not quite up to ten"),
    pytest.param(0.99995, "1.000", id="up to one"),
    pytest.param(5, "5.000", id="one digit"),
    pytest.param(12.345, "12.35", id="half up although 12.345 is stored below it"),
    pytest.param(1.0005, "1.001", id="half up although 1.0005 is stored below it"),
    pytest.param(0.012345, "0.01235", id="small"),
    pytest.param(0.001, "0.001000", id="plain notation"),
    pytest.param(0.0005, "0.0005000", id="the smallest that is written"),
    pytest.param(0.00049999, "0.000", id="below it is nothing"),
    pytest.param(1e-300, "0.000", id="far below it"),
    pytest.param(100 - 1e-13, "100.0", id="noise is cleaned away"),
    pytest.param(36.18499999999999, "36.19", id="noise below a half"),
    pytest.param(36.1849999, "36.18", id="a real difference below a half"),
    pytest.param(None, "n/a", id="no score"),
]


@pytest.mark.parametrize(("score", "text"), WRITTEN)
def test_format_score(score, text):
    assert format_score(score) == text


@pytest.mark.parametrize(("score", "text"), [each for each in WRITTEN if each.values[0] is not None])
def test_round_score(score, text):
    assert round_score(score) == float(text)
    assert round_score(round_score(score)) == round_score(score)


@pytest.mark.parametrize(
    ("value", "expected"), [(0.1 + 0.2, 0.3), (1 / 3, 0.333333333333), (-2 / 3, -0.666666666667), (0, 0), (1e20, 1e20)]
)
def test_clean(value, expected):  # D-80
    assert clean(value) == expected
