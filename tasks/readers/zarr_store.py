"""Zarr stores (a directory, format 2 or 3) through xarray, with the manners of `hdf.File`: names, attributes, slabs.

Only the pieces that a slab touches are read. Codecs are checked before anything is unpacked: numcodecs knows one that
unpickles, which would run whatever a stranger put there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from metrics.errors import BadInput
from tasks.readers.hdf import LARGEST, Array, File, Floats, Index, Look, explained, unpacked
from tasks.store.digests import is_store

# Packing that gives numbers back and does nothing else.
CODECS = {
    "adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "endian", "fixedscaleoffset",
    "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits", "pcodec", "quantize", "sharding_indexed",
    "shuffle", "transpose", "vlen-utf8", "vlen-bytes", "zfpy", "zlib", "zstd",
}  # fmt: skip


@contextmanager
def opened_store(path: Path) -> Iterator[StoreFile]:
    """The store, open for reading."""
    if not is_store(path):
        raise BadInput(f"{path}: is a directory, expected a file or a Zarr store")
    _refuse_strange_codecs(path)
    with explained(path):
        file = StoreFile(path)
    try:
        yield file
    finally:
        file.close()


class StoreFile(File):
    """The variables of a store's first group."""

    def __init__(self, path: Path) -> None:
        import xarray as xr

        super().__init__(path, Look(0, 0, 0), known=True)
        # Metadata that were gathered in one file may be old; the folders are what the digest covers.
        self._data = xr.open_dataset(path, engine="zarr", consolidated=False, decode_cf=False, chunks=None, cache=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(each) for each in self._data.variables)

    def _variable(self, name: str) -> Any:
        if name not in self._data.variables:
            raise BadInput(f"{self.path}: there is no variable {name}")
        return self._data.variables[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(int(each) for each in self._variable(name).shape)

    def dims(self, name: str) -> tuple[str, ...]:
        return tuple(str(each) for each in self._variable(name).dims)

    def attributes(self, name: str | None = None) -> Mapping[str, Any]:
        held = self._data.attrs if name is None else self._variable(name).attrs
        return {str(key): _attribute(value) for key, value in held.items()}

    def attribute(self, name: str | None, key: str) -> Any:
        return self.attributes(name).get(key)

    def together(self, name: str) -> int:
        pieces = self._variable(name).encoding.get("chunks")
        return int(pieces[0]) if pieces else 1

    def _type(self, name: str) -> np.dtype[Any]:
        kind: np.dtype[Any] = self._variable(name).dtype
        return kind

    def read(self, name: str, *index: Index) -> Array:
        """Values as stored; no lock of HDF5's is needed here, so that pieces are unpacked side by side."""
        variable = self._variable(name)
        if variable.dtype.kind not in "iufb":
            raise BadInput(f"{self.path}: {name} holds {variable.dtype}, expected numbers")
        piece = variable[(*index, *(slice(None),) * (variable.ndim - len(index)))]
        size = math.prod(piece.shape) * piece.dtype.itemsize
        if size > LARGEST:
            raise BadInput(f"{self.path}: {name} claims {size} bytes for one piece of shape {variable.shape}")
        with explained(self.path, name):
            return np.asarray(piece.values)

    def _read(self, name: str, index: tuple[Index, ...]) -> Array:
        return self.read(name, *index)

    def physical(self, name: str, raw: Array) -> Floats:
        if raw.dtype.kind == "b":
            raw = raw.astype(np.uint8)
        with explained(self.path, name):
            return unpacked(raw, self.attributes(name))

    def examine(self) -> None:
        """The codecs were looked at before the store was opened."""

    def close(self) -> None:
        self._data.close()


def _attribute(value: Any) -> Any:
    """As HDF5's attributes come: text, a numpy number or an array."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return np.asarray(value)[()]
    if isinstance(value, list | tuple | np.ndarray):
        held = np.asarray(value)
        return held if held.dtype.kind in "iuf" else [str(each) for each in value]
    return str(value)


def _refuse_strange_codecs(path: Path) -> None:
    """Look into the description of every array of the first group, before a library acts on one."""
    described = [each for name in ("zarr.json", ".zarray") for each in (path / name, *path.glob(f"*/{name}"))]
    for each in described:
        if not each.is_file():
            continue
        try:
            content = json.loads(each.read_bytes())
            found = list(_codecs(content))
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise BadInput(f"{each}: cannot be read as the description of a Zarr array: {error}") from None
        strange = [name for name in found if name.removeprefix("numcodecs.") not in CODECS]
        if strange:
            raise BadInput(f"{each}: is packed with {strange[0][:40]!r}, which firecard does not unpack")


def _codecs(content: Mapping[str, Any]) -> Iterator[str]:
    """The codecs of an array's description, those inside shards too."""
    for entry in (content.get("compressor"), *(content.get("filters") or ()), *(content.get("codecs") or ())):
        if entry is None:
            continue
        yield str(entry.get("id") or entry.get("name"))
        inside = entry.get("configuration") or {}
        yield from _codecs({"codecs": [*(inside.get("codecs") or ()), *(inside.get("index_codecs") or ())]})
