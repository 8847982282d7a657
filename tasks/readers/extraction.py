"""Values of fields by document, from CSV, Parquet, JSON lines or one JSON file; a row a document, or a row a value.

Wide: a column `document` and a column a field. Long: `document`, `field`, `value`. Both may have `status` (pending,
error or ok) and, where several models share a file, `model`. A JSON file holds a list of such rows, or a mapping from
documents to their fields. Nothing is compared here: distinct texts are kept once, with a code for every document.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from configs.source import plain
from metrics.errors import BadInput, MissingInput
from metrics.spelling import UNFINISHED, plain_text
from tasks.readers.tables import path_is_text, read_table

FINISHED = ("", "ok", "done", "complete", "completed", "success", "final")
FIELD, VALUE, MODEL = "field", "value", "model"
WHAT = "a table of extracted fields"


@dataclass(frozen=True, slots=True)
class Layout:
    """What the case says about a table."""

    source: str | None = None
    layout: str | None = None
    document: str = "document"
    status: str = "status"


@dataclass(frozen=True, slots=True)
class Column:
    """Values as codes into distinct texts (Arrow strings), -1 where there is none."""

    codes: np.ndarray
    texts: Any

    def words(self) -> list[str]:
        """The distinct texts without blanks around them."""
        return [each.strip() for each in self.texts.to_pylist()]

    def where(self, marks: Sequence[bool], otherwise: bool) -> np.ndarray:
        """Which rows have a text that is marked; `otherwise` is said of rows without one."""
        found: np.ndarray = np.array([*marks, otherwise])[self.codes]
        return found


def nothing(size: int) -> Column:
    """A column without a value."""
    return Column(np.full(size, -1, dtype=np.int32), pa.array([], pa.string()))


@dataclass(frozen=True, slots=True)
class Answers:
    """One side's values: documents by fields, and which of them are unfinished where a status says so."""

    places: tuple[tuple[Path, str, int], ...]  # file, what its rows are called, and the first document of it
    rows: np.ndarray  # where each document stands in its file
    documents: Any  # Arrow strings
    columns: Mapping[str, Column]
    unfinished: Mapping[str, np.ndarray] | None = None

    def place(self, index: int) -> str:
        """Where a document stands, for a message."""
        path, called, _ = next(each for each in reversed(self.places) if each[2] <= index)
        return f"{path}: {called} {int(self.rows[index])}"

    @property
    def files(self) -> str:
        return ", ".join(str(path) for path, _, _ in self.places)


@dataclass(frozen=True, slots=True)
class _Table:
    """A file's columns by name, and what its rows are called."""

    path: Path
    columns: Mapping[str, Column]
    rows: np.ndarray
    called: str = "row"

    def where(self, index: int) -> str:
        return f"{self.path}: {self.called} {int(self.rows[index])}"

    def only(self, keep: np.ndarray) -> _Table:
        columns = {name: Column(each.codes[keep], each.texts) for name, each in self.columns.items()}
        return replace(self, columns=columns, rows=self.rows[keep])


def read_answers(
    paths: Sequence[Path], layout: Layout, template: Collection[str] = (), model: str | None = None
) -> Answers:
    """The values in the files; of one model's rows only, where the files have a column `model`."""
    tables = [_read(path, layout) for path in paths]
    if model is not None and MODEL not in template:
        tables = _of_model(tables, model)
    sides = [_answers(each, layout, template, model is not None) for each in tables]
    return sides[0] if len(sides) == 1 else _together(sides)


def _of_model(tables: list[_Table], model: str) -> list[_Table]:
    """The rows of one model; a file that names no model is its own."""
    kept, known = [], set()
    for table in tables:
        column = table.columns.get(MODEL)
        if column is None:
            kept.append(table)
            continue
        names = column.words()
        known |= set(names)
        mine = column.where([each == model for each in names], False)
        if mine.any():
            kept.append(table.only(mine))
    if not kept:
        where = ", ".join(str(each.path) for each in tables)
        shown = plain(", ".join(sorted(known)), 200)
        raise MissingInput(f"{where}: no row of model {model!r}; models here: {shown}")
    return kept


