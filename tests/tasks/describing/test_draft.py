"""Drafts of cases: paths that find just the given files, names of models, and what both sides have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from configs import paths
from configs.formats import FORMATS
from metrics.errors import BadInput
from tasks.describing.draft import Draft, case_text, model_names, template
from tasks.describing.seen import Seen

CYCLE = datetime(2026, 11, 17, tzinfo=UTC)


def hours(*numbers):
    return tuple(CYCLE + timedelta(hours=each) for each in numbers)


def model(*names, times=None, cycles=(CYCLE,), variables=("wind_speed",), **more):
    """A model as it was seen."""
    from pathlib import Path

    found = {"format": FORMATS["wrf"], "shape": (10, 10)} | more
    return Seen(
        paths=tuple(map(Path, names or ("m.nc",))),
        times=times or hours(*range(24)),
        cycles=cycles,
        variables=dict.fromkeys(variables, "as stored"),
        **found,
    )


def reports(times=None, variables=("wind_speed",), **more):
    from pathlib import Path

    return Seen(
        format=FORMATS["stations"],
        paths=(Path("obs.csv"),),
        times=times or hours(*range(24)),
        variables=dict.fromkeys(variables, "10 values"),
        **more,
    )


TEMPLATES = [
    pytest.param(["m.nc"], "m.nc", id="one file"),
    pytest.param(["m_2026111700.nc"], "m_{cycle:%Y%m%d%H}.nc", id="the cycle in its name"),
    pytest.param(["a_01.nc", "a_02.nc"], "a_*.nc", id="several, cut at words"),
    pytest.param(
        ["20261117/w_2026-11-17_00", "20261117/w_2026-11-17_06", "20261117/w_2026-11-18_00"],
        "{cycle:%Y%m%d}/w_*",
        id="the cycle as folder, valid times in names",
    ),
    pytest.param(["v2026111700", "v2026111703", "v2026111800"], "v*", id="valid times that are not the cycle"),
    pytest.param(["f202611170000", "f202611170003", "f202611170024"], "f{cycle:%Y%m%d%H}*", id="cycle and lead"),
    pytest.param(["odd [1].nc"], "odd [[]1].nc", id="brackets are no pattern"),
]


@pytest.mark.parametrize(("names", "expected"), TEMPLATES)
def test_template(tmp_path, names, expected):
    given = [tmp_path / name for name in names]
    for path in given:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = template(given, tmp_path, CYCLE)
    assert found == expected
    assert sorted(paths.files(found, tmp_path, CYCLE)) == sorted(given)


def test_a_template_does_not_take_in_other_files(tmp_path):
    given = [tmp_path / name for name in ("run_a1.nc", "run_a2.nc")]
    for path in (*given, tmp_path / "run_b1.nc"):
        path.touch()
    assert template(given, tmp_path, CYCLE) == "run_a*.nc"


def test_a_template_lists_letters_where_nothing_else_tells_files_apart(tmp_path):
    given = [tmp_path / name for name in ("sep_u.nc", "sep_v.nc")]
    for path in (*given, tmp_path / "sep_t.nc"):
        path.touch()
    assert template(given, tmp_path, CYCLE) == "sep_[uv].nc"


def test_files_that_no_path_tells_from_others_are_refused(tmp_path):
    given = [tmp_path / name for name in ("wind.nc", "temperature.nc")]
    for path in (*given, tmp_path / "other.nc"):
        path.touch()
    with pytest.raises(BadInput, match=r"other\.nc: a path .* finds this one too"):
        template(given, tmp_path, CYCLE)


def test_names_of_models():
    both = [
        model("x/wrf/2026111700/wrfout_d01_2026-11-17_00.nc"),
        model("x/gfs/2026111700/wrfout_d01_2026-11-17_00.nc"),
    ]
    assert model_names(both) == ["wrf", "gfs"]
    assert model_names(both[:1]) == ["wrfout_d01"]
    assert model_names([model("x/vfldAROME202611170003"), model("x/vfldHARMONIE202611170003")]) == ["AROME", "HARMONIE"]
    assert model_names([model("x/run_00.nc", "x/run_01.nc")]) == ["run"]
    assert model_names([model("x/u10.nc", "x/v10.nc")]) == ["x"]
    assert model_names([model("/2026.nc"), model("/2027.nc")]) == ["model-1", "model-2"]


WINDOWS = [
    pytest.param(hours(*range(24)), hours(*range(24)), "{hours: 24} ", id="a day"),
    pytest.param(hours(*range(49)), hours(*range(49)), "{hours: 24} ", id="at most a day"),
    pytest.param(hours(0, 3, 6), hours(*range(24)), "{hours: 6, closed: both} ", id="less than a day"),
    pytest.param(hours(*range(24)), hours(6, 9, 12), "{hours: 6, closed: both, offset: 6 h} ", id="what was observed"),
    pytest.param(hours(0, 12), hours(12), "{hours: 1, offset: 12 h} ", id="one time"),
]


@pytest.mark.parametrize(("valid", "observed", "expected"), WINDOWS)
def test_window(tmp_path, valid, observed, expected):
    text = case_text(Draft({"m": model(times=valid)}, reports(times=observed), None, tmp_path), "X")
    assert f"window: {expected}" in text


def test_no_time_in_common(tmp_path):
    draft = Draft({"m": model(times=hours(0, 1))}, reports(times=hours(48)), None, tmp_path)
    with pytest.raises(
        BadInput, match=r"obs\.csv: .*no time in common: valid 2026-11-17T00:00Z to .*reports 2026-11-19"
    ):
        case_text(draft, "X")


def test_only_kpis_that_both_sides_can_answer(tmp_path):
    offered, seen = ("wind_speed", "wind_gust", "temperature"), ("wind_speed", "wind_direction", "temperature")
    text = case_text(Draft({"m": model(variables=offered)}, reports(variables=seen), None, tmp_path), "X")
    kpis = text.partition("kpis:")[2].partition("groups:")[0]
    assert "wind_speed_rmse" in kpis
    assert "variable: temperature" in kpis
    assert "gust" not in kpis
    assert "direction" not in kpis


def test_no_variable_in_common(tmp_path):
    draft = Draft({"m": model()}, reports(variables=("temperature",)), None, tmp_path)
    with pytest.raises(BadInput, match="no variable that both sides have: models wind_speed; observations temperature"):
        case_text(draft, "X")


def test_a_model_without_a_cycle_starts_where_reports_do(tmp_path):
    long = model(times=hours(*range(2400)), cycles=())
    draft = Draft({"m": long}, reports(times=hours(100, 101)), None, tmp_path)
    assert draft.cycle() == hours(100)[0]
    assert "cycle: 2026-11-21T04:00 " in case_text(draft, "X")


def test_a_mesh_is_not_interpolated_by_rows_and_columns(tmp_path):
    text = case_text(Draft({"m": model(shape=(958,))}, reports(), None, tmp_path), "X")
    assert "space: {how: inverse_distance" in text
