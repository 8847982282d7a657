"""Buildings from DINS and from tidy tables, and what is refused with file, row and column."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from configs.impact import StructureRules
from metrics.errors import BadInput
from tasks.readers.buildings import read_buildings

RULES = StructureRules()
DINS = """OBJECTID,* Damage,Latitude,Longitude
1,Destroyed (>50%),34.1,-118.6
2,No Damage,34.2,-118.5
3,Inaccessible,34.3,-118.4
4,Major (26-50%),34.4,-118.3
"""


def written(folder: Path, text: str, name: str = "buildings.csv") -> list[Path]:
    (folder / name).write_text(text)
    return [folder / name]


def test_dins_as_csv(tmp_path):
    table = read_buildings(written(tmp_path, DINS), {}, RULES)
    assert table["id"].tolist() == ["1", "2", "3", "4"]
    assert table["damage"].tolist() == ["Destroyed", "No Damage", "Inaccessible", "Major"]
    np.testing.assert_array_equal(table["destroyed"], [1, 0, np.nan, 1])
    assert table["lat"].tolist() == [34.1, 34.2, 34.3, 34.4]


def feature(geometry: object, **properties: object) -> dict:
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def collection(*features: dict, **more: object) -> str:
    return json.dumps({"type": "FeatureCollection", "features": features, **more})


def test_geojson_points_and_outlines(tmp_path):
    square = {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]}
    text = collection(
        feature({"type": "Point", "coordinates": [-118.6, 34.0]}, GLOBALID="a", DAMAGE="Minor (10-25%)"),
        feature(square, GLOBALID="b", DAMAGE="Destroyed (>50%)"),
    )
    table = read_buildings(written(tmp_path, text, "dins.geojson"), {}, RULES)
    assert table[["id", "lat", "lon", "destroyed"]].to_numpy().tolist() == [["a", 34.0, -118.6, 0.0], ["b", 1, 1, 1]]


def test_a_tidy_table_of_yes_and_no(tmp_path):
    table = read_buildings(written(tmp_path, "id,destroyed\n007,1\nNA,false\nx,\n"), {}, RULES)
    assert table["id"].tolist() == ["007", "NA", "x"]
    np.testing.assert_array_equal(table["destroyed"], [1, 0, np.nan])


def test_columns_may_be_called_anything(tmp_path):
    files = written(tmp_path, "haus,schaden\n1,Destroyed\n")
    assert read_buildings(files, {"id": "haus", "damage": "schaden"}, RULES)["destroyed"].tolist() == [1.0]


def test_which_damage_counts_is_the_cases_choice(tmp_path):
    rules = StructureRules(destroyed=("Destroyed", "Inaccessible"), kept=("no damage",))
    table = read_buildings(written(tmp_path, DINS), {}, rules)
    np.testing.assert_array_equal(table["destroyed"], [1, 0, 1, np.nan])


REFUSED = [
    pytest.param("id,colour\n1,red\n", r"no column `damage` or `destroyed`; columns: id, colour", id="no damage"),
    pytest.param("damage\nDestroyed\n", r"no column `id`, and no `lat` and `lon`", id="no id"),
    pytest.param("id,destroyed\n1,1\n2,maybe\n", r"row 3, column 'destroyed': got 'maybe'", id="neither yes nor no"),
    pytest.param("id,damage\n1,Destroyed\n1,Minor\n", r"building '1' stands twice", id="twice"),
    pytest.param("id,damage\n,Destroyed\n", r"row 2, column 'id'.*expected a name", id="no name"),
    pytest.param("lat,lon,damage\n134,0,Minor\n", r"row 2, column 'lat': got 134.*-90 and 90", id="latitude"),
    pytest.param("lat,lon,damage\nx,0,Minor\n", r"row 2, column 'lat': got 'x'; expected a number", id="no number"),
    pytest.param("id,damage\n1,verloren\n", r"no building has a known damage class: found 'verloren'", id="classes"),
    pytest.param("id,damage\n", "has no rows", id="empty"),
    pytest.param("{", "cannot be read as GeoJSON", id="broken JSON"),
    pytest.param('{"type": "Feature"}', "expected a GeoJSON FeatureCollection", id="one feature"),
    pytest.param(collection(), "has no features", id="no feature"),
    pytest.param(
        collection(feature({"type": "LineString", "coordinates": []}, id=1)), "feature 1: expected a Point", id="line"
    ),
    pytest.param(collection(feature({"type": "Point"}, id=1)), "feature 1: the geometry cannot", id="no coordinates"),
    pytest.param(collection({"type": "Feature"}), "feature 1: expected `properties`", id="no properties"),
    pytest.param(
        collection(feature(None, id=1), crs={"properties": {"name": "EPSG:3310"}}), "expected longitude", id="metres"
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_bad_input_is_named(tmp_path, text, message):
    with pytest.raises(BadInput, match=message) as error:
        read_buildings(written(tmp_path, text), {}, RULES)
    assert "buildings.csv" in str(error.value)


def test_a_column_that_the_case_names_and_the_file_lacks(tmp_path):
    with pytest.raises(BadInput, match="no column 'GLOBALID' for `id`"):
        read_buildings(written(tmp_path, DINS), {"id": "GLOBALID"}, RULES)
