"""YAML, read safely: what is refused, where it stands, and what stays text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from configs.case import read_case
from configs.source import LARGEST, plain, read_source
from metrics.errors import BadCase


def data_of(tmp_path: Path, text: str):
    path = tmp_path / "some.yaml"
    path.write_text(text, encoding="utf-8")
    return read_source(path).data


SCALARS = [
    ("yes", "yes"),
    ("no", "no"),
    ("on", "on"),
    ("Off", "Off"),
    ("10:00", "10:00"),
    ("190:20:30", "190:20:30"),
    ("2026-11-17", "2026-11-17"),
    ("2026-11-17T00:00:00Z", "2026-11-17T00:00:00Z"),
    ("0x10", "0x10"),
    ("0o17", "0o17"),
    ("1_000", "1_000"),
    (".inf", ".inf"),
    (".nan", ".nan"),
    ("=", "="),
    ("NO", "NO"),
    ("'24'", "24"),
    ('"true"', "true"),
    ("true", True),
    ("False", False),
    ("null", None),
    ("~", None),
    ("", None),
    ("24", 24),
    ("007", 7),
    ("-3", -3),
    ("2.5", 2.5),
    (".5", 0.5),
    ("1e3", 1000.0),
]


@pytest.mark.parametrize(("written", "meant"), SCALARS)
def test_only_null_true_false_and_plain_numbers_are_not_text(tmp_path, written, meant):
    value = data_of(tmp_path, f"key: {written}\n")["key"]
    assert value == meant
    assert type(value) is type(meant)


def test_a_key_is_text_whatever_it_looks_like(tmp_path):
    assert data_of(tmp_path, "1: a\nyes: b\n2026-11-17: c\nnull: d\n") == {
        "1": "a",
        "yes": "b",
        "2026-11-17": "c",
        "null": "d",
    }


def test_lines_are_kept_for_keys_items_and_what_is_not_there(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text("# one\na:\n  b: [x,\n    y]\nc: {d: 1,\n    e: 2}\n")
    source = read_source(path)
    assert source.line_of(("a",)) == 2
    assert source.line_of(("a", "b")) == 3
    assert source.line_of(("a", "b", 1)) == 4
    assert source.line_of(("c", "e")) == 6
    assert source.line_of(("c", "missing")) == 5


REFUSED = [
    pytest.param(("title: A night", "title: A night\ntitle: B"), 4, "title: B", "'title' stands twice", id="key twice"),
    pytest.param(("gfs.csv, name", "gfs.csv, path: x, name"), 10, "gfs.csv, path: x", "'path' stands twice", id="flow"),
    pytest.param(
        ("    - WX02", "    - WX02\n  Wind: [WX04]"), 47, "Wind: [WX04]", "'Wind' stands twice", id="group twice"
    ),
    pytest.param(("title: A night", "title: &t A night\nstrict: *t"), 4, "strict: *t", "aliases (*t)", id="alias"),
    pytest.param(("  hours: 24", "  hours: !!float 24"), 12, "!!float 24", "tags (tag:yaml.org,2002:float)", id="tag"),
    pytest.param(("  hours: 24", "  hours: !!int soon"), 12, "!!int soon", "tags", id="tag that does not fit"),
    pytest.param(("  Wind:\n", "  Wind: !!set\n"), 44, "Wind: !!set", "tags", id="tag of a section"),
    pytest.param(("title: A", "!x title: A"), 3, "!x title: A night", "tags (!x)", id="tag of a key"),
    pytest.param(
        ("title: A", "t: !!python/object/apply:os.system [id]\ntitle: A"), 3, "os.system", "tags", id="python object"
    ),
    pytest.param(("title: A night", "? [a, b]\n: c"), 3, "? [a, b]", "a key must be plain text", id="key is a list"),
    pytest.param(("title: A night", "title: 'A night"), None, "", "not valid YAML", id="open quote"),
    pytest.param(("  hours: 24", "\thours: 24"), 12, "hours: 24", "not valid YAML", id="tab"),
    pytest.param(("title: A night", "title: A: night"), 3, "title: A: night", "mapping values", id="two colons"),
    pytest.param(("strict: false", "---\ncase: X"), 53, "---", "a single document", id="two documents"),
    pytest.param(("title: A night", "title: \x1b[31m"), 3, r"\x1b[31m", r"character '\x1b'", id="escape code"),
    pytest.param(("title: A night", 'title: "\\ud800"'), 3, "ud800", "half of a character", id="half a character"),
    pytest.param(("  hours: 24", "  hours: 1" + "0" * 5000), 12, "hours: 10000", "5001 digits", id="endless number"),
]


@pytest.mark.parametrize(("change", "line", "shown", "said"), REFUSED)
def test_what_a_case_file_has_no_use_for(complaint, tmp_path, change, line, shown, said):
    message = complaint(change)
    assert message.startswith(f"{tmp_path / 'night.yaml'}:{line or ''}")
    assert said in message
    row = message.splitlines()[-1]
    assert shown in row
    if line:
        assert row.split("|")[0].strip() == str(line)
    assert len(message) < 1000
    assert "\x1b" not in message


def test_a_merge_key_is_a_key_like_any_other(complaint):
    assert "unknown key '<<'" in complaint(("title: A night", "<<: {title: x}"))


NOT_A_CASE = [
    pytest.param("", "expected a case: a mapping", id="nothing"),
    pytest.param("# only a comment\n\n", "expected a case: a mapping", id="a comment"),
    pytest.param("- case: X\n", "expected a case: a mapping", id="a list"),
    pytest.param("just text\n", "expected a case: a mapping", id="text"),
    pytest.param("a: " + "[" * 3000, "nested too deeply", id="deep lists"),
    pytest.param("a: " + "{a: " * 500 + "1" + "}" * 500, "nested too deeply", id="deep mappings"),
    pytest.param(b"\xff\xfec\x00a\x00s\x00e\x00", "not UTF-8 text (byte 0)", id="UTF-16"),
    pytest.param("case: Größe\n".encode("latin-1"), "not UTF-8 text (byte 8)", id="Latin-1"),
    pytest.param("case: X\n#" + "x" * LARGEST, "too large for a case file", id="huge"),
    pytest.param(b"\x89HDF\r\n\x1a\n" + bytes(100), "UTF-8", id="binary"),
]


@pytest.mark.parametrize(("content", "said"), NOT_A_CASE)
def test_what_is_no_case_at_all(complaint, tmp_path, content, said):
    message = complaint(text=content)
    assert message.startswith(f"{tmp_path / 'night.yaml'}")
    assert said in message


def test_a_directory_and_a_missing_file(tmp_path):
    with pytest.raises(BadCase, match=r"is a directory, expected a case file"):
        read_case(tmp_path)
    with pytest.raises(BadCase, match=r"nowhere\.yaml: there is no such case file"):
        read_case(tmp_path / "nowhere.yaml")
    with pytest.raises(BadCase, match="cannot be read"):
        read_case(tmp_path / "a\0b.yaml")
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadCase, match=r"below\.yaml: cannot be read: Not a directory"):
        read_case(tmp_path / "file" / "below.yaml")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without an end")
def test_a_file_without_an_end_is_too_large():
    with pytest.raises(BadCase, match="too large"):
        read_case("/dev/zero")


def test_a_pipe_is_read_like_a_file(good):
    end, start = os.pipe()
    with os.fdopen(start, "w") as file:
        file.write(good)
    try:
        assert read_case(f"/dev/fd/{end}").id == "NIGHT"
    finally:
        os.close(end)


def test_a_byte_order_mark_and_any_line_ends_are_harmless(case_file, good):
    assert read_case(case_file(text="\ufeff" + good)).id == "NIGHT"
    for ends in ("\r\n", "\r"):
        assert read_case(case_file(text=good.replace("\n", ends).encode())).id == "NIGHT"


def test_lines_are_right_with_windows_line_ends(complaint, good):
    bad = good.replace("wind_speed_bias", "wind_speed_bia").replace("\n", "\r\n")
    assert "night.yaml:22: kpis.WX01.kpi" in complaint(text=bad.encode())


def test_the_digest_is_that_of_the_text(case_file, good):
    assert read_case(case_file()).digest == read_case(case_file(text=good.replace("\n", "\r\n"))).digest
    assert read_case(case_file()).digest != read_case(case_file(("A night", "A day"))).digest


PLAIN = [
    ("abc", "abc"),
    ("a\x1b[0m", r"a\x1b[0m"),
    ("\ud800", r"\ud800"),
    ("日本\t", "日本\t"),
    ("x" * 99, "x" * 10 + "…"),
]


@pytest.mark.parametrize(("text", "expected"), PLAIN)
def test_plain_text_for_a_terminal(text, expected):
    assert plain(text, 10) == expected
