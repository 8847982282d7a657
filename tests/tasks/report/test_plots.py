"""The pictures: drawn from anything that a night may hold, the same bytes each time, whoever draws beside."""

from __future__ import annotations

import base64
import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from tasks.report import plots
from tasks.report.plots import Bin, Picture, Place

ROOT = Path(__file__).parents[3]
START = datetime(2026, 11, 17, tzinfo=UTC)
NAMES = ["$x$", "$\\frac{", "_^{", "[/red]", "<script>", "🔥", "\x00\x1b[31m", "\u202eleft", "", "n" * 500, "南山"]


def ground(rows: int = 30, columns: int = 40, west: float = -122.0) -> np.ndarray:
    latitude, longitude = np.meshgrid(np.linspace(38, 40, rows), west + np.linspace(0, 3, columns), indexing="ij")
    return np.stack([latitude, longitude, 500 + 300 * np.sin(4 * latitude) * np.cos(3 * longitude)])


def series(valid: list[datetime], forecast: list, observed: list) -> Picture:
    return plots.series(valid, forecast, observed, axis="wind speed [m/s]", top=None, alt="a series")


def drawn() -> list[Picture]:
    """One of each."""
    places = [Place(f"s{k}", 38.2 + k / 10, -121.5 + k / 5, 1.0 + k, k - 3.0) for k in range(8)]
    hourly = [Bin(k, k + 1, 1 + k / 10, -k / 10) for k in range(24)]
    return [
        plots.station_map(places, "m/s", "a map", backdrop=ground(), named=["s7", "s0"]),
        series([START + timedelta(hours=k) for k in range(24)], list(range(24)), [None, *range(23)]),
        plots.error_by_lead(hourly, [Bin(0, 6, 1.2, 0.1), Bin(6, 24, 2.0, -0.1)], "m/s", "by lead"),
        plots.rose([5, 3, *[0] * 13, 2], "a rose"),
        plots.score_bars([("Group", 81.6, "81.62", True), ("WX01", None, "n/a", False)], "bars"),
    ]


def test_the_same_numbers_give_the_same_bytes_in_any_thread():
    expected = [each.content for each in drawn()]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(drawn) for _ in range(4)]:
            assert [each.content for each in done.result()] == expected


