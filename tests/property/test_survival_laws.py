"""Laws of fire threat: whatever the cohort, order, probabilities and penalties behave like this."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from metrics.kpis.threat import Cohort, ThreatRules, threat_scores
from metrics.survival import (
    BrierSums,
    brier_score,
    calibration,
    decrease,
    hybrid_score,
    outcome,
    pair_counts,
    penalised,
    repaired,
    violates,
)

LAW = settings(derandomize=True, deadline=None, max_examples=150)
PAIRINGS = pytest.mark.parametrize("pairing", ["all", "harrell"])
# Coarse steps, so that ties of risk and time, and times on the horizons, come up all the time.
PROBABILITY = st.integers(0, 20).map(lambda each: each / 20)
TIME = st.integers(0, 20).map(lambda each: each * 4.0)
FIRES = st.lists(
    st.tuples(st.tuples(PROBABILITY, PROBABILITY, PROBABILITY, PROBABILITY), TIME, st.booleans()),
    min_size=1,
    max_size=40,
)
HORIZONS = (12.0, 24.0, 48.0, 72.0)


def arrays(fires) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities (fire, horizon), times and events."""
    probability, time, event = zip(*fires, strict=True)
    return np.array(probability), np.array(time), np.array(event)


def cohort(fires) -> Cohort:
    probability, time, event = arrays(fires)
    return Cohort(np.arange(len(time)).astype(str), time, event, HORIZONS, probability)


# 16: the C-index


@PAIRINGS
@LAW
@given(FIRES, st.randoms(use_true_random=False))
def test_order_is_all_that_counts(pairing, fires, random):
    probability, time, event = arrays(fires)
    risk = probability[:, 0]
    counts = pair_counts(risk, time, event, pairing=pairing)
    assert pair_counts(np.exp(3 * risk) - 1, time, event, pairing=pairing) == counts
    order = list(range(len(time)))
    random.shuffle(order)
    assert pair_counts(risk[order], time[order], event[order], pairing=pairing) == counts


@PAIRINGS
@LAW
@given(FIRES)
def test_turning_the_risk_round_turns_the_c_index_round(pairing, fires):
    probability, time, event = arrays(fires)
    counts, turned = (pair_counts(each * probability[:, 0], time, event, pairing=pairing) for each in (1, -1))
    assume(counts.comparable)
    assert turned.c_index() == pytest.approx(1 - counts.c_index(), abs=1e-12)
    assert pair_counts(np.full(len(time), 0.4), time, event, pairing=pairing).c_index() == 0.5


@PAIRINGS
@LAW
@given(FIRES)
def test_a_perfect_risk_has_a_c_index_of_one(pairing, fires):
    _, time, event = arrays(fires)
    perfect = np.where(event, 1000 - time, -time)  # events first, the earlier the higher
    counts = pair_counts(perfect, time, event, pairing=pairing)
    assume(counts.comparable)
    assert counts.c_index() == 1


@LAW
@given(FIRES)
def test_every_pair_is_counted_once_and_harrells_are_among_all(fires):
    probability, time, event = arrays(fires)
    every, harrell = (pair_counts(probability[:, 0], time, event, pairing=each) for each in ("all", "harrell"))
    assert every.pairs == harrell.pairs == len(time) * (len(time) - 1) / 2
    for name in ("event_event", "censored_censored", "simultaneous"):
        assert getattr(every, name) == getattr(harrell, name)
    for name in ("event_censored", "concordant", "tied", "discordant"):
        assert getattr(harrell, name) <= getattr(every, name)
    assert every.censored_before == 0


@PAIRINGS
@LAW
@given(FIRES, st.data())
def test_drawing_a_fire_twice_is_having_it_twice(pairing, fires, data):
    probability, time, event = arrays(fires)
    draws = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(fires), max_size=len(fires))))
    drawn = pair_counts(probability[:, 0], time, event, pairing=pairing, draws=draws)
    repeated = (np.repeat(each, draws) for each in (probability[:, 0], time, event))
    assert drawn == pair_counts(*repeated, pairing=pairing)


# 17: the Brier score


