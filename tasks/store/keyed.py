"""A stage's file is named by what goes into it: if it exists, the stage is done; else it is written and renamed."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from metrics.errors import OutputRefused
from tasks.store.digests import code_digest

TEMPORARY = re.compile(r"^\..+\.(\d+)-[0-9a-f]{8}$")


@dataclass(frozen=True, slots=True)
class Store:
    """The folder of the keyed files; `recalculate` makes every file anew."""

    root: Path
    recalculate: bool = False

    def keep(self, stage: str, key: Any, make: Callable[[Path], None], suffix: str = ".parquet") -> Path:
        """The stage's file for this key; `make` writes it to the path that it is given."""
        path = self.root / stage / f"{digest_of(key)[:40]}{suffix}"
        if self.recalculate or not os.path.exists(path):  # noqa: PTH110  (Path.exists raises where it may not look)
            with writing(path) as temporary:
                make(temporary)
        return path


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A temporary path beside the final one, renamed to it if all went well: written whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{uuid4().hex[:8]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        offender = Path(error.filename) if isinstance(error.filename, str) else path
        if offender not in (temporary, path, *path.parents):
            raise  # not about the output: something that is read while it is written
        named = path if offender == temporary else offender
        raise OutputRefused(f"{named}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # of the folder itself, which has been complained about already
            temporary.unlink(missing_ok=True)


def sweep(root: Path) -> None:
    """Remove what killed processes of this machine left under temporary names."""
    for path in root.rglob(".*"):
        found = TEMPORARY.search(path.name)
        if found and path.is_file() and not Path(f"/proc/{found[1]}").exists():
            with suppress(OSError):
                path.unlink()


def refuse_unwritable(folder: Path) -> None:
    """Complain now about a folder that could not be written later, before any work is done."""
    nearest = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    if not nearest.is_dir():
        raise OutputRefused(f"{folder}: cannot be written: {nearest} is not a directory")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise OutputRefused(f"{folder}: cannot be written: no permission to write in {nearest}")


def digest_of(key: Any) -> str:
    """A digest of plain values and frozen dataclasses, and of the code that uses them."""
    text = json.dumps([code_digest(), _plain(key)], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, {each.name: _plain(getattr(value, each.name)) for each in fields(value)}]
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value) if isinstance(value, Path) or type(value).__module__ == "datetime" else _refuse(value)


def _refuse(value: Any) -> Any:
    raise TypeError(f"{type(value).__name__} cannot be part of a key: its text may not say all of it")
