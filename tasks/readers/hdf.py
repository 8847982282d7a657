"""NetCDF files as stored: netCDF-4 and other HDF5, and the classic netCDF formats (CDF-1, CDF-2, CDF-5).

One process-wide `LOCK` goes round every open, read and close. HDF5 is read by h5py and the classic formats by the few
lines below, not by netCDF4, which only writes here. Measured with netCDF4 1.7.5 (HDF5 2.2.0) and h5py 3.16 (2.0.0):

two libraries   eight threads reading 50 files each killed 5 of 5 processes with netCDF4 and none with h5py, locked or
                not; nor did h5py beside a thread that wrote with netCDF4. So one library reads; whoever writes with
                netCDF4 beside other threads takes `LOCK` as well.
another file    netCDF4 gave the values of another file through an external link, external storage and a virtual
                dataset, and opens the target of a link while it opens the file. h5py opens nothing that is not asked
                for, so that a file's structure is examined before any of its data is touched.
time            a WRF file with 160 variables costs 22 ms through netCDF4, 44 ms through xarray on top of it, 1100 ms
                through xarray and h5netcdf; 3 ms through h5py, and 6 ms for the examination.
damage          of 2,100 truncated and bit-flipped WRF files h5py crashed on none (nor did netCDF4 on 1,300), but HDF5
                looped for ever in two whose global heap was hit. WRF needs that heap for DIMENSION_LIST only; the same
                facts stand in REFERENCE_LIST, outside of it, which is what is read here. Where attributes are in the
                heap (text of variable length), it is walked before HDF5 does. 9,200 more copies, of eight files in all
                formats, were read with this module: none crashed or hung.

The classic formats are read by offset, without mapping the file: a mapped file that shrinks kills the process.
"""

import fcntl
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import IO, Any, BinaryIO, TypeAlias

import h5py
import numpy as np
from numpy.typing import NDArray

from configs.paths import place
from metrics.errors import BadInput, FirecardError, MissingInput
from tasks.store.digests import is_store, state
from tasks.store.remote import glance, is_url

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Index: TypeAlias = int | slice

LOCK = threading.RLock()
"""Held round every open, read and close of HDF5 and netCDF in this process."""

LARGEST = 2**30
"""Bytes that one read may take; no slab of a grid is larger, a damaged header can claim to be."""

HDF5 = b"\x89HDF\r\n\x1a\n"
HDF5_PLACES = (0, 512, 1024, 2048)  # bytes that a user may have put before it
CLASSIC = {b"CDF\x01": 1, b"CDF\x02": 2, b"CDF\x05": 5}
OTHERS = {
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"BZh": "compressed with bzip2; unpack it first",
    b"\xfd7zXZ": "compressed with xz; unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first",
    b"PK\x03\x04": "a zip archive",
    b"\x0e\x03\x13\x01": "an HDF4 file",
    b"<": "a web page or XML",
}


@dataclass(frozen=True, slots=True)
class Look:
    """What tells whether a file is still the one that was looked at before."""

    size: int
    modified: int
    inode: int


