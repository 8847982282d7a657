"""A case: which models, which observations, which KPIs, how they are scored and weighed.

`read_case` checks the whole file before anything runs. Its shape is in `shape`; what a shape cannot say (names that
refer to each other, units, weights) is checked here, every mistake with its line. What comes out, `Case`, is bound:
numbers in the units that are kept, KPIs looked up, nothing left to parse.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from math import inf, isfinite
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ValidationError

from configs import paths, units
from configs.extraction import ExtractionRules, extraction_rules
from configs.impact import FirebenchNames, SeverityRules, StructureRules
from configs.rules import MatchingRules, Space
from configs.shape import CaseSection, KpiSection, WindowSection, in_words, meant
from configs.source import Location, Source, read_source
from configs.threat import threat_rules
from configs.units import convert, convert_difference, hours, split_quantity
from configs.window import LocalHours, Window
from metrics.errors import BadCase, FirecardError
from metrics.kpis.catalogue import KPIS
from metrics.kpis.kpi import Aggregate, Kpi, Rules
from metrics.kpis.threat import ThreatRules
from metrics.scoring.normalise import Normalisation, clean
from metrics.scoring.scorecard import Scheme
from metrics.severity import PRESETS, Classes
from metrics.variables import VARIABLES, Variable

SHORTEST, LONGEST = 1 / 3600, 10 * 366 * 24.0  # hours: a second and ten years, beyond which a window makes no sense
MOST = 100  # mistakes shown at once


@dataclass(frozen=True, slots=True)
class Instance:
    """A KPI bound by the case: nothing is left to choose (D-20)."""

    id: str
    name: str
    kpi: Kpi
    variable: Variable
    parameters: Mapping[str, float | None]
    normalisation: Normalisation
    aggregate: Aggregate
    window: Window

    @property
    def unit(self) -> str:
        """The unit of the KPI's value."""
        return self.variable.difference_unit if self.kpi.unit == "variable" else self.kpi.unit


@dataclass(frozen=True, slots=True)
class Data:
    """Where one side's data of a family lies, and what the case says about it."""

    path: str
    source: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """A model and its data by family."""

    name: str
    data: Mapping[str, Data]


@dataclass(frozen=True, slots=True)
class Case:
    """A checked case."""

    id: str
    title: str
    path: Path
    digest: str
    cycle: datetime | None
    models: tuple[Model, ...]
    observations: Mapping[str, Data]
    variables: Mapping[str, Variable]
    window: Window
    matching: MatchingRules
    rules: Rules
    instances: Mapping[str, Instance]
    groups: Mapping[str, tuple[str, ...]]
    schemes: Mapping[str, Scheme]
    strict: bool
    dask: str | None = None
    extraction: ExtractionRules = field(default_factory=ExtractionRules)
    severity: SeverityRules = field(default_factory=SeverityRules)
    structures: StructureRules = field(default_factory=StructureRules)
    threat: ThreatRules = field(default_factory=ThreatRules)
    firebench: FirebenchNames | None = None  # a result file of FireBench's form is written beside the card

    @property
    def root(self) -> Path:
        """What the paths in the case are relative to."""
        return self.path.parent

    @property
    def families(self) -> tuple[str, ...]:
        """The families that have a KPI in this case."""
        return tuple(dict.fromkeys(each.kpi.family for each in self.instances.values()))

    def instances_of(self, family: str) -> dict[str, Instance]:
        """The KPIs of one family."""
        return {name: each for name, each in self.instances.items() if each.kpi.family == family}

    def model(self, name: str) -> Model:
        """The model of this name; an error that lists the models where there is none."""
        for each in self.models:
            if each.name == name:
                return each
        known = ", ".join(each.name for each in self.models)
        raise BadCase(
            f"{self.path}: no model {name!r}{meant(name, [each.name for each in self.models])}; models: {known}"
        )

    def scheme(self, letter: str) -> Scheme:
        """The scheme of this letter; an error that lists the schemes where there is none."""
        if letter not in self.schemes:
            raise BadCase(f"{self.path}: no scheme {letter!r}; schemes: {', '.join(self.schemes)}")
        return self.schemes[letter]


