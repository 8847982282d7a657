"""Predictions beside the ground truth: documents joined by id, every answer classified, a few of each kind kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from configs.extraction import ExtractionRules
from configs.source import plain
from metrics.errors import BadInput
from metrics.extraction import KINDS, classify
from metrics.spelling import ABSENT, MONTHS, UNFINISHED, Comparison, plain_text
from tasks.readers.extraction import Answers, Column, nothing

META = b"firecard"
LONGEST = 200  # characters of a value that are shown


@dataclass(frozen=True, slots=True)
class Example:
    """One answer as it was written on both sides."""

    field: str
    kind: str
    document: str
    truth: str | None
    prediction: str | None


@dataclass(frozen=True, slots=True)
class Classified:
    """Every answer of one model as one of KINDS, by field, in the order of the ground truth's documents."""

    documents: Any  # Arrow strings
    kinds: Mapping[str, np.ndarray]
    examples: Sequence[Example] = ()
    notes: Sequence[str] = ()
    truth: Sequence[Mapping[str, str]] = field(default_factory=tuple)  # name and sha256 of the ground truth's files

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.kinds)


def match_answers(
    prediction: Answers, truth: Answers, rules: ExtractionRules, ground_truth: Sequence[Mapping[str, str]] = ()
) -> Classified:
    """The model's answers, classified; documents and fields that only one side knows are errors."""
    fields, notes = _fields(prediction, truth, rules)
    order = _joined(prediction, truth)
    kinds = {}
    examples: list[Example] = []
    for name in fields:
        given = prediction.columns.get(name)
        if given is None:
            given = nothing(len(prediction.documents))
            notes.append(f"{name}: the model has no such field; every answer is taken as Not Present")
        expected = truth.columns[name]
        (given_codes, expected_codes), unfinished = _codes(
            (given, expected), (prediction, truth), name, rules.comparison(name)
        )
        late = None if unfinished[0] is None else unfinished[0][order]
        excluded = late if unfinished[1] is None else unfinished[1] if late is None else late | unfinished[1]
        kinds[name] = classify(given_codes[order], expected_codes, excluded)
        examples += _examples(name, kinds[name], rules.examples, given, expected, order, truth.documents)
    return Classified(truth.documents, kinds, tuple(examples), tuple(notes), tuple(ground_truth))


def _fields(prediction: Answers, truth: Answers, rules: ExtractionRules) -> tuple[list[str], list[str]]:
    """The template's fields, else those of the ground truth; with what is worth a remark."""
    known, notes = list(truth.columns), []
    fields = list(rules.fields) or known
    for name in fields:
        if name not in truth.columns:
            raise BadInput(
                f"{truth.files}: no field {_shown(name)}, which the case asks for; fields here: {_some(known)}"
            )
    for name in prediction.columns:
        if name not in truth.columns:
            raise BadInput(f"{prediction.files}: unknown field {_shown(name)}: the ground truth has {_some(known)}")
    beyond = [name for name in known if name not in fields]
    if beyond:
        notes.append(f"not in the template, and left out: {_some(beyond)}")
    return fields, notes


def _joined(prediction: Answers, truth: Answers) -> np.ndarray | slice:
    """Where each document of the ground truth stands among the predictions; each must be there (R-002-26)."""
    if prediction.documents.equals(truth.documents):
        return slice(None)
    found = pc.index_in(prediction.documents, value_set=truth.documents)
    if found.null_count:
        unknown = np.flatnonzero(pc.is_null(found).to_numpy(zero_copy_only=False))
        first = int(unknown[0])
        raise BadInput(
            f"{prediction.place(first)}: document {_shown(prediction.documents[first].as_py())} is not in the ground"
            f" truth ({truth.files}){_more(unknown)}"
        )
    order = np.full(len(truth.documents), -1, dtype=np.int64)
    order[found.to_numpy()] = np.arange(len(prediction.documents))
    absent = np.flatnonzero(order < 0)
    if absent.size:
        first = int(absent[0])
        raise BadInput(
            f"{prediction.files}: {len(prediction.documents)} documents against {len(truth.documents)} of the ground"
            f" truth: nothing for document {_shown(truth.documents[first].as_py())} ({truth.place(first)})"
            f"{_more(absent)}; where a model failed, give the document the status `error`"
        )
    return order


def _codes(
    columns: Sequence[Column], sides: Sequence[Answers], name: str, how: Comparison
) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
    """Both columns in codes that are equal where the values are, 0 for none; and what is unfinished of each.

    Each distinct text is looked at once. Without a status, a value that says `pending` or `error` is one (D-33).
    """
    used = [np.flatnonzero(np.bincount(each.codes + 1, minlength=len(each.texts) + 1)[1:]) for each in columns]
    texts = plain_texts(
        pa.concat_arrays([each.texts.take(pa.array(rows)) for each, rows in zip(columns, used, strict=True)])
    )
    distinct = texts.dictionary_encode()
    numbers, states = _numbers(distinct.dictionary, how)
    numbers, states = (each[distinct.indices.to_numpy()] for each in (numbers, states))
    codes: list[np.ndarray] = []
    late: list[np.ndarray | None] = []
    start = 0
    for column, rows, side in zip(columns, used, sides, strict=True):
        own = slice(start, start + len(rows))
        start += len(rows)
        number = np.zeros(len(column.texts) + 1, dtype=np.int32)  # the last one is what -1 finds
        number[rows] = numbers[own]
        codes.append(number[column.codes])
        if side.unfinished is not None:
            late.append(side.unfinished.get(name))
        elif states[own].any():
            state = np.zeros(len(number), dtype=bool)
            state[rows] = states[own]
            late.append(state[column.codes])
        else:
            late.append(None)
    return codes, late


