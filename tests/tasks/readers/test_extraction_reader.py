"""Tables of extracted fields in every format and layout, and what bad ones are told."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from metrics.errors import BadInput, MissingInput
from tasks.readers.extraction import Answers, Layout, read_answers

ROWS = [("d1", "NDA", "5"), ("d2", "", "7"), ("d3", "Lease", "")]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def wide_csv(folder: Path) -> Path:
    return write(folder, "a.csv", "document,type,amount\n" + "".join(f"{','.join(row)}\n" for row in ROWS))


def long_csv(folder: Path) -> Path:
    cells = [(row[0], name, value) for row in ROWS for name, value in zip(("type", "amount"), row[1:], strict=True)]
    return write(folder, "b.csv", "document,field,value\n" + "".join(f"{','.join(cell)}\n" for cell in cells))


def parquet(folder: Path) -> Path:
    ids, kinds, amounts = zip(*ROWS, strict=True)
    numbers = pa.array([float(each) if each else None for each in amounts])
    pyarrow.parquet.write_table(
        pa.table({"document": ids, "type": [each or None for each in kinds], "amount": numbers}), folder / "c.parquet"
    )
    return folder / "c.parquet"


def records() -> list[dict]:
    return [{"document": each, "type": kind or None, "amount": int(amount or 0) or None} for each, kind, amount in ROWS]


def json_lines(folder: Path) -> Path:
    return write(folder, "d.jsonl", "\n\n".join(json.dumps(each) for each in records()))


def json_list(folder: Path) -> Path:
    return write(folder, "e.json", json.dumps(records()))


def json_mapping(folder: Path) -> Path:
    mapping = {each.pop("document"): {name: value for name, value in each.items() if value} for each in records()}
    return write(folder, "f.json", json.dumps(mapping))


def table(answers: Answers) -> dict:
    """The values as they were written, nothing as ''."""
    return {
        document: {
            name: "" if each.codes[index] < 0 else each.texts[int(each.codes[index])].as_py()
            for name, each in answers.columns.items()
        }
        for index, document in enumerate(answers.documents.to_pylist())
    }


@pytest.mark.parametrize("write_it", [wide_csv, long_csv, parquet, json_lines, json_list, json_mapping])
def test_every_format_says_the_same(write_it, tmp_path: Path):
    expected = {each: {"type": kind, "amount": amount} for each, kind, amount in ROWS}
    assert table(read_answers([write_it(tmp_path)], Layout())) == expected


def test_the_rows_of_one_model(tmp_path: Path):
    path = write(tmp_path, "m.csv", "model,document,type\na,d1,x\nb,d1,y\na,d2,z\n")
    assert table(read_answers([path], Layout(), (), "a")) == {"d1": {"type": "x"}, "d2": {"type": "z"}}
    with pytest.raises(MissingInput, match=r"m\.csv: no row of model 'c'; models here: a, b"):
        read_answers([path], Layout(), (), "c")


def test_a_field_may_be_called_model_or_status_where_the_template_says_so(tmp_path: Path):
    path = write(tmp_path, "m.csv", "document,model,status\nd1,T,wild\n")
    answers = read_answers([path], Layout(), ("model", "status"), "a")
    assert table(answers) == {"d1": {"model": "T", "status": "wild"}}


def test_columns_may_have_other_names(tmp_path: Path):
    path = write(tmp_path, "m.csv", "id,type,state\nd1,NDA,ok\nd2,x,pending\n")
    answers = read_answers([path], Layout(document="id", status="state"))
    assert table(answers) == {"d1": {"type": "NDA"}, "d2": {"type": "x"}}
    assert answers.unfinished["type"].tolist() == [False, True]


def test_a_status_of_single_values(tmp_path: Path):
    text = "document,field,value,status\nd1,type,NDA,done\nd1,amount,5,ERROR\nd2,type,,\n"
    answers = read_answers([write(tmp_path, "s.csv", text)], Layout())
    assert {name: each.tolist() for name, each in answers.unfinished.items()} == {
        "type": [False, False],
        "amount": [True, False],
    }


def test_several_files_are_one_table(tmp_path: Path):
    one = write(tmp_path, "1.csv", "document,type\nd1,x\nd2,y\n")
    two = write(tmp_path, "2.csv", "document,type,amount\nd3,x,5\n")
    answers = read_answers([one, two], Layout())
    assert table(answers) == {
        "d1": {"type": "x", "amount": ""},
        "d2": {"type": "y", "amount": ""},
        "d3": {"type": "x", "amount": "5"},
    }
    assert answers.place(2) == f"{two}: row 2"
    with pytest.raises(BadInput, match=r"1\.csv: row 2: document 'd1' stands in two files"):
        read_answers([one, one], Layout())


BAD = [
    pytest.param("x.csv", "id,type\nd1,x\n", "column 'document' is missing", id="no document"),
    pytest.param("x.csv", "document,type\n", "no row", id="no row"),
    pytest.param("x.csv", "", "is empty", id="empty file"),
    pytest.param("x.csv", "document,type\nd1,x\n ,y\n", "row 3, column 'document': expected the id", id="no id"),
    pytest.param("x.csv", "document,type\nd1,x\nd2,y\nd1,z\n", "row 4: document 'd1' stands there twice", id="twice"),
    pytest.param(
        "x.csv",
        "document,field,value\nd1,type,x\nd1,type,y\n",
        "row 3: document 'd1', field 'type' stands there twice",
        id="twice, long",
    ),
    pytest.param("x.csv", "document,field,value\nd1, ,x\n", "row 2, column 'field': expected the name", id="no field"),
    pytest.param("x.csv", "document,status\nd1,ok\n", "no column of a field", id="no field at all"),
    pytest.param("x.csv", "document,type,type\nd1,x,y\n", "column 'type' stands there twice", id="column twice"),
    pytest.param("x.csv", "document,a,\nd1,x,y\n", "a column has no name", id="column without a name"),
    pytest.param(
        "x.csv", "document,type,status\nd1,x,ok\nd2,x,maybe\n", "row 3, column 'status': got 'maybe'", id="status"
    ),
    pytest.param("x.csv", "document,type\nd1,Stra\xdfe\n".encode("latin-1"), "x.csv", id="not UTF-8"),
    pytest.param(
        "x.jsonl", '{"document": "d1"}\n{"document": "d2", "type": ["a", "b"]}', "line 2, field 'type'", id="list"
    ),
    pytest.param(
        "x.json", '[{"document": "d1", "type": {"a": 1}}]', "item 1, field 'type': got a mapping", id="mapping"
    ),
    pytest.param("x.json", '{"d1": {"type": "a"}, "d1": {"type": "b"}}', "'d1' stands there twice", id="id twice"),
    pytest.param("x.json", '{"d1": 5}', "document 'd1': expected a mapping", id="no mapping"),
    pytest.param("x.json", "5", "expected a list", id="a number"),
    pytest.param("x.json", "[5]", "item 1: expected a mapping", id="a list of numbers"),
    pytest.param("x.json", "[", "not valid JSON", id="cut JSON"),
    pytest.param("x.json", "[]", "no row", id="empty list"),
    pytest.param("x.json", "[" * 100_000, "x.json", id="nested"),
    pytest.param("x.jsonl", '{"document": "d1"}\n{"document"', "line 2: not valid JSON", id="cut line"),
    pytest.param("x.jsonl", b'{"document": "d1"}\n{"document": "\xff"}', "line 2: not UTF-8", id="mixed encodings"),
    pytest.param("x.jsonl", "[1]", "line 1: expected a mapping", id="a line that is a list"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD)
def test_bad_tables_are_told_where_and_why(name, content, message, tmp_path: Path):
    with pytest.raises(BadInput, match=message) as caught:
        read_answers([write(tmp_path, name, content)], Layout())
    assert name in str(caught.value)


def test_lists_in_parquet_are_refused(tmp_path: Path):  # D-44
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pa.table({"document": ["d1", "d2"], "type": [None, ["a", "b"]]}), path)
    with pytest.raises(BadInput, match=r"x\.parquet: row 2, column 'type': a list"):
        read_answers([path], Layout())


def test_a_file_that_is_no_parquet(tmp_path: Path):
    with pytest.raises(BadInput, match="not a Parquet file"):
        read_answers([write(tmp_path, "x.parquet", "document,type\n")], Layout(source="parquet"))
    with pytest.raises(BadInput, match=r"x\.parquet: cannot be read"):
        read_answers([write(tmp_path, "x.parquet", b"PAR1garbage")], Layout())


def test_values_of_other_types_are_written_as_people_do(tmp_path: Path):
    path = tmp_path / "x.parquet"
    columns = {
        "document": [1, 2],
        "whole": pa.array([5.0, None]),
        "flag": [True, False],
        "day": [date(2024, 1, 1), None],
        "part": [0.5, float("nan")],
        "nothing": pa.nulls(2),
    }
    pyarrow.parquet.write_table(pa.table(columns), path)
    assert table(read_answers([path], Layout())) == {
        "1": {"whole": "5", "flag": "true", "day": "2024-01-01", "part": "0.5", "nothing": ""},
        "2": {"whole": "", "flag": "false", "day": "", "part": "", "nothing": ""},
    }


def test_a_status_column_in_some_files_only(tmp_path: Path):
    one = write(tmp_path, "1.csv", "document,type\nd1,x\n")
    two = write(tmp_path, "2.csv", "document,type,status\nd2,x,ok\n")
    with pytest.raises(BadInput, match="some of the files have a status column"):
        read_answers([one, two], Layout())
