"""The shape of a case file: which keys there are and what may stand behind them; and pydantic's complaints in words.

Published as a JSON schema (`schemas/case.schema.json`), so that editors complete and check a case while it is written.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from configs import formats
from configs.source import Location, plain
from configs.units import HOURS
from metrics.kpis.catalogue import KPIS

NUMBER_WITH_UNIT = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*\S*.*$"
PLACE = r"^(auto|loop|threads|processes|tcp://.+:[0-9]+)$"  # to compute
# Strict: `true` is no number and `yes` is not true, neither here nor in the schema that an editor reads.
Number = Annotated[float, Field(strict=True)]
Switch = Annotated[bool, Field(strict=True)]
Quantity = Annotated[
    Number | Annotated[str, Field(pattern=NUMBER_WITH_UNIT)],
    Field(description="A number with its unit, such as `8 m/s`; a bare number has the unit of the KPI."),
]
Duration = Annotated[
    Annotated[Number, Field(ge=0)]
    | Annotated[str, Field(pattern=rf"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*({'|'.join(HOURS)})\s*$")],
    Field(description="A duration such as `15 min` or `6 h`; a bare number is hours."),
]
Weight = Annotated[Number, Field(ge=0, allow_inf_nan=False)]


if TYPE_CHECKING:
    ModelSource: TypeAlias = str
    StationSource: TypeAlias = str
else:
    ModelSource, StationSource = Literal[formats.names(formats.MODEL)], Literal[formats.names(formats.OBSERVED)]


class _Section(BaseModel):
    """A part of the file: no key that is not known, nothing changed after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class DataFile(_Section):
    """Where data lies, relative to the case file."""

    path: str = Field(description="A file, or a pattern with * and {cycle:%Y%m%d%H}.", min_length=1)


class WeatherFile(DataFile):
    """Gridded model output, forecasts at stations, or matched pairs."""

    source: ModelSource | None = Field(None, description="The format, where it is not recognised.")
    name: str | None = Field(None, description="What the model is called in a table of pairs, if not as here.")
    winds: Literal["earth", "grid"] | None = Field(None, description="What u and v are relative to, if no file says.")
    names: dict[str, str] = Field(default_factory=dict, description="Names in the file: {wind_gust: GUST10, u: U_10M}.")
    wind_height: Quantity | None = Field(None, description="Height of the wind above ground, if no file says.")


class StationFile(DataFile):
    """Reports of stations."""

    source: StationSource | None = Field(None, description="The format, where it is not recognised.")
    names: dict[str, str] = Field(
        default_factory=dict,
        description='Names in the file: {time: when, wind_gust: "peak"}, or "peak [kt]" for a unit.',
    )
    stations: str | None = Field(
        None, description="A table of stations (station, lat, lon), where the data does not say.", min_length=1
    )
    zone: str | None = Field(None, description="Time zone of times that have none, such as America/Denver.")
    trusted: Switch = Field(
        False, description="Of a FireBench file, only variables whose sensor's height was verified."
    )


ClassCode = Annotated[int, Field(ge=0, le=255, strict=True)]


class SeverityFile(DataFile):
    """A raster of severity classes."""

    source: Literal["geotiff", "netcdf", "zarr", "firebench", "array"] | None = Field(
        None, description="The format, where it is not recognised."
    )
    variable: str | None = Field(
        None, description="The variable of a NetCDF file or Zarr store that has several; the group of a FireBench file."
    )
    band: Annotated[int, Field(ge=1, strict=True)] = Field(1, description="The band of a GeoTIFF.")
    positions: Literal["centres", "corners"] = Field(
        "centres",
        description="What the positions of a FireBench file are of; FireBench 0.10 writes upper left corners.",
    )


