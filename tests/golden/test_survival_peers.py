"""Harrell's C-index and calibration as scikit-survival, lifelines and scikit-learn have them."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.survival import calibration, outcome, pair_counts


def cohorts():
    """Random cohorts, half of them with many ties of risk, a third with many ties of time."""
    rng = np.random.default_rng(20261118)
    for trial in range(120):
        fires = int(rng.integers(2, 150))
        risk = rng.integers(0, 6 if trial % 2 else 10_000, fires) / 8
        time = rng.integers(0, 10 if trial % 3 == 0 else 10_000, fires) / 4
        event = rng.random(fires) < rng.random()
        if pair_counts(risk, time, event, pairing="harrell").comparable:
            yield risk, time, event


def test_scikit_survival_counts_the_same_pairs():
    metrics = pytest.importorskip("sksurv.metrics")
    for risk, time, event in cohorts():
        counts = pair_counts(risk, time, event, pairing="harrell")
        c_index, concordant, discordant, tied, _ = metrics.concordance_index_censored(event, time, risk, tied_tol=0)
        assert (counts.concordant, counts.discordant, counts.tied) == (concordant, discordant, tied)
        assert counts.c_index() == pytest.approx(c_index, abs=1e-12)


def test_lifelines_has_the_same_c_index():
    utils = pytest.importorskip("lifelines.utils")
    for risk, time, event in cohorts():
        found = utils.concordance_index(time, -risk, event)  # it wants predicted times: the higher, the later
        assert pair_counts(risk, time, event, pairing="harrell").c_index() == pytest.approx(found, abs=1e-12)


def test_scikit_learn_has_the_same_calibration():
    """On probabilities that lie on no edge of a bin: there scikit-learn takes the lower bin, D-60 the upper."""
    sklearn = pytest.importorskip("sklearn.calibration")
    rng = np.random.default_rng(3)
    time, event = rng.exponential(40, 300), rng.random(300) < 0.5
    probability = rng.random(300)
    happened = outcome(time, event, horizon=24)
    known = ~np.isnan(happened)
    observed, predicted = sklearn.calibration_curve(happened[known], probability[known], n_bins=10)
    found = calibration(probability, time, event, horizon=24)
    assert [each.observed for each in found] == pytest.approx(observed, abs=1e-12)
    assert [each.predicted for each in found] == pytest.approx(predicted, abs=1e-12)