@LAW
@given(FIRES)
def test_brier_lies_between_0_and_1_and_is_0_only_if_right(fires):
    probability, time, event = arrays(fires)
    for at, horizon in enumerate(HORIZONS):
        happened = outcome(time, event, horizon=horizon)
        known = ~np.isnan(happened)
        if not known.any():
            continue
        score = brier_score(probability[:, at], time, event, horizon=horizon)
        assert 0 <= score <= 1
        assert (score == 0) == bool((probability[known, at] == happened[known]).all())
        assert brier_score(np.full(len(time), 0.5), time, event, horizon=horizon) == 0.25
        assert brier_score(np.where(known, probability[:, at], 0.77), time, event, horizon=horizon) == score
        assert brier_score(np.nan_to_num(happened), time, event, horizon=horizon) == 0


@LAW
@given(FIRES)
def test_everybody_is_evaluated_or_excluded_and_ones_and_excluded_only_grow(fires):
    probability, time, event = arrays(fires)
    sums = [BrierSums.of(probability[:, 0], outcome(time, event, horizon=each)) for each in HORIZONS]
    assert all(each.n + each.excluded == len(time) for each in sums)
    assert all(each.ones + each.zeros == each.n for each in sums)
    for earlier, later in pairwise(sums):
        assert earlier.ones <= later.ones
        assert earlier.excluded <= later.excluded


@LAW
@given(FIRES)
def test_brier_sums_of_two_halves_add_up(fires):
    probability, time, event = arrays(fires)
    happened = outcome(time, event, horizon=24)
    half = len(time) // 2
    parts = BrierSums.of(probability[:half, 1], happened[:half]) + BrierSums.of(probability[half:, 1], happened[half:])
    whole = BrierSums.of(probability[:, 1], happened)
    assert parts.arrays() == pytest.approx(whole.arrays(), abs=1e-12)


# 18: the hybrid


@LAW
@given(FIRES, st.floats(0, 1))
def test_the_hybrid_lies_between_0_and_1_and_a_penalty_only_lowers_it(fires, penalty):
    scores = threat_scores(cohort(fires), ThreatRules(penalty=penalty))
    assume(not np.isnan(scores.unpenalised))
    assert 0 <= scores.hybrid <= scores.unpenalised <= 1
    if penalty > 1e-6 and scores.unpenalised > 0:
        assert (scores.hybrid == scores.unpenalised) == (not violates(arrays(fires)[0]).any())


@LAW
@given(*(st.floats(0, 1) for _ in range(4)))
def test_the_hybrid_is_linear(one, other, brier, another):
    middle = hybrid_score((one + other) / 2, (brier + another) / 2)
    assert middle == pytest.approx((hybrid_score(one, brier) + hybrid_score(other, another)) / 2, abs=1e-12)
    assert penalised(one, other) == pytest.approx(one - one * other, abs=1e-12)


@LAW
@given(FIRES)
def test_sorting_removes_every_fall_and_does_nothing_the_second_time(fires):
    probability, _, _ = arrays(fires)
    once = repaired(probability)
    assert not violates(once).any()
    np.testing.assert_array_equal(repaired(once), once)
    np.testing.assert_array_equal(once[~violates(probability)], probability[~violates(probability)])
    assert (decrease(probability) >= 0).all()


@LAW
@given(FIRES, st.integers(2, 4))
def test_a_cohort_several_times_over_has_the_same_brier_score(fires, times):
    once, again = (threat_scores(cohort(each), ThreatRules()) for each in (fires, fires * times))
    assert again.weighted_brier == pytest.approx(once.weighted_brier, abs=1e-12, nan_ok=True)
    np.testing.assert_allclose(again.brier.brier(), once.brier.brier(), atol=1e-12)
    assert again.violating == pytest.approx(once.violating, abs=1e-12)


# 19: calibration


@LAW
@given(FIRES, st.integers(1, 20))
def test_bins_hold_every_evaluated_fire_once_and_all_hits(fires, bins):
    probability, time, event = arrays(fires)
    for at, horizon in enumerate(HORIZONS):
        found = calibration(probability[:, at], time, event, horizon=horizon, bins=bins)
        happened = outcome(time, event, horizon=horizon)
        assert sum(each.count for each in found) == np.isfinite(happened).sum()
        assert sum(each.count * each.observed for each in found) == pytest.approx(np.nansum(happened))
        assert all(each.low - 1e-12 <= each.predicted <= each.high + 1e-12 for each in found)
        assert all(each.count > 0 for each in found)
