"""From a night to sums: worked by hand, written and read back, cut by lead, whatever the order of the rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.kpis.kpi import Rules, evaluate
from tasks.reducing.sample import night
from tasks.reducing.table import as_reduced, binding, read_sums, reduce_night, write_sums

LAW = settings(
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
NAN = float("nan")
LABELS = {"case": "X", "model": "m", "cycle": "2026-11-17T00:00Z"}
ANY_PAIR = Rules(min_completeness=0.0, min_pairs=1, min_coverage=0.0)


@pytest.fixture
def reduce(candidates, cycle, bound):
    """The sums of every KPI by its name, from rows."""

    def made(*rows, window="{hours: 24}", offered=None):
        offered = offered or tuple(sorted({row[2] for row in rows}))
        made = night(candidates(*rows), offered, cycle)
        return {each.instance: each for each in reduce_night(made, bound(window).values())}

    return made


def whole(sums):
    (part,) = [each for each in sums.slices if each.name == "all"]
    return part


def speeds(station, pairs):
    return [(station, lead, "wind_speed", forecast, observed) for lead, (forecast, observed) in enumerate(pairs)]


def test_sums_by_hand(reduce):
    # A: errors 1, 3 and two holes; B: -2 only, and an hour that nobody observed
    part = whole(reduce(*speeds("A", [(5, 4), (7, 4), (9, NAN), (NAN, 1)]), *speeds("B", [(6, 8), (1, NAN)]))["RMSE"])
    sums = part.sums.arrays()
    assert {name: values.tolist() for name, values in sums.items()} == {
        "n": [2, 1],
        "error": [4, -2],
        "absolute": [4, 2],
        "squared": [10, 4],
        "forecast": [12, 6],
        "observed": [8, 8],
    }
    assert part.expected.tolist() == [3, 1]  # A was observed at hours 0, 1 and 3, B at hour 0
    assert part.filtered.tolist() == [0, 0]


def test_exceedance_by_hand(reduce):
    # above 8 m/s, strictly: forecast at hours 0, 1, 3; observed at hours 1, 2; hour 4 has no forecast
    part = whole(reduce(*speeds("A", [(9, 8), (9, 9), (8, 9), (9, 3), (NAN, 20), (1, 1)]))["HOURS"])
    sums = {name: values.tolist() for name, values in part.sums.arrays().items()}
    assert sums == {"n": [5], "tp": [1], "fp": [2], "fn": [1], "tn": [1], "forecast_hours": [3], "observed_hours": [2]}
    assert part.expected.tolist() == [6]


def test_hours_are_steps_times_their_length(reduce):
    rows = [("A", lead, "wind_speed", 9, 1) for lead in (0, 3, 6, 9)]
    assert whole(reduce(*rows)["HOURS"]).sums.forecast_hours.tolist() == [12]
    rows = [("A", lead / 4, "wind_speed", 9, 1) for lead in range(8)]
    assert whole(reduce(*rows)["HOURS"]).sums.forecast_hours.tolist() == [2]


def test_direction_by_hand(reduce):
    # D-18: hour 1 is calm, hour 2 has a model wind of zero, hour 3 is below 3 m/s
    speed = [(5, 6), (5, 0), (0, 6), (5, 2)]
    turned = [(10, 350), (10, 350), (10, 350), (90, 0)]
    rows = [("A", lead, "wind_speed", *pair) for lead, pair in enumerate(speed)]
    rows += [("A", lead, "wind_direction", *pair) for lead, pair in enumerate(turned)]
    made = reduce(*rows)
    free, limited = whole(made["TURN"]), whole(made["TURN3"])
    assert (free.sums.n.tolist(), free.sums.squared.tolist()) == ([2], [20**2 + 90**2])
    assert (free.expected.tolist(), free.filtered.tolist()) == ([3], [1])
    assert (limited.sums.n.tolist(), limited.sums.squared.tolist()) == ([1], [20**2])
    assert (limited.expected.tolist(), limited.filtered.tolist()) == ([2], [2])


def test_vectors_by_hand(reduce):
    # a wind of 3 m/s from the west against one of 4 m/s from the south: 3² + 4² = 25
    rows = [("A", 0, "wind_speed", 3, 4), ("A", 0, "wind_direction", 270, 180), ("A", 1, "wind_speed", 3, 4)]
    part = whole(reduce(*rows)["VECTOR"])
    np.testing.assert_allclose(part.sums.squared, [25])
    assert (part.sums.n.tolist(), part.expected.tolist(), part.filtered.tolist()) == ([1], [1], [1])


def test_a_variable_that_is_not_offered_has_no_sums(reduce):
    made = reduce(*speeds("A", [(5, 4)] * 3))
    assert [name for name, each in made.items() if not each.offered] == ["TURN", "TURN3", "VECTOR", "GUST"]
    assert all(bool(each.slices) == each.offered for each in made.values())


def test_a_vector_needs_both_speed_and_direction(reduce):
    rows = [("A", lead, "wind_direction", 10, 20) for lead in range(3)]
    assert not reduce(*rows)["VECTOR"].offered


def test_offered_on_another_night_only(reduce, bound):
    made = reduce(*speeds("A", [(5, 4)] * 3), offered=("wind_gust", "wind_speed"))
    result = evaluate(
        bound()["GUST"].kpi,
        as_reduced(made["GUST"], bound()["GUST"], ("A",)),
        unit="m/s",
        aggregate="stations",
        rules=ANY_PAIR,
    )
    assert (result.value, result.reason) == (None, "no observation")


UNEVEN = [("A", lead, "wind_speed", 9, 5) for lead in (0, 1, 2, 3, 6, 9)]


def test_an_uneven_step_is_an_error_for_hours_only(reduce, bound):
    # D-82
    made = reduce(*UNEVEN)
    assert "not uniform" in made["HOURS"].fault
    assert "1 h and 3 h" in made["HOURS"].fault
    assert "window.step" in made["HOURS"].fault
    assert made["HOURS"].slices == ()
    results = {
        name: evaluate(
            each.kpi, as_reduced(made[name], each, ("A",)), unit=each.unit, aggregate=each.aggregate, rules=ANY_PAIR
        )
        for name, each in bound().items()
    }
    assert results["HOURS"].value is None
    assert results["HOURS"].reason == made["HOURS"].fault
    assert results["BIAS"].value == 4
    assert results["RMSE"].value == 4
    assert results["CSI"].value == 0  # six false alarms
    assert results["RMSE"].n == 6


def test_stating_the_step_makes_it_even(reduce):
    made = reduce(*UNEVEN, window="{hours: 12, step: 3 h}")
    assert made["HOURS"].fault == ""
    assert made["HOURS"].steps == 4
    assert whole(made["HOURS"]).sums.n.tolist() == [4]  # 0, 3, 6 and 9 h
    assert whole(made["HOURS"]).sums.forecast_hours.tolist() == [12]
    assert whole(made["RMSE"]).sums.n.tolist() == [4]


def test_uneven_outside_the_window_does_not_matter(reduce):
    made = reduce(*UNEVEN, window="{hours: 4}")
    assert made["HOURS"].fault == ""
    assert whole(made["HOURS"]).sums.forecast_hours.tolist() == [4]


def test_one_valid_time_has_no_step(reduce):
    made = reduce(("A", 0, "wind_speed", 9, 5))
    assert "step is unknown" in made["HOURS"].fault
    assert made["RMSE"].fault == ""
    assert reduce(("A", 0, "wind_speed", 9, 5), window="{step: 1 h}")["HOURS"].fault == ""


def test_no_valid_time_at_all(reduce):
    made = reduce(("A", 30, "wind_speed", 9, 5))
    assert {each.fault for each in made.values()} == {"no valid time in the window"}
    assert all(each.slices == () for each in made.values())


STEPS = [
    pytest.param(range(24), "{hours: 24}", 24, id="hourly"),
    pytest.param(range(24), "{hours: 24, first_lead: 1}", 23, id="without the analysis"),
    pytest.param(range(25), "{hours: 24, closed: both}", 25, id="both ends"),
    pytest.param(range(0, 24, 3), "{hours: 24}", 8, id="three-hourly"),
    pytest.param(range(1, 24, 3), "{hours: 24}", 8, id="three-hourly from one"),
    pytest.param([0, 1, 2, 3], "{hours: 24}", 24, id="a run that broke off"),
    pytest.param(range(12, 24), "{hours: 24}", 24, id="a run that began late"),
    pytest.param(range(24), "{hours: 24, step: 6}", 4, id="the step of the case"),
]


@pytest.mark.parametrize(("leads", "window", "expected"), STEPS)
def test_how_many_steps_the_window_has(reduce, leads, window, expected):
    # D-17: what a station's completeness is measured against
    assert reduce(*(("A", lead, "wind_speed", 5, 4) for lead in leads), window=window)["RMSE"].steps == expected


def test_leads_in_whole_hours(reduce):
    made = reduce(*(("A", quarter / 4, "wind_speed", 5, 4) for quarter in range(8)))
    leads = {part.bin: part.sums.n.tolist() for part in made["RMSE"].slices if part.name == "lead"}
    assert leads == {0: [4], 1: [4]}


def same(one, other) -> None:
    for name, values in one.arrays().items():
        np.testing.assert_array_equal(values, getattr(other, name), err_msg=name)


def test_written_and_read_back(reduce, bound, tmp_path):
    rows = [*speeds("A", [(5, 4), (9, 10), (NAN, 1)]), *speeds("NA", [(1, 0.1), (1, NAN), (20, 9)])]
    rows += [(station, lead, "wind_direction", 350, 10 * lead) for station in ("A", "NA") for lead in range(3)]
    made = reduce(*rows)
    path = tmp_path / "sums.parquet"
    write_sums(path, made.values(), ("A", "NA"), LABELS)
    instances = bound()
    for name, back in read_sums(path, instances).items():
        straight = as_reduced(made[name], instances[name], ("A", "NA"))
        same(straight.sums, back.sums)
        assert tuple(back.units) == (("A", "NA") if made[name].slices else ())
        np.testing.assert_array_equal(straight.expected, back.expected)
        np.testing.assert_array_equal(straight.filtered, back.filtered)
        assert (straight.steps, straight.offered, straight.fault) == (back.steps, back.offered, back.fault)


def test_what_stands_in_the_file(reduce, tmp_path):
    path = tmp_path / "sums.parquet"
    write_sums(path, reduce(*speeds("A", [(5, 4), (9, 10)])).values(), ("A",), LABELS)
    frame = pyarrow.parquet.read_table(path).to_pandas()
    assert {"case", "model", "cycle", "unit", "instance", "params_hash", "slice", "bin", "expected", "n"} <= set(frame)
    row = frame[(frame["instance"] == "RMSE") & (frame["slice"] == "lead") & (frame["bin"] == 1)].iloc[0]
    assert (row["case"], row["model"], row["unit"], row["n"], row["error"]) == ("X", "m", "A", 1, -1)
    assert np.isnan(row["tp"])  # a sum of another family is missing, not zero


@pytest.mark.parametrize("keep", [["TURN"], ["GUST"], ["RMSE", "TURN"], ["RMSE", "VECTOR"], ["HOURS"]], ids=" ".join)
def test_a_file_in_which_a_kpi_has_no_sums(candidates, cycle, bound, tmp_path, keep):
    # Only speeds, at an uneven step: nothing for directions, gusts and vectors, and nothing for hours.
    instances = {name: each for name, each in bound().items() if name in keep}
    path = tmp_path / "sums.parquet"
    made = night(candidates(*UNEVEN), ("wind_speed",), cycle)
    write_sums(path, reduce_night(made, instances.values()), made.stations, LABELS)
    back = read_sums(path, instances)
    assert set(back) == set(keep)
    for name, each in instances.items():
        result = evaluate(each.kpi, back[name], unit="", aggregate=each.aggregate, rules=ANY_PAIR)
        assert (result.value is not None) == (name == "RMSE")
        assert result.reason or name == "RMSE"


def test_the_same_bytes_every_time(reduce, tmp_path):
    rows = [*speeds("A", [(5.1, 4.2), (9.3, 10.4)]), *speeds("B", [(1.5, 0.6)])]
    for name, order in (("one", rows), ("other", rows[::-1])):
        write_sums(tmp_path / name, reduce(*order).values(), ("A", "B"), LABELS)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


VALUES = st.one_of(st.just(NAN), st.sampled_from([0.0, 8.0]), st.floats(0, 40, allow_subnormal=False))
DIRECTIONS = st.one_of(st.just(NAN), st.integers(0, 360).map(float))


@st.composite
def nights(draw):
    """Speeds and directions at up to three stations, any hours of 24, with holes."""
    hours = draw(st.lists(st.integers(0, 23), unique=True, min_size=1, max_size=12))
    rows = []
    for station in "ABC"[: draw(st.integers(1, 3))]:
        for hour in hours:
            if draw(st.booleans()):
                rows.append((station, hour, "wind_speed", draw(VALUES), draw(VALUES)))
                rows.append((station, hour, "wind_direction", draw(DIRECTIONS), draw(DIRECTIONS)))
    return rows or [("A", 0, "wind_speed", 1.0, 1.0), ("A", 0, "wind_direction", 1.0, 1.0)]


@LAW
@given(rows=nights())
def test_leads_add_up_to_the_whole(reduce, rows):
    for each in reduce(*rows).values():
        leads = [part for part in each.slices if part.name == "lead"]
        if not each.slices:
            continue
        assert len({part.bin for part in leads}) == len(leads)
        for name, values in whole(each).sums.arrays().items():
            together = sum(getattr(part.sums, name) for part in leads)
            np.testing.assert_allclose(together, values, rtol=1e-12, atol=1e-9, err_msg=f"{each.instance} {name}")
        for name in ("expected", "filtered"):
            np.testing.assert_array_equal(sum(getattr(part, name) for part in leads), getattr(whole(each), name))


@LAW
@given(rows=nights(), window=st.sampled_from(["{hours: 24}", "{hours: 7}", "{hours: 12, first_lead: 2, closed: both}"]))
def test_counts_by_hand(reduce, rows, window):
    end = {"{hours: 24}": 23, "{hours: 7}": 6}.get(window, 12)
    start = 2 if "first_lead" in window else 0
    made = reduce(*rows, window=window)
    if made["RMSE"].fault:
        assert not [row for row in rows if start <= row[1] <= end]
        return
    part = whole(made["RMSE"])
    inside = [row for row in rows if start <= row[1] <= end and row[2] == "wind_speed"]
    for index, station in enumerate(sorted({row[0] for row in rows})):
        own = [row for row in inside if row[0] == station]
        assert part.expected[index] == sum(not np.isnan(row[4]) for row in own)
        assert part.sums.n[index] == sum(not np.isnan(row[3] - row[4]) for row in own)
        assert part.filtered[index] == 0
    turned = whole(made["TURN"])
    speed = {(row[0], row[1]): row for row in inside}
    for index, station in enumerate(sorted({row[0] for row in rows})):
        own = [row for row in rows if row[0] == station and start <= row[1] <= end and row[2] == "wind_direction"]
        observed = [row for row in own if not np.isnan(row[4])]
        calm = [row for row in observed if speed[station, row[1]][4] == 0]
        asked = [row for row in observed if row not in calm]
        given = [row for row in asked if not np.isnan(row[3]) and speed[station, row[1]][3] != 0]
        assert (turned.expected[index], turned.filtered[index]) == (len(asked), len(calm))
        assert turned.sums.n[index] == len(given)


@LAW
@given(rows=nights(), seed=st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing(reduce, rows, seed):
    shuffled = [rows[index] for index in np.random.default_rng(seed).permutation(len(rows))]
    for one, other in zip(reduce(*rows).values(), reduce(*shuffled).values(), strict=True):
        assert (one.steps, one.step_hours, one.fault, one.params_hash) == (
            other.steps,
            other.step_hours,
            other.fault,
            other.params_hash,
        )
        for left, right in zip(one.slices, other.slices, strict=True):
            same(left.sums, right.sums)


@LAW
@given(rows=nights())
def test_written_and_read_back_whatever_it_is(reduce, bound, tmp_path, rows):
    made, instances = reduce(*rows), bound()
    path, stations = tmp_path / "sums.parquet", tuple(sorted({row[0] for row in rows}))
    write_sums(path, made.values(), stations, LABELS)
    for name, back in read_sums(path, instances).items():
        straight = as_reduced(made[name], instances[name], stations)
        same(straight.sums, back.sums)
        assert (straight.steps, straight.offered, straight.fault) == (back.steps, back.offered, back.fault)


def test_sums_know_what_they_depend_on_and_nothing_else(bound, reduce, candidates, cycle):
    one = bound()["HOURS"]
    weighed = replace(one, normalisation=bound()["BIAS"].normalisation, name="another")
    assert binding(weighed) == binding(one)  # editing a normalisation matches and reduces nothing again
    others = [
        replace(one, parameters={"threshold": 9.0}),
        replace(one, window=replace(one.window, hours=12.0)),
        replace(one, variable=bound()["GUST"].variable),
        replace(one, kpi=bound()["CSI"].kpi),
    ]
    assert all(binding(each) != binding(one) for each in others)
    made = night(candidates(*speeds("A", [(9, 5)] * 3)), ("wind_speed",), cycle)
    hashes = {each.params_hash for each in reduce_night(made, [one, *others])}
    assert len(hashes) == 5


def test_a_kpi_on_a_shorter_window_of_its_own(candidates, cycle, bound):
    text = """\
case: X
models: {m: {weather: {path: pairs.csv}}}
kpis:
  ALL: {kpi: wind_speed_bias, normalise: {kind: symmetric_linear, m: 5}}
  LATE: {kpi: wind_speed_bias, normalise: {kind: symmetric_linear, m: 5}, window: {offset: 6, hours: 3}}
"""
    made = night(candidates(*(("A", lead, "wind_speed", lead, 0) for lead in range(24))), ("wind_speed",), cycle)
    whole_day, late = reduce_night(made, bound(text=text).values())
    assert whole(whole_day).sums.error.tolist() == [23 * 24 / 2]
    assert whole(late).sums.error.tolist() == [6 + 7 + 8]
    assert (whole_day.steps, late.steps) == (24, 3)
    assert made.valid[-1] - cycle == timedelta(hours=23)
