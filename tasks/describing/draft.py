"""A case file drafted from what a user's files hold: paths, cycle, window, matching and the KPIs both sides can answer.

The draft is text with comments, to be read and changed by people; nothing in it is a guess that a file contradicts.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path

from configs import paths
from metrics.errors import BadInput
from tasks.describing.seen import Seen

DAY = timedelta(hours=24)
DATES = ("%Y%m%d%H", "%Y-%m-%d_%H", "%Y-%m-%dT%H", "%Y%m%d_%H", "%Y%m%dT%H", "%Y%m%d", "%Y-%m-%d")
DATED = re.compile(r"(?:19|20)\d{2}[-_]?\d{2}[-_]?\d{2}(?:[-_T]?\d{2}(?:[:_-]?\d{2}){0,3})?|\d{4,}|[+]\d+")
NEAR = timedelta(minutes=15)  # how far a report may be from a valid time, as cases have it unless they say otherwise


@dataclass(frozen=True, slots=True)
class Line:
    """One KPI of a draft: its group, what it needs of both sides, and its line behind the id."""

    group: str
    needs: tuple[str, ...]
    text: str


# Half-values of speed, direction, temperature and humidity are FireBench's; the others are our own (D-77).
KPIS = (
    Line("Wind Speed", ("wind_speed",), "{kpi: wind_speed_bias, normalise: {kind: symmetric_exponential, m: 5 m/s}}"),
    Line("Wind Speed", ("wind_speed",), "{kpi: wind_speed_rmse, normalise: {kind: exponential, m: 5 m/s}}"),
    Line(
        "Wind Speed",
        ("wind_speed",),
        "{kpi: mean_absolute_station_bias, variable: wind_speed, normalise: {kind: exponential, m: 5 m/s}}",
    ),
    Line(
        "Wind Direction",
        ("wind_speed", "wind_direction"),
        "{kpi: wind_direction_rmse, parameters: {min_observed_speed: 3 m/s},"
        " normalise: {kind: exponential, m: 45 deg}}",
    ),
    Line(
        "Wind Direction",
        ("wind_speed", "wind_direction"),
        "{kpi: vector_rmse, normalise: {kind: exponential, m: 5 m/s}}",
    ),
    Line("Gusts", ("wind_gust",), "{kpi: wind_gust_rmse, normalise: {kind: exponential, m: 5 m/s}}"),
    Line("Temperature", ("temperature",), "{kpi: rmse, variable: temperature, normalise: {kind: exponential, m: 5 K}}"),
    Line(
        "Temperature",
        ("temperature",),
        "{kpi: bias, variable: temperature, normalise: {kind: symmetric_exponential, m: 5 K}}",
    ),
    Line(
        "Humidity",
        ("relative_humidity",),
        "{kpi: rmse, variable: relative_humidity, normalise: {kind: exponential, m: 15 %}}",
    ),
    Line("Humidity", ("dew_point",), "{kpi: rmse, variable: dew_point, normalise: {kind: exponential, m: 5 K}}"),
    Line("Fuel", ("fuel_moisture",), "{kpi: rmse, variable: fuel_moisture, normalise: {kind: exponential, m: 5 %}}"),
)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a case would be made of: models by name, observations, a table of stations, and the files' own root."""

    models: Mapping[str, Seen]
    observed: Seen | None
    places: Path | None
    root: Path

    @property
    def paired(self) -> bool:
        """Do the models bring their observations along?"""
        return all(each.format.holds == "pairs" for each in self.models.values())

    def common(self) -> list[str]:
        """The variables that a model offers and somebody observed."""
        offered = dict.fromkeys(name for each in self.models.values() for name in each.variables)
        return [name for name in offered if self.observed is None or name in self.observed.variables]

    def cycle(self) -> datetime:
        """The newest cycle that a model names; without one, the first valid time that has a report near it."""
        named = [cycle for each in self.models.values() for cycle in each.cycles]
        if named:
            return max(named)
        times = sorted({time for each in self.models.values() for time in each.times})
        first = self.observed.times[0] - NEAR if self.observed else times[0]
        return next((time for time in times if time >= first), times[-1])

    def overlap(self, cycle: datetime) -> tuple[datetime, datetime]:
        """The first and the last valid time, from the cycle on, that have observations; refused where there is none."""
        times = sorted({time for each in self.models.values() for time in each.times if time >= cycle})
        if self.observed is None:
            return times[0], times[-1]
        first, last = self.observed.times[0] - NEAR, self.observed.times[-1] + NEAR
        inside = [time for time in times if first <= time <= last]
        if not inside:
            spans = [
                f"{each[0]:%Y-%m-%dT%H:%MZ} to {each[-1]:%Y-%m-%dT%H:%MZ}"
                for each in (times, self.observed.times)
                if each
            ]
            raise BadInput(
                f"{self.observed.paths[0]}: the reports and the model have no time in common: valid {spans[0]}, reports"
                f" {spans[-1]}"
            )
        return inside[0], inside[-1]


