"""KPIs of fire impact: where severity was high, which buildings were lost (R-000-21 to 35).

All of them are pooled over cells or buildings. Where neither side has a positive, precision, recall and F1 have nothing
to score and are `n/a`; otherwise a ratio of 0/0 counts as 0 (D-14).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from metrics.confusion import undefined
from metrics.kpis.kpi import Kpi, KpiResult, Rules
from metrics.severity import SeveritySums, dice_of, event_only, kappa, no_event, weighted_kappa
from metrics.sums import Array, ContingencySums, floats

Counts = Callable[[ContingencySums], Array]
# Id, title, formula, description and value of each ratio.
RATIOS: tuple[tuple[str, str, str, str, Counts], ...] = (
    (
        "accuracy",
        "Accuracy",
        "(TP + TN) / (TP + TN + FP + FN)",
        "Share of {all} that are right.",
        ContingencySums.accuracy,
    ),
    (
        "precision",
        "Precision",
        "TP / (TP + FP)",
        "Share of {all} predicted {yes} that were.",
        lambda counts: event_only(counts, counts.precision()),
    ),
    (
        "recall",
        "Recall",
        "TP / (TP + FN)",
        "Share of {all} that were {yes} that were predicted so.",
        lambda counts: event_only(counts, counts.recall()),
    ),
    (
        "specificity",
        "Specificity",
        "TN / (TN + FP)",
        "Share of {all} that were not {yes} that were predicted so.",
        ContingencySums.specificity,
    ),
    (
        "npv",
        "Negative Predictive Value",
        "TN / (TN + FN)",
        "Share of {all} predicted not {yes} that were not.",
        ContingencySums.npv,
    ),
    (
        "f1",
        "F1 Score",
        "2 P R / (P + R)",
        "Harmonic mean of precision and recall.",
        lambda counts: event_only(counts, counts.f1()),
    ),
    (
        "csi",
        "Critical Success Index",
        "TP / (TP + FP + FN)",
        "Hits over everything but correct rejections.",
        ContingencySums.csi,
    ),
)
BIAS = "(TP + FP) / (TP + FN)"


def _binary(
    prefix: str, title: str, family: str, category: str, everything: str, yes: str, counts: Callable[[Any], Any]
) -> tuple[Kpi, ...]:
    """The yes/no KPIs of one family."""

    def of(value: Counts) -> Callable[[Any], Array]:
        return lambda sums: value(counts(sums))

    common: dict[str, Any] = {"category": category, "unit": "1", "best": 1.0, "family": family, "aggregate": "pooled"}
    return (
        *(
            Kpi(
                id=f"{prefix}_{name}",
                title=f"{title} {word}",
                worst=0.0,
                formula=formula,
                description=description.format(all=everything, yes=yes),
                sums=ContingencySums,
                value=of(value),
                **common,
            )
            for name, word, formula, description, value in RATIOS
        ),
        Kpi(
            id=f"{prefix}_frequency_bias",
            title=f"{title} Frequency Bias",
            worst="away from 1",
            formula=BIAS,
            description=f"{everything.capitalize()} predicted {yes} per one that was.",
            sums=ContingencySums,
            value=of(ContingencySums.frequency_bias),
            **common,
        ),
    )


def _map(
    name: str, title: str, formula: str, description: str, value: Callable[[SeveritySums], Array], **more: Any
) -> Kpi:
    given: dict[str, Any] = {"unit": "1", "best": 1.0, "worst": 0.0, **more}
    return Kpi(
        id=name,
        title=title,
        category="Burn Severity",
        formula=formula,
        description=description,
        value=value,
        family="severity",
        aggregate="pooled",
        **given,
    )


SEVERITY = (
    *_binary(
        "high_severity",
        "Binary High Severity",
        "severity",
        "Burn Severity",
        "cells",
        "high severity",
        lambda sums: sums.high(),
    ),
    _map(
        "severity_kappa",
        "Burn Severity Kappa",
        "1 − Σ_{i≠j} n_ij / Σ_{i≠j} e_ij",
        "Agreement of the severity classes beyond chance (Cohen).",
        lambda sums: kappa(sums.ordered()),
        worst=-1.0,
    ),
    _map(
        "severity_weighted_kappa",
        "Burn Severity Weighted Kappa",
        "1 − Σ (i − j)² n_ij / Σ (i − j)² e_ij",
        "Agreement of the ordered classes beyond chance, far misses counting with the square of their distance.",
        lambda sums: weighted_kappa(sums.ordered()),
        worst=-1.0,
    ),
    _map(
        "burned_area_jaccard",
        "Burned Area Jaccard Index",
        "|M ∩ O| / |M ∪ O|",
        "Cells burned on both sides over cells burned on any.",
        lambda sums: sums.burned().csi(),
    ),
    _map(
        "burned_area_dice",
        "Burned Area Sørensen–Dice Index",
        "2 |M ∩ O| / (|M| + |O|)",
        "Twice the cells burned on both sides over the sum of both.",
        lambda sums: dice_of(sums.burned()),
    ),
    _map(
        "burned_area_error",
        "Burned Area Error",
        "area(M) − area(O)",
        "Burned hectares of the model minus those observed, with the true areas of the cells.",
        lambda sums: sums.area_error(),
        unit="ha",
        best=0.0,
        worst="increasing |error|",
    ),
)
STRUCTURES = _binary(
    "structure_loss",
    "Binary Structure Loss",
    "structures",
    "Structure Damage",
    "buildings",
    "destroyed",
    lambda sums: sums,
)
KPIS = (*SEVERITY, *STRUCTURES)


def finish_impact(
    kpi: Kpi,
    pooled: Any,
    positives: ContingencySums,
    *,
    unit: str,
    units: tuple[int, int],
    expected: float,
    rules: Rules,
    left_out: dict[str, int],
) -> KpiResult:
    """One KPI from the sums of all cells or buildings, with coverage (D-17) and what is undefined (D-14)."""
    n = float(np.sum(pooled.n))
    used, total = units
    empty = KpiResult(None, unit, total=total, left_out=left_out)
    if not expected:
        return _without(empty, "no observation")
    coverage = n / expected
    flags: list[str] = []
    if coverage < rules.min_coverage - 1e-12:
        text = f"coverage {coverage:.1%} is below {rules.min_coverage:.0%}"
        if rules.missing_model == "drop":
            return _without(empty, text, coverage)
        flags.append(f"{text}: scored 0")
    penalised = bool(flags)
    number = floats(kpi.value(pooled))
    value = None if np.isnan(number) else float(number)
    reason = "" if value is not None else _why(kpi, n, positives)
    if value == 0 and undefined(positives).get(kpi.id.rsplit("_", 1)[-1]):
        flags.append("0/0 counts as 0")
    return KpiResult(
        value=value,
        unit=unit,
        n=int(n),
        used=used,
        total=total,
        coverage=coverage,
        flags=(*flags, *((reason,) if reason else ())),
        reason=reason,
        penalised=penalised,
        left_out=left_out,
    )


def _without(empty: KpiResult, reason: str, coverage: float | None = None) -> KpiResult:
    return replace(empty, reason=reason, flags=(reason,), coverage=coverage)


def _why(kpi: Kpi, n: float, positives: ContingencySums) -> str:
    if not n:
        return "no forecast on any of them"
    if kpi.unit == "ha":
        return "the areas of the cells are not known: no georeference"
    if kpi.worst == -1.0:
        return "chance alone explains the agreement: one class only"
    if no_event(positives):
        return "no event on either side: nothing to score"
    return "undefined on this sample: no observed event"
