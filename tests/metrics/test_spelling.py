"""Spellings of one text, one day and one number; and what must stay apart."""

from __future__ import annotations

import pytest

from metrics.errors import BadParameter
from metrics.spelling import Comparison, plain_text

SAME_DAY = (
    "2024-01-01",
    "2024/1/1",
    "2024.01.01",
    "2024-01-01T09:30:00Z",
    "2024-01-01 00:00",
    "January 1, 2024",
    "JANUARY 1 2024",
    "Jan. 1st, 2024",
    "Monday, January 1, 2024",
    "1 January 2024",
    "1st of January 2024",
    "the 1st of January, 2024",
    "01-Jan-2024",
    "1/1/2024",
    "01.01.2024",
    "  １ Jan　2024 ",
)


@pytest.mark.parametrize("spelling", SAME_DAY)
@pytest.mark.parametrize("kind", ["text", "date"])
def test_spellings_of_new_years_day(spelling, kind):  # R-002-13, D-32
    assert Comparison(kind).key(spelling) == Comparison(kind).key("2024-01-01")


ORDERS = [
    pytest.param("01/02/2024", "month_first", "2024-01-02", id="month first"),
    pytest.param("01/02/2024", "day_first", "2024-02-01", id="day first"),
    pytest.param("13/02/2024", "month_first", "2024-02-13", id="a month above 12 is a day"),
    pytest.param("02/13/2024", "day_first", "2024-02-13", id="and the other way round"),
]


@pytest.mark.parametrize(("spelling", "order", "expected"), ORDERS)
def test_the_order_of_day_and_month(spelling, order, expected):
    how = Comparison("date", order)
    assert how.key(spelling) == how.key(expected)


@pytest.mark.parametrize("text", ["2024-02-30", "31/31/2024", "February 30, 2024", "1/2/24", "version 1.2.2024.5"])
def test_what_is_no_day_stays_text(text):
    assert Comparison("date").key(text) == plain_text(text)


def test_eight_digits_are_a_day_in_a_date_field_only():
    assert Comparison("date").key("20240101") == Comparison("date").key("2024-01-01")
    assert Comparison("text").key("20240101") == "20240101"


SAME_TEXT = [("Service Agreement", "  service\tAGREEMENT "), ("Straße", "STRASSE"), ("ﬁne", "FINE"), ("ＮＤＡ", "nda")]


@pytest.mark.parametrize(("one", "other"), SAME_TEXT)
def test_case_width_and_spaces_do_not_count(one, other):  # D-31
    assert Comparison().key(one) == Comparison().key(other)


def test_punctuation_counts():
    assert Comparison().key("Acme, Inc.") != Comparison().key("Acme Inc")


@pytest.mark.parametrize("text", ["", "   ", "Not Present", "not  present", "NOT PRESENT\n"])
@pytest.mark.parametrize("kind", ["text", "date", "number"])
def test_what_says_that_there_is_none(text, kind):
    assert Comparison(kind).key(text) is None


@pytest.mark.parametrize("text", ["N/A", "none", "-", "0", "not present here"])
def test_anything_else_is_a_value(text):
    assert Comparison().key(text) is not None


SAME_NUMBER = ["1234.5", "1,234.50", "$1,234.5", "1 234.5", "1.2345e3", "+1234.500", "1234.5 €", "0001234.5"]


@pytest.mark.parametrize("text", SAME_NUMBER)
def test_spellings_of_a_number(text):
    assert Comparison("number").key(text) == Comparison("number").key("1234.5")


APART = [("5", "-5"), ("5", "5%"), ("12", "120"), ("1,23", "123"), ("0.1", "0.10000000000000001")]


@pytest.mark.parametrize(("one", "other"), APART)
def test_numbers_that_differ(one, other):
    assert Comparison("number").key(one) != Comparison("number").key(other)


def test_minus_zero_is_zero_and_signs_may_stand_on_either_side_of_a_currency():
    key = Comparison("number").key
    assert key("-0") == key("0.00")
    assert key("-$5") == key("$-5")
    assert key("−5") == key("-5")


def test_an_unknown_comparison_is_refused():
    with pytest.raises(BadParameter, match="colour"):
        Comparison("colour")
