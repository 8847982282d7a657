"""The shape of a case file: which keys there are and what may stand behind them; and pydantic's complaints in words.

Published as a JSON schema (`schemas/case.json`), so that editors complete and check a case while it is written.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from configs.source import Location
from configs.units import HOURS
from metrics.kpis.catalogue import KPIS

NUMBER_WITH_UNIT = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*\S*.*$"
Quantity = Annotated[
    float | Annotated[str, Field(pattern=NUMBER_WITH_UNIT)],
    Field(description="A number with its unit, such as `8 m/s`; a bare number has the unit of the KPI."),
]
Duration = Annotated[
    Annotated[float, Field(ge=0)] | Annotated[str, Field(pattern=rf"^\s*[0-9.]+\s*({'|'.join(HOURS)})\s*$")],
    Field(description="A duration such as `15 min` or `6 h`; a bare number is hours."),
]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Section(BaseModel):
    """A part of the file: no key that is not known, nothing changed after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class DataFile(_Section):
    """Where data lies, relative to the case file."""

    path: str = Field(description="A file, or a pattern with * and {cycle:%Y%m%d%H}.", min_length=1)
    source: Literal["pairs"] | None = Field(None, description="The format, where it is not recognised.")
    name: str | None = Field(None, description="What the model is called in the file, if not as here.")


class ModelSection(_Section):
    """One model: its data by family."""

    weather: DataFile


class WindowSection(_Section):
    """Which valid times count, from the cycle."""

    hours: Duration | None = Field(None, description="Length; 24 unless `local` says.")
    offset: Duration = Field(0.0, description="From the cycle to the start.")
    first_lead: Duration = Field(0.0, description="Leads below this do not count.")
    closed: Literal["left", "both"] = Field("left", description="Is the end itself inside?")
    step: Duration | None = Field(None, description="The models' time step, where it is not read from the data.")
    local: str | None = Field(None, description="Hours of the day: `10:00-20:00 America/Los_Angeles, standard`.")


class MatchingSection(_Section):
    """When a pair, a station and a model count."""

    min_completeness: Annotated[float, Field(ge=0, le=1)] = Field(
        0.75, description="Pairs a station needs, of the steps."
    )
    min_pairs: Annotated[int, Field(ge=1)] = Field(6, description="Pairs a station needs for direction and gusts.")
    min_coverage: Annotated[float, Field(ge=0, le=1)] = Field(
        0.9, description="Share of asked forecasts a model needs."
    )
    missing_model: Literal["penalise", "drop"] = Field("penalise", description="Below that: score 0, or n/a.")


class NormaliseSection(_Section):
    """From value to score. Bounded: 0 at a, 100 at b. Others: 100 at a (the best); at m linear is 0, exponential 50."""

    kind: Literal["bounded", "linear", "exponential", "symmetric_linear", "symmetric_exponential"]
    a: Quantity | None = None
    b: Quantity | None = None
    m: Quantity | None = None


class KpiSection(_Section):
    """One KPI bound to a variable and parameters."""

    kpi: str = Field(description="An id of `firecard kpis`.", json_schema_extra={"enum": list(KPIS)})
    variable: str | None = None
    name: str | None = Field(None, description="The name in results, where the KPI's title will not do.", min_length=1)
    parameters: dict[str, Quantity] = Field(default_factory=dict)
    normalise: NormaliseSection | None = Field(None, description="May be left out for KPIs between 0 and 1.")
    aggregate: Literal["stations", "pooled"] | None = None
    window: WindowSection | None = None


class WeightsSection(_Section):
    """Weights of groups in the total and of KPIs in their group; every weight not named is 1."""

    groups: dict[str, Weight] = Field(default_factory=dict)
    kpis: dict[str, Weight] = Field(default_factory=dict)


class VariableSection(_Section):
    """A variable of the case's own."""

    unit: str
    title: str | None = None
    kind: Literal["scalar", "angle"] = "scalar"


Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")]
Letter = Annotated[str, Field(pattern=r"^[A-Z]$")]
SHORT_NAME = Annotated[str, Field(min_length=1, max_length=80)]


