"""The threat family from tables to KPI results: values by hand, holes, and cohorts that say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from configs.case import read_case
from metrics.kpis.kpi import KpiResult
from tasks.families.family import Work
from tasks.families.threat import FAMILY
from tasks.find import find_files

CASE = """\
case: HAND
cycle: 2026-08-01T00
models:
  m: {threat: {path: p.csv, id: fire, probabilities: {12: p12, 24: p24, 48: p48, 72: p72}}}
observations:
  threat: {path: o.csv, id: fire, time: hours, event: hit, unit: h}
threat: {}
kpis:
  H: {kpi: fire_threat_hybrid}
  U: {kpi: fire_threat_hybrid_unpenalised}
  C: {kpi: fire_threat_c_index}
  W: {kpi: fire_threat_weighted_brier}
  B: {kpi: fire_threat_brier, parameters: {horizon: 48 h}}
  C24: {kpi: fire_threat_c_index, parameters: {horizon: 24 h}}
"""
# The cohort of tests/metrics/kpis/test_threat.py: hits at 10 and 30 h, censored at 40 and 80 h.
FORECASTS = ("a,0.8,0.9,1,1", "b,0.3,0.5,0.9,0.8", "c,0.4,0.5,0.6,0.7", "d,0.1,0.1,0.2,0.3")
OUTCOMES = ("a,10,1", "b,30,1", "c,40,0", "d,80,0")
AT_24, AT_48, AT_72 = (0.01 + 0.25 + 0.25 + 0.01) / 4, (0 + 0.01 + 0.04) / 3, (0 + 0.04 + 0.09) / 3
WEIGHTED = 0.3 * AT_24 + 0.4 * AT_48 + 0.3 * AT_72
HYBRID = 0.3 * 4 / 5 + 0.7 * (1 - WEIGHTED)


def finished(
    tmp_path: Path, *, forecasts=FORECASTS, outcomes=OUTCOMES, rules="threat: {}", more=""
) -> dict[str, KpiResult]:
    """The results of a case with these rows."""
    (tmp_path / "p.csv").write_text("\n".join(["fire,p12,p24,p48,p72", *forecasts]) + "\n")
    (tmp_path / "o.csv").write_text("\n".join(["fire,hours,hit", *outcomes]) + "\n")
    (tmp_path / "case.yaml").write_text(CASE.replace("threat: {}", rules) + more)
    case = read_case(tmp_path / "case.yaml")
    found = find_files.fn(case, case.models[0], "threat", case.cycle)
    FAMILY.match(case, found, tmp_path / "pairs", Work())
    FAMILY.reduce(case, "m", case.cycle, tmp_path / "pairs", tmp_path / "sums")
    return FAMILY.finish(case, tmp_path / "sums")


def test_values_by_hand(tmp_path):
    results = finished(tmp_path)
    expected = {"H": HYBRID * 3 / 4, "U": HYBRID, "C": 4 / 5, "W": WEIGHTED, "B": AT_48, "C24": 4.5 / 5}
    assert {name: each.value for name, each in results.items()} == pytest.approx(expected)
    assert {name: each.n for name, each in results.items()} == {"H": 4, "U": 4, "C": 5, "W": 10, "B": 3, "C24": 5}
    assert all((each.used, each.total, each.coverage) == (4, 4, 1.0) for each in results.values())
    assert results["H"].flags == (
        "1 of 4 fires have a probability that falls with the horizon: hybrid lowered by 25.0%",
    )
    assert results["H"].details["unpenalised"] == pytest.approx(HYBRID)
    assert results["U"].flags == results["C"].flags == results["W"].flags == ()
    # At 48 and 72 h: a beats all (3), b beats c and d (2).
    assert results["C"].details == pytest.approx(
        {"by_harrell": 4 / 5, "at_12h": 4 / 5, "at_24h": 4.5 / 5, "at_48h": 1.0, "at_72h": 1.0}
    )
    assert results["W"].details == pytest.approx({"at_24h": AT_24, "at_48h": AT_48, "at_72h": AT_72})


def test_sorting_when_asked(tmp_path):
    results = finished(tmp_path, rules="threat: {repair: sort}")
    weighted = 0.3 * AT_24 + 0.4 * (0.04 + 0.04) / 3 + 0.3 * (0.01 + 0.09) / 3
    assert results["H"].value == results["U"].value == pytest.approx(0.3 * 4 / 5 + 0.7 * (1 - weighted))
    assert results["H"].flags == ("1 of 4 fires have a probability that falls with the horizon: sorted before scoring",)
    assert all(each.flags == results["H"].flags for each in results.values())  # the repair changes all of them


def test_all_censored_has_no_order_but_a_brier_score(tmp_path):  # D-57
    results = finished(tmp_path, outcomes=("a,80,0", "b,80,0", "c,80,0", "d,80,0"))
    for name in ("H", "U", "C"):
        assert results[name].value is None
        assert results[name].reason == results[name].flags[0] == "no two fires can be compared: no fire hit"
    assert results["B"].value == pytest.approx((1 + 0.81 + 0.36 + 0.04) / 4)
    assert results["W"].flags[0] == "24 h: one outcome only, none of the 4 fires known hit"


def test_hits_at_one_time_cannot_be_compared(tmp_path):
    results = finished(tmp_path, outcomes=("a,10,1", "b,10,1", "c,10,1", "d,10,1"))
    assert (results["C"].value, results["C"].reason) == (None, "no two fires can be compared")
    assert results["W"].value is not None


def test_one_fire(tmp_path):
    results = finished(tmp_path, forecasts=FORECASTS[:1], outcomes=OUTCOMES[:1])
    assert (results["C"].value, results["C"].reason) == (None, "one fire cannot be compared with anything")
    assert results["H"].value is None
    assert results["B"].value == 0


def test_a_horizon_nobody_is_known_at(tmp_path):
    results = finished(tmp_path, outcomes=("a,30,0", "b,30,0", "c,30,0", "d,30,0"))
    assert results["W"].value == pytest.approx((0.81 + 0.25 + 0.25 + 0.01) / 4)
    assert "48 h: no fire is known by then; its weight goes to the other horizons" in results["W"].flags
    assert (results["B"].value, results["B"].n) == (None, 0)
    assert results["B"].reason == "no fire is known to have hit, or not, by any horizon"


LEAVE_OUT = "threat: {unmatched: leave_out}"


def test_missing_forecasts_are_the_models_fault(tmp_path):  # D-17
    results = finished(tmp_path, forecasts=FORECASTS[:3], rules=LEAVE_OUT)
    assert all(each.penalised and each.coverage == 3 / 4 for each in results.values())
    assert "coverage 75.0% is below 90%: scored 0" in results["C"].flags
    assert results["C"].left_out == {"no forecast": 1}
    dropped = finished(tmp_path, forecasts=FORECASTS[:3], rules=LEAVE_OUT, more="matching: {missing_model: drop}\n")
    assert all(each.value is None and not each.penalised for each in dropped.values())


def test_missing_outcomes_are_not(tmp_path):
    results = finished(tmp_path, outcomes=OUTCOMES[:3], rules=LEAVE_OUT)
    assert all(each.coverage == 1 and not each.penalised for each in results.values())
    assert results["C"].value == pytest.approx(2 / 3)  # a beats b and c, b loses against c
    account = FAMILY.account(tmp_path / "pairs")
    assert account.ledger.set_index("station")["reason"].to_dict() == {
        **dict.fromkeys("abc", "pair"),
        "d": "no observation",
    }
    assert account.ledger["count"].sum() == 4
