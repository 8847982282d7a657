"""The variables that firecard knows by name: what they are called on a card and in which unit they are kept.

A template KPI is generic in its variable (D-76); a case may add variables of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable; all its values are kept in `unit`, differences of two values in `difference_unit`."""

    name: str
    title: str
    unit: str
    kind: Literal["scalar", "angle"] = "scalar"
    difference: str = ""
    lowest: float = float("-inf")
    highest: float = float("inf")
    reported_when: str = ""  # under which condition stations report it at all; then a gap is no fault (D-17, D-22)

    @property
    def difference_unit(self) -> str:
        return self.difference or self.unit


VARIABLES = {
    variable.name: variable
    for variable in (
        Variable("wind_speed", "Wind Speed", "m/s", lowest=0.0, highest=120.0),
        Variable("wind_direction", "Wind Direction", "deg", kind="angle", lowest=0.0, highest=360.0),
        Variable("wind_gust", "Wind Gust", "m/s", lowest=0.0, highest=150.0, reported_when="gusty"),
        Variable("temperature", "Temperature", "degC", difference="K", lowest=-95.0, highest=80.0),
        Variable("dew_point", "Dew Point", "degC", difference="K", lowest=-95.0, highest=60.0),
        Variable("relative_humidity", "Relative Humidity", "%", lowest=0.0, highest=110.0),
        Variable("fuel_moisture", "Fuel Moisture", "%", lowest=0.0, highest=400.0),
    )
}
