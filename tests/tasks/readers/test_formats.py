"""Which format a file has, from a glance; what to say when that is not clear."""

from __future__ import annotations

import pytest

from configs.formats import FORMATS, MODEL, OBSERVED
from metrics.errors import BadInput, MissingInput
from tasks.readers.formats import GLANCE, Head, candidates, reader, recognise

REPORTS = "station,lat,lon,time,wind_speed [m/s]\nA,40,-120,2026-11-17T00:00Z,3\n"
PAIRS = "station,lat,lon,cycle,valid_time,variable,unit,forecast,observed\n"


@pytest.fixture
def file(tmp_path):
    def write(content, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_own_tables(file):
    assert recognise(file(REPORTS), OBSERVED).name == "stations"
    assert recognise(file(PAIRS), MODEL).name == "pairs"


def test_what_the_case_says_goes_before_what_it_looks_like(file):
    assert recognise(file(REPORTS), MODEL, source="pairs").name == "pairs"


def test_an_unknown_format_is_refused_with_what_is_known(file):
    with pytest.raises(BadInput, match=r"data\.txt: its format is not recognised: it is text that starts with 'hello'"):
        recognise(file("hello\n"), OBSERVED)
    with pytest.raises(BadInput, match=r"starts with b'\\x00\\x01.*stations \(table of station reports\)"):
        recognise(file(b"\0\1\2\3\4\5\6\7\10"), OBSERVED)


def test_a_table_with_a_missing_column_gets_the_word_of_its_reader(file):
    assert recognise(file("station,lat,lon,when\n"), OBSERVED).name == "stations"
    assert recognise(file("model,station,forecast\n"), MODEL).name == "pairs"


def test_nothing_to_look_at(file, tmp_path):
    with pytest.raises(BadInput, match="is empty"):
        recognise(file(""), OBSERVED)
    with pytest.raises(MissingInput, match="no such file"):
        recognise(tmp_path / "gone", OBSERVED)
    with pytest.raises(BadInput, match="is a directory"):
        recognise(tmp_path, OBSERVED)


def test_ambiguity_lists_the_candidates(file, monkeypatch):
    path = file(REPORTS)
    monkeypatch.setattr(reader(FORMATS["pairs"]), "recognises", lambda _head: True)
    assert [each.name for each in candidates(Head.of(path), (*MODEL, *OBSERVED))] == ["pairs", "stations"]
    with pytest.raises(BadInput, match=r"could be pairs \(.*\), stations \(.*\); say which with `source:`"):
        recognise(path, (*MODEL, *OBSERVED))


def test_a_glance_that_cuts_a_character_is_still_text(file):
    head = Head.of(file("x" * (GLANCE - 1) + "é"))
    assert head.text == "x" * (GLANCE - 1)


def test_a_mark_of_byte_order_belongs_to_no_column(file):
    assert Head.of(file("﻿station,time\n")).columns == ("station", "time")


def test_every_reader_is_there():
    for each in FORMATS.values():
        assert callable(reader(each).recognises), each.name
