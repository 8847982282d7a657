"""Whatever a case file holds: a case, or one clear complaint."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.case import Case, read_case
from metrics.errors import BadCase

LAW = settings(
    derandomize=True,
    deadline=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

PLAIN = """case models kpis groups schemes window hours m a b kind path mean WX01 WX02 Wind A B 8 m/s 1e999 -1 0
true null { } [ ] : , # & * ! | > ' " % @ ` ~ - -- --- ... ? << {} [] {a:1} &x *x !!str !!python/name:os.system 9**9**9
°F degF {cycle} {cycle:%Y} {0.__class__} 10:00-20:00 Etc/UTC, standard 日本 \U0001f525 \\u0000"""
WORDS = st.sampled_from([*PLAIN.split(), "", " ", "\t", "\n", "\x00", "\x85", "\u2028"])


SHIPPED = [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parents[2].glob("configs/cases/*.yaml"))]


def read(content: str | bytes) -> Case | str:
    """The case, or what is said about it; anything else is a failure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fuzz.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        try:
            case = read_case(path)
        except BadCase as error:
            message = str(error)
            assert message.startswith(str(path))
            assert message.replace("\n", "").replace("\t", "").isprintable()
            return message
        assert isinstance(case, Case)
        return case


@LAW
@given(content=st.one_of(st.text(), st.binary()))
def test_anything(content):
    assert isinstance(read(content), str)


@LAW
@given(words=st.lists(WORDS, max_size=40))
def test_any_words_of_the_language(words):
    read(" ".join(words))
    read("case: X\n" + "\n".join(words))


@LAW
@given(data=st.data())
def test_lines_dropped_doubled_swapped_and_indented(good, data):
    rows = data.draw(st.sampled_from([good, *SHIPPED])).splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        one, other = (data.draw(st.integers(0, len(rows) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["drop", "double", "swap", "indent", "word", "cut"])):
            case "drop":
                rows.pop(one)
            case "double":
                rows.insert(one, rows[other])
            case "swap":
                rows[one], rows[other] = rows[other], rows[one]
            case "indent":
                rows[one] = " " * data.draw(st.integers(0, 6)) + rows[one].strip()
            case "word":
                rows[one] = rows[one].replace(rows[one].split(" ")[-1], data.draw(WORDS))
            case "cut":
                rows[one] = rows[one][: data.draw(st.integers(0, len(rows[one])))]
        rows = rows or [""]
    read("\n".join(rows))


@LAW
@given(data=st.data())
def test_characters_changed(good, data):
    text = list(good)
    for _ in range(data.draw(st.integers(1, 5))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(
            st.one_of(st.characters(), st.sampled_from(":{}[]*&!#-\n\t "))
        )
    read("".join(text))


@LAW
@given(data=st.data())
def test_a_value_replaced(good, data):
    rows = data.draw(st.sampled_from([good, *SHIPPED])).splitlines()
    places = [number for number, row in enumerate(rows) if ": " in row]
    number = data.draw(st.sampled_from(places))
    key = rows[number].split(": ")[0]
    rows[number] = f"{key}: {data.draw(st.one_of(WORDS, st.text(max_size=20), st.integers(), st.floats()))}"
    read("\n".join(rows))


@LAW
@given(name=st.text(max_size=90))
def test_a_model_may_be_called_anything(good, name):
    quoted = json.dumps(name)  # the same escapes as in YAML
    result = read(good.replace("  gfs:", f"  {quoted}:"))
    if isinstance(result, Case):
        assert result.models[1].name == name


@pytest.mark.parametrize("depth", [10, 100, 300, 900])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_depth(depth, pair):
    inside = f"{pair[0]}a: " if pair == "{}" else pair[0]
    assert isinstance(read("case: " + inside * depth + pair[1] * depth), str)