def model_names(sets: Sequence[Seen]) -> list[str]:
    """A name for each model: that of its folder where the folders differ, else what its files' names share."""
    folders = [next((each for each in map(undated, _folders(seen.paths[0])) if each), "") for seen in sets]
    stems = [re.sub(r"^vfld", "", undated(_shared([_stem(path) for path in seen.paths]))) for seen in sets]
    for names in (
        folders if len(sets) > 1 else [],
        stems,
        [f"{a}-{b}".strip("-") for a, b in zip(folders, stems, strict=True)],
    ):
        if names and all(names) and len(set(names)) == len(names):
            return [re.sub(r"[^\w.+-]+", "-", name)[:80] for name in names]
    return [f"model-{number}" for number in range(1, len(sets) + 1)]


def _shared(stems: Sequence[str]) -> str:
    """What names begin with, not cut in the middle of a number."""
    return stems[0] if len(set(stems)) == 1 else re.sub(r"\d+$", "", beginning(stems))


def _folders(path: Path) -> list[str]:
    return [each.name for each in path.absolute().parents]


def _stem(path: Path) -> str:
    """A file's name without dates, leads and ending."""
    return re.sub(r"\.(nc4?|cdf|grib?[12]?|grb2?|txt|csv|parquet|zarr|stat)$", "", DATED.sub("", path.name))


def undated(name: str) -> str:
    """A name without the dates in it.

    >>> undated("wrfout_d01_2005-08-28_12:00:00")
    'wrfout_d01'
    """
    return DATED.sub("", name).strip("-_.+: ")


def template(files: Sequence[Path], root: Path, cycle: datetime, *, dated: bool = True) -> str:
    """A path of a case that finds just these files: with the cycle's date where it stands in all their names."""
    names = [Path(os.path.relpath(each, root)).as_posix() for each in files]
    for each in names:
        if re.search(r"[{}\x00-\x1f\x7f]", each):
            raise BadInput(f"{each!r}: braces and control characters cannot stand in a path of a case; rename it")
    patterns = [_pattern(names, at_words=True), _pattern(names, at_words=False), *_by_letters(names)]
    choices = [each for pattern in patterns for each in _with_dates(pattern, cycle)] if dated else []
    wanted = {each.resolve() for each in files}
    for choice in (*choices, *patterns):
        if {each.resolve() for each in paths.files(choice, root, cycle)} == wanted:
            return choice
    others = [each for each in paths.files(patterns[1], root, cycle) if each.resolve() not in wanted]
    if others:
        raise BadInput(
            f"{others[0]}: a path of a case that finds {files[0].name} … {files[-1].name} finds this one too; give it"
            " as well, or put the files of a model into a folder of their own"
        )
    return patterns[1]


