"""The pictures of a card: plain numbers in, an SVG or PNG of the same bytes each time out.

Backgrounds are transparent and text is mid-grey, so that one picture serves a light and a dark page; colours hold for
the colour-blind (after Okabe and Ito), and a sign or a dash stands beside each. This module loads matplotlib: import it
on use.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from threading import Lock
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LightSource, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from metrics.sums import Array
from tasks.report.words import band, printable

INK, FAINT = "#747e8c", "#8f98a6"
FORECAST, OBSERVED, SIGNED = "#d9601a", "#2f86c8", "#b0568f"
BANDS = {"good": "#2f86c8", "fair": "#d39a17", "poor": "#d9541f", "none": "#8f98a6"}
STYLE: Any = {
    "text.parse_math": False,  # a station may be called $x$
    "svg.hashsalt": "firecard",
    "svg.fonttype": "path",
    "pdf.fonttype": 3,
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.usetex": False,
    "axes.unicode_minus": True,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.7,
    "grid.color": FAINT,
    "grid.alpha": 0.35,
    "grid.linewidth": 0.6,
}
# matplotlib's settings are the process's own, and models are published in threads.
DRAWING = Lock()
DOTS = 150  # per inch of a PNG
MANY = 150  # stations from which on points are made small


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture with its size in CSS pixels and what it shows, in words."""

    mime: str
    content: bytes
    width: int
    height: int
    alt: str

    @property
    def uri(self) -> str:
        """The picture itself as an address, so that a page needs no file beside it."""
        return f"data:{self.mime};base64,{base64.b64encode(self.content).decode()}"


@contextmanager
def drawing() -> Iterator[None]:
    """matplotlib with this module's settings, one thread at a time."""
    with DRAWING, matplotlib.rc_context(STYLE):
        yield


@cache
def _known_signs() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap())


def label(text: str, most: int = 28) -> str:
    """Text of strangers as matplotlib may have it: no control characters, no sign that the font lacks, not too long."""
    shown = "".join(sign if ord(sign) in _known_signs() else "□" for sign in printable(text))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def picture(figure: Figure, alt: str, *, png: bool = False) -> Picture:
    """The figure as bytes that depend on nothing but what is drawn."""
    stream = io.BytesIO()
    kind = "png" if png else "svg"
    meta: dict[str, Any] = {"Software": None} if png else {"Date": None, "Creator": None}
    figure.savefig(stream, format=kind, dpi=DOTS if png else 72, transparent=True, metadata=meta)
    wide, high = (round(96 * each) for each in figure.get_size_inches())
    return Picture("image/png" if png else "image/svg+xml", stream.getvalue(), wide, high, alt)


def _axes(
    width: float, height: float, left: float, right: float, bottom: float, top: float, **how: Any
) -> tuple[Figure, Axes]:
    """Axes with fixed margins, all in inches: a layout that is found by drawing takes as long as the drawing."""
    figure = Figure(figsize=(width, height))
    box = (left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height)
    axes = figure.add_axes(box, **how)
    if not how:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=3, width=0.7)
    return figure, axes


def _legend(figure: Figure, handles: Sequence[Any], where: str = "upper right") -> None:
    figure.legend(  # type: ignore[call-overload]  # knows places as literals only
        handles=list(handles),
        loc=where,
        ncols=len(handles),
        frameon=False,
        fontsize=8.5,
        borderaxespad=0.1,
        columnspacing=1.4,
        handletextpad=0.4,
    )


# ---- the station map


@dataclass(frozen=True, slots=True)
class Place:
    """A station on the map: its error where it has one, and whether the forecast is too high (+) or too low (-)."""

    name: str
    lat: float
    lon: float
    error: float | None
    bias: float | None = None


def station_map(
    places: Sequence[Place], unit: str, alt: str, *, backdrop: Array | None = None, named: Sequence[str] = ()
) -> Picture | None:
    """Stations coloured by error, pointing up where the forecast is too high; over the grid's terrain or its outline.

    `backdrop` is (latitude, longitude, height) by row and column; heights may be missing. None without any position.
    """
    placed = [each for each in places if math.isfinite(each.lat) and math.isfinite(each.lon)]
    if not placed:
        return None
    with drawing():
        figure, axes = _axes(4.7, 4.0, 0.6, 0.95, 0.55, 0.1)
        centre = _middle(np.array([each.lon for each in placed]))
        ground = False
        if backdrop is not None and np.isfinite(backdrop[:2]).all() and min(backdrop.shape[1:]) > 1:
            ground = _ground(axes, backdrop[0], _near(backdrop[1], centre), backdrop[2])
        _frame(figure, axes, [each for each in placed if each.error is not None] or placed, centre)
        _stations(figure, axes, placed, centre, unit, named, edge="#39424e" if ground else "white")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _degrees((x + 180) % 360 - 180, "EW")))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _degrees(y, "NS")))
        axes.tick_params(labelsize=8)
        return picture(figure, alt, png=True)


