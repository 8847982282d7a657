"""Agreement with FireBench 0.10.0, entry by entry, and every difference with the decision behind it.

An entry of a function that we have must agree to 1e-12, or stand in `DECIDED` with what the specification decides
and our value, worked by hand. A function that is not built yet stands in `NOT_BUILT`; any other name is a failure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics.circular import direction_bias
from metrics.confusion import binary_counts, undefined
from metrics.continuous import bias, mae, nmse_power, nmse_range, rmse
from metrics.errors import BadParameter, BadValue, MismatchedSample, OutOfRange, Undefined
from metrics.scoring.normalise import Normalisation
from metrics.scoring.scorecard import Scheme, aggregate
from metrics.sums import ContingencySums

GOLDEN = Path(__file__).parents[2].parent / "shared" / "golden" / "firebench.json"
NAN, INF = float("nan"), float("inf")

with_golden = pytest.mark.skipif(not GOLDEN.exists(), reason=f"the reference values are not here: {GOLDEN}")

NOT_BUILT = {
    "adapter_common.interpolation.find_nearest_grid_point",
    "adapter_common.interpolation.nearest_2d",
    "benchmarks.c001_caldor._mask_time_window_rel",
    "benchmarks.c001_caldor.apply_high_ravg_cc_mask",
    "benchmarks.c001_caldor.fire_area_final_bias_norm_param_m",
    "benchmarks.c001_caldor.fire_area_rmse_norm_param_m",
    "benchmarks.c001_caldor.get_mask_ravg_cc_valid",
    "benchmarks.c001_caldor_config.CURATED_PERIODS",
    "benchmarks.c001_caldor_config.HRRR_PERIODS",
    "metrics.perimeter.jaccard_binary",
    "metrics.perimeter.jaccard_polygon",
    "metrics.perimeter.sorensen_dice_binary",
    "metrics.perimeter.sorensen_dice_polygon",
    "metrics.table._score_to_color",
    "signing.benchmarks.compute_verification_lvl",
}


def number(value: Any) -> Any:
    """The file writes NaN and Infinity as words; anything else stays."""
    if isinstance(value, list):
        return [number(each) for each in value]
    return {"NaN": NAN, "Infinity": INF, "-Infinity": -INF}.get(value, value) if isinstance(value, str) else value


# How an entry's inputs reach our function.


def of_vectors(metric: Callable) -> Callable[[Mapping], Any]:
    def ours(inputs: Mapping) -> Any:
        if inputs["case"] == "plain lists":
            return metric([1, 2], [1, 2])
        dtype = inputs.get("dtype", float)
        return metric(np.array(number(inputs["x1"]), dtype=dtype), np.array(number(inputs["x2"]), dtype=dtype))

    return ours


def counts_of(inputs: Mapping) -> ContingencySums:
    (tn, fp), (fn, tp) = inputs["bcm [[TN,FP],[FN,TP]]"]
    return ContingencySums(*(np.float64(each) for each in (tn + fp + fn + tp, tp, fp, fn, tn)))


def of_counts(ratio: Callable[[ContingencySums], Any]) -> Callable[[Mapping], Any]:
    return lambda inputs: ratio(counts_of(inputs))


def false_positive_rate(counts: ContingencySums) -> Any:
    return NAN if undefined(counts)["specificity"] else 1 - counts.specificity()


def their_matrix(inputs: Mapping) -> Any:
    counts = binary_counts(number(inputs["y_pred"]), number(inputs["y_true"]))
    return [[counts.tn, counts.fp], [counts.fn, counts.tp]]  # D-10: theirs has the negatives first


def of_value(kind: str, first: str, second: str) -> Callable[[Mapping], Any]:
    return lambda inputs: Normalisation(kind, inputs.get(first, 0), inputs[second])(number(inputs["x"]))


def group_scores(inputs: Mapping) -> Any:
    scheme = Scheme(
        "X",
        kpis={name: weight for group in inputs["scheme"].values() for name, weight in group["benchmarks"].items()},
        groups={name: group["weight"] for name, group in inputs["scheme"].items()},
    )
    groups = {name: list(group["benchmarks"]) for name, group in inputs["scheme"].items()}
    units = {name: number(inputs["scores"].get(name, "NaN")) for members in groups.values() for name in members}
    totals = aggregate(units, groups, scheme)
    found = {f"Score {name}": each for name, each in totals.groups.items()} | {"Score Total": totals.total}
    return {name: float(each) for name, each in found.items() if not np.isnan(each)}


OURS: dict[str, Callable[[Mapping], Any]] = {
    "metrics.stats.rmse": of_vectors(rmse),
    "metrics.stats.mae": of_vectors(mae),
    "metrics.stats.bias": of_vectors(bias),
    "metrics.stats.nmse_range": of_vectors(nmse_range),
    "metrics.stats.nmse_power": of_vectors(nmse_power),
    "metrics.stats.circular_bias_deg": of_vectors(direction_bias),
    "metrics.confusion_matrix.binary_accuracy": of_counts(ContingencySums.accuracy),
    "metrics.confusion_matrix.binary_precision": of_counts(ContingencySums.precision),
    "metrics.confusion_matrix.binary_recall_rate": of_counts(ContingencySums.recall),
    "metrics.confusion_matrix.binary_specificity": of_counts(ContingencySums.specificity),
    "metrics.confusion_matrix.binary_negative_predicted_value": of_counts(ContingencySums.npv),
    "metrics.confusion_matrix.binary_f_score": of_counts(ContingencySums.f1),
    "metrics.confusion_matrix.binary_false_positive_rate": of_counts(false_positive_rate),
    "metrics.confusion_matrix.binary_cm": their_matrix,
    "metrics.kpi_norm_bounded_linear": of_value("bounded", "a", "b"),
    "metrics.kpi_norm_half_open_linear": of_value("linear", "a", "m"),
    "metrics.kpi_norm_half_open_exponential": of_value("exponential", "a", "m"),
    "metrics.kpi_norm_symmetric_open_linear": of_value("symmetric_linear", "a", "m"),
    "metrics.kpi_norm_symmetric_open_exponential": of_value("symmetric_exponential", "a", "m"),
    "benchmarks.c001_caldor.aggregate_scores": group_scores,
}

# Where we differ: the decision, and our value worked by hand (or the error that we raise).
RATIOS = [
    *("binary_precision", "binary_recall_rate", "binary_specificity"),
    *("binary_negative_predicted_value", "binary_f_score", "binary_false_positive_rate"),
]
DECIDED: dict[tuple[str, str], tuple[str, Any]] = {
    # Pairs are made first; FireBench drops missing values of each side on its own.
    ("stats.bias", "nan in model"): ("D-13", (0 + 0) / 2),
    ("stats.bias", "nan in both, disjoint"): ("D-13", (0 - 2) / 2),
    ("stats.nmse_range", "nan in both, disjoint"): ("D-13", 2**0.5 / (6 - 3)),
    ("stats.nmse_power", "nan in both, disjoint"): ("D-13", 2 / (7 / 2 * 9 / 2)),
    # Nothing to compare, or no range, or means whose product is not positive and finite.
    ("stats.nmse_range", "all nan obs"): ("D-13", Undefined),
    ("stats.nmse_power", "all nan obs"): ("D-13", Undefined),
    ("stats.nmse_power", "empty"): ("D-13", Undefined),
    ("stats.nmse_power", "opposite sign means"): ("D-12", Undefined),
    ("stats.nmse_power", "penalty value"): ("D-12", Undefined),
    ("stats.nmse_power", "inf in model"): ("D-12", Undefined),
    # Everything is counted in float64, and a list is as good as an array.
    ("stats.rmse", "unsigned ints wrap"): ("D-80", 20),
    ("stats.rmse", "plain lists"): ("D-80", 0),
    # The circular mean of the differences, not the difference of circular means.
    ("stats.circular_bias_deg", "scatter cancels"): ("D-78", NAN),
    ("stats.circular_bias_deg", "calm coded 0"): (
        "D-78",
        np.degrees(np.arctan2(-np.sin(np.radians(20)), 2 + np.cos(np.radians(20)))),
    ),
    ("stats.circular_bias_deg", "three-way"): (
        "D-78",
        np.degrees(np.angle(np.exp(1j * np.radians([-10, 20, -60])).sum())),
    ),
    # An empty matrix is undefined; so is the false positive rate without a negative in the reference.
    **{(f"confusion_matrix.{name}", "empty all zero"): ("D-14", NAN) for name in RATIOS},
    ("confusion_matrix.binary_false_positive_rate", "tn+fp=0"): ("D-14", NAN),
    # Missing is left out, and only 0 and 1 are yes or no.
    ("confusion_matrix.binary_cm", "nan obs counts as True"): ("D-13", [[1, 0], [0, 1]]),
    ("confusion_matrix.binary_cm", "nan model counts as True"): ("D-13", [[1, 0], [0, 1]]),
    ("confusion_matrix.binary_cm", "values 2,3 are True"): ("R-003-07", BadValue),
    ("confusion_matrix.binary_cm", "negative is True"): ("R-003-07", BadValue),
    ("confusion_matrix.binary_cm", "broadcast scalar"): ("R-003-07", MismatchedSample),
    ("confusion_matrix.binary_cm", "string '0' vs ''"): ("R-003-07", ValueError),
    # Rounding outside the bounds is clipped, a missing value never becomes a score.
    ("kpi_norm_bounded_linear", "x=1.0000000000000002 a=0 b=1"): ("D-02", 100),
    ("kpi_norm_bounded_linear", "x=-1e-16 a=0 b=1"): ("D-02", 0),
    ("kpi_norm_bounded_linear", "x=NaN a=0 b=1"): ("D-02", BadValue),
    ("kpi_norm_half_open_linear", "x=NaN a=0 m=5"): ("D-02", BadValue),
    ("kpi_norm_half_open_exponential", "x=NaN a=0 m=5"): ("D-02", BadValue),
    ("kpi_norm_symmetric_open_linear", "x=NaN m=10"): ("D-02", BadValue),
    ("kpi_norm_symmetric_open_exponential", "x=NaN m=5"): ("D-02", BadValue),
    # A KPI without a value is left out and the remaining weights are rescaled.
    ("benchmarks.c001_caldor.aggregate_scores", "c missing, not ignored"): (
        "D-05",
        {"Score G1": (80 + 20) / 2, "Score G2": 30, "Score Total": (2 * 50 + 30) / 3},
    ),
    ("benchmarks.c001_caldor.aggregate_scores", "NaN unit score"): (
        "D-05",
        {"Score G1": (80 + 2 * 50) / 3, "Score G2": 30, "Score Total": (2 * 60 + 30) / 3},
    ),
}
# What FireBench refuses, we refuse as well, with an error of our own kind.
REFUSED = {"shape mismatch": MismatchedSample, "empty": Undefined, "single": Undefined}
REFUSED |= {"constant obs": Undefined, "zero-mean obs": Undefined}


def entries() -> list[dict]:
    return json.loads(GOLDEN.read_text())["entries"] if GOLDEN.exists() else []


def function_of(entry: Mapping) -> str:
    return entry["function"].removeprefix("firebench.")


def case_of(entry: Mapping) -> str:
    inputs = entry["inputs"]
    return inputs.get("case") or " ".join(f"{name}={value}" for name, value in inputs.items())


def key_of(entry: Mapping) -> tuple[str, str]:
    return function_of(entry).removeprefix("metrics."), case_of(entry)


def refusal(entry: Mapping) -> type[Exception]:
    """The error of ours that answers FireBench's."""
    case, message = case_of(entry), entry["exception"]["message"]
    if not function_of(entry).startswith("metrics.kpi_norm"):
        return REFUSED[case]
    inputs = entry["inputs"]
    bad_parameters = inputs.get("b", inputs.get("m")) <= inputs.get("a", 0)
    assert bad_parameters or message.startswith("KPI value")
    return BadParameter if bad_parameters else OutOfRange


