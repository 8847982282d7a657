"""Pictures and tables of fire impact: maps of outcomes as small PNG files, matrices as rows of numbers."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from metrics.scoring.normalise import clean
from metrics.sums import Array, ContingencySums
from tasks.report.markdown import escape

# What became of a cell or a building, its colour on light and dark paper alike (told apart by colour-blind readers).
OUTCOMES = {
    "hits": (0x1B, 0x7F, 0x79),
    "misses": (0xD1, 0x49, 0x5B),
    "false alarms": (0xE3, 0xA0, 0x2F),
    "correct rejections": (0xA9, 0xB4, 0xC2),
}
NOTHING = 0  # the transparent place of the palette; outcomes are 1 to 4 in order
WIDEST = 320  # pixels of a map
ON_TOP = (2, 3, 1, 4)  # misses, false alarms, hits, correct rejections
CROWD = 3000  # points from which on each is a single pixel


def outcome(forecast: Array, observed: Array) -> Array:
    """1 to 4 for hits, misses, false alarms and correct rejections; 0 where a side is missing (NaN)."""
    known = ~(np.isnan(forecast) | np.isnan(observed))
    yes, event = forecast == 1, observed == 1
    return np.select([~known, yes & event, ~yes & event, yes & ~event], [0, 1, 2, 3], 4).astype(np.uint8)


def png(picture: Array) -> str:
    """A picture of outcomes as a data address: a palette of five, the first transparent."""
    height, width = picture.shape
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(picture, dtype=np.uint8))
    palette = b"\0\0\0" + b"".join(bytes(each) for each in OUTCOMES.values())
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette),
        (b"tRNS", b"\0"),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return "data:image/png;base64," + base64.b64encode(content).decode()


def dots(longitude: Array, latitude: Array, which: Array) -> Array:
    """Points on a map of at most `WIDEST` pixels, north up.

    A pixel has the colour of most of its points, so that a town of hits does not look like one of misses; of as many
    the faults come first.
    """
    placed = np.isfinite(longitude) & np.isfinite(latitude) & (which > 0)
    if not placed.any():
        return np.zeros((1, 1), dtype=np.uint8)
    x, y, which = longitude[placed], latitude[placed], which[placed]
    x = (x - x[0] + 180) % 360 - 180  # a fire may lie across the date line
    east, north = (x - x.min()) * np.cos(np.deg2rad(y.mean())), y - y.min()
    size = max(float(np.ptp(east)), float(np.ptp(north)), 1e-9)
    scale = (WIDEST - 3) / size
    column, row = (np.rint(each * scale).astype(int) + 1 for each in (east, north.max() - north))
    votes = np.zeros((len(ON_TOP), row.max() + 2, column.max() + 2), dtype=np.int64)
    reach = (-1, 0, 1) if len(which) <= CROWD else (0,)
    for layer, each in enumerate(ON_TOP):
        chosen = which == each
        for down in reach:
            for right in reach:
                np.add.at(votes[layer], (row[chosen] + down, column[chosen] + right), 1)
    winner = np.array(ON_TOP, dtype=np.uint8)[votes.argmax(axis=0)]
    return np.where(votes.any(axis=0), winner, NOTHING).astype(np.uint8)


def counts_of(sums: ContingencySums) -> dict[str, int]:
    """The four outcomes with their numbers."""
    numbers = (sums.tp, sums.fn, sums.fp, sums.tn)
    return {name: int(number) for name, number in zip(OUTCOMES, numbers, strict=True)}


def number(value: Any) -> float | None:
    """A number for the record; missing is None."""
    return None if np.isnan(value) else clean(float(value))


def share(value: float | None) -> str:
    """A share as text."""
    return "n/a" if value is None else f"{value:.3f}"


def matrix_lines(rows: Sequence[str], columns: Sequence[str], counts: Sequence[Sequence[int]]) -> list[str]:
    """A matrix as a Markdown table: the model's classes down, the observation's across."""
    return [
        "| predicted ↓ observed → | " + " | ".join(map(escape, columns)) + " |",
        "| --- |" + " ---: |" * len(columns),
        *(
            f"| {escape(name)} | " + " | ".join(f"{each:,}" for each in line) + " |"
            for name, line in zip(rows, counts, strict=True)
        ),
        "",
    ]


def outcome_lines(report: Mapping[str, Any], what: str) -> list[str]:
    """The outcomes in numbers, and their map."""
    counted = ", ".join(f"{count:,} {name}" for name, count in report["outcomes"].items())
    picture = [f"![Map of outcomes]({report['map']})", ""] if report.get("map") else []
    return [f"{what}: {counted}.", "", *picture]
