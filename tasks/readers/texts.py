"""Text from strangers: a file's lines, or a word on why it has none; every mistake with its line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metrics.errors import BadInput, MissingInput
from tasks.readers.tables import Rows


class Lines(Rows):
    """Says which line of a text file is wrong, and how; `numbers` are the lines that the rows of a table stood in."""

    def __init__(self, path: Path, numbers: Sequence[int]) -> None:
        self.path, self.numbers = path, numbers

    def place(self, index: int) -> str:
        return f"line {self.numbers[index]}"


def read_lines(path: Path, what: str) -> list[str]:
    """The lines of a text file without their ends; `what` it should be stands in the messages."""
    return read_text(path, what).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_text(path: Path, what: str, *, or_latin: bool = False) -> str:
    """A text file in UTF-8; with `or_latin` one that is not is Latin-1, for formats whose own signs are ASCII."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise MissingInput(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise BadInput(f"{path}: is a directory, expected {what}") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    if not content.strip():
        raise BadInput(f"{path}: is empty, expected {what}")
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        raise BadInput(f"{path}: line {line}: is no text in ASCII or UTF-8 (a zero byte), expected {what}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if or_latin:
            return content.decode("latin-1")
        line = content[: error.start].count(b"\n") + 1
        raise BadInput(f"{path}: line {line}: is no text in ASCII or UTF-8, expected {what}") from None
