"""From candidates to arrays of (station, valid time)."""

from __future__ import annotations

from datetime import UTC, timedelta

import numpy as np
import pytest

from configs.window import LocalHours, Window
from tasks.reducing.sample import night

NAN = float("nan")


def test_a_grid_of_stations_and_times(candidates, cycle):
    table = candidates(
        ("B", 1, "wind_speed", 7, 8),
        ("A", 0, "wind_speed", 1, 2),
        ("B", 0, "wind_speed", 5, NAN),
        ("A", 3, "temperature", -4, -5),
    )
    made = night(table, ("temperature", "wind_speed"), cycle)
    assert made.stations == ("A", "B")
    assert made.valid == (cycle, cycle + timedelta(hours=1), cycle + timedelta(hours=3))
    assert all(each.tzinfo == UTC for each in made.valid)
    np.testing.assert_array_equal(made.forecast["wind_speed"], [[1, NAN, NAN], [5, 7, NAN]])
    np.testing.assert_array_equal(made.observed["wind_speed"], [[2, NAN, NAN], [NAN, 8, NAN]])
    np.testing.assert_array_equal(made.forecast["temperature"], [[NAN, NAN, -4], [NAN, NAN, NAN]])
    assert made.lead_hours().tolist() == [0, 1, 3]


def test_stations_keep_their_names_and_their_order(candidates, cycle):
    names = ["b", "NA", "007", "7", "🔥", "B", "a,b", "日本"]
    made = night(candidates(*((name, 0, "wind_speed", 1, 1) for name in names)), ("wind_speed",), cycle)
    assert made.stations == tuple(sorted(names))  # by code point, the same on every machine (D-80)


EVENING = LocalHours.parse("18:00-04:00 America/Los_Angeles, standard")  # 02Z to 12Z
INSIDE = [
    pytest.param(Window(hours=3), [0, 1, 2], id="half-open"),
    pytest.param(Window(hours=3, closed="both"), [0, 1, 2, 3], id="both ends"),
    pytest.param(Window(first_lead=1), [1, 2, 3, 4.5, 6], id="first lead"),
    pytest.param(Window(step=3.0), [0, 3, 6], id="on the step of the case"),
    pytest.param(Window(step=1.5), [0, 3, 4.5, 6], id="on half hours"),
    pytest.param(Window(hours=10, local=EVENING), [2, 3, 4.5, 6], id="local"),
]


@pytest.mark.parametrize(("window", "expected"), INSIDE)
def test_which_times_are_inside(candidates, cycle, window, expected):
    leads = np.array([0, 1, 2, 3, 4.5, 6])
    made = night(candidates(*(("A", lead, "wind_speed", 1, 1) for lead in leads)), ("wind_speed",), cycle)
    assert leads[made.inside(window)].tolist() == expected


def test_selecting_keeps_the_times_that_are_kept(candidates, cycle):
    made = night(candidates(*(("A", lead, "wind_speed", lead, -lead) for lead in range(4))), ("wind_speed",), cycle)
    chosen = made.select(np.array([True, False, False, True]), 1.0)
    assert chosen.forecast["wind_speed"].tolist() == [[0, 3]]
    assert chosen.observed["wind_speed"].tolist() == [[0, -3]]
    assert chosen.step_hours == 1.0
