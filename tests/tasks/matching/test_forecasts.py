"""A model's values at stations against reports: who is joined with whom, and what a gap in the model's files means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.case import read_case
from configs.formats import FORMATS
from configs.rules import MatchingRules
from configs.window import Window
from flows.check import check_case
from metrics.errors import BadInput, MissingInput
from metrics.variables import VARIABLES
from tasks.families.weather import match_key, matched
from tasks.find import find_files, latest_cycle
from tasks.matching.forecasts import match_forecasts, read_model
from tasks.readers.formats import StationWishes
from tasks.readers.stations import read_stations

CYCLE = datetime(2026, 11, 17, tzinfo=UTC)
WINDOW = Window(hours=3.0)
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def vfld(tmp_path):
    """Writes a vfld file: rows are (station, lat, lon, values); returns its path."""

    def write(lead, rows, parameters=("FF", "DD", "TT"), model="M", cycle=CYCLE):
        path = tmp_path / f"vfld{model}{cycle:%Y%m%d%H}{lead:02d}"
        lines = [f"{len(rows)} 0 4", str(len(parameters)), *(f" {each} 0" for each in parameters)]
        lines += [" ".join(map(str, row)) for row in rows]
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


@pytest.fixture
def reports(tmp_path):
    """Writes a table of reports: rows are (station, hour, speed, direction, temperature); returns its path."""

    def write(*rows, places=True):
        head = "station,time,wind_speed [m/s],wind_direction [deg],temperature [degC]"
        lines = [head + ",lat,lon"]
        for station, hour, *values in rows:
            when = CYCLE + timedelta(hours=hour)
            cells = [station, f"{when:%Y-%m-%dT%H:%MZ}", *(str(each) for each in values)]
            lines.append(",".join([*cells, *(("60", "10") if places else ("", ""))]))
        path = tmp_path / "obs.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def match(paths, obs, *, needed=("temperature",), window=WINDOW, rules=None, names=None, **options):
    model = read_model(paths, FORMATS["vfld"], cycle=CYCLE, wishes=StationWishes(names=names or {}), **options)
    return match_forecasts(
        model,
        read_stations([obs], VARIABLES, elsewhere=model.places),
        cycle=CYCLE,
        window=window,
        rules=rules or MatchingRules(),
        variables=VARIABLES,
        needed=needed,
    )


def outcome(found, variable, station):
    rows = found.table[(found.table["variable"] == variable) & (found.table["station"] == station)]
    return rows.sort_values("valid_time")["reason"].tolist()


def test_pairs_at_the_stations_of_both_sides(vfld, reports):
    paths = [vfld(h, [("0001", 60, 10, 5 + h, 90, 283.15 + h), ("2", 61, 11, 1, 1, 280)]) for h in range(3)]
    found = match(paths, reports(*(("00001", h, 4, 100, 10) for h in range(3))), needed=("temperature", "wind_speed"))
    assert set(found.table["reason"]) == {"pair"}
    assert set(found.table["station"]) == {"00001"}  # 00002 has nobody who measures
    speed = found.table[found.table["variable"] == "wind_speed"].sort_values("valid_time")
    assert (speed["forecast"] - speed["observed"]).tolist() == [1, 2, 3]
    warmth = found.table[found.table["variable"] == "temperature"].sort_values("valid_time")
    assert (warmth["forecast"] - warmth["observed"]).tolist() == pytest.approx([0, 1, 2])
    assert found.how["stations"] == {"of the model": 1, "not of the model": 0}
    assert found.how["domain"].startswith("2 stations, latitude 60.00 to 61.00")
    assert found.how["height"] == "as is (model 10 m, sensors unknown)"


def test_a_station_that_the_model_never_has_asks_nothing_of_it_and_a_hole_does(vfld, reports):
    here = ("1", 60, 10, 5, 90, 283.15)
    paths = [vfld(0, [here, ("2", 60, 10, 5, 90, 283)]), vfld(1, [here]), vfld(2, [(*here[:5], -99.0)])]
    rows = [(name, h, 4, 100, 10) for name in ("00001", "00002", "99999") for h in range(3)]
    found = match(paths, reports(*rows))
    assert outcome(found, "temperature", "00001") == ["pair", "pair", "no forecast"]
    assert outcome(found, "temperature", "00002") == ["pair", "no forecast", "no forecast"]
    assert outcome(found, "temperature", "99999") == ["not a station of the model"] * 3
    unknown = found.table[found.table["station"] == "99999"]
    assert unknown["observed"].isna().all()  # no KPI may count it
    hole = found.table[found.table["reason"] == "no forecast"]
    assert hole["observed"].notna().all()  # a KPI must count it


def test_an_hour_without_a_file_is_a_hole(vfld, reports):
    paths = [vfld(h, [("1", 60, 10, 5, 90, 283.15)]) for h in (0, 1, 3)]
    found = match(paths, reports(*(("00001", h, 4, 100, 10) for h in range(4))), window=Window(hours=4.0))
    assert outcome(found, "temperature", "00001") == ["pair", "pair", "no forecast", "pair"]


def test_a_file_that_cannot_be_read_is_a_hole_and_said(vfld, reports, tmp_path):
    paths = [vfld(h, [("1", 60, 10, 5, 90, 283.15)]) for h in range(4)]
    paths[1].write_text("nonsense\n")
    obs = reports(*(("00001", h, 4, 100, 10) for h in range(4)))
    found = match(paths, obs, window=Window(hours=4.0))
    assert outcome(found, "temperature", "00001") == ["pair", "no forecast", "pair", "pair"]
    assert list(found.how["broken_files"]) == [paths[1].name]
    assert str(tmp_path) not in str(found.how)
    for each in paths:
        each.write_text("nonsense\n")
    with pytest.raises(BadInput, match="line 1: expected the number of stations"):
        match(paths, obs)


def test_impossible_forecasts_are_named_so(vfld, reports):
    found = match([vfld(0, [("1", 60, 10, 5, 90, 9999)])], reports(("00001", 0, 4, 100, 10)), window=Window(hours=1.0))
    assert outcome(found, "temperature", "00001") == ["impossible forecast"]


def test_the_position_comes_from_the_model_where_reports_have_none(vfld, reports):
    paths = [vfld(h, [("1", 60, 10, 5, 90, 283.15)]) for h in range(3)]
    found = match(paths, reports(("00001", 0, 4, 100, 10), ("00007", 0, 4, 100, 10), places=False))
    assert found.table.loc[found.table["station"] == "00001", ["lat", "lon"]].drop_duplicates().to_numpy().tolist() == [
        [60.0, 10.0]
    ]
    assert outcome(found, "temperature", "00001")[0] == "pair"


def test_who_is_no_station_of_the_model_is_so_wherever_it_stands_unless_the_case_leaves_it_out(vfld, reports):
    paths = [vfld(h, [("1", 60, 10, 5, 90, 283.15)]) for h in range(3)]
    obs = reports(*((name, 0, 4, 100, 10) for name in ("00001", "00007", "00008")))
    obs.write_text(
        obs.read_text().replace("00007,2026-11-17T00:00Z,4,100,10,60,10", "00007,2026-11-17T00:00Z,4,100,10,,")
    )
    found = match(paths, obs, rules=MatchingRules(exclude=("00008",)))
    assert outcome(found, "temperature", "00007") == ["not a station of the model"] * 3
    assert outcome(found, "temperature", "00008") == ["excluded by the case"] * 3


def test_linear_in_time_between_two_files(vfld, reports):
    paths = [vfld(h, [("1", 60, 10, 5, 10 if h else 350, 283.15 + h)]) for h in (0, 3)]
    rules = MatchingRules(interpolate_time=True)
    found = match(paths, reports(("00001", 1.5, 4, 0, 10)), needed=("temperature", "wind_direction"), rules=rules)
    by = found.table.set_index("variable")["forecast"]
    assert by["temperature"] == pytest.approx(11.5)
    assert (by["wind_direction"] + 180) % 360 - 180 == pytest.approx(0, abs=1e-9)


def test_the_log_law_starts_from_ten_metres(vfld, reports, tmp_path):
    paths = [vfld(0, [("1", 60, 10, 10, 90, 283.15)])]
    obs = reports(("00001", 0, 4, 100, 10))
    obs.write_text(obs.read_text().replace("lat,lon", "lat,lon,height").replace("60,10", "60,10,6.1"))
    rules = MatchingRules(roughness=0.03)
    found = match(paths, obs, needed=("wind_speed",), rules=rules, window=Window(hours=1.0))
    assert found.table["forecast"].tolist() == pytest.approx([10 * np.log(6.1 / 0.03) / np.log(10 / 0.03)])
    asked = match(paths, obs, needed=("wind_speed",), window=Window(hours=1.0), height=6.1, rules=rules)
    assert asked.table["forecast"].tolist() == [10.0]


def test_what_is_not_offered(vfld, reports):
    paths = [vfld(h, [("1", 60, 10, 5)], parameters=("FF",)) for h in range(3)]
    obs = reports(("00001", 0, 4, 100, 10))
    assert match(paths, obs, needed=("temperature", "wind_speed")).offered == ("wind_speed",)
    with pytest.raises(BadInput, match="there is no temperature nor wind_gust in it; it offers wind_speed"):
        match(paths, obs, needed=("temperature", "wind_gust"))


def test_a_name_of_the_case_that_no_file_has(vfld, reports):
    row = ("1", 60, 10, 5, 90, 283.15)
    paths = [vfld(0, [row[:5]], parameters=("FF", "DD")), vfld(1, [row], parameters=("FF", "DD", "TTP1"))]
    obs = reports(*(("00001", h, 4, 100, 10) for h in range(2)))
    found = match(paths, obs, names={"temperature": "TTP1"}, window=Window(hours=2.0))
    assert outcome(found, "temperature", "00001") == ["no forecast", "pair"]
    with pytest.raises(BadInput, match="nothing in it is called 'TTP9', as the case says of temperature"):
        match(paths, obs, names={"temperature": "TTP9"}, needed=("wind_speed",))


def test_several_cycles_and_models(vfld, reports):
    row = [("1", 60, 10, 5, 90, 283.15)]
    obs = reports(*(("00001", h, 4, 100, 10) for h in range(3)))
    earlier = vfld(6, row, cycle=CYCLE - timedelta(hours=6))
    paths = [vfld(h, row) for h in range(3)]
    assert outcome(match([earlier, *paths], obs), "temperature", "00001") == ["pair"] * 3
    with pytest.raises(MissingInput, match=r"there is no cycle 2026-11-17T00; cycles here: 2026-11-16T18"):
        match([earlier], obs)
    other = vfld(0, row, model="N")
    with pytest.raises(BadInput, match="of several models; say which with `name:`: M, N"):
        match([*paths, other], obs)
    assert outcome(match([*paths, other], obs, name="M"), "temperature", "00001") == ["pair"] * 3
    with pytest.raises(MissingInput, match="no row of model 'X'; models here: M"):
        match(paths, obs, name="X")
    longer = vfld(1, row).rename(paths[1].with_name(f"vfldM{CYCLE:%Y%m%d%H}001"))
    with pytest.raises(BadInput, match="station '00001' at 2026-11-17T01:00Z: this forecast stands there twice"):
        match([vfld(1, row), longer], obs)


def test_times_outside_the_window_and_reports_of_another_day(vfld, reports):
    late = [vfld(30, [("1", 60, 10, 5, 90, 283.15)])]
    with pytest.raises(BadInput, match="do not overlap the window"):
        match(late, reports(("00001", 0, 4, 100, 10)))
    with pytest.raises(BadInput, match="no report in the window"):
        match([vfld(h, [("1", 60, 10, 5, 90, 283.15)]) for h in range(3)], reports(("00001", 300, 4, 100, 10)))


CASE = """\
case: VFLD
models: {m: {weather: {path: "vfldM*"}}}
observations: {weather: {path: obs.csv}}
window: {hours: 3}
matching: {min_completeness: 0, min_pairs: 1}
kpis:
  T: {kpi: rmse, variable: temperature, normalise: {kind: exponential, m: 5 K}}
