"""KPIs of fire threat: how well forecasts order fires by when they hit, and how right their probabilities are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from metrics.kpis.kpi import Kpi, Parameter
from metrics.sums import Array
from metrics.survival import (
    BrierSums,
    PairCounts,
    Pairing,
    decrease,
    hybrid_score,
    outcome,
    pair_counts,
    penalised,
    repaired,
    violates,
)

CATEGORY = "Fire Threat"


@dataclass(frozen=True, slots=True)
class ThreatRules:
    """What the case chooses: horizons and their weights, what orders the fires, and what falling probabilities cost."""

    horizons: Mapping[float, float] = field(default_factory=lambda: {24.0: 0.3, 48.0: 0.4, 72.0: 0.3})
    risk_horizon: float = 12.0  # whose probability is the risk of the C-index (D-54)
    pairing: Pairing = "all"
    c_index_weight: float = 0.3
    brier_weight: float = 0.7
    penalty: float = 1.0
    repair: Literal["none", "sort"] = "none"
    unmatched: Literal["refuse", "leave_out"] = "refuse"


@dataclass(frozen=True, slots=True)
class Cohort:
    """Fires with what was forecast and what became of them, one row each; horizons in rising order."""

    fires: Array
    time: Array  # hours
    event: Array
    horizons: tuple[float, ...]
    probability: Array  # (fire, horizon)

    def at(self, horizon: float) -> Array:
        """The probabilities of a hit by this horizon."""
        return self.probability[:, self.horizons.index(horizon)]

    def outcomes(self, horizon: float) -> Array:
        """1, 0 or missing: what is known at this horizon."""
        return outcome(self.time, self.event, horizon=horizon)

    def pairs(self, horizon: float, pairing: Pairing, *, draws: Array | None = None) -> PairCounts:
        """The pairs of fires, with the probability of this horizon as the risk."""
        return pair_counts(self.at(horizon), self.time, self.event, pairing=pairing, draws=draws)

    def c_index(self, horizon: float, pairing: Pairing) -> Array:
        """How well the probabilities of this horizon order the fires."""
        return self.pairs(horizon, pairing).c_index()

    def falls(self) -> Array:
        """By how much each fire's probability falls at most from one horizon to the next."""
        return decrease(self.probability)

    def violating(self) -> Array:
        """Which fires have a probability that falls."""
        return violates(self.probability)

    def repaired(self) -> Cohort:
        """The same fires with each one's probabilities in rising order (D-59)."""
        return Cohort(self.fires, self.time, self.event, self.horizons, repaired(self.probability))


@dataclass(frozen=True, slots=True)
class ThreatScores:
    """All scores of a cohort; with draws, arrays over the replicates."""

    pairs: PairCounts
    brier: BrierSums  # by horizon that has a weight
    weighted_brier: Array
    violating: Array  # share of fires
    rules: ThreatRules

    @property
    def c_index(self) -> Array:
        return self.pairs.c_index()

    @property
    def unpenalised(self) -> Array:
        """The hybrid of C-index and Brier score."""
        return hybrid_score(
            self.c_index,
            self.weighted_brier,
            c_index_weight=self.rules.c_index_weight,
            brier_weight=self.rules.brier_weight,
        )

    @property
    def hybrid(self) -> Array:
        """The hybrid after the penalty for probabilities that fall."""
        return penalised(self.unpenalised, self.violating, penalty=self.rules.penalty)


def threat_scores(cohort: Cohort, rules: ThreatRules, *, draws: Array | None = None) -> ThreatScores:
    """The scores of a cohort; `draws` (how often each fire counts) may have leading replicate axes."""
    weight = np.ones(len(cohort.time)) if draws is None else np.asarray(draws, float)
    parts = [BrierSums.of(cohort.at(each), cohort.outcomes(each), dim=()) for each in rules.horizons]
    brier = BrierSums(
        *(np.stack([weight @ getattr(part, name) for part in parts], axis=-1) for name in BrierSums.names())
    )
    return ThreatScores(
        pairs=cohort.pairs(rules.risk_horizon, rules.pairing, draws=draws),
        brier=brier,
        weighted_brier=brier.weighted(np.array(list(rules.horizons.values()))),
        violating=weight @ cohort.violating() / weight.sum(-1),
        rules=rules,
    )


KPIS = (
    Kpi(
        id="fire_threat_c_index",
        title="Fire Threat C-index",
        category=CATEGORY,
        unit="1",
        best=1.0,
        worst=0.0,
        formula="(#concordant + ½ #tied) / #comparable pairs of fires",
        description="Share of comparable pairs in which the fire that hit, or hit earlier, had the higher probability.",
        family="threat",
        value=lambda scores: scores.c_index,
        parameters=(Parameter("horizon", "h", "whose probability is the risk; else the case's risk horizon"),),
        aggregate="pooled",
    ),
    Kpi(
        id="fire_threat_weighted_brier",
        title="Fire Threat Weighted Brier Score",
        category=CATEGORY,
        unit="1",
        best=0.0,
        worst=1.0,
        formula="Σh w_h 1/N_h Σi (p_ih − y_ih)² / Σh w_h",
        description="Weighted mean over horizons of the Brier score of the fires whose state is known by then.",
        family="threat",
        value=lambda scores: scores.weighted_brier,
        aggregate="pooled",
    ),
    Kpi(
        id="fire_threat_brier",
        title="Fire Threat Brier Score",
        category=CATEGORY,
        unit="1",
        best=0.0,
        worst=1.0,
        formula="1/N Σi (p_i − y_i)²",
        description="Mean squared difference of probability and outcome at one horizon, of the fires known by then.",
        family="threat",
        value=lambda scores: scores.weighted_brier,
        parameters=(Parameter("horizon", "h", "by when the fire hits", required=True),),
        aggregate="pooled",
    ),
    Kpi(
        id="fire_threat_hybrid",
        title="Fire Threat Hybrid Score",
        category=CATEGORY,
        unit="1",
        best=1.0,
        worst=0.0,
        formula="(w_C C + w_B (1 − WB)) / (w_C + w_B) · (1 − λ v)",
        description="C-index and weighted Brier score in one, lowered by the share v of fires whose probability falls.",
        family="threat",
        value=lambda scores: scores.hybrid,
        aggregate="pooled",
    ),
    Kpi(
        id="fire_threat_hybrid_unpenalised",
        title="Fire Threat Hybrid Score before Penalty",
        category=CATEGORY,
        unit="1",
        best=1.0,
        worst=0.0,
        formula="(w_C C + w_B (1 − WB)) / (w_C + w_B)",
        description="C-index and weighted Brier score in one, whatever order the probabilities of a fire are in.",
        family="threat",
        value=lambda scores: scores.unpenalised,
        aggregate="pooled",
    ),
)
