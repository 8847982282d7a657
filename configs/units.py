"""Units: what a number with a unit is worth in the unit that firecard keeps.

CF spellings (`m s-1`, `degC`, `%`) come from cf-xarray's registry: plain pint fails on `m s-1` and reads `C` as
coulomb. It is loaded on first use, because it takes a second; the unit that is already right needs no registry.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from metrics.errors import UnknownUnit

ZERO_CELSIUS = 273.15
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
QUANTITY = re.compile(rf"^\s*({NUMBER})\s*(\S.*?)?\s*$")
HOURS = {
    name: worth
    for names, worth in (
        ("s sec secs second seconds", 1 / 3600),
        ("min mins minute minutes", 1 / 60),
        ("h hr hrs hour hours", 1.0),
        ("d day days", 24.0),
    )
    for name in names.split()
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
    **dict.fromkeys(("kts", "kt", "KT", "KTS", "Knots"), "knot"),
    **dict.fromkeys(("mph", "MPH"), "mile / hour"),
    **dict.fromkeys(("F", "°F", "Fahrenheit"), "degF"),
}
ALIASES |= {"°C": "degC", "C": "degC", "°": "degree", "kmh": "km/h", "kph": "km/h", "mps": "m/s"}
# What the registry is given: it would work out 9**9**9 for as long as it takes.
HARMLESS = re.compile(
    r"(?!.*(?:\*\*|\^)\s*[-+]?\s*\d*\s*(?:\*\*|\^|\())(?!.*\)\s*(?:\*\*|\^))(?!.*\d\d)[\w\s°%/*^.·()+-]{1,60}"
)


def split_quantity(text: str | float) -> tuple[float, str | None]:
    """Number and unit of `8 m/s`; the unit is None where there is none."""
    found = QUANTITY.match(str(text))
    if not found:
        raise UnknownUnit(f"expected a number with a unit such as '8 m/s', got {str(text)!r}")
    return float(found[1]), found[2]


def hours(text: str | float) -> float:
    """A duration such as `15 min` or `24` (hours) in hours."""
    number, unit = split_quantity(text)
    factor = HOURS.get(unit or "h")
    if factor is None:
        raise UnknownUnit(f"expected a duration such as '15 min' or '6 h', got {str(text)!r}")
    return number * factor


def convert(values: Any, unit: str, target: str) -> Any:
    """The values (a number or an array) of `unit` in `target`."""
    if unit == target or unit.strip() in SAME.get(target, ()):
        return values
    if unit.strip() in SAME["K"] and target == "degC":  # of every model file: not worth the second
        return values - ZERO_CELSIUS
    shown = repr(unit if len(unit) <= 60 else unit[:60] + "…")
    try:
        known, wanted = _unit(unit), _unit(target)
        # An angle and a share are both plain numbers to the registry: 50 % would be 29 degrees.
        same = known.is_compatible_with(wanted) and _is_angle(known) == _is_angle(wanted)
        if same:
            return _registry().Quantity(values, known).to(wanted).magnitude
    except Exception:  # pint raises a dozen kinds of its own, and those of the parser below it
        raise UnknownUnit(f"unknown unit {shown}; expected one that converts to {target!r}") from None
    raise UnknownUnit(f"the unit {shown} is not one of {target!r}")


def _unit(text: str) -> Any:
    """The unit as the registry knows it; refused if it is no more than arithmetic."""
    name = ALIASES.get(text.strip(), text.strip())
    if name and not HARMLESS.fullmatch(name):
        raise UnknownUnit(name)
    return _registry().Unit(name)


def _is_angle(unit: Any) -> bool:
    return "radian" in str(_registry().get_base_units(unit)[1])


def check(unit: str) -> None:
    """Refuse a unit that nobody knows."""
    if any(unit.strip() in names for names in SAME.values()):
        return
    try:
        _unit(unit)
    except Exception:  # as in `convert`
        raise UnknownUnit(f"unknown unit {unit[:60]!r}") from None


def convert_difference(values: Any, unit: str, target: str) -> Any:
    """A difference of two values of `unit` in `target`: 9 °F of error are 5 K."""
    return convert(values, unit, target) - convert(0.0, unit, target)


@cache
def _registry() -> Any:
    import logging
    import warnings

    logging.getLogger("pint").setLevel(logging.ERROR)  # it says of every CF spelling that it is redefined
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the registry's own making
        from cf_xarray.units import units
    return units
