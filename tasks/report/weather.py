"""What the weather section of a card shows: which stations, which hours and which directions make the error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from configs.case import Case, Instance
from metrics.kpis.kpi import evaluate
from metrics.scoring.normalise import clean
from metrics.sums import DirectionSums, ErrorSums, Sums, turn
from tasks.matching.ledger import NOT_OF_THE_MODEL
from tasks.matching.pairs import Matched
from tasks.matching.table import read_matched
from tasks.reducing.sample import night
from tasks.reducing.table import read_sums, read_table

if TYPE_CHECKING:
    from tasks.report.plots import Bin, Picture

LEADS = ((0, 6), (6, 12), (12, 24), (24, 48), (48, None))
SECTORS = 16
MOST_STATIONS = 500  # in the record
MOST_TIMES = 400  # of a series

S = TypeVar("S", bound=Sums)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that the section is made of."""

    instance: Instance | None  # whose errors are shown: those of wind speed, where the case scores them
    direction: Instance | None
    stations: pd.DataFrame  # by name: lat, lon, pairs, bias, rmse, direction_bias, counts (enough pairs to be scored)
    leads: pd.DataFrame  # by whole hour: n, error, squared
    turned: tuple[int, ...]  # how often the direction was off by each of the sectors, clockwise from 0
    matched: Matched


def facts(case: Case, pairs: Path, sums: Path) -> Facts:
    """The errors by station, lead and direction, from the sums that the scores rest on; the rest from the pairs."""
    matched = read_matched(pairs)
    table, instances = read_table(sums), case.instances_of("weather").values()
    reduced_ids = set(table["instance"])
    errors = [each for each in instances if each.kpi.sums is ErrorSums and each.id in reduced_ids]
    instance = min(errors, key=lambda each: each.variable.name != "wind_speed", default=None)
    direction = next((each for each in instances if each.kpi.sums is DirectionSums and each.id in reduced_ids), None)
    places = matched.table.groupby(matched.table["station"].astype(str), sort=True)[["lat", "lon"]].first()
    stations = places.assign(pairs=0, bias=np.nan, rmse=np.nan, direction_bias=np.nan, counts=False)
    leads = pd.DataFrame()
    if instance:
        units, own = _sums_of(table, instance, ErrorSums)
        stations.loc[units, "pairs"] = own.n.astype(int)
        stations.loc[units, "bias"], stations.loc[units, "rmse"] = own.bias(), own.rmse()
        reduced = read_sums(sums, {instance.id: instance})[instance.id]
        scored = evaluate(instance.kpi, reduced, unit=instance.unit, aggregate=instance.aggregate, rules=case.rules)
        stations["counts"] = (stations["pairs"] > 0) & ~stations.index.isin(list(scored.dropped))
        hours = table[(table["instance"] == instance.id) & (table["slice"] == "lead")]
        leads = hours.groupby("bin", sort=True)[list(ErrorSums.names())].sum()
    if direction:
        units, turns = _sums_of(table, direction, DirectionSums)
        stations.loc[units, "direction_bias"] = turns.bias()
    strangers = matched.table["reason"] == NOT_OF_THE_MODEL
    stations = stations[stations.index.isin(set(matched.table.loc[~strangers, "station"].astype(str)))]
    return Facts(instance, direction, stations, leads, _turned(matched, direction, _cycle(table)), matched)


def _sums_of(table: pd.DataFrame, instance: Instance, kind: type[S]) -> tuple[list[str], S]:
    """The stations of an instance and their sums over the whole window."""
    rows = table[(table["instance"] == instance.id) & (table["slice"] == "all")]
    return list(rows["unit"]), kind(*(rows[name].to_numpy(dtype=float) for name in kind.names()))


def _cycle(table: pd.DataFrame) -> datetime | None:
    return datetime.fromisoformat(table["cycle"].iloc[0]) if len(table) else None


def _turned(matched: Matched, direction: Instance | None, cycle: datetime | None) -> tuple[int, ...]:
    """The differences that the direction KPI is made of, counted by sector; sector 0 has 0 in its middle."""
    if direction is None or cycle is None:
        return ()
    arrays = night(matched.table, matched.offered, cycle)
    points = direction.kpi.points(
        arrays.select(arrays.inside(direction.window), None), direction.variable.name, direction.parameters
    )
    difference = turn(points.forecast - points.observed)
    width = 360 / SECTORS
    sector = np.floor((difference[np.isfinite(difference)] + width / 2) / width).astype(int) % SECTORS
    return tuple(int(each) for each in np.bincount(sector, minlength=SECTORS))


