"""How fire impact is compared: classes and domain of severity maps, damage classes and the join of buildings (D-15)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from metrics.severity import PRESETS, Classes

Domain = Literal["union", "all", "polygon"]


@dataclass(frozen=True, slots=True)
class SeverityRules:
    """What the classes of a severity map mean, and which cells count."""

    classes: Classes = field(default_factory=lambda: PRESETS["mtbs"])
    domain: Domain = "union"
    polygon: str | None = None
    aligned: bool = False  # arrays without georeference lie on the same cells because the case says so

    def describe_domain(self) -> str:
        """In words, for the card."""
        return {
            "union": "cells burned in the observation or in the model",
            "all": "all cells of the observation",
            "polygon": f"cells inside the polygon {self.polygon}",
        }[self.domain]


@dataclass(frozen=True, slots=True)
class StructureRules:
    """Which damage counts as destroyed, and how buildings of both sides find each other."""

    destroyed: tuple[str, ...] = ("Major", "Destroyed")
    kept: tuple[str, ...] = ("No Damage", "Affected", "Minor")
    join: Literal["auto", "id", "position"] = "auto"
    tolerance: float = 30.0  # metres
    missing: Literal["left_out", "not_destroyed"] = "left_out"


@dataclass(frozen=True, slots=True)
class FirebenchNames:
    """What a case is called in a result file of FireBench's form."""

    name: str
    short_name: str
