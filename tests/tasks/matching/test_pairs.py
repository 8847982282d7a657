"""From a table of pairs to one model's candidates: which count, which do not, and why."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.window import LocalHours, Window
from metrics.errors import BadInput, MissingInput
from metrics.variables import VARIABLES
from tasks.matching.ledger import ledger
from tasks.matching.pairs import Matched, match_pairs

LAW = settings(
    derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CYCLE = datetime(2026, 11, 17, 0, tzinfo=UTC)
DAY = Window()
NAN = float("nan")


def row(
    model="gfs", hour=0.0, forecast=5.0, observed=4.0, *, station="A", variable="wind_speed", unit=None, cycle=CYCLE
):
    """One pair; `hour` is the lead."""
    return {
        "model": model,
        "station": station,
        "lat": 39.0,
        "lon": -120.0,
        "cycle": f"{cycle:%Y-%m-%dT%H:%MZ}",
        "valid_time": f"{cycle + timedelta(hours=hour):%Y-%m-%dT%H:%MZ}",
        "variable": variable,
        "unit": unit or VARIABLES[variable].unit,
        "forecast": forecast,
        "observed": observed,
    }


@pytest.fixture
def match(tmp_path):
    """One model's candidates from rows (a list of them is one file)."""

    def matched(*files: list[dict], model="gfs", cycle=CYCLE, window=DAY) -> Matched:
        paths = []
        for number, rows in enumerate(files):
            paths.append(tmp_path / f"pairs{number}.csv")
            pd.DataFrame(rows).to_csv(paths[-1], index=False)
        return match_pairs(paths, model, cycle, window, VARIABLES)

    return matched


def outcomes(matched: Matched, variable="wind_speed", station="A") -> dict[float, str]:
    """The reason at each lead of one station."""
    table = matched.table
    table = table[(table["variable"] == variable) & (table["station"] == station)]
    leads = (table["valid_time"] - pd.Timestamp(CYCLE)) / pd.Timedelta(hours=1)
    return dict(zip(leads, table["reason"], strict=True))


def test_the_model_s_own_rows(match):
    table = match([row(hour=0, forecast=5), row(hour=1, forecast=6), row("nam", 0, forecast=9)]).table
    assert table["forecast"].tolist() == [5, 6]
    assert table["observed"].tolist() == [4, 4]
    assert table["reason"].tolist() == ["pair", "pair"]
    assert list(table.columns) == ["station", "lat", "lon", "valid_time", "variable", "forecast", "observed", "reason"]


def test_the_reasons(match):
    leads = outcomes(
        match(
            [
                row(hour=0),
                row(hour=1, forecast=NAN),
                row(hour=2, observed=NAN),
                row(hour=3, forecast=NAN, observed=NAN),
                row(hour=4, forecast=-9999),
                row(hour=5, observed=-9999),
                row(hour=6, forecast=-9999, observed=-9999),
                row(hour=7, forecast=-9999, observed=NAN),
                row(hour=8, forecast=1e20),
            ]
        )
    )
    assert leads == {
        0: "pair",
        1: "no forecast",
        2: "no observation",
        3: "no observation",
        4: "impossible forecast",
        5: "impossible observation",
        6: "impossible observation",
        7: "no observation",
        8: "impossible forecast",
    }


IMPOSSIBLE = [
    ("wind_speed", -0.1, 120.1),
    ("wind_direction", -1.0, 361.0),
    ("wind_gust", -0.1, 151.0),
    ("temperature", -273.0, 99.0),
    ("relative_humidity", -1.0, 111.0),
]


@pytest.mark.parametrize(("variable", "low", "high"), IMPOSSIBLE)
def test_impossible_values_never_become_numbers(match, variable, low, high):
    rows = [row(hour=0, variable=variable, forecast=low, observed=50), row(hour=1, variable=variable, observed=high)]
    rows.append(row(hour=2, variable=variable, forecast=20, observed=30))
    table = match(rows).table
    assert table["reason"].tolist() == ["impossible forecast", "impossible observation", "pair"]
    assert table["forecast"].isna().tolist() == [True, False, False]
    assert table["observed"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("variable", "values"), [("wind_direction", (0, 360)), ("wind_speed", (0, 120)), ("relative_humidity", (0, 100))]
)
def test_the_ends_of_what_is_possible_are_possible(match, variable, values):
    rows = [row(hour=hour, variable=variable, forecast=value, observed=value) for hour, value in enumerate(values)]
    assert match(rows).table["reason"].tolist() == ["pair", "pair"]


def test_bounds_hold_after_conversion(match):
    # 212 °F are 100 °C, which no thermometer in the shade shows; 104 °F are 40 °C.
    rows = [
        row(hour=hour, variable="temperature", unit="degF", forecast=value, observed=50)
        for hour, value in enumerate((212, 104))
    ]
    assert match(rows).table["reason"].tolist() == ["impossible forecast", "pair"]


