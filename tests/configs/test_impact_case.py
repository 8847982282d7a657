"""What a case says about severity and structures, and mistakes with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from configs.case import Case, read_case
from configs.impact import FirebenchNames
from metrics.errors import BadCase
from metrics.severity import PRESETS

CASE = """\
case: FIRE
models: {m: {severity: {path: a.nc}, structures: {path: b.csv}}}
observations: {severity: {path: c.nc}, structures: {path: d.csv}}
kpis: {SV01: {kpi: high_severity_f1}, BD01: {kpi: structure_loss_f1}}
"""


def read(folder: Path, *lines: str) -> Case:
    (folder / "case.yaml").write_text(CASE + "\n".join(lines) + "\n")
    return read_case(folder / "case.yaml")


def test_the_defaults(tmp_path):  # D-15
    case = read(tmp_path)
    assert case.severity.classes == PRESETS["mtbs"]
    assert (case.severity.domain, case.severity.aligned) == ("union", False)
    assert case.structures.destroyed == ("Major", "Destroyed")
    assert (case.structures.missing, case.structures.tolerance) == ("left_out", 30.0)
    assert case.instances["SV01"].normalisation.kind == "bounded"
    assert list(case.groups) == ["Burn Severity", "Structure Damage"]


def test_classes_of_the_cases_own(tmp_path):
    case = read(tmp_path, 'severity: {names: {"0": out, "1": low, "9": high}, high: [9]}')
    assert case.severity.classes.codes == (0, 1, 9)
    assert case.severity.classes.unburned == {0}
    assert read(tmp_path, "severity: {classes: ravg}").severity.classes.nodata == {9}


def test_a_tolerance_with_a_unit(tmp_path):
    assert read(tmp_path, "structures: {tolerance: 0.02 km}").structures.tolerance == 20.0


WRONG = [
    ("severity: {high: [7]}", r":5: severity: high: 7 is not one of the classes"),
    ("severity: {high: [0]}", "cannot be both high and unburned"),
    ("severity: {nodata: [4]}", "cannot be both a class and no data"),
    ("severity: {domain: polygon}", "go together"),
    ("severity: {polygon: a.geojson}", "go together"),
    ("severity: {classes: viirs}", "expected 'mtbs', 'ravg' or 'sbs'"),
    ("severity: {names: {high: 4}}", "expected"),
    ('severity: {names: {"x": high}}', "expected the code of a class such as '4', got 'x'"),
    ("structures: {tolerance: 0}", "expected more than 0"),
    ("structures: {tolerance: 3 kg}", "kg"),
    ("structures: {kept: [destroyed]}", "'destroyed' cannot be both destroyed and kept"),
    ("structures: {missing: maybe}", "expected 'left_out' or 'not_destroyed'"),
    ("structures: {join: name}", "expected 'auto', 'id' or 'position'"),
]


@pytest.mark.parametrize(("line", "message"), WRONG)
def test_mistakes(tmp_path, line, message):
    with pytest.raises(BadCase, match=message) as error:
        read(tmp_path, line)
    assert "case.yaml:5" in str(error.value)


def test_a_result_file_for_firebench(tmp_path):
    assert read(tmp_path).firebench is None
    assert read(tmp_path, "title: A fire", "publish: {firebench: true}").firebench == FirebenchNames("A fire", "FIRE")
    named = read(tmp_path, "publish: {firebench: true, case_name: Caldor 2021, short_name: 2021_Caldor}")
    assert named.firebench == FirebenchNames("Caldor 2021", "2021_Caldor")


PUBLISH = [
    pytest.param("{firebench: yes}", "publish.firebench: expected true or false, got 'yes'", id="yes"),
    pytest.param("{fire: true}", "publish.fire: unknown key 'fire': did you mean 'firebench'?", id="key"),
    pytest.param("{firebench: true, short_name: 7}", "publish.short_name: expected text, got 7", id="number"),
    pytest.param("true", "publish: expected a mapping with firebench, case_name, short_name", id="no mapping"),
]


@pytest.mark.parametrize(("text", "message"), PUBLISH)
def test_mistakes_in_what_is_published(tmp_path, text, message):
    with pytest.raises(BadCase) as error:
        read(tmp_path, f"publish: {text}")
    assert message in str(error.value)
    assert "case.yaml:5:" in str(error.value)
