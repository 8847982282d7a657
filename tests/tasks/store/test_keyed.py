"""Keyed files: made once, made again when anything that goes into them changes, whole or not there at all."""

from __future__ import annotations

import errno
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configs.window import LocalHours, Window
from metrics.errors import FirecardError, OutputRefused
from metrics.variables import VARIABLES
from tasks.store import keyed
from tasks.store.keyed import Store, digest_of, refuse_unwritable, writing

LAW = settings(derandomize=True, deadline=None, max_examples=200)


class Maker:
    """Writes a number that rises with every call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, path: Path) -> None:
        self.calls += 1
        path.write_text(str(self.calls))


def below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_made_once(tmp_path):
    make, store = Maker(), Store(tmp_path)
    first = store.keep("pairs", ("a", 1), make)
    assert store.keep("pairs", ("a", 1), make) == first
    assert make.calls == 1
    assert first.read_text() == "1"
    assert first.parent == tmp_path / "pairs"
    assert first.suffix == ".parquet"
    assert below(tmp_path) == [first.name]


def test_another_store_on_the_same_folder_finds_it(tmp_path):
    make = Maker()
    assert Store(tmp_path).keep("pairs", 1, make) == Store(tmp_path).keep("pairs", 1, make)
    assert make.calls == 1


def test_stages_and_suffixes_are_apart(tmp_path):
    make, store = Maker(), Store(tmp_path)
    paths = {store.keep("pairs", 1, make), store.keep("sums", 1, make), store.keep("sums", 1, make, suffix=".json")}
    assert len(paths) == 3
    assert make.calls == 3


def test_recalculate_always_makes(tmp_path):
    make = Maker()
    path = Store(tmp_path).keep("pairs", 1, make)
    again = Store(tmp_path, recalculate=True)
    assert again.keep("pairs", 1, make) == path
    assert again.keep("pairs", 1, make) == path
    assert make.calls == 3
    assert path.read_text() == "3"
    assert below(tmp_path) == [path.name]


def test_deleting_is_harmless(tmp_path):
    make, store = Maker(), Store(tmp_path)
    path = store.keep("pairs", 1, make)
    path.unlink()
    assert store.keep("pairs", 1, make).read_text() == "2"
    path.unlink()
    path.parent.rmdir()
    assert store.keep("pairs", 1, make).read_text() == "3"


@dataclass(frozen=True)
class Key:
    name: str
    value: float = 1.0


@dataclass(frozen=True)
class Other:
    name: str
    value: float = 1.0


DAY = Window()
LOCAL = LocalHours(time(10), 10.0, "America/Los_Angeles")
KEY = (["abc", "def"], "gfs", datetime(2026, 11, 17, tzinfo=UTC), DAY, VARIABLES, Key("a"), {"x": None, "y": True})
CHANGED = [
    pytest.param(0, ["abc", "deg"], id="a digest"),
    pytest.param(0, ["def", "abc"], id="the order of digests"),
    pytest.param(0, ["abc"], id="a digest less"),
    pytest.param(0, ["abcdef"], id="digests run together"),
    pytest.param(1, "nam", id="a name"),
    pytest.param(2, datetime(2026, 11, 17, 6, tzinfo=UTC), id="the cycle"),
    pytest.param(3, Window(hours=12), id="the window"),
    pytest.param(3, Window(closed="both"), id="its end"),
    pytest.param(3, Window(step=1.0), id="its step"),
    pytest.param(3, Window(local=LOCAL), id="local hours"),
    pytest.param(4, VARIABLES | {"wind_speed": replace(VARIABLES["wind_speed"], highest=99.0)}, id="a bound"),
    pytest.param(4, {name: each for name, each in VARIABLES.items() if name != "wind_gust"}, id="a variable less"),
    pytest.param(5, Key("b"), id="a field"),
    pytest.param(5, Key("a", 1.0000000001), id="a digit"),
    pytest.param(5, Other("a"), id="another kind of the same fields"),
    pytest.param(6, {"x": None, "y": False}, id="a switch"),
    pytest.param(6, {"x": 0, "y": True}, id="nothing and zero"),
    pytest.param(6, {"x": "None", "y": True}, id="nothing and its name"),
    pytest.param(6, {"x": None, "y": "True"}, id="true and its name"),
    pytest.param(6, {"y": True}, id="a key less"),
]


@pytest.mark.parametrize(("index", "value"), CHANGED)
def test_any_change_of_the_key_is_another_file(tmp_path, index, value):
    make, store = Maker(), Store(tmp_path)
    other = tuple(value if number == index else each for number, each in enumerate(KEY))
    assert store.keep("pairs", KEY, make) != store.keep("pairs", other, make)
    assert make.calls == 2


def test_the_same_key_written_again_is_the_same():
    again = (
        ("abc", "def"),
        "gfs",
        datetime(2026, 11, 17, tzinfo=UTC),
        Window(),
        dict(reversed(VARIABLES.items())),
        Key("a"),
        {"y": True, "x": None},
    )
    assert digest_of(again) == digest_of(KEY)


def test_a_change_of_the_code_is_another_key(monkeypatch):
    before = digest_of("x")
    monkeypatch.setattr(keyed, "code_digest", lambda: "another")
    assert digest_of("x") != before


@pytest.mark.parametrize("value", [{1, 2}, object(), lambda: 1, b"bytes", Key], ids=lambda value: type(value).__name__)
def test_what_cannot_be_told_by_its_text_is_no_key(value):
    with pytest.raises(TypeError, match="cannot be part of a key"):
        digest_of({"deep": [value]})


PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(alphabet=st.characters(codec="utf-8")),
    ),
    lambda inside: st.one_of(st.lists(inside, max_size=3), st.dictionaries(st.text(max_size=3), inside, max_size=3)),
    max_leaves=6,
)


def identity(value):
    """What JSON tells apart: true from 1, 1 from 1.0, and their texts from all of them."""
    if isinstance(value, dict):
        return ("mapping", frozenset((name, identity(each)) for name, each in value.items()))
    if isinstance(value, list):
        return ("list", tuple(identity(each) for each in value))
    return (type(value).__name__, repr(value))


@LAW
@given(PLAIN, PLAIN)
def test_digests_agree_only_for_equal_keys(one, other):
    assert (digest_of(one) == digest_of(other)) == (identity(one) == identity(other))


def test_dates_and_durations_are_keys():
    assert len({digest_of(each) for each in (date(2026, 1, 1), time(1), timedelta(1), Path("a"))}) == 4


class Broken(Exception):
    pass


@pytest.mark.parametrize(
    "error", [Broken("x"), KeyboardInterrupt(), FirecardError("x")], ids=lambda error: type(error).__name__
)
def test_nothing_is_left_behind_when_making_fails(tmp_path, error):
    def half(path: Path) -> None:
        path.write_text("half of it")
        raise error

    with pytest.raises(type(error)):
        Store(tmp_path).keep("pairs", 1, half)
    assert below(tmp_path) == []


def test_what_was_there_stays_when_making_anew_fails(tmp_path):
    path = Store(tmp_path).keep("pairs", 1, Maker())

    def half(path: Path) -> None:
        path.write_text("half of it")
        raise Broken

    with pytest.raises(Broken):
        Store(tmp_path, recalculate=True).keep("pairs", 1, half)
    assert path.read_text() == "1"
    assert below(tmp_path) == [path.name]


def test_nobody_sees_the_file_before_it_is_whole(tmp_path):
    seen = []

    def make(path: Path) -> None:
        path.write_text("half")
        seen.extend(tmp_path.rglob("*.parquet"))
        path.write_text("whole")

    assert Store(tmp_path).keep("pairs", 1, make).read_text() == "whole"
    assert seen == []


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputRefused, match=r"file.*: cannot be written: Not a directory") as refused:
            Store(root).keep("pairs", 1, Maker())
        assert str(root) in str(refused.value)
    assert (tmp_path / "file").read_text() == "x"


def test_a_name_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(OutputRefused, match="File name too long"):
        Store(tmp_path / ("x" * 300)).keep("pairs", 1, Maker())


def test_a_folder_that_must_not_be_written_is_refused(tmp_path, monkeypatch):
    def denied(self: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "replace", denied)
    with pytest.raises(OutputRefused) as refused:
        Store(tmp_path).keep("pairs", 1, Maker())
    path = tmp_path / "pairs" / f"{digest_of(1)[:40]}.parquet"
    assert str(refused.value) == f"{path}: cannot be written: Permission denied"
    monkeypatch.undo()
    assert below(tmp_path) == []


def test_a_full_disk_is_refused(tmp_path):
    def full(path: Path) -> None:
        path.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputRefused, match=r"\.parquet: cannot be written: No space left on device"):
        Store(tmp_path).keep("pairs", 1, full)
    assert below(tmp_path) == []


def test_an_input_that_cannot_be_read_is_not_blamed_on_the_output(tmp_path):
    def read_first(path: Path) -> None:
        path.write_text((tmp_path / "input.csv").read_text())

    with pytest.raises(FileNotFoundError, match=r"input\.csv"):
        Store(tmp_path / "store").keep("pairs", 1, read_first)
    assert below(tmp_path) == []


def test_a_maker_that_makes_nothing_is_refused(tmp_path):
    with pytest.raises(OutputRefused, match="cannot be written"):
        Store(tmp_path).keep("pairs", 1, lambda path: None)


def test_writing_makes_the_folders_and_takes_the_old_file_s_place(tmp_path):
    path = tmp_path / "a" / "b" / "card.json"
    for text in ("old", "new"):
        with writing(path) as temporary:
            assert temporary.parent == path.parent
            assert temporary.name.startswith(".")
            temporary.write_text(text)
    assert path.read_text() == "new"
    assert below(tmp_path) == ["card.json"]


def test_complaints_before_any_work(tmp_path):
    (tmp_path / "file").write_text("x")
    refuse_unwritable(tmp_path / "not" / "there" / "yet")
    assert not (tmp_path / "not").exists()
    with pytest.raises(OutputRefused, match=r"below: cannot be written: .*file is not a directory"):
        refuse_unwritable(tmp_path / "file" / "below")


def test_no_permission_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(OutputRefused, match="no permission to write"):
        refuse_unwritable(tmp_path / "out")
