"""Unit scores into groups into one total, and the card that shows them."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.errors import BadParameter
from metrics.kpis.kpi import KpiResult
from metrics.scoring.normalise import Normalisation, format_score
from metrics.scoring.scorecard import Scheme, UnitScore, aggregate, score, short_id, unit_score, weighted_mean

NAN = float("nan")

# R-000-12: the worked example, values and figure 2.
EXAMPLE = [
    # id, value, normalisation, text
    ("FB001-BD01", 0.34763, Normalisation("bounded", 0, 1), "34.76"),
    ("FB001-BD02", 0.87355, Normalisation("bounded", 0, 1), "87.36"),
    ("FB001-BD03", -0.2763, Normalisation("bounded", -1, 1), "36.19"),
    ("FB001-SV01", 0.76435, Normalisation("bounded", 0, 1), "76.44"),
    ("FB001-SV02", 1.23864, Normalisation("bounded", 0, 2), "61.93"),
    ("FB001-SV03", 3.489, Normalisation("linear", 0, 5), "30.22"),
]
GROUPS = {
    "Building Damaged": ["FB001-BD01", "FB001-BD02", "FB001-BD03"],
    "Burn Severity": ["FB001-SV01", "FB001-SV02", "FB001-SV03"],
}
B = Scheme("B", groups={"Building Damaged": 2, "Burn Severity": 1})


PERCENT = Normalisation("bounded", 0, 100)


def unit(name: str, value: float | None, normalisation: Normalisation = PERCENT, **more) -> UnitScore:
    result = KpiResult(value, "1", **more)
    return UnitScore(name, name, result, normalisation, 1.0, 0.0, 1.0, unit_score(result, normalisation))


def card(units, groups, scheme, case="FB001"):
    made = {each.id: each for each in units}
    return score(case=case, model="WRF-SFIRE", cycle="2021-08-17T00:00Z", scheme=scheme, groups=groups, units=made)


def test_the_worked_example_row_by_row():  # R-000-12, R-000-14 to R-000-16
    made = card([unit(name, value, how) for name, value, how, _ in EXAMPLE], GROUPS, B)
    assert made.rows() == [
        ("Total Score FB001 agg. B: WRF-SFIRE", "53.91"),
        ("**Group** Building Damaged", "52.77"),
        ("BD01", "34.76"),
        ("BD02", "87.36"),
        ("BD03", "36.19"),
        ("**Group** Burn Severity", "56.20"),
        ("SV01", "76.44"),
        ("SV02", "61.93"),
        ("SV03", "30.22"),
    ]
    assert not made.partial


def test_the_worked_example_is_aggregated_unrounded():  # D-01
    made = card([unit(name, value, how) for name, value, how, _ in EXAMPLE], GROUPS, B)
    damaged = (34.763 + 87.355 + 36.185) / 3
    severity = (76.435 + 61.932 + 30.22) / 3
    assert [group.score for group in made.groups] == pytest.approx([damaged, severity], rel=1e-14)
    assert made.total == pytest.approx((2 * damaged + severity) / 3, rel=1e-14)


@pytest.mark.parametrize(("name", "value", "how", "text"), EXAMPLE, ids=[each[0] for each in EXAMPLE])
def test_the_worked_example_cell_by_cell(name, value, how, text):
    assert format_score(unit(name, value, how).score) == text


IDS = [
    pytest.param("FB001", "FB001-BD01", "BD01", id="the case is left out"),
    pytest.param("FB001", "WX01", "WX01", id="an id without it stays"),
    pytest.param("FB001", "FB0012-X", "FB0012-X", id="another case's is not cut"),
    pytest.param("FB001", "A-FB001-B", "A-FB001-B", id="only at the front"),
]


@pytest.mark.parametrize(("case", "instance", "expected"), IDS)
def test_short_id(case, instance, expected):
    assert short_id(case, instance) == expected


MEANS = [
    pytest.param([80, 20, 50], [1, 1, 2], 200 / 4, id="weights"),
    pytest.param([80, 20], [3, 1], 260 / 4, id="other weights"),
    pytest.param([80, NAN, 50], [1, 1, 2], 180 / 3, id="a missing score carries no weight"),
    pytest.param([80, 20], [1, 0], 80, id="a zero weight changes nothing"),
    pytest.param([NAN, NAN], [1, 1], NAN, id="nothing is there"),
    pytest.param([80, NAN], [0, 1], NAN, id="no weight is left"),
    pytest.param([80], [0], NAN, id="no weight at all"),
    pytest.param([70], [3], 70, id="one alone"),
]


@pytest.mark.parametrize(("scores", "weights", "expected"), MEANS)
def test_weighted_mean(scores, weights, expected):
    assert weighted_mean(scores, weights) == pytest.approx(expected, nan_ok=True)


UNEQUAL = {"Speed": ["a", "b", "c"], "Gusts": ["d"]}
TOTALS = [
    # scheme, unit scores a to d, Speed, Gusts, total
    pytest.param(Scheme("A", by_count=True), (10, 20, 30, 80), 20, 80, 140 / 4, id="the mean: each KPI alike (D-04)"),
    pytest.param(Scheme("C"), (10, 20, 30, 80), 20, 80, 100 / 2, id="groups alike"),
    pytest.param(
        Scheme("B", groups={"Speed": 2}, kpis={"b": 3}), (10, 20, 30, 80), 100 / 5, 80, 120 / 3, id="weights at both"
    ),
    pytest.param(Scheme("D", kpis={"c": 0}), (10, 20, 99, 80), 15, 80, 95 / 2, id="a KPI of no weight"),
    pytest.param(Scheme("E", groups={"Gusts": 0}), (10, 20, 30, 99), 20, 99, 20, id="a group of no weight is shown"),
    pytest.param(Scheme("A", by_count=True), (10, 20, NAN, 80), 15, 80, 110 / 3, id="the mean of what is there"),
    pytest.param(Scheme("A", by_count=True), (10, 20, 30, NAN), 20, NAN, 60 / 3, id="the mean without a group"),
    pytest.param(Scheme("C"), (NAN, NAN, NAN, 80), NAN, 80, 80, id="a group without a score"),
    pytest.param(Scheme("C"), (NAN, NAN, NAN, NAN), NAN, NAN, NAN, id="nothing at all"),
    pytest.param(Scheme("F", kpis={"a": 0, "b": 0}), (1, 2, NAN, 80), NAN, 80, 80, id="only weightless ones are there"),
    pytest.param(Scheme("G", groups={"Speed": 0, "Gusts": 0}), (1, 2, 3, 80), 2, 80, NAN, id="no weight anywhere"),
]


@pytest.mark.parametrize(("scheme", "units", "speed", "gusts", "total"), TOTALS)
def test_aggregate(scheme, units, speed, gusts, total):
    totals = aggregate(dict(zip("abcd", units, strict=True)), UNEQUAL, scheme)
    found = [totals.groups["Speed"], totals.groups["Gusts"], totals.total]
    assert found == pytest.approx([speed, gusts, total], nan_ok=True)


def test_the_mean_scheme_shows_how_many_it_counted():
    totals = aggregate({"a": 1.0, "b": NAN, "c": 3.0, "d": 4.0}, UNEQUAL, Scheme("A", by_count=True))
    assert {name: float(weight) for name, weight in totals.weights.items()} == {"Speed": 2, "Gusts": 1}


@pytest.mark.parametrize(
    "scheme", [Scheme("A", by_count=True), Scheme("B", groups={"Speed": 2}, kpis={"a": 3})], ids=["mean", "weighted"]
)
def test_replicates_give_what_each_gives_alone(scheme):
    replicates = {
        "a": np.array([[10.0, 20.0, NAN], [40.0, 50.0, NAN]]),
        "b": np.array([[NAN, 80.0, NAN], [70.0, 60.0, NAN]]),
        "c": 33.0,  # the same in all of them
        "d": np.array([[5.0, NAN, NAN], [15.0, 25.0, 35.0]]),
    }
    together = aggregate(replicates, UNEQUAL, scheme)
    assert np.shape(together.total) == (2, 3)
    for index in np.ndindex(2, 3):
        alone = aggregate(
            {name: np.broadcast_to(each, (2, 3))[index] for name, each in replicates.items()}, UNEQUAL, scheme
        )
        assert together.total[index] == pytest.approx(float(alone.total), nan_ok=True)
        for name in UNEQUAL:
            group = np.broadcast_to(together.groups[name], (2, 3))[index]
            assert group == pytest.approx(float(alone.groups[name]), nan_ok=True)


WEIGHTS = [
    pytest.param({"kpis": {"a": -1}}, "KPI a", id="negative"),
    pytest.param({"groups": {"Speed": -0.5}}, "group Speed", id="a negative group"),
    pytest.param({"kpis": {"a": NAN}}, "KPI a", id="not a number"),
    pytest.param({"groups": {"Speed": float("inf")}}, "group Speed", id="infinite"),
]


@pytest.mark.parametrize(("weights", "offender"), WEIGHTS)
def test_bad_weights_are_refused(weights, offender):
    with pytest.raises(BadParameter, match=offender):
        Scheme("B", **weights)


PAIR = {"Wind": ["W1", "W2"], "Heat": ["T1"]}


def test_a_kpi_without_a_value_is_left_out_and_listed():  # D-05
    made = card([unit("W1", 80), unit("W2", None, reason="no observation"), unit("T1", 60)], PAIR, Scheme("C"))
    assert made.partial
    assert made.rows() == [
        ("Total Score FB001 agg. C: WRF-SFIRE", "70.00"),
        ("**Group** Wind", "80.00"),
        ("W1", "80.00"),
        ("W2", "n/a"),
        ("**Group** Heat", "60.00"),
        ("T1", "60.00"),
    ]
    assert made.units[1].result.reason == "no observation"


def test_observations_of_one_variable_all_missing():  # SPEC part 4: n/a, partial, never NaN
    made = card([unit("W1", 80), unit("W2", 40), unit("T1", None, reason="no observation")], PAIR, Scheme("A"))
    assert (made.total, made.partial) == (60, True)
    assert (made.groups[1].score, made.units[2].score) == (None, None)


def test_nothing_has_a_value():
    made = card([unit(name, None) for name in ("W1", "W2", "T1")], PAIR, Scheme("C"))
    assert (made.total, made.partial) == (None, True)
    assert [text for _, text in made.rows()] == ["n/a"] * 6


def test_what_a_model_does_not_offer_does_not_make_its_night_partial():  # D-05
    made = card([unit("W1", 80), unit("W2", None, offered=False), unit("T1", 60)], PAIR, Scheme("C"))
    assert (made.total, made.partial) == (70, False)
    assert dict(made.rows())["W2"] == "n/a"


def test_a_model_that_offers_nothing_has_a_partial_card():
    made = card([unit(name, None, offered=False) for name in ("W1", "W2", "T1")], PAIR, Scheme("C"))
    assert (made.total, made.partial) == (None, True)


WEIGHTLESS = [
    pytest.param(Scheme("B", kpis={"W2": 0}), id="of itself"),
    pytest.param(Scheme("B", groups={"Wind": 0}), id="of its group"),
]


@pytest.mark.parametrize("scheme", WEIGHTLESS)
def test_a_missing_kpi_of_no_weight_leaves_the_card_whole(scheme):
    assert not card([unit("W1", 80), unit("W2", None), unit("T1", 60)], PAIR, scheme).partial


def test_too_many_holes_score_zero_and_keep_their_weight():  # D-17: unit scores 80, 70, 20 must not become 75
    units = [unit("W1", 80), unit("W2", 70, penalised=True), unit("T1", 60)]
    made = card(units, PAIR, Scheme("C"))
    assert made.units[1].score == 0
    assert made.groups[0].score == 40
    assert made.total == 50
    assert not made.partial


def test_a_penalised_kpi_without_a_value_scores_zero_as_well():
    assert unit_score(KpiResult(None, "1", penalised=True), Normalisation("linear", 0, 5)) == 0


def test_a_partial_total_does_not_gain_silently_by_losing_its_worst():
    whole = card([unit("W1", 80), unit("W2", 70), unit("T1", 20)], PAIR, Scheme("A", by_count=True))
    without = card([unit("W1", 80), unit("W2", 70), unit("T1", None)], PAIR, Scheme("A", by_count=True))
    assert (whole.total, whole.partial) == (pytest.approx(170 / 3), False)
    assert (without.total, without.partial) == (75, True)


def test_the_card_keeps_the_weights_of_its_scheme():
    scheme = Scheme("B", groups={"Wind": 2}, kpis={"W2": 3})
    made = card([unit("W1", 80), unit("W2", 40), unit("T1", 60)], PAIR, scheme)
    assert [group.weight for group in made.groups] == [2, 1]
    assert [each.weight for each in made.units] == [1, 3, 1]
    assert made.total == pytest.approx((2 * 50 + 60) / 3)
    assert (made.case, made.scheme, made.model) == ("FB001", "B", "WRF-SFIRE")


def test_one_case_many_schemes():  # R-000-06 to R-000-09
    units = [unit("W1", 90), unit("W2", 30), unit("T1", 0)]
    totals = [card(units, PAIR, scheme).total for scheme in (Scheme("A", by_count=True), Scheme("B"))]
    assert totals == pytest.approx([40, 30])


def test_a_card_holds_plain_numbers():
    made = card([unit("W1", 80), unit("W2", 40), unit("T1", 60)], PAIR, Scheme("A", by_count=True))
    assert type(made.total) is float
    assert all(type(each.score) is float and type(each.weight) is float for each in made.groups)
    assert all(type(each.score) is float for each in made.units)
