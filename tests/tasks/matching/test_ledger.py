"""The ledger: candidates = pairs + reasons, always."""

from __future__ import annotations

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.matching.ledger import ledger, summary

LAW = settings(derandomize=True, deadline=None, max_examples=100)


def candidates(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["station", "variable", "reason"])


def test_counted_by_station_variable_and_reason():
    book = ledger(
        candidates(
            ("B", "wind_speed", "pair"),
            ("A", "wind_speed", "pair"),
            ("A", "wind_speed", "no forecast"),
            ("A", "wind_speed", "pair"),
            ("A", "temperature", "no observation"),
        )
    )
    assert book.to_numpy().tolist() == [
        ["A", "temperature", "no observation", 1],
        ["A", "wind_speed", "no forecast", 1],
        ["A", "wind_speed", "pair", 2],
        ["B", "wind_speed", "pair", 1],
    ]
    assert list(book.columns) == ["station", "variable", "reason", "count"]


def test_the_summary_of_a_card():
    book = ledger(
        candidates(
            ("A", "wind_speed", "pair"),
            ("B", "wind_speed", "pair"),
            ("B", "wind_speed", "no forecast"),
            ("B", "wind_speed", "impossible observation"),
            ("B", "wind_gust", "no observation"),
        )
    )
    assert summary(book) == {
        "wind_gust": {"candidates": 1, "pairs": 0, "left_out": {"no observation": 1}},
        "wind_speed": {"candidates": 4, "pairs": 2, "left_out": {"impossible observation": 1, "no forecast": 1}},
    }


def test_nothing_at_all():
    assert summary(ledger(candidates())) == {}


@LAW
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["A", "NA", "🔥"]),
            st.sampled_from(["wind_speed", "temperature"]),
            st.sampled_from(["pair", "no forecast", "no observation", "impossible forecast"]),
        ),
        max_size=60,
    )
)
def test_candidates_are_pairs_and_reasons(rows):
    for variable, counts in summary(ledger(candidates(*rows))).items():
        assert counts["candidates"] == counts["pairs"] + sum(counts["left_out"].values())
        assert counts["candidates"] == sum(name == variable for _, name, _ in rows)
        assert counts["pairs"] == sum(name == variable and reason == "pair" for _, name, reason in rows)
        assert "pair" not in counts["left_out"]
