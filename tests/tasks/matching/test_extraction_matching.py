"""Predictions beside the ground truth: joined by id whatever the order, and every mismatch named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configs.extraction import ExtractionRules
from metrics.errors import BadInput
from metrics.extraction import KINDS
from metrics.spelling import Comparison, plain_text
from tasks.matching.extraction import match_answers, plain_texts, read_classified, write_classified
from tasks.readers.extraction import Layout, read_answers

TRUTH = "document,type,signed\nd1,NDA,2024-01-01\nd2,Lease,\nd3,,2024-02-01\n"


def matched(folder: Path, prediction: str, truth: str = TRUTH, rules: ExtractionRules | None = None):
    sides = []
    for name, text in (("prediction.csv", prediction), ("truth.csv", truth)):
        (folder / name).write_text(text)
        sides.append(read_answers([folder / name], Layout(), (rules or ExtractionRules()).fields))
    return match_answers(*sides, rules or ExtractionRules())


def kinds(found) -> dict[str, list[str]]:
    return {name: [KINDS[each] for each in values] for name, values in found.kinds.items()}


def test_documents_are_joined_by_id(tmp_path: Path):
    prediction = "document,signed,type\nd3,1 Feb 2024,Deed\nd1,01/02/2024,nda\nd2,pending,Loan\n"
    assert kinds(matched(tmp_path, prediction)) == {
        "type": ["tp", "wrong", "fp"],
        "signed": ["wrong", "excluded", "tp"],
    }


def test_the_same_order_and_another_give_the_same(tmp_path: Path):
    rows = ["d1,NDA,2024-01-01", "d2,Lease,", "d3,error,2024-02-02"]
    one = matched(tmp_path, "document,type,signed\n" + "\n".join(rows) + "\n")
    other = matched(tmp_path, "document,type,signed\n" + "\n".join(reversed(rows)) + "\n")
    assert kinds(one) == kinds(other)
    assert one.examples == other.examples


def test_a_status_column_makes_pending_a_value(tmp_path: Path):  # D-33
    prediction = "document,type,signed,status\nd1,pending,2024-01-01,ok\nd2,Lease,,error\nd3,,2024-02-01,\n"
    assert kinds(matched(tmp_path, prediction)) == {
        "type": ["wrong", "excluded", "tn"],
        "signed": ["tp", "excluded", "tp"],
    }


def test_a_value_without_a_row_is_not_present(tmp_path: Path):
    prediction = "document,field,value\nd1,type,NDA\nd2,type,Lease\nd3,signed,2024-02-01\n"
    assert kinds(matched(tmp_path, prediction)) == {"type": ["tp", "tp", "tn"], "signed": ["fn", "tn", "tp"]}


def test_a_field_that_the_model_does_not_have_is_remarked(tmp_path: Path):
    found = matched(tmp_path, "document,type\nd1,NDA\nd2,Lease\nd3,\n")
    assert kinds(found)["signed"] == ["fn", "tn", "fn"]
    assert found.notes == ("signed: the model has no such field; every answer is taken as Not Present",)


def test_the_template_chooses_fields_and_comparisons(tmp_path: Path):
    rules = ExtractionRules(fields={"signed": Comparison("date", "day_first")})
    prediction = "document,type,signed\nd1,x,01/01/2024\nd2,x,\nd3,x,01/02/2024\n"
    found = matched(tmp_path, prediction, rules=rules)
    assert kinds(found) == {"signed": ["tp", "tn", "tp"]}
    assert found.notes == ("not in the template, and left out: type",)


BAD = [
    pytest.param(
        "document,type\nd1,a\nd9,a\n", r"prediction.csv: row 3: document 'd9' is not in", id="unknown document"
    ),
    pytest.param(
        "document,type\nd1,a\nd3,a\n", r"2 documents against 3 .* document 'd2' \(.*truth.csv: row 3\)", id="length"
    ),
    pytest.param("document,kind\nd1,a\n", r"prediction.csv: unknown field 'kind'.*type, signed", id="unknown field"),
]


@pytest.mark.parametrize(("prediction", "message"), BAD)
def test_what_only_one_side_knows_is_refused(prediction, message, tmp_path: Path):
    with pytest.raises(BadInput, match=message):
        matched(tmp_path, prediction)


def test_a_field_that_the_ground_truth_lacks(tmp_path: Path):
    with pytest.raises(
        BadInput, match=r"truth\.csv: no field 'party', which the case asks for; fields here: type, signed"
    ):
        matched(tmp_path, TRUTH, rules=ExtractionRules(fields={"party": Comparison()}))


def test_examples_are_the_first_of_each_kind_and_cut(tmp_path: Path):
    prediction = f"document,type,signed\nd1,{'x' * 500},2024-01-01\nd2,y,\nd3,,2024-02-01\n"
    found = matched(tmp_path, prediction, rules=ExtractionRules(examples=1))
    shown = [(each.field, each.kind, each.document, each.truth) for each in found.examples]
    assert shown == [
        ("type", "tn", "d3", ""),
        ("type", "wrong", "d1", "NDA"),
        ("signed", "tn", "d2", ""),
        ("signed", "tp", "d1", "2024-01-01"),
    ]
    assert len(found.examples[1].prediction) == 200
    assert matched(tmp_path, prediction, rules=ExtractionRules(examples=0)).examples == ()


def test_the_file_holds_what_was_found(tmp_path: Path):
    found = matched(tmp_path, "document,type\nd1,NDA\nd2,pending\nd3,\n")
    write_classified(tmp_path / "x.parquet", found)
    back = read_classified(tmp_path / "x.parquet")
    assert kinds(back) == kinds(found)
    assert back.documents.equals(found.documents)
    assert (back.examples, back.notes) == (found.examples, found.notes)
    assert read_classified(tmp_path / "x.parquet", answers=False).fields == found.fields


def test_against_a_loop_over_cells(tmp_path: Path):
    """An independent and slow way to the same counts: every cell by itself, joined through a dict."""
    rng = np.random.default_rng(3)
    values = ["", "NDA", "nda ", "Lease", "Not Present", "2024-01-01", "January 1, 2024", "pending"]
    rows = {
        side: {f"d{index}": rng.choice(values, 3).tolist() for index in rng.permutation(80)}
        for side in ("prediction", "truth")
    }
    text = {
        side: "document,a,b,c\n" + "".join('"' + '","'.join([name, *cells]) + '"\n' for name, cells in own.items())
        for side, own in rows.items()
    }
    same = {"": None, "Not Present": None, "nda ": "NDA", "January 1, 2024": "2024-01-01"}
    expected = {name: dict.fromkeys(KINDS, 0) for name in "abc"}
    for document, right in rows["truth"].items():
        for name, truth, said in zip("abc", right, rows["prediction"][document], strict=True):
            truth, said = same.get(truth, truth), same.get(said, said)
            if "pending" in (truth, said):
                kind = "excluded"
            elif truth is None or said is None:
                kind = "tn" if truth is said else "fp" if truth is None else "fn"
            else:
                kind = "tp" if truth == said else "wrong"
            expected[name][kind] += 1
    found = kinds(matched(tmp_path, text["prediction"], text["truth"]))
    assert {name: {kind: own.count(kind) for kind in KINDS} for name, own in found.items()} == expected


LETTERS = st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \t\n\x0b\x1cAZaz09ßﬁＮ"))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    st.lists(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \t\n\x0b\x1cAZaz09ßﬁＮ"))), max_size=20)
)
def test_texts_at_once_are_texts_one_by_one(texts):
    assert plain_texts(pa.array(texts, pa.string())).to_pylist() == [plain_text(each) for each in texts]
