"""Which report belongs to which valid time (D-22, D-71 to D-74), against brute force that tries every report."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configs.window import LocalHours, Window
from tasks.matching.clock import NONE, Reports, expected_times, highest_within, step_of

CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
SETTINGS = settings(derandomize=True, deadline=None, max_examples=150)


def reports(*each):
    """Reports from (station, time) in any order."""
    rows = sorted(each)
    return Reports(np.array([row[0] for row in rows], dtype=int), np.array([row[1] for row in rows], dtype=float))


def brute_force(taken, stations, valid, tolerance):
    """Each valid time in turn takes the nearest report that is left, the earlier of two equally near."""
    rows = list(zip(taken.station.tolist(), taken.time.tolist(), strict=True))
    found = np.full((len(stations), len(valid)), NONE)
    for i, station in enumerate(stations):
        used = set()
        for j, moment in enumerate(valid):
            near = [
                (abs(time - moment), time, number)
                for number, (own, time) in enumerate(rows)
                if own == station and number not in used and abs(time - moment) <= tolerance[i]
            ]
            if near:
                found[i, j] = min(near)[2]
                used.add(found[i, j])
    return found


@st.composite
def nights(draw):
    """Reports at few distinct moments, so that ties and midway reports are frequent."""
    step = draw(st.sampled_from([2, 4, 6]))
    start = draw(st.integers(-3, 3))
    valid = start + step * np.arange(draw(st.integers(1, 6)), dtype=float)
    count = draw(st.integers(1, 4))
    moments = st.sets(st.integers(-6, 36), max_size=14)
    rows = [(station, time) for station in range(count) for time in draw(moments)]
    # Some stations that are asked for have no report, and some reports are of stations that are not asked for.
    asked = np.array(sorted(draw(st.sets(st.integers(0, count), min_size=1))))
    tolerance = np.array([draw(st.sampled_from([0, 1, step / 2, step / 4])) for _ in asked], dtype=float)
    return reports(*rows), asked, valid, np.minimum(tolerance, step / 2)


@SETTINGS
@given(nights())
def test_nearest_is_what_brute_force_finds(night):
    taken, stations, valid, tolerance = night
    np.testing.assert_array_equal(
        taken.nearest(stations, valid, tolerance), brute_force(taken, stations, valid, tolerance)
    )


@SETTINGS
@given(nights())
def test_no_report_is_used_twice(night):
    taken, stations, valid, tolerance = night
    for row in taken.nearest(stations, valid, tolerance):
        used = row[row != NONE]
        assert len(set(used)) == len(used)


NEAREST = [
    pytest.param([50, 70], [60], 15, [0], id="a tie takes the earlier"),
    pytest.param([51, 70], [60], 15, [0], id="the nearer"),
    pytest.param([50, 69], [60], 15, [1], id="the nearer, though later"),
    pytest.param([45], [60], 15, [0], id="just within the tolerance"),
    pytest.param([44], [60], 15, [NONE], id="just outside"),
    pytest.param([30], [0, 60], 30, [0, NONE], id="midway: by the earlier valid time, once"),
    pytest.param([30, 90], [0, 60, 120], 30, [0, 1, NONE], id="always midway: each report once, in turn"),
    pytest.param([30, 90, 150], [0, 60, 120], 30, [0, 1, 2], id="always midway, one for each"),
    pytest.param([30, 100], [0, 60, 120], 30, [0, NONE, 1], id="midway, and the next is too far"),
    pytest.param([], [0, 60], 30, [NONE, NONE], id="no report"),
    pytest.param([5], [], 30, [], id="no valid time"),
]


@pytest.mark.parametrize(("times", "valid", "tolerance", "expected"), NEAREST)
def test_nearest_by_hand(times, valid, tolerance, expected):
    taken = reports(*((0, time) for time in times))
    found = taken.nearest(np.array([0]), np.array(valid, dtype=float), np.array([float(tolerance)]))
    assert found.tolist() == [expected]


def test_a_station_never_takes_the_report_of_its_neighbour():
    taken = reports((0, 100), (2, 0))
    assert taken.nearest(np.arange(3), np.array([0.0, 100.0]), np.full(3, 50.0)).tolist() == [
        [NONE, 0],
        [NONE, NONE],
        [1, NONE],
    ]


@SETTINGS
@given(nights(), st.sampled_from([1, 2, 3, 6]), st.randoms(use_true_random=False))
def test_the_highest_of_the_step_before_is_what_brute_force_finds(night, step, random):
    taken, stations, valid, _ = night
    values = np.array([random.choice([np.nan, 3.0, 7.5, 9.0, 0.0]) for _ in taken.time])
    found = highest_within(values, *taken.within_step(stations, valid, step))
    for i, station in enumerate(stations):
        for j, moment in enumerate(valid):
            inside = [
                value
                for own, time, value in zip(taken.station, taken.time, values, strict=True)
                if own == station and moment - step < time <= moment and not np.isnan(value)
            ]
            assert found[i, j] == max(inside) if inside else np.isnan(found[i, j])


def test_the_step_before_is_open_at_its_start_and_closed_at_its_end():
    taken = reports((0, 0), (0, 60), (0, 61))
    first, end = taken.within_step(np.array([0]), np.array([60.0]), 60)
    assert (first.item(), end.item()) == (1, 2)  # not the report at 0, not the one at 61
    assert highest_within(np.array([30.0, 12.0, 40.0]), first, end).item() == 12.0


def test_reports_of_a_hundred_thousand_stations():
    count = 100_000
    rng = np.random.default_rng(5)
    minute = rng.integers(-20, 21, count) * 60.0
    hours = 3600.0 * np.arange(4)
    taken = Reports(np.repeat(np.arange(count), 4), (hours[None, :] + minute[:, None]).ravel())
    found = taken.nearest(np.arange(count), hours, np.full(count, 900.0))
    # Each station reports once an hour at its own minute: within a quarter of an hour, or never.
    near = abs(minute) <= 900
    expected = np.where(near[:, None], 4 * np.arange(count)[:, None] + np.arange(4), NONE)
    np.testing.assert_array_equal(found, expected)
    first, end = taken.within_step(np.arange(count), hours[1:], 3600.0)
    np.testing.assert_array_equal(end - first, 1)


# --- the valid times that a case asks for --------------------------------------------------------------------------


@st.composite
def windows(draw):
    quarter = st.integers(0, 40).map(lambda each: each / 4)
    hours = draw(st.integers(1, 40)) / 4
    local = draw(st.sampled_from([None, None, LocalHours.parse("20:00-02:30 America/Los_Angeles, standard")]))
    return Window(
        hours=local.hours if local else hours,
        offset=draw(quarter),
        first_lead=draw(quarter),
        closed=draw(st.sampled_from(["left", "both"])),
        step=draw(st.sampled_from([None, None, 0.5, 1.0, 3.0])),
        local=local,
    )


@SETTINGS
@given(windows(), st.sets(st.integers(-8, 200), min_size=1, max_size=12))
def test_expected_times_are_all_of_the_step_that_the_window_contains(window, quarters):
    valid = [CYCLE + timedelta(minutes=15 * each) for each in quarters]
    if window.step is not None:
        anchor, step = CYCLE, timedelta(hours=window.step)
    else:
        gaps = [later - earlier for earlier, later in zip(sorted(valid), sorted(valid)[1:], strict=False)]
        step = min(gaps, key=lambda gap: (-gaps.count(gap), gap)) if gaps else None
        anchor = min(valid)
        inside = sorted(each for each in valid if window.contains(each, CYCLE))
        if step and inside:  # the phase of most of them, the earliest of several
            anchor = max(inside, key=lambda one: sum((other - one) % step == timedelta() for other in inside))
    if step is None:
        expected = [each for each in valid if window.contains(each, CYCLE)]
    else:
        ticks = (CYCLE + timedelta(minutes=15 * each) for each in range(-400, 400))
        expected = [each for each in ticks if (each - anchor) % step == timedelta() and window.contains(each, CYCLE)]
    assert expected_times(valid, window, CYCLE) == expected


def test_a_hole_in_the_model_is_still_expected():
    valid = [CYCLE + timedelta(hours=each) for each in (0, 1, 2, 21, 22, 23)]
    assert expected_times(valid, Window(hours=24), CYCLE) == [CYCLE + timedelta(hours=each) for each in range(24)]


def test_an_odd_time_does_not_shift_the_others():
    valid = [CYCLE + timedelta(hours=each) for each in (0.5, 1, 2, 3)]
    assert expected_times(valid, Window(hours=4), CYCLE) == [CYCLE + timedelta(hours=each) for each in range(4)]


def test_the_first_hour_may_be_the_one_that_is_missing():
    valid = [CYCLE + timedelta(hours=each) for each in (1, 2, 3)]
    assert len(expected_times(valid, Window(hours=4), CYCLE)) == 4


def test_the_step_of_the_case_goes_before_that_of_the_model():
    valid = [CYCLE + timedelta(minutes=10 * each) for each in range(12)]
    assert step_of(valid, Window(step=1.0), CYCLE).hours == 1.0
    assert expected_times(valid, Window(hours=2, step=1.0), CYCLE) == [CYCLE, CYCLE + timedelta(hours=1)]
