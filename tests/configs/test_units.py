"""Units as files and cases spell them; expected values from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configs.units import check, convert, convert_difference, hours, split_quantity
from metrics.errors import UnknownUnit
from metrics.variables import VARIABLES

LAW = settings(derandomize=True, deadline=None, max_examples=200)
KNOT = 1852 / 3600  # m/s: a nautical mile is 1852 m
MPH = 1609.344 / 3600  # m/s: a mile is 1609.344 m

VALUES = [
    # speeds: the unit that is kept, spelt in any way
    (10, "m/s", "m/s", 10),
    (10, "m s-1", "m/s", 10),
    (10, "m s**-1", "m/s", 10),
    (10, "m s^-1", "m/s", 10),
    (10, " m/s ", "m/s", 10),
    (10, "meter / second", "m/s", 10),
    (10, "kt", "m/s", 10 * KNOT),
    (10, "kts", "m/s", 10 * KNOT),
    (10, "KT", "m/s", 10 * KNOT),
    (10, "KTS", "m/s", 10 * KNOT),
    (10, "knot", "m/s", 10 * KNOT),
    (10, "knots", "m/s", 10 * KNOT),
    (10, "Knots", "m/s", 10 * KNOT),
    (18, "mph", "m/s", 18 * MPH),
    (18, "MPH", "m/s", 18 * MPH),
    (18, "mi/h", "m/s", 18 * MPH),
    (18, "miles per hour", "m/s", 18 * MPH),
    (36, "km/h", "m/s", 10),
    (36, "km h-1", "m/s", 10),
    (36, "kph", "m/s", 10),
    (10, "ft/s", "m/s", 3.048),
    (100, "cm s-1", "m/s", 1),
    # temperatures: C is no coulomb, F no farad
    (10, "C", "degC", 10),
    (10, "°C", "degC", 10),
    (10, "celsius", "degC", 10),
    (10, "degree_Celsius", "degC", 10),
    (50, "F", "degC", 10),
    (50, "°F", "degC", 10),
    (50, "degF", "degC", 10),
    (50, "Fahrenheit", "degC", 10),
    (-40, "degF", "degC", -40),
    (283.15, "K", "degC", 10),
    (283.15, "kelvin", "degC", 10),
    (10, "degC", "K", 283.15),
    # shares
    (50, "%", "%", 50),
    (50, "percent", "%", 50),
    (0.5, "1", "%", 50),
    (50, "%", "1", 0.5),
    # angles
    (90, "degrees", "deg", 90),
    (90, "degree", "deg", 90),
    (90, "°", "deg", 90),
    (math.pi / 2, "radian", "deg", 90),
    (90, "min", "h", 1.5),
    (600, "ft", "m", 182.88),
]


@pytest.mark.parametrize(("value", "unit", "target", "expected"), VALUES)
def test_values(value, unit, target, expected):
    assert convert(value, unit, target) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(convert(np.array([value, np.nan]), unit, target), [expected, np.nan], rtol=1e-12)


DIFFERENCES = [
    (9, "degF", "K", 5),
    (9, "°F", "degC", 5),
    (5, "degC", "K", 5),
    (5, "K", "degC", 5),
    (5, "K", "K", 5),
    (0, "degF", "K", 0),
    (-18, "degF", "K", -10),
    (5, "m/s", "m/s", 5),
    (10, "kt", "m/s", 10 * KNOT),
    (15, "%", "%", 15),
]


@pytest.mark.parametrize(("value", "unit", "target", "expected"), DIFFERENCES)
def test_differences_of_units_with_an_offset(value, unit, target, expected):
    assert convert_difference(value, unit, target) == pytest.approx(expected, rel=1e-12, abs=1e-12)


OTHERS = [
    ("K", "m/s"),
    ("m", "m/s"),
    ("m/s", "degC"),
    ("%", "deg"),
    ("", "m/s"),
    ("Pa", "%"),
    ("m/s/s", "m/s"),
    ("M/S", "m/s"),
]


@pytest.mark.parametrize(("unit", "target"), OTHERS)
def test_a_unit_of_another_quantity(unit, target):
    with pytest.raises(UnknownUnit) as refused:
        convert(1.0, unit, target)
    assert str(refused.value) == f"the unit {unit!r} is not one of {target!r}"


UNKNOWN = [
    "banana",
    "furlong per fortnite",
    "m/s)",
    "2 m/s",
    "NaN",
    "None",
    "m/s/0",
    "__import__('os')",
    "°K°",
    "\x1b[31m",
]


@pytest.mark.parametrize("unit", UNKNOWN)
def test_an_unknown_unit(unit):
    with pytest.raises(UnknownUnit, match="unknown unit") as refused:
        convert(1.0, unit, "m/s")
    assert repr(unit) in str(refused.value)
    assert str(refused.value).isprintable()
    with pytest.raises(UnknownUnit, match="unknown unit"):
        check(unit)


@pytest.mark.parametrize(
    "unit",
    [
        "9**9**9**9 m",
        "m**9**9**9",
        "m^9^9^9",
        "m**(9**9**9)",
        "(9**9)**(9**9)",
        "10**400000000",
        "m" * 5000,
        "(" * 900,
        "m " * 900,
    ],
)
def test_a_unit_is_no_place_for_arithmetic(unit):
    with pytest.raises(UnknownUnit) as refused:
        convert(1.0, unit, "m/s")
    assert len(str(refused.value)) < 200


@LAW
@given(unit=st.text(alphabet="ms/*^ ()-+.0123456789°%degCFK_", max_size=25))
def test_any_text_is_a_unit_or_unknown(unit):
    try:
        value = convert(1.0, unit, "m/s")
    except UnknownUnit:
        return
    assert math.isfinite(value)


@pytest.mark.parametrize("variable", VARIABLES.values(), ids=lambda each: each.name)
def test_the_units_that_are_kept_are_known(variable):
    check(variable.unit)
    assert convert(1.0, variable.unit, variable.unit) == 1.0
    assert convert_difference(5.0, variable.difference_unit, variable.unit) == pytest.approx(5.0)


SPLIT = [
    ("8 m/s", 8, "m/s"),
    ("8m/s", 8, "m/s"),
    (" -8.5e1  m s-1 ", -85, "m s-1"),
    ("8", 8, None),
    (8, 8, None),
    (".5 h", 0.5, "h"),
    ("+3 K", 3, "K"),
    ("5. K", 5, "K"),
]


@pytest.mark.parametrize(("text", "number", "unit"), SPLIT)
def test_a_quantity_is_a_number_and_a_unit(text, number, unit):
    assert split_quantity(text) == (number, unit)


@pytest.mark.parametrize("text", ["", "m/s", "eight m/s", "- 8 m/s", ". m/s", "--8"])
def test_what_is_no_quantity(text):
    with pytest.raises(UnknownUnit, match="expected a number with a unit"):
        split_quantity(text)


HOURS = [
    ("15 min", 0.25),
    ("6 h", 6),
    ("6", 6),
    (6, 6),
    ("1 d", 24),
    ("36 s", 0.01),
    ("2 days", 48),
    ("30 minutes", 0.5),
    ("1 hour", 1),
]


@pytest.mark.parametrize(("text", "expected"), HOURS)
def test_durations(text, expected):
    assert hours(text) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("text", ["15 m", "6 m/s", "1 week", "1 ss", "x", "1.2.3 h"])
def test_what_is_no_duration(text):
    with pytest.raises(UnknownUnit, match="expected a"):
        hours(text)
