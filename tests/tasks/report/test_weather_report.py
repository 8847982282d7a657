"""The weather section: errors by station, lead and sector, worked by hand; and strangers' names in all its forms."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from tasks.matching.locate import Grid
from tasks.matching.stations import _backdrop
from tasks.matching.table import read_matched
from tasks.readers.grids import Surface
from tasks.report import markdown as markdown_module
from tasks.report.html import html_card, ledger_parts
from tasks.report.markdown import markdown_card
from tasks.report.plots import Picture
from tasks.report.weather import MOST_STATIONS, how_in_words, markdown
from tasks.report.words import command, size_text

HOSTILE = [
    "$x$",
    "$\\frac{",
    "[/red]",
    "<script>alert(1)</script>",
    "🔥 peak",
    "a|b`c",
    "\x1b[31mred",
    "\u202eleft",
    "%s",
]
HOW = {
    "source": "wrf",
    "files": 24,
    "domain": "60 x 80 points, latitude 38.46 to 40.30, longitude -122.32 to -119.34",
    "winds": "grid-relative: SINALPHA/COSALPHA",
    "space": "bilinear",
    "time": "nearest report within 15 min",
    "height": "as it is",
    "stations": {"inside": 38, "outside": 2},
    "broken_files": {"wrfout_<b>": "is cut short"},
    "withheld": {},
}


def speeds(station: str, errors: list[float], first: int = 0, observed: float = 5.0) -> list:
    """A row an hour, the forecast wrong by the errors."""
    return [(station, first + hour, "wind_speed", observed + error, observed) for hour, error in enumerate(errors)]


def test_errors_by_station_are_those_of_hand_arithmetic(night_of):
    places = {"calm": (39.0, -120.0), "windy": (39.5, -121.0), "silent": (40.0, -122.0)}
    rows = [*speeds("calm", [1, 1, -1, -1]), *speeds("windy", [3, 4]), ("silent", 0, "wind_speed", 7.0, np.nan)]
    rows += [("windy", hour, "wind_direction", (350 + turned) % 360, 350) for hour, turned in enumerate([10, 30])]
    report = night_of(rows, places=places).report
    assert (report["variable"], report["unit"], report["more_stations"]) == ("wind_speed", "m/s", 0)
    expected = [
        # Errors 3 and 4: mean 3.5, mean square 12.5. Turned by 10 and 30 degrees: 20 in the mean.
        ("windy", 39.5, -121.0, 2, 3.5, math.sqrt(12.5), 20.0),
        ("calm", 39.0, -120.0, 4, 0.0, 1.0, None),
        ("silent", 40.0, -122.0, 0, None, None, None),
    ]
    for row, (name, lat, lon, pairs, bias, rmse, turned) in zip(report["stations"], expected, strict=True):
        assert (row["name"], row["lat"], row["lon"], row["pairs"]) == (name, lat, lon, pairs)
        assert row["bias"] == (None if bias is None else pytest.approx(bias))
        assert row["rmse"] == (None if rmse is None else pytest.approx(rmse, rel=1e-11))
        assert row["direction_bias"] == (None if turned is None else pytest.approx(turned))
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_errors_by_lead_pool_the_stations(night_of):
    # Lead 0 and 5 in the first bin, 6 in the second, 47 in the fourth, 48 and 60 in the last; none from 12 to 24 h.
    rows = [
        *speeds("a", [1], 0),
        *speeds("b", [3], 0),
        *speeds("a", [-2], 5),
        *speeds("a", [4], 6),
        *speeds("a", [1], 47),
        *speeds("a", [2], 48),
        *speeds("a", [6], 60),
    ]
    lead = night_of(rows).report["lead"]
    assert [(each["from"], each["to"], each["n"]) for each in lead["bins"]] == [
        (0, 6, 3),
        (6, 12, 1),
        (24, 48, 1),
        (48, None, 2),
    ]
    assert [each["bias"] for each in lead["bins"]] == pytest.approx([2 / 3, 4, 1, 4])
    assert [each["rmse"] for each in lead["bins"]] == pytest.approx(
        [math.sqrt((1 + 9 + 4) / 3), 4, 1, math.sqrt((4 + 36) / 2)]
    )
    assert [(each["lead"], each["n"]) for each in lead["hourly"]] == [(0, 2), (5, 1), (6, 1), (47, 1), (48, 1), (60, 1)]
    assert lead["hourly"][0]["rmse"] == pytest.approx(math.sqrt(5))


def test_direction_errors_are_counted_in_sectors_around_their_middle(night_of):
    turned = {0: 0, 10: 0, -11.25: 0, 11.25: 1, 33: 1, 90: 4, 180: 8, -180: 8, -90: 12, -33.75: 15, -12: 15}
    rows = [row for hour in range(len(turned)) for row in speeds("a", [0], hour)]
    rows += [("a", hour, "wind_direction", (90 + each) % 360, 90) for hour, each in enumerate(turned)]
    # Two of less than 3 m/s, which the KPI does not look at.
    rows += [row for hour in (20, 21) for row in speeds("a", [0], hour, observed=2.9)]
    rows += [("a", hour, "wind_direction", 270, 90) for hour in (20, 21)]
    errors = night_of(rows).report["direction_errors"]
    expected = [0] * 16
    for sector in turned.values():
        expected[sector] += 1
    assert errors == {"sector": 22.5, "minimum_speed": 3.0, "counts": expected}


def test_the_series_are_those_of_the_best_and_the_worst_station(night_of):
    rows = [*speeds("good", [0.5, -0.5]), *speeds("bad", [4, 4]), *speeds("middle", [2, 2])]
    rows += [("bad", 2, "wind_speed", 8.0, np.nan)]
    best, worst = night_of(rows).report["series"]
    assert (best["station"], best["rmse"], worst["station"], worst["rmse"]) == ("good", 0.5, "bad", 4.0)
    assert worst["valid"] == ["2026-11-17T00:00Z", "2026-11-17T01:00Z", "2026-11-17T02:00Z"]
    assert worst["forecast"] == [9.0, 9.0, 8.0]
    assert worst["observed"] == [5.0, 5.0, None]


def test_a_station_with_too_few_pairs_is_neither_best_nor_worst(night_of):
    text = """\
