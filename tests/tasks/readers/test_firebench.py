"""FireBench's standard files: codes, damage and reports as they are stored, units honoured, and what is refused."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from configs.formats import MODEL, OBSERVED
from configs.impact import StructureRules
from metrics.errors import BadInput
from metrics.variables import VARIABLES, Variable
from tasks.readers import hdf
from tasks.readers.buildings import read_buildings
from tasks.readers.firebench import is_firebench
from tasks.readers.firebench_model import read_forecasts
from tasks.readers.formats import StationWishes, recognise
from tasks.readers.rasters import kind_of, opened_raster
from tasks.readers.stations import read_stations

CODES = np.array([[0, 1, 2], [3, 4, 5]], dtype=np.uint8)
LAT, LON = np.meshgrid([39.0, 38.9], [-120.3, -120.2, -120.1], indexing="ij")
WHOLE = (slice(0, 2), slice(0, 3))


@pytest.mark.parametrize("packed", [False, True])
def test_a_map(tmp_path, firebench_file, packed):
    path = firebench_file(tmp_path / "a.h5", severity=(CODES, LAT, LON), packed=packed)
    assert kind_of(path) == "firebench"
    with opened_raster(path, None, {}) as raster:
        assert raster.affine == pytest.approx((0.1, 0.0, -120.35, 0.0, -0.1, 39.05))
        assert raster.crs_name() == "WGS 84"
        assert (raster.nodata, raster.curved) == ({0}, False)
        assert (raster.read(*WHOLE) == CODES).all()


def test_positions_of_upper_left_corners(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", severity=(CODES, LAT, LON))
    with opened_raster(path, "firebench", {"positions": "corners"}) as raster:
        assert raster.affine == pytest.approx((0.1, 0.0, -120.3, 0.0, -0.1, 39.0))
    upwards = firebench_file(tmp_path / "b.h5", severity=(CODES[::-1], LAT[::-1], LON[::-1]))
    with opened_raster(upwards, None, {"positions": "corners"}) as raster:
        y = raster.centres(range(2), range(3))[1]
        assert y[:, 0] == pytest.approx([38.85, 38.95])  # the corner is above the middle, however the rows run


def test_a_projected_map_has_the_units_of_its_projection(tmp_path, firebench_file):
    # FireBench writes x and y as longitude and latitude in "degrees".
    y, x = np.meshgrid([2e6, 2e6 - 30], [-2e6, -2e6 + 30, -2e6 + 60], indexing="ij")
    path = firebench_file(tmp_path / "a.h5", severity=(CODES, y, x), crs="EPSG:5070")
    with opened_raster(path, None, {}) as raster:
        assert raster.affine == pytest.approx((30.0, 0.0, -2e6 - 15, 0.0, -30.0, 2e6 + 15))


def test_radians_are_degrees_too(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", severity=(CODES, np.deg2rad(LAT), np.deg2rad(LON)))
    with h5py.File(path, "a") as file:
        for axis in ("position_lat", "position_lon"):
            file[f"spatial_2d/Caldor_MTBS/{axis}"].attrs["units"] = "radian"
    with opened_raster(path, None, {}) as raster:
        assert raster.affine == pytest.approx((0.1, 0.0, -120.35, 0.0, -0.1, 39.05))


def test_axes_may_have_one_dimension(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", severity=(CODES, LAT[:, 0], LON[0]))
    with opened_raster(path, None, {}) as raster:
        assert raster.affine == pytest.approx((0.1, 0.0, -120.35, 0.0, -0.1, 39.05))


def test_which_map_is_asked(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", severity=(CODES, LAT, LON))
    firebench_file(path, severity=(CODES + 1, LAT, LON), name="another")
    with (
        pytest.raises(
            BadInput, match=r"expected one group of /spatial_2d .*found Caldor_MTBS, another: say `variable:`"
        ),
        opened_raster(path, None, {}),
    ):
        pass
    for said in ("another", "another/fire_burn_severity", "/spatial_2d/another"):
        with opened_raster(path, None, {"variable": said}) as raster:
            assert raster.read(*WHOLE)[0].tolist() == [1, 2, 3]
    with (
        pytest.raises(BadInput, match=r"no map 'third' in /spatial_2d; there are: Caldor_MTBS/fire_burn_severity"),
        opened_raster(path, None, {"variable": "third"}),
    ):
        pass


def test_without_places_it_is_an_array(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", severity=(CODES, LAT, LON))
    with h5py.File(path, "a") as file:
        del file["spatial_2d/Caldor_MTBS/position_lat"]
    with opened_raster(path, None, {}) as raster:
        assert not raster.placed


def broken(path: Path, change) -> Path:
    with h5py.File(path, "a") as file:
        change(file)
    return path


MAPS = [
    pytest.param(lambda file: file["spatial_2d/Caldor_MTBS/fire_burn_severity"].attrs.modify("units", "percent"),
                 "has the unit 'percent', expected classes", id="unit"),
    pytest.param(lambda file: file.attrs.modify("FireBench_io_version", "2.0"), "follows version 2.0", id="version"),
    pytest.param(lambda file: file["spatial_2d/Caldor_MTBS"].attrs.modify("crs", "EPSG:nothing"),
                 "`crs` of spatial_2d/Caldor_MTBS cannot be understood", id="projection"),
    pytest.param(lambda file: file["spatial_2d/Caldor_MTBS/position_lat"].attrs.modify("units", "furlong"),
                 "spatial_2d/Caldor_MTBS/position_lat: the unit 'furlong' is not", id="unit of a place"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), MAPS)
def test_a_map_that_is_refused(tmp_path, firebench_file, change, message):
    path = broken(firebench_file(tmp_path / "a.h5", severity=(CODES, LAT, LON)), change)
    with pytest.raises(BadInput, match=rf"a\.h5: .*{message}"), opened_raster(path, None, {}):
        pass


def test_positions_of_another_shape(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", severity=(CODES, LAT[:, :2], LON[:, :2]))
    with (
        pytest.raises(BadInput, match=r"positions have shapes \[\(2, 2\), \(2, 2\)\], the map \(2, 3\)"),
        opened_raster(path, None, {}),
    ):
        pass


def test_what_is_packed_needs_the_extra(tmp_path, firebench_file, monkeypatch):
    path = firebench_file(tmp_path / "a.h5", severity=(CODES, LAT, LON), packed=True)
    monkeypatch.setattr(hdf.h5py.h5z, "filter_avail", lambda code: code != 32015)
    monkeypatch.setitem(sys.modules, "hdf5plugin", None)
    with (
        pytest.raises(BadInput, match=r"packed with Zstandard.*pip install 'firecard\[firebench\]'"),
        opened_raster(path, None, {}),
    ):
        pass


def test_another_hdf5_file_is_none_of_these(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = [1.0]
    assert not is_firebench(tmp_path / "a.h5")
    with (
        pytest.raises(BadInput, match="no attribute `FireBench_io_version`"),
        opened_raster(tmp_path / "a.h5", "firebench", {}),
    ):
        pass


DAMAGE = ["Destroyed (>50%)", "No Damage", "Inaccessible", "Major (26-50%)"]


@pytest.mark.parametrize("kind", ["S20", "vlen"])
def test_buildings(tmp_path, firebench_file, kind):
    path = firebench_file(
        tmp_path / "a.h5", buildings=(DAMAGE, [38.1, 38.2, 38.3, 38.4], [-120.1, -120.2, -120.3, -120.4])
    )
    if kind == "vlen":
        with h5py.File(path, "a") as file:
            group = file["points/building_damaged"]
            del group["building_damage"]
            group.create_dataset("building_damage", data=DAMAGE, dtype=h5py.string_dtype()).attrs["units"] = ""
    table = read_buildings([path], {}, StructureRules())
    assert table["damage"].tolist() == ["Destroyed", "No Damage", "Inaccessible", "Major"]
    assert table["destroyed"].tolist() == pytest.approx([1, 0, np.nan, 1], nan_ok=True)
    assert table["lat"].tolist() == [38.1, 38.2, 38.3, 38.4]
    assert (table["id"] == "").all()


BUILDINGS = [
    pytest.param(lambda file: file["points"].move("building_damaged", "other"), None, id="any name will do"),
    pytest.param(lambda file: file.__delitem__("points"), "expected one group of /points .* found none", id="none"),
    pytest.param(lambda file: file["points/building_damaged/building_damage"].attrs.modify("units", "m"),
                 "has the unit 'm', expected classes", id="unit"),
    pytest.param(lambda file: file.__delitem__("points/building_damaged/position_lon"),
                 "one of position_lat and position_lon, expected both or none", id="half a place"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BUILDINGS)
def test_buildings_that_are_refused(tmp_path, firebench_file, change, message):
    path = broken(firebench_file(tmp_path / "a.h5", buildings=(DAMAGE, [1, 2, 3, 4], [1, 2, 3, 4])), change)
    if message is None:
        assert len(read_buildings([path], {}, StructureRules())) == 4
        return
    with pytest.raises(BadInput, match=rf"a\.h5: .*{message}"):
        read_buildings([path], {}, StructureRules())


def test_a_building_in_an_impossible_place(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", buildings=(["Minor"], [99.0], [1.0]))
    with pytest.raises(BadInput, match="building 0: lat is 99, expected -90 to 90 degrees"):
        read_buildings([path], {}, StructureRules())


SERIES = {
    "wind_speed": ("knot", [10.0, np.nan, 20.0]),
    "air_temperature": ("degF", [50.0, 68.0, 86.0]),
    "relative_humidity": ("percent", [10.0, 20.0, 30.0]),
    "fuel_moisture_content_10h": ("dimensionless", [0.05, 0.06, 0.07]),
    "solar_radiation": ("W/m^2", [1.0, 2.0, 3.0]),
}


def test_stations_in_their_units(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", stations={"KTVL": (38.9, -120.0, [0, 60, 120], SERIES)}, packed=True)
    found = read_stations([path], VARIABLES)
    (station,) = found.stations.to_dict("records")
    assert (station["station"], station["lat"], station["lon"], station["network"]) == ("KTVL", 38.9, -120.0, "RAWS")
    assert (station["elevation"], station["height"]) == pytest.approx((304.8, 6.096))  # 1000 ft and 20 ft
    # 2021-08-17 00:00 at UTC-7 is 07:00 UTC.
    assert (found.seconds / 3600).tolist() == [18_856 * 24 + hour for hour in (7, 8, 9)]  # 18,856 days after 1970-01-01
    reports = found.reports
    assert reports["wind_speed"].tolist() == pytest.approx([10 * 1852 / 3600, np.nan, 20 * 1852 / 3600], nan_ok=True)
    assert reports["temperature"].tolist() == pytest.approx([10.0, 20.0, 30.0])
    assert reports["relative_humidity"].tolist() == [10.0, 20.0, 30.0]
    assert reports["fuel_moisture"].tolist() == pytest.approx([5.0, 6.0, 7.0])
    assert "solar_radiation" not in reports


def test_a_variable_of_the_cases_own(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", stations={"KTVL": (38.9, -120.0, [0, 60, 120], SERIES)})
    own = {"solar_radiation": Variable("solar_radiation", "Sun", "kW/m^2")}
    assert read_stations([path], own).reports["solar_radiation"].tolist() == pytest.approx([1e-3, 2e-3, 3e-3])
    wishes = StationWishes(names={"sun": "solar_radiation"})
    found = read_stations([path], {"sun": Variable("sun", "Sun", "W/m^2")}, source="firebench", wishes=wishes)
    assert found.reports["sun"].tolist() == [1.0, 2.0, 3.0]


def test_times_as_text_and_sensors_below_a_station(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", stations={"A": (38.9, -120.0, [0, 60, 120], SERIES)})
    with h5py.File(path, "a") as file:
        inner = file.create_group("time_series/station_B/mast")
        file["time_series/station_B"].attrs.update({"position_lat": 38.0, "position_lon": -121.0})
        inner["time"] = ["2021-08-17T00:00-07:00", "2021-08-17T08:00Z"]
        inner["wind_speed"] = [1.0, 2.0]
        inner["wind_speed"].attrs["units"] = "m/s"
    found = read_stations([path], VARIABLES)
    assert found.stations["station"].tolist() == ["A", "B"]
    assert found.reports["wind_speed"][3:].tolist() == [1.0, 2.0]
    assert (found.seconds[3:] / 3600).tolist() == [18_856 * 24 + 7, 18_856 * 24 + 8]


@pytest.mark.parametrize(
    ("confidence", "kept"), [(2, True), (1, False), ("2 - verified measurement", True), ("", False)]
)
def test_only_sensors_whose_height_was_verified(tmp_path, firebench_file, confidence, kept):
    one = {"wind_speed": ("m/s", [1.0])}
    path = firebench_file(tmp_path / "a.h5", stations={"A": (38.9, -120.0, [0], one)})
    firebench_file(path, stations={"B": (38.8, -120.1, [0], one)}, confidence=confidence)
    found = read_stations([path], VARIABLES, wishes=StationWishes(trusted=True))
    assert found.reports["wind_speed"].notna().tolist() == [True, kept]
    assert read_stations([path], VARIABLES).reports["wind_speed"].notna().all()


def said(place: str, key: str, value: object = None):
    """Sets an attribute of a member of a group, or takes it away."""

    def change(group):
        attributes = group[place].attrs
        del attributes[key]
        if value is not None:
            attributes[key] = value

    return change


def test_a_zone_that_the_case_says(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", stations={"A": (38.9, -120.0, [0], {"wind_speed": ("m/s", [1.0])})})
    broken(path, lambda file: said("time", "time_origin", "2021-08-17T00:00")(file["time_series/station_A"]))
    found = read_stations([path], VARIABLES, wishes=StationWishes(zone="America/Los_Angeles"))
    assert found.seconds.tolist() == [(18_856 * 24 + 7) * 3600]


STATIONS = [
    pytest.param(said("wind_speed", "units"), "wind_speed does not say its `units`", id="no unit"),
    pytest.param(said("wind_speed", "units", "percent"), "wind_speed: .*percent", id="wrong unit"),
    pytest.param(said("time", "time_origin", "2021-08-17T00:00"), "has no time zone", id="zone"),
    pytest.param(said("time", "time_origin", "soon"), "cannot be understood as times", id="origin"),
    pytest.param(said("time", "time_units", "m"), "cannot be understood as times", id="time unit"),
    pytest.param(said(".", "position_lat"), "attribute `position_lat` is missing", id="place"),
    pytest.param(said(".", "position_lat", "north"), "is 'north', expected a number", id="word"),
    pytest.param(
        lambda group: (group.__delitem__("wind_speed"), group.create_dataset("wind_speed", data=[1.0])),
        r"wind_speed has shape \(1,\), its `time` \(3,\)",
        id="length",
    ),
    pytest.param(lambda group: group.__delitem__("time"), "no station in /time_series", id="no time"),
]


@pytest.mark.parametrize(("change", "message"), STATIONS)
def test_stations_that_are_refused(tmp_path, firebench_file, change, message):
    path = firebench_file(tmp_path / "a.h5", stations={"KTVL": (38.9, -120.0, [0, 60, 120], SERIES)})
    broken(path, lambda file: change(file["time_series/station_KTVL"]))
    with pytest.raises(BadInput, match=rf"a\.h5: .*{message}"):
        read_stations([path], VARIABLES)


def test_nothing_that_is_known(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", stations={"A": (1.0, 2.0, [0], {"solar_radiation": ("W/m^2", [1.0])})})
    with pytest.raises(BadInput, match="has a variable that is known"):
        read_stations([path], VARIABLES)


def test_a_model_at_stations(tmp_path, firebench_file):
    cycle = datetime(2021, 8, 17, tzinfo=UTC)
    path = firebench_file(tmp_path / "a.h5", stations={"KTVL": (38.9, -120.0, [0, 60, 120], SERIES)})
    broken(path, lambda file: said(".", "position_lat")(file["time_series/station_KTVL"]))
    table = read_forecasts(path, StationWishes(around=cycle))
    assert table["temperature"].tolist() == pytest.approx([10.0, 20.0, 30.0])
    assert table["valid_time"].dt.hour.tolist() == [7, 8, 9]
    assert (table["cycle"] == pd.Timestamp(cycle)).all()
    assert table["lat"].isna().all()  # it need not say
    assert table["height"].iloc[0] == pytest.approx(6.096)
    with pytest.raises(BadInput, match=r"a\.h5: it does not say which cycle it is of: state `cycle:`"):
        read_forecasts(path, StationWishes())


def test_a_file_of_the_standard_is_taken_for_observations(tmp_path, firebench_file):
    path = firebench_file(tmp_path / "a.h5", stations={"KTVL": (38.9, -120.0, [0, 60, 120], SERIES)})
    assert recognise(path, (*MODEL, *OBSERVED)).name == "firebench"
    with pytest.raises(BadInput, match=r"not recognised.*firebench_model"):
        recognise(path, MODEL)
