"""The rules of fire threat: horizons in hours, weights that weigh something, a probability for each horizon asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from configs.shape import ThreatSection
from configs.source import Location
from configs.units import hours
from metrics.kpis.threat import ThreatRules

if TYPE_CHECKING:
    from configs.case import Data, Instance, Model

Complain = Callable[[Location, str], None]


def threat_rules(
    section: ThreatSection,
    models: tuple[Model, ...],
    observations: Mapping[str, Data],
    instances: Mapping[str, Instance],
    complain: Complain,
) -> ThreatRules:
    """The case's rules; complains about what does not fit together."""
    weights = _by_hours(("threat", "horizons"), section.horizons, complain)
    risk = hours(section.risk_horizon)
    if not any(weights.values()):
        complain(("threat", "horizons"), "all weights are zero: nothing is left for the Brier score")
    if not section.weights.c_index + section.weights.brier:
        complain(("threat", "weights"), "both weights are zero: nothing is left for the hybrid score")
    asked = {name: each for name, each in instances.items() if each.kpi.family == "threat"}
    own = {
        name: each.parameters["horizon"] for name, each in asked.items() if each.parameters.get("horizon") is not None
    }
    offering = {each.name: each.data["threat"] for each in models if "threat" in each.data}
    if asked and offering and "threat" not in observations:
        complain(("observations",), "fire threat needs outcomes: say `observations: {threat: {path: …}}`")
    for name, data in offering.items() if asked else ():
        place: Location = ("models", name, "threat", "probabilities")
        there = _by_hours(place, data.options["probabilities"], complain)
        if len(set(there.values())) < len(there):
            complain(place, "two horizons have the same column")
        for horizon in dict.fromkeys((*weights, risk, *own.values())):
            if horizon not in there:
                complain(place, f"no column for {horizon:g} h, which the case asks for; columns for {_listed(there)}")
    return ThreatRules(
        horizons=weights,
        risk_horizon=risk,
        pairing=section.pairing,
        c_index_weight=section.weights.c_index,
        brier_weight=section.weights.brier,
        penalty=section.penalty,
        repair=section.repair,
        unmatched=section.unmatched,
    )


def columns(probabilities: Mapping[str, str]) -> dict[float, str]:
    """The columns of the probabilities by horizon in hours, in rising order."""
    return dict(sorted((hours(text), name) for text, name in probabilities.items()))


def _by_hours(
    place: Location, given: Mapping[str, float] | Mapping[str, str], complain: Complain
) -> dict[float, float]:
    """What stands behind each horizon, in rising order of hours."""
    found: dict[float, float] = {}
    for text, value in given.items():
        horizon = hours(text)
        if horizon in found:
            complain((*place, text), f"{horizon:g} h stands there twice")
        if horizon <= 0:
            complain((*place, text), "expected a horizon of more than 0 h")
        found[horizon] = value  # type: ignore[assignment]  # a weight, or the name of a column
    return dict(sorted(found.items()))


def _listed(horizons: Mapping[float, object]) -> str:
    return ", ".join(f"{each:g} h" for each in horizons)