def _pattern(names: Sequence[str], *, at_words: bool) -> str:
    """Names as one pattern: what is the same in all of them stays, what differs becomes `*`, folder by folder."""
    parts = [name.split("/") for name in names]
    if len({len(each) for each in parts}) > 1:
        raise BadInput(f"{names[0]} and {names[-1]} lie at different depths; give them to separate cases")
    pieces = []
    for column in zip(*parts, strict=True):
        if len(set(column)) == 1:
            pieces.append(glob.escape(column[0]))
            continue
        first = beginning(column)
        last = beginning([each[len(first) :][::-1] for each in column])[::-1]
        if at_words:  # not in the middle of a number or a word
            first, last = re.sub(r"[^\W_]+$", "", first) or re.sub(r"\d+$", "", first), re.sub(r"^[^\W_]+", "", last)
        pieces.append(f"{glob.escape(first)}*{glob.escape(last)}")
    return "/".join(pieces)


def _by_letters(names: Sequence[str]) -> list[str]:
    """Names of one length as a pattern that lists the letters in which they differ: `sep_[uv].nc`."""
    letters = ["".join(sorted(set(each))) for each in zip(*names, strict=False)]
    if len(set(map(len, names))) > 1 or any(len(each) > 1 and set(each) & set("]-!^/") for each in letters):
        return []
    return ["".join(glob.escape(each) if len(each) == 1 else f"[{each}]" for each in letters)]


def _with_dates(pattern: str, cycle: datetime) -> Iterator[str]:
    """The pattern with the cycle's date as a placeholder, the most exact spelling first; valid times become `*`."""
    for spelling in DATES:
        written = cycle.strftime(spelling)
        if written in pattern:
            dated = pattern.replace(written, f"{{cycle:{spelling}}}")
            begun = re.sub(r"(?:19|20)\d{2}(?:[-_]?\d{1,2})*[-_T:]?\*", "*", dated)  # a date that differs in its end
            yield re.sub(r"\*[-_:.]?\*|\*{2,}", "*", DATED.sub("*", begun))
            yield dated


def beginning(texts: Sequence[str]) -> str:
    """The letters that all texts start with.

    >>> beginning(["wrfout_d01", "wrfout_d02"])
    'wrfout_d0'
    """
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in same)


def case_text(draft: Draft, name: str) -> str:
    """The case file."""
    cycle = draft.cycle()
    variables = draft.common()
    chosen = [each for each in KPIS if set(each.needs) <= set(variables)]
    if not chosen:
        here = sorted({name for each in draft.models.values() for name in each.variables})
        there = sorted(draft.observed.variables) if draft.observed else here
        why = dict.fromkeys(each for seen in draft.models.values() for each in seen.withheld.values())
        raise BadInput(
            "; ".join(
                (
                    f"there is no variable that both sides have: models {', '.join(here) or 'none'}",
                    f"observations {', '.join(there) or 'none'}",
                    *why,
                )
            )
        )
    models = {label: template(each.paths, draft.root, cycle) for label, each in draft.models.items()}
    lines = [
        "# Written by `firecard init`. Paths are relative to this file. `firecard check` explains what it finds,",
        "# `firecard run` scores it; `firecard kpis` lists more KPIs, `firecard schema case` is for your editor.",
        f"case: {name}",
        *_cycle_lines(models, draft.root, cycle),
        "models:",
    ]
    for label, path in models.items():
        seen = draft.models[label]
        said = f", source: {seen.format.name}"
        if seen.models and label not in seen.models:
            said += f", name: {_text(seen.models[0])}"
        lines.append(f"  {_text(label)}: {{weather: {{path: {_text(path)}{said}}}}}")
        lines += [f"    # {_comment(each)}" for each in seen.lines()]
    if draft.observed and not draft.paired:
        lines += _observed_lines(draft, draft.observed, cycle)
    lines += [*_window_lines(draft, cycle), *_matching_lines(draft, cycle), "kpis:"]
    groups: dict[str, list[str]] = {}
    for number, each in enumerate(chosen, 1):
        key = f"WX{number:02d}"
        groups.setdefault(each.group, []).append(key)
        lines.append(f"  {key}: {each.text}")
    if "wind_speed" in variables:
        lines += [
            "  # Hours above a threshold that matters to you; for reports in whole knots or mph best at half ones:",
            "  # WX90: {kpi: sustained_wind_speed, parameters: {threshold: 8 m/s},"
            " normalise: {kind: symmetric_linear, m: 6 h}}",
        ]
    lines.append("groups:")
    lines += [f"  {group}: [{', '.join(keys)}]" for group, keys in groups.items()]
    lines += ["schemes:", "  A: mean    # every KPI counts the same; B, C … may weigh groups and KPIs as you like", ""]
    return "\n".join(lines)