def _answers(table: _Table, layout: Layout, template: Collection[str], has_model: bool) -> Answers:
    names = list(table.columns)
    if layout.document not in names:
        raise BadInput(
            f"{table.path}: the column {layout.document!r} is missing; {WHAT} has the documents' ids in it"
            f" (found: {plain(', '.join(names), 200)})"
        )
    if not len(table.rows):
        raise BadInput(f"{table.path}: there is no row")
    documents = _documents(table, layout.document)
    status = None
    if layout.status in names and layout.status not in template:
        status = _unfinished(table, layout.status)
    long = {FIELD, VALUE} <= set(names) if layout.layout is None else layout.layout == "long"
    if long:
        return _from_long(table, documents, status)
    beside = {layout.document, *([layout.status] if status is not None else ())}
    if has_model and MODEL not in template:
        beside.add(MODEL)
    fields = {name: each for name, each in table.columns.items() if name not in beside}
    if not fields:
        raise BadInput(f"{table.path}: there is no column of a field beside {', '.join(sorted(beside))}")
    for name in fields:
        if not name.strip():
            raise BadInput(f"{table.path}: a column has no name: expected the name of a field")
    _refuse_repeated(table, documents, lambda row: f"document {_shown(documents[row].as_py())}")
    unfinished = None if status is None else dict.fromkeys(fields, status)
    return Answers(((table.path, table.called, 0),), table.rows, documents, fields, unfinished)


def _from_long(table: _Table, documents: Any, status: np.ndarray | None) -> Answers:
    for name in (FIELD, VALUE):
        if name not in table.columns:
            raise BadInput(
                f"{table.path}: the column {name!r} is missing; a long table has document, field and value"
                f" (found: {plain(', '.join(table.columns), 200)})"
            )
    named, values = table.columns[FIELD], table.columns[VALUE]
    fields = named.words()
    blank = named.where([not each for each in fields], True)
    if blank.any():
        raise BadInput(f"{table.where(int(blank.argmax()))}, column 'field': expected the name of a field, got nothing")
    distinct = list(dict.fromkeys(fields))
    field_of = np.array([distinct.index(each) for each in fields])[named.codes]
    encoded = documents.dictionary_encode()
    document_of = encoded.indices.to_numpy()
    count = len(encoded.dictionary)
    cells = document_of.astype(np.int64) * len(distinct) + field_of
    _refuse_repeated(
        table,
        cells,
        lambda row: f"document {_shown(documents[row].as_py())}, field {_shown(distinct[field_of[row]])}",
    )
    grid = np.full((len(distinct), count), -1, dtype=np.int32)
    grid[field_of, document_of] = values.codes
    unfinished = None
    if status is not None:
        late = np.zeros(grid.shape, dtype=bool)
        late[field_of, document_of] = status
        unfinished = dict(zip(distinct, late, strict=True))
    first = np.full(count, -1, dtype=np.int64)
    first[document_of[::-1]] = table.rows[::-1]
    columns = {name: Column(row, values.texts) for name, row in zip(distinct, grid, strict=True)}
    return Answers(((table.path, table.called, 0),), first, encoded.dictionary, columns, unfinished)


def _documents(table: _Table, name: str) -> Any:
    """The documents' ids without blanks around them; none may be missing."""
    column = table.columns[name]
    ids = pc.utf8_trim_whitespace(column.texts)
    codes = np.where(column.codes < 0, len(ids), column.codes)
    empty = np.append(pc.equal(ids, "").to_numpy(zero_copy_only=False), True)[codes]
    if empty.any():
        raise BadInput(f"{table.where(int(empty.argmax()))}, column {name!r}: expected the id of a document")
    in_order = len(ids) == len(codes) and (codes == np.arange(len(ids))).all()
    return ids if in_order else ids.take(pa.array(codes))


def _refuse_repeated(table: _Table, keys: Any, describe: Callable[[int], str]) -> None:
    """Two answers to one question: which would count?"""
    if isinstance(keys, pa.Array):
        if len(pc.unique(keys)) == len(keys):
            return
        keys = keys.dictionary_encode().indices.to_numpy()
    if len(keys) and np.bincount(keys).max() > 1:
        _, first = np.unique(keys, return_index=True)
        repeated = np.setdiff1d(np.arange(len(keys)), first)
        more = f" ({len(repeated)} such rows)" if len(repeated) > 1 else ""
        row = int(repeated[0])
        raise BadInput(f"{table.where(row)}: {describe(row)} stands there twice{more}")