def best_and_worst(stations: pd.DataFrame) -> list[str]:
    """The station with the smallest and the one with the largest RMSE among those that count; by name where equal."""
    rated = stations[stations["counts"] & stations["rmse"].notna()]
    if rated.empty:
        return []
    return list(dict.fromkeys([str(rated["rmse"].idxmin()), str(rated["rmse"].idxmax())]))


def report(case: Case, pairs: Path, sums: Path) -> dict[str, Any]:
    """The section as plain data for the record."""
    return plain(facts(case, pairs, sums))


def plain(found: Facts) -> dict[str, Any]:
    """The facts as JSON has them; stations with the largest RMSE first."""
    stations = found.stations.sort_values("rmse", ascending=False, kind="stable", na_position="last")
    shown = stations.iloc[:MOST_STATIONS]
    variable = found.instance.variable if found.instance else None
    return {
        "variable": variable.name if variable else None,
        "unit": variable.difference_unit if variable else None,
        "stations": [
            {
                "name": str(name),
                "lat": _clean(row.lat),
                "lon": _clean(row.lon),
                "pairs": int(row.pairs),
                "bias": _clean(row.bias),
                "rmse": _clean(row.rmse),
                "direction_bias": _clean(row.direction_bias),
                "counts": bool(row.counts),
            }
            for name, row in zip(shown.index, shown.itertuples(), strict=True)
        ],
        "more_stations": len(stations) - len(shown),
        "lead": {"bins": _bins(found.leads), "hourly": _hourly(found.leads)},
        "direction_errors": {
            "sector": 360 / SECTORS,
            "minimum_speed": found.direction.parameters.get("min_observed_speed") if found.direction else None,
            "counts": list(found.turned),
        },
        "series": [_series(found, name) for name in best_and_worst(found.stations)],
    }


def _clean(value: float) -> float | None:
    return clean(float(value)) if np.isfinite(value) else None


def _errors(rows: pd.DataFrame) -> dict[str, Any]:
    """Count, bias and RMSE of the pairs of all stations together."""
    pooled = ErrorSums(*(np.float64(rows[name].sum()) for name in ErrorSums.names()))
    return {"n": int(pooled.n), "bias": _clean(pooled.bias()), "rmse": _clean(pooled.rmse())}


def _bins(leads: pd.DataFrame) -> list[dict[str, Any]]:
    result = []
    for first, last in LEADS if len(leads) else ():
        rows = leads[(leads.index >= first) & (leads.index < (np.inf if last is None else last))]
        if len(rows):
            result.append({"from": first, "to": last, **_errors(rows)})
    return result


def _hourly(leads: pd.DataFrame) -> list[dict[str, Any]]:
    return [{"lead": int(hour), **_errors(leads.loc[[hour]])} for hour in leads.index]


def _series(found: Facts, name: str) -> dict[str, Any]:
    """Forecast and observation at one station, its first times where there are very many."""
    table, variable = found.matched.table, found.instance.variable.name if found.instance else ""
    rows = table[(table["station"].astype(str) == name) & (table["variable"] == variable)]
    rows = rows.sort_values("valid_time", kind="stable").iloc[:MOST_TIMES]
    return {
        "station": name,
        "rmse": _clean(found.stations.loc[name, "rmse"]),
        "bias": _clean(found.stations.loc[name, "bias"]),
        "valid": [f"{each:%Y-%m-%dT%H:%MZ}" for each in rows["valid_time"]],
        "forecast": [_clean(each) for each in rows["forecast"]],
        "observed": [_clean(each) for each in rows["observed"]],
    }


# ---- pictures


