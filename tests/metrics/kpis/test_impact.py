"""The twelve binary KPIs, D-14's rule for what is undefined, and coverage (R-000-21 to 35)."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.kpis.catalogue import KPIS
from metrics.kpis.impact import finish_impact
from metrics.kpis.kpi import Rules
from metrics.severity import Classes, SeveritySums
from metrics.sums import ContingencySums

TITLES = ("Accuracy", "Precision", "Recall", "Specificity", "Negative Predictive Value", "F1 Score")
IDS = ("accuracy", "precision", "recall", "specificity", "npv", "f1")


@pytest.mark.parametrize(
    ("prefix", "title", "category", "family"),
    [
        ("high_severity", "Binary High Severity", "Burn Severity", "severity"),
        ("structure_loss", "Binary Structure Loss", "Structure Damage", "structures"),  # D-07
    ],
)
def test_the_twelve(prefix, title, category, family):
    for name, word in zip(IDS, TITLES, strict=True):
        kpi = KPIS[f"{prefix}_{name}"]
        assert (kpi.title, kpi.category, kpi.family) == (f"{title} {word}", category, family)
        assert (kpi.best, kpi.worst, kpi.unit, kpi.parameters) == (1.0, 0.0, "1", ())


def finished(name: str, tp: int, fp: int, fn: int, tn: int, *, expected: float | None = None, **rules):
    n = tp + fp + fn + tn
    sums = ContingencySums(*(float(each) for each in (n, tp, fp, fn, tn)))
    return finish_impact(
        KPIS[f"structure_loss_{name}"],
        sums,
        sums,
        unit="1",
        units=(n, n),
        expected=n if expected is None else expected,
        rules=Rules(**rules),
        left_out={},
    )


VALUES = [
    ("accuracy", 15 / 20),
    ("precision", 6 / 8),
    ("recall", 6 / 9),
    ("specificity", 9 / 11),
    ("npv", 9 / 12),
    ("f1", 12 / 17),
    ("csi", 6 / 11),
    ("frequency_bias", 8 / 9),
]


@pytest.mark.parametrize(("name", "value"), VALUES)
def test_values_by_hand(name, value):
    result = finished(name, 6, 2, 3, 9)
    assert result.value == pytest.approx(value)
    assert (result.n, result.coverage, result.flags) == (20, 1.0, ())


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "csi", "frequency_bias"])
def test_no_event_on_either_side_is_nothing_to_score(name):  # D-14
    result = finished(name, 0, 0, 0, 7)
    assert result.value is None
    assert result.reason == "no event on either side: nothing to score"


@pytest.mark.parametrize("name", ["accuracy", "specificity", "npv"])
def test_without_an_event_the_others_keep_their_value(name):
    assert finished(name, 0, 0, 0, 7).value == 1.0


ZERO = [
    pytest.param("precision", (0, 0, 3, 4), id="never forecast"),
    pytest.param("recall", (0, 3, 0, 4), id="never observed"),
    pytest.param("specificity", (3, 0, 1, 0), id="no negative observed"),
    pytest.param("npv", (3, 1, 0, 0), id="no negative forecast"),
]


@pytest.mark.parametrize(("name", "counts"), ZERO)
def test_otherwise_0_of_0_counts_as_0_and_says_so(name, counts):
    result = finished(name, *counts)
    assert result.value == 0.0
    assert result.flags == ("0/0 counts as 0",)


def test_a_real_zero_is_not_flagged():
    assert finished("precision", 0, 2, 3, 4).flags == ()


def test_a_model_with_holes_is_penalised_or_dropped():  # D-17
    penalised = finished("accuracy", 4, 0, 0, 4, expected=10)
    assert penalised.penalised
    assert penalised.flags == ("coverage 80.0% is below 90%: scored 0",)
    dropped = finished("accuracy", 4, 0, 0, 4, expected=10, missing_model="drop")
    assert (dropped.value, dropped.penalised) == (None, False)
    assert dropped.reason == "coverage 80.0% is below 90%"
    assert not finished("accuracy", 5, 0, 0, 4, expected=10).penalised


def test_nothing_observed_and_nothing_forecast():
    assert finished("accuracy", 0, 0, 0, 0).reason == "no observation"
    assert finished("accuracy", 0, 0, 0, 0, expected=5, min_coverage=0.0).reason == "no forecast on any of them"


def test_why_a_map_has_no_value():
    classes = Classes({0: "outside", 2: "low", 4: "high"})
    counts, unknown = np.array([[0, 0, 0], [0, 9, 0], [0, 0, 0]]), np.full((3, 3), np.nan)
    sums = SeveritySums(classes, counts, unknown)
    reasons = {
        name: finish_impact(
            KPIS[name],
            sums,
            sums.high(),
            unit="1",
            units=(1, 1),
            expected=9,
            rules=Rules(),
            left_out={},
        ).reason
        for name in ("severity_kappa", "severity_weighted_kappa", "burned_area_error", "high_severity_recall")
    }
    assert reasons == {
        "severity_kappa": "chance alone explains the agreement: one class only",
        "severity_weighted_kappa": "chance alone explains the agreement: one class only",
        "burned_area_error": "the areas of the cells are not known: no georeference",
        "high_severity_recall": "no event on either side: nothing to score",
    }


def test_the_kpis_of_maps():
    classes = Classes({0: "outside", 2: "low", 4: "high"})
    counts = np.array([[0, 1, 1], [2, 5, 1], [0, 2, 4]])
    sums = SeveritySums(classes, counts, counts * 0.5)
    assert KPIS["burned_area_jaccard"].value(sums) == pytest.approx(12 / 16)
    assert KPIS["burned_area_dice"].value(sums) == pytest.approx(24 / 28)
    assert KPIS["burned_area_error"].value(sums) == 0.0  # 14 cells burned on both sides, at different places
    assert KPIS["high_severity_csi"].value(sums) == pytest.approx(4 / 8)
    # Rows sum to 2, 8, 6, columns to 2, 8, 6; 9 of 16 agree, (4 + 64 + 36) / 256 by chance.
    assert KPIS["severity_kappa"].value(sums) == pytest.approx((9 / 16 - 104 / 256) / (1 - 104 / 256))