def test_a_point_that_only_another_model_has_is_a_missing_forecast(match):
    # D-17: the observation was there; the model did not answer.
    rows = [row("gfs", hour) for hour in (0, 1, 3)] + [row("nam", hour) for hour in range(5)]
    leads = outcomes(match(rows))
    assert leads == {0: "pair", 1: "pair", 2: "no forecast", 3: "pair", 4: "no forecast"}


def test_a_station_that_only_another_model_has(match):
    rows = [row("gfs", hour) for hour in range(3)] + [row("nam", hour, station="B", observed=7) for hour in range(3)]
    matched = match(rows)
    assert outcomes(matched, station="B") == dict.fromkeys([0, 1, 2], "no forecast")
    assert matched.table.loc[matched.table["station"] == "B", "observed"].tolist() == [7, 7, 7]


def test_another_model_s_missing_observation_asks_for_nothing(match):
    rows = [row("gfs", 0), row("gfs", 1), row("nam", 2, observed=NAN)]
    assert outcomes(match(rows)) == {0: "pair", 1: "pair"}


def test_only_the_model_s_own_step_counts(match):
    # D-74: a three-hourly model is not asked for the hours between; D-17: its coverage is 1.
    rows = [row("gfs", hour) for hour in range(0, 24, 3)] + [row("nam", hour) for hour in range(24)]
    assert outcomes(match(rows)) == dict.fromkeys(range(0, 24, 3), "pair")
    assert len(outcomes(match(rows, model="nam"))) == 24


def test_a_gap_in_a_three_hourly_model_is_a_gap(match):
    rows = [row("gfs", hour) for hour in range(0, 24, 3) if hour != 12] + [row("nam", hour) for hour in range(24)]
    assert outcomes(match(rows)) == {hour: "no forecast" if hour == 12 else "pair" for hour in range(0, 24, 3)}


def test_the_step_of_the_case_comes_first(match):
    rows = [row("gfs", hour) for hour in range(0, 24, 6)] + [row("nam", hour) for hour in range(24)]
    leads = outcomes(match(rows, window=Window(step=3)))
    assert leads == {hour: "no forecast" if hour % 6 else "pair" for hour in range(0, 24, 3)}


def test_a_single_valid_time_asks_for_itself_only(match):
    rows = [row("gfs", 6), row("nam", 6, station="B"), row("nam", 7)]
    matched = match(rows)
    assert outcomes(matched) == {6: "pair"}
    assert outcomes(matched, station="B") == {6: "no forecast"}


def test_a_variable_the_model_never_offers_is_not_offered(match):
    # D-05: not a fault of that night.
    rows = [row("gfs", 0), row("nam", 0), row("nam", 0, variable="wind_gust")]
    assert match(rows).offered == ("wind_speed",)
    assert match(rows, model="nam").offered == ("wind_gust", "wind_speed")


def test_a_variable_of_another_night_is_offered(match):
    yesterday = CYCLE - timedelta(days=1)
    rows = [row("gfs", 0), row("gfs", 0, variable="wind_gust", cycle=yesterday)]
    assert match(rows).offered == ("wind_gust", "wind_speed")


def test_only_the_cycle_and_the_window(match):
    rows = [row(hour=hour) for hour in (-1, 0, 23, 24, 25)] + [
        row(hour=0, cycle=CYCLE - timedelta(days=1), forecast=99)
    ]
    assert outcomes(match(rows)) == {0: "pair", 23: "pair"}
    assert list(outcomes(match(rows, window=Window(closed="both")))) == [0, 23, 24]
    assert list(outcomes(match(rows, window=Window(first_lead=1)))) == [23]
    assert list(outcomes(match(rows, window=Window(offset=24)))) == [24, 25]


def test_a_card_never_stitches_cycles(match):
    # D-71: the 12Z run of yesterday is valid at the same times and is another cycle.
    earlier = CYCLE - timedelta(hours=12)
    rows = [row(hour=0), *(row(hour=hour, cycle=earlier) for hour in range(12, 36))]
    assert outcomes(match(rows)) == {0: "pair"}


def test_local_hours(match):
    window = Window(hours=10, local=LocalHours.parse("10:00-20:00 America/Los_Angeles, standard"))
    assert list(outcomes(match([row(hour=hour) for hour in range(48)], window=window))) == list(range(18, 28))


def test_several_files_are_one_table(match):
    matched = match([row(hour=0)], [row(hour=1), row("nam", 2)])
    assert outcomes(matched) == {0: "pair", 1: "pair", 2: "no forecast"}


def test_a_pair_in_two_files_is_named(match):
    with pytest.raises(
        BadInput, match=r"pairs0\.csv, pairs1\.csv: wind_speed at station 'A', 2026-11-17T01:00Z: .*two files"
    ):
        match([row(hour=0), row(hour=1)], [row(hour=1)])