CHECKED = [entry for entry in entries() if function_of(entry) in OURS]


@with_golden
@pytest.mark.parametrize("entry", CHECKED, ids=lambda entry: " | ".join(key_of(entry)))
def test_entry(entry):
    decision, expected = DECIDED.get(key_of(entry), ("", None))
    if not decision:
        expected = refusal(entry) if "exception" in entry else number(entry["output"])
    compute = OURS[function_of(entry)]
    if isinstance(expected, type):
        with pytest.raises(expected):
            compute(entry["inputs"])
        return
    found = compute(entry["inputs"])
    if isinstance(expected, dict):
        assert found == pytest.approx(expected, rel=1e-12), decision
    else:
        # Degrees of angles near zero carry the rounding of their sines: 1e-9 there, as -1e6° has 1e-10 of its own.
        absolute = 1e-9 if "circular" in entry["function"] else 1e-12
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=absolute, err_msg=decision)


def test_clipped_scores_are_exactly_within_bounds():  # D-02: the tolerance above could hide it
    assert Normalisation("bounded", 0, 1)(1.0000000000000002) == 100
    assert Normalisation("bounded", 0, 1)(-1e-16) == 0
    assert Normalisation("linear", 0, 5)(-1e-16) == 100


@with_golden
def test_every_function_is_known():
    unknown = {function_of(entry) for entry in entries()} - set(OURS) - NOT_BUILT
    assert not unknown, f"neither checked nor listed as not built: {sorted(unknown)}"


