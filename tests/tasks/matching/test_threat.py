"""Fires of two sides, joined by id: nobody is lost without a word, and files give back what was written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metrics.errors import BadInput
from tasks.matching.threat import match_fires, read_fires, read_sample, sample_of, write_fires, write_sample

HORIZONS = (12.0, 24.0)


def forecasts(*fires: str) -> pd.DataFrame:
    values = np.linspace(0.2, 0.8, len(fires))
    rows = range(2, 2 + len(fires))
    return pd.DataFrame({"fire": fires, "row": rows, "file": "p.csv", 12.0: values, 24.0: 1 - values})


def outcomes(*fires: str) -> pd.DataFrame:
    rows = range(2, 2 + len(fires))
    event = [at % 2 == 0 for at in range(len(fires))]
    return pd.DataFrame({"fire": fires, "row": rows, "file": "o.csv", "time": 10.0, "event": event})


def matched(one: pd.DataFrame, other: pd.DataFrame, unmatched: str = "refuse"):
    return match_fires(one, other, horizons=HORIZONS, unmatched=unmatched, how={"fires": "joined by id"})


def test_the_order_of_the_tables_does_not_matter():
    fires = matched(forecasts("b", "a", "c"), outcomes("c", "a", "b"))
    cohort = fires.cohort()
    assert cohort.fires.tolist() == ["a", "b", "c"]
    assert cohort.at(12.0).tolist() == [0.5, 0.2, 0.8]
    assert cohort.event.tolist() == [False, True, True]
    assert fires.table["reason"].tolist() == ["pair"] * 3


ONE_SIDED = [
    pytest.param(
        ("a", "b", "x"),
        ("a", "b"),
        r"p\.csv: row 4: the fire 'x' has a probability but no outcome in o\.csv;",
        id="extra",
    ),
    pytest.param(
        ("a",), ("a", "b", "c"), r"o\.csv: row 3: the fire 'b' has an outcome but no probability .*2 such", id="absent"
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "message"), ONE_SIDED)
def test_a_fire_on_one_side_only_is_refused(ours, theirs, message):
    with pytest.raises(BadInput, match=message):
        matched(forecasts(*ours), outcomes(*theirs))


def test_or_left_out_and_accounted_for():
    fires = matched(forecasts("a", "b", "x"), outcomes("a", "b", "c"), "leave_out")
    assert dict(zip(fires.table["fire"], fires.table["reason"], strict=True)) == {
        "a": "pair",
        "b": "pair",
        "c": "no forecast",
        "x": "no observation",
    }
    sample = sample_of(fires, repair=False)
    assert sample.left_out == {"no forecast": 1, "no observation": 1}
    assert (len(sample.cohort.time), sample.expected) == (2, 3)


def test_nothing_in_common():
    with pytest.raises(BadInput, match=r"p\.csv and o\.csv have no fire in common"):
        matched(forecasts("a"), outcomes("b"), "leave_out")


def test_files_give_back_what_was_written(tmp_path):
    fires = matched(forecasts("a", "NA", "日本 🔥", "d"), outcomes("a", "NA", "日本 🔥", "e"), "leave_out")
    write_fires(tmp_path / "fires", fires)
    again = read_fires(tmp_path / "fires")
    assert (again.horizons, again.how) == (fires.horizons, fires.how)
    pd.testing.assert_frame_equal(again.table, fires.table, check_dtype=False)
    for repair in (False, True):
        sample = sample_of(again, repair=repair)
        write_sample(tmp_path / "sample", sample, {"case": "T"})
        back = read_sample(tmp_path / "sample")
        assert (back.repaired, back.left_out) == (repair, {"no forecast": 1, "no observation": 1})
        np.testing.assert_array_equal(back.cohort.fires, sample.cohort.fires)
        np.testing.assert_array_equal(back.cohort.probability, sample.cohort.probability)
        # a: 0.2 then 0.8, NA: 0.4 then 0.6, the third: 0.6 then 0.4 (or sorted); the fall is that before the repair.
        np.testing.assert_allclose(np.sort(back.falls), [0, 0, 0.2])
        assert back.cohort.violating().any() != repair
