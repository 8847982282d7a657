"""Zarr stores (format 2 or 3, a folder or a URL) through xarray, as variables like those of any other file.

Only the pieces that a slab touches are read. Codecs are checked before anything is unpacked: numcodecs knows one that
unpickles, which would run whatever a stranger put there. A piece that was never written is missing: Zarr itself would
give its fill value, which may be a plain 0. Maps of classes are read otherwise: Zarr does not write pieces that hold
nothing but the fill value, and there that is what most of a map is, outside the fire.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from metrics.errors import BadInput
from tasks.readers.hdf import LARGEST, Array, File, Floats, Index, Look, explained, opened, unpacked
from tasks.store.digests import is_store
from tasks.store.remote import consolidated, descriptions, exists, is_url, layouts

# Packing that gives numbers back and does nothing else.
CODECS = {
    "adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta", "endian", "fixedscaleoffset",
    "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits", "pcodec", "quantize", "sharding_indexed",
    "shuffle", "transpose", "vlen-utf8", "vlen-bytes", "zfpy", "zlib", "zstd",
}  # fmt: skip


@contextmanager
def opened_classes(path: Path) -> Iterator[File]:
    """A store of classes, open for reading: a piece that was not written holds the fill value."""
    if not is_store(path):
        raise BadInput(f"{path}: is no Zarr store: it has neither zarr.json nor .zgroup")
    with opened(path) as file:
        if isinstance(file, StoreFile):
            file.unwritten_are_missing = False
        yield file


class StoreFile(File):
    """The variables of a store's first group."""

    unwritten_are_missing = True

    def __init__(self, path: Path, state: Look, *, known: bool = False) -> None:
        super().__init__(path, state, known=known)
        _refuse_strange_codecs(path)
        self._layouts = layouts(path)
        try:
            import xarray as xr
            import zarr  # noqa: F401  (xarray would say less)
        except ImportError as error:
            raise BadInput(f"{path}: a Zarr store needs the extra `zarr`: pip install 'firecard[zarr]'") from error
        # In a folder, metadata gathered in one file may be old; what lies beside the arrays is what the digest covers.
        gathered = is_url(path) and consolidated(path) is not None
        self._data = xr.open_dataset(
            str(path),
            engine="zarr",
            consolidated=gathered,
            decode_cf=False,
            chunks=None,
            cache=False,
        )

    @property
    def container(self) -> str:  # type: ignore[override]
        """The format."""
        return f"Zarr {next((each.version for each in self._layouts.values()), 3)}"

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
        found = {str(key): _attribute(value) for key, value in held.items()}
        layout = self._layouts.get(name or "")
        # Format 2 has no other place for the code that means missing; 0 stands there where nobody named one.
        if layout and layout.version == 2 and found.get("_FillValue") == 0:
            del found["_FillValue"]
        return found

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
            return self._without_unwritten(name, index, np.array(piece.values))

    def _without_unwritten(self, name: str, index: tuple[Index, ...], values: Array) -> Array:
        """The values, NaN in pieces that were never written."""
        layout = self._layouts.get(name) if self.unwritten_are_missing else None
        if layout is None or not layout.shape or _is_missing(layout.fill, self.attribute(name, "_FillValue")):
            return values
        spans = [
            range(*each.indices(length)) if isinstance(each, slice) else range(each % length, each % length + 1)
            for each, length in zip((*index, *(slice(None),) * len(layout.shape)), layout.shape, strict=False)
        ]
        touched = [sorted({place // piece for place in span}) for span, piece in zip(spans, layout.pieces, strict=True)]
        absent = [place for place in product(*touched) if not exists(self.path, f"{name}/{layout.key(place)}")]
        if not absent:
            return values
        values = values.astype(np.float64)
        whole = values.reshape([len(span) for span in spans])
        for place in absent:
            inside = [
                [at for at, each in enumerate(span) if each // piece == number]
                for span, piece, number in zip(spans, layout.pieces, place, strict=True)
            ]
            whole[np.ix_(*inside)] = np.nan
        return whole.reshape(values.shape)

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


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _is_missing(fill: Any, code: Any) -> bool:
    """Whether what stands for an unwritten piece means missing anyhow."""
    if not _is_number(fill):
        return False
    return math.isnan(float(fill)) or (_is_number(code) and float(code) == float(fill))


def _refuse_strange_codecs(path: Path) -> None:
    """Look into the description of every array of the first group, before a library acts on one."""
    for name, described in descriptions(path).items():
        try:
            found = list(_codecs(described))
        except (TypeError, AttributeError, RecursionError) as error:
            raise BadInput(f"{path}: {name} is not described as a Zarr array: {error}") from None
        strange = [each for each in found if each.removeprefix("numcodecs.") not in CODECS]
        if strange:
            raise BadInput(f"{path}: {name} is packed with {strange[0][:40]!r}, which firecard does not unpack")


def _codecs(content: Mapping[str, Any]) -> Iterator[str]:
    """The codecs of an array's description, those inside shards too."""
    for entry in (content.get("compressor"), *(content.get("filters") or ()), *(content.get("codecs") or ())):
        if entry is None:
            continue
        yield str(entry.get("id") or entry.get("name"))
        inside = entry.get("configuration") or {}
        yield from _codecs({"codecs": [*(inside.get("codecs") or ()), *(inside.get("index_codecs") or ())]})