def test_the_same_numbers_give_the_same_bytes_in_another_process():
    code = (
        "import hashlib, sys; sys.path.insert(0, sys.argv[1]); import test_plots;"
        "print(*(hashlib.sha256(each.content).hexdigest() for each in test_plots.drawn()))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).parent)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "TZ": zone, "HOME": "/nonexistent", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }
    assert len(said) == 1


def test_pictures_are_whole_and_see_through_and_need_nothing_from_elsewhere():
    station_map, *lines = drawn()
    assert station_map.content.startswith(b"\x89PNG\r\n\x1a\n")
    assert (station_map.mime, {each.mime for each in lines}) == ("image/png", {"image/svg+xml"})
    for each in lines:
        root = ElementTree.fromstring(each.content)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        links = [value for part in root.iter() for name, value in part.attrib.items() if name.endswith("href")]
        assert all(value.startswith("#") for value in links)
        assert b"<dc:date>" not in each.content
    assert base64.b64decode(station_map.uri.removeprefix("data:image/png;base64,")) == station_map.content
    assert max(len(each.content) for each in lines) < 60_000
    with Image.open(io.BytesIO(station_map.content)) as image:
        assert image.mode == "RGBA"
        assert image.getpixel((0, 0))[3] == 0
        assert image.info.get("Software") is None


def test_names_of_strangers_are_drawn_as_they_are():
    places = [Place(name, 38 + k / 10, -121, float(k), 0.0) for k, name in enumerate(NAMES)]
    for name in NAMES:
        assert plots.station_map(places, "m/s", name, named=[name, NAMES[0]]) is not None
        plots.score_bars([(name, 50.0, "50.00", False)], name)
        plots.series([START], [1.0], [1.0], axis=name, top=None, alt=name)
    assert plots.label("$x$") == "$x$"
    assert plots.label("🔥 \x1b") == "□ �"
    assert plots.label("n" * 40, 10) == "n" * 9 + "…"


def test_a_formula_is_not_typeset():
    # Typeset, both would be drawn with the same sign in italics; as text they differ by two dollars.
    plain, dollars = (plots.score_bars([(name, 1.0, "1.000", False)], "") for name in ("x", "$x$"))
    assert dollars.content.count(b"<use") == plain.content.count(b"<use") + 2


@pytest.mark.parametrize(
    ("valid", "forecast", "observed"),
    [
        ([START], [3.0], [4.0]),
        ([START], [None], [4.0]),
        ([START, START + timedelta(hours=1)], [None, None], [None, None]),
        ([START + timedelta(minutes=20 * k) for k in range(10)], [0.0] * 10, [0.0] * 10),
        ([START + timedelta(hours=6 * k) for k in range(400)], [1e6] * 400, [-1e6] * 400),
    ],
    ids=["one time", "no forecast", "nothing", "calm", "a hundred days"],
)
def test_a_series_of_anything(valid, forecast, observed):
    assert series(valid, forecast, observed).content


def test_the_hours_below_a_series_are_utc():
    def hours(start: datetime) -> list[str]:
        with plots.drawing():
            _, axes = plots._axes(4, 2, 0.5, 0.1, 0.5, 0.1)
            plots._clock(axes, [start, start + timedelta(hours=24)])
            return [each.get_text() for each in axes.get_xticklabels()]

    # Every three hours; the first tick at or after the start; the day where it begins.
    assert hours(START) == ["00Z\n17 Nov", "03Z", "06Z", "09Z", "12Z", "15Z", "18Z", "21Z", "00Z\n18 Nov"]
    assert hours(START + timedelta(hours=1))[:2] == ["03Z\n17 Nov", "06Z"]


@pytest.mark.parametrize(
    "places",
    [
        [Place("one", 39.0, -120.0, 1.0, 0.5)],
        [Place("one", 39.0, -120.0, None), Place("two", 39.0, -120.0, None)],
        [Place("perfect", 39.0, -120.0, 0.0, 0.0), Place("also", 40.0, -120.0, 0.0, 0.0)],
        [Place("here", 39.0, -120.0, 1.0, 1.0), Place("nowhere", float("nan"), -120.0, 2.0, 1.0)],
        [Place("west", -17.0, 179.5, 1.0, 1.0), Place("east", -18.0, -179.5, 2.0, -1.0)],
        [Place("pole", 90.0, 0.0, 1.0, 1.0), Place("other", -90.0, 180.0, 1.0, 1.0)],
        [Place(str(k), 30 + k % 40, -120 + k % 37, k % 7, k % 3 - 1.0) for k in range(3000)],
    ],
    ids=["one", "no error", "no error at all", "no position", "date line", "poles", "many"],
)
@pytest.mark.parametrize("backdrop", [None, ground(), np.where(np.arange(3)[:, None, None] == 2, np.nan, ground())])
def test_a_map_of_anything(places, backdrop):
    shown = plots.station_map(places, "m/s", "a map", backdrop=backdrop)
    assert shown is not None
    assert len(shown.content) < 300_000


def test_a_map_without_positions_is_none():
    assert plots.station_map([Place("a", float("nan"), 1.0, 1.0)], "m/s", "") is None


def test_a_flat_a_tiny_and_a_broken_backdrop_do_no_harm():
    places = [Place("a", 39.0, -120.0, 1.0, 1.0)]
    flat, broken = ground(), ground()
    flat[2] = 100.0
    broken[0][3, 3] = np.nan
    for each in (flat, broken, ground()[:, :1], ground()[:, :2, :2]):
        assert plots.station_map(places, "m/s", "", backdrop=each) is not None


def test_the_date_line_is_crossed_the_short_way():
    assert abs(plots._middle(np.array([179.0, -179.0]))) == pytest.approx(180)
    np.testing.assert_allclose(plots._near(np.array([179.0, -179.0]), 180.0), [179.0, 181.0])


@pytest.mark.parametrize("counts", [[0] * 16, [1, *[0] * 15], [10**6] * 16], ids=["none", "one", "all alike"])
def test_a_rose_of_anything(counts):
    assert plots.rose(counts, "").content


def test_leads_without_values_leave_gaps():
    hourly = [Bin(0, 1, None, None), Bin(1, 2, 1.0, -1.0)]
    assert plots.error_by_lead(hourly, [Bin(0, 2, None, None)], "m/s", "").content