class BuildingsFile(DataFile):
    """Buildings with their damage: a table, GeoJSON, or a model's raster, looked up at the observed buildings."""

    source: Literal["table", "geojson", "firebench", "raster"] | None = Field(
        None, description="The format, where it is not recognised."
    )
    names: dict[str, str] = Field(default_factory=dict, description="Names in the file: {id: GLOBALID}.")
    variable: str | None = Field(None, description="The variable of a raster that has several.")
    band: Annotated[int, Field(ge=1, strict=True)] = Field(1, description="The band of a GeoTIFF.")
    destroyed: list[ClassCode] = Field(default_factory=lambda: [4], description="Classes of a raster that destroy.")


class TruthFile(DataFile):
    """A table of the right values of documents: a row a document, or a row a document and field."""

    source: Literal["csv", "parquet", "jsonl", "json"] | None = Field(
        None, description="The format, where it is not recognised."
    )
    layout: Literal["long", "wide"] | None = Field(
        None, description="Columns document, field, value; or a column a field. Where it is not recognised."
    )
    document: str = Field("document", description="The column with the documents' ids.", min_length=1)
    status: str = Field("status", description="The column that says pending, error or ok.", min_length=1)


class PredictionFile(TruthFile):
    """A table of the values that a model extracted from documents."""

    name: str | None = Field(None, description="What the model is called in the table, if not as here.")


HORIZON = rf"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*({'|'.join(HOURS)})?\s*$"
Horizon = Annotated[str, Field(pattern=HORIZON)]
Column = Annotated[str, Field(min_length=1)]


class ThreatFile(DataFile):
    """A table of probabilities that a fire hits by each horizon, a row a fire."""

    source: Literal["csv", "parquet", "jsonl"] | None = Field(
        None, description="The format, where it is not recognised."
    )
    id: Column = Field(description="The column with the fires' ids.")
    probabilities: Annotated[dict[Horizon, Column], Field(min_length=1)] = Field(
        description="The column of each horizon: {12: prob_12h, 24 h: prob_24h}; a bare number is hours."
    )


class OutcomesFile(DataFile):
    """A table of what became of fires, a row a fire."""

    source: Literal["csv", "parquet", "jsonl"] | None = Field(
        None, description="The format, where it is not recognised."
    )
    id: Column = Field(description="The column with the fires' ids.")
    time: Column = Field(description="The column with the time to the hit, or to the end of watching.")
    event: Column = Field(description="The column that says whether the fire hit: 1 or 0, true or false.")
    unit: Literal["h", "min", "s", "d"] = Field(description="The unit of that time.")


class ModelSection(_Section):
    """One model: its data by family."""

    weather: WeatherFile | None = None
    severity: SeverityFile | None = None
    structures: BuildingsFile | None = None
    extraction: PredictionFile | None = None
    threat: ThreatFile | None = None


class ObservationsSection(_Section):
    """What the models are compared with, by family; tables of pairs bring it along."""

    weather: StationFile | None = None
    severity: SeverityFile | None = None
    structures: BuildingsFile | None = None
    extraction: TruthFile | None = None
    threat: OutcomesFile | None = None


class WindowSection(_Section):
    """Which valid times count, from the cycle."""

    hours: Duration | None = Field(None, description="Length; 24 unless `local` says.")
    offset: Duration = Field(0.0, description="From the cycle to the start.")
    first_lead: Duration = Field(0.0, description="Leads below this do not count.")
    closed: Literal["left", "both"] = Field("left", description="Is the end itself inside?")
    step: Duration | None = Field(None, description="The models' time step, where it is not read from the data.")
    local: str | None = Field(None, description="Hours of the day: `10:00-20:00 America/Los_Angeles, standard`.")


class SpaceSection(_Section):
    """From grid points to a station."""

    how: Literal["bilinear", "nearest", "inverse_distance"] = "bilinear"
    k: Annotated[int, Field(ge=1, le=64, strict=True)] = Field(5, description="Points of the inverse distance.")
    power: Annotated[Number, Field(gt=0, le=10)] = Field(2.0, description="Power of the inverse distance.")
    metric: Literal["great_circle", "planar"] = Field(
        "great_circle", description="Distance on the globe or in degrees."
    )
    max_distance: Quantity | None = Field(None, description="Farther than this from the nearest point is outside.")


