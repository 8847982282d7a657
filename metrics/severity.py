"""Maps of classes against maps of classes: the class matrix, and what comes out of it.

Rows are the evaluated map, columns the reference (D-10). Matrices of tiles add up to the matrix of the whole. Agreement
that chance alone explains, or a share of nothing, is missing (NaN), never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from metrics.confusion import binary_counts
from metrics.errors import BadParameter, BadValue
from metrics.metric import Metric, same_shape
from metrics.sums import Array, ContingencySums, Dims, ratio, where

WGS84 = (6378137.0, 0.0818191908426215)  # semi-major axis in metres, eccentricity
HIGHEST = 250  # class codes are small; what lies above serves as a mark for missing cells


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a severity map: what they are called, which are high, which mean unburned, which mean nothing."""

    names: Mapping[int, str]
    high: frozenset[int] = frozenset({4})
    unburned: frozenset[int] = frozenset({0})
    nodata: frozenset[int] = frozenset()
    title: str = ""

    def __post_init__(self) -> None:
        for what, codes in (("high", self.high), ("unburned", self.unburned)):
            if strange := sorted(codes - set(self.names)):
                raise BadParameter(f"{what}: {strange[0]} is not one of the classes {', '.join(map(str, self.codes))}")
        if both := sorted(self.high & self.unburned):
            raise BadParameter(f"class {both[0]} cannot be both high and unburned")
        if both := sorted(self.nodata & set(self.names)):
            raise BadParameter(f"class {both[0]} cannot be both a class and no data")
        if strange := [each for each in (*self.names, *self.nodata) if not 0 <= each <= 255]:
            raise BadParameter(f"class codes are 0 to {HIGHEST}, got {strange[0]}")
        if strange := [each for each in self.names if each > HIGHEST]:
            raise BadParameter(f"class codes are 0 to {HIGHEST}, got {strange[0]}")

    @property
    def codes(self) -> tuple[int, ...]:
        """The codes of the classes, in order."""
        return tuple(sorted(self.names))

    @property
    def ranks(self) -> tuple[int, ...]:
        """The place of each code on the ordered scale: everything unburned is 0, the others follow by code."""
        burned = sorted(set(self.names) - self.unburned)
        return tuple(0 if code in self.unburned else 1 + burned.index(code) for code in self.codes)


PRESETS = {
    "mtbs": Classes(
        {0: "outside", 1: "unburned to low", 2: "low", 3: "moderate", 4: "high", 5: "increased greenness"},
        unburned=frozenset({0, 5}),
        nodata=frozenset({6}),
        title="MTBS thematic burn severity",
    ),
    "ravg": Classes(
        {0: "outside", 1: "unchanged", 2: "low", 3: "moderate", 4: "high"},
        nodata=frozenset({9}),
        title="RAVG composite burn index, four classes",
    ),
    "sbs": Classes(
        {0: "outside", 1: "unburned or very low", 2: "low", 3: "moderate", 4: "high"},
        title="BAER soil burn severity",
    ),
}


@dataclass(frozen=True, slots=True)
class SeveritySums:
    """Cells by class on both sides: counts of shape (..., unit, evaluated, reference), and hectares alike."""

    classes: Classes
    counts: Array
    hectares: Array = field(default_factory=lambda: np.zeros(0))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.classes, self.counts + other.counts, self.hectares + other.hectares)

    @property
    def n(self) -> Array:
        """Cells of each unit."""
        return self.counts.sum((-2, -1))

    def pooled(self) -> Self:
        """All units together."""
        return type(self)(self.classes, self.counts.sum(-3), self.hectares.sum(-3))

    def high(self) -> ContingencySums:
        """High severity yes or no."""
        return collapsed(self.counts, [code in self.classes.high for code in self.classes.codes])

    def burned(self) -> ContingencySums:
        """Burned yes or no: everything that is not unburned lies inside the perimeter."""
        return collapsed(self.counts, [code not in self.classes.unburned for code in self.classes.codes])

    def ordered(self) -> Array:
        """The matrix over the ordered classes: what counts as unburned is one class, the least."""
        ranks = np.array(self.classes.ranks)
        onto = (ranks[None, :] == np.arange(ranks.max() + 1)[:, None]).astype(float)
        return onto @ self.counts @ onto.T

    def area_error(self) -> Array:
        """Burned hectares of the evaluated map minus those of the reference."""
        burned = np.array([code not in self.classes.unburned for code in self.classes.codes])
        return self.hectares[..., burned, :].sum((-2, -1)) - self.hectares[..., :, burned].sum((-2, -1))


def class_matrix(evaluated: Array, reference: Array, *, classes: Sequence[int]) -> Array:
    """Cells by class of the evaluated map (rows) and of the reference (columns); missing on one side is left out.

    >>> class_matrix([[1, 2], [2, 2]], [[1, 1], [2, np.nan]], classes=(1, 2)).tolist()
    [[1, 0], [1, 1]]
    """
    same_shape(evaluated, reference)
    pair = [np.asarray(each, dtype=float).ravel() for each in (evaluated, reference)]
    paired = ~(np.isnan(pair[0]) | np.isnan(pair[1]))
    codes = np.asarray(sorted(classes), dtype=float)
    places = []
    for name, values in zip(("evaluated", "reference"), pair, strict=True):
        place = np.minimum(np.searchsorted(codes, values[paired]), len(codes) - 1)
        strange = codes[place] != values[paired]
        if strange.any():
            raise BadValue(f"the {name} map holds {values[paired][strange][0]:g}, which is not one of the classes")
        places.append(place)
    size = len(codes)
    return np.bincount(places[0] * size + places[1], minlength=size * size).reshape(size, size)


