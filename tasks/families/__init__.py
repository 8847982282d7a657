"""The families of data, by name: how their files are matched, reduced, finished and accounted for."""

from __future__ import annotations

from tasks.families import extraction, severity, structures, threat, weather
from tasks.families.family import Family

FAMILIES: dict[str, Family] = {
    each.name: each for each in (weather.FAMILY, severity.FAMILY, structures.FAMILY, threat.FAMILY, extraction.FAMILY)
}
