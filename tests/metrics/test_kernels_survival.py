"""The compiled count against a loop over all pairs, with ties in risk and in time."""

from __future__ import annotations

import numpy as np
import pytest

from metrics import kernels_survival, survival
from metrics.kernels_survival import ordered_pairs
from metrics.survival import pair_counts


def by_hand(risk, time, event, every: bool) -> tuple[int, int, int, int]:
    """Comparable pairs of hits, of hit and censored, concordant, tied: by looking at each pair."""
    both = mixed = concordant = tied = 0
    for one in range(len(risk)):
        for other in range(len(risk)):
            if not event[one] or one == other:
                continue
            if event[other]:
                if not time[one] < time[other]:
                    continue
                both += 1
            else:
                if not (every or time[one] <= time[other]):
                    continue
                mixed += 1
            concordant += risk[one] > risk[other]
            tied += risk[one] == risk[other]
    return both, mixed, concordant, tied


COHORTS = [
    pytest.param(60, 4, 5, id="many ties of both"),
    pytest.param(200, 10_000, 7, id="ties in time"),
    pytest.param(200, 5, 10_000, id="ties in risk"),
    pytest.param(300, 10_000, 10_000, id="hardly any tie"),
    pytest.param(64, 10_000, 10_000, id="one word of bits"),
    pytest.param(65, 1, 1, id="all equal"),
    pytest.param(1, 5, 5, id="one fire"),
]


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize(("fires", "risks", "times"), COHORTS)
def test_against_every_pair(fires, risks, times, every):
    rng = np.random.default_rng(fires + risks + times)
    for share in (0.0, 0.3, 0.9, 1.0):
        risk, time = rng.integers(0, risks, fires) / 7, rng.integers(0, times, fires) / 3
        event = rng.random(fires) < share
        assert ordered_pairs(risk, time, event, every=every) == by_hand(risk, time, event, every)


def test_sorting_is_stable_and_knows_negative_numbers():
    rng = np.random.default_rng(11)
    ordered_pairs(np.zeros(2), np.zeros(2), np.ones(2, bool), every=True)  # compiled from here on
    for values in (
        rng.normal(0, 1, 5000),
        rng.integers(-3, 3, 5000) * 1.0 + 0.5,
        np.array([5e-324, -5e-324, 1e308, -1e308, 1.0, np.nextafter(1.0, 2.0), 0.0]),
        np.empty(0),
    ):
        np.testing.assert_array_equal(kernels_survival._order(values), np.argsort(values, kind="stable"))


def test_both_zeros_are_one_risk():
    assert ordered_pairs(np.array([0.0, -0.0, 0.0]), np.arange(3.0), np.ones(3, bool), every=True) == (3, 0, 0, 3)


@pytest.mark.parametrize("pairing", ["all", "harrell"])
def test_a_large_cohort_takes_the_loop_and_counts_the_same(pairing, monkeypatch):
    rng = np.random.default_rng(7)
    fires = survival.SMALL + 1
    risk, time, event = rng.random(fires).round(3), rng.exponential(40, fires).round(1), rng.random(fires) < 0.3
    draws = rng.multinomial(fires, np.full(fires, 1 / fires), size=2)
    compiled = (
        pair_counts(risk, time, event, pairing=pairing),
        pair_counts(risk, time, event, pairing=pairing, draws=draws),
    )
    monkeypatch.setattr(survival, "SMALL", fires)
    plain = (
        pair_counts(risk, time, event, pairing=pairing),
        pair_counts(risk, time, event, pairing=pairing, draws=draws),
    )
    for one, other in zip(compiled, plain, strict=True):
        for name in type(one).__slots__:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_memory_grows_with_the_fires_not_with_their_pairs():
    import tracemalloc

    rng = np.random.default_rng(8)
    fires = 200_000
    risk, time, event = rng.random(fires), rng.exponential(40, fires), rng.random(fires) < 0.3
    ordered_pairs(risk[:10], time[:10], event[:10], every=False)
    tracemalloc.start()
    try:
        ordered_pairs(risk, time, event, every=False)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 100 * fires  # bytes: a handful of arrays