def _frame(figure: Figure, axes: Axes, placed: Sequence[Place], centre: float) -> None:
    """The map reaches as far as the stations that have an error, with the shape that the country has there."""
    longitude = _near(np.array([each.lon for each in placed]), centre)
    latitude = np.array([each.lat for each in placed])
    widen = 1 / max(0.05, math.cos(math.radians(min(89.0, abs(float(latitude.mean()))))))
    box = axes.get_position()
    wide, high = figure.get_size_inches() * (box.width, box.height)
    scale = max(0.05, 1.2 * np.ptp(longitude) / widen / wide, 1.2 * np.ptp(latitude) / high)  # degrees an inch
    x, y = (float(each.max() + each.min()) / 2 for each in (longitude, latitude))
    axes.set_xlim(x - scale * wide * widen / 2, x + scale * wide * widen / 2)
    axes.set_ylim(y - scale * high / 2, y + scale * high / 2)
    axes.autoscale(False)


def _middle(longitudes: Array) -> float:
    """The mean of longitudes, also across the date line."""
    angles = np.deg2rad(longitudes)
    return float(np.rad2deg(np.arctan2(np.sin(angles).mean(), np.cos(angles).mean())))


def _near(longitudes: Array, centre: float) -> Array:
    return (longitudes - centre + 180) % 360 - 180 + centre


def _degrees(value: float, sides: str) -> str:
    return f"{abs(value):.4g}°{sides[0] if value > 0 else sides[1] if value < 0 else ''}"


def _ground(axes: Axes, latitude: Array, longitude: Array, height: Array) -> bool:
    """The domain's edge, and in it the terrain as grey light and shade, so that colours stay with the stations."""
    if np.ptp(longitude) >= 180:  # goes round the earth: its edge means nothing
        return False
    edge = [
        np.concatenate([each[0], each[1:, -1], each[-1, -2::-1], each[-2::-1, 0]]) for each in (longitude, latitude)
    ]
    axes.plot(*edge, color=FAINT, linewidth=1.0, zorder=2)
    if not np.isfinite(height).all() or np.ptp(height) == 0:
        return False
    shade = LightSource(azdeg=315, altdeg=40).hillshade(height, vert_exag=6 / max(1e-9, _steep(height)))
    grey = 0.55 * shade + 0.45 * (height - height.min()) / np.ptp(height)
    greys = LinearSegmentedColormap.from_list("ground", ["#aeb6c0", "#e9edf1"])  # quiet on white and on black
    axes.pcolormesh(longitude, latitude, grey, cmap=greys, shading="gouraud", zorder=0)
    levels = MaxNLocator(5).tick_values(height.min(), height.max())
    axes.contour(longitude, latitude, height, levels=levels, colors=INK, linewidths=0.35, alpha=0.5, zorder=1)
    return True


def _steep(height: Array) -> float:
    """The usual step between neighbouring points, so that hills of any size show."""
    return float(np.percentile(np.abs(np.diff(height, axis=1)), 90)) * 4