def collapsed(matrix: Array, positive: Sequence[bool]) -> ContingencySums:
    """The yes/no counts of a class matrix, the last two axes, when some of its classes are "yes"."""
    yes = np.asarray(positive, dtype=bool)

    def part(rows: Array, columns: Array) -> Array:
        return matrix[..., rows, :][..., columns].sum((-2, -1)).astype(float)

    return ContingencySums(
        matrix.sum((-2, -1)).astype(float), part(yes, yes), part(yes, ~yes), part(~yes, yes), part(~yes, ~yes)
    )


def kappa(matrix: Array) -> Array:
    """Cohen's kappa of a class matrix: agreement beyond chance, -1 to 1; missing where chance explains all of it."""
    size = matrix.shape[-1]
    return _kappa(matrix, 1.0 - np.eye(size))


def weighted_kappa(matrix: Array) -> Array:
    """Kappa of ordered classes, a disagreement counting with the square of the classes between."""
    rank = np.arange(matrix.shape[-1])
    return _kappa(matrix, (rank[:, None] - rank[None, :]) ** 2.0)


def _kappa(matrix: Array, weights: Array) -> Array:
    """1 − observed over expected disagreement."""
    matrix = np.asarray(matrix, dtype=float)
    n = matrix.sum((-2, -1))
    expected = matrix.sum(-1)[..., :, None] * matrix.sum(-2)[..., None, :]
    return 1.0 - ratio((weights * matrix).sum((-2, -1)) * n, (weights * expected).sum((-2, -1)))


def class_recall(matrix: Array) -> Array:
    """Of the cells of each class in the reference, the share that the evaluated map has too; missing without any."""
    return ratio(np.diagonal(matrix, axis1=-2, axis2=-1), matrix.sum(-2))


def class_precision(matrix: Array) -> Array:
    """Of the cells of each class in the evaluated map, the share that is right; missing without any."""
    return ratio(np.diagonal(matrix, axis1=-2, axis2=-1), matrix.sum(-1))


def jaccard(evaluated: Array, reference: Array, *, dim: Dims = None) -> Array:
    """Cells in both masks over cells in any, 0 to 1; missing where both are empty."""
    return binary_counts(evaluated, reference, dim=dim).csi()


def dice(evaluated: Array, reference: Array, *, dim: Dims = None) -> Array:
    """Twice the cells in both masks over the sum of both (Sørensen–Dice), 0 to 1; missing where both are empty."""
    return dice_of(binary_counts(evaluated, reference, dim=dim))


def dice_of(counts: ContingencySums) -> Array:
    """Sørensen–Dice of yes/no counts."""
    return ratio(2.0 * counts.tp, 2.0 * counts.tp + counts.fp + counts.fn)


def critical_success_index(evaluated: Array, reference: Array, *, dim: Dims = None) -> Array:
    """Hits over everything but correct rejections, 0 to 1; missing without any event."""
    return binary_counts(evaluated, reference, dim=dim).csi()


def frequency_bias(evaluated: Array, reference: Array, *, dim: Dims = None) -> Array:
    """Positives of the evaluated array over those of the reference, 0 and up; missing without any in the reference."""
    return binary_counts(evaluated, reference, dim=dim).frequency_bias()


def zone_areas(latitudes: Array, width: float) -> Array:
    """Square metres on the ellipsoid between successive latitudes, over `width` degrees of longitude."""
    axis, e = WGS84
    sine = np.sin(np.deg2rad(np.clip(latitudes, -90.0, 90.0)))
    q = (1 - e**2) * (sine / (1 - (e * sine) ** 2) + np.arctanh(e * sine) / e)
    return np.abs(np.diff(q)) * axis**2 / 2 * np.deg2rad(abs(width))


def cell_areas(longitude: Array, latitude: Array) -> Array:
    """Square metres on the ellipsoid of cells whose middles are at these degrees, rows and columns curved or not."""
    axis, e = WGS84
    (lon_down, lon_right), (lat_down, lat_right) = (
        np.gradient(np.unwrap(np.unwrap(np.deg2rad(each), axis=0), axis=1)) for each in (longitude, latitude)
    )
    bent = 1 - (e * np.sin(np.deg2rad(latitude))) ** 2
    per_square_radian = axis**2 * (1 - e**2) / bent**2 * np.cos(np.deg2rad(latitude))
    return np.abs(per_square_radian * (lon_right * lat_down - lon_down * lat_right))


def no_event(counts: ContingencySums) -> Array:
    """Has neither side a positive? Then there is nothing that precision, recall and F1 could score (D-14)."""
    return counts.tp + counts.fp + counts.fn == 0


def event_only(counts: ContingencySums, value: Array) -> Array:
    """The value where there is an event on either side, missing elsewhere."""
    return where(counts.tp + counts.fp + counts.fn != 0, value)


METRICS = (
    Metric(kappa, unit="1", range="[-1, 1]", symbol="κ"),
    Metric(weighted_kappa, unit="1", range="[-1, 1]", symbol="κ_w"),
    Metric(class_recall, unit="1", range="[0, 1]"),
    Metric(class_precision, unit="1", range="[0, 1]"),
    Metric(jaccard, unit="1", range="[0, 1]", symbol="J"),
    Metric(dice, unit="1", range="[0, 1]", symbol="DSC"),
    Metric(critical_success_index, unit="1", range="[0, 1]", symbol="CSI"),
    Metric(frequency_bias, unit="1", range="[0, ∞[", symbol="B"),
)
