"""Time: steps of a model (D-74), the valid times asked for, and which report belongs to which of them (D-73, D-22)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configs.window import LocalHours, Window
from tasks.matching.clock import NONE, Reports, expected_times, highest_within, step_of

LAW = settings(derandomize=True, deadline=None, max_examples=300)
CYCLE = datetime(2026, 11, 17, 0, tzinfo=UTC)


def at(*hours: float) -> list[datetime]:
    return [CYCLE + timedelta(hours=each) for each in hours]


def leads(times: list[datetime]) -> list[float]:
    return [(each - CYCLE) / timedelta(hours=1) for each in times]


STEPS = [
    pytest.param(at(0, 1, 2, 3), 1, True, (1,), id="hourly"),
    pytest.param(at(3, 0, 9, 6), 3, True, (3,), id="in any order"),
    pytest.param(at(0, 0, 1, 1, 2), 1, True, (1,), id="doubled"),
    pytest.param(at(0, 0.25, 0.5), 0.25, True, (0.25,), id="quarters"),
    pytest.param(at(0, 1, 2, 3, 6, 9), 1, False, (1, 3), id="hourly, then three-hourly"),
    pytest.param(at(0, 1, 2, 4, 5), 1, False, (1, 2), id="a gap"),
    pytest.param(at(0, 3, 6, 7), 3, False, (1, 3), id="the most frequent"),
    pytest.param(at(0, 1, 4), 1, False, (1, 3), id="the shorter of equally frequent"),
    pytest.param(at(5, 11), 6, True, (6,), id="two times"),
    pytest.param(at(5), None, False, (), id="one time"),
    pytest.param([], None, False, (), id="no time"),
]


@pytest.mark.parametrize(("valid", "hours", "uniform", "spacings"), STEPS)
def test_the_step_of_a_model(valid, hours, uniform, spacings):
    step = step_of(valid, Window(), CYCLE)
    assert (step.hours, step.uniform, step.spacings) == (hours, uniform, spacings)
    assert step.anchor == (min(valid) if valid else None)


def test_the_step_of_the_case_comes_first():
    step = step_of(at(1, 2, 4, 7), Window(step=3), CYCLE)
    assert (step.hours, step.uniform, step.spacings, step.anchor) == (3, True, (3,), CYCLE)


def test_on_the_step_in_phase_with_the_model():
    step = step_of(at(1, 4, 7), Window(), CYCLE)
    assert [hour for hour in range(-3, 12) if step.on_step(at(hour)[0])] == [-2, 1, 4, 7, 10]
    alone = step_of(at(5), Window(), CYCLE)
    assert [hour for hour in range(12) if alone.on_step(at(hour)[0])] == [5]


@pytest.mark.parametrize("seconds", [1, 7, 60, 420, 600, 1200, 1400, 5400, 3661, 86399])
def test_steps_that_are_no_round_share_of_an_hour(seconds):
    spacing = timedelta(seconds=seconds)
    valid = [CYCLE + index * spacing for index in range(5)]
    step = step_of(valid, Window(), CYCLE)
    assert step.uniform
    assert all(step.on_step(each) for each in valid)
    assert step.on_step(CYCLE + 10_000 * spacing)
    assert not step.on_step(CYCLE + 3 * spacing + timedelta(microseconds=500_000))


ASKED = [
    pytest.param(at(0, 1, 2), Window(hours=6), [0, 1, 2, 3, 4, 5], id="to the end of the window"),
    pytest.param(at(0, 1, 2), Window(hours=6, closed="both"), [0, 1, 2, 3, 4, 5, 6], id="both ends"),
    pytest.param(at(3, 6), Window(hours=10), [0, 3, 6, 9], id="before the first"),
    pytest.param(at(1, 4, 7), Window(hours=10), [1, 4, 7], id="in phase"),
    pytest.param(at(0, 1, 2, 5, 6), Window(hours=8), [0, 1, 2, 3, 4, 5, 6, 7], id="gaps are asked for too"),
    pytest.param(at(0, 1), Window(hours=4, first_lead=1), [1, 2, 3], id="first lead"),
    pytest.param(at(0, 1), Window(hours=4, offset=2), [2, 3, 4, 5], id="offset"),
    pytest.param(at(0, 1), Window(hours=12, step=6), [0, 6], id="the step of the case"),
    pytest.param(at(5), Window(hours=12), [5], id="one time"),
    pytest.param(at(50), Window(hours=12), [], id="one time outside"),
    pytest.param([], Window(), [], id="no time"),
]


@pytest.mark.parametrize(("valid", "window", "expected"), ASKED)
def test_the_valid_times_asked_of_a_model(valid, window, expected):
    assert leads(expected_times(valid, window, CYCLE)) == expected


@LAW
@given(
    step=st.sampled_from([10, 15, 20, 60, 180]),
    phase=st.integers(0, 500),
    count=st.integers(2, 30),
    hours=st.integers(1, 30),
    first_lead=st.sampled_from([0, 1, 5]),
    closed=st.sampled_from(["left", "both"]),
    local=st.booleans(),
)
def test_asked_are_as_many_as_the_window_has_steps(step, phase, count, hours, first_lead, closed, local):
    where = LocalHours.parse("10:00-20:00 America/Los_Angeles, standard") if local else None
    window = Window(hours=10 if local else hours, first_lead=first_lead, closed=closed, local=where)
    anchor = CYCLE + timedelta(minutes=phase)
    valid = [anchor + timedelta(minutes=step * index) for index in range(count)]
    asked = expected_times(valid, window, CYCLE)
    assert len(asked) == window.steps(CYCLE, step / 60, anchor)
    assert all(window.contains(each, CYCLE) for each in asked)
    assert {each for each in valid if window.contains(each, CYCLE)} <= set(asked)


HOUR, QUARTER = 3600.0, 900.0


def reports(**minutes: list[float]) -> tuple[Reports, list[str]]:
    """Reports of stations at minutes of the hour."""
    names = sorted(minutes)
    station = [number for number, name in enumerate(names) for _ in minutes[name]]
    time = [60.0 * each for name in names for each in sorted(minutes[name])]
    return Reports(np.array(station, dtype=int), np.array(time)), names


def nearest(minutes: list[float], valid: list[float], tolerance: float) -> list[float | None]:
    """The minute of the report that each valid minute gets."""
    made, _ = reports(A=minutes)
    found = made.nearest(np.array([0]), 60.0 * np.array(valid, dtype=float), np.array([60.0 * tolerance]))[0]
    return [None if each == NONE else sorted(minutes)[each] for each in found]


NEAREST = [
    pytest.param([0, 60], [0, 60], 15, [0, 60], id="on the hour"),
    pytest.param([53, 113], [60, 120], 15, [53, 113], id="METAR, seven minutes before"),
    pytest.param([30, 90], [0, 60, 120], 15, [None, None, None], id="half past never matches a quarter"),
    pytest.param([50, 65], [60], 15, [65], id="the nearer"),
    pytest.param([55, 65], [60], 15, [55], id="a tie takes the earlier"),
    pytest.param([45], [60], 15, [45], id="the tolerance itself is inside"),
    pytest.param([44.9], [60], 15, [None], id="a hair beyond is not"),
    pytest.param([30], [0, 60], 30, [30, None], id="midway is used once, by the earlier"),
    pytest.param([30, 75], [0, 60], 30, [30, 75], id="then the later takes the next"),
    pytest.param([30, 60], [0, 60], 30, [30, 60], id="unless it has a nearer one"),
    pytest.param([0, 5, 10, 55, 60], [0, 60], 15, [0, 60], id="five-minute reports"),
    pytest.param([], [0, 60], 15, [None, None], id="no report"),
]


@pytest.mark.parametrize(("minutes", "valid", "tolerance", "expected"), NEAREST)
def test_the_nearest_report(minutes, valid, tolerance, expected):
    assert nearest(minutes, valid, tolerance) == expected


def test_each_station_has_its_own_reports_and_tolerance():
    made, _ = reports(A=[53], B=[35], C=[60])
    valid = np.array([3600.0])
    found = made.nearest(np.array([0, 1, 2]), valid, 60.0 * np.array([15, 15, 0]))
    assert found.tolist() == [[0], [NONE], [2]]
    found = made.nearest(np.array([2, 1]), valid, 60.0 * np.array([15, 30]))
    assert found.tolist() == [[2], [1]]


@LAW
@given(
    minutes=st.lists(st.integers(0, 400), unique=True, max_size=25),
    spacing=st.sampled_from([10, 30, 60]),
    share=st.sampled_from([0.1, 0.25, 0.5]),
    count=st.integers(1, 8),
)
def test_the_nearest_report_by_hand(minutes, spacing, share, count):
    valid = [spacing * (1 + index) for index in range(count)]
    free, expected = sorted(minutes), []
    for each in valid:  # the earlier valid time chooses first; `min` takes the earlier of a tie
        near = [minute for minute in free if abs(minute - each) <= spacing * share]
        best = min(near, key=lambda minute: abs(minute - each), default=None)
        expected.append(best)
        if best is not None:
            free.remove(best)
    assert nearest(minutes, valid, spacing * share) == expected


def highest(minutes: list[float], values: list[float], valid: list[float], step: float) -> list[float]:
    made, _ = reports(A=minutes)
    first, end = made.within_step(np.array([0]), 60.0 * np.array(valid, dtype=float), 60.0 * step)
    return highest_within(np.array(values, dtype=float), first, end)[0].tolist()


NAN = float("nan")
GUSTS = [
    # D-22: the maximum over (t - step, t]
    pytest.param([10, 30, 60], [5, 9, 7], [60], [9], id="the highest"),
    pytest.param([0, 60], [20, 7], [60], [7], id="the step before is open at its start"),
    pytest.param([60, 61], [7, 20], [60], [7], id="nothing after the valid time"),
    pytest.param([30, 40], [NAN, 3], [60], [3], id="a missing value is passed over"),
    pytest.param([30, 40], [NAN, NAN], [60], [NAN], id="nothing but missing values"),
    pytest.param([90], [8], [60, 120, 180], [NAN, 8, NAN], id="an empty step"),
    pytest.param([], [], [60], [NAN], id="no report"),
]


@pytest.mark.parametrize(("minutes", "values", "valid", "expected"), GUSTS)
def test_the_highest_of_a_step(minutes, values, valid, expected):
    np.testing.assert_array_equal(highest(minutes, values, valid, 60), expected)


@LAW
@given(
    data=st.dictionaries(st.integers(0, 300), st.one_of(st.just(NAN), st.integers(-20, 40).map(float)), max_size=30),
    step=st.sampled_from([10, 30, 60]),
    count=st.integers(1, 6),
)
def test_the_highest_of_a_step_by_hand(data, step, count):
    minutes = sorted(data)
    valid = [step * (1 + index) for index in range(count)]
    expected = []
    for each in valid:
        inside = [data[minute] for minute in minutes if each - step < minute <= each and not np.isnan(data[minute])]
        expected.append(max(inside, default=NAN))
    np.testing.assert_array_equal(highest(minutes, [data[minute] for minute in minutes], valid, step), expected)
