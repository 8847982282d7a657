"""Buildings of a model and of an observation, one to one: by id, by number, or by mutual nearest position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from configs.impact import StructureRules
from metrics.errors import BadInput
from tasks.matching.ledger import NO_FORECAST, PAIR

EARTH = 6_371_008.8  # metres, the mean radius
CLASSES = 12  # damage classes that are told apart on a card
NO_BUILDING = "no observed building there"


@dataclass(frozen=True, slots=True)
class MatchedBuildings:
    """Every building of either side with its outcome, and how they were joined."""

    table: pd.DataFrame  # id, lat, lon, forecast_class, observed_class, forecast, observed, reason
    how: Mapping[str, Any]


def match_buildings(
    predicted: pd.DataFrame, observed: pd.DataFrame, rules: StructureRules, where: str, *, ordered: bool = False
) -> MatchedBuildings:
    """The observed buildings with what was predicted for them; what has no partner keeps its reason.

    `ordered` are buildings that both files list in the same order (FireBench), as far as their positions do not say
    otherwise.
    """
    by_id, how = _joined_by_id(predicted, observed, rules)
    if by_id:
        partner = pd.Index(predicted["id"]).get_indexer(pd.Index(observed["id"]))
    elif ordered and rules.join == "auto" and _same_order(predicted, observed, rules, where):
        partner, how = np.arange(len(observed)), "by their order, which is the same in both files"
    else:
        partner = _mutual_nearest(observed, predicted, rules.tolerance)
        how = f"one to one by position, mutual nearest within {rules.tolerance:g} m"
    if not (partner >= 0).any():
        raise BadInput(
            f"{where}: no common building: {len(predicted)} predicted, {len(observed)} observed, joined {how}"
        )
    return with_partners(predicted, observed, partner, rules, how)


def with_partners(
    predicted: pd.DataFrame, observed: pd.DataFrame, partner: Any, rules: StructureRules, how: str
) -> MatchedBuildings:
    """Outcomes of buildings whose partners (a row of the predicted ones, or -1) are known.

    A damage class that is neither destroyed nor kept (Inaccessible) takes its building out on both sides, never one
    side alone (D-15).
    """
    found = partner >= 0
    chosen = predicted.iloc[np.where(found, partner, 0)].reset_index(drop=True)
    forecast = np.where(found, chosen["destroyed"], np.nan)
    spoken = np.where(found, chosen["damage"], "")
    if rules.missing == "not_destroyed":
        forecast = np.where(np.isnan(forecast) & (spoken == ""), 0.0, forecast)
    table = pd.DataFrame(
        {
            "id": _labels(observed),
            "lat": observed["lat"],
            "lon": observed["lon"],
            "forecast_class": spoken,
            "observed_class": observed["damage"],
            "forecast": forecast,
            "observed": observed["destroyed"],
        }
    )
    words = (common_classes(pd.Series(spoken)), common_classes(observed["damage"]))
    table["reason"] = [_reason(*each) for each in zip(table["forecast"], table["observed"], *words, strict=True)]
    alone = predicted.drop(index=predicted.index[partner[found]])
    if len(alone):
        extra = pd.DataFrame(
            {
                "id": _labels(alone),
                "lat": alone["lat"],
                "lon": alone["lon"],
                "forecast_class": alone["damage"],
                "observed_class": "",
                "forecast": alone["destroyed"],
                "observed": np.nan,
                "reason": NO_BUILDING,
            }
        )
        table = pd.concat([table, extra], ignore_index=True)
    return MatchedBuildings(
        table,
        {
            "join": how,
            "missing_prediction": "not destroyed" if rules.missing == "not_destroyed" else "left out",
            "destroyed": list(rules.destroyed),
            "kept": list(rules.kept),
        },
    )


def _joined_by_id(predicted: pd.DataFrame, observed: pd.DataFrame, rules: StructureRules) -> tuple[bool, str]:
    """Whether ids join the two sides, and how that is said."""
    named = bool((predicted["id"] != "").all() and (observed["id"] != "").all())
    if rules.join == "id" or (rules.join == "auto" and named and observed["id"].isin(predicted["id"]).any()):
        if not named:
            raise BadInput("buildings are to be joined by id, but one side has no ids: say `names: {id: …}`")
        return True, "by id"
    return False, ""


def _same_order(predicted: pd.DataFrame, observed: pd.DataFrame, rules: StructureRules, where: str) -> bool:
    """Whether the n-th building is the same on both sides: as many, and none farther apart than the tolerance."""
    places = [_on_sphere(each) for each in (predicted, observed)]
    unknown = [np.isnan(each).all() for each in places]
    if len(predicted) == len(observed):
        apart = 2 * EARTH * np.arcsin(np.minimum(np.linalg.norm(places[0] - places[1], axis=1) / 2, 1))
        if any(unknown) or (apart <= rules.tolerance).all():
            return True
    if any(unknown):
        raise BadInput(
            f"{where}: {len(predicted)} predicted buildings and {len(observed)} observed ones, and not all have a "
            "position: without ids they can only be joined by their order"
        )
    return False


def _mutual_nearest(observed: pd.DataFrame, predicted: pd.DataFrame, tolerance: float) -> Any:
    """For each observed building the predicted one that is its nearest and whose nearest it is; -1 where none is."""
    from scipy.spatial import cKDTree

    places = [_on_sphere(each) for each in (observed, predicted)]
    known = [np.flatnonzero(np.isfinite(each).all(1)) for each in places]
    partner = np.full(len(observed), -1)
    if not all(len(each) for each in known):
        return partner
    trees = [cKDTree(place[some]) for place, some in zip(places, known, strict=True)]
    chord = 2 * np.sin(min(tolerance / (2 * EARTH), np.pi / 2))
    distance, there = trees[1].query(places[0][known[0]])
    _, back = trees[0].query(places[1][known[1]])
    mutual = (distance <= chord) & (back[there] == np.arange(len(known[0])))
    partner[known[0][mutual]] = known[1][there[mutual]]
    return partner


def _on_sphere(table: pd.DataFrame) -> Any:
    """Positions as unit vectors, so that neither poles nor the date line are special."""
    lat, lon = (np.deg2rad(table[name].to_numpy(dtype=float)) for name in ("lat", "lon"))
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def _labels(table: pd.DataFrame) -> Any:
    """Ids, or positions where there are none."""
    spots = table["lat"].map("{:.5f}".format) + " " + table["lon"].map("{:.5f}".format)
    return table["id"].where(table["id"] != "", spots)


def common_classes(names: pd.Series) -> pd.Series:
    """The damage classes with all but the most frequent under one name: free text must not fill the card."""
    counts = names.value_counts()
    known = counts.sort_index().sort_values(ascending=False, kind="stable").index[:CLASSES]
    return names.where(names.isin(known), "another class").str.slice(0, 40)


def _reason(forecast: float, observed: float, spoken: str, seen: str) -> str:
    if np.isnan(observed):
        return f"observed {seen!r} says neither" if seen else "no observed damage"
    if np.isnan(forecast):
        return f"predicted {spoken!r} says neither" if spoken else NO_FORECAST
    return PAIR