def look(path: Path) -> Look:
    """The file as it is now; refused where it is absent, empty or no file at all. Of a Zarr store, all of its files."""
    if is_url(path):
        return Look(*glance(path))
    try:
        if is_store(path):
            return Look(*state(path), 0)
        found = path.stat()
    except FileNotFoundError:
        raise MissingInput(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be looked at ({_reason(error)})") from error
    if S_ISDIR(found.st_mode):
        raise BadInput(f"{path}: is a directory, expected a netCDF file or a Zarr store")
    if not S_ISREG(found.st_mode):
        raise BadInput(f"{path}: is a device or a pipe, expected a netCDF file")
    if not found.st_size:
        raise BadInput(f"{path}: is empty, expected a netCDF file")
    return Look(found.st_size, found.st_mtime_ns, found.st_ino)


@contextmanager
def opened(path: Path | str, *, seen: Look | None = None) -> Iterator["File"]:
    """The file, open for reading, once it is known to be complete and to point at no other.

    A file that changes while it is read, or since an earlier look (`seen`), is still being written and refused. One
    that is still as `seen` is not examined again.
    """
    path = place(path) if isinstance(path, str) else path
    before = look(path)
    if seen is not None and before != seen:
        raise BadInput(f"{path}: {_change(seen, before)} since it was first looked at: it is still being written")
    try:
        with LOCK, explained(path):
            file = _format(path)(path, before, known=seen is not None)
        try:
            with LOCK, explained(path):
                file.examine()
            yield file
        finally:
            with LOCK, explained(path):
                file.close()
    except BadInput as error:
        _refuse_change(path, before, error)
        raise
    _refuse_change(path, before)


def _refuse_change(path: Path, before: Look, error: Exception | None = None) -> None:
    after = look(path)
    if after != before:
        raise BadInput(f"{path}: {_change(before, after)} while it was read: it is still being written") from error


def _change(before: Look, after: Look) -> str:
    if before.size != after.size:
        return f"went from {before.size} to {after.size} bytes"
    return "was replaced" if before.inode != after.inode else "was written to"


@contextmanager
def explained(path: Path, what: str = "") -> Iterator[None]:
    """Whatever goes wrong inside is told as an unusable file; damage makes libraries raise errors of any kind."""
    try:
        yield
    except FirecardError:
        raise
    except Exception as error:
        where = f"{path}: {what}" if what else f"{path}"
        if isinstance(error, PermissionError):
            raise BadInput(f"{where}: there is no permission to read it") from error
        if "truncated file" in str(error):
            raise BadInput(f"{where}: ends early; it was cut off, or is still being written") from error
        raise BadInput(f"{where}: cannot be read; it is damaged, or still being written ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())[:200] or type(error).__name__


def _format(path: Path) -> type["File"]:
    """The reader for what the first bytes say, whatever the name ends in."""
    if is_store(path):
        from tasks.readers.zarr_store import StoreFile  # builds on the types below

        return StoreFile
    with path.open("rb") as stream:
        start = stream.read(max(HDF5_PLACES) + len(HDF5))
        if start[:4] in CLASSIC:
            return Classic
        if any(start[place : place + len(HDF5)] == HDF5 for place in HDF5_PLACES):
            _refuse_writer(stream)
            return Hdf5
    if start.startswith(b"GRIB"):
        from tasks.readers.grib import Grib  # builds on the types below

        return Grib
    seen = next((what for magic, what in OTHERS.items() if start.startswith(magic)), f"starts with {start[:8]!r}")
    raise BadInput(f"{path}: not a netCDF file ({seen}); expected netCDF-3, netCDF-4/HDF5 or GRIB")


def _refuse_writer(stream: IO[bytes]) -> None:
    """Refuse a file that another program has open to write, as far as the file system tells.

    HDF5 holds such a lock all the while; it is asked for and given back at once, because a model that finds its own
    file locked stops.
    """
    try:
        fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadInput(f"{stream.name}: another program is still writing it") from None
    except OSError:  # a file system without locks
        return
    fcntl.flock(stream, fcntl.LOCK_UN)


class File(ABC):
    """Variables, their dimensions and attributes, and slabs of their values as stored."""

    container: str
    """How the arrays are stored, in words."""

    def __init__(self, path: Path, state: Look, *, known: bool) -> None:
        self.path = path
        self.look = state
        self._known = known  # examined before, and unchanged since

    def __contains__(self, name: str) -> bool:
        return name in self.names

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The variables, in the order of the file."""

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """Lengths of a variable's dimensions."""

    @abstractmethod
    def dims(self, name: str) -> tuple[str, ...]:
        """Names of a variable's dimensions; one that has no name gets one that no other has."""

    @abstractmethod
    def attributes(self, name: str | None = None) -> Mapping[str, Any]:
        """Attributes of a variable, or of the file; text as text, a list of one as its element."""

    @abstractmethod
    def attribute(self, name: str | None, key: str) -> Any:
        """One attribute, None where there is none."""

    @abstractmethod
    def together(self, name: str) -> int:
        """How many steps of the first dimension are stored in one piece, and so are cheapest to read together."""

    @abstractmethod
    def _read(self, name: str, index: tuple[Index, ...]) -> Array: ...

    @abstractmethod
    def _type(self, name: str) -> np.dtype[Any]: ...

    @abstractmethod
    def examine(self) -> None:
        """Refuse a file that would make a library read another one."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file."""

    def text(self, name: str | None, key: str) -> str:
        """An attribute that is text; empty where there is none."""
        value = self.attribute(name, key)
        return value.strip() if isinstance(value, str) else ""

    def read(self, name: str, *index: Index) -> Array:
        """Values as stored, by the index of the first dimensions."""
        shape, kind = self.shape(name), self._type(name)
        if kind.kind not in "iufSU" and not self._is_text(name):
            raise BadInput(f"{self.path}: {name} holds neither numbers nor characters")
        wanted = [
            len(range(*each.indices(n))) for each, n in zip(index, shape, strict=False) if isinstance(each, slice)
        ]
        size = math.prod(wanted) * math.prod(shape[len(index) :]) * kind.itemsize
        if size > LARGEST:
            raise BadInput(f"{self.path}: {name} claims {size} bytes for one piece of shape {shape}: it is damaged")
        with LOCK, explained(self.path, name):
            return self._read(name, (*index, *(slice(None),) * (len(shape) - len(index))))

    def _is_text(self, name: str) -> bool:
        """Does a variable hold strings, each as long as it likes?"""
        return False

    def is_text(self, name: str) -> bool:
        """Does a variable hold characters or strings?"""
        return self._type(name).kind in "SU" or self._is_text(name)

    def of_characters(self, name: str) -> bool:
        """Does a variable hold single characters, its last dimension being the length of a text?"""
        return bool(self._type(name) == "S1") and bool(self.shape(name))

    def texts(self, name: str) -> Array:
        """Text, without blanks around it: of characters along the last dimension, or of strings."""
        raw = self.read(name)
        if raw.dtype.kind in "iuf":
            raise BadInput(f"{self.path}: {name} holds numbers, expected characters")
        if self.of_characters(name):
            joined = [b"".join(each) for each in raw.reshape(-1, raw.shape[-1]).tolist()] if raw.size else []
            raw = np.array(joined, dtype=object).reshape(raw.shape[:-1] if raw.size else -1)
        plain = [_shown(each).split("\0")[0].strip() for each in raw.ravel().tolist()]
        return np.array(plain, dtype=object).reshape(raw.shape)

    def values(self, name: str, *index: Index) -> Floats:
        """Values in the variable's unit as float64, missing as NaN."""
        return self.physical(name, self.read(name, *index))

    def physical(self, name: str, raw: Array) -> Floats:
        """Values as read from a variable, in its unit as float64, missing as NaN."""
        if raw.dtype.kind not in "iuf":
            raise BadInput(f"{self.path}: {name} holds characters, expected numbers")
        with explained(self.path, name):
            return unpacked(raw, self.attributes(name))


def unpacked(raw: Array, attributes: Mapping[str, Any]) -> Floats:
    """What stored numbers stand for: packing undone; fill values and what is not within the valid range are missing.

    >>> unpacked(np.array([0, 10, -99], "i2"), {"scale_factor": 0.5, "add_offset": 2.0, "_FillValue": -99})
    array([ 2.,  7., nan])
    """
    if str(attributes.get("_Unsigned", "")).lower() == "true" and raw.dtype.kind == "i":
        raw = raw.view(raw.dtype.str.replace("i", "u"))
    values = raw.astype(np.float64)
    missing = ~np.isfinite(values)
    for code in _codes(raw.dtype, attributes):
        missing |= raw == code
    low, high = _valid(attributes)
    missing |= (values < low) | (values > high)
    scale, offset = attributes.get("scale_factor"), attributes.get("add_offset")
    if scale is not None:
        values *= float(scale)
    if offset is not None:
        values += float(offset)
    values[missing] = np.nan
    return values


def _codes(kind: np.dtype[Any], attributes: Mapping[str, Any]) -> Iterator[Any]:
    """Stored numbers that mean "missing"; where a file names none, what netCDF puts where nothing was written."""
    unwritten = {"i2": -32767, "i4": -2147483647, "f4": 9.969209968386869e36, "f8": 9.969209968386869e36}
    named = [attributes.get("_FillValue", unwritten.get(kind.str[1:])), attributes.get("missing_value")]
    for code in (each for one in named if one is not None for each in np.ravel(one)):
        if not isinstance(code, np.number):
            continue
        if kind.kind == "f":
            with np.errstate(over="ignore"):
                yield code.astype(kind)
        elif np.iinfo(kind).min <= code <= np.iinfo(kind).max:
            yield code


def _valid(attributes: Mapping[str, Any]) -> tuple[float, float]:
    """Smallest and largest stored number that is a value."""
    low, high = attributes.get("valid_min", -np.inf), attributes.get("valid_max", np.inf)
    both = np.ravel(attributes.get("valid_range", (low, high)))
    return float(both[0]), float(both[-1])


class Hdf5(File):
    """A netCDF-4 file, or any HDF5 file that keeps its variables in its first group."""

    container = "netCDF-4/HDF5"

    def __init__(self, path: Path, state: Look, *, known: bool = False) -> None:
        super().__init__(path, state, known=known)
        # No lock of HDF5's own: while one is held, the model cannot open its file to write the next hour into it.
        self._file = h5py.File(path, "r", locking=False)
        self._opened: dict[str, Any] = {}
        self._described: dict[str | None, Mapping[str, Any]] = {}
        self._heap_is_sound = known
        self._looked_at: set[str] = set()

    def close(self) -> None:
        self._opened.clear()
        self._file.close()

    def examine(self) -> None:
        if self._known:
            return
        groups, known = [(b"/", h5py.h5g.open(self._file.id, b"/"))], set[int]()
        while groups:
            place, group = groups.pop()
            for name in _links(group):
                kind = group.links.get_info(name).type
                if kind == h5py.h5l.TYPE_SOFT:  # leads to a link of this file, which is examined in its own right
                    continue
                what = _shown(place + name)
                if kind == h5py.h5l.TYPE_EXTERNAL:
                    self._refuse(what, "is a link to another file", group.links.get_val(name)[0])
                if kind != h5py.h5l.TYPE_HARD:
                    self._refuse(what, f"is a link of unknown kind {kind}")
                object_ = h5py.h5o.open(group, name)
                address = h5py.h5o.get_info(object_).addr
                if address in known:
                    continue
                known.add(address)
                if isinstance(object_, h5py.h5g.GroupID):
                    groups.append((place + name + b"/", object_))
                elif isinstance(object_, h5py.h5d.DatasetID):
                    if not self._heap_is_sound and _in_heap(object_.get_type()):  # so is its fill value
                        _walk_heaps(self.path)
                        self._heap_is_sound = True
                    self._examine_storage(what, object_.get_create_plist())

    def _examine_storage(self, what: str, properties: Any) -> None:
        if properties.get_external_count():
            self._refuse(what, "keeps its values in another file", properties.get_external(0)[0])
        if properties.get_layout() != h5py.h5d.VIRTUAL:
            return
        for source in range(properties.get_virtual_count()):
            name = properties.get_virtual_filename(source)
            if name != ".":
                self._refuse(what, "takes its values from another file", name)

    def _refuse(self, what: str, why: str, where: bytes | str = "") -> None:
        told = f" ({_shown(where)!r})" if where else ""
        raise BadInput(f"{self.path}: {what} {why}{told}; only files that hold all of their own data are read")

    def __contains__(self, name: str) -> bool:
        with LOCK, explained(self.path):
            return self._found(name) is not None

    @cached_property
    def _names(self) -> tuple[str, ...]:
        with LOCK, explained(self.path):
            stored = [_shown(name).removeprefix(HIDDEN) for name in _links(self._file.id)]
            return tuple(name for name in dict.fromkeys(stored) if self._found(name) is not None)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def _object(self, stored: str) -> Any:
        """What lies under a name in HDF5; None where there is nothing."""
        if stored not in self._opened:
            self._opened[stored] = self._file.get(stored)
        return self._opened[stored]

    def _found(self, name: str) -> Any:
        """A variable's dataset; None where there is none. One that only stands for a dimension is no variable."""
        for stored in (HIDDEN + name, name):
            found = self._object(stored)
            if isinstance(found, h5py.Dataset) and not str(self._own(found.id, b"NAME")).startswith(BARE_DIMENSION):
                return found
        return None

    def _dataset(self, name: str) -> Any:
        found = self._found(name)
        if found is None:
            raise BadInput(f"{self.path}: there is no variable {name}")
        return found

    def _holder(self, name: str | None) -> Any:
        """What has attributes: the file, a variable, or a group."""
        if name is None:
            return self._file["/"].id
        found = self._object(name)
        return found.id if isinstance(found, h5py.Group) else self._dataset(name).id

    def children(self, place: str) -> dict[str, bool]:
        """What a group holds, by name, and whether that is a group itself; nothing where there is no such group."""
        with LOCK, explained(self.path, place):
            group = self._object(place)
            if not isinstance(group, h5py.Group):
                return {}
            names = [_shown(each) for each in _links(group.id)]
            held = {each: self._object(f"{place}/{each}") for each in names}
            return {each: isinstance(found, h5py.Group) for each, found in held.items() if found is not None}

    def _unpackable(self, dataset: Any) -> None:
        """Refuse what is packed in a way that is not to be had here; Zstandard and its like come with an extra."""
        made = dataset.id.get_create_plist()
        for code in (made.get_filter(each)[0] for each in range(made.get_nfilters())):
            if h5py.h5z.filter_avail(code):
                continue
            with suppress(ImportError):
                import_module("hdf5plugin")  # makes them known to HDF5
            if not h5py.h5z.filter_avail(code):
                what = {32015: "Zstandard", 32001: "Blosc", 32004: "LZ4"}.get(code, f"filter {code} of HDF5")
                raise BadInput(
                    f"{self.path}: {dataset.name} is packed with {what}, which needs the extra `firebench`: "
                    "pip install 'firecard[firebench]'"
                )

    def shape(self, name: str) -> tuple[int, ...]:
        with LOCK, explained(self.path, name):
            return self._dataset(name).shape or ()

    def _type(self, name: str) -> np.dtype[Any]:
        with LOCK, explained(self.path, name):
            kind: np.dtype[Any] = self._dataset(name).dtype
            return kind

    def together(self, name: str) -> int:
        with LOCK, explained(self.path, name):
            pieces = self._dataset(name).chunks
            return pieces[0] if pieces else 1

    def dims(self, name: str) -> tuple[str, ...]:
        with LOCK, explained(self.path, name):
            dataset = self._dataset(name)
            named = self._axes.get(h5py.h5o.get_info(dataset.id).addr, {})
            return tuple(named.get(axis, f"{name}:{axis}") for axis in range(dataset.ndim))

    @cached_property
    def _axes(self) -> dict[int, dict[int, str]]:
        """Names of the dimensions of every dataset, by its address and axis."""
        axes: dict[int, dict[int, str]] = {}
        numbered: dict[int, str] = {}
        scales = [name for name in map(_shown, _links(self._file.id)) if self._is_scale(name)]
        for name in scales:
            scale = self._object(name).id
            number = self._own(scale, b"_Netcdf4Dimid")
            if isinstance(number, int):
                numbered[number] = name
            axes.setdefault(h5py.h5o.get_info(scale).addr, {})[0] = name
            for reference, axis in _references(scale):
                address = h5py.h5o.get_info(h5py.h5r.dereference(reference, self._file.id)).addr
                axes.setdefault(address, {})[int(axis)] = name
        for name in scales:  # a coordinate of several dimensions cannot have scales of its own and lists their numbers
            scale = self._object(name).id
            numbers = self._own(scale, b"_Netcdf4Coordinates")
            if isinstance(numbers, np.ndarray):
                axes[h5py.h5o.get_info(scale).addr] = {
                    axis: numbered[number] for axis, number in enumerate(numbers.tolist()) if number in numbered
                }
        return axes

    def _is_scale(self, stored: str) -> bool:
        object_ = self._object(stored)
        return isinstance(object_, h5py.Dataset) and self._own(object_.id, b"CLASS") == "DIMENSION_SCALE"

    def attributes(self, name: str | None = None) -> Mapping[str, Any]:
        with LOCK, explained(self.path, name or "global attributes"):
            if name not in self._described:
                holder = self._holder(name)
                keys: list[bytes] = []
                h5py.h5a.iterate(holder, keys.append)
                self._described[name] = {_shown(key): self._own(holder, key) for key in keys if key not in BOOKKEEPING}
            return self._described[name]

    def attribute(self, name: str | None, key: str) -> Any:
        with LOCK, explained(self.path, name or "global attributes"):
            holder = self._holder(name)
            return self._own(holder, key.encode()) if h5py.h5a.exists(holder, key.encode()) else None

    def _own(self, holder: Any, key: bytes) -> Any:
        """An attribute as plain text, a number or an array; empty text where there is none."""
        if not h5py.h5a.exists(holder, key):
            return ""
        attribute = h5py.h5a.open(holder, key)
        kind, shape = attribute.dtype, attribute.shape
        if shape is None:  # declared, without a value
            return ""
        if math.prod(shape) * kind.itemsize > LARGEST:
            raise ValueError(f"attribute {_shown(key)} claims to be of shape {shape}")
        text = h5py.check_string_dtype(kind)
        if kind.kind not in "iufS" and not text:
            return ""
        if text and text.length is None and not self._heap_is_sound:
            _walk_heaps(self.path)
            self._heap_is_sound = True
        held = np.empty(shape, dtype=kind)
        attribute.read(held)
        return _plain(held)

    def _is_text(self, name: str) -> bool:
        return h5py.check_string_dtype(self._type(name)) is not None

    def _read(self, name: str, index: tuple[Index, ...]) -> Array:
        dataset = self._dataset(name)
        if name not in self._looked_at:
            self._unpackable(dataset)
            self._looked_at.add(name)
        if dataset.dtype.kind == "O" and not self._heap_is_sound:
            _walk_heaps(self.path)  # as before text attributes
            self._heap_is_sound = True
        return np.asarray(dataset[index])


HIDDEN = "_nc4_non_coord_"  # put by netCDF before a variable that is called like a dimension but is not its coordinate
BARE_DIMENSION = "This is a netCDF dimension but not a netCDF variable"
BOOKKEEPING = {
    b"CLASS",
    b"NAME",
    b"DIMENSION_LIST",
    b"REFERENCE_LIST",
    b"_Netcdf4Dimid",
    b"_Netcdf4Coordinates",
    b"_nc3_strict",
    b"_NCProperties",
}


def _links(group: Any) -> list[bytes]:
    names: list[bytes] = []
    group.links.iterate(names.append)
    return names


def _in_heap(kind: Any) -> bool:
    """Are values of a type kept in the global heap?"""
    text = isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str()
    return bool(text or kind.detect_class(h5py.h5t.VLEN))


HEAP = b"GCOL\x01\0\0\0"
SCANNED = 2**30  # bytes of a file in which heaps are looked for


def _walk_heaps(path: Path) -> None:
    """Refuse a global heap with an object that does not lead on to the next: HDF5 would stay on it for ever."""
    with path.open("rb") as stream:
        for place in _heaps(stream):
            stream.seek(place + len(HEAP))
            left = int.from_bytes(stream.read(8), "little") - 16
            while left >= 16:
                head = stream.read(16)
                index, size = int.from_bytes(head[:2], "little"), int.from_bytes(head[8:], "little")
                step = 16 + size + -size % 8 if index else size  # what is left free counts its own head
                if len(head) < 16 or not 16 <= step <= left:
                    raise ValueError("a heap of text is damaged")
                stream.seek(step - 16, 1)
                left -= step


def _heaps(stream: BinaryIO) -> Iterator[int]:
    """Where global heaps begin."""
    start, overlap = 0, len(HEAP) - 1
    while start < SCANNED:
        stream.seek(start)
        piece = stream.read(2**24)
        found = piece.find(HEAP)
        while found >= 0:
            yield start + found
            found = piece.find(HEAP, found + 1)
        if len(piece) < 2**24:
            return
        start += 2**24 - overlap


def _references(scale: Any) -> list[tuple[Any, int]]:
    """The datasets that a dimension belongs to, and as which of their axes."""
    if not h5py.h5a.exists(scale, b"REFERENCE_LIST"):
        return []
    attribute = h5py.h5a.open(scale, b"REFERENCE_LIST")
    held = np.empty(attribute.shape, dtype=attribute.dtype)
    attribute.read(held)
    return [(reference, axis) for reference, axis in held.ravel().tolist() if reference]


def _shown(text: bytes | str) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _plain(value: Array) -> Any:
    """Text as text, a list of one as its element."""
    if value.dtype.kind in "SO":
        lines = [_shown(each).rstrip("\0") for each in value.ravel().tolist()]
        return lines[0] if len(lines) == 1 else lines
    return value.ravel()[0].item() if value.size == 1 else value


class _Header:
    """The start of a classic file, taken piece by piece; what goes beyond the file's end is refused."""

    def __init__(self, stream: BinaryIO, path: Path, size: int) -> None:
        self.stream, self.path, self.left = stream, path, size
        self.version = CLASSIC[self.take(4)]

    def take(self, count: int) -> bytes:
        self.left -= count
        if self.left < 0:
            raise BadInput(f"{self.path}: ends within its header; it was cut off, or is still being written")
        return self.stream.read(count)

    def integer(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def count(self) -> int:
        return int.from_bytes(self.take(8 if self.version == 5 else 4), "big")

    def begin(self) -> int:
        return int.from_bytes(self.take(4 if self.version == 1 else 8), "big")

    def padded(self, count: int) -> bytes:
        return self.take(count + -count % 4)[:count]

    def name(self) -> str:
        return _shown(self.padded(self.count()))

    def entries(self, tag: int) -> range:
        """One for every entry of the list that comes next."""
        found, count = self.integer(), self.count()
        if found != tag and (found or count):
            raise BadInput(f"{self.path}: its header is damaged (tag {found} where {tag} was expected)")
        return range(count)

    def type(self) -> np.dtype[Any]:
        number = self.integer()
        if not 1 <= number <= (11 if self.version == 5 else 6):
            raise BadInput(f"{self.path}: its header is damaged (data type {number})")
        return np.dtype(CLASSIC_TYPES[number - 1])

    def attributes(self) -> dict[str, Any]:
        return {self.name(): self.attribute() for _ in self.entries(ATTRIBUTES)}

    def attribute(self) -> Any:
        kind, count = self.type(), self.count()
        raw = self.padded(count * kind.itemsize)
        return _shown(raw).rstrip("\0") if kind.kind == "S" else _plain(np.frombuffer(raw, kind))


DIMENSIONS, VARIABLES, ATTRIBUTES = 10, 11, 12
CLASSIC_TYPES = (">i1", "S1", ">i2", ">i4", ">f4", ">f8", ">u1", ">u2", ">u4", ">i8", ">u8")
COUNT_BY_SIZE = {1: 2**32 - 1, 2: 2**32 - 1, 5: 2**64 - 1}  # number of records of a file that was written as a stream


@dataclass(frozen=True, slots=True)
class _Stored:
    """Where a classic variable lies; a growing one has one piece in every record."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    kind: np.dtype[Any]
    begin: int
    grows: bool
    attributes: Mapping[str, Any]

    @property
    def piece(self) -> int:
        """Bytes of one step of the first dimension, or of a number without dimensions."""
        return math.prod(self.shape[1:]) * self.kind.itemsize


class Classic(File):
    """A netCDF-3 file: CDF-1, CDF-2 (64-bit offsets) or CDF-5 (64-bit data)."""

    container = "netCDF-3"

    def __init__(self, path: Path, state: Look, *, known: bool = False) -> None:
        super().__init__(path, state, known=known)
        self._stream = path.open("rb")
        try:
            self._parse(_Header(self._stream, path, state.size))
        except BaseException:
            self._stream.close()
            raise

    def close(self) -> None:
        self._stream.close()

    def examine(self) -> None:
        """Nothing in a classic file can point at another."""

    def _parse(self, header: _Header) -> None:
        records = header.count()
        lengths = [(header.name(), header.count()) for _ in header.entries(DIMENSIONS)]
        self._attributes = header.attributes()
        self._variables: dict[str, _Stored] = {}
        for _ in header.entries(VARIABLES):
            name = header.name()
            numbers = [header.count() for _ in range(header.count())]
            if any(number >= len(lengths) for number in numbers):
                raise BadInput(f"{self.path}: {name} has a dimension that is not there: its header is damaged")
            dims, shape = tuple(lengths[n][0] for n in numbers), tuple(lengths[n][1] for n in numbers)
            grows = bool(shape) and shape[0] == 0
            if 0 in shape[1:]:
                raise BadInput(f"{self.path}: {name} grows along an inner dimension: its header is damaged")
            attributes, kind, _, begin = header.attributes(), header.type(), header.count(), header.begin()
            self._variables[name] = _Stored(dims, shape, kind, begin, grows, attributes)
        growing = [each for each in self._variables.values() if each.grows]
        # Pieces are padded to 4 bytes, except where a record holds one piece only.
        self._record = sum(each.piece + -each.piece % 4 for each in growing) if len(growing) > 1 else 0
        self._record = self._record or sum(each.piece for each in growing)
        if records == COUNT_BY_SIZE[header.version] and growing:
            records = max(0, self.look.size - min(each.begin for each in growing)) // max(1, self._record)
        self._records = records
        self._refuse_short()

    def _refuse_short(self) -> None:
        for name, variable in self._variables.items():
            steps = self.shape(name)[0] if variable.dims else 1
            apart = self._record if variable.grows else variable.piece
            end = variable.begin + apart * (steps - 1) + variable.piece if steps else 0
            if end > self.look.size:
                raise BadInput(
                    f"{self.path}: ends early: {name} needs {end} bytes, there are {self.look.size}; "
                    "it was cut off, or is still being written"
                )

    def _stored(self, name: str) -> _Stored:
        if name not in self._variables:
            raise BadInput(f"{self.path}: there is no variable {name}")
        return self._variables[name]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._variables)

    def shape(self, name: str) -> tuple[int, ...]:
        variable = self._stored(name)
        return (self._records, *variable.shape[1:]) if variable.grows else variable.shape

    def dims(self, name: str) -> tuple[str, ...]:
        return self._stored(name).dims

    def _type(self, name: str) -> np.dtype[Any]:
        return self._stored(name).kind

    def together(self, name: str) -> int:
        return 1

    def attributes(self, name: str | None = None) -> Mapping[str, Any]:
        return self._attributes if name is None else self._stored(name).attributes

    def attribute(self, name: str | None, key: str) -> Any:
        return self.attributes(name).get(key)

    def _read(self, name: str, index: tuple[Index, ...]) -> Array:
        variable, shape = self._stored(name), self.shape(name)
        if not shape:
            return self._pieces(variable, range(1)).reshape(())
        first = index[0] if isinstance(index[0], slice) else slice(index[0], index[0] + 1)
        steps = range(*first.indices(shape[0]))
        if variable.piece * len(steps) > LARGEST:
            raise BadInput(f"{self.path}: {name} keeps {variable.piece * len(steps)} bytes together, too many to read")
        read = self._pieces(variable, steps).reshape(len(steps), *shape[1:])
        rest = (slice(None) if isinstance(index[0], slice) else 0, *index[1:])
        return np.asarray(read[rest])

    def _pieces(self, variable: _Stored, steps: range) -> Array:
        if not variable.grows and steps.step == 1:
            raw = self._bytes(variable.begin + steps.start * variable.piece, len(steps) * variable.piece)
        else:
            apart = self._record if variable.grows else variable.piece
            raw = b"".join(self._bytes(variable.begin + step * apart, variable.piece) for step in steps)
        return np.frombuffer(raw, variable.kind)

    def _bytes(self, begin: int, count: int) -> bytes:
        self._stream.seek(begin)
        raw = self._stream.read(count)
        if len(raw) < count:
            raise BadInput(f"{self.path}: ends early; it was cut off, or is still being written")
        return raw