@with_golden
def test_every_name_in_the_tables_occurs():
    names = {function_of(entry) for entry in entries()}
    assert names >= NOT_BUILT
    assert names >= set(OURS)
    assert {key_of(entry) for entry in entries()} >= set(DECIDED)


@with_golden
def test_every_decision_is_needed():
    """An exception that agrees with FireBench after all would hide a change on either side."""
    for entry in CHECKED:
        decision, expected = DECIDED.get(key_of(entry), ("", None))
        if decision and "exception" not in entry and not isinstance(expected, (type, dict, list)):
            theirs = number(entry["output"])
            same = theirs == expected or (np.isnan(theirs) and np.isnan(expected))
            assert not same, f"{key_of(entry)} needs no {decision}"


@with_golden
def test_cases_are_told_apart():
    twice = [key for key, count in Counter(key_of(entry) for entry in CHECKED).items() if count > 1]
    assert not twice


# What FireBench's own test suite expects, in prose beside the entries.
SUITE = [
    pytest.param(rmse, [0, 1, 2], [0, 0, 2], (1 / 3) ** 0.5, id="rmse"),
    pytest.param(rmse, [0, 1, 2], [0, NAN, 2], 0, id="rmse, NaN in the observation"),
    pytest.param(rmse, [[0, 1], [2, 3]], [[1, 2], [3, 4]], 1, id="rmse, 2-D"),
    pytest.param(nmse_range, [0, 1, 2], [0, 0, 2], (1 / 3) ** 0.5 / 2, id="nmse_range"),
    pytest.param(nmse_range, [[0, 1], [2, 3]], [[1, 2], [3, 4]], 1 / 3, id="nmse_range, 2-D"),
    pytest.param(nmse_power, [0, 1, 2], [0, 0, 3], 2 / 3, id="nmse_power"),
    pytest.param(nmse_power, [[0, 1], [2, 3]], [[1, 2], [3, 4]], 4 / 15, id="nmse_power, 2-D"),
    pytest.param(bias, [0, 1, 2], [0, 0, 3], 0, id="bias of zero"),
    pytest.param(bias, [0, 1, 2], [0, 0, 6], -1, id="bias"),
    pytest.param(bias, [0, 1, 2], [0, NAN, 2], 0, id="bias, NaN in the observation"),
    pytest.param(bias, [[0, 1], [2, 3]], [[1, 2], [3, 4]], -1, id="bias, 2-D"),
    pytest.param(mae, [0, 1, 2], [1, 1, 1], 2 / 3, id="mae"),
    pytest.param(mae, [0, 1, 2], [0, NAN, 4], 1, id="mae, NaN in the observation"),
    pytest.param(mae, [[0, 1], [2, 3]], [[1, 1], [1, 5]], 1, id="mae, 2-D"),
    pytest.param(direction_bias, [10], [350], 20, id="circular bias, clockwise"),
    pytest.param(direction_bias, [350], [10], -20, id="circular bias, anticlockwise"),
    pytest.param(direction_bias, [0, 10], [350, 0], 10, id="circular bias of two"),
    pytest.param(direction_bias, [0, NAN, 20], [10, 30, 10], 0, id="circular bias, NaN in the model"),
    pytest.param(direction_bias, [NAN], [NAN], NAN, id="circular bias of nothing"),
]


@pytest.mark.parametrize(("metric", "forecast", "observed", "expected"), SUITE)
def test_what_their_suite_expects(metric, forecast, observed, expected):
    assert metric(forecast, observed) == pytest.approx(expected, abs=1e-12, nan_ok=True)
