"""Path templates: expanded by hand, never by `str.format`; and names that are safe as a folder or a key."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configs.paths import artifact_key, check, cycles, files, folder_name
from metrics.errors import BadParameter

LAW = settings(derandomize=True, deadline=None, max_examples=300)
CYCLE = datetime(2026, 11, 7, 6, 30, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path):
    """Makes files below a folder whose own name looks like a pattern."""
    root = tmp_path / "ru[n]s *?{x}"
    root.mkdir()

    def make(*names: str) -> Path:
        for name in names:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        return root

    return make


EXPANDED = [
    ("pairs.csv", "pairs.csv"),
    ("{cycle}.csv", "2026110706.csv"),
    ("{cycle:}.csv", "2026110706.csv"),
    ("{cycle:%Y%m%d%H}.csv", "2026110706.csv"),
    ("{cycle:%Y-%m-%dT%H%M}.csv", "2026-11-07T0630.csv"),
    ("{cycle:%y%j}.csv", "26311.csv"),  # the 311th day: 365 - 24 days of November left - 31 of December + 1
    ("{cycle:%Y}/{cycle:%m}/{cycle:%d}.csv", "2026/11/07.csv"),
    ("{cycle:%Y/%m}/x.csv", "2026/11/x.csv"),
    ("a b/é🔥.csv", "a b/é🔥.csv"),
    ("{cycle:>20}.csv", ">20.csv"),
]


@pytest.mark.parametrize(("template", "name"), EXPANDED)
def test_expansion(folder, template, name):
    root = folder(name)
    check(template)
    assert files(template, root, CYCLE) == [root / name]


REFUSED = [
    ("{run}", "{run}"),
    ("{}", "{}"),
    ("{0}", "{0}"),
    ("{cycle.tzinfo}", "{cycle.tzinfo}"),
    ("{cycle.__class__.__init__.__globals__}", "__globals__"),
    ("{cycle[0]}", "{cycle[0]}"),
    ("{cycle!r}", "{cycle!r}"),
    ("{cycle:%s}", "%s"),
    ("{cycle:%c}", "%c"),
    ("{cycle:%Y%}", "%"),
    ("{cycle:%%}", "%%"),
    ("{cycle:%999999999d}", "%9"),
    ("{cycle:%-d}", "%-"),
    ("{Cycle:%Y}", "{Cycle:%Y}"),
    ("{cycle", "unbalanced"),
    ("cycle}", "unbalanced"),
    ("{{cycle}}", "unbalanced"),
    ("a\0b", "control characters"),
    ("a\nb", "control characters"),
    ("\x1b[31m", "control characters"),
]


@pytest.mark.parametrize(("template", "named"), REFUSED)
def test_what_is_no_template(template, named):
    with pytest.raises(BadParameter) as refused:
        check(template)
    assert named in str(refused.value)


@LAW
@given(st.text(alphabet="{}%:.[]cycleYmdHMjy!0123_* /", max_size=30))
def test_a_template_is_refused_or_expanded(template):
    template = f"x{template}"  # never from the root of this machine
    try:
        check(template)
    except BadParameter:
        return
    assert files(template, Path("/nowhere/at/all"), CYCLE) == []
    assert cycles(template, Path("/nowhere/at/all")) == []


def test_files_are_sorted_and_only_those_of_the_cycle(folder):
    root = folder("2026110706/w_b", "2026110706/w_a", "2026110706/w_c", "2026110712/w_a", "2026110706/x")
    assert [path.name for path in files("{cycle}/w_*", root, CYCLE)] == ["w_a", "w_b", "w_c"]
    assert files("{cycle}/none_*", root, CYCLE) == []


def test_patterns_in_names(folder):
    root = folder("f01.nc", "f02.nc", "f10.nc", "f[1].nc")
    assert [path.name for path in files("f0?.nc", root, CYCLE)] == ["f01.nc", "f02.nc"]
    assert [path.name for path in files("f[01][01].nc", root, CYCLE)] == ["f01.nc", "f10.nc"]
    assert [path.name for path in files("f[[]1].nc", root, CYCLE)] == ["f[1].nc"]


def test_upwards_and_from_the_root(folder):
    root = folder("case/x.yaml", "obs/20261107.csv")
    found = files("../obs/{cycle:%Y%m%d}.csv", root / "case", CYCLE)
    assert [path.resolve() for path in found] == [(root / "obs" / "20261107.csv").resolve()]
    assert cycles("../obs/{cycle:%Y%m%d}.csv", root / "case") == [datetime(2026, 11, 7, tzinfo=UTC)]


def test_an_absolute_path(tmp_path):
    (tmp_path / "20261107.csv").write_text("x")
    assert files(f"{tmp_path}/{{cycle:%Y%m%d}}.csv", Path("/nowhere"), CYCLE) == [tmp_path / "20261107.csv"]


def moments(*texts: str) -> list[datetime]:
    return [datetime.strptime(text, "%Y%m%d%H%M").replace(tzinfo=UTC) for text in texts]


CYCLES = [
    pytest.param(
        "{cycle}.csv",
        ["2026110700.csv", "2026110612.csv", "x.csv", "20261107.csv"],
        ["202611061200", "202611070000"],
        id="in order",
    ),
    pytest.param(
        "{cycle:%Y%m%d}/f_*.nc", ["20261107/f_1.nc", "20261107/f_2.nc", "20261108/g"], ["202611070000"], id="once each"
    ),
    pytest.param(
        "{cycle:%Y%m%d}/w_{cycle:%H}.nc",
        ["20261107/w_06.nc", "20261107/w_18.nc"],
        ["202611070600", "202611071800"],
        id="in two places",
    ),
    pytest.param("{cycle:%Y%m%d}/w_{cycle}.nc", ["20261107/w_2026110706.nc"], ["202611070600"], id="the day twice"),
    pytest.param("{cycle:%Y%m%d}/w_{cycle}.nc", ["20261107/w_2026110806.nc"], [], id="two that disagree"),
    pytest.param(
        "{cycle:%Y%j}.nc",
        ["2026311.nc", "2026366.nc", "2024366.nc"],
        ["202412310000", "202611070000"],
        id="day of the year",
    ),
    pytest.param("{cycle:%y%m%d}.nc", ["261107.nc"], ["202611070000"], id="two digits of the year"),
    pytest.param("{cycle:%Y%m%d%H%M}.nc", ["202611070630.nc"], ["202611070630"], id="minutes"),
    pytest.param(
        "{cycle}.nc", ["2026133100.nc", "2026022900.nc", "2026110724.nc", "0000010100.nc"], [], id="no such day"
    ),
    pytest.param(
        "f[ab]_{cycle}.nc", ["fa_2026110706.nc", "fc_2026110712.nc"], ["202611070600"], id="one of two letters"
    ),
    pytest.param("f[!a]_{cycle}.nc", ["fa_2026110706.nc", "fc_2026110712.nc"], ["202611071200"], id="any but a letter"),
    pytest.param("f[[]1]_{cycle}.nc", ["f[1]_2026110706.nc"], ["202611070600"], id="a bracket itself"),
    pytest.param("f?_{cycle}*", ["f1_2026110706.nc", "f12_2026110712.nc"], ["202611070600"], id="any one letter"),
    pytest.param(
        "a.b+c_{cycle}.nc", ["a.b+c_2026110706.nc", "aXbbc_2026110712.nc"], ["202611070600"], id="signs of expressions"
    ),
    pytest.param("pairs.csv", ["pairs.csv"], [], id="no cycle in the name"),
    pytest.param("{cycle:%H}.csv", ["06.csv"], [], id="only an hour"),
    pytest.param("{cycle:%Y%m}.csv", ["202611.csv"], [], id="only a month"),
    pytest.param("*_{cycle}_*.nc", ["a_2026110706_2026110712.nc"], ["202611070600"], id="another date beside it"),
]


@pytest.mark.parametrize(("template", "names", "expected"), CYCLES)
def test_cycles_are_found_from_names(folder, template, names, expected):
    assert cycles(template, folder(*names)) == moments(*expected)


@LAW
@given(
    cycle=st.datetimes(datetime(1970, 1, 1), datetime(2068, 12, 31)),
    template=st.sampled_from(
        [
            "{cycle:%Y%m%d%H%M}.nc",
            "{cycle:%Y}/{cycle:%j}/{cycle:%H}_{cycle:%M}.nc",
            "a_{cycle:%y-%m-%d}T{cycle:%H%M}_[bc].nc",
        ]
    ),
)
def test_a_cycle_that_was_written_is_found_again(tmp_path_factory, cycle, template):
    cycle = cycle.replace(second=0, microsecond=0, tzinfo=UTC)
    root = tmp_path_factory.mktemp("runs")
    name = re.sub(r"\{cycle:([^}]*)\}", lambda found: cycle.strftime(found[1]), template).replace("[bc]", "b")
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("x")
    assert cycles(template, root) == [cycle]
    assert files(template, root, cycle) == [root / name]


NAMES = [
    ("wrf-d02", "wrf-d02"),
    ("HRRR v4.1", "HRRR-v4.1"),
    ("../../etc/passwd", "etc-passwd"),
    ("..", "unnamed"),
    (".", "unnamed"),
    ("", "unnamed"),
    ("/", "unnamed"),
    ("日本", "unnamed"),
    ("a\\b:c", "a-b-c"),
    ("a\0b", "a-b"),
    (".hidden", "hidden"),
    ("-rf", "rf"),
]


@pytest.mark.parametrize(("name", "expected"), NAMES)
def test_folder_names(name, expected):
    assert folder_name(name) == expected


@LAW
@given(st.one_of(st.text(), st.text(alphabet="./\\-_ aA\0", max_size=100)))
def test_a_folder_name_is_one_harmless_component(name):
    folder = folder_name(name)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,80}", folder)
    assert folder not in (".", "..")
    assert folder[0] not in ".-"
    assert Path("/out", folder).parent == Path("/out")
    assert folder_name(folder) == folder


@LAW
@given(st.lists(st.text(), min_size=1, max_size=3))
def test_an_artifact_key_is_what_prefect_allows(names):
    key = artifact_key("NIGHT", "A", *names)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key)
    assert key.startswith("night-a")


def test_artifact_keys():
    assert artifact_key("NIGHTLY", "A", "wrf-d02") == "nightly-a-wrf-d02"
    assert artifact_key("FB001", "B", "HRRR v4.1 (op)") == "fb001-b-hrrr-v4-1-op"
