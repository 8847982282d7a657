"""Fields that models extract from documents, against the ground truth: classification, metrics, averages and checks.

A wrong value is both a false positive and a false negative (R-002-09); what is pending or failed is left out (D-33).
Where all answers are rightly "Not Present", every metric is 1; every other 0/0 is 0 (D-34). Overall metrics are means
over fields, never mixed with pooled ones (R-002-22).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from metrics.errors import BadValue, MismatchedSample
from metrics.metric import Metric
from metrics.spelling import UNFINISHED, Comparison, plain_text
from metrics.sums import Array, Sums, floats, ratio, total, where

TN, TP, FP, FN, WRONG, EXCLUDED = range(6)
KINDS = ("tn", "tp", "fp", "fn", "wrong", "excluded")
METRIC_NAMES = ("accuracy", "precision", "recall", "f1")
# By presence of a prediction (1), presence of a truth (2) and equality (4).
_OUTCOMES = np.array([TN, FP, FN, WRONG, TN, TN, TN, TP], dtype=np.uint8)
TEXT = Comparison()
TOLERANCE = 1e-3  # of the published checks


def classify(prediction: Array, truth: Array, excluded: Array = None) -> Array:
    """What each answer is, as one of TN, TP, FP, FN, WRONG, EXCLUDED, of arrays of codes in which 0 is "Not Present".

    >>> [KINDS[each] for each in classify(np.array([0, 1, 1, 0, 1]), np.array([0, 1, 0, 2, 2]))]
    ['tn', 'tp', 'fp', 'fn', 'wrong']
    """
    if len(prediction) != len(truth):
        raise MismatchedSample(f"{len(prediction)} predictions against {len(truth)} ground truths (R-002-26)")
    index = (prediction != 0).view(np.uint8) | (truth != 0).view(np.uint8) << 1
    index |= (prediction == truth).view(np.uint8) << 2
    kinds: Array = _OUTCOMES[index]
    if excluded is not None:
        kinds[excluded] = EXCLUDED
    return kinds


@dataclass(frozen=True, slots=True)
class ExtractionSums(Sums):
    """Counts of one field's answers; `n` is the classified documents, of which a wrong value counts as fp and as fn."""

    tp: Array
    fp: Array
    fn: Array
    tn: Array
    wrong: Array
    excluded: Array

    @classmethod
    def of(cls, prediction: Array, truth: Array, excluded: Array = None) -> Self:
        """From arrays of codes in which 0 is "Not Present"."""
        return cls.of_counts(np.bincount(classify(prediction, truth, excluded), minlength=len(KINDS)))

    @classmethod
    def of_counts(cls, counts: Array) -> Self:
        """From numbers of answers by kind, along the last axis in the order of KINDS."""
        tn, tp, fp, fn, wrong, excluded = np.moveaxis(floats(counts), -1, 0)
        return cls(tn + tp + fp + fn + wrong, tp, fp + wrong, fn + wrong, tn, wrong, excluded)

    def precision(self) -> Array:
        """Share of extracted values that are right, 0 to 1."""
        return self._share(self.tp, self.tp + self.fp)

    def recall(self) -> Array:
        """Share of values of the ground truth that were extracted, 0 to 1."""
        return self._share(self.tp, self.tp + self.fn)

    def f1(self) -> Array:
        """Harmonic mean of precision and recall, 0 to 1."""
        return self._share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    def accuracy(self) -> Array:
        """Share of right answers, 0 to 1; a wrong value counts twice below the line (R-002-17)."""
        return self._share(self.tp + self.tn, self.tp + self.fp + self.fn + self.tn)

    def metrics(self) -> dict[str, Array]:
        """The four metrics by name (R-002-47)."""
        return {name: getattr(self, name)() for name in METRIC_NAMES}

    def _share(self, numerator: Array, denominator: Array) -> Array:
        """The ratio; 1 where every answer is a right "Not Present", 0 at every other 0/0 (D-34, R-002-19)."""
        absent = (self.tp + self.fp + self.fn == 0) & (self.tn > 0)
        return where(absent, 1.0, where(denominator != 0, ratio(numerator, denominator), 0.0))


def macro(values: Array, n: Array) -> Array:
    """Mean over the last axis of the fields that have a classified document; 0 where none has (D-35)."""
    counted = floats(n) > 0
    return total(where(counted, values, 0.0), -1) / np.maximum(total(counted, -1), 1.0)


def overall(fields: ExtractionSums) -> dict[str, Array]:
    """The four macro averages of a model's fields (R-002-20)."""
    return {name: macro(values, fields.n) for name, values in fields.metrics().items()}


@dataclass(frozen=True, slots=True)
class Check:
    """One rule that results must obey, and where it is broken."""

    rule: str
    text: str
    broken: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.broken


