"""What is not a measurement, and the reason that it gets, in reports written by hand."""

import numpy as np
import pandas as pd
import pytest

from metrics.variables import VARIABLES, Variable
from tasks.matching import quality
from tasks.matching.quality import (
    CALM,
    EXCLUDED,
    GOOD,
    GUST_BELOW_SPEED,
    IMPOSSIBLE,
    MISSING_CODE,
    NO_POSITION,
    REPEATED,
    STUCK,
    VARIABLE,
)

START = pd.Timestamp("2026-11-17T00:00Z")
NAN = np.nan


def reports(*, hours=None, station="A", **columns):
    """Reports of one station, one an hour unless told otherwise."""
    count = len(next(iter(columns.values())))
    at = np.arange(count) if hours is None else np.array(hours)
    return pd.DataFrame({"station": station, "time": START + pd.to_timedelta(at * 3600, unit="s"), **columns})


def judged(variable, *, variables=VARIABLES, **columns):
    return quality.judged(reports(**columns), variables)[variable].tolist()


VALUES = [
    ("wind_speed", 0.0, GOOD),
    ("wind_speed", 120.0, GOOD),
    ("wind_speed", 120.5, IMPOSSIBLE),
    ("wind_speed", -0.1, IMPOSSIBLE),
    ("wind_speed", -9999.0, MISSING_CODE),
    ("wind_speed", -999.0, MISSING_CODE),
    ("wind_speed", 9999.0, MISSING_CODE),
    ("wind_speed", 99999.0, MISSING_CODE),
    ("wind_speed", NAN, GOOD),  # nothing there: not a question of quality
    ("wind_direction", 0.0, GOOD),
    ("wind_direction", 360.0, GOOD),
    ("wind_direction", 360.5, IMPOSSIBLE),
    ("wind_direction", 999.0, IMPOSSIBLE),
    ("wind_direction", -99999.0, MISSING_CODE),
    ("wind_gust", 151.0, IMPOSSIBLE),
    ("temperature", -40.0, GOOD),
    ("temperature", 81.0, IMPOSSIBLE),
    ("temperature", -9999.0, MISSING_CODE),
    ("relative_humidity", 104.0, GOOD),
    ("relative_humidity", -1.0, IMPOSSIBLE),
]


@pytest.mark.parametrize(("variable", "value", "expected"), VALUES)
def test_a_value_alone(variable, value, expected):
    assert judged(variable, **{variable: [value]}) == [expected]


def test_a_code_is_a_code_also_where_a_case_sets_no_bounds():
    own = {**VARIABLES, "energy": Variable("energy", "Energy", "J")}
    assert judged("energy", variables=own, energy=[-9999.0, 12.0]) == [MISSING_CODE, GOOD]


def test_a_code_within_bounds_may_be_a_measurement():
    own = {**VARIABLES, "pressure": Variable("pressure", "Pressure", "Pa", lowest=0, highest=200_000)}
    assert judged("pressure", variables=own, pressure=[99999.0]) == [GOOD]


def test_a_gust_below_the_speed():
    given = {"wind_speed": [8.0, 8.0, 8.0, NAN, 9999.0], "wind_gust": [7.9, 8.0, 12.0, 3.0, 3.0]}
    # Without a usable speed there is nothing that the gust could be below.
    assert judged("wind_gust", **given) == [GUST_BELOW_SPEED, GOOD, GOOD, GOOD, GOOD]
    assert judged("wind_speed", **given) == [GOOD, GOOD, GOOD, GOOD, MISSING_CODE]


def test_of_a_repeated_report_the_first_counts():
    table = reports(hours=[0, 0, 0, 1], wind_speed=[3.0, 4.0, 3.0, 3.0], temperature=[10.0, 10.0, 10.0, 10.0])
    for reasons in quality.judged(table, VARIABLES).values():
        assert reasons.tolist() == [GOOD, REPEATED, REPEATED, GOOD]


