"""Every public metric says what it means, in which unit and in which range (R-003-14)."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

from metrics import circular, confusion, continuous, exceedance, extraction, severity, survival
from metrics.kpis.catalogue import METRICS

FAMILIES = (continuous, circular, exceedance, confusion, severity, survival, extraction)
SEVERITY_STEPS = ("class_matrix", "collapsed", "dice_of", "zone_areas", "cell_areas", "no_event", "event_only")
SURVIVAL_STEPS = ("pair_counts", "outcome", "penalised", "decrease", "violates", "repaired", "calibration")
EXTRACTION_STEPS = ("classify", "codes", "extraction_counts", "macro", "overall", "check_fields", "check_overall")
# Public, but steps towards a metric rather than a number of their own.
STEPS = {
    "components",
    "exceedance",
    "binary_counts",
    "matrix",
    "undefined",
    *SEVERITY_STEPS,
    *SURVIVAL_STEPS,
    *EXTRACTION_STEPS,
}


def public_functions(module: ModuleType) -> set[str]:
    return {
        name
        for name, each in inspect.getmembers(module, inspect.isfunction)
        if each.__module__ == module.__name__ and not name.startswith("_")
    }


@pytest.mark.parametrize("module", FAMILIES, ids=lambda module: module.__name__)
def test_every_public_function_is_declared(module):
    assert {metric.name for metric in module.METRICS} == public_functions(module) - STEPS


def test_names_are_unique_over_the_families():
    assert len(METRICS) == sum(len(module.METRICS) for module in FAMILIES)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_meaning_unit_and_range_are_there(metric):
    assert len(metric.description) > 15
    assert metric.description.endswith((".", ")."))
    assert metric.unit
    assert metric.range


DECLARED = [
    # name, unit, range, symbol (R-003-01 to R-003-13, D-11, D-24)
    ("mean", "input", "that of the input", "x̄"),
    ("bias", "input", "]-∞, ∞[", "B"),
    ("rmse", "input", "[0, ∞[", "RMSE"),
    ("mae", "input", "[0, ∞[", "MAE"),
    ("nmse_range", "1", "[0, ∞[", "NMSE_p"),
    ("nmse_power", "1", "[0, ∞[", "NMSE_r"),
    ("direction_difference", "deg", "[-180, 180[", "d"),
    ("direction_rmse", "deg", "[0, 180]", ""),
    ("accuracy", "1", "[0, 1]", ""),
    ("precision", "1", "[0, 1]", "PPV"),
    ("recall", "1", "[0, 1]", "TPR"),
    ("specificity", "1", "[0, 1]", "TNR"),
    ("npv", "1", "[0, 1]", "NPV"),
    ("f1", "1", "[0, 1]", "F1"),
]


@pytest.mark.parametrize(("name", "unit", "values", "symbol"), DECLARED, ids=[each[0] for each in DECLARED])
def test_what_the_requirements_declare(name, unit, values, symbol):
    metric = METRICS[name]
    assert (metric.unit, metric.range, metric.symbol) == (unit, values, symbol)