def check_fields(names: Sequence[str], counts: ExtractionSums, metrics: Mapping[str, Array]) -> list[Check]:
    """The rules that every field's metrics must obey, whoever computed them (R-002-23 to 25, 27, 30)."""
    p, r, f1 = (floats(metrics[name]) for name in ("precision", "recall", "f1"))
    harmonic = where(p + r > 0, ratio(2 * p * r, p + r), 0.0)
    four = np.stack([floats(metrics[name]) for name in METRIC_NAMES])
    errors = counts.fp + counts.fn
    right = counts.tp + counts.tn
    mixed = (counts.tp > 0) & (errors > 0)

    def where_not(good: Array) -> tuple[str, ...]:
        return tuple(name for name, fine in zip(names, np.broadcast_to(good, len(names)), strict=True) if not fine)

    some = counts.n > 0
    return [
        Check("R-002-23", "F1 = 2PR/(P+R) in each field", where_not(abs(f1 - harmonic) < TOLERANCE)),
        Check("R-002-24", "precision 100 % means no false positive", where_not((p < 1) | (counts.fp == 0))),
        Check("R-002-25", "recall 100 % means no false negative", where_not((r < 1) | (counts.fn == 0))),
        Check("R-002-27", "every field has a classified document", where_not(some)),
        Check(
            "R-002-30",
            "all right is 100 %, all wrong is 0 %, mixed lies between",
            where_not(
                ~some
                | (
                    where(errors == 0, (four == 1).all(axis=0), True)
                    & where(right == 0, (four == 0).all(axis=0), True)
                    & where(mixed, (f1 > 0) & (f1 < 1), True)
                ).astype(bool)
            ),
        ),
    ]


def check_overall(n: Array, metrics: Mapping[str, Array], averages: Mapping[str, Array]) -> list[Check]:
    """The rules that tie a model's overall metrics to those of its fields (R-002-28, 29; D-43)."""
    some = floats(n) > 0
    largest = {name: floats(metrics[name])[some].max(initial=0.0) for name in METRIC_NAMES}
    mean = floats(metrics["f1"])[some].mean() if some.any() else 0.0
    beyond = tuple(name for name in METRIC_NAMES if averages[name] > largest[name] + 1e-12)
    return [
        Check("R-002-28", "no overall metric exceeds the largest of its fields", beyond),
        Check(
            "R-002-29",
            "overall F1 is the mean of the fields' F1",
            () if abs(averages["f1"] - mean) < TOLERANCE else ("f1",),
        ),
    ]


def codes(*columns: Sequence[Any], how: Comparison = TEXT) -> tuple[list[Array], list[Array]]:
    """Columns of values as arrays of codes that are equal where the values are, 0 for none; and which are unfinished.

    Each distinct value is looked at once, however often it stands there.
    """
    known: dict[Hashable, int] = {}
    seen: dict[Any, tuple[int, bool]] = {}

    def code(value: Any) -> tuple[int, bool]:
        if isinstance(value, list | tuple | set | dict | np.ndarray):
            raise BadValue(f"a field has one value, got the list {value!r} (D-44)")
        if (type(value), value) not in seen:  # 1, 1.0 and True are equal, and written differently
            text = "" if value is None or value != value else str(value)
            key = how.key(text)
            number = 0 if key is None else known.setdefault(key, len(known) + 1)
            seen[type(value), value] = number, plain_text(text) in UNFINISHED
        return seen[type(value), value]

    pairs = [[code(each) for each in column] for column in columns]
    return (
        [np.array([number for number, _ in column], dtype=np.int64) for column in pairs],
        [np.array([unfinished for _, unfinished in column], dtype=bool) for column in pairs],
    )


def extraction_counts(predictions: Sequence[Any], truths: Sequence[Any], *, how: Comparison = TEXT) -> ExtractionSums:
    """The counts of one field, of values as they were written; `pending` and `error` are left out on either side.

    >>> counts = extraction_counts(["NDA", "Lease", ""], ["nda ", "Loan", "Not Present"])
    >>> [float(each) for each in (counts.tp, counts.fp, counts.fn, counts.tn)]
    [1.0, 1.0, 1.0, 1.0]
    """
    if len(predictions) != len(truths):
        raise MismatchedSample(f"{len(predictions)} predictions against {len(truths)} ground truths (R-002-26)")
    (prediction, truth), (late, unknown) = codes(predictions, truths, how=how)
    return ExtractionSums.of(prediction, truth, late | unknown)


def extraction_precision(predictions: Sequence[Any], truths: Sequence[Any], *, how: Comparison = TEXT) -> Array:
    """Share of extracted values of one field that are right."""
    return extraction_counts(predictions, truths, how=how).precision()


def extraction_recall(predictions: Sequence[Any], truths: Sequence[Any], *, how: Comparison = TEXT) -> Array:
    """Share of the values of one field that were extracted."""
    return extraction_counts(predictions, truths, how=how).recall()


def extraction_f1(predictions: Sequence[Any], truths: Sequence[Any], *, how: Comparison = TEXT) -> Array:
    """Harmonic mean of precision and recall of one field."""
    return extraction_counts(predictions, truths, how=how).f1()


def extraction_accuracy(predictions: Sequence[Any], truths: Sequence[Any], *, how: Comparison = TEXT) -> Array:
    """Share of right answers of one field; a wrong value counts twice below the line."""
    return extraction_counts(predictions, truths, how=how).accuracy()


METRICS = tuple(
    Metric(function, unit="1", range="[0, 1]")
    for function in (extraction_precision, extraction_recall, extraction_f1, extraction_accuracy)
)