def test_the_same_time_at_another_station_is_no_repetition():
    table = pd.concat([reports(station="A", wind_speed=[3.0]), reports(station="B", wind_speed=[3.0])])
    assert quality.judged(table, VARIABLES)["wind_speed"].tolist() == [GOOD, GOOD]


def test_calm_and_variable_winds_have_a_speed_but_no_direction():
    given = {
        "wind_speed": [0.0, 0.0, 1.5, 1.5],
        "wind_direction": [NAN, 0.0, NAN, 90.0],
        "variable_direction": [False, False, True, False],
    }
    assert judged("wind_direction", **given) == [CALM, CALM, VARIABLE, GOOD]
    assert judged("wind_speed", **given) == [GOOD] * 4


STUCK_RUNS = [
    pytest.param([3.7] * 7, [214.0] * 7, range(7), [True] * 7, id="six hours, seven reports"),
    pytest.param([3.7] * 6, [214.0] * 6, range(6), [False] * 6, id="six reports in five hours"),
    pytest.param([3.7] * 6, [214.0] * 6, [0, 1, 2, 3, 4, 6], [True] * 6, id="six reports in six hours"),
    pytest.param([3.7] * 5, [214.0] * 5, [0, 2, 4, 6, 8], [False] * 5, id="five reports in eight hours"),
    pytest.param([0.0] * 8, [0.0] * 8, range(8), [False] * 8, id="calm is not stuck"),
    pytest.param([3.7] * 8, [214.0] * 4 + [215.0] * 4, range(8), [False] * 8, id="the vane moved"),
    pytest.param([3.7] * 7 + [4.0], [214.0] * 8, range(8), [True] * 7 + [False], id="it came back"),
    pytest.param([9.0, *[3.7] * 7], [214.0] * 8, range(8), [False] + [True] * 7, id="it broke"),
]


@pytest.mark.parametrize(("speed", "direction", "hours", "stuck"), STUCK_RUNS)
def test_a_sensor_that_sticks(speed, direction, hours, stuck):
    given = {"hours": list(hours), "wind_speed": speed, "wind_direction": direction, "wind_gust": [20.0] * len(speed)}
    for variable in ("wind_speed", "wind_direction", "wind_gust"):
        found = [reason == STUCK for reason in judged(variable, **given)]
        assert found == stuck, variable


def test_equal_winds_of_two_stations_are_no_run():
    parts = [reports(station=name, hours=range(4), wind_speed=[3.7] * 4) for name in "AB"]
    assert not quality.stuck_runs(pd.concat(parts, ignore_index=True)).any()


def test_a_stuck_wind_says_nothing_about_the_thermometer():
    given = {"wind_speed": [3.7] * 8, "wind_direction": [214.0] * 8, "temperature": [12.0] * 8}
    assert judged("temperature", **given) == [GOOD] * 8


PLACES = [
    (39.0, -120.5, GOOD),
    (39.0, 239.5, GOOD),
    (90.0, 360.0, GOOD),
    (-90.0, -180.0, GOOD),
    (34.2, -790.2, NO_POSITION),
    (90.5, 0.0, NO_POSITION),
    (-91.0, 0.0, NO_POSITION),
    (0.0, 361.0, NO_POSITION),
    (0.0, -181.0, NO_POSITION),
    (NAN, 0.0, NO_POSITION),
    (0.0, NAN, NO_POSITION),
]


def test_positions_that_no_station_has():
    stations = pd.DataFrame(PLACES, columns=["lat", "lon", "expected"])
    stations["station"] = [f"S{number}" for number in range(len(stations))]
    assert quality.positions(stations, ()).tolist() == stations["expected"].tolist()


def test_the_case_may_exclude_stations_wherever_they_are():
    stations = pd.DataFrame({"station": ["NA", "007", "7"], "lat": [39.0, 39.0, 99.0], "lon": 0.0})
    assert quality.positions(stations, ("007", "7")).tolist() == [GOOD, EXCLUDED, EXCLUDED]