def pictures(case: Case, pairs: Path, sums: Path) -> dict[str, Picture]:
    """The section's pictures by name: map, best, worst, lead, rose; without those that there is nothing to draw for."""
    from tasks.report import plots

    found = facts(case, pairs, sums)
    data = plain(found)
    result: dict[str, Picture | None] = {}
    if found.instance is not None:
        unit = f"{data['unit']}"
        what = found.instance.variable.name.replace("_", " ")
        result["map"] = plots.station_map(
            [
                plots.Place(str(name), row.lat, row.lon, _clean(row.rmse), _clean(row.bias))
                for name, row in zip(found.stations.index, found.stations.itertuples(), strict=True)
            ],
            unit,
            f"Map of {len(found.stations)} stations, coloured by the RMSE of {what}",
            backdrop=found.matched.backdrop,
            named=best_and_worst(found.stations)[::-1],
        )
        top = _top(data["series"])
        for which, each in zip(("best", "worst"), data["series"], strict=False):
            result[which] = plots.series(
                [datetime.fromisoformat(when).astimezone(UTC) for when in each["valid"]],
                each["forecast"],
                each["observed"],
                axis=f"{what} [{found.instance.variable.unit}]",
                top=top,
                alt=f"Forecast and observed {what} at station {each['station']}, RMSE {each['rmse']:.3g} {unit}",
            )
        if data["lead"]["hourly"]:
            said = ", ".join(f"{each['rmse']:.3g} from {each['from']} h" for each in data["lead"]["bins"] if each["n"])
            result["lead"] = plots.error_by_lead(*_lead_bins(data["lead"]), unit, f"RMSE of {what} by lead: {said}")
    if sum(found.turned):
        straight = 100 * found.turned[0] / sum(found.turned)
        result["rose"] = plots.rose(
            found.turned, f"Direction errors by sector: {straight:.0f} % within {180 / SECTORS:g} degrees"
        )
    return {name: each for name, each in result.items() if each is not None}


def _top(series: Sequence[Mapping[str, Any]]) -> float | None:
    """One scale for both stations, from 0, where nothing is negative."""
    values = [each for one in series for side in ("forecast", "observed") for each in one[side] if each is not None]
    return 1.08 * max(values) if values and min(values) >= 0 and max(values) > 0 else None


def _lead_bins(lead: Mapping[str, Any]) -> tuple[list[Bin], list[Bin]]:
    from tasks.report.plots import Bin

    hours = [each["lead"] for each in lead["hourly"]]
    step = min(np.diff(hours), default=1)
    hourly = [Bin(each["lead"], each["lead"] + 1, each["rmse"], each["bias"]) for each in lead["hourly"]]
    end = hours[-1] + step
    wide = [
        Bin(max(each["from"], hours[0]), min(each["to"] or end, end), each["rmse"], each["bias"])
        for each in lead["bins"]
    ]
    return hourly, wide


# ---- words


def markdown(report: Mapping[str, Any]) -> list[str]:
    """The worst stations as a table."""
    from tasks.report.markdown import escape

    rated = [each for each in report["stations"] if each["rmse"] is not None]
    if not rated:
        return []
    unit = f" [{report['unit']}]"
    lines = [
        f"## Stations with the largest error of {escape(report['variable'].replace('_', ' '))}",
        "",
        f"| Station | Pairs | Bias{unit} | RMSE{unit} | Direction bias |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for each in rated[:5]:
        turned = "–" if each["direction_bias"] is None else f"{each['direction_bias']:+.0f}°"
        lines.append(
            f"| {escape(each['name'])} | {each['pairs']} | {each['bias']:+.2f} | {each['rmse']:.2f} | {turned} |"
        )
    return lines


def how_in_words(how: Mapping[str, Any]) -> list[str]:
    """How model and stations were brought together, a sentence each."""
    lines = []
    if "files" in how:
        files = "1 file" if how["files"] == 1 else f"{how['files']} files"
        lines.append(f"{files} of {str(how['source']).upper()} output: {how['domain']}.")
    stations = how.get("stations", {})
    if "inside" in stations:
        lines.append(f"{stations['inside']} stations lie inside the grid, {stations['outside']} outside.")
    if "of the model" in stations:
        lines.append(
            f"{stations['of the model']} stations are among the model's, {stations['not of the model']} are not."
        )
    sentences = {
        "space": "In space: {}.",
        "time": "In time: {}.",
        "height": "Height of winds: {}.",
        "winds": "Winds in the files are {}.",
        "gust": "Gusts of the model: {}.",
        "reports": "Reports: {}.",
        "warning": "Mind: {}.",
    }
    lines += [words.format(how[name]) for name, words in sentences.items() if how.get(name)]
    lines += [f"Not read, {name}: {why}" for name, why in how.get("broken_files", {}).items()]
    lines += [f"Not offered, {name}: {why}" for name, why in how.get("withheld", {}).items()]
    return lines
