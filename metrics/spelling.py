"""Values as people write them: when two spellings are the same text, the same day or the same number (D-31, D-32)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

from metrics.errors import BadParameter

Kind = Literal["text", "date", "number"]
Order = Literal["month_first", "day_first"]

ABSENT = "not present"
UNFINISHED = ("pending", "error")

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = rf"({'|'.join(MONTHS)})\.?"
_DAY = "([0-9]{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? )?"
_CLOCK = r"(?:[t ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?: ?z| ?[+-][0-9]{2}:?[0-9]{2})?)?"
MONTH_DAY = re.compile(rf"{_WEEKDAY}{_MONTH}[ -]{_DAY},?[ -]([0-9]{{4}})")
DAY_MONTH = re.compile(rf"{_WEEKDAY}(?:the )?{_DAY}(?: of |[ -]|\. ?)?{_MONTH},?[ -]([0-9]{{4}})")
YEAR_FIRST = re.compile(rf"([0-9]{{4}})([-/.])([0-9]{{1,2}})\2([0-9]{{1,2}}){_CLOCK}")
YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")
COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})")
NUMBER = re.compile(
    r"(?P<sign>[-+−]?) ?[$€£¥]? ?(?P<sign2>[-+−]?)"
    r"(?P<whole>[0-9]{1,3}(?:(?P<group>[,'’_ ])[0-9]{3})(?:(?P=group)[0-9]{3})*|[0-9]*)"
    r"(?:\.(?P<part>[0-9]*))?(?P<power>e[-+]?[0-9]{1,6})? ?(?P<percent>%?) ?[$€£¥]?"
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the values of one field are compared; the order is that of a numeric day and month."""

    kind: Kind = "text"
    order: Order = "month_first"

    def __post_init__(self) -> None:
        if self.kind not in ("text", "date", "number") or self.order not in ("month_first", "day_first"):
            raise BadParameter(f"values are compared as text, date or number, not as {self.kind!r} ({self.order!r})")

    def key(self, value: str) -> Hashable | None:
        """What two spellings of the same value have in common; None where the value says that there is none.

        >>> Comparison().key(" January 1,  2024") == Comparison().key("2024-01-01")
        True
        """
        return self.plain_key(plain_text(value))

    def plain_key(self, text: str) -> Hashable | None:
        """The same of a text that is plain already."""
        if not text or text == ABSENT:
            return None
        if self.kind == "number":
            return number_of(text) or text
        return day_of(text, self.order, compact=self.kind == "date") or text


def plain_text(value: str) -> str:
    """The text without what does not count: width and ligatures (NFKC), case, and spaces but single ones inside."""
    if value.isascii():
        return " ".join(value.lower().split())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value).casefold())
    return " ".join(folded.split())


def day_of(text: str, order: Order = "month_first", *, compact: bool = False) -> date | None:
    """The day that a plain text denotes, in any usual spelling with a year of four digits; None where it is no day.

    A numeric day and month stand in the given order unless that makes a month above 12.

    >>> [str(day_of("01/02/2024", order)) for order in ("month_first", "day_first")]
    ['2024-01-02', '2024-02-01']
    """
    if not 8 <= len(text) <= 50 or not (text[0].isdigit() or text[-1].isdigit()):
        return None
    if found := YEAR_FIRST.fullmatch(text):
        return _day(found[1], found[3], found[4])
    if found := YEAR_LAST.fullmatch(text):
        first, second = int(found[1]), int(found[3])
        month, day = (first, second) if order == "month_first" else (second, first)
        return _day(found[4], *((day, month) if month > 12 else (month, day)))
    if compact and (found := COMPACT.fullmatch(text)):
        return _day(*found.groups())
    if found := MONTH_DAY.fullmatch(text):
        return _day(found[3], MONTHS[found[1]], found[2])
    if found := DAY_MONTH.fullmatch(text):
        return _day(found[3], MONTHS[found[2]], found[1])
    return None


def _day(year: str | int, month: str | int, day: str | int) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def number_of(text: str) -> Hashable | None:
    """The number that a plain text denotes: its sign, digits and power of ten; a percentage is not a plain number.

    >>> number_of("$1,234.50") == number_of("1234.5")
    True
    """
    found = NUMBER.fullmatch(text)
    if not found or not (found["whole"] or found["part"]) or (found["sign"] and found["sign2"]):
        return None
    whole = re.sub("[^0-9]", "", found["whole"])
    number = Decimal(f"{whole or '0'}.{found['part'] or '0'}{found['power'] or ''}")
    digits = "".join(map(str, number.as_tuple().digits))
    stripped = digits.rstrip("0").lstrip("0")
    if not stripped:
        return (0, "0", 0, found["percent"])
    power = int(number.as_tuple().exponent) + len(digits) - len(digits.rstrip("0"))
    negative = (found["sign"] or found["sign2"]) in ("-", "−")
    return (int(negative), stripped, power, found["percent"])
