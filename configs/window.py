"""Which valid times a card is about: [start, end) in UTC, in elapsed hours from the cycle (D-16, D-71, D-81)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from metrics.errors import BadParameter

LOCAL = re.compile(
    r"^\s*(\d{1,2}):(\d{2})\s*[-–]\s*(\d{1,2}):(\d{2})\s+([A-Za-z_]+(?:/[A-Za-z_+\-0-9]+)*)\s*,\s*standard\s*$"
)
EXPECTED = "expected local standard time such as '10:00-20:00 America/Los_Angeles, standard'"


@dataclass(frozen=True, slots=True)
class LocalHours:
    """Hours of the day in a place's standard time: summer time never moves them."""

    start: time
    hours: float
    zone: str

    @classmethod
    def parse(cls, text: str) -> LocalHours:
        found = LOCAL.match(text)
        if not found:
            raise BadParameter(f"{EXPECTED}, got {text!r}")
        try:
            start, end = (time(int(found[i]), int(found[i + 1])) for i in (1, 3))
        except ValueError as error:
            raise BadParameter(f"{EXPECTED}, got {text!r}: {error}") from None
        try:
            ZoneInfo(found[5])
        except Exception:  # a missing key, a directory of the database, a name that is a path: all the same to the user
            raise BadParameter(f"unknown time zone {found[5]!r}; {EXPECTED}") from None
        minutes = (end.hour - start.hour) * 60 + end.minute - start.minute
        return cls(start, (minutes if minutes > 0 else minutes + 24 * 60) / 60, found[5])

    def first_after(self, moment: datetime) -> datetime:
        """The first start at or after the moment, in UTC."""
        local = moment.astimezone(ZoneInfo(self.zone))
        offset = (local.utcoffset() or timedelta()) - (local.dst() or timedelta())
        standard = (moment.astimezone(UTC) + offset).replace(tzinfo=None)
        start = datetime.combine(standard.date(), self.start)
        if start < standard:
            start += timedelta(days=1)
        return (start - offset).replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Window:
    """The period of a card or of one KPI, relative to the cycle."""

    hours: float = 24.0
    offset: float = 0.0
    first_lead: float = 0.0
    closed: Literal["left", "both"] = "left"
    step: float | None = None
    local: LocalHours | None = None

    @property
    def empty(self) -> bool:
        """Does it end before its first lead, whichever the cycle? Not known of local hours."""
        end = self.offset + self.hours
        return self.local is None and (self.first_lead > end or (self.first_lead == end and self.closed == "left"))

    def within(self, other: Window) -> bool:
        """Is it a part of the other, whichever the cycle? Local hours, unless both have them, depend on the cycle."""
        if self.local != other.local:
            return self.hours <= other.hours
        starts_later = max(self.offset, self.first_lead) >= max(other.offset, other.first_lead)
        if self.local:
            starts_later = self.offset == other.offset and self.first_lead >= other.first_lead
        gap = other.offset - self.offset + other.hours - self.hours
        nothing = 1e-9  # hours, far below a second
        return starts_later and (
            gap > nothing or (gap > -nothing and (self.closed == "left" or other.closed == "both"))
        )

    def bounds(self, cycle: datetime) -> tuple[datetime, datetime]:
        """Start and end in UTC."""
        start = cycle + timedelta(hours=self.offset)
        if self.local:
            start = self.local.first_after(start)
        return start, start + timedelta(hours=self.hours)

    def earliest(self, cycle: datetime) -> datetime:
        """The first valid time that counts: the start, or the first lead asked for."""
        return max(self.bounds(cycle)[0], cycle + timedelta(hours=self.first_lead))

    def contains(self, valid: datetime, cycle: datetime) -> bool:
        """Is this valid time inside?"""
        _, end = self.bounds(cycle)
        return self.earliest(cycle) <= valid and (valid <= end if self.closed == "both" else valid < end)

    def steps(self, cycle: datetime, step_hours: float, anchor: datetime) -> int:
        """How many valid times of this step, in phase with the anchor, lie inside."""
        _, end = self.bounds(cycle)
        step = timedelta(hours=step_hours)
        first = anchor + step * -(-(self.earliest(cycle) - anchor) // step)
        span = end - first
        if span < timedelta():
            return 0
        count = -(-span // step)
        return count + 1 if self.closed == "both" and span % step == timedelta() else count

    def describe(self, cycle: datetime) -> str:
        """The window in words, for the card."""
        start, end = self.bounds(cycle)
        edge = "]" if self.closed == "both" else "["
        text = f"[{start:%Y-%m-%dT%H:%MZ}, {end:%Y-%m-%dT%H:%MZ}{edge}"
        return text + (f", leads from {self.first_lead:g} h" if self.first_lead else "")
