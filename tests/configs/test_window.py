"""Windows: half-open or closed (D-16), offset and first lead (D-71), local standard time (D-81)."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configs.window import LocalHours, Window
from metrics.errors import BadParameter

LAW = settings(derandomize=True, deadline=None, max_examples=400)
CYCLE = datetime(2026, 11, 17, 0, tzinfo=UTC)
LOS_ANGELES = "10:00-20:00 America/Los_Angeles, standard"


def at(hours: float, cycle: datetime = CYCLE) -> datetime:
    return cycle + timedelta(hours=hours)


INSIDE = [
    # D-16: [ts, ts + 24 h), hourly data has 24 samples, consecutive nights share none
    pytest.param(Window(), range(24), id="half-open"),
    pytest.param(Window(closed="both"), range(25), id="both ends"),
    pytest.param(Window(hours=6), range(6), id="six hours"),
    # D-71: ts = cycle + offset; first_lead leaves out what the analysis has seen
    pytest.param(Window(offset=6), range(6, 30), id="offset"),
    pytest.param(Window(first_lead=1), range(1, 24), id="first lead"),
    pytest.param(Window(offset=6, first_lead=3), range(6, 30), id="first lead before the offset"),
    pytest.param(Window(offset=6, first_lead=9, hours=6, closed="both"), range(9, 13), id="all together"),
    pytest.param(Window(first_lead=24), range(0), id="nothing"),
    pytest.param(Window(first_lead=24, closed="both"), range(24, 25), id="the very last"),
]


@pytest.mark.parametrize(("window", "leads"), INSIDE)
def test_which_leads_are_inside(window, leads):
    inside = [lead for lead in range(-30, 80) if window.contains(at(lead), CYCLE)]
    assert inside == list(leads)
    assert window.steps(CYCLE, 1.0, CYCLE) == len(leads)
    assert window.empty == (not leads)


def test_consecutive_nights_share_no_sample():
    tomorrow = CYCLE + timedelta(days=1)
    both = [
        lead for lead in range(-5, 60) if Window().contains(at(lead), CYCLE) and Window().contains(at(lead), tomorrow)
    ]
    assert both == []
    closed = Window(closed="both")
    assert [
        lead for lead in range(-5, 60) if closed.contains(at(lead), CYCLE) and closed.contains(at(lead), tomorrow)
    ] == [24]


def test_edges_to_the_microsecond():
    tick = timedelta(microseconds=1)
    assert Window().contains(CYCLE, CYCLE)
    assert not Window().contains(CYCLE - tick, CYCLE)
    assert Window().contains(at(24) - tick, CYCLE)
    assert not Window().contains(at(24), CYCLE)
    assert Window(closed="both").contains(at(24), CYCLE)
    assert not Window(closed="both").contains(at(24) + tick, CYCLE)


# D-81: standard time in Los Angeles is UTC-8 all year: 10:00 to 20:00 are 18Z to 04Z, in summer as in winter.
@pytest.mark.parametrize("month", range(1, 13))
def test_los_angeles_is_18_to_04_all_year(month):
    window = Window(hours=10, local=LocalHours.parse(LOS_ANGELES))
    start, end = window.bounds(datetime(2026, month, 15, 0, tzinfo=UTC))
    assert start == datetime(2026, month, 15, 18, tzinfo=UTC)
    assert end == datetime(2026, month, 16, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    "day",
    [datetime(2026, 3, 7), datetime(2026, 3, 8), datetime(2026, 3, 9), datetime(2026, 10, 31), datetime(2026, 11, 1)],
)
@pytest.mark.parametrize("hour", [0, 6, 9, 10, 12, 18])
def test_the_days_when_clocks_change_are_no_different(day, hour):
    cycle = day.replace(hour=hour, tzinfo=UTC)
    start, end = Window(hours=10, local=LocalHours.parse(LOS_ANGELES)).bounds(cycle)
    assert start == day.replace(hour=18, tzinfo=UTC)
    assert end - start == timedelta(hours=10)


FIRST_START = [
    pytest.param(18, 0, 18, id="at the very start"),
    pytest.param(18, 1, 42, id="a minute too late"),
    pytest.param(3, 0, 18, id="inside yesterday's window"),
    pytest.param(23, 59, 42, id="just before midnight"),
]


@pytest.mark.parametrize(("hour", "minute", "expected"), FIRST_START)
def test_the_first_start_at_or_after_the_cycle(hour, minute, expected):
    cycle = datetime(2026, 7, 1, hour, minute, tzinfo=UTC)
    start, _ = Window(hours=10, local=LocalHours.parse(LOS_ANGELES)).bounds(cycle)
    assert start == datetime(2026, 7, 1, tzinfo=UTC) + timedelta(hours=expected)


def test_the_offset_moves_where_the_search_begins():
    window = Window(hours=10, offset=24, local=LocalHours.parse(LOS_ANGELES))
    assert window.bounds(CYCLE)[0] == at(24 + 18)


def test_the_first_lead_counts_inside_local_hours_too():
    window = Window(hours=10, first_lead=20, local=LocalHours.parse(LOS_ANGELES))
    assert [lead for lead in range(60) if window.contains(at(lead), CYCLE)] == list(range(20, 28))


PLACES = [
    # 10:00 standard time in UTC, and how long it is to 20:00
    pytest.param("10:00-20:00 UTC, standard", 10, 0, 10, id="UTC"),
    pytest.param("10:00–20:00 America/Los_Angeles, standard", 18, 0, 10, id="long dash"),
    pytest.param("10:00 - 20:00  America/New_York ,standard", 15, 0, 10, id="spaces"),
    pytest.param("10:00-20:00 Asia/Kathmandu, standard", 4, 15, 10, id="UTC+5:45"),
    pytest.param("10:00-20:00 Australia/Sydney, standard", 0, 0, 10, id="southern summer"),
    pytest.param("10:00-20:00 Etc/GMT+8, standard", 18, 0, 10, id="signs of POSIX"),
    pytest.param("22:00-06:00 America/Los_Angeles, standard", 6, 0, 8, id="across midnight"),
    pytest.param("6:30-6:30 UTC, standard", 6, 30, 24, id="a whole day"),
    pytest.param("10:00-10:01 UTC, standard", 10, 0, 1 / 60, id="a minute"),
    pytest.param("10:01-10:00 UTC, standard", 10, 1, 24 - 1 / 60, id="all but a minute"),
]


@pytest.mark.parametrize(("text", "hour", "minute", "length"), PLACES)
@pytest.mark.parametrize("month", [1, 7])
def test_places(text, hour, minute, length, month):
    local = LocalHours.parse(text)
    start = local.first_after(datetime(2026, month, 10, 0, tzinfo=UTC))
    assert (start.day, start.hour, start.minute) == (10, hour, minute)
    assert local.hours == pytest.approx(length)


NOT_LOCAL = [
    "",
    "10:00-20:00",
    "10:00-20:00 America/Los_Angeles",
    "10:00-20:00 America/Los_Angeles, daylight",
    "10-20 America/Los_Angeles, standard",
    "24:00-25:00 America/Los_Angeles, standard",
    "10:60-20:00 America/Los_Angeles, standard",
    "10:00-20:00 Mars/Olympus, standard",
    "10:00-20:00 America, standard",
    "10:00-20:00 ../../etc/passwd, standard",
    "10:00-20:00 /etc/localtime, standard",
    "10:00-20:00 PST, standard",
]


@pytest.mark.parametrize("text", NOT_LOCAL)
def test_what_is_no_local_time(text):
    with pytest.raises(BadParameter, match=r"'10:00-20:00 America/Los_Angeles, standard'"):
        LocalHours.parse(text)


MINUTES = st.integers(0, 3 * 24 * 60)
STEPS = st.sampled_from([5, 7, 10, 15, 20, 60, 90, 180, 360])  # minutes


@st.composite
def windows(draw):
    local = draw(st.sampled_from([None, None, LocalHours(time(10), 10, "America/Los_Angeles")]))
    return Window(
        hours=10.0 if local else draw(st.integers(1, 2000)) / 60,
        offset=draw(st.integers(0, 600)) / 60,
        first_lead=draw(st.sampled_from([0, 0, 1, 3, 7.5, 40])),
        closed=draw(st.sampled_from(["left", "both"])),
        local=local,
    )


@LAW
@given(
    window=windows(),
    cycle=st.integers(0, 365 * 24).map(lambda hours: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)),
    step=STEPS,
    phase=st.integers(-3000, 3000),
)
def test_steps_are_those_that_are_inside(window, cycle, step, phase):
    anchor = cycle + timedelta(minutes=phase)
    spacing = timedelta(minutes=step)
    first = anchor + spacing * ((cycle - timedelta(days=1) - anchor) // spacing)
    times = [first + index * spacing for index in range(int(timedelta(days=5) / spacing))]
    assert window.steps(cycle, step / 60, anchor) == sum(window.contains(each, cycle) for each in times)


@LAW
@given(window=windows(), minutes=MINUTES)
def test_what_is_inside_lies_within_the_bounds_and_after_the_first_lead(window, minutes):
    valid = CYCLE + timedelta(minutes=minutes)
    start, end = window.bounds(CYCLE)
    assert end - start == pytest.approx(timedelta(hours=window.hours), abs=timedelta(microseconds=1))
    if window.contains(valid, CYCLE):
        assert start <= valid <= end
        assert valid >= at(window.first_lead)
        assert valid < end or window.closed == "both"
    else:
        assert valid < start or valid >= end or valid < at(window.first_lead)


@LAW
@given(one=windows(), other=windows(), minutes=MINUTES)
def test_a_window_within_another_holds_nothing_else(one, other, minutes):
    valid = CYCLE + timedelta(minutes=minutes)
    if (one.local is None) == (other.local is None) and one.within(other) and one.contains(valid, CYCLE):
        assert other.contains(valid, CYCLE)


@LAW
@given(window=windows())
def test_every_window_is_within_itself(window):
    assert window.within(window)


@LAW
@given(
    hours=st.integers(0, 365 * 24),
    zone=st.sampled_from(["America/Los_Angeles", "Europe/Dublin", "Australia/Lord_Howe"]),
)
def test_local_hours_start_at_the_same_time_of_day_all_year(hours, zone):
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
    local = LocalHours(time(10), 10, zone)
    start = local.first_after(moment)
    assert moment <= start < moment + timedelta(days=1)
    assert start.time() == local.first_after(datetime(2026, 1, 1, tzinfo=UTC)).time()


def test_described_for_the_card():
    assert Window().describe(CYCLE) == "[2026-11-17T00:00Z, 2026-11-18T00:00Z["
    assert Window(hours=6, first_lead=1, closed="both").describe(CYCLE) == (
        "[2026-11-17T00:00Z, 2026-11-17T06:00Z], leads from 1 h"
    )