"""


def test_through_a_case_file(vfld, reports, tmp_path):
    for h in range(3):
        vfld(h, [("1", 60, 10, 5, 90, 283.15 + h)])
    reports(*(("00001", h, 4, 100, 10) for h in range(3)))
    (tmp_path / "case.yaml").write_text(CASE)
    case = read_case(tmp_path / "case.yaml")
    assert latest_cycle(case) == CYCLE
    found = find_files.fn(case, case.models[0], "weather", CYCLE)
    assert set(matched(case, found).table["reason"]) == {"pair"}
    said: list[str] = []
    assert check_case(case, None, said.append)
    assert any("HARP's forecasts at stations (vfld)" in line for line in said)
    # The rules and the observations are part of what the matched file is named by.
    (tmp_path / "other.yaml").write_text(CASE.replace("min_pairs: 1", "min_pairs: 1, time: {tolerance: 5 min}"))
    other = read_case(tmp_path / "other.yaml")
    assert match_key(case, found) != match_key(other, found)
    (tmp_path / "alone.yaml").write_text(CASE.replace("observations: {weather: {path: obs.csv}}\n", ""))
    alone = read_case(tmp_path / "alone.yaml")
    with pytest.raises(BadInput, match=r"HARP's forecasts at stations \(vfld\): say `observations:"):
        matched(alone, find_files.fn(alone, alone.models[0], "weather", CYCLE))


@FUZZ
@given(
    has=st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=4),
    measured=st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=4),
)
def test_every_candidate_has_its_reason(vfld, reports, has, measured):
    """Whoever has what: a pair where both are, a missing forecast only at a station of the model."""
    paths = [
        vfld(
            h, [(str(n + 1), 60, 10, 283.15) for n, each in enumerate(has) if each[h]] or [("77", 60, 10, 283)], ("TT",)
        )
        for h in range(3)
    ]
    rows = [(f"{n + 1:05d}", h, 4, 100, 10) for n, each in enumerate(measured) for h in range(3) if each[h]]
    found = match(paths, reports(("00055", 0, 4, 100, 10), *rows))
    table = found.table.set_index(["station", "valid_time"])["reason"]
    for n, each in enumerate(measured):
        for h in (hour for hour in range(3) if any(each)):
            known = n < len(has) and any(has[n])
            expected = (
                "not a station of the model"
                if not known
                else "no observation"
                if not each[h]
                else "pair"
                if has[n][h]
                else "no forecast"
            )
            assert table[(f"{n + 1:05d}", pd.Timestamp(CYCLE + timedelta(hours=h)))] == expected