case: X
models: {m: {weather: {path: pairs.csv}}}
window: {hours: 4}
matching: {min_completeness: 0.75}
kpis:
  RMSE: {kpi: wind_speed_rmse, normalise: {kind: linear, m: 5}}
"""
    # Three of four hours are enough, two are not.
    rows = [*speeds("a", [1, 1, 1, 1]), *speeds("b", [2, 2, 2]), *speeds("few", [9, 9])]
    report = night_of(rows, text=text).report
    assert [each["station"] for each in report["series"]] == ["a", "b"]
    assert [(each["name"], each["counts"]) for each in report["stations"]] == [("few", False), ("b", True), ("a", True)]


def test_the_only_station_has_one_series(night_of):
    night = night_of(speeds("only", [1, 2]))
    assert [each["station"] for each in night.report["series"]] == ["only"]
    assert set(night.pictures) == {"map", "best", "lead"}


def test_another_variable_stands_in_where_the_case_has_no_wind_speed(night_of):
    text = """\
case: X
models: {m: {weather: {path: pairs.csv}}}
matching: {min_completeness: 0, min_pairs: 1}
kpis:
  T: {kpi: rmse, variable: temperature, normalise: {kind: exponential, m: 5 K}}
"""
    night = night_of([("a", 0, "temperature", -3.0, 1.0)], text=text)
    assert (night.report["variable"], night.report["unit"]) == ("temperature", "K")
    assert night.report["stations"][0]["bias"] == -4.0
    assert set(night.pictures) == {"map", "best", "lead"}


def test_a_case_without_errors_still_has_its_stations(night_of):
    text = """\
