"""What a case says about extracted fields: the template, how values are compared, and when a sample is small."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from configs.shape import ExtractionSection
from configs.source import Location
from metrics.spelling import Comparison


@dataclass(frozen=True, slots=True)
class ExtractionRules:
    """The template's fields with how each is compared; none where it is that of the ground truth."""

    fields: Mapping[str, Comparison] = field(default_factory=dict)
    default: Comparison = field(default_factory=Comparison)
    small_sample: int = 30
    examples: int = 3

    def comparison(self, name: str) -> Comparison:
        return self.fields.get(name, self.default)


def extraction_rules(section: ExtractionSection, complain: Callable[[Location, str], None]) -> ExtractionRules:
    """The section, bound; an order of day and month is of use to dates and text only."""
    default = Comparison("text", section.dates)
    fields = {}
    for name, each in section.fields.items():
        if not name.strip():
            complain(("extraction", "fields", name), "expected the name of a field, got blanks")
        if isinstance(each, str):
            fields[name] = Comparison(each, section.dates)
            continue
        if each.compare == "number" and each.order is not None:
            complain(("extraction", "fields", name, "order"), "a number has no order of day and month: leave it out")
        fields[name] = Comparison(each.compare, each.order or section.dates)
    return ExtractionRules(fields, default, section.small_sample, section.examples)
