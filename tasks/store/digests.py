"""Digests of files, remembered as long as a file looks the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from metrics.errors import BadInput, MissingInput

_known: dict[tuple[str, int, int, int], str] = {}


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that went into a run: where it lies, what it is called in the record, and what is in it."""

    path: Path
    name: str
    sha256: str
    size: int


def input_file(path: Path, root: Path) -> InputFile:
    """The file with its digest; its name is relative to the case, so that a record holds no path of a machine."""
    try:
        name = str(path.relative_to(root))
    except ValueError:
        name = path.name
    return InputFile(path, name, digest(path), path.stat().st_size)


def digest(path: Path) -> str:
    """sha256 of a file's bytes; read again only if size, time or inode changed."""
    try:
        if path.is_dir():
            raise BadInput(f"{path}: is a directory, expected a file")
        stat = path.stat()
        key = (str(path), stat.st_size, stat.st_mtime_ns, stat.st_ino)
        if key not in _known:
            with path.open("rb") as file:
                _known[key] = hashlib.file_digest(file, "sha256").hexdigest()
        return _known[key]
    except FileNotFoundError:
        raise MissingInput(f"{path}: there is no such file") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None


@cache
def code_digest() -> str:
    """What the code that makes a stage's file says: a stage is done again when it changes."""
    root = Path(__file__).parents[2]
    files = sorted(path for room in ("metrics", "configs", "tasks") for path in (root / room).rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
