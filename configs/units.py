"""Units: what a number with a unit is worth in the unit that firecard keeps.

CF spellings (`m s-1`, `degC`, `%`) come from cf-xarray's registry: plain pint fails on `m s-1` and reads `C` as
coulomb. It is loaded on first use, because it takes a second; the unit that is already right needs no registry.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from metrics.errors import UnknownUnit

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
QUANTITY = re.compile(rf"^\s*({NUMBER})\s*(\S.*?)?\s*$")
HOURS = {
    "s": 1 / 3600,
    "sec": 1 / 3600,
    "min": 1 / 60,
    "h": 1.0,
    "hr": 1.0,
    "hour": 1.0,
    "hours": 1.0,
    "d": 24.0,
    "day": 24.0,
}
# The canonical unit as people may spell it; everything else goes through the registry.
SAME = {
    "m/s": {"m/s", "m s-1", "m s**-1", "m s^-1", "ms-1", "mps"},
    "deg": {"deg", "degree", "degrees", "°"},
    "degC": {"degC", "°C", "celsius", "C", "deg_C", "degree_Celsius"},
    "K": {"K", "kelvin"},
    "%": {"%", "percent"},
    "h": {"h", "hour", "hours"},
    "1": {"", "1"},
}
# Spellings that station files use and no registry knows.
ALIASES = {
    "kts": "knot",
    "kt": "knot",
    "KT": "knot",
    "mph": "mile / hour",
    "MPH": "mile / hour",
    "F": "degF",
    "°F": "degF",
}
ALIASES |= {"°C": "degC", "C": "degC", "°": "degree", "kmh": "km/h", "kph": "km/h", "mps": "m/s"}


def split_quantity(text: str | float) -> tuple[float, str | None]:
    """Number and unit of `8 m/s`; the unit is None where there is none."""
    found = QUANTITY.match(str(text))
    if not found:
        raise UnknownUnit(f"expected a number with a unit such as '8 m/s', got {str(text)!r}")
    return float(found[1]), found[2]


def hours(text: str | float) -> float:
    """A duration such as `15 min` or `24` (hours) in hours."""
    number, unit = split_quantity(text)
    factor = HOURS.get((unit or "h").removesuffix("s") if unit not in HOURS else unit or "h")
    if factor is None:
        raise UnknownUnit(f"expected a duration such as '15 min' or '6 h', got {str(text)!r}")
    return number * factor


def convert(values: Any, unit: str, target: str) -> Any:
    """The values (a number or an array) of `unit` in `target`."""
    if unit == target or unit.strip() in SAME.get(target, ()):
        return values
    registry = _registry()
    try:
        known = registry.Unit(ALIASES.get(unit.strip(), unit.strip()))
        wanted = registry.Unit(target)
        return registry.Quantity(values, known).to(wanted).magnitude
    except Exception as error:  # pint raises a dozen kinds of its own, and those of the parser below it
        if type(error).__name__ in ("DimensionalityError", "OffsetUnitCalculusError"):
            raise UnknownUnit(f"the unit {unit!r} is not one of {target!r}") from None
        raise UnknownUnit(f"unknown unit {unit!r}; expected one that converts to {target!r}") from None


def convert_difference(values: Any, unit: str, target: str) -> Any:
    """A difference of two values of `unit` in `target`: 9 °F of error are 5 K."""
    return convert(values, unit, target) - convert(0.0, unit, target)


@cache
def _registry() -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the registry's own making
        from cf_xarray.units import units
    return units