class TimeSection(_Section):
    """Which report belongs to which valid time."""

    how: Literal["nearest", "linear"] = Field("nearest", description="Nearest report, or model linear to each report.")
    tolerance: Duration = Field(0.25, description="Between a report and its valid time; at most half the step.")
    networks: dict[str, Duration] = Field(default_factory=dict, description="Tolerance of a network of stations.")


class MatchingSection(_Section):
    """How models are brought to the observations, and when a pair, a station and a model count."""

    space: Literal["bilinear", "nearest", "inverse_distance"] | SpaceSection = Field(
        "bilinear", description="From grid points to a station."
    )
    time: TimeSection = TimeSection()
    height: Literal["as_is", "log_law"] = Field(
        "as_is", description="Winds of another height than the sensor's (D-79)."
    )
    roughness: Quantity | None = Field(None, description="Roughness length z0 of the log law, such as `0.03 m`.")
    exclude: list[str] = Field(default_factory=list, description="Stations that are never used.")

    min_completeness: Annotated[Number, Field(ge=0, le=1)] = Field(
        0.75, description="Pairs a station needs, of the steps."
    )
    min_pairs: Annotated[int, Field(ge=1, strict=True)] = Field(
        6, description="Pairs a station needs for direction and gusts."
    )
    min_coverage: Annotated[Number, Field(ge=0, le=1)] = Field(
        0.9, description="Share of asked forecasts a model needs."
    )
    missing_model: Literal["penalise", "drop"] = Field("penalise", description="Below that: score 0, or n/a.")


class SeveritySection(_Section):
    """What the classes of severity maps mean, and which cells count (D-15)."""

    classes: Literal["mtbs", "ravg", "sbs"] = Field("mtbs", description="The table of classes.")
    names: dict[str, str] = Field(default_factory=dict, description='Classes of the case\'s own: {"0": outside}.')
    high: list[ClassCode] | None = Field(None, description="Classes of high severity; 4 unless said.")
    unburned: list[ClassCode] | None = Field(None, description="Classes outside the fire; 0 (MTBS: and 5) unless said.")
    nodata: list[ClassCode] | None = Field(None, description="Classes that say nothing; MTBS 6, RAVG 9 unless said.")
    domain: Literal["union", "all", "polygon"] = Field("union", description="Which cells count.")
    polygon: str | None = Field(None, description="GeoJSON file, relative to the case file.", min_length=1)
    aligned: Switch = Field(False, description="Rasters without georeference lie on the same cells.")


class StructuresSection(_Section):
    """Which damage counts as destroyed, and how buildings are joined (D-15)."""

    destroyed: list[str] = Field(["Major", "Destroyed"], description="Damage classes that count as destroyed.")
    kept: list[str] = Field(["No Damage", "Affected", "Minor"], description="Damage classes that do not.")
    join: Literal["auto", "id", "position"] = Field("auto", description="By id, or one to one by position.")
    tolerance: Quantity = Field(30.0, description="Largest distance of a join by position, in metres.")
    missing: Literal["left_out", "not_destroyed"] = Field("left_out", description="A building without a prediction.")


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
    lowest: Number | None = Field(None, description="Anything below is impossible, a fill value say.")
    highest: Number | None = Field(None, description="Anything above is impossible.")


class FieldSection(_Section):
    """One field of the template: how its values are compared."""

    compare: Literal["text", "date", "number"] = "text"
    order: Literal["month_first", "day_first"] | None = Field(None, description="Of 01/02/2024, if not as in `dates`.")


class ExtractionSection(_Section):
    """Fields extracted from documents."""

    fields: dict[
        Annotated[str, Field(min_length=1, max_length=80)], Literal["text", "date", "number"] | FieldSection
    ] = Field(default_factory=dict, description="The template; where empty, the fields of the ground truth.")
    dates: Literal["month_first", "day_first"] = Field("month_first", description="How 01/02/2024 is read.")
    small_sample: Annotated[int, Field(ge=0, strict=True)] = Field(
        30, description="Fewer classified documents than this are flagged."
    )
    examples: Annotated[int, Field(ge=0, le=50, strict=True)] = Field(
        3, description="Examples of each kind of answer that are shown of a field."
    )