def test_a_file_without_a_model_column_is_the_model_s_own(match):
    without = [{name: value for name, value in row(hour=hour).items() if name != "model"} for hour in range(2)]
    assert outcomes(match(without)) == {0: "pair", 1: "pair"}
    assert outcomes(match(without, [row(hour=2), row("nam", 3)])) == {0: "pair", 1: "pair", 2: "pair", 3: "no forecast"}


def test_no_row_of_the_model_lists_those_that_are_there(match):
    with pytest.raises(MissingInput, match=r"pairs0\.csv: no row of model 'hrrr'; models here: gfs, nam$"):
        match([row("gfs"), row("nam")], model="hrrr")
    many = [row(f"m{number:02d}") for number in range(20)]
    with pytest.raises(MissingInput, match=r"m00, m01, .*m07 and 12 more$"):
        match(many, model="hrrr")


def test_no_row_of_the_cycle_lists_those_that_are_there(match):
    with pytest.raises(MissingInput, match=r"model 'gfs' has no cycle 2026-11-18T00; cycles here: 2026-11-17T00$"):
        match([row(), row("nam", cycle=CYCLE + timedelta(days=1))], cycle=CYCLE + timedelta(days=1))


def test_no_row_in_the_window_says_which_window(match):
    with pytest.raises(
        BadInput, match=r"model 'gfs' has no pair in the window \[2026-11-17T00:00Z, 2026-11-18T00:00Z\["
    ):
        match([row(hour=30), row("nam", 0)])


def test_sorted_whatever_the_order_of_the_rows(match):
    rows = [row(hour=hour, station=station) for hour in (2, 0, 1) for station in "CAB"]
    first, second = match(rows).table, match(rows[::-1]).table
    pd.testing.assert_frame_equal(first, second)
    assert first["station"].tolist() == ["A"] * 3 + ["B"] * 3 + ["C"] * 3


VALUES = st.sampled_from([NAN, -9999.0, 0.0, 5.0, 119.0, 500.0])


@st.composite
def tables(draw):
    """Rows of two models; the observations of a point are the same in both."""
    points = draw(
        st.dictionaries(
            st.tuples(st.sampled_from("AB"), st.integers(-2, 26), st.sampled_from(["wind_speed", "temperature"])),
            VALUES,
            min_size=1,
            max_size=25,
        )
    )
    rows = [row("gfs", 0, station="Z")]
    for (station, hour, variable), observed in points.items():
        models = draw(st.sampled_from([("gfs",), ("nam",), ("gfs", "nam")]))
        rows += [row(each, hour, draw(VALUES), observed, station=station, variable=variable) for each in models]
    return rows


@LAW
@given(rows=tables())
def test_candidates_are_pairs_and_reasons(match, rows):
    """Counted once more by hand, point by point."""
    table = match(rows).table
    inside = [each for each in rows if CYCLE <= pd.Timestamp(each["valid_time"]) < CYCLE + timedelta(hours=24)]
    own = {(each["station"], each["valid_time"], each["variable"]): each for each in inside if each["model"] == "gfs"}
    hours = sorted({pd.Timestamp(each["valid_time"]) for each in own.values()})
    gaps = Counter(later - earlier for earlier, later in pairwise(hours))
    step = min((gap for gap, count in gaps.items() if count == max(gaps.values())), default=None)
    expected = Counter((station, variable) for station, _, variable in own)
    absent = {
        (each["station"], each["valid_time"], each["variable"])
        for each in inside
        if each["model"] == "nam" and not np.isnan(each["observed"])
    } - own.keys()
    for station, valid, variable in absent:
        away = pd.Timestamp(valid) - hours[0]
        if (step is None and away == timedelta(0)) or (step is not None and away % step == timedelta(0)):
            expected[station, variable] += 1
    book = ledger(table)
    counted = book.groupby(["station", "variable"])["count"].sum()
    assert {key: int(count) for key, count in counted.items()} == dict(expected)
    assert len(table) == sum(expected.values())
    paired = table["reason"] == "pair"
    assert (table["forecast"].notna() & table["observed"].notna())[paired].all()
    assert not (table["forecast"].notna() & table["observed"].notna())[~paired].any()
    assert not table.duplicated(["station", "valid_time", "variable"]).any()


@LAW
@given(rows=tables(), seed=st.integers(0, 100))
def test_the_order_of_rows_changes_nothing(match, rows, seed):
    shuffled = [rows[index] for index in np.random.default_rng(seed).permutation(len(rows))]
    pd.testing.assert_frame_equal(match(rows).table, match(shuffled).table)


def test_files_are_named_without_their_folder(match, tmp_path: Path):
    with pytest.raises(MissingInput) as refused:
        match([row()], model="x")
    assert str(tmp_path) not in str(refused.value)
