"""Digests of files, remembered as long as a file looks the same.

A store that is a directory (Zarr) is one input: its digest covers the names and the digests of all of its files. One
at a URL is known by their checksums or times, see `remote`.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from metrics.errors import BadInput, MissingInput
from tasks.store.remote import glance, is_url, url_digest

STORE = (".zgroup", ".zarray", ".zmetadata", "zarr.json")  # what a Zarr store has in its first folder

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
    if is_url(path):
        sha256, bytes_ = url_digest(path)
        return InputFile(path, path.name, sha256, bytes_)
    try:
        name = str(path.relative_to(root))
    except ValueError:
        name = path.name
    return InputFile(path, name, digest(path), size(path))


def is_store(path: Path) -> bool:
    """A directory that is read as one file, or a URL."""
    return is_url(path) or (path.is_dir() and any((path / name).is_file() for name in STORE))


def size(path: Path) -> int:
    """Bytes of a file, or of all files of a store."""
    return state(path)[0]


def state(path: Path) -> tuple[int, int]:
    """Bytes, and when it was last written to; of a store all bytes and the latest.

    At a URL the second is no time, but changes as one would.
    """
    if is_url(path):
        return glance(path)[:2]
    looks = [each.stat() for each in (_files(path) if is_store(path) else [path])]
    return sum(each.st_size for each in looks), max(each.st_mtime_ns for each in looks)


def digest(path: Path) -> str:
    """sha256 of a file's bytes, or of the sorted names of a store's files with theirs.

    A file is read again only if size, time or inode changed.
    """
    if is_url(path):
        return url_digest(path)[0]
    try:
        if path.is_dir():
            if not is_store(path):
                raise BadInput(f"{path}: is a directory, expected a file")
            lines = (f"{each.relative_to(path).as_posix()}\0{digest(each)}\n" for each in _files(path))
            return hashlib.sha256("".join(lines).encode()).hexdigest()
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


def _files(store: Path) -> list[Path]:
    """Every file below a store, in the order of their names."""
    found: list[Path] = []
    for folder, folders, names in os.walk(store):
        linked = [name for name in (*folders, *names) if (Path(folder) / name).is_symlink()]
        if linked:
            raise BadInput(f"{Path(folder) / linked[0]}: is a link; only stores with all of their own data are read")
        found += [Path(folder) / name for name in names]
    return sorted(found, key=lambda each: each.relative_to(store).as_posix())


@cache
def code_digest() -> str:
    """What the code that makes a stage's file says: a stage is done again when it changes."""
    root = Path(__file__).parents[2]
    files = sorted(path for room in ("metrics", "configs", "tasks") for path in (root / room).rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
