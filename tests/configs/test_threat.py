"""The threat section of a case: what it binds, and what it complains about with its line."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from configs.case import read_case
from configs.threat import columns
from metrics.errors import BadCase
from metrics.kpis.threat import ThreatRules
from metrics.scoring.normalise import Normalisation

CASE = """\
case: T
cycle: 2026-08-01T00
models:
  m: {threat: {path: p.csv, id: fire, probabilities: {12: p12, 24 h: p24, 2 d: p48, 72: p72}}}
observations:
  threat: {path: o.csv, id: fire, time: hours, event: hit, unit: h}
threat: {}
kpis:
  A: {kpi: fire_threat_hybrid}
  B: {kpi: fire_threat_weighted_brier}
  C: {kpi: fire_threat_c_index}
"""


def read(tmp_path: Path, *changes: tuple[str, str]):
    text = CASE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "case.yaml"
    path.write_text(text)
    return read_case(path)


def test_defaults(tmp_path):  # R-004-01, R-004-09, D-51, D-54, D-58, D-59
    rules = read(tmp_path).threat
    assert rules == ThreatRules({24.0: 0.3, 48.0: 0.4, 72.0: 0.3}, 12.0, "all", 0.3, 0.7, 1.0, "none", "refuse")
    assert read(tmp_path, ("threat: {}\n", "")).threat == rules


def test_everything_may_be_chosen(tmp_path):
    said = """threat:
  horizons: {2 d: 3, 24: 1}
  risk_horizon: 3 d
  pairing: harrell
  weights: {c_index: 1, brier: 2}
  penalty: 0.5
  repair: sort
  unmatched: leave_out
"""
    rules = read(tmp_path, ("threat: {}\n", said)).threat
    assert rules == ThreatRules({24.0: 1, 48.0: 3}, 72.0, "harrell", 1, 2, 0.5, "sort", "leave_out")
    assert list(rules.horizons) == [24.0, 48.0]


def test_columns_in_the_order_of_their_horizons():
    assert columns({"72": "d", "30 min": "a", "2 d": "c", "24 h": "b"}) == {0.5: "a", 24: "b", 48: "c", 72: "d"}


def test_normalisations(tmp_path):  # D-64
    instances = read(tmp_path).instances
    assert instances["A"].normalisation == instances["C"].normalisation == Normalisation("bounded", 0.0, 1.0)
    assert instances["B"].normalisation == Normalisation("linear", 0.0, 1.0)


WRONG = [
    ("threat: {}", "threat: {pairing: uno}", r"case\.yaml:7: .*pairing.*'all' or 'harrell'"),
    ("threat: {}", "threat: {horizons: {24: -1}}", r"case\.yaml:7: .*expected 0 or more"),
    ("threat: {}", "threat: {horizons: {}}", r"case\.yaml:7: .*must not be empty"),
    ("threat: {}", "threat: {horizons: {24: 0, 48: 0}}", r"case\.yaml:7: .*all weights are zero"),
    ("threat: {}", "threat: {horizons: {24: 1, 1 d: 1}}", r"case\.yaml:7: .*24 h stands there twice"),
    ("threat: {}", "threat: {horizons: {soon: 1}}", r"case\.yaml:7: .*expected a duration"),
    ("threat: {}", "threat: {horizons: {0: 1}}", r"case\.yaml:7: .*more than 0 h"),
    (
        "threat: {}",
        "threat: {horizons: {36: 1}}",
        r"case\.yaml:4: .*no column for 36 h.*columns for 12 h, 24 h, 48 h, 72 h",
    ),
    ("threat: {}", "threat: {risk_horizon: 6 h}", r"case\.yaml:4: .*no column for 6 h"),
    ("threat: {}", "threat: {risk_horizon: []}", r"case\.yaml:7: .*expected a duration"),
    ("threat: {}", "threat: {weights: {c_index: 0, brier: 0}}", r"case\.yaml:7: .*both weights are zero"),
    ("threat: {}", "threat: {penalty: 2}", r"case\.yaml:7: .*expected 1 or less"),
    ("threat: {}", "threat: {repair: maximum}", r"case\.yaml:7: .*'none' or 'sort'"),
    ("threat: {}", "threat: {horizon: 24}", r"case\.yaml:7: .*did you mean 'horizons'"),
    ("24 h: p24", "12.0 h: p24", r"case\.yaml:4: .*12 h stands there twice"),
    ("24 h: p24", "24 h: p12", r"case\.yaml:4: .*two horizons have the same column"),
    (
        "probabilities: {12: p12, 24 h: p24, 2 d: p48, 72: p72}",
        "probabilities: {}",
        r"case\.yaml:4: .*must not be empty",
    ),
    (", unit: h", "", r"case\.yaml:6: .*'unit' is missing"),
    ("unit: h", "unit: fortnight", r"case\.yaml:6: .*'h', 'min', 's' or 'd'"),
    (
        "  C: {kpi: fire_threat_c_index}",
        "  C: {kpi: fire_threat_brier}",
        r"case\.yaml:11: .*needs the parameter 'horizon'",
    ),
    (
        "  C: {kpi: fire_threat_c_index}",
        "  C: {kpi: fire_threat_brier, parameters: {horizon: 36 h}}",
        r"case\.yaml:4: .*no column for 36 h",
    ),
    ("  threat: {path: o.csv, id: fire, time: hours, event: hit, unit: h}", "  {}", r"needs outcomes"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_mistakes_are_named_with_their_line(tmp_path, old, new, message):
    with pytest.raises(BadCase, match=message):
        read(tmp_path, (old, new))


def test_an_editor_knows_what_a_horizon_is():
    from configs.shape import case_schema

    editor = jsonschema.Draft202012Validator(case_schema())
    data = yaml.safe_load(CASE)
    (forecasts,) = (each["threat"] for each in data["models"].values())
    forecasts["probabilities"] = {str(name): each for name, each in forecasts["probabilities"].items()}
    assert editor.is_valid(data)
    for section in (forecasts["probabilities"], data["threat"].setdefault("horizons", {"24": 1})):
        section["soon"] = section.get("24 h", 1)
        assert not editor.is_valid(data)
        del section["soon"]
        assert editor.is_valid(data)


def test_the_shipped_case_reads():
    case = read_case(Path(__file__).parents[2] / "configs" / "cases" / "threat.yaml")
    assert [each.name for each in case.models] == ["steady", "hedging", "unordered"]
    assert case.threat == ThreatRules()
