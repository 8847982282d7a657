"""What a case may say about extracted fields, and what it is told where it says something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from configs.case import read_case
from metrics.errors import BadCase
from metrics.spelling import Comparison

CASE = """\
case: DOCS
cycle: 2026-11-17T00
models:
  a: {extraction: {path: a.csv}}
observations:
  extraction: {path: truth.csv, document: id}
extraction:
  fields:
    type: text
    signed: {compare: date, order: day_first}
    due: date
    amount: number
  dates: month_first
  small_sample: 10
kpis:
  EX01: {kpi: macro_f1}
  EX02: {kpi: field_f1, variable: type}
"""


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text = CASE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "case.yaml").write_text(text)
    return folder / "case.yaml"


def test_the_template_is_bound(tmp_path: Path):
    case = read_case(written(tmp_path))
    assert case.extraction.fields == {
        "type": Comparison("text"),
        "signed": Comparison("date", "day_first"),
        "due": Comparison("date", "month_first"),
        "amount": Comparison("number"),
    }
    assert (case.extraction.small_sample, case.extraction.examples) == (10, 3)
    assert case.observations["extraction"].options["document"] == "id"
    assert case.instances["EX02"].name == "type: Field F1 Score"
    assert case.instances["EX01"].normalisation.kind == "bounded"


def test_without_a_template_every_field_is_text(tmp_path: Path):
    fields = CASE[CASE.index("extraction:\n  fields") : CASE.index("kpis:")]
    case = read_case(written(tmp_path, (fields, "extraction: {dates: day_first}\n")))
    assert case.extraction.fields == {}
    assert case.extraction.comparison("anything") == Comparison("text", "day_first")


BAD = [
    pytest.param(
        ("variable: type", "variable: typ"), r"unknown field 'typ': did you mean 'type'\?", id="unknown field"
    ),
    pytest.param((", variable: type", ""), "field_f1 needs a `variable`: type, signed", id="no field"),
    pytest.param(
        ("amount: number", "amount: {compare: number, order: day_first}"), "a number has no order", id="order"
    ),
    pytest.param(("type: text", "type: colour"), "expected 'text', 'date' or 'number'", id="comparison"),
    pytest.param(("kpi: macro_f1", "kpi: macro_f1, aggregate: pooled"), "means over fields", id="pooled"),
    pytest.param(("kpi: macro_f1", "kpi: macro_f1, variable: type"), "has no variable", id="variable of an average"),
    pytest.param(("small_sample: 10", "small_sample: -1"), "expected 0 or more", id="small sample"),
    pytest.param(("path: a.csv", "path: a.csv, layout: tall"), "expected 'long' or 'wide'", id="layout"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_mistakes_have_a_line_and_a_reason(change, message, tmp_path: Path):
    with pytest.raises(BadCase, match=message) as caught:
        read_case(written(tmp_path, change))
    assert "case.yaml:" in str(caught.value)
