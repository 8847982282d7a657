"""Tables of fires from strangers: three formats, and every mistake with its file, row and column."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from metrics.errors import BadInput
from tasks.readers.threat import joined, read_outcomes, read_probabilities

COLUMNS = {12.0: "p12", 24.0: "p24"}
ROWS = [{"id": "a", "p12": 0.1, "p24": 0.4}, {"id": "NA", "p12": 0.0, "p24": 1.0}]
OUTCOMES = [{"id": "a", "t": 90.0, "hit": 1}, {"id": "NA", "t": 30.5, "hit": 0}]


def written(path: Path, rows: list[dict], kind: str) -> Path:
    frame = pd.DataFrame(rows)
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path, index=False)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def probabilities(path: Path, source: str | None = None) -> pd.DataFrame:
    return read_probabilities(path, fire="id", columns=COLUMNS, source=source)


def outcomes(path: Path, unit: str = "h") -> pd.DataFrame:
    return read_outcomes(path, fire="id", time="t", event="hit", unit=unit, source=None)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_formats(tmp_path, kind):
    table = probabilities(written(tmp_path / "fires.dat", ROWS, kind), kind)
    assert table["fire"].tolist() == ["a", "NA"]
    assert table[12.0].tolist() == [0.1, 0.0]
    assert table[24.0].tolist() == [0.4, 1.0]
    assert table["row"].tolist() == ([2, 3] if kind == "csv" else [1, 2])
    table = outcomes(written(tmp_path / "outcomes.dat", OUTCOMES, kind))
    assert table["time"].tolist() == [90.0, 30.5]
    assert table["event"].tolist() == [True, False]


@pytest.mark.parametrize(("unit", "hours"), [("h", 90.0), ("min", 1.5), ("s", 0.025), ("d", 2160.0)])
def test_the_unit_of_time(tmp_path, unit, hours):
    assert outcomes(written(tmp_path / "o.csv", OUTCOMES, "csv"), unit)["time"][0] == pytest.approx(hours)


@pytest.mark.parametrize("flag", ["1", "true", "True", "TRUE", " 1 ", "1.0"])
def test_ways_to_say_yes(tmp_path, flag):
    (tmp_path / "o.csv").write_text(f"id,t,hit\na,1,{flag}\n")
    assert outcomes(tmp_path / "o.csv")["event"].tolist() == [True]


def test_json_booleans_and_extra_keys(tmp_path):
    (tmp_path / "o.jsonl").write_text(
        '\ufeff{"id": 7, "t": 1, "hit": true, "more": [1]}\n{"hit": false, "id": "8", "t": 2}\n\n'
    )
    table = outcomes(tmp_path / "o.jsonl")
    assert table["fire"].tolist() == ["7", "8"]
    assert table["event"].tolist() == [True, False]


BAD_PROBABILITIES = [
    ("id,p12,p24\na,0.1,1.5\n", r"f: row 2, column 'p24': got .*1\.5.*between 0 and 1"),
    ("id,p12,p24\na,0.1,0.2\nb,-0.1,0.2\n", r"row 3, column 'p12': got .*-0\.1"),
    ("id,p12,p24\na,0.1,\n", r"row 2, column 'p24'.*may not be missing"),
    ("id,p12,p24\na,nan,1\n", r"row 2, column 'p12'.*may not be missing"),
    ("id,p12,p24\na,inf,1\n", r"row 2, column 'p12'.*finite"),
    ("id,p12,p24\na,much,1\n", r"row 2, column 'p12': got 'much'.*a number"),
    ("id,p12,p24\na,0.1,1\nb,0.1,1\na,0.2,1\n", r"row 4, column 'id': got 'a'.*twice"),
    ("id,p12,p24\n,0.1,1\n", r"row 2, column 'id'.*expected a name"),
    ("id,p12\na,0.1\n", r"the column 'p24' is missing \(found: id, p12\)"),
    ("id,p12,p24,p12\na,0.1,0.2,0.3\n", r"the column 'p12' stands there twice"),
    ("id,p12,p24\n", r"a header but no row"),
    ("", r"is empty"),
    ('{"id": "a", "p12": 0.1, "p24": 0.2}\n{"id": "b", "p12": 0.1}\n', r"row 2, column 'p24'.*may not be missing"),
    ('{"id": "a", "p12": true, "p24": 0.2}\n', r"row 1, column 'p12': got True"),
    ('{"id": "a", "p12": [0.1], "p24": 0.2}\n', r"row 1, column 'p12'.*expected a number"),
    ('{"id": "a", "p12": 0.1, "p24": 0.2}\nnothing\n', r"row 2: not a JSON object"),
    ('{"id": "a", "p12": 0.1, "p24": 0.2}\n[1]\n', r"row 2: got \[1\]; expected a JSON object"),
    ('{"id": "a", "p12": 0.1, "p12": 0.9, "p24": 0.2}\n', r"row 1: not a JSON object: a key stands there twice"),
    ('{"id": "a", "p12": NaN, "p24": 0.2}\n', r"row 1, column 'p12'.*may not be missing"),
]


@pytest.mark.parametrize(("text", "message"), BAD_PROBABILITIES)
def test_bad_probabilities(tmp_path, text, message):
    (tmp_path / "f").write_text(text)
    with pytest.raises(BadInput, match=message):
        probabilities(tmp_path / "f")


BAD_OUTCOMES = [
    ("id,t,hit\na,-1,1\n", r"row 2, column 't': got .*-1.*0 h or more"),
    ("id,t,hit\na,,1\n", r"row 2, column 't'.*may not be missing"),
    ("id,t,hit\na,1,2\n", r"row 2, column 'hit': got '2'.*1 or true for a hit, 0 or false"),
    ("id,t,hit\na,1,1\nb,1,yes\n", r"row 3, column 'hit': got 'yes'"),
    ("id,t,hit\na,1,\n", r"row 2, column 'hit'"),
    ("id,t,hit\na,1,1\na,2,0\n", r"row 3, column 'id': got 'a'.*twice"),
    ("id,t\na,1\n", r"the column 'hit' is missing"),
]


@pytest.mark.parametrize(("text", "message"), BAD_OUTCOMES)
def test_bad_outcomes(tmp_path, text, message):
    (tmp_path / "f").write_text(text)
    with pytest.raises(BadInput, match=message):
        outcomes(tmp_path / "f")


def test_a_format_that_is_not_what_the_case_says(tmp_path):
    path = written(tmp_path / "f.parquet", ROWS, "parquet")
    with pytest.raises(BadInput, match="is parquet by its first bytes, the case says `source: csv`"):
        probabilities(path, "csv")


def test_a_folder_and_bytes(tmp_path):
    with pytest.raises(BadInput, match="is a directory"):
        probabilities(tmp_path)
    (tmp_path / "f").write_bytes(b'{"id": "\xff"}')
    with pytest.raises(BadInput, match="not UTF-8"):
        probabilities(tmp_path / "f")


def test_a_fire_in_two_files(tmp_path):
    paths = [written(tmp_path / name, ROWS, "csv") for name in ("one.csv", "two.csv")]
    with pytest.raises(BadInput, match=r"two\.csv: row 2: the fire 'a' stands in another file"):
        joined((path, probabilities(path)) for path in paths)
