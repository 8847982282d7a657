"""Zarr stores, in a folder or at a URL: how their arrays are cut into pieces, and what tells that one changed.

A store in a folder is files. At a URL fsspec does the talking: stores that can be listed are known by the checksums or
times of all of their files; over plain http nothing can be listed, so that the pieces are those that the consolidated
metadata speak of, and each is asked for.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from metrics.errors import BadInput, FirecardError, MissingInput

METADATA = (".zmetadata", "zarr.json", ".zgroup", ".zattrs")
CHECKSUMS = ("ETag", "etag", "md5Hash", "Content-MD5", "md5", "crc32c", "checksum")  # as fsspec's file systems say it
TIMES = ("LastModified", "last_modified", "Last-Modified", "updated", "mtime", "created")
MOST = 20_000  # pieces that are asked for one by one
AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Layout:
    """How an array of a store is cut into pieces, and what stands for those that were never written."""

    version: int
    shape: tuple[int, ...]
    pieces: tuple[int, ...]
    separator: str
    prefix: str
    fill: Any

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Layout:
        """From the description of an array, of format 2 or 3."""
        shape = tuple(int(each) for each in described["shape"])
        if int(described["zarr_format"]) == 2:
            pieces = tuple(int(each) for each in described["chunks"])
            return cls(2, shape, pieces, described.get("dimension_separator", "."), "", described.get("fill_value"))
        pieces = tuple(int(each) for each in described["chunk_grid"]["configuration"]["chunk_shape"])
        keys = described["chunk_key_encoding"]
        default = keys["name"] == "default"
        separator = (keys.get("configuration") or {}).get("separator", "/" if default else ".")
        return cls(3, shape, pieces, separator, "c" if default else "", described.get("fill_value"))

    @property
    def count(self) -> int:
        """How many pieces there are."""
        return math.prod(-(-length // piece) for length, piece in zip(self.shape, self.pieces, strict=True))

    def key(self, place: Sequence[int]) -> str:
        """The name of a piece below its array."""
        parts = [*([self.prefix] if self.prefix else []), *map(str, place)]
        return self.separator.join(parts) or "0"

    def keys(self) -> Iterator[str]:
        counts = (range(-(-length // piece)) for length, piece in zip(self.shape, self.pieces, strict=True))
        return (self.key(place) for place in product(*counts))


def is_url(path: Path) -> bool:
    """Whether it lies behind fsspec, not in a folder."""
    return not isinstance(path, Path)


def content(path: Path, name: str) -> bytes | None:
    """A file of a store; None where there is none."""
    try:
        if not is_url(path):
            return (path / name).read_bytes()
        url: Any = path
        held: bytes = url.fs.cat_file(f"{url.path.rstrip('/')}/{name}")
        return held
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None
    except Exception as error:  # whatever a file system of fsspec raises
        raise _unreachable(path, error) from error


def _unreachable(path: Path, error: Exception) -> FirecardError:
    return BadInput(f"{path}: cannot be reached: {' '.join(str(error).split())[:200] or type(error).__name__}")


def exists(path: Path, name: str) -> bool:
    """Whether a store has a file."""
    if not is_url(path):
        return (path / name).exists()
    url: Any = path
    try:
        return bool(url.fs.exists(f"{url.path.rstrip('/')}/{name}"))
    except Exception as error:
        raise _unreachable(path, error) from error


def consolidated(path: Path) -> dict[str, Mapping[str, Any]] | None:
    """The descriptions of all arrays by name, where a store keeps them in one place."""
    old, new = content(path, ".zmetadata"), content(path, "zarr.json")
    try:
        if new is not None:
            gathered = (json.loads(new).get("consolidated_metadata") or {}).get("metadata")
            found = None if gathered is None else {name: each for name, each in gathered.items() if "shape" in each}
        elif old is not None:
            metadata = json.loads(old)["metadata"]
            found = {
                name.removesuffix("/.zarray"): each for name, each in metadata.items() if name.endswith("/.zarray")
            }
        else:
            found = None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"{path}: its consolidated metadata are damaged: {error}") from None
    if found is None and old is None and new is None and content(path, ".zgroup") is None:
        raise MissingInput(f"{path}: there is no Zarr store (neither zarr.json nor .zmetadata nor .zgroup)")
    return found


def descriptions(path: Path) -> dict[str, Mapping[str, Any]]:
    """The descriptions of the arrays of a store's first group, by name.

    In a folder those beside the arrays, which its digest covers; at a URL the consolidated ones, if there are any.
    """
    found = consolidated(path) if is_url(path) else None
    if found is not None:
        return {name: each for name, each in found.items() if "/" not in name}
    described: dict[str, Mapping[str, Any]] = {}
    for name in _folders(path):
        for file in ("zarr.json", ".zarray"):
            raw = content(path, f"{name}/{file}")
            if raw is None:
                continue
            try:
                one = json.loads(raw)
                if "shape" in one:
                    described[name] = one
            except (ValueError, TypeError, RecursionError) as error:
                raise BadInput(f"{path}: {name}/{file} is not the description of an array: {error}") from None
    return described


def _folders(path: Path) -> list[str]:
    if not is_url(path):
        return sorted(each.name for each in path.iterdir() if each.is_dir())
    if not _lists(path):
        raise BadInput(f"{path}: has no consolidated metadata, and over http nothing else tells what is in it")
    url: Any = path
    try:
        return sorted(each.rstrip("/").rpartition("/")[2] for each in url.fs.ls(url.path, detail=False))
    except Exception as error:
        raise _unreachable(path, error) from error


def _lists(path: Path) -> bool:
    url: Any = path
    return str(url.protocol) not in ("http", "https")


def layouts(path: Path) -> dict[str, Layout]:
    """How the arrays of a store are cut."""
    found = {}
    for name, each in descriptions(path).items():
        try:
            found[name] = Layout.of(each)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{path}: {name} is not described as Zarr 2 or 3 does: {error!r}") from None
    return found


def marks(path: Path) -> dict[str, tuple[int, str]]:
    """Every file of a store at a URL: its size, and a checksum or a time."""
    url: Any = path
    root = url.path.rstrip("/")
    try:
        if _lists(path):
            found = url.fs.find(root, detail=True)
            held = {name.removeprefix(url.fs._strip_protocol(root)).lstrip("/"): each for name, each in found.items()}
        else:
            held = _asked(path, root)
        if not any(name in held for name in METADATA):
            raise MissingInput(f"{path}: there is no Zarr store (neither zarr.json nor .zmetadata nor .zgroup)")
        return {name: _mark(path, name, each) for name, each in held.items()}
    except FirecardError:
        raise
    except Exception as error:
        raise _unreachable(path, error) from error


def _asked(path: Path, root: str) -> dict[str, Mapping[str, Any]]:
    """What a server says of every piece that the metadata speak of; what is not there has no entry."""
    url: Any = path
    cut = layouts(path)
    count = sum(each.count for each in cut.values())
    if count > MOST:
        raise BadInput(
            f"{path}: {count} pieces are too many to ask for one by one; copy the store, or let it be listed"
        )
    names = [*METADATA, *(f"{name}/{key}" for name, each in cut.items() for key in each.keys())]  # noqa: SIM118

    def asked(name: str) -> Mapping[str, Any] | None:
        try:
            held: Mapping[str, Any] = url.fs.info(f"{root}/{name}")
        except FileNotFoundError:
            return None
        return held

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = zip(names, pool.map(asked, names), strict=True)
        return {name: each for name, each in answers if each is not None}


def _mark(path: Path, name: str, info: Mapping[str, Any]) -> tuple[int, str]:
    size = info.get("size")
    for key in (*CHECKSUMS, *TIMES):
        if info.get(key) not in (None, ""):
            return int(size or 0), f"{size} {info[key]}"
    held = content(path, name) or b""  # nothing but the bytes themselves tells
    return len(held), hashlib.sha256(held).hexdigest()


def url_digest(path: Path) -> tuple[str, int]:
    """sha256 of a store's sorted names with their marks, and its bytes."""
    found = marks(path)
    lines = "".join(f"{name}\0{mark}\n" for name, (_, mark) in sorted(found.items()))
    return hashlib.sha256(lines.encode()).hexdigest(), sum(size for size, _ in found.values())


def glance(path: Path) -> tuple[int, int, int]:
    """Bytes, a number that changes with the content, and how many files: of all that are listed, or of metadata."""
    if _lists(path):
        found = marks(path)
        text = "".join(f"{name}\0{mark}\n" for name, (_, mark) in sorted(found.items())).encode()
        size, count = sum(size for size, _ in found.values()), len(found)
    else:
        held = [content(path, name) or b"" for name in METADATA]
        text, size, count = b"\0".join(held), sum(map(len, held)), len(METADATA)
        if not size:
            raise MissingInput(f"{path}: there is no Zarr store (neither zarr.json nor .zmetadata nor .zgroup)")
    return size, int.from_bytes(hashlib.sha256(text).digest()[:7], "big"), count