def _unfinished(table: _Table, name: str) -> np.ndarray:
    """Which rows are pending or failed, by their status."""
    column = table.columns[name]
    states = [plain_text(each) for each in column.texts.to_pylist()]
    strange = column.where([each not in (*UNFINISHED, *FINISHED) for each in states], False)
    if strange.any():
        row = int(strange.argmax())
        given = _shown(column.texts[int(column.codes[row])].as_py())
        raise BadInput(f"{table.where(row)}, column {name!r}: got {given}; expected pending, error or ok")
    return column.where([each in UNFINISHED for each in states], False)


def _together(sides: Sequence[Answers]) -> Answers:
    """Several files as one: every document stands in one of them."""
    if len({each.unfinished is None for each in sides}) > 1:
        raise BadInput(f"{sides[0].files}: some of the files have a status column, others have none")
    fields = list(dict.fromkeys(name for each in sides for name in each.columns))
    sizes = [len(each.documents) for each in sides]
    starts = np.cumsum([0, *sizes[:-1]])
    columns = {}
    for name in fields:
        parts = [each.columns.get(name, nothing(size)) for each, size in zip(sides, sizes, strict=True)]
        starts_at = np.cumsum([0, *(len(each.texts) for each in parts)])
        codes = [np.where(each.codes < 0, -1, each.codes + at) for each, at in zip(parts, starts_at, strict=False)]
        columns[name] = Column(np.concatenate(codes), pa.concat_arrays([each.texts for each in parts]))
    unfinished = None
    if sides[0].unfinished is not None:
        unfinished = {
            name: np.concatenate(
                [
                    (each.unfinished or {}).get(name, np.zeros(size, dtype=bool))
                    for each, size in zip(sides, sizes, strict=True)
                ]
            )
            for name in fields
        }
    together = Answers(
        tuple(
            (path, called, int(start))
            for each, start in zip(sides, starts, strict=True)
            for path, called, _ in each.places
        ),
        np.concatenate([each.rows for each in sides]),
        pa.concat_arrays([each.documents for each in sides]),
        columns,
        unfinished,
    )
    codes = together.documents.dictionary_encode().indices.to_numpy()
    if np.bincount(codes).max() > 1:
        _, first = np.unique(codes, return_index=True)
        again = int(np.setdiff1d(np.arange(len(codes)), first)[0])
        raise BadInput(
            f"{together.place(again)}: document {_shown(together.documents[again].as_py())} stands in two files"
        )
    return together


def _read(path: Path, layout: Layout) -> _Table:
    """The file's columns as codes and texts, whatever its format."""
    source = layout.source or _format(path)
    if source in ("json", "jsonl"):
        return _read_json(path, layout.document, lines=source == "jsonl")
    if source == "parquet" and path.is_file() and path_is_text(path):
        raise BadInput(f"{path}: cannot be read as {WHAT}: not a Parquet file")
    table = read_table(path, WHAT)
    names = table.column_names
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise BadInput(f"{path}: the column {repeated[0]!r} stands there twice")
    header = 1 if path_is_text(path) else 0
    rows = np.arange(table.num_rows) + 1 + header
    columns = {
        name: _column(table.column(name), name, path, header, distinct=name != layout.document) for name in names
    }
    return _Table(path, columns, rows)


def _format(path: Path) -> str:
    """By its name; what else it may be is seen in its first bytes."""
    suffix = path.suffix.lower()
    return {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}.get(suffix, "table")