class HybridSection(_Section):
    """Weights of the two parts of the hybrid score."""

    c_index: Weight = 0.3
    brier: Weight = 0.7


class ThreatSection(_Section):
    """How forecasts of fire threat are scored."""

    horizons: Annotated[dict[Horizon, Weight], Field(min_length=1)] = Field(
        {"24": 0.3, "48": 0.4, "72": 0.3}, description="Weight of each horizon in the Brier score; a number is hours."
    )
    risk_horizon: Duration = Field(12.0, description="Whose probability orders the fires (D-54).")
    pairing: Literal["all", "harrell"] = Field(
        "all", description="Is a hit compared with every censored fire, or with those watched as long (D-51)?"
    )
    weights: HybridSection = HybridSection()
    penalty: Annotated[Number, Field(ge=0, le=1)] = Field(
        1.0, description="What falling probabilities cost: the hybrid times 1 minus this times their share (D-58)."
    )
    repair: Literal["none", "sort"] = Field("none", description="Sort falling probabilities before scoring (D-59).")
    unmatched: Literal["refuse", "leave_out"] = Field(
        "refuse", description="A fire on one side only: an error, or left out and counted."
    )


class PublishSection(_Section):
    """What is written beside the card."""

    firebench: Switch = Field(False, description="`firebench.json`: the card in the form of FireBench's result file.")
    case_name: str | None = Field(None, description="`case_name` in it; the title unless said.", min_length=1)
    short_name: str | None = Field(
        None, description="`benchmark_short_name` in it; the case's id unless said.", min_length=1
    )


Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")]
Letter = Annotated[str, Field(pattern=r"^[A-Z]$")]
SHORT_NAME = Annotated[str, Field(min_length=1, max_length=80)]


class CaseSection(_Section):
    """A case file."""

    case: Identifier = Field(description="Short id, letters, digits, - and _.")
    title: str = ""
    cycle: str | None = Field(None, description="The one cycle that the case is about (UTC), such as 2021-08-14T00.")
    models: Annotated[dict[SHORT_NAME, ModelSection], Field(min_length=1)]
    observations: ObservationsSection = ObservationsSection()
    window: WindowSection = WindowSection()
    matching: MatchingSection = MatchingSection()
    severity: SeveritySection = SeveritySection()
    structures: StructuresSection = StructuresSection()
    variables: dict[Identifier, VariableSection] = Field(default_factory=dict)
    kpis: Annotated[dict[Identifier, KpiSection], Field(min_length=1)]
    groups: dict[SHORT_NAME, Annotated[list[str], Field(min_length=1)]] = Field(default_factory=dict)
    schemes: Annotated[dict[Letter, Literal["mean"] | WeightsSection], Field(min_length=1)] = {"A": "mean"}
    extraction: ExtractionSection = ExtractionSection()
    threat: ThreatSection = ThreatSection()
    publish: PublishSection = PublishSection()
    dask: Annotated[str, Field(pattern=PLACE)] | None = Field(
        None,
        description="Where to compute, unless --dask or FIRECARD_DASK says: auto, loop, threads, processes, tcp://…",
    )
    strict: Switch = Field(
        False, description="A KPI without a value fails the run instead of marking the card partial."
    )


def meant(name: str, known: Iterable[str]) -> str:
    """`: did you mean …?` where something known is close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f": did you mean {close[0]!r}?" if close else ""


def in_words(error: ValidationError) -> Iterator[tuple[Location, str]]:
    """Where and what of pydantic's errors, for somebody who has never heard of pydantic."""
    tried: dict[tuple[Location, bool], list[Any]] = {}
    for each in error.errors(include_url=False):
        place = tuple(part for part in each["loc"] if not _is_tag(part))
        tried.setdefault((place, each["loc"][-1:] == ("[key]",)), []).append(each)
    above = {place[:length] for place, _ in tried for length in range(len(place))}
    for (place, _), errors in tried.items():
        # Of a choice between a word and a section, only the complaint about what was meant is of use.
        wrong_word = all(each["type"] == "literal_error" and isinstance(each["input"], dict) for each in errors)
        if not (wrong_word and place in above):
            yield _one_in_words(place, errors)