def _cycle_lines(models: Mapping[str, str], root: Path, cycle: datetime) -> list[str]:
    """The cycle, unless the names of the files tell it."""
    named = [each for path in models.values() for each in paths.cycles(path, root)]
    if named and max(named) == cycle:
        return []
    return [f"cycle: {cycle:%Y-%m-%dT%H:%M}    # the one that these files are of (UTC)"]


def _observed_lines(draft: Draft, observed: Seen, cycle: datetime) -> list[str]:
    path = template(observed.paths, draft.root, cycle)
    beside = ""
    if draft.places:
        beside = f", stations: {_text(template([draft.places], draft.root, cycle, dated=False))}"
    return [
        "observations:",
        f"  weather: {{path: {_text(path)}, source: {observed.format.name}{beside}}}",
        *(f"    # {_comment(each)}" for each in observed.lines()),
    ]


def _window_lines(draft: Draft, cycle: datetime) -> list[str]:
    """The valid times that both sides have, at most a day."""
    first, last = draft.overlap(cycle)
    analysis = (
        ["  # first_lead: 1 h would leave out the analysis, which may have seen these stations"]
        if first == cycle
        else []
    )
    offset = "" if first == cycle else f", offset: {_hours(first - cycle)} h"
    step = max((each.step or 0.0 for each in draft.models.values()), default=0.0)
    if last - first + timedelta(hours=step) >= DAY:
        return [f"window: {{hours: 24{offset}}}    # from the cycle; its end does not count", *analysis]
    if last > first:
        return [f"window: {{hours: {_hours(last - first)}, closed: both{offset}}}    # what both sides have", *analysis]
    return [f"window: {{hours: 1{offset}}}    # both sides have one valid time"]


def _hours(span: timedelta) -> str:
    return f"{span / timedelta(hours=1):g}"


def _matching_lines(draft: Draft, cycle: datetime) -> list[str]:
    """How the models are brought to the stations, where the defaults will not do."""
    lines = []
    shapes = [each.shape for each in draft.models.values() if each.shape]
    if any(len(each) == 1 for each in shapes):
        lines.append("  space: {how: inverse_distance, k: 5, power: 2}    # a mesh has no rows and columns")
    elif any(min(each) < 2 for each in shapes):
        lines.append("  space: nearest    # the grid has a single row or column")
    if draft.observed and not draft.paired:
        lines.append(
            "  time: {tolerance: 15 min}    # between a report and its valid time; at most half the model's step"
        )
        model = {height for each in draft.models.values() for height in each.heights}
        if model and any(abs(each - other) > 0.5 for each in draft.observed.heights for other in model):
            lines.append(
                "  height: as_is    # sensors at another height than the model: `log_law` with `roughness: 0.03 m`"
            )
    first, last = draft.overlap(cycle)
    end = min(last, first + DAY)
    count = max(len([time for time in each.times if first <= time <= end]) for each in draft.models.values())
    if count < 6:
        lines.append(f"  min_pairs: {count}    # the window has no more valid times; 6 for a whole day")
    return ["matching:", *lines] if lines else []


def _text(value: str) -> str:
    """Text as YAML takes it on one line."""
    return json.dumps(value, ensure_ascii=False)


def _comment(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)[:150]
