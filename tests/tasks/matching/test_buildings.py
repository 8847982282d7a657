"""Buildings one to one: by id, by mutual nearest position, or looked up in a raster; nothing shifts or vanishes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from configs.case import Data
from configs.impact import StructureRules
from metrics.errors import BadInput
from metrics.severity import PRESETS
from tasks.matching.buildings import NO_BUILDING, match_buildings, with_partners
from tasks.matching.ledger import NO_FORECAST, PAIR
from tasks.matching.rasters import buildings_from_raster

RULES = StructureRules()


def table(*rows: tuple[str, float, float, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["id", "lat", "lon", "damage", "destroyed"])


OBSERVED = table(
    ("a", 34.0, -118.0, "Destroyed", 1),
    ("b", 34.1, -118.0, "No Damage", 0),
    ("c", 34.2, -118.0, "Inaccessible", np.nan),
    ("d", 34.3, -118.0, "Destroyed", 1),
)


def test_one_building_inaccessible_on_one_side_shifts_nothing():  # SPEC part 4
    predicted = OBSERVED.iloc[::-1].assign(damage="destroyed", destroyed=[1.0, 0.0, 0.0, 1.0])
    matched = match_buildings(predicted, OBSERVED, RULES, "here").table
    paired = matched[matched["reason"] == PAIR]
    assert paired["id"].tolist() == ["a", "b", "d"]
    assert (paired["forecast"] == paired["observed"]).all()
    assert matched.loc[matched["id"] == "c", "reason"].item() == "observed 'Inaccessible' says neither"


def test_what_has_no_partner_is_in_the_ledger():
    predicted = table(("a", 34.0, -118.0, "destroyed", 1), ("z", 35.0, -118.0, "destroyed", 1))
    matched = match_buildings(predicted, OBSERVED, RULES, "here").table.set_index("id")
    assert matched.loc[["a", "b", "d", "z"], "reason"].tolist() == [PAIR, NO_FORECAST, NO_FORECAST, NO_BUILDING]


def test_a_missing_prediction_may_mean_not_destroyed():
    predicted = table(("a", 34.0, -118.0, "destroyed", 1))
    rules = replace(RULES, missing="not_destroyed")
    matched = match_buildings(predicted, OBSERVED, rules, "here").table
    assert matched["forecast"].tolist() == [1, 0, 0, 0]
    assert matched["reason"].tolist() == [PAIR, PAIR, "observed 'Inaccessible' says neither", PAIR]


def metres_north(lat: float, metres: float) -> float:
    return lat + metres / 111_195.08  # of a sphere of 6,371,008.8 m


def test_by_position_within_the_tolerance():
    near, far = metres_north(34.0, 29.0), metres_north(34.1, 31.0)
    predicted = table(("", near, -118.0, "destroyed", 1), ("", far, -118.0, "destroyed", 1))
    matched = match_buildings(predicted, OBSERVED.assign(id=""), RULES, "here")
    assert matched.table["reason"].tolist()[:2] == [PAIR, NO_FORECAST]
    assert "mutual nearest within 30 m" in matched.how["join"]


def test_by_position_one_to_one():
    # Two predictions beside one building: only the nearer one is its partner.
    predicted = table(
        ("", metres_north(34.0, 10.0), -118.0, "not destroyed", 0),
        ("", metres_north(34.0, 5.0), -118.0, "destroyed", 1),
    )
    matched = match_buildings(predicted, OBSERVED.iloc[:1].assign(id=""), RULES, "here").table
    assert matched["forecast"].tolist() == [1, 0]
    assert matched["reason"].tolist() == [PAIR, NO_BUILDING]


def test_by_position_across_the_date_line():
    observed = table(("", 0.0, 179.9999, "Destroyed", 1))
    predicted = table(("", 0.0, -179.9999, "destroyed", 1))
    matched = match_buildings(predicted, observed, RULES, "here").table  # 0.0002 degrees, 22 m
    assert matched["reason"].tolist() == [PAIR]


def test_mutual_nearest_by_brute_force():
    generator = np.random.default_rng(8)
    lat, lon = generator.uniform(34.0, 34.004, (2, 60)), generator.uniform(-118.0, -117.996, (2, 60))
    sides = [pd.DataFrame({"id": "", "lat": lat[k], "lon": lon[k], "damage": "x", "destroyed": 1.0}) for k in (0, 1)]
    matched = match_buildings(sides[1], sides[0], RULES, "here").table
    a, b = (np.deg2rad(np.stack([lat[k], lon[k]])) for k in (0, 1))
    half = (
        np.sin((a[0][:, None] - b[0]) / 2) ** 2
        + np.cos(a[0][:, None]) * np.cos(b[0]) * np.sin((a[1][:, None] - b[1]) / 2) ** 2
    )
    distance = 2 * 6_371_008.8 * np.arcsin(np.sqrt(half))
    expected = [distance[row].min() <= 30 and distance[:, distance[row].argmin()].argmin() == row for row in range(60)]
    assert (matched["reason"][:60] == PAIR).tolist() == expected
    assert any(expected)
    assert not all(expected)


def test_no_common_building():
    predicted = table(("z", 50.0, 8.0, "destroyed", 1))
    with pytest.raises(BadInput, match=r"here: no common building: 1 predicted, 4 observed, joined one to one"):
        match_buildings(predicted, OBSERVED, RULES, "here")
    with pytest.raises(BadInput, match=r"no common building: .* joined by id"):
        match_buildings(predicted, OBSERVED, replace(RULES, join="id"), "here")


def test_a_join_by_id_needs_ids():
    with pytest.raises(BadInput, match="one side has no ids"):
        match_buildings(OBSERVED.assign(id=""), OBSERVED, replace(RULES, join="id"), "here")


def test_a_raster_is_looked_up_at_the_buildings(tmp_path):
    import netCDF4

    with netCDF4.Dataset(tmp_path / "m.nc", "w") as file:
        for name, values, unit in (
            ("lat", [34.3, 34.2, 34.1], "degrees_north"),
            ("lon", [-118.1, -118.0], "degrees_east"),
        ):
            file.createDimension(name, len(values))
            axis = file.createVariable(name, "f8", (name,))
            axis[:], axis.units = values, unit
        file.createVariable("severity", "u1", ("lat", "lon"))[:] = [[1, 4], [2, 3], [4, 2]]
    data = Data("m.nc", "raster", {"destroyed": [4], "variable": None, "band": 1})
    predicted, how = buildings_from_raster([tmp_path / "m.nc"], data, OBSERVED, PRESETS["mtbs"])
    matched = with_partners(predicted, OBSERVED, np.arange(4), RULES, how).table
    # a lies outside the raster (34.05 is its lower edge), b is class 2, d is class 4.
    assert matched["reason"].tolist() == [NO_FORECAST, PAIR, "observed 'Inaccessible' says neither", PAIR]
    assert matched["forecast"].tolist()[1:4:2] == [0, 1]
    assert "looked up at each building" in how
    lost = with_partners(predicted, OBSERVED, np.arange(4), replace(RULES, missing="not_destroyed"), how).table
    assert lost["forecast"].tolist()[0] == 0
    with pytest.raises(BadInput, match="no common building: none of the 4 observed ones lies on the raster"):
        buildings_from_raster([tmp_path / "m.nc"], data, OBSERVED.assign(lat=50.0), PRESETS["mtbs"])


def test_free_text_does_not_fill_the_ledger():
    observed = pd.concat([OBSERVED, *(table((f"n{k}", 34.0, -118.0, f"note {k}", np.nan)) for k in range(99))])
    observed = observed.reset_index(drop=True)
    matched = match_buildings(OBSERVED.assign(destroyed=1.0), observed, RULES, "here").table
    assert matched["reason"].nunique() < 20
    assert "observed 'another class' says neither" in set(matched["reason"])
    assert len(matched) == 103
