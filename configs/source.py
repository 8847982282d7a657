"""YAML with line numbers, read safely: no tags, no aliases, no key twice, no surprises of YAML 1.1.

`yes`, `no`, `10:00` and dates stay text; only null, true, false and plain numbers become something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from metrics.errors import BadCase

LARGEST = 1_000_000  # bytes; a case file is a page of text

Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a case file, what it says, and on which line each part of it stands."""

    path: Path
    text: str
    data: Any
    lines: dict[Location, int] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)

    def line_of(self, location: Sequence[str | int]) -> int:
        """The line (from 1) of a part; of what surrounds it where the part itself is not in the file."""
        place = tuple(location)
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def problem(self, location: Sequence[str | int], message: str) -> str:
        """A mistake as people read it: file, line, where in the case, what is wrong, and the line itself."""
        line = self.line_of(location)
        if not self.rows:
            self.rows.extend(self.text.splitlines())
        row = self.rows[line - 1].rstrip() if line <= len(self.rows) else ""
        where = ".".join(plain(str(part), 60) for part in location)
        said = f"{where + ': ' if where else ''}{plain(message, 600)}"
        return f"{self.path}:{line}: {said}\n    {line:4d} | {plain(row, 160)}"


def plain(text: str, most: int) -> str:
    """The text for a terminal: what a terminal would obey is spelt out, and what is endless is cut."""
    cut = text[:most] + ("…" if len(text) > most else "")
    return "".join(each if each.isprintable() or each == "\t" else repr(each)[1:-1] for each in cut)


class _Loader(yaml.SafeLoader):
    """Composes nodes; refuses what a case file has no use for."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]  # of a stub that is not complete
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise _Refused(line, f"aliases (*{event.anchor}) are not used in case files: write it out")
        if getattr(event, "tag", None) is not None:
            raise _Refused(line, f"tags ({plain(event.tag, 60)}) are not used in case files: leave it out")
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|false|True|False", "tTfF"),
    ("null", r"~|null|", ["~", "n", ""]),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), list(_first))


class _Refused(Exception):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_source(path: Path) -> Source:
    """The case file's data with the lines it stands on; `BadCase` where it is not usable YAML."""
    text = _read_text(path)
    bare = Source(path, text, None)
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
        lines: dict[Location, int] = {}
        data = _value(loader, node, (), lines)
    except _Refused as refused:
        bare.lines[()] = refused.line
        raise BadCase(bare.problem((), str(refused))) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        bare.lines[()] = mark.line + 1 if mark else 1
        what = ", ".join(plain(part, 160) for part in (error.context, error.problem) if part)
        raise BadCase(bare.problem((), f"not valid YAML: {what}")) from None
    except yaml.reader.ReaderError as error:
        bare.lines[()] = text.count("\n", 0, error.position) + 1
        raise BadCase(bare.problem((), f"not valid YAML: the character {text[error.position]!r}")) from None
    except yaml.YAMLError as error:
        raise BadCase(f"{path}: not valid YAML: {error}") from None
    except RecursionError:
        raise BadCase(f"{path}: nested too deeply for a case file") from None
    if not isinstance(data, dict):
        raise BadCase(bare.problem((), "expected a case: a mapping that starts with `case:`"))
    return Source(path, text, data, lines)


def _read_text(path: Path) -> str:
    try:
        if path.is_dir():
            raise BadCase(f"{path}: is a directory, expected a case file (YAML)")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise BadCase(f"{path}: too large for a case file (more than {LARGEST:,} bytes)")
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise BadCase(f"{path}: there is no such case file") from None
    except UnicodeDecodeError as error:
        raise BadCase(f"{path}: not UTF-8 text (byte {error.start}); expected a case file (YAML)") from None
    except (OSError, ValueError) as error:  # a path with a zero in it is a ValueError
        raise BadCase(f"{plain(str(path), 300)}: cannot be read: {getattr(error, 'strerror', error)}") from None


def _value(loader: _Loader, node: Any, place: Location, lines: dict[Location, int]) -> Any:
    """Plain data of a node; mappings and lists by hand, so that lines are kept and doubled keys are seen."""
    if node is None:
        return None
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise _Refused(line, "a key must be plain text")
            key = _text(key_node)
            if key in result:
                raise _Refused(line, f"the key {key!r} stands twice in the same mapping")
            lines[(*place, key)] = line
            result[key] = _value(loader, value_node, (*place, key), lines)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, each, (*place, index), lines) for index, each in enumerate(node.value)]
    kind = node.tag.removeprefix("tag:yaml.org,2002:")
    match kind:
        case "null":
            return None
        case "bool":
            return node.value in ("true", "True")
        case "int":
            if len(node.value) > 300:
                raise _Refused(node.start_mark.line + 1, f"a number of {len(node.value)} digits")
            return int(node.value)
        case "float":
            return float(node.value)
    return _text(node)


def _text(node: Any) -> str:
    """The text of a scalar; half of a character (an escape such as `\\ud800`) could never be written again."""
    try:
        node.value.encode()
    except UnicodeEncodeError:
        raise _Refused(node.start_mark.line + 1, f"{plain(node.value, 60)} is not text: half of a character") from None
    return str(node.value)
