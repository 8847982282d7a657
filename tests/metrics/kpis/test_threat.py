"""The KPIs of fire threat on a cohort worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metrics.kpis.catalogue import KPIS
from metrics.kpis.threat import Cohort, ThreatRules, threat_scores

# Hits at 10 and 30 h, censored at 40 and 80 h; the second fire's probability falls from 48 to 72 h.
COHORT = Cohort(
    fires=np.array(["a", "b", "c", "d"], dtype=object),
    time=np.array([10.0, 30.0, 40.0, 80.0]),
    event=np.array([True, True, False, False]),
    horizons=(12.0, 24.0, 48.0, 72.0),
    probability=np.array([[0.8, 0.9, 1.0, 1.0], [0.3, 0.5, 0.9, 0.8], [0.4, 0.5, 0.6, 0.7], [0.1, 0.1, 0.2, 0.3]]),
)
# 24 h: 1 0 0 0. 48 h: 1 1 – 0. 72 h: 1 1 – 0.
AT_24, AT_48, AT_72 = (0.01 + 0.25 + 0.25 + 0.01) / 4, (0 + 0.01 + 0.04) / 3, (0 + 0.04 + 0.09) / 3
WEIGHTED = 0.3 * AT_24 + 0.4 * AT_48 + 0.3 * AT_72
# a beats b, c and d; b loses against c and beats d: 4 of 5 by both pairings, c is watched longer than b's hit.
HYBRID = 0.3 * 4 / 5 + 0.7 * (1 - WEIGHTED)


def test_scores():
    scores = threat_scores(COHORT, ThreatRules())
    assert scores.c_index == pytest.approx(4 / 5)
    assert scores.brier.brier() == pytest.approx([AT_24, AT_48, AT_72])
    assert scores.weighted_brier == pytest.approx(WEIGHTED)
    assert scores.unpenalised == pytest.approx(HYBRID)
    assert scores.violating == 1 / 4
    assert scores.hybrid == pytest.approx(HYBRID * 3 / 4)
    assert scores.brier.n.tolist() == [4, 3, 3]
    assert scores.brier.excluded.tolist() == [0, 1, 1]


VALUES = [
    ("fire_threat_c_index", 4 / 5),
    ("fire_threat_weighted_brier", WEIGHTED),
    ("fire_threat_hybrid", HYBRID * 3 / 4),
    ("fire_threat_hybrid_unpenalised", HYBRID),
]


@pytest.mark.parametrize(("kpi", "expected"), VALUES)
def test_kpis(kpi, expected):
    assert KPIS[kpi].value(threat_scores(COHORT, ThreatRules())) == pytest.approx(expected)


def test_options_of_the_case():
    rules = ThreatRules(horizons={48.0: 1.0}, risk_horizon=24.0, c_index_weight=1, brier_weight=1, penalty=0.5)
    scores = threat_scores(COHORT, rules)
    assert scores.weighted_brier == pytest.approx(AT_48)
    assert scores.c_index == pytest.approx(4.5 / 5)  # b and c tie at 24 h
    assert scores.hybrid == pytest.approx((4.5 / 5 + 1 - AT_48) / 2 * (1 - 0.5 / 4))


def test_a_repair_removes_the_penalty_and_changes_what_it_sorts():
    scores = threat_scores(COHORT.repaired(), ThreatRules())
    assert scores.violating == 0
    # Fire b now has 0.8 at 48 h and 0.9 at 72 h.
    expected = 0.3 * AT_24 + 0.4 * (0.04 + 0.04) / 3 + 0.3 * (0.01 + 0.09) / 3
    assert scores.hybrid == pytest.approx(0.3 * 4 / 5 + 0.7 * (1 - expected))


def test_replicates_pass_through():
    """Fires are what is resampled: a draw of some fires has the scores of the cohort of those fires."""
    draws = np.array([[1, 1, 1, 1], [2, 0, 1, 1], [0, 3, 0, 1], [0, 0, 2, 2]])
    scores = threat_scores(COHORT, ThreatRules(), draws=draws)
    for at, draw in enumerate(draws):
        chosen = np.repeat(np.arange(4), draw)
        alone = threat_scores(
            replace(
                COHORT,
                fires=COHORT.fires[chosen],
                time=COHORT.time[chosen],
                event=COHORT.event[chosen],
                probability=COHORT.probability[chosen],
            ),
            ThreatRules(),
        )
        for name in ("c_index", "weighted_brier", "unpenalised", "hybrid", "violating"):
            assert getattr(scores, name)[at] == pytest.approx(getattr(alone, name), nan_ok=True), (name, at)
    assert np.isnan(scores.c_index[3])  # only censored fires were drawn
    assert np.isnan(scores.hybrid[3])
    assert not np.isnan(scores.weighted_brier[3])


def test_the_catalogue_says_what_is_best():
    assert (KPIS["fire_threat_c_index"].best, KPIS["fire_threat_c_index"].worst) == (1.0, 0.0)
    assert (KPIS["fire_threat_weighted_brier"].best, KPIS["fire_threat_weighted_brier"].worst) == (0.0, 1.0)
    assert [each.name for each in KPIS["fire_threat_brier"].parameters if each.required] == ["horizon"]
