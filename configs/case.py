"""A case: which models, which observations, which KPIs, how they are scored and weighed.

`read_case` checks the whole file before anything runs. Its shape is in `shape`; what a shape cannot say (names that
refer to each other, units, weights) is checked here, every mistake with its line. What comes out, `Case`, is bound:
numbers in the units that are kept, KPIs looked up, nothing left to parse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from configs import paths
from configs.shape import CaseSection, KpiSection, WindowSection, in_words, meant
from configs.source import Location, Source, read_source
from configs.units import convert, convert_difference, hours, split_quantity
from configs.window import LocalHours, Window
from metrics.errors import BadCase, FirecardError
from metrics.kpis.catalogue import KPIS
from metrics.kpis.kpi import Aggregate, Kpi, Rules
from metrics.scoring.normalise import Normalisation, clean
from metrics.scoring.scorecard import Scheme
from metrics.variables import VARIABLES, Variable


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
class ModelFiles:
    """A model's name in the case and in its file, and the pattern of its files."""

    name: str
    path: str
    name_in_file: str


@dataclass(frozen=True, slots=True)
class Case:
    """A checked case."""

    id: str
    title: str
    path: Path
    digest: str
    models: tuple[ModelFiles, ...]
    variables: Mapping[str, Variable]
    window: Window
    rules: Rules
    instances: Mapping[str, Instance]
    groups: Mapping[str, tuple[str, ...]]
    schemes: Mapping[str, Scheme]
    strict: bool

    @property
    def root(self) -> Path:
        """What the paths in the case are relative to."""
        return self.path.parent

    def model(self, name: str) -> ModelFiles:
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
        for location, message in in_words(error):
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
        return BadCase("\n".join(sorted(self.found, key=lambda text: self.found[text])))


class _Binder:
    """Binds a file of the right shape: looks up names, converts units, checks what refers to what."""

    def __init__(self, source: Source, section: CaseSection) -> None:
        self.source, self.section, self.problems = source, section, _Problems(source)

    def case(self) -> Case:
        section = self.section
        variables = VARIABLES | {
            name: Variable(name, each.title or name.replace("_", " ").title(), each.unit, each.kind)
            for name, each in section.variables.items()
        }
        window = self._window(("window",), section.window, Window())
        instances = {
            name: instance
            for name, each in section.kpis.items()
            if (instance := self._instance(name, each, variables, window))
        }
        groups = self._groups(instances)
        schemes = self._schemes(groups)
        models = self._models()
        if self.problems.found:
            raise self.problems.error()
        return Case(
            id=section.case,
            title=section.title,
            path=self.source.path,
            digest=hashlib.sha256(self.source.text.encode()).hexdigest(),
            models=models,
            variables=variables,
            window=window,
            rules=Rules(**section.matching.model_dump()),
            instances=self._with_unique_names(instances),
            groups=groups,
            schemes=schemes,
            strict=section.strict,
        )

    def _models(self) -> tuple[ModelFiles, ...]:
        folders: dict[str, str] = {}
        for name, each in self.section.models.items():
            folder = paths.folder_name(name).lower()
            if folder in folders:
                self.problems.add(("models", name), f"{name!r} and {folders[folder]!r} would write to the same folder")
            folders[folder] = name
            try:
                paths.check(each.weather.path)
            except FirecardError as error:
                self.problems.add(("models", name, "weather", "path"), str(error))
        return tuple(
            ModelFiles(name, each.weather.path, each.weather.name or name) for name, each in self.section.models.items()
        )

    def _window(self, place: Location, section: WindowSection, default: Window) -> Window:
        try:
            local = LocalHours.parse(section.local) if section.local else default.local
        except FirecardError as error:
            self.problems.add((*place, "local"), str(error))
            return default
        if section.local and section.hours is not None:
            self.problems.add((*place, "hours"), "`local` already says how long the window is: leave `hours` out")
        step = hours(section.step) if section.step is not None else default.step
        for name, given in (("step", section.step), ("hours", section.hours)):
            if given is not None and hours(given) <= 0:
                self.problems.add((*place, name), f"expected more than 0, got {given}")
        return Window(
            hours=local.hours if local else hours(section.hours) if section.hours is not None else default.hours,
            offset=hours(section.offset),
            first_lead=hours(section.first_lead),
            closed=section.closed,
            step=step,
            local=local,
        )

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
        title = kpi.title if kpi.variable else f"{variable.title} {kpi.title}"
        if variable.reported_when:
            kpi = replace(kpi, conditional=True, note="where reported")
        return Instance(
            id=name,
            name=section.name or title,
            kpi=kpi,
            variable=variable,
            parameters=parameters,
            normalisation=normalisation,
            aggregate=section.aggregate or kpi.aggregate,
            window=self._window((*place, "window"), section.window, window) if section.window else window,
        )

    def _variable(
        self, place: Location, section: KpiSection, kpi: Kpi, variables: Mapping[str, Variable]
    ) -> Variable | None:
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
            if given is None:
                return number
            if unit == "h":
                return hours(text)
            return clean(float((convert_difference if difference else convert)(number, given, unit)))
        except FirecardError as error:
            self.problems.add(place, str(error))
            return None

    def _groups(self, instances: Mapping[str, Instance]) -> dict[str, tuple[str, ...]]:
        if not self.section.groups:
            by_category: dict[str, tuple[str, ...]] = {}
            for name, instance in instances.items():
                by_category[instance.kpi.category] = (*by_category.get(instance.kpi.category, ()), name)
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
        if not schemes:
            self.problems.add(("schemes",), "must not be empty")
        return schemes

    def _with_unique_names(self, instances: Mapping[str, Instance]) -> dict[str, Instance]:
        """Two instances of one KPI in a case are told apart by their ids (D-20, D-23)."""
        names = [each.name for each in instances.values()]
        return {
            key: each if names.count(each.name) == 1 else replace(each, name=f"{each.name} ({key})")
            for key, each in instances.items()
        }