case: X
models: {m: {weather: {path: pairs.csv}}}
matching: {min_completeness: 0, min_pairs: 1}
kpis:
  CSI: {kpi: exceedance_csi, variable: wind_speed, parameters: {threshold: 8 m/s}}
"""
    night = night_of(speeds("a", [4]), text=text)
    report = night.report
    assert (report["variable"], report["series"], report["lead"]) == (None, [], {"bins": [], "hourly": []})
    assert report["stations"] == [
        {
            "name": "a",
            "lat": 39.0,
            "lon": -120.0,
            "pairs": 0,
            "bias": None,
            "rmse": None,
            "direction_bias": None,
            "counts": False,
        }
    ]
    assert night.pictures == {}
    assert "Where: measured at 1 station<" in html_card(night.record())


def test_the_record_holds_at_most_so_many_stations_and_says_how_many_more(night_of):
    rows = [row for number in range(MOST_STATIONS + 7) for row in speeds(f"s{number:04d}", [number / 100])]
    report = night_of(rows).report
    assert (len(report["stations"]), report["more_stations"]) == (MOST_STATIONS, 7)
    assert report["stations"][0]["name"] == f"s{MOST_STATIONS + 6:04d}"  # the largest errors are kept


def test_names_of_strangers_are_only_text(night_of):
    rows = [row for number, name in enumerate(HOSTILE) for row in speeds(name, [number, 1, -2])]
    night = night_of(rows, how={**HOW, "domain": "<i>60</i>"})
    record = night.record(model="$m$ <b>|`")
    page = html_card(record, {"weather": night.pictures})
    assert "<script" not in page
    assert "<b>|" not in page
    assert "<i>60" not in page
    assert "wrfout_<b>" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "alert(1)" in page
    lines = "\n".join(markdown(record["reports"]["weather"]))
    assert "<script" not in lines
    assert all(line.replace("\\|", "").count("|") == 6 for line in lines.splitlines() if line.startswith("|"))


def test_pictures_and_page_are_the_same_bytes_twice_and_small(night_of):
    rng = np.random.default_rng(3)
    places = {f"s{k:03d}": (38 + 2 * rng.random(), -122 + 3 * rng.random()) for k in range(300)}
    rows = [row for name in places for row in speeds(name, list(rng.normal(0, 2, 4)))]
    rows += [(name, hour, "wind_direction", rng.integers(360), 90) for name in places for hour in range(4)]
    latitude, longitude = np.meshgrid(np.linspace(37.5, 40.5, 80), np.linspace(-122.5, -118.5, 80), indexing="ij")
    ground = np.stack([latitude, longitude, 1000 + 800 * np.sin(3 * latitude) * np.cos(2 * longitude)])
    night = night_of(rows, places=places, how=HOW, backdrop=ground)
    first, again = night.pictures, night.pictures
    assert set(first) == {"map", "best", "worst", "lead", "rose"}
    assert {name: each.content for name, each in first.items()} == {name: each.content for name, each in again.items()}
    record = night.record()
    page = html_card(record, {"weather": first})
    assert page == html_card(record, {"weather": again})
    assert len(page.encode()) < 1_000_000
    assert page.count('src="data:image/') == 5
    assert page.count("<img") == page.count(' alt="')
    assert "<script" not in page
    assert "Winds in the files are grid-relative: SINALPHA/COSALPHA." in page
    assert command(record) in page


def test_the_markdown_drops_pictures_before_it_grows_too_large(night_of, monkeypatch):
    record = night_of(speeds("a", [1, 2])).record()
    small, large = (
        Picture("image/png", b"s" * 1000, 1, 1, "a small one"),
        Picture("image/png", b"l" * 400_000, 1, 1, "big"),
    )
    text = markdown_card(record, [small, large], ["## A section"])
    assert len(text.encode()) < 500_000
    assert "![a small one](data:image/png;base64," in text
    assert "](data:image/png;base64," in text
    assert text.count("data:image") == 1
    assert "Left out here, to stay below 500 kB: big" in text
    assert text.index("| **Group** Speed |") < text.index("![a small one]") < text.index("## A section")
    monkeypatch.setattr(markdown_module, "MOST_BYTES", 1200)
    short = markdown_card(record, [small], ["x" * 50] * 200)
    assert len(short.encode()) <= 1200
    assert "card.html has the rest" in short


def test_the_kpi_table_shows_bands_pairs_and_stations(night_of):
    record = night_of(speeds("a", [1, 1])).record()
    # A bias of 1 m/s where 5 is 0, and the RMSE the same: 80 of 100.
    shown = markdown_card(record).replace("\\+", "+")
    assert "| BIAS | +1 m/s | 🟢 80.00 | 2 | 1/1 | 100.0% | Wind Speed Bias Average |" in shown


def test_how_it_was_matched_in_words():
    words = how_in_words(HOW)
    assert words[0] == f"24 files of WRF output: {HOW['domain']}."
    assert "38 stations lie inside the grid, 2 outside." in words
    assert {"In space: bilinear.", "In time: nearest report within 15 min."} <= set(words)
    assert how_in_words({"reports": "3 METAR; 1 NIL"}) == ["Reports: 3 METAR; 1 NIL."]
    assert how_in_words({}) == []
    assert words[-1] == "Not read, wrfout_<b>: is cut short"


def test_reasons_have_a_colour_each_and_the_rare_ones_share_the_last():
    left_out = {f"reason {number}": 10 - number for number in range(9)}
    parts = ledger_parts({"wind_speed": {"candidates": 100, "pairs": 1, "left_out": left_out}})
    assert list(parts.values()) == ["why1", "why2", "why3", "why4", "why5", "why6", "why7", "why7", "why7"]
    assert next(iter(parts)) == "reason 0"


def test_the_command_quotes_names(night_of):
    record = night_of(speeds("a", [1])).record(model="it's; rm -rf $HOME")
    assert command(record) == (
        "firecard run case.yaml --cycle 2026-11-17T00 --model 'it'\"'\"'s; rm -rf $HOME' --scheme A"
    )


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (4_550_000, "4.55 MB"),
        (10**12, "1 TB"),
        (10**16, "1e+04 TB"),
    ],
)
def test_sizes_in_words(size, text):
    assert size_text(size) == text


@pytest.mark.parametrize(("rows", "columns"), [(100, 200), (3, 4), (1, 300)])
def test_the_backdrop_is_coarse_and_reaches_the_edges(night_of, rows, columns):
    grid = Grid.rectilinear(np.linspace(30, 40, rows), np.linspace(-120, -110, columns))
    height = np.arange(rows * columns, dtype=float)
    ground = _backdrop(SimpleNamespace(surfaces=(Surface(grid, height, None),)))
    assert ground.shape == (3, min(80, rows), min(80, columns))
    assert (ground[2][0, 0], ground[2][-1, -1]) == (0, rows * columns - 1)
    assert (ground[0][-1, 0], ground[1][0, -1]) == (grid.latitude[-1], -110)
    kept = read_matched(night_of(speeds("a", [1]), backdrop=ground).pairs)
    np.testing.assert_allclose(kept.backdrop, ground, rtol=1e-6)
    bare = _backdrop(SimpleNamespace(surfaces=(Surface(grid, None, None),)))
    assert np.isnan(bare[2]).all()


def test_a_mesh_has_no_backdrop(night_of):
    mesh = Surface(Grid.mesh([30.0, 31.0], [1.0, 2.0]), np.array([1.0, 2.0]), None)
    assert _backdrop(SimpleNamespace(surfaces=(mesh,))) is None
    assert read_matched(night_of(speeds("a", [1])).pairs).backdrop is None
