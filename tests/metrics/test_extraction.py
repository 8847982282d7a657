"""Classification and field metrics, worked by hand; the published examples to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.errors import BadValue, MismatchedSample
from metrics.extraction import (
    KINDS,
    ExtractionSums,
    check_fields,
    check_overall,
    classify,
    extraction_accuracy,
    extraction_counts,
    extraction_f1,
    extraction_precision,
    extraction_recall,
    macro,
    overall,
)
from metrics.scoring.ranking import percent
from metrics.spelling import Comparison

TRUTH = ["Service Agreement", "NDA", "Not Present"]
MODEL_A = ["Service Agreement", "License Agreement", "Not Present"]
MODEL_B = ["Service Agreement", "NDA", "Employment Agreement"]


def counted(predictions, truths, **more):
    counts = extraction_counts(predictions, truths, **more)
    return tuple(int(each) for each in (counts.tp, counts.fp, counts.fn, counts.tn))


def test_the_first_worked_example():  # R-002-53
    assert counted(MODEL_A, TRUTH) == (1, 1, 1, 1)
    assert counted(MODEL_B, TRUTH) == (2, 1, 0, 0)
    one = extraction_counts(MODEL_A, TRUTH)
    other = extraction_counts(MODEL_B, TRUTH)
    assert [float(one.metrics()[name]) for name in ("precision", "recall", "f1", "accuracy")] == [1 / 2] * 4
    assert [float(other.metrics()[name]) for name in ("precision", "recall", "f1", "accuracy")] == [
        2 / 3,
        1.0,
        4 / 5,
        2 / 3,
    ]
    assert [percent(float(each)) for each in other.metrics().values()] == ["66.7 %", "66.7 %", "100.0 %", "80.0 %"]


def test_the_second_worked_example():  # R-002-18
    counts = extraction_counts(["Not Present"] * 2, ["Not Present"] * 2)
    assert (counts.tp, counts.fp, counts.fn, counts.tn) == (0, 0, 0, 2)
    assert list(counts.metrics().values()) == [1.0] * 4


ANSWERS = [
    pytest.param("NDA", "nda", (1, 0, 0, 0), id="right"),
    pytest.param("", None, (0, 0, 0, 1), id="both absent"),
    pytest.param("NDA", "", (0, 1, 0, 0), id="a value where there is none"),
    pytest.param("Not Present", "NDA", (0, 0, 1, 0), id="missed"),
    pytest.param("Lease", "NDA", (0, 1, 1, 0), id="wrong value, both"),
    pytest.param("pending", "NDA", (0, 0, 0, 0), id="pending prediction"),
    pytest.param("NDA", " ERROR ", (0, 0, 0, 0), id="error in the ground truth"),
    pytest.param("pending approval", "NDA", (0, 1, 1, 0), id="a value that only begins so"),
    pytest.param("January 1, 2024", "2024-01-01", (1, 0, 0, 0), id="the same day"),
    pytest.param(float("nan"), "", (0, 0, 0, 1), id="NaN is nothing"),
    pytest.param(5, "5", (1, 0, 0, 0), id="a number as text"),
]


@pytest.mark.parametrize(("prediction", "truth", "expected"), ANSWERS)
def test_every_kind_of_answer(prediction, truth, expected):  # R-002-05 to 13
    assert counted([prediction], [truth]) == expected


ZERO_OVER_ZERO = [
    # tn, tp, fp, fn, wrong, excluded -> precision, recall, f1, accuracy
    pytest.param((3, 0, 2, 0, 0, 0), (0, 0, 0, 3 / 5), id="two inventions, three rightly absent"),  # D-34
    pytest.param((0, 0, 0, 2, 0, 0), (0, 0, 0, 0), id="all missed"),
    pytest.param((0, 0, 0, 0, 3, 0), (0, 0, 0, 0), id="all wrong"),  # R-002-30
    pytest.param((0, 4, 0, 0, 0, 0), (1, 1, 1, 1), id="all right"),
    pytest.param((0, 0, 0, 0, 0, 5), (0, 0, 0, 0), id="nothing classified"),  # R-002-19
    pytest.param((2, 3, 1, 1, 1, 9), (3 / 5, 3 / 5, 3 / 5, 5 / 9), id="mixed"),
]


@pytest.mark.parametrize(("counts", "expected"), ZERO_OVER_ZERO)
def test_metrics_of_counts(counts, expected):
    found = ExtractionSums.of_counts(np.array(counts)).metrics()
    assert tuple(float(found[name]) for name in ("precision", "recall", "f1", "accuracy")) == pytest.approx(expected)


def test_an_unclassified_field_does_not_enter_the_mean_and_a_bad_one_does():  # R-002-21, D-35
    fields = ExtractionSums.of_counts(np.array([[0, 2, 0, 0, 0, 0], [0, 0, 0, 0, 2, 0], [0, 0, 0, 0, 0, 2]]))
    assert overall(fields) == dict.fromkeys(("accuracy", "precision", "recall", "f1"), 1 / 2)
    nothing = ExtractionSums.of_counts(np.array([[0, 0, 0, 0, 0, 2]]))
    assert overall(nothing)["f1"] == 0.0


def test_the_macro_f1_is_no_f1_of_averages():  # R-002-22
    fields = ExtractionSums.of_counts(np.array([[0, 1, 0, 3, 0, 0], [0, 1, 3, 0, 0, 0]]))
    averages = overall(fields)
    assert (averages["precision"], averages["recall"]) == (5 / 8, 5 / 8)
    assert averages["f1"] == 2 / 5


def test_replicates_pass_through():
    values = np.array([[1.0, 0.5], [0.0, 1.0]])
    assert macro(values, np.array([[1, 1], [0, 3]])).tolist() == [0.75, 1.0]


def test_sums_of_two_halves_are_the_sums_of_the_whole():
    whole = extraction_counts(MODEL_A + MODEL_B, TRUTH + TRUTH)
    assert (extraction_counts(MODEL_A, TRUTH) + extraction_counts(MODEL_B, TRUTH)).arrays() == whole.arrays()


def test_the_public_functions():
    arguments = (MODEL_B, TRUTH)
    assert extraction_precision(*arguments) == extraction_accuracy(*arguments) == 2 / 3
    assert extraction_recall(*arguments) == 1
    assert extraction_f1(*arguments) == 4 / 5
    assert extraction_f1(["$5.00"], ["5"]) == 0
    assert extraction_f1(["$5.00"], ["5"], how=Comparison("number")) == 1


def test_lists_and_different_lengths_are_refused():  # D-44, R-002-26
    with pytest.raises(BadValue, match="one value"):
        extraction_counts([["a", "b"]], ["a"])
    with pytest.raises(MismatchedSample, match="2 predictions against 1"):
        extraction_counts(["a", "b"], ["a"])
    with pytest.raises(MismatchedSample, match="2 predictions against 1"):
        classify(np.array([1, 2]), np.array([1]))


def test_kinds_are_named_in_order():
    kinds = classify(np.array([0, 1, 1, 0, 1, 1]), np.array([0, 1, 0, 1, 2, 1]), np.arange(6) == 5)
    assert [KINDS[each] for each in kinds] == list(KINDS)


GOOD = ExtractionSums.of_counts(np.array([[1, 2, 0, 0, 1, 0], [0, 3, 0, 0, 0, 0]]))
BROKEN = [
    pytest.param({"f1": [0.9, 1.0]}, "R-002-23", id="an F1 that is not that of P and R"),
    pytest.param({"precision": [1.0, 1.0], "f1": [0.8, 1.0]}, "R-002-24", id="precision 100 % with a false positive"),
    pytest.param({"recall": [1.0, 1.0], "f1": [0.8, 1.0]}, "R-002-25", id="recall 100 % with a false negative"),
    pytest.param({"accuracy": [0.6, 0.9]}, "R-002-30", id="all right and not 100 %"),
]


def test_what_we_compute_passes_every_check():
    checks = check_fields(["type", "date"], GOOD, GOOD.metrics())
    assert [each.rule for each in checks if not each.passed] == []


@pytest.mark.parametrize(("changes", "rule"), BROKEN)
def test_impossible_combinations_are_found(changes, rule):  # R-002-42
    metrics = GOOD.metrics() | {name: np.array(values) for name, values in changes.items()}
    broken = {each.rule: each.broken for each in check_fields(["type", "date"], GOOD, metrics) if not each.passed}
    assert broken[rule] == (("date",) if "accuracy" in changes else ("type",))


def test_a_field_without_classification_is_flagged():  # R-002-27
    counts = ExtractionSums.of_counts(np.array([[0, 0, 0, 0, 0, 4]]))
    broken = [each for each in check_fields(["type"], counts, counts.metrics()) if not each.passed]
    assert [(each.rule, each.broken) for each in broken] == [("R-002-27", ("type",))]


def test_averages_that_do_not_follow_from_the_fields():  # R-002-28, R-002-29
    metrics, averages = GOOD.metrics(), overall(GOOD)
    assert all(each.passed for each in check_overall(GOOD.n, metrics, averages))
    wrong = check_overall(GOOD.n, metrics, averages | {"f1": 0.5, "recall": 1.01})
    assert [(each.rule, each.broken) for each in wrong] == [("R-002-28", ("recall",)), ("R-002-29", ("f1",))]


def test_scikit_learn_agrees_where_its_definitions_are_ours():
    """Its micro average over the values, "Not Present" left out: a wrong value is FP and FN there too."""
    learn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(7)
    values = np.array(["Not Present", "a", "b", "c"])
    for _ in range(20):
        truth, prediction = (values[rng.integers(0, 4, 60)] for _ in range(2))
        counts = extraction_counts(list(prediction), list(truth))
        expected = learn.precision_recall_fscore_support(
            truth, prediction, labels=["a", "b", "c"], average="micro", zero_division=0
        )
        assert [float(counts.precision()), float(counts.recall()), float(counts.f1())] == pytest.approx(expected[:3])
        same = learn.accuracy_score(truth, prediction)  # each document once
        assert float((counts.tp + counts.tn) / counts.n) == pytest.approx(same)
