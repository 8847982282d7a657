"""What a KPI is: a declaration of the sums it needs and how they are finished into one number.

Python holds the template; a case binds variable, parameters, normalisation and weight, which makes it an instance
(D-20). Finishing reduces over the last axis, the resampled unit (a station); leading replicate axes pass through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from metrics.sums import Array, Sums, floats, present, ratio, total

Aggregate = Literal["stations", "pooled"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number that the case binds; `unit` is "variable" where it has the unit of the KPI's variable."""

    name: str
    unit: str
    meaning: str
    default: float | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """Forecast and observation of a model's variables on the same (unit, time) points, missing as NaN."""

    forecast: Mapping[str, Array]
    observed: Mapping[str, Array]
    step_hours: float | None

    def both(self, variable: str) -> tuple[Array, Array]:
        return self.forecast[variable], self.observed[variable]


@dataclass(frozen=True, slots=True)
class Points:
    """What one KPI compares, after the filters that look at the observation alone (D-18)."""

    forecast: Any
    observed: Any
    expected: Array


Values = Mapping[str, float | None]


def scalar_points(sample: Sample, variable: str, _parameters: Values) -> Points:
    """Every point where the variable was observed."""
    forecast, observed = sample.both(variable)
    return Points(forecast, observed, present(observed))


def unit_mean(values: Array) -> Array:
    """Mean over the last axis of the units that have a value; missing where none has."""
    values = floats(values)
    return ratio(total(values, -1), total(present(values), -1))


@dataclass(frozen=True, slots=True)
class Kpi:
    """One template: what it is called, what it means, which sums it needs and how a unit's sums become its value."""

    id: str
    title: str
    category: str
    unit: str  # "variable" stands for the unit of a difference of the variable
    best: float
    worst: float | str
    formula: str
    description: str
    sums: type[Sums] = Sums
    value: Callable[[Any], Array] = lambda sums: sums.n
    family: str = "weather"  # whose data it is made of
    variable: str | None = None  # None: the case names it
    kind: Literal["scalar", "angle", "wind", "field"] = "scalar"
    parameters: tuple[Parameter, ...] = ()
    points: Callable[[Sample, str, Values], Points] = scalar_points
    aggregate: Aggregate = "stations"
    adds: bool = False  # the value itself adds up (hours), so that pooling is averaging as well
    in_hours: bool = False  # needs a uniform step (D-82)
    conditional: bool = False  # observed only under conditions, so that completeness counts pairs, not steps (D-17)
    period: str = "ts"  # the parameters that the window binds
    note: str = ""
    filter_reason: str = "filtered"  # what the points are that were observed but not asked for
    mean: Callable[[Array], Array] = unit_mean  # of the units' values
    beside: Mapping[str, Callable[[Any], Array]] = field(default_factory=dict)

    @property
    def signed(self) -> bool:
        """Can the value be negative, and is its size what counts (D-03)?"""
        return isinstance(self.worst, str) and "|" in self.worst

    def finish(self, sums: Sums, aggregate: Aggregate) -> Array:
        """The KPI's value: the mean over units of each unit's value, or the value of all units pooled (D-75)."""
        if aggregate == "stations" or self.adds:
            return self.mean(self.value(sums))
        return self.value(sums.pooled())


def unit_spread(values: Array) -> Array:
    """Standard deviation over the units that have a value (divided by their number)."""
    values = floats(values)
    return unit_mean((values - np.expand_dims(unit_mean(values), -1)) ** 2) ** 0.5


@dataclass(frozen=True, slots=True)
class Rules:
    """When a unit counts and when a model has too many holes (D-17)."""

    min_completeness: float = 0.75
    min_pairs: int = 6
    min_coverage: float = 0.9
    missing_model: Literal["penalise", "drop"] = "penalise"


@dataclass(frozen=True, slots=True)
class Reduced:
    """The sums of one instance over units, with what was expected of the model."""

    sums: Sums
    expected: Array  # points per unit that an observation asks a forecast for
    filtered: Array  # observed points per unit that the KPI does not ask for: calm, or too little wind
    steps: int  # valid times of the window
    units: tuple[str, ...] = ()  # their names
    offered: bool = True  # does the model offer the variable at all (D-05)
    fault: str = ""  # why the sums could not be made


