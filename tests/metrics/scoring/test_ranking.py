"""Winners, shares of wins and the order of models, worked by hand."""

from __future__ import annotations

import pytest

from metrics.errors import BadParameter
from metrics.kpis.kpi import KpiResult
from metrics.scoring.normalise import Normalisation
from metrics.scoring.ranking import Contest, colour, contest, percent, rank, rank_cards, tier, wins_text
from metrics.scoring.scorecard import Scheme, UnitScore, score

CONTESTS = [
    pytest.param({"a": (0.5, 1, 1), "b": (0.8, 0, 0)}, "sole", ("b",), {"b": 1.0}, id="the higher F1"),
    pytest.param({"a": (0.8, 0.7, 1), "b": (0.8, 0.9, 0)}, "sole", ("b",), {"b": 1.0}, id="then precision"),
    pytest.param({"a": (0.8, 0.7, 0.4), "b": (0.8, 0.7, 0.5)}, "sole", ("b",), {"b": 1.0}, id="then recall"),
    pytest.param({"a": (1,), "b": (1,), "c": (0,)}, "shared", ("a", "b"), {"a": 0.5, "b": 0.5}, id="shared by two"),
    pytest.param({"a": (1,), "b": (1,), "c": (1,)}, "tie", ("a", "b", "c"), {}, id="all alike"),
    pytest.param({"a": (0,), "b": (0,)}, "tie", ("a", "b"), {}, id="all at nothing"),  # R-002-34
    pytest.param({"a": (0.9,)}, "tie", ("a",), {}, id="a single model"),  # D-36
    pytest.param({"a": (0.1 + 0.2,), "b": (0.3,), "c": (0.2,)}, "shared", ("a", "b"), {"a": 0.5, "b": 0.5}, id="noise"),
]


@pytest.mark.parametrize(("marks", "outcome", "winners", "wins"), CONTESTS)
def test_contest(marks, outcome, winners, wins):
    found = contest("field", marks)
    assert (found.outcome, found.winners, found.wins) == (outcome, winners, wins)


def test_a_contest_needs_somebody():
    with pytest.raises(BadParameter, match="field"):
        contest("field", {})


def test_tie_breaks_in_their_order():  # R-002-35, D-38
    marks = {
        "best": (0.9, 0.1, 0.1),
        "precise": (0.8, 0.9, 0.1),
        "recalling": (0.8, 0.8, 0.9),
        "winner": (0.8, 0.8, 0.8),
        "beta": (0.8, 0.8, 0.8),
        "Alpha": (0.8, 0.8, 0.8),
        "alpha": (0.8, 0.8, 0.8),
    }
    ranking = rank(marks, [Contest("field", "sole", ("winner",))], ("F1", "precision", "recall"), won="fields won")
    assert [(place.rank, place.model, place.decided_by) for place in ranking.places] == [
        (1, "best", ""),
        (2, "precise", "F1"),
        (3, "recalling", "precision"),
        (4, "winner", "recall"),
        (5, "Alpha", "fields won"),
        (6, "alpha", "alphabetical order"),
        (7, "beta", "alphabetical order"),
    ]
    assert ranking.places[3].wins == 1.0


TIERS = [
    (1.0, "Excellent", "green"),
    (0.9, "Excellent", "green"),
    ((0.85 + 0.95) / 2, "Excellent", "green"),  # 0.8999999999999999 in floating point
    (0.89999, "Good", "yellow"),  # D-37, though it shows 90.0 %
    (0.7, "Good", "yellow"),
    (0.69999, "Needs Improvement", "red"),
    (0.0, "Needs Improvement", "red"),
]


@pytest.mark.parametrize(("value", "name", "shade"), TIERS)
def test_tiers(value, name, shade):
    assert (tier(value), colour(value)) == (name, shade)


def test_percentages_have_one_decimal_half_up():  # D-42
    assert [percent(each) for each in (2 / 3, 0.0005, 0.00049, 0.89999, 1.0)] == [
        "66.7 %",
        "0.1 %",
        "0.0 %",
        "90.0 %",
        "100.0 %",
    ]


def test_wins_are_whole_where_they_can_be():  # D-39
    assert [wins_text(each) for each in (0, 3.0, 5.5, 1 / 3, 1 / 3 + 1 / 3 + 1 / 3)] == ["0", "3", "5.5", "0.3", "1"]


NORMALISATION = Normalisation("bounded", 0.0, 1.0)
GROUPS = {"Speed": ("A1", "A2"), "Gusts": ("B1",)}


def card(model, scheme, **scores):
    units = {
        name: UnitScore(name, name, KpiResult(None, "1"), NORMALISATION, 1.0, 0.0, 1.0, scores.get(name))
        for name in ("A1", "A2", "B1")
    }
    return score(case="CASE", model=model, cycle="now", scheme=scheme, groups=GROUPS, units=units)


def test_a_partial_total_is_never_ranked_against_a_complete_one():  # D-05: 80/70/20 must not become 75
    mean = Scheme("A", by_count=True)
    whole = card("whole", mean, A1=81.0, A2=71.0, B1=20.0)
    lucky = card("lucky", mean, A1=80.0, A2=70.0)
    assert whole.total == (81 + 71 + 20) / 3
    assert lucky.total == 75.0
    common = rank_cards([lucky, whole], mean)
    assert [(place.model, place.marks) for place in common.ranking.places] == [("whole", (76.0,)), ("lucky", (75.0,))]
    assert common.kpis == ("A1", "A2")
    assert common.left_out == {"B1": "no score of lucky"}
    assert [(each.name, each.winners) for each in common.ranking.contests] == [("A1", ("whole",)), ("A2", ("whole",))]


def test_weights_count_in_the_ranking():
    heavy = Scheme("B", groups={"Gusts": 3})
    common = rank_cards(
        [card("calm", heavy, A1=90.0, A2=90.0, B1=10.0), card("gusty", heavy, A1=20.0, A2=20.0, B1=60.0)], heavy
    )
    assert {place.model: place.marks for place in common.ranking.places} == {
        "gusty": ((20 + 3 * 60) / 4,),
        "calm": ((90 + 3 * 10) / 4,),
    }
    assert [place.model for place in common.ranking.places] == ["gusty", "calm"]


def test_models_with_nothing_in_common_are_not_ranked():
    mean = Scheme("A", by_count=True)
    common = rank_cards([card("one", mean, A1=50.0), card("two", mean, B1=60.0)], mean)
    assert common.ranking.places == ()
    assert common.kpis == ()
    assert common.totals == {"one": None, "two": None}
