"""Maps of outcomes: the colour of most, north up, and a PNG that others can read."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from tasks.report.impact import CROWD, OUTCOMES, WIDEST, dots, outcome, png

HIT, MISS, FALSE_ALARM, REJECTION = 1, 2, 3, 4
NAN = np.nan


def test_outcomes():
    forecast, observed = np.array([1, 0, 1, 0, NAN, 1.0]), np.array([1, 1, 0, 0, 1, NAN])
    assert outcome(forecast, observed).tolist() == [HIT, MISS, FALSE_ALARM, REJECTION, 0, 0]


def test_a_pixel_has_the_colour_of_most_of_its_points():
    lon, lat = np.array([0.0] * 6 + [1.0]), np.zeros(7)
    found = dots(lon, lat, np.array([HIT, HIT, HIT, MISS, MISS, FALSE_ALARM, REJECTION]))
    assert set(found[:, :3].ravel()) == {HIT}
    assert set(found[:, -3:].ravel()) == {REJECTION}


def test_of_as_many_a_fault_is_shown():
    found = dots(np.array([0.0, 0.0, 1.0]), np.zeros(3), np.array([HIT, MISS, HIT]))
    assert found[1, 1] == MISS


def test_north_is_up_and_the_date_line_is_nothing():
    found = dots(np.array([179.5, -179.5]), np.array([10.0, 11.0]), np.array([HIT, MISS]))
    assert max(found.shape) <= WIDEST
    assert (found[1, -2], found[-2, 1]) == (MISS, HIT)


def test_a_crowd_has_a_pixel_each():
    lon = np.linspace(0, 1, CROWD + 1)
    found = dots(lon, np.zeros(CROWD + 1), np.full(CROWD + 1, HIT))
    assert (found.any(axis=1)).sum() == 1


def test_points_that_are_nowhere():
    assert dots(np.array([NAN]), np.array([1.0]), np.array([HIT])).tolist() == [[0]]


def test_the_picture_has_the_colours_of_the_outcomes():
    shown = png(np.array([[0, 1, 2], [3, 4, 1]], dtype=np.uint8))
    picture = Image.open(io.BytesIO(base64.b64decode(shown.partition(",")[2]))).convert("RGBA")
    colours = [*OUTCOMES.values()]
    assert picture.getpixel((0, 0))[3] == 0  # transparent
    assert [picture.getpixel(each)[:3] for each in ((1, 0), (2, 0), (0, 1), (1, 1))] == colours
