"""Fire threat by hand: pairs, outcomes at a horizon, Brier scores, falling probabilities and calibration."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.errors import BadParameter, BadValue, MismatchedSample, Undefined
from metrics.survival import (
    Bin,
    brier_score,
    calibration,
    concordance_index,
    decrease,
    hybrid_score,
    outcome,
    pair_counts,
    penalised,
    repaired,
    violates,
    weighted_brier,
)

ORDERS = [
    # risk, time, event, comparable and C-index by "all", then by "harrell"
    pytest.param([0.9, 0.4], [10, 30], [1, 1], (1, 1.0), (1, 1.0), id="the earlier hit has the higher risk"),
    pytest.param([0.4, 0.9], [10, 30], [1, 1], (1, 0.0), (1, 0.0), id="the later hit has the higher risk"),
    pytest.param([0.9, 0.4], [20, 72], [1, 0], (1, 1.0), (1, 1.0), id="a hit above a fire watched longer"),
    pytest.param([0.9, 0.4], [20, 15], [1, 0], (1, 1.0), (0, None), id="a fire censored before the hit"),
    pytest.param([0.9, 0.4], [20, 20], [1, 0], (1, 1.0), (1, 1.0), id="a fire censored at the time of the hit"),
    pytest.param([0.9, 0.4], [20, 20], [1, 1], (0, None), (0, None), id="two hits at the same time"),
    pytest.param([0.5, 0.5], [10, 30], [1, 1], (1, 0.5), (1, 0.5), id="a tie counts one half"),
    pytest.param([0.9, 0.4], [10, 30], [0, 0], (0, None), (0, None), id="two censored fires"),
    pytest.param([0.9], [10], [1], (0, None), (0, None), id="one fire"),
    # hits at 5 (0.8), 9 (0.3); censored at 4 (0.5), 20 (0.3). Hits: right. 5: above both. 9: below 0.5, equal to 0.3.
    pytest.param([0.8, 0.3, 0.5, 0.3], [5, 9, 4, 20], [1, 1, 0, 0], (5, 3.5 / 5), (3, 2.5 / 3), id="four fires"),
]


@pytest.mark.parametrize("pairing", ["all", "harrell"])
@pytest.mark.parametrize(("risk", "time", "event", "by_all", "by_harrell"), ORDERS)
def test_order(risk, time, event, by_all, by_harrell, pairing):
    comparable, expected = by_all if pairing == "all" else by_harrell
    assert pair_counts(risk, time, event, pairing=pairing).comparable == comparable
    if expected is None:
        with pytest.raises(Undefined, match="no two fires can be compared"):
            concordance_index(risk, time, event, pairing=pairing)
    else:
        assert concordance_index(risk, time, event, pairing=pairing) == pytest.approx(expected, abs=1e-15)


def test_every_pair_has_one_kind():
    # Hits at 5, 5, 9 h; censored at 4, 5 and 20 h.
    time, event = [5, 5, 9, 4, 5, 20], [1, 1, 1, 0, 0, 0]
    counts = pair_counts([0.6, 0.5, 0.4, 0.3, 0.2, 0.1], time, event)
    assert (counts.event_event, counts.event_censored, counts.simultaneous) == (2, 9, 1)
    assert (counts.censored_before, counts.censored_censored, counts.pairs) == (0, 3, 15)
    assert (counts.concordant, counts.tied, counts.discordant) == (11, 0, 0)
    counts = pair_counts([0.6, 0.5, 0.4, 0.3, 0.2, 0.1], time, event, pairing="harrell")
    # Before the hits at 5 h one was censored, before the one at 9 h two were.
    assert (counts.event_event, counts.event_censored, counts.censored_before) == (2, 5, 4)
    assert counts.pairs == 15


def test_the_seeds_pair_counts():  # R-004-06: 69 hits and 152 censored, whatever their times, as long as hits differ
    time = np.concatenate([np.linspace(1, 70, 69), np.linspace(0.5, 66.99, 152)])
    counts = pair_counts(np.zeros(221), time, np.repeat([1, 0], [69, 152]))
    assert (counts.event_event, counts.event_censored, counts.comparable) == (2_346, 10_488, 12_834)
    assert (counts.censored_censored, counts.pairs) == (11_476, 24_310)
    assert round(100 * counts.comparable / counts.pairs, 1) == 52.8


OUTCOMES = [
    pytest.param(30, 1, 1.0, id="hit before"),
    pytest.param(48, 1, 1.0, id="hit at the horizon itself"),
    pytest.param(60, 1, 0.0, id="hit later"),
    pytest.param(72, 0, 0.0, id="censored later"),
    pytest.param(48, 0, 0.0, id="censored at the horizon itself"),
    pytest.param(40, 0, np.nan, id="censored before"),
]


@pytest.mark.parametrize(("time", "event", "expected"), OUTCOMES)
def test_outcome_at_48_hours(time, event, expected):  # R-004-10 to R-004-14
    np.testing.assert_equal(outcome([time], [event], horizon=48), [expected])


TIME, EVENT = [30, 60, 72, 40], [1, 1, 0, 0]  # 1, 0, 0 and excluded at 48 h


def test_brier_score():
    assert brier_score([0.8, 0.3, 0.1, 0.9], TIME, EVENT, horizon=48) == pytest.approx((0.04 + 0.09 + 0.01) / 3)


def test_a_perfect_forecast_and_the_worst():
    assert brier_score([1, 0, 0, 0.4], TIME, EVENT, horizon=48) == 0
    assert brier_score([0, 1, 1, 0.4], TIME, EVENT, horizon=48) == 1
    assert brier_score([0.5] * 4, TIME, EVENT, horizon=48) == 0.25


def test_weighted_brier():
    # 24 h: nobody hit yet, nobody excluded: mean of squares. 48 h: as above. 72 h: hits 1 and 1, censored at 72: 0.
    probability = [[0.1, 0.8, 1.0], [0.1, 0.3, 0.5], [0.1, 0.1, 0.0], [0.1, 0.9, 0.9]]
    by_hand = (0.3 * 0.01 + 0.4 * 0.14 / 3 + 0.3 * 0.25 / 3) / 1.0
    assert weighted_brier(probability, TIME, EVENT, horizons=(24, 48, 72), weights=(0.3, 0.4, 0.3)) == pytest.approx(
        by_hand
    )


def test_a_horizon_at_which_nothing_is_known_gives_its_weight_to_the_others():  # D-57
    time, event, probability = [30, 40], [0, 0], [[0.2, 0.9], [0.4, 0.9]]
    found = weighted_brier(probability, time, event, horizons=(24, 48), weights=(0.3, 0.7))
    assert found == pytest.approx((0.04 + 0.16) / 2)


def test_nothing_known_at_all_is_undefined():
    with pytest.raises(Undefined, match="no fire is known"):
        weighted_brier([[0.5]], [10], [0], horizons=(24,), weights=(1,))
    with pytest.raises(Undefined, match="by 24 h"):
        brier_score([0.5], [10], [0], horizon=24)


def test_hybrid_and_penalty():  # R-004-01, D-58
    assert hybrid_score(0.9, 0.1) == pytest.approx(0.3 * 0.9 + 0.7 * 0.9)
    assert hybrid_score(0.6, 0.2, c_index_weight=1, brier_weight=3) == pytest.approx((0.6 + 3 * 0.8) / 4)
    assert hybrid_score(1, 0) == 1
    assert hybrid_score(0, 1) == 0
    assert penalised(0.8, 0.25) == pytest.approx(0.6)
    assert penalised(0.8, 0.25, penalty=0.5) == pytest.approx(0.7)
    assert penalised(0.8, 0.0) == 0.8


def test_falling_probabilities():
    probability = [[0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.4], [0.2, 0.2, 0.2, 0.2], [0.5, 0.5 - 5e-10, 0.6, 0.7]]
    np.testing.assert_allclose(decrease(probability), [0, 0.1, 0, 5e-10])
    np.testing.assert_equal(violates(probability), [False, True, False, False])
    np.testing.assert_equal(repaired(probability)[1], [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_equal(violates([[0.3], [0.1]]), [False, False])


def test_calibration():  # D-60: [0, 0.1), … [0.9, 1]; the fire censored before the horizon is in no bin
    time, event = [30, 60, 72, 40, 10, 90, 5], [1, 1, 0, 0, 1, 0, 1]
    found = calibration([0.3, 0.35, 0.05, 0.5, 1.0, 0.3, 0.95], time, event, horizon=48)
    assert found == (
        Bin(0.0, 0.1, 0.05, 0.0, 1),
        Bin(0.3, 0.4, pytest.approx(0.95 / 3), pytest.approx(1 / 3), 3),
        Bin(0.9, 1.0, pytest.approx(0.975), 1.0, 2),
    )


@pytest.mark.parametrize("edge", [0.1, 0.2, 0.3, 0.6, 0.7])
def test_a_probability_on_the_edge_of_two_bins_is_in_the_upper_one(edge):
    (only,) = calibration([edge], [1], [1], horizon=24)
    assert only.low == edge


BAD = [
    pytest.param([0.5, 1.2], [1, 2], [1, 0], BadValue, "fire 1: probability 1.2", id="above one"),
    pytest.param([-0.1, 0.2], [1, 2], [1, 0], BadValue, "fire 0: probability -0.1", id="below zero"),
    pytest.param([0.5, np.nan], [1, 2], [1, 0], BadValue, "fire 1: risk nan", id="missing"),
    pytest.param([0.5, 0.2], [1, -2], [1, 0], BadValue, "fire 1: time -2", id="negative time"),
    pytest.param([0.5, 0.2], [1, np.nan], [1, 0], BadValue, "fire 1: time nan", id="missing time"),
    pytest.param([0.5, 0.2], [1, 2], [1, 2], BadValue, "fire 1: event 2", id="strange event"),
    pytest.param([0.5, 0.2], [1, 2], [1], MismatchedSample, "shape", id="too few events"),
    pytest.param([0.5], [1, 2], [1, 0], BadValue, "one value per fire", id="too few probabilities"),
    pytest.param([[0.5], [0.2]], [1, 2], [1, 0], BadValue, "1 horizon", id="too many axes"),
]


@pytest.mark.parametrize(("probability", "time", "event", "error", "message"), BAD)
def test_bad_input(probability, time, event, error, message):
    with pytest.raises(error, match=message):
        brier_score(probability, time, event, horizon=24)


def test_bad_options():
    with pytest.raises(BadParameter, match="'all' or 'harrell'"):
        concordance_index([1, 2], [1, 2], [1, 1], pairing="uno")
    for weights in ((1,), (-1, 2), (0, 0)):
        with pytest.raises(BadParameter, match="a weight"):
            weighted_brier([[0.1, 0.2]], [1], [1], horizons=(24, 48), weights=weights)
    with pytest.raises(BadValue, match="2 horizons"):
        weighted_brier([[0.1]], [1], [1], horizons=(24, 48), weights=(1, 1))