def _column(values: Any, name: str, path: Path, header: int, *, distinct: bool = True) -> Column:
    """The column; where its texts are hardly ever alike, looking for those that are is left out."""
    kind = values.type
    if pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
        there = np.flatnonzero(pc.is_valid(values).to_numpy(zero_copy_only=False))
        row = int(there[0]) if there.size else 0
        raise BadInput(f"{path}: row {row + 1 + header}, column {name!r}: a list; expected one value a field (D-44)")
    try:
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            values = values.cast(pa.string())
        if pa.types.is_null(kind):
            return nothing(len(values))
        if not distinct and pa.types.is_string(kind) and not values.null_count:
            values.validate(full=True)
            return Column(np.arange(len(values), dtype=np.int32), pa.concat_arrays(values.chunks))
        if not pa.types.is_dictionary(kind):
            # In one piece first: dictionaries that are made chunk by chunk are slow to bring together.
            values = values.combine_chunks().dictionary_encode()
        encoded = values if isinstance(values, pa.Array) else values.unify_dictionaries().combine_chunks()
        texts = encoded.dictionary
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            texts = pa.array([_text(each) or "" for each in texts.to_pylist()], pa.string())
        texts = texts.cast(pa.string())
        texts.validate(full=True)  # text that is no text is found here, not on first use
    except (pa.ArrowException, ValueError, KeyError, OverflowError) as error:
        raise BadInput(f"{path}: the column {name!r} ({kind}) cannot be read: {plain(str(error), 200)}") from None
    return Column(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), texts)


def _text(value: Any) -> str | None:
    """A single value as it would be written; a whole number has no decimal point."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return str(value.date() if not any((value.hour, value.minute, value.second, value.microsecond)) else value)
    return value.isoformat() if isinstance(value, date) else str(value)


def _read_json(path: Path, document: str, *, lines: bool) -> _Table:
    """Rows of a JSON file: a list, a mapping from documents to their fields, or a row a line."""
    if path.is_dir():
        raise BadInput(f"{path}: is a directory, expected {WHAT}")
    known: dict[str, dict[str, int]] = {}
    codes: dict[str, list[int]] = {}
    rows: list[int] = []
    for number, record in _records(path, document, lines=lines):
        for name, value in record.items():
            if isinstance(value, list | dict):
                called, kind = "line" if lines else "item", "list" if isinstance(value, list) else "mapping"
                raise BadInput(
                    f"{path}: {called} {number}, field {_shown(name)}: got a {kind}; expected one value (D-44)"
                )
            text = _text(value)
            column = codes.setdefault(name, [])
            column.extend([-1] * (len(rows) - len(column)))
            texts = known.setdefault(name, {})
            column.append(-1 if text is None else texts.setdefault(text, len(texts)))
        rows.append(number)
    columns = {
        name: Column(
            np.array(column + [-1] * (len(rows) - len(column)), dtype=np.int32), _strings(known[name], path, name)
        )
        for name, column in codes.items()
    }
    if not rows:
        raise BadInput(f"{path}: there is no row")
    return _Table(path, columns, np.array(rows), "line" if lines else "item")


def _strings(texts: Collection[str], path: Path, name: str) -> Any:
    try:
        return pa.array(list(texts), pa.string())
    except UnicodeEncodeError:
        raise BadInput(f"{path}: field {_shown(name)}: half of a character (an escape such as \\ud800)") from None


def _records(path: Path, document: str, *, lines: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    if not lines:
        data = _parsed(content, f"{path}")
        if isinstance(data, dict):
            for number, (name, record) in enumerate(data.items(), start=1):
                if not isinstance(record, dict):
                    raise BadInput(f"{path}: document {_shown(name)}: expected a mapping of its fields")
                if document in record:
                    raise BadInput(f"{path}: document {_shown(name)}: its id stands there twice ({document!r})")
                yield number, {document: name, **record}
            return
        if not isinstance(data, list):
            raise BadInput(f"{path}: expected a list of rows, or a mapping from documents to their fields")
        for number, record in enumerate(data, start=1):
            if not isinstance(record, dict):
                raise BadInput(f"{path}: item {number}: expected a mapping with {document!r} and the fields")
            yield number, record
        return
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            record = _parsed(line, f"{path}: line {number}")
            if not isinstance(record, dict):
                raise BadInput(f"{path}: line {number}: expected a mapping with {document!r} and the fields")
            yield number, record


def _parsed(content: bytes, where: str) -> Any:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{where}: not UTF-8 text (line {line} of it, byte {error.start})") from None
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _unique(pairs, where))
    except json.JSONDecodeError as error:
        raise BadInput(f"{where}: not valid JSON: {error.msg} (line {error.lineno} of it)") from None
    except RecursionError:
        raise BadInput(f"{where}: nested too deeply for {WHAT}") from None


def _unique(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise BadInput(f"{where}: {_shown(name)} stands there twice")
        found[name] = value
    return found


def _shown(value: Any) -> str:
    return plain(repr(value), 80)
