"""Digests of files: right, remembered, and never stale."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from metrics.errors import BadInput, MissingInput
from tasks.store import digests
from tasks.store.digests import code_digest, digest, input_file

# sha256 of "abc" (FIPS 180-2, the first worked example)
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_sha256_of_the_bytes(tmp_path):
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    assert digest(path) == ABC
    path.write_bytes(b"x" * 3_000_000)
    assert digest(path) == hashlib.sha256(b"x" * 3_000_000).hexdigest()


@pytest.fixture
def reads(monkeypatch):
    """The files that were really read."""
    seen = []
    real = hashlib.file_digest

    def counting(file, name):
        seen.append(file.name)
        return real(file, name)

    monkeypatch.setattr(digests.hashlib, "file_digest", counting)
    return seen


def test_read_once(tmp_path, reads):
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    assert [digest(path) for _ in range(5)] == [ABC] * 5
    assert len(reads) == 1


def test_another_content_of_the_same_size_is_another_digest(tmp_path, reads):
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    before = digest(path)
    stat = path.stat()
    path.write_bytes(b"abd")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))  # a nanosecond later is later
    assert digest(path) == hashlib.sha256(b"abd").hexdigest() != before
    assert len(reads) == 2


def test_another_size_at_the_same_time_is_another_digest(tmp_path):
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    digest(path)
    stat = path.stat()
    path.write_bytes(b"abcd")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert digest(path) == hashlib.sha256(b"abcd").hexdigest()


def test_another_file_in_its_place_is_another_digest(tmp_path):
    path, new = tmp_path / "abc", tmp_path / "new"
    path.write_bytes(b"abc")
    digest(path)
    stat = path.stat()
    new.write_bytes(b"abd")
    os.utime(new, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    new.replace(path)  # same name, size and time; another inode
    assert digest(path) == hashlib.sha256(b"abd").hexdigest()


def test_touching_changes_no_digest(tmp_path):
    path = tmp_path / "abc"
    path.write_bytes(b"abc")
    assert digest(path) == ABC
    os.utime(path, ns=(0, 1))
    assert digest(path) == ABC


def test_what_has_no_digest(tmp_path):
    with pytest.raises(MissingInput, match=r"nowhere: there is no such file"):
        digest(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"is a directory, expected a file"):
        digest(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput, match=r"below: cannot be read: Not a directory"):
        digest(tmp_path / "file" / "below")


def test_a_record_holds_no_path_of_a_machine(tmp_path):
    root = tmp_path / "case"
    (root / "obs").mkdir(parents=True)
    for path in (root / "obs" / "a.csv", tmp_path / "b.csv"):
        path.write_bytes(b"abc")
    inside = input_file(root / "obs" / "a.csv", root)
    assert (inside.name, inside.sha256, inside.size) == (str(Path("obs") / "a.csv"), ABC, 3)
    assert input_file(tmp_path / "b.csv", root).name == "b.csv"
    assert input_file(root / ".." / "b.csv", root).name == str(Path("..") / "b.csv")


def test_the_digest_of_the_code_is_one_and_the_same():
    assert code_digest() == code_digest()
    assert len(code_digest()) == 64


def store(folder: Path) -> Path:
    """A directory that looks like a Zarr store."""
    (folder / "a.zarr" / "severity" / "c").mkdir(parents=True)
    (folder / "a.zarr" / "zarr.json").write_bytes(b"abc")
    (folder / "a.zarr" / "severity" / "c" / "0").write_bytes(b"abc")
    return folder / "a.zarr"


def test_a_store_is_its_names_and_the_digests_of_its_files(tmp_path):
    path = store(tmp_path)
    lines = f"severity/c/0\0{ABC}\nzarr.json\0{ABC}\n"
    assert digest(path) == hashlib.sha256(lines.encode()).hexdigest()
    found = input_file(path, tmp_path)
    assert (found.name, found.size) == ("a.zarr", 6)


def test_a_changed_renamed_added_or_lost_piece_is_another_store(tmp_path):
    path = store(tmp_path)
    piece = path / "severity" / "c" / "0"
    seen = {digest(path)}
    piece.write_bytes(b"abcd")
    seen.add(digest(path))
    piece = piece.rename(piece.with_name("1"))
    seen.add(digest(path))
    (path / "severity" / "c" / "2").write_bytes(b"")
    seen.add(digest(path))
    piece.unlink()
    seen.add(digest(path))
    assert len(seen) == 5


def test_a_store_is_read_once_and_then_only_what_changed(tmp_path, reads):
    path = store(tmp_path)
    digest(path), digest(path)
    assert len(reads) == 2
    (path / "severity" / "c" / "0").write_bytes(b"abcd")
    digest(path)
    assert len(reads) == 3


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_a_store_that_leads_elsewhere_is_refused(tmp_path, kind):
    path, elsewhere = store(tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir() if kind == "directory" else elsewhere.write_bytes(b"secret")
    (path / "other").symlink_to(elsewhere)
    with pytest.raises(BadInput, match=r"a\.zarr/other: is a link"):
        digest(path)