def _one_in_words(location: Location, errors: list[Any]) -> tuple[Location, str]:
    """One complaint about one place, whichever members of a union were tried there."""
    error = min(errors, key=lambda each: ("_type" in each["type"], each["type"] == "string_type"))
    kinds = {each["type"] for each in errors}
    given = error.get("input")
    shown = _shown(given)
    context = error.get("ctx", {})
    if {"float_type", "string_type"} <= kinds:
        return location, f"{DURATION if {'window', 'time', 'risk_horizon'} & set(location) else QUANTITY}, got {shown}"
    match error["type"]:
        case "missing":
            return location[:-1], f"the key {location[-1]!r} is missing"
        case "extra_forbidden":
            known = _keys_at(location[:-1])
            name = str(location[-1])
            return location, f"unknown key {_shown(name)}{meant(name, known) or '; known: ' + ', '.join(known)}"
        case "literal_error":
            choices = [text.strip("'") for text in context["expected"].replace(" or ", ", ").split(", ")]
            section = f" or a mapping with {', '.join(_keys_at(location))}" if "model_type" in kinds else ""
            return location, f"expected {context['expected']}{section}, got {shown}{meant(str(given)[:80], choices)}"
        case "string_pattern_mismatch":
            return location, f"{_expected_pattern(context['pattern'])}, got {shown}"
        case "model_type" | "dict_type":
            keys = _keys_at(location)
            return location, f"expected a mapping{' with ' + ', '.join(keys) if keys else ''}, got {shown}"
        case "too_short" if not given:
            return location, "must not be empty"
        case "string_type" if isinstance(given, int | float):
            return location, f"expected text, got {shown}; put it in quotes"
        case kind if kind in _WORDS:
            return location, f"{_WORDS[kind].format(**context)}, got {shown}"
    return location, f"{error['msg'][0].lower()}{error['msg'][1:]}, got {shown}"


QUANTITY = "expected a number with a unit such as '8 m/s'"
DURATION = "expected a duration such as '15 min' or '6 h'"
_WORDS = {
    "string_type": "expected text",
    "float_type": "expected a number",
    "int_type": "expected a whole number",
    "bool_type": "expected true or false",
    "list_type": "expected a list",
    "finite_number": "expected a finite number",
    "greater_than_equal": "expected {ge:g} or more",
    "less_than_equal": "expected {le:g} or less",
    "string_too_short": "expected a name",
    "string_too_long": "expected at most {max_length} characters",
}


def _shown(given: Any) -> str:
    """What stands in the file, in a few words."""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, str | int | float):
        return plain(repr(given), 80)
    return f"a {_yaml_kind(given)}"


def _is_tag(part: Any) -> bool:
    """Pydantic puts the tried member of a union into the place of an error; a case file has no such key."""
    return isinstance(part, str) and (part.startswith(("constrained-", "literal[", "function-")) or part in _TAGS)


_TAGS = {"float", "str", "int", "[key]", "WeightsSection", "SpaceSection", "FieldSection"}


def _yaml_kind(value: Any) -> str:
    return {dict: "mapping", list: "list", type(None): "blank"}.get(type(value), type(value).__name__)


def _expected_pattern(pattern: str) -> str:
    if pattern == NUMBER_WITH_UNIT:
        return QUANTITY
    if "min" in pattern:
        return DURATION
    if pattern == PLACE:
        return "expected auto, loop, threads, processes or tcp://host:port"
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
    for each in (
        found for section in (schema, *schema["$defs"].values()) for found in section.get("properties", {}).values()
    ):
        if "patternProperties" in each:
            each["additionalProperties"] = False  # a name that does not fit the pattern is as wrong here as it is to us
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "firecard case"}