def read_case(path: Path | str) -> Case:
    """The case in a YAML file; `BadCase` lists every mistake with its line."""
    source = read_source(Path(path))
    try:
        section = CaseSection.model_validate(source.data)
    except ValidationError as error:
        problems = _Problems(source)
        for location, message in islice(in_words(error), MOST):
            problems.add(location, message)
        raise problems.error() from None
    return _Binder(source, section).case()


@dataclass(slots=True)
class _Problems:
    """Mistakes as they are found; all of them are shown at once."""

    source: Source
    found: dict[str, int] = field(default_factory=dict)

    def add(self, location: Location, message: str) -> None:
        self.found[self.source.problem(location, message)] = self.source.line_of(location)

    def error(self) -> BadCase:
        shown = sorted(self.found, key=lambda text: self.found[text])[:MOST]
        return BadCase("\n".join([*shown, *(["(and perhaps more)"] if len(self.found) >= MOST else [])]))


class _Binder:
    """Binds a file of the right shape: looks up names, converts units, checks what refers to what."""

    def __init__(self, source: Source, section: CaseSection) -> None:
        self.source, self.section, self.problems = source, section, _Problems(source)

    def case(self) -> Case:
        section = self.section
        variables = self._variables()
        window = self._window(("window",), section.window, Window())
        instances = {
            name: instance
            for name, each in section.kpis.items()
            if (instance := self._instance(name, each, variables, window))
        }
        instances = self._with_unique_names(instances)
        groups = self._groups()
        schemes = self._schemes(groups)
        models = self._models()
        observations = self._data(("observations",), section.observations)
        matching = self._matching()
        cycle = self._cycle()
        severity, structures = self._severity(), self._structures()
        self._check_families(models, instances)
        extraction = extraction_rules(section.extraction, self.problems.add)
        threat = threat_rules(section.threat, models, observations, instances, self.problems.add)
        if self.problems.found:
            raise self.problems.error()
        return Case(
            id=section.case,
            title=section.title,
            path=self.source.path,
            cycle=cycle,
            digest=hashlib.sha256(self.source.text.encode()).hexdigest(),
            models=models,
            observations=observations,
            variables=variables,
            window=window,
            matching=matching,
            rules=Rules(
                **section.matching.model_dump(
                    include={"min_completeness", "min_pairs", "min_coverage", "missing_model"}
                )
            ),
            instances=instances,
            groups=groups,
            schemes=schemes,
            strict=section.strict,
            dask=section.dask,
            extraction=extraction,
            severity=severity,
            structures=structures,
            threat=threat,
            firebench=self._firebench(),
        )

    def _firebench(self) -> FirebenchNames | None:
        said, section = self.section.publish, self.section
        if not said.firebench:
            return None
        return FirebenchNames(said.case_name or section.title or section.case, said.short_name or section.case)

    def _cycle(self) -> datetime | None:
        """The cycle that the case is about, where it is about one only."""
        if self.section.cycle is None:
            return None
        try:
            return paths.moment(self.section.cycle)
        except FirecardError as error:
            self.problems.add(("cycle",), str(error))
            return None

    def _variables(self) -> dict[str, Variable]:
        """The variables by name, those of the case beside the known ones."""
        own = {}
        for name, each in self.section.variables.items():
            if name in VARIABLES:
                kept = VARIABLES[name].unit
                self.problems.add(
                    ("variables", name), f"{name} is known already (in {kept}): leave it out, or rename it"
                )
            try:
                units.check(each.unit)
            except FirecardError as error:
                self.problems.add(("variables", name, "unit"), str(error))
            own[name] = Variable(
                name,
                each.title or name.replace("_", " ").title(),
                each.unit,
                each.kind,
                lowest=-inf if each.lowest is None else each.lowest,
                highest=inf if each.highest is None else each.highest,
            )
        return own | VARIABLES

    def _models(self) -> tuple[Model, ...]:
        folders: dict[str, str] = {}
        keys: dict[str, str] = {}
        for name in self.section.models:
            folder, key = paths.folder_name(name).lower(), paths.artifact_key(name)
            if folder in folders:
                self.problems.add(("models", name), f"{name!r} and {folders[folder]!r} would write to the same folder")
            elif key in keys:
                self.problems.add(
                    ("models", name), f"{name!r} and {keys[key]!r} would have the same artifact key {key!r}"
                )
            folders[folder], keys[key] = name, name
        return tuple(Model(name, self._data(("models", name), each)) for name, each in self.section.models.items())

    def _data(self, place: Location, section: BaseModel) -> dict[str, Data]:
        """The data of each family that the section names."""
        found = {}
        for family, each in section:
            if each is None:
                continue
            self._check_path((*place, family, "path"), each.path)
            options = each.model_dump(exclude={"path", "source"})
            if options.get("wind_height") is not None:
                options["wind_height"] = self._number((*place, family, "wind_height"), options["wind_height"], "m")
            if options.get("stations"):
                self._check_path((*place, family, "stations"), options["stations"])
            if options.get("zone"):
                self._check_zone((*place, family, "zone"), options["zone"])
            found[family] = Data(each.path, each.source, options)
        return found

    def _check_path(self, place: Location, template: str) -> None:
        try:
            paths.check(template)
        except FirecardError as error:
            self.problems.add(place, str(error))

    def _check_zone(self, place: Location, name: str) -> None:
        try:
            ZoneInfo(name)
        except (KeyError, OSError, ValueError):  # no such zone, a folder of zones, or no name at all
            self.problems.add(place, f"unknown time zone {name!r}; expected one such as 'America/Denver' or 'UTC'")

    def _check_families(self, models: tuple[Model, ...], instances: Mapping[str, Instance]) -> None:
        """Every model has data of some family that the case scores."""
        wanted = {each.kpi.family for each in instances.values()}
        for model in models:
            if wanted and not wanted & model.data.keys():
                known = " or ".join(sorted(wanted))
                self.problems.add(
                    ("models", model.name), f"{model.name!r} has no data for the KPIs: expected `{known}:`"
                )

    def _matching(self) -> MatchingRules:
        section, place = self.section.matching, ("matching",)
        if isinstance(section.space, str):
            space = Space(section.space)
        else:
            given = section.space.model_dump()
            if given["max_distance"] is not None:
                given["max_distance"] = self._number((*place, "space", "max_distance"), given["max_distance"], "m")
            space = Space(**given)
        roughness = None
        if section.roughness is not None:
            roughness = self._number((*place, "roughness"), section.roughness, "m")
            if section.height == "as_is":
                self.problems.add((*place, "roughness"), "only the log law needs it: say `height: log_law` as well")
            elif roughness is not None and not 0 < roughness < 10:
                self.problems.add(
                    (*place, "roughness"), f"expected more than 0 and less than 10 m, got {roughness:g} m"
                )
        elif section.height == "log_law":
            self.problems.add((*place, "height"), "the log law needs `roughness`, such as `roughness: 0.03 m` (D-79)")
        return MatchingRules(
            space=space,
            tolerance=hours(section.time.tolerance),
            networks={name: hours(each) for name, each in section.time.networks.items()},
            interpolate_time=section.time.how == "linear",
            roughness=roughness,
            exclude=tuple(section.exclude),
        )

    def _severity(self) -> SeverityRules:
        section, place = self.section.severity, ("severity",)
        preset = PRESETS[section.classes]
        names = {}
        for code, name in section.names.items():
            if not (code.isascii() and code.isdigit() and len(code) <= 3):
                self.problems.add((*place, "names", code), f"expected the code of a class such as '4', got {code!r}")
            else:
                names[int(code)] = name
        if (section.domain == "polygon") != (section.polygon is not None):
            self.problems.add((*place, "domain"), "`domain: polygon` and `polygon: file.geojson` go together")
        try:
            classes = Classes(
                names=names or preset.names,
                high=preset.high if section.high is None else frozenset(section.high),
                unburned=preset.unburned & set(names or preset.names)
                if section.unburned is None
                else frozenset(section.unburned),
                nodata=preset.nodata - set(names) if section.nodata is None else frozenset(section.nodata),
                title="classes of the case" if names else preset.title,
            )
        except FirecardError as error:
            self.problems.add(place, str(error))
            classes = preset
        return SeverityRules(classes, section.domain, section.polygon, section.aligned)

    def _structures(self) -> StructureRules:
        section, place = self.section.structures, ("structures",)
        tolerance = self._number((*place, "tolerance"), section.tolerance, "m")
        if tolerance is not None and not 0 < tolerance <= 10_000:
            self.problems.add((*place, "tolerance"), f"expected more than 0 and at most 10 km, got {tolerance:g} m")
        if both := {each.casefold() for each in section.destroyed} & {each.casefold() for each in section.kept}:
            self.problems.add((*place, "kept"), f"{min(both)!r} cannot be both destroyed and kept")
        return StructureRules(
            tuple(section.destroyed), tuple(section.kept), section.join, tolerance or 30.0, section.missing
        )

    def _window(self, place: Location, section: WindowSection, default: Window) -> Window:
        """The section's window; what it does not say is as in `default`."""
        given = section.model_fields_set
        bound: dict[str, Any] = {"closed": section.closed} if "closed" in given else {}
        for name in ("hours", "offset", "first_lead", "step"):
            text = getattr(section, name) if name in given else None
            value = None if text is None else hours(text)
            if value is not None and name in ("hours", "step") and value < SHORTEST:
                self.problems.add((*place, name), f"expected more than 0, at least a second, got {text}")
            elif value is not None and value > LONGEST:
                self.problems.add((*place, name), f"expected at most {LONGEST:g} h, got {text}")
            elif value is not None:
                bound[name] = value
        if section.local:
            if section.hours is not None:
                self.problems.add((*place, "hours"), "`local` already says how long the window is: leave `hours` out")
            try:
                local = LocalHours.parse(section.local)
            except FirecardError as error:
                self.problems.add((*place, "local"), str(error))
            else:
                bound |= {"local": local, "hours": local.hours}
        window = replace(default, **bound)
        if window.empty:
            self.problems.add(
                (*place, "first_lead"), f"the window ends before its first lead of {window.first_lead:g} h"
            )
        return window

    def _window_of_kpi(self, place: Location, section: WindowSection, case: Window) -> Window:
        """A KPI's own window: a part of the case's, because pairs are matched for that one."""
        window = self._window(place, section, case)
        if not window.within(case):
            self.problems.add(place, f"reaches beyond the case's window ({case.hours:g} h): make that one longer")
        return window

    def _instance(
        self, name: str, section: KpiSection, variables: Mapping[str, Variable], window: Window
    ) -> Instance | None:
        place: Location = ("kpis", name)
        kpi = KPIS.get(section.kpi)
        if kpi is None:
            self.problems.add((*place, "kpi"), f"unknown KPI {section.kpi!r}{meant(section.kpi, KPIS)}")
            return None
        variable = self._variable(place, section, kpi, variables)
        if variable is None:
            return None
        parameters = self._parameters(place, section, kpi, variable)
        normalisation = self._normalisation(place, section, kpi, variable)
        if parameters is None or normalisation is None:
            return None
        title = kpi.title if kpi.variable or kpi.family != "weather" else f"{variable.title} {kpi.title}"
        if kpi.kind == "field":
            title = f"{variable.title}: {kpi.title}"
        if kpi.family == "extraction" and section.aggregate == "pooled":
            self.problems.add((*place, "aggregate"), "extraction KPIs are means over fields: leave `aggregate` out")
        if variable.reported_when:
            kpi = replace(kpi, conditional=True, note="only where stations report it")
        return Instance(
            id=name,
            name=section.name or title,
            kpi=kpi,
            variable=variable,
            parameters=parameters,
            normalisation=normalisation,
            aggregate=section.aggregate or kpi.aggregate,
            window=self._window_of_kpi((*place, "window"), section.window, window) if section.window else window,
        )

    def _variable(
        self, place: Location, section: KpiSection, kpi: Kpi, variables: Mapping[str, Variable]
    ) -> Variable | None:
        if kpi.kind == "field":
            return self._field(place, section)
        if kpi.family != "weather":
            if section.variable is not None:
                self.problems.add((*place, "variable"), f"{kpi.id} has no variable; leave it out")
            return Variable(kpi.family, kpi.family.title(), "1")
        if kpi.variable is not None:
            if section.variable not in (None, kpi.variable):
                self.problems.add(
                    (*place, "variable"), f"{kpi.id} is always about {kpi.variable}; leave `variable` out"
                )
            return variables[kpi.variable]
        fitting = [each.name for each in variables.values() if each.kind == kpi.kind]
        if section.variable is None:
            self.problems.add(place, f"{kpi.id} needs a `variable`: {', '.join(fitting)}")
            return None
        if section.variable not in variables:
            hint = meant(section.variable, fitting) or f"; known: {', '.join(fitting)}"
            self.problems.add((*place, "variable"), f"unknown variable {section.variable!r}{hint}")
            return None
        if section.variable not in fitting:
            self.problems.add(
                (*place, "variable"), f"{kpi.id} is for {kpi.kind} variables, {section.variable} is not one"
            )
            return None
        return variables[section.variable]

    def _field(self, place: Location, section: KpiSection) -> Variable | None:
        """The field that a KPI of a single field is about."""
        template = self.section.extraction.fields
        if section.variable is None:
            known = f": {', '.join(template)}" if template else ", the name of a field"
            self.problems.add(place, f"{section.kpi} needs a `variable`{known}")
            return None
        if template and section.variable not in template:
            hint = meant(section.variable, template) or f"; fields: {', '.join(template)}"
            self.problems.add((*place, "variable"), f"unknown field {section.variable!r}{hint}")
            return None
        return Variable(section.variable, section.variable, "1")

    def _parameters(
        self, place: Location, section: KpiSection, kpi: Kpi, variable: Variable
    ) -> dict[str, float | None] | None:
        known = {each.name: each for each in kpi.parameters}
        bound = {each.name: each.default for each in kpi.parameters}
        good = True
        for name, text in section.parameters.items():
            if name not in known:
                hint = meant(name, known) or f"; {kpi.id} has {', '.join(known) or 'no parameters'}"
                self.problems.add((*place, "parameters", name), f"unknown parameter {name!r}{hint}")
                good = False
                continue
            unit = variable.unit if known[name].unit == "variable" else known[name].unit
            value = self._number((*place, "parameters", name), text, unit)
            bound[name], good = value, good and value is not None
        for name, parameter in known.items():
            if parameter.required and name not in section.parameters:
                self.problems.add(place, f"{kpi.id} needs the parameter {name!r}: {parameter.meaning}")
                good = False
        return bound if good else None

    def _normalisation(
        self, place: Location, section: KpiSection, kpi: Kpi, variable: Variable
    ) -> Normalisation | None:
        unit = variable.difference_unit if kpi.unit == "variable" else kpi.unit
        if section.normalise is None:
            if isinstance(kpi.worst, str):
                self.problems.add(place, f"{kpi.id} needs `normalise`, such as {{kind: exponential, m: 5 {unit}}}")
                return None
            if kpi.worst > kpi.best:
                return Normalisation("linear", kpi.best, kpi.worst)  # 100 at the best, 0 at the worst (D-64)
            return Normalisation("bounded", kpi.worst, kpi.best)
        given = section.normalise
        upper = "b" if given.kind == "bounded" else "m"
        values: dict[str, float] = {"a": kpi.best if given.kind.startswith("symmetric") else 0.0}
        for key in ("a", "b", "m"):
            text = getattr(given, key)
            if text is None:
                continue
            if key not in ("a", upper):
                self.problems.add((*place, "normalise", key), f"{given.kind} has a and {upper}, not {key}")
                return None
            value = self._number((*place, "normalise", key), text, unit, difference=True)
            if value is None:
                return None
            values[key] = value
        if upper not in values:
            self.problems.add((*place, "normalise"), f"{given.kind} needs {upper!r}, such as {upper}: 5 {unit}")
            return None
        if kpi.signed and not given.kind.startswith("symmetric"):
            self.problems.add((*place, "normalise", "kind"), f"{kpi.id} is signed: use symmetric_{given.kind}")
            return None
        try:
            return Normalisation(given.kind, values["a"], values[upper])
        except FirecardError as error:
            self.problems.add((*place, "normalise", upper), str(error))
            return None

    def _number(self, place: Location, text: str | float, unit: str, *, difference: bool = False) -> float | None:
        """A quantity in the unit that is kept; a bare number has it already."""
        try:
            number, given = split_quantity(text)
            if given is not None and unit == "h":
                number = hours(text)
            elif given is not None:
                number = clean(float((convert_difference if difference else convert)(number, given, unit)))
        except FirecardError as error:
            self.problems.add(place, str(error))
            return None
        if not isfinite(number):
            self.problems.add(place, f"expected a finite number, got {text}")
            return None
        return number

    def _groups(self) -> dict[str, tuple[str, ...]]:
        if not self.section.groups:
            by_category: dict[str, tuple[str, ...]] = {}
            for name, each in self.section.kpis.items():
                if kpi := KPIS.get(each.kpi):
                    by_category[kpi.category] = (*by_category.get(kpi.category, ()), name)
            return by_category
        owner: dict[str, str] = {}
        for group, members in self.section.groups.items():
            for index, name in enumerate(members):
                place = ("groups", group, index)
                if name not in self.section.kpis:
                    self.problems.add(place, f"no KPI {name!r} in this case{meant(name, self.section.kpis)}")
                elif name in owner:
                    self.problems.add(place, f"{name} is already in group {owner[name]!r}; a KPI belongs to one group")
                owner[name] = group
        for name in self.section.kpis:
            if name not in owner:
                self.problems.add(("kpis", name), f"{name} is in no group")
        return {group: tuple(members) for group, members in self.section.groups.items()}

    def _schemes(self, groups: Mapping[str, tuple[str, ...]]) -> dict[str, Scheme]:
        schemes = {}
        for letter, section in self.section.schemes.items():
            if section == "mean":
                schemes[letter] = Scheme(letter, by_count=True)
                continue
            place: Location = ("schemes", letter)
            for what, named, known in (("groups", section.groups, groups), ("kpis", section.kpis, self.section.kpis)):
                for name in named:
                    if name not in known:
                        self.problems.add(
                            (*place, what, name), f"no such name in `{what}`: {name!r}{meant(name, known)}"
                        )
            scheme = schemes[letter] = Scheme(letter, kpis=section.kpis, groups=section.groups)
            weighing = [group for group in groups if scheme.group_weight(group) > 0]
            if groups and not weighing:
                self.problems.add((*place, "groups"), "all group weights are zero: nothing is left for the total")
            for group in weighing:
                if not any(scheme.kpi_weight(name) > 0 for name in groups[group]):
                    self.problems.add((*place, "kpis"), f"all weights in group {group!r} are zero")
        return schemes

    def _with_unique_names(self, instances: Mapping[str, Instance]) -> dict[str, Instance]:
        """Two instances of one KPI in a case are told apart by their ids (D-20, D-23)."""
        names = Counter(each.name for each in instances.values())
        unique = {
            key: each if names[each.name] == 1 else replace(each, name=f"{each.name} ({key})")
            for key, each in instances.items()
        }
        owner: dict[str, str] = {}
        for key, each in unique.items():
            if each.name in owner:
                self.problems.add(("kpis", key), f"{key} and {owner[each.name]} have the same name {each.name!r}")
            owner[each.name] = key
        return unique