# What a date or nothing else begins with; anything else need not be looked at one by one.
_BEGINNINGS = (
    *dict.fromkeys(each[:3] for each in MONTHS),
    "mon",
    "tue",
    "wed",
    "thu",
    "fri",
    "sat",
    "sun",
    "the [0-9]",
)
DATE_LIKE = f"^(?:[0-9]{{4}}[-/.]|[0-9]{{1,2}}(?:[-/. a-z])|[0-9]{{8}}$|{'|'.join(_BEGINNINGS)})"


def _numbers(texts: Any, how: Comparison) -> tuple[np.ndarray, np.ndarray]:
    """A number for each distinct plain text, the same for spellings of one value, 0 for none; and which are states."""
    numbers = np.arange(1, len(texts) + 1, dtype=np.int32)
    looked_at = np.arange(len(texts))
    if how.kind != "number":
        looked_at = np.flatnonzero(pc.match_substring_regex(texts, DATE_LIKE).to_numpy(zero_copy_only=False))
    first: dict[Any, int] = {}
    for index, text in zip(looked_at.tolist(), texts.take(pa.array(looked_at)).to_pylist(), strict=True):
        key = how.plain_key(text)
        if key is not None:
            numbers[index] = first.setdefault(key, index + 1)
    numbers[pc.is_in(texts, pa.array(["", ABSENT])).to_numpy(zero_copy_only=False)] = 0
    return numbers, pc.is_in(texts, pa.array(UNFINISHED)).to_numpy(zero_copy_only=False)


def plain_texts(texts: Any) -> Any:
    """`plain_text` of every text: what is plain ASCII at once, the rest one by one."""
    ascii_only = pc.string_is_ascii(texts)
    plain_ones = pc.ascii_lower(pc.utf8_trim(pc.replace_substring_regex(texts, "[\\x09-\\x0d\\x1c-\\x20]+", " "), " "))
    others = np.flatnonzero(~ascii_only.to_numpy(zero_copy_only=False))
    if not others.size:
        return plain_ones
    spelt = pa.array([plain_text(each) for each in texts.take(pa.array(others)).to_pylist()], pa.string())
    return pc.replace_with_mask(plain_ones, pc.invert(ascii_only), spelt)


def _examples(
    name: str,
    kinds: np.ndarray,
    most: int,
    given: Column,
    expected: Column,
    order: np.ndarray | slice,
    documents: Any,
) -> list[Example]:
    """The first few of each kind; nothing that is not shown is looked at (R-002-52)."""
    examples: list[Example] = []
    there = np.bincount(kinds, minlength=len(KINDS))
    codes = given.codes[order] if most else given.codes
    for kind, label in enumerate(KINDS):
        if not (most and there[kind]):
            continue
        examples += [
            Example(
                name,
                label,
                _cut(documents[index].as_py()),
                _value(expected.texts, expected.codes[index]),
                _value(given.texts, codes[index]),
            )
            for index in np.flatnonzero(kinds == kind)[:most].tolist()
        ]
    return examples


def _value(texts: Any, code: int) -> str | None:
    return None if code < 0 else _cut(texts[int(code)].as_py())


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def write_classified(path: Path, classified: Classified) -> None:
    """The answers as a file: a column of kinds for each field, in order; names and examples beside them."""
    columns = {f"field{index}": each for index, each in enumerate(classified.kinds.values())}
    meta = {
        "fields": classified.fields,
        "examples": [asdict(each) for each in classified.examples],
        "notes": list(classified.notes),
        "truth": [dict(each) for each in classified.truth],
    }
    table = pa.table({"document": classified.documents, **columns})
    pyarrow.parquet.write_table(
        table.replace_schema_metadata({META: json.dumps(meta).encode()}), path, compression="zstd"
    )


def read_classified(path: Path, *, answers: bool = True) -> Classified:
    """The file as it was written; without the answers themselves where only what is beside them is needed."""
    meta = json.loads(pyarrow.parquet.read_schema(path).metadata[META])
    kinds: dict[str, np.ndarray] = dict.fromkeys(meta["fields"], np.zeros(0, dtype=np.uint8))
    documents = pa.array([], pa.string())
    if answers:
        table = pyarrow.parquet.read_table(path)
        documents = table.column("document").combine_chunks()
        kinds = {name: table.column(f"field{index}").to_numpy() for index, name in enumerate(meta["fields"])}
    return Classified(
        documents, kinds, tuple(Example(**each) for each in meta["examples"]), tuple(meta["notes"]), meta["truth"]
    )


def _shown(value: Any) -> str:
    return plain(repr(value), 80)


def _some(names: Sequence[str]) -> str:
    return plain(", ".join(names[:12]), 200) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _more(rows: np.ndarray) -> str:
    return f" ({rows.size} such documents)" if rows.size > 1 else ""