class CaseSection(_Section):
    """A case file."""

    case: Identifier = Field(description="Short id, letters, digits, - and _.")
    title: str = ""
    models: Annotated[dict[SHORT_NAME, ModelSection], Field(min_length=1)]
    window: WindowSection = WindowSection()
    matching: MatchingSection = MatchingSection()
    variables: dict[Identifier, VariableSection] = Field(default_factory=dict)
    kpis: Annotated[dict[Identifier, KpiSection], Field(min_length=1)]
    groups: dict[SHORT_NAME, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    schemes: dict[Letter, Literal["mean"] | WeightsSection] = {"A": "mean"}
    strict: bool = Field(False, description="A KPI without a value fails the run instead of marking the card partial.")


def meant(name: str, known: Iterable[str]) -> str:
    """`: did you mean …?` where something known is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f": did you mean {close[0]!r}?" if close else ""


def in_words(error: ValidationError) -> list[tuple[Location, str]]:
    """Where and what of pydantic's errors, for somebody who has never heard of pydantic."""
    errors = error.errors(include_url=False)
    # Of a choice between a word and a section, only the complaint about what was meant is of use.
    meant_section = [
        each for each in errors if not (each["type"] == "literal_error" and isinstance(each["input"], dict))
    ]
    return [
        _one_in_words(each) for each in meant_section if each["type"] not in ("model_type", "model_attributes_type")
    ] or [_one_in_words(each) for each in errors]


def _one_in_words(error: Any) -> tuple[Location, str]:
    location = tuple(part for part in error["loc"] if not _is_tag(part))
    given = error.get("input")
    shown = repr(given) if isinstance(given, str | int | float | bool) else f"a {_yaml_kind(given)}"
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return location[:-1], f"the key {location[-1]!r} is missing"
        case "extra_forbidden":
            known = _keys_at(location[:-1])
            return (
                location,
                f"unknown key {location[-1]!r}{meant(str(location[-1]), known) or '; known: ' + ', '.join(known)}",
            )
        case "literal_error":
            choices = [text.strip("'") for text in context["expected"].replace(" or ", ", ").split(", ")]
            return location, f"expected {context['expected']}, got {shown}{meant(str(given), choices)}"
        case "string_pattern_mismatch":
            return location, f"{_expected_pattern(context['pattern'])}, got {shown}"
        case "model_type" | "dict_type" | "model_attributes_type":
            keys = _keys_at(location)
            return location, f"expected a mapping{' with ' + ', '.join(keys) if keys else ''}, got {shown}"
        case "too_short" if not given:
            return location, "must not be empty"
    return location, f"{error['msg'][0].lower()}{error['msg'][1:]}, got {shown}"


def _is_tag(part: Any) -> bool:
    """Pydantic puts the tried member of a union into the place of an error; a case file has no such key."""
    return isinstance(part, str) and (part.startswith(("constrained-", "literal[", "function-")) or part in _TAGS)


_TAGS = {"float", "str", "int", "[key]", "WeightsSection"}


def _yaml_kind(value: Any) -> str:
    return {dict: "mapping", list: "list", type(None): "blank"}.get(type(value), type(value).__name__)


def _expected_pattern(pattern: str) -> str:
    if pattern == NUMBER_WITH_UNIT:
        return "expected a number with a unit such as '8 m/s'"
    if "min" in pattern:
        return "expected a duration such as '15 min' or '6 h'"
    if pattern == r"^[A-Z]$":
        return "expected one capital letter"
    return "expected letters, digits, - and _ (at most 40)"


def _keys_at(location: Location) -> list[str]:
    """The keys that a section of the file may have."""
    kind: Any = CaseSection
    for part in location:
        kind = _section_of(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[str(part)].annotation if str(part) in kind.model_fields else None
        elif get_origin(kind) is dict:
            kind = get_args(kind)[1]
    kind = _section_of(kind)
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []


def _section_of(kind: Any) -> Any:
    """The section inside `Annotated[…]` or `… | None`."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        members = [each for each in get_args(kind) if each is not type(None)]
        sections = [each for each in members if isinstance(each, type) and issubclass(each, BaseModel)]
        kind = (sections or members)[0]
    return kind


def case_schema() -> dict[str, Any]:
    """The JSON schema of a case file, for editors."""
    schema = CaseSection.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "firecard case"}