def _stations(
    figure: Figure, axes: Axes, placed: Sequence[Place], centre: float, unit: str, named: Sequence[str], *, edge: str
) -> None:
    size = 46 if len(placed) < MANY else 16
    longitude = _near(np.array([each.lon for each in placed]), centre)
    latitude = np.array([each.lat for each in placed])
    error = np.array([np.nan if each.error is None else each.error for each in placed])
    bias = np.array([0.0 if each.bias is None else each.bias for each in placed])
    known = np.isfinite(error)
    low, high = (float(error[known].min()), float(error[known].max())) if known.any() else (0.0, 1.0)
    shown = None
    for sign, marker in ((1, "^"), (-1, "v"), (0, "o")):
        these = known & (np.sign(bias) == sign)
        if these.any():
            shown = axes.scatter(
                longitude[these],
                latitude[these],
                c=error[these],
                s=size,
                marker=marker,
                cmap="viridis_r",
                vmin=min(low, 0.5 * high),
                vmax=high or 1.0,
                edgecolors=edge,
                linewidths=0.6,
                zorder=4,
            )
    axes.scatter(
        longitude[~known],
        latitude[~known],
        s=size * 0.5,
        marker="x",
        color=INK,
        linewidths=1.1,
        zorder=3,
    )
    if shown is not None:
        bar = figure.colorbar(shown, cax=axes.inset_axes((1.03, 0.06, 0.035, 0.88)))
        bar.set_label(f"RMSE [{label(unit)}]")
        bar.locator = MaxNLocator(6)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8, length=2)
    for which, side in zip(named, (6, -6), strict=False):
        at = next((i for i, each in enumerate(placed) if each.name == which), None)
        if at is not None:
            axes.annotate(
                label(which, 16),
                (longitude[at], latitude[at]),
                (0, side * 1.3),
                textcoords="offset points",
                ha="center",
                va="bottom" if side > 0 else "top",
                fontsize=8,
                fontweight="bold",
                color="#1c2430",
                bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.8, "linewidth": 0},
                zorder=5,
            )
    kinds = [
        (known & (bias > 0), "^", "too high"),
        (known & (bias < 0), "v", "too low"),
        (known & (bias == 0), "o", "neither"),
        (~known, "x", "no error known"),
    ]
    handles = [
        Line2D([], [], linestyle="", marker=marker, color=INK, markersize=5.5, label=text)
        for these, marker, text in kinds
        if these.any()
    ]
    _legend(figure, handles, "lower center")


# ---- lines and bars


def series(
    valid: Sequence[datetime],
    forecast: Sequence[float | None],
    observed: Sequence[float | None],
    *,
    axis: str,
    top: float | None,
    alt: str,
) -> Picture:
    """What was forecast and what was observed at one station."""
    with drawing():
        figure, axes = _axes(4.6, 2.4, 0.55, 0.1, 0.45, 0.3)
        hours = np.array([(each - valid[0]).total_seconds() / 3600 for each in valid])
        axes.plot(hours, _floats(observed), "-", color=OBSERVED, linewidth=1.0, alpha=0.7)
        seen = axes.plot(hours, _floats(observed), "o", color=OBSERVED, markersize=3.6, label="observed")
        said = axes.plot(hours, _floats(forecast), "-", color=FORECAST, linewidth=1.8, label="forecast")
        axes.set_ylabel(label(axis))
        if top:
            axes.set_ylim(0, top)
        axes.grid(axis="y")
        _clock(axes, valid)
        _legend(figure, [*said, *seen])
        return picture(figure, alt)


def _floats(values: Sequence[float | None]) -> Array:
    return np.array([np.nan if each is None else each for each in values], dtype=float)


def _clock(axes: Axes, valid: Sequence[datetime]) -> None:
    """Hours in UTC below the axis, with the day where it begins."""
    start, end = valid[0], valid[-1]
    span = max(1.0, (end - start).total_seconds() / 3600)
    step = next((each for each in (1, 2, 3, 6, 12, 24, 48, 120, 240, 720) if span / each <= 8), 2400)
    first = -(start.hour + start.minute / 60) % step
    at = np.arange(first, span + 1e-9, step)
    names = []
    for number, hour in enumerate(at):
        when = datetime.fromtimestamp(start.timestamp() + 3600 * hour, start.tzinfo)
        day = f"\n{when.day} {when:%b}" if number == 0 or when.hour < step else ""
        names.append(f"{when:%H}Z{day}")
    axes.set_xticks(at, names)
    axes.set_xlim(-0.02 * span, 1.02 * span)


@dataclass(frozen=True, slots=True)
class Bin:
    """Errors of the leads from `first` to `last` hours (not included)."""

    first: float
    last: float
    rmse: float | None
    bias: float | None


