"""What a file of another family than weather holds: rasters of severity, buildings, extracted fields, fire threat."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np

from configs.impact import StructureRules
from configs.source import plain
from metrics.errors import FirecardError
from tasks.readers.buildings import ALIASES, read_buildings
from tasks.readers.formats import Head
from tasks.readers.rasters import kind_of, opened_raster

ROWS = 1024  # of a raster at once
PROBABILITY = re.compile(r"^(?:prob|p)\D*(\d+)\s*_?h", re.IGNORECASE)


def describe_other(path: Path) -> list[str] | None:
    """The file in words, the first line what it is; None where it is nothing that firecard knows."""
    head = Head.of(path)
    if kind_of(path) is not None:
        return _raster(path, head)
    columns = [each.lower() for each in head.columns]
    if head.text.lstrip().startswith("{") and "FeatureCollection" in head.text:
        return _buildings(path)
    if {*ALIASES["damage"], *ALIASES["destroyed"]} & set(columns):
        return _buildings(path)
    if "document" in columns:
        fields = [each for each in head.columns if each.lower() not in ("document", "status", "model")]
        return [
            "a table of documents, for `extraction:`",
            f"columns besides the document: {plain(', '.join(fields), 300)}",
        ]
    horizons = {name: found[1] for name in head.columns if (found := PROBABILITY.match(name))}
    if horizons:
        named = ", ".join(f"{hours} h: {name}" for name, hours in horizons.items())
        return ["a table of probabilities, for `threat:`", f"probabilities: {{{plain(named, 300)}}}"]
    return None


def _raster(path: Path, head: Head) -> list[str] | None:
    """Shape, place and classes; None of a NetCDF file without a raster of classes."""
    counts: Counter[int] = Counter()
    try:
        with opened_raster(path, None, {}) as raster:
            said = raster.describe()
            for start in range(0, raster.shape[0], ROWS):
                codes = raster.read(slice(start, min(start + ROWS, raster.shape[0])), slice(0, raster.shape[1]))
                counts.update(dict(zip(*(each.tolist() for each in np.unique(codes, return_counts=True)), strict=True)))
    except FirecardError:
        if head.netcdf:
            return None
        raise
    classes = ", ".join(f"{code}: {count:,}" for code, count in sorted(counts.items()))
    return [
        "a raster of classes, for `severity:` (or `structures:`, looked up at buildings)",
        said,
        f"cells by class: {classes}",
    ]


def _buildings(path: Path) -> list[str]:
    table = read_buildings([path], {}, StructureRules())
    damage = ", ".join(f"{name or 'not said'}: {count:,}" for name, count in table["damage"].value_counts().items())
    destroyed = int((table["destroyed"] == 1).sum())
    return [
        "buildings with their damage, for `structures:`",
        f"{len(table):,} buildings, {destroyed:,} of them destroyed",
        f"by damage: {plain(damage, 300)}",
    ]
