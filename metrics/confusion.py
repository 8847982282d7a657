"""Yes/no forecasts against yes/no observations: the evaluated array first, the reference second (D-10).

Counts are named, never read by position. A ratio that is 0/0 is 0.0, and `undefined` says so; an empty matrix has no
ratios at all (D-14). Whether such a 0 counts as a score is the KPI's decision, not the metric's.
"""

from __future__ import annotations

import numpy as np

from metrics.errors import BadValue
from metrics.metric import Metric, same_shape
from metrics.sums import Array, ContingencySums, Dims


def binary_counts(evaluated: Array, reference: Array, *, dim: Dims = None) -> ContingencySums:
    """True and false positives and negatives over `dim`, of arrays that hold 0, 1 or NaN.

    >>> counts = binary_counts([1, 1, 0, 0, 1], [1, 0, 0, 1, 1])
    >>> [float(each) for each in (counts.tp, counts.fp, counts.fn, counts.tn)]
    [2.0, 1.0, 1.0, 1.0]
    """
    same_shape(evaluated, reference)
    for name, values in (("evaluated", evaluated), ("reference", reference)):
        if hasattr(values, "chunks") and values.chunks is not None:
            continue  # lazy: looking would compute it, so that here anything above one half counts as 1
        strange = np.asarray(values, dtype=float)
        strange = strange[~np.isnan(strange) & (strange != 0) & (strange != 1)]
        if strange.size:
            raise BadValue(f"the {name} array must hold 0 or 1, found {strange[0]:g}")
    return ContingencySums.of(evaluated, reference, dim=dim)


def matrix(counts: ContingencySums) -> Array:
    """The counts as [[tp, fp], [fn, tn]]: rows evaluated 1 and 0, columns reference 1 and 0 (R-003-07)."""
    return np.array([[counts.tp, counts.fp], [counts.fn, counts.tn]])


def undefined(counts: ContingencySums) -> dict[str, Array]:
    """For each ratio, whether it is 0/0 in this matrix."""
    return {
        "accuracy": counts.n == 0,
        "precision": counts.tp + counts.fp == 0,
        "recall": counts.tp + counts.fn == 0,
        "specificity": counts.tn + counts.fp == 0,
        "npv": counts.tn + counts.fn == 0,
        "f1": counts.tp + counts.fp + counts.fn == 0,
    }


def accuracy(evaluated: Array, reference: Array, *, dim: Dims = None) -> Array:
    """Share of right answers over `dim`."""
    return binary_counts(evaluated, reference, dim=dim).accuracy()


def precision(evaluated: Array, reference: Array, *, dim: Dims = None) -> Array:
    """Share of predicted positives that are positive, over `dim`."""
    return binary_counts(evaluated, reference, dim=dim).precision()


def recall(evaluated: Array, reference: Array, *, dim: Dims = None) -> Array:
    """Share of positives that were predicted, over `dim` (sensitivity, true positive rate)."""
    return binary_counts(evaluated, reference, dim=dim).recall()


def specificity(evaluated: Array, reference: Array, *, dim: Dims = None) -> Array:
    """Share of negatives that were predicted, over `dim` (true negative rate)."""
    return binary_counts(evaluated, reference, dim=dim).specificity()


def npv(evaluated: Array, reference: Array, *, dim: Dims = None) -> Array:
    """Share of predicted negatives that are negative, over `dim` (negative predictive value)."""
    return binary_counts(evaluated, reference, dim=dim).npv()


def f1(evaluated: Array, reference: Array, *, dim: Dims = None) -> Array:
    """Harmonic mean of precision and recall over `dim`."""
    return binary_counts(evaluated, reference, dim=dim).f1()


METRICS = tuple(
    Metric(function, unit="1", range="[0, 1]", symbol=symbol)
    for function, symbol in (
        (accuracy, ""),
        (precision, "PPV"),
        (recall, "TPR"),
        (specificity, "TNR"),
        (npv, "NPV"),
        (f1, "F1"),
    )
)
