"""`firecard check` of a case about extracted fields: what was found, what is left out, what cannot be read."""

from __future__ import annotations

from pathlib import Path

from configs.case import read_case
from flows.check import check_case
from flows.demos.extraction import write_demo


def test_every_model_is_explained(tmp_path: Path):
    lines: list[str] = []
    assert check_case(read_case(write_demo(tmp_path)), None, lines.append)
    assert "model cirrus: extraction" in lines
    assert any(line.startswith("  ground truth: truth.csv ") for line in lines)
    assert any("pending or error" in line for line in lines)
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_model_that_cannot_be_read_is_told_why(tmp_path: Path):
    case = read_case(write_demo(tmp_path))
    (tmp_path / "cirrus.jsonl").write_text('{"document": "C9999", "party": "x"}\n')
    lines: list[str] = []
    assert not check_case(case, None, lines.append)
    assert any("cannot be scored" in line and "C9999" in line for line in lines)