@dataclass(frozen=True, slots=True)
class KpiResult:
    """One KPI's value with what it rests on; `value` is None where there is none, and `reason` says why."""

    value: float | None
    unit: str
    n: int = 0
    used: int = 0
    total: int = 0
    coverage: float | None = None
    flags: tuple[str, ...] = ()
    reason: str = ""
    penalised: bool = False
    offered: bool = True
    thin: bool = False  # rests on less than half of the units that could have counted
    details: Mapping[str, float | None] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)  # units that do not count, with the pairs that they have


def evaluate(kpi: Kpi, reduced: Reduced, *, unit: str, aggregate: Aggregate, rules: Rules) -> KpiResult:
    """Finish one instance's sums: which units count, whether the model covered enough, and the value beside them."""
    n, expected = floats(reduced.sums.n), floats(reduced.expected)
    observed_units = int((expected > 0).sum())
    empty = KpiResult(None, unit, total=observed_units, offered=reduced.offered)
    if not reduced.offered:
        return _without_value(empty, "not offered by this model")
    if reduced.fault:
        return _without_value(empty, reduced.fault)
    if not expected.sum():
        asked = bool(floats(reduced.filtered).sum())
        return _without_value(empty, f"no observation left: {kpi.filter_reason}" if asked else "no observation")

    least = max(1.0, rules.min_pairs if kpi.conditional else rules.min_completeness * reduced.steps)
    keep = n >= least - 1e-9
    sums = reduced.sums.only(keep)
    coverage = float(n.sum() / expected.sum())
    flags = [kpi.note] if kpi.note else []
    left_out = {
        name: count
        for name, count in (
            (kpi.filter_reason, int(floats(reduced.filtered).sum())),
            ("missing forecast", int(expected.sum() - n.sum())),
            ("pairs of stations with too few", int(n.sum() - sums.n.sum())),
        )
        if count
    }
    penalised = False
    if coverage < rules.min_coverage - 1e-12:
        text = f"coverage {coverage:.1%} is below {rules.min_coverage:.0%}"
        if rules.missing_model == "drop":
            return _without_value(empty, text, coverage=coverage, left_out=left_out)
        penalised = True
        flags.append(f"{text}: scored 0")
    if int(keep.sum()) < observed_units:
        flags.append(
            f"{observed_units - int(keep.sum())} of {observed_units} stations left out: fewer than {least:g} pairs"
        )

    by_unit = kpi.value(sums)
    value = _number(kpi.finish(sums, aggregate))
    reason = "" if value is not None else _why_no_value(kpi, keep, least)
    return KpiResult(
        value=value,
        unit=unit,
        n=int(sums.n.sum()),
        used=int(keep.sum()),
        total=observed_units,
        coverage=coverage,
        flags=tuple(flags),
        reason=reason,
        penalised=penalised,
        details={
            "stations": _number(kpi.finish(sums, "stations")),
            "pooled": _number(kpi.finish(sums, "pooled")),
            "spread": _number(unit_spread(by_unit)),
            **{name: _number(of(sums)) for name, of in kpi.beside.items()},
        },
        thin=not kpi.conditional and 2 * int(keep.sum()) < observed_units,
        left_out=left_out,
        dropped={
            name: int(pairs)
            for name, pairs, kept, asked in zip(reduced.units, n, keep, expected, strict=False)
            if asked and not kept
        },
    )


def _without_value(empty: KpiResult, reason: str, **more: Any) -> KpiResult:
    return replace(empty, reason=reason, flags=(reason,), **more)


def _why_no_value(kpi: Kpi, keep: Array, least: float) -> str:
    if not keep.any():
        return f"no station has {least:g} pairs"
    return "undefined on this sample: no event, or errors that cancel out"


def _number(value: Array) -> float | None:
    return None if np.isnan(value) else float(value)
