"""The card on one page of paper: the rows of the card and nothing else in the table (R-000-14 to R-000-16).

This module loads matplotlib: import it on use.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath

from tasks.report.plots import drawing, label
from tasks.report.words import headline, remarks, total_text

WIDTH, HEIGHT, MARGIN = 8.27, 11.69, 0.8  # A4, inches
TALLEST, BELOW = 0.34, 1.6  # of a row; of what stands below the table
REMARKS = 8


def pdf_card(record: Mapping[str, Any]) -> bytes:
    """The page; the same bytes for the same record."""
    stream = io.BytesIO()
    with drawing():
        figure = Figure(figsize=(WIDTH, HEIGHT))
        page = _Page(figure, _row_height(record))
        page.total(headline(record), total_text(record))
        for group in record["groups"]:
            page.row("Group", group["name"], group["text"], bold=True)
            for kpi in group["kpis"]:
                page.row("", kpi["id"], kpi["text"])
        page.below(record)
        figure.savefig(stream, format="pdf", metadata={"CreationDate": None, "Title": label(headline(record), 200)})
    return stream.getvalue()


def _row_height(record: Mapping[str, Any]) -> float:
    rows = 2 + sum(1 + len(group["kpis"]) for group in record["groups"])
    return min(TALLEST, (HEIGHT - 2 * MARGIN - BELOW) / rows)


class _Page:
    """A pen that goes down the page, row by row."""

    def __init__(self, figure: Figure, row: float) -> None:
        self.figure, self.height, self.y = figure, row, HEIGHT - MARGIN
        self.size = 72 * row * 0.44  # of the letters, in points

    def total(self, text: str, score: str) -> None:
        """The first row: case, scheme, model and the total."""
        size = self.size * 1.15
        room = WIDTH - 2 * MARGIN - 1.2
        letters = int(72 * room / (0.66 * size))
        lines = textwrap.wrap(label(text, 200), letters, max_lines=3, placeholder=" …") or [""]
        height = self.height * (0.35 + 0.8 * len(lines))
        self._band(height, "#e4e9f0")
        for number, line in enumerate(lines):
            self._write(MARGIN + 0.1, self.y - self.height * (0.575 + 0.8 * number), line, size, "bold")
        self._write(WIDTH - MARGIN - 0.1, self.y - height / 2, score, size, "bold", ha="right")
        self.y -= height

    def row(self, keyword: str, name: str, score: str, *, bold: bool = False) -> None:
        """A group with its keyword emphasised, or a benchmark without the case's id."""
        middle, x = self.y - self.height / 2, MARGIN + 0.1
        if keyword:
            self._band(self.height, "#f4f6f9")
            self._write(x, middle, keyword, self.size, "bold")
            bold_face = FontProperties(weight="bold")
            x += TextPath((0, 0), f"{keyword}n", size=self.size, prop=bold_face).get_extents().width / 72
        else:
            x += 0.25
        letters = int(72 * (WIDTH - MARGIN - 1.2 - x) / (0.62 * self.size))
        self._write(x, middle, label(name, letters), self.size)
        self._write(WIDTH - MARGIN - 0.1, middle, score, self.size, "bold" if bold else "normal", ha="right")
        self.y -= self.height
        self._line(self.y)

    def below(self, record: Mapping[str, Any]) -> None:
        """When it is valid and what to know before trusting it."""
        said = [f"Cycle {record['cycle']}, valid {record['window']}", *([record["title"]] if record["title"] else [])]
        warned = remarks(record)
        said += warned[:REMARKS]
        if len(warned) > REMARKS:
            said.append(f"{len(warned) - REMARKS} more remarks stand in card.html")
        lines = [part for line in said for part in textwrap.wrap(label(line, 200), 112, max_lines=2, placeholder=" …")]
        step = min(0.16, (self.y - 0.35) / max(1, len(lines) + 1))
        for number, line in enumerate(lines):
            self._write(MARGIN + 0.1, self.y - step * (number + 1.2), line, 72 * step * 0.68, color="#4a5462")

    def _write(
        self, x: float, y: float, text: str, size: float, weight: str = "normal", color: str = "#111111", **how: Any
    ) -> None:
        self.figure.text(
            x / WIDTH,
            y / HEIGHT,
            text,
            fontsize=size,
            fontweight=weight,
            color=color,
            va="center_baseline",
            **how,
        )

    def _band(self, height: float, color: str) -> None:
        corner = (MARGIN / WIDTH, (self.y - height) / HEIGHT)
        self.figure.add_artist(
            Rectangle(corner, 1 - 2 * MARGIN / WIDTH, height / HEIGHT, color=color, linewidth=0, zorder=0)
        )

    def _line(self, y: float) -> None:
        ends = (MARGIN / WIDTH, 1 - MARGIN / WIDTH)
        self.figure.add_artist(Line2D(ends, (y / HEIGHT, y / HEIGHT), color="#d5dbe3", linewidth=0.5, zorder=0))