def error_by_lead(hourly: Sequence[Bin], bins: Sequence[Bin], unit: str, alt: str) -> Picture:
    """RMSE and bias hour by hour, over the RMSE of wider bins."""
    with drawing():
        figure, axes = _axes(4.6, 2.9, 0.55, 0.1, 0.48, 0.3)
        for each in bins:
            if each.rmse is not None:
                axes.bar(
                    each.first, each.rmse, each.last - each.first, align="edge", color=OBSERVED, alpha=0.22, zorder=1
                )
                axes.annotate(
                    f"{each.rmse:.3g}",
                    ((each.first + each.last) / 2, 0),
                    (0, 3),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                    zorder=4,
                )
        middle = [(each.first + each.last) / 2 for each in hourly]
        dots: dict[str, Any] = {"marker": "o", "markersize": 2.8} if len(hourly) <= 72 else {}
        rmse = axes.plot(
            middle, _floats([each.rmse for each in hourly]), color=OBSERVED, label="RMSE", zorder=3, **dots
        )
        bias = axes.plot(
            middle,
            _floats([each.bias for each in hourly]),
            color=FORECAST,
            linestyle="--",
            linewidth=1.5,
            label="bias",
            zorder=3,
        )
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=2)
        axes.set_xlabel("lead [h]")
        axes.set_ylabel(f"error [{label(unit)}]")
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 3, 6, 10]))
        axes.grid(axis="y")
        _legend(figure, [*rmse, *bias])
        return picture(figure, alt)


def rose(counts: Sequence[int], alt: str) -> Picture:
    """How far forecast directions are turned from observed ones: straight up is right, to the right is clockwise."""
    with drawing():
        figure, axes = _axes(3.4, 2.9, 0.4, 0.4, 0.3, 0.25, projection="polar")
        polar: Any = axes
        polar.set_theta_zero_location("N")
        polar.set_theta_direction(-1)
        whole = max(1, sum(counts))
        shares = 100 * np.array(counts) / whole
        angles = np.arange(len(counts)) * 2 * np.pi / len(counts)
        polar.bar(angles, shares, 2 * np.pi / len(counts) * 0.92, color=OBSERVED, alpha=0.85, linewidth=0, zorder=2)
        polar.set_xticks(np.deg2rad(np.arange(0, 360, 45)), ["0°", "+45°", "+90°", "", "±180°", "", "−90°", "−45°"])
        most = max(1.0, float(shares.max()))
        polar.set_ylim(0, most)
        rings = [each for each in MaxNLocator(3).tick_values(0, most) if 0 < each < most]
        polar.set_yticks(rings, [f"{each:g} %" for each in rings], fontsize=7.5)
        polar.set_rlabel_position(112.5)
        polar.tick_params(pad=0, labelsize=8)
        polar.spines["polar"].set_visible(False)
        return picture(figure, alt)


def score_bars(rows: Sequence[tuple[str, float | None, str, bool]], alt: str) -> Picture:
    """The rows of a card (label, score, its text, is it a group) as bars from 0 to 100."""
    with drawing():
        figure, axes = _axes(7.0, 0.2 + 0.235 * len(rows), 3.6, 0.6, 0.1, 0.1)
        place = -np.arange(len(rows), dtype=float)
        heights = [0.72 if group else 0.5 for *_, group in rows]
        axes.barh(place, [100.0] * len(rows), heights, color=FAINT, alpha=0.18)
        axes.barh(
            place,
            [score or 0.0 for _, score, _, _ in rows],
            heights,
            color=[BANDS[band(score)] for _, score, _, _ in rows],
        )
        axes.set_yticks(place, [label(name, 52) for name, *_ in rows], fontsize=8.5)
        for tick, (*_, group) in zip(axes.get_yticklabels(), rows, strict=True):
            tick.set_fontweight("bold" if group else "normal")
        for at, (_, _, text, group) in zip(place, rows, strict=True):
            axes.annotate(
                text,
                (100, at),
                (5, 0),
                textcoords="offset points",
                va="center",
                fontweight="bold" if group else "normal",
                annotation_clip=False,
            )
        axes.set_xlim(0, 100)
        axes.set_ylim(-len(rows) + 0.4, 0.6)
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        return picture(figure, alt)


def bars_of(record: Mapping[str, Any]) -> Picture:
    """The groups and KPIs of a card as bars."""
    alt = "Scores: " + ", ".join(f"{group['name']} {group['text']}" for group in record["groups"])
    rows: list[tuple[str, float | None, str, bool]] = []
    for group in record["groups"]:
        rows.append((group["name"], group["score"], group["text"], True))
        rows += [(f"{kpi['id']}  {kpi['name']}", kpi["score"], kpi["text"], False) for kpi in group["kpis"]]
    return score_bars(rows, alt)
