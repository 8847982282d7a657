"""The schema that editors read says the same as the code that reads the case."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from configs.shape import CaseSection, case_schema
from configs.source import read_source
from metrics.kpis.catalogue import KPIS

ROOT = Path(__file__).parents[2]
LAW = settings(derandomize=True, deadline=None, max_examples=300)
EDITOR = jsonschema.Draft202012Validator(case_schema())

GOOD = {
    "case": "NIGHT",
    "title": "A night",
    "models": {"wrf": {"weather": {"path": "a.csv", "source": "pairs", "name": "WRF"}}},
    "window": {"hours": 24, "offset": "30 min", "first_lead": 1, "closed": "both", "step": "1 h"},
    "matching": {"min_completeness": 0.5, "min_pairs": 6, "min_coverage": 1, "missing_model": "drop"},
    "variables": {"soil": {"unit": "%", "title": "Soil", "kind": "scalar"}},
    "kpis": {
        "WX01": {
            "kpi": "rmse",
            "variable": "soil",
            "name": "Soil RMSE",
            "parameters": {},
            "normalise": {"kind": "exponential", "a": 0, "m": "5 %"},
            "aggregate": "pooled",
            "window": {"hours": "6 h"},
        },
        "WX02": {"kpi": "exceedance_csi", "variable": "soil", "parameters": {"threshold": 8}},
    },
    "groups": {"All": ["WX01", "WX02"]},
    "schemes": {"A": "mean", "B": {"groups": {"All": 1.5}, "kpis": {"WX01": 0}}},
    "strict": True,
}


def both_accept(data) -> tuple[bool, bool]:
    """What an editor says of a case, and what the code says."""
    try:
        CaseSection.model_validate(data)
    except ValidationError:
        return EDITOR.is_valid(data), False
    return EDITOR.is_valid(data), True


def changed(place: str, value):
    """The good case with something else at a place; `...` takes the place away."""
    data = copy.deepcopy(GOOD)
    *above, last = place.split(".")
    inside = data
    for key in above:
        inside = inside[int(key)] if isinstance(inside, list) else inside[key]
    if value is ...:
        del inside[last]
    else:
        inside[int(last) if isinstance(inside, list) else last] = value
    return data


def test_the_published_schema_is_that_of_the_code():
    published = (ROOT / "configs" / "schemas" / "case.schema.json").read_text(encoding="utf-8")
    assert json.loads(published) == json.loads(json.dumps(case_schema()))


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(case_schema())


ACCEPTED = [
    ("case", "a-b_C9"),
    ("case", "x" * 40),
    ("title", "anything, 日本"),
    ("title", ...),
    ("window", ...),
    ("window.hours", None),
    ("window.hours", "1.5 hours"),
    ("window.hours", "90min"),
    ("window.hours", 0),
    ("window.local", "10:00-20:00 America/Los_Angeles, standard"),
    ("matching", {}),
    ("matching.min_coverage", 0),
    ("groups", ...),
    ("groups", {}),
    ("schemes", ...),
    ("schemes.B", {}),
    ("schemes.B.groups", {"Other": 3}),
    ("schemes.Z", "mean"),
    ("strict", False),
    ("kpis.WX01.normalise", None),
    ("kpis.WX01.normalise.m", "-.5e-3 m s-1"),
    ("kpis.WX01.normalise.m", 5),
    ("kpis.WX01.aggregate", None),
    ("kpis.WX01.window", None),
    ("models.日本 🔥", {"weather": {"path": "x"}}),
    ("models.wrf.weather.source", None),
]
REFUSED = [
    ("case", ...),
    ("case", ""),
    ("case", "a b"),
    ("case", "-a"),
    ("case", "x" * 41),
    ("case", 5),
    ("case", None),
    ("title", 5),
    ("title", ["a"]),
    ("models", ...),
    ("models", {}),
    ("models", []),
    ("models", "wrf"),
    ("models." + "x" * 81, {"weather": {"path": "x"}}),
    ("models.", {"weather": {"path": "x"}}),
    ("models.wrf.wether", {"path": "x"}),
    ("models.wrf.weather", "a.csv"),
    ("models.wrf.weather.path", ...),
    ("models.wrf.weather.path", ""),
    ("models.wrf.weather.path", 5),
    ("models.wrf.weather.source", "pears"),
    ("window", 24),
    ("window.hour", 24),
    ("window.hours", -1),
    ("window.hours", "-1 h"),
    ("window.hours", "soon"),
    ("window.hours", "24 km"),
    ("window.hours", "1.2.3 h"),
    ("window.hours", True),
    ("window.hours", [24]),
    ("window.offset", None),
    ("window.closed", "right"),
    ("window.closed", None),
    ("window.local", 10),
    ("matching.min_completeness", 1.5),
    ("matching.min_completeness", "0.5"),
    ("matching.min_pairs", 0),
    ("matching.min_pairs", 2.5),
    ("matching.min_pairs", "6"),
    ("matching.min_pairs", True),
    ("matching.missing_model", "punish"),
    ("matching.min_cover", 1),
    ("variables.a b", {"unit": "m"}),
    ("variables.soil.unit", ...),
    ("variables.soil.kind", "vector"),
    ("kpis", {}),
    ("kpis", ...),
    ("kpis.a b", {"kpi": "rmse"}),
    ("kpis.WX01", None),
    ("kpis.WX01.kpi", ...),
    ("kpis.WX01.name", ""),
    ("kpis.WX01.normalise", {}),
    ("kpis.WX01.normalise.kind", "quadratic"),
    ("kpis.WX01.normalise.m", "five"),
    ("kpis.WX01.normalise.m", ""),
    ("kpis.WX01.normalise.m", True),
    ("kpis.WX01.normalise.q", 1),
    ("kpis.WX01.parameters", {"threshold": None}),
    ("kpis.WX01.parameters", {"threshold": [1]}),
    ("kpis.WX01.aggregate", "median"),
    ("groups.All", []),
    ("groups.All", "WX01"),
    ("groups.All.0", 1),
    ("groups.", ["WX01"]),
    ("schemes", {}),
    ("schemes.AB", "mean"),
    ("schemes.a", "mean"),
    ("schemes.A", "median"),
    ("schemes.B.groups", {"All": -1}),
    ("schemes.B.groups", {"All": "1"}),
    ("schemes.B.groups", {"All": True}),
    ("schemes.B.weights", {}),
    ("strict", "yes"),
    ("strict", 1),
    ("strict", None),
    ("anything", 1),
]


def test_the_good_case_is_good():
    assert both_accept(GOOD) == (True, True)


@pytest.mark.parametrize(("place", "value"), ACCEPTED, ids=str)
def test_both_accept(place, value):
    assert both_accept(changed(place, value)) == (True, True)


@pytest.mark.parametrize(("place", "value"), REFUSED, ids=str)
def test_both_refuse(place, value):
    assert both_accept(changed(place, value)) == (False, False)


def test_the_schema_knows_the_kpis():
    # The code looks them up later, with a suggestion; the editor completes them.
    assert both_accept(changed("kpis.WX01.kpi", "rsme"))[0] is False
    for name in KPIS:
        assert both_accept(changed("kpis.WX01.kpi", name)) == (True, True)


def places(data, above=()):
    """Every place of the data."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield (*above, str(key))
        yield from places(value, (*above, str(key)))


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 30),
    st.sampled_from([0.5, -0.5, 1.25, 100.5]),
    st.sampled_from(["", "mean", "8 m/s", "15 min", "A", "WX01", "pairs", "left", "a b", "x" * 90, "1 h h"]),
    st.lists(st.sampled_from(["WX01", "WX02", 1, None]), max_size=2),
    st.dictionaries(
        st.sampled_from(["A", "hours", "path", "WX01", "groups", "kind"]), st.sampled_from([1, "mean", None])
    ),
)


@LAW
@given(place=st.sampled_from(sorted(".".join(each) for each in places(GOOD))), value=ANYTHING)
def test_both_say_the_same_whatever_stands_wherever(place, value):
    data = changed(place, value)
    editor, code = both_accept(data)
    if code and not editor:  # the only thing that the code looks up later
        assert any(each["kpi"] not in KPIS for each in data["kpis"].values())
    else:
        assert editor == code


@pytest.mark.parametrize("path", sorted((ROOT / "configs" / "cases").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_cases_follow_the_schema(path):
    EDITOR.validate(read_source(path).data)
