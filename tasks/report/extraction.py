"""What a card and a ranking show of extracted fields: metrics by field, checks, examples, winners and wrong values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metrics.extraction import METRIC_NAMES, Check, ExtractionSums
from metrics.scoring.normalise import clean
from metrics.scoring.ranking import BADGES, TITLES, Ranking, colour, percent, tier, wins_text
from tasks.matching.extraction import Example
from tasks.report.markdown import escape

SIGNS = {"green": "🟢", "yellow": "🟡", "red": "🔴", "blue": "🔵"}
KIND_NAMES = {
    "tp": "right value",
    "tn": "rightly absent",
    "fp": "value where there is none",
    "fn": "missed",
    "wrong": "wrong value (FP and FN)",
    "excluded": "pending or error",
}
SHOWN = ("f1", "precision", "recall", "accuracy")


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field of one model: how it was compared, its counts and its metrics."""

    name: str
    compare: str
    counts: Mapping[str, int]
    metrics: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ModelFields:
    """All fields of one model, with what qualifies them."""

    rows: tuple[FieldRow, ...]
    averages: Mapping[str, float]
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    examples: tuple[Example, ...]
    truth: tuple[Mapping[str, str], ...]

    @property
    def averaged(self) -> int:
        """Fields that enter the averages (D-35)."""
        return sum(row.counts["n"] > 0 for row in self.rows)


def warnings(fields: Sequence[str], counts: ExtractionSums, small_sample: int) -> list[str]:
    """What to know before the numbers are trusted: fields without a classified document, and small samples (D-41)."""
    said = []
    empty = [name for name, n in zip(fields, counts.n, strict=True) if not n]
    if empty and len(empty) == len(fields):
        return ["no field has a classified document: every metric is 0 %"]
    if empty:
        left = len(fields) - len(empty)
        said.append(f"averaged over {left} of {len(fields)} fields: no classified document in {_some(empty)}")
    small = [f"{name} {int(n)}" for name, n in zip(fields, counts.n, strict=True) if 0 < n < small_sample]
    if small:
        said.append(
            f"small sample: fewer than {small_sample} classified documents in {len(small)} of {len(fields)}"
            f" fields ({_some(small)})"
        )
    return said


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def card_section(model: ModelFields) -> dict[str, Any]:
    """A model's fields as plain data."""
    return {
        "ground_truth": [dict(each) for each in model.truth],
        "overall": _metrics(model.averages),
        "averaged": {"fields": model.averaged, "of": len(model.rows)},
        "fields": [_field(row) for row in model.rows],
        "checks": [
            {"rule": each.rule, "text": each.text, "passed": each.passed, "broken": list(each.broken)}
            for each in model.checks
        ],
        "warnings": list(model.warnings),
        "examples": [
            {
                "field": each.field,
                "kind": each.kind,
                "meaning": KIND_NAMES[each.kind],
                "document": each.document,
                "truth": each.truth,
                "prediction": each.prediction,
            }
            for each in model.examples
        ],
    }


def _metrics(metrics: Mapping[str, float]) -> dict[str, Any]:
    """The four metrics as fractions (R-002-47) and as they are shown (R-002-48), with tier and colour of the F1."""
    return {
        **{name: clean(metrics[name]) for name in METRIC_NAMES},
        "text": {name: percent(metrics[name]) for name in SHOWN},
        "tier": tier(metrics["f1"]),
        "colour": colour(metrics["f1"]),
    }


def _field(row: FieldRow) -> dict[str, Any]:
    text = {name: percent(row.metrics[name]) for name in SHOWN}
    counts = row.counts
    return {
        "name": row.name,
        "compare": row.compare,
        **counts,
        **_metrics(row.metrics),
        "log": f"TP={counts['tp']}, FP={counts['fp']}, FN={counts['fn']}, TN={counts['tn']}; F1 = 2 ×"
        f" {text['precision']} × {text['recall']} / ({text['precision']} + {text['recall']}) = {text['f1']}",
    }


def markdown_section(section: Mapping[str, Any]) -> list[str]:
    """A card's section in Markdown."""
    overall = section["overall"]
    averaged = section["averaged"]
    lines = [
        "## Extracted fields",
        "",
        f"{SIGNS[overall['colour']]} **{overall['tier']}**: F1 {overall['text']['f1']}, precision"
        f" {overall['text']['precision']}, recall {overall['text']['recall']}, accuracy {overall['text']['accuracy']}"
        f" (averaged over {averaged['fields']} of {averaged['of']} fields)",
        "",
        "| Field | F1 | Precision | Recall | Accuracy | TP | FP | FN | TN | Wrong | Left out |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in section["fields"]:
        shown = " | ".join(row["text"][name] for name in SHOWN)
        counts = " | ".join(str(row[name]) for name in ("tp", "fp", "fn", "tn", "wrong", "excluded"))
        lines.append(f"| {SIGNS[row['colour']]} {escape(row['name'])} | {shown} | {counts} |")
    lines += ["", *(f"> ⚠️ {escape(each)}\n>" for each in section["warnings"]), ""]
    broken = [each for each in section["checks"] if not each["passed"]]
    for each in broken:
        lines.append(f"- ⚠️ {each['rule']}: {escape(each['text'])} — not so in {escape(', '.join(each['broken']))}")
    lines.append(f"- {len(section['checks']) - len(broken)} of {len(section['checks'])} checks passed")
    if section["examples"]:
        lines += ["", "<details><summary>Examples of each kind of answer</summary>", ""]
        lines += ["| Field | Answer | Document | Ground truth | Model |", "| --- | --- | --- | --- | --- |"]
        for each in section["examples"]:
            cells = (each["field"], each["meaning"], each["document"], _said(each["truth"]), _said(each["prediction"]))
            lines.append(f"| {' | '.join(escape(cell) for cell in cells)} |")
        lines += ["", "</details>"]
    if section["ground_truth"]:
        named = ", ".join(f"{escape(each['name'])} `{each['sha256'][:16]}`" for each in section["ground_truth"])
        lines += ["", f"Ground truth: {named}"]
    return lines


def _said(value: str | None) -> str:
    return value if value and value.strip() else "Not Present"


def ranking_section(ranking: Ranking, models: Mapping[str, ModelFields]) -> dict[str, Any]:
    """The ranking's report as plain data: models in order, fields with their winners, and what went wrong."""
    total = len(ranking.contests)
    first = next(iter(models.values()))
    return {
        "by": list(ranking.criteria),
        "ground_truth": [dict(each) for each in first.truth],
        "models": [
            {
                "rank": place.rank,
                "model": place.model,
                **_metrics(models[place.model].averages),
                "wins": clean(place.wins),
                "won": f"Won {wins_text(place.wins)} of {total} fields",
                "decided_by": place.decided_by or None,
                "averaged": {"fields": models[place.model].averaged, "of": total},
                "counts": {
                    name: sum(row.counts[name] for row in models[place.model].rows)
                    for name in ("tp", "fp", "fn", "tn", "wrong", "excluded")
                },
                "warnings": list(models[place.model].warnings),
                "broken": [
                    f"{each.rule}: {each.text}: not so in {', '.join(each.broken)}"
                    for each in models[place.model].checks
                    if not each.passed
                ],
            }
            for place in ranking.places
        ],
        "fields": [
            {
                "name": each.name,
                "compare": first.rows[index].compare,
                "outcome": each.outcome,
                "title": TITLES[each.outcome],
                "badge": BADGES[each.outcome],
                "winners": list(each.winners),
                "models": {place.model: _field(models[place.model].rows[index]) for place in ranking.places},
            }
            for index, each in enumerate(ranking.contests)
        ],
        "wrong": [
            {
                "field": each.field,
                "document": each.document,
                "model": place.model,
                "truth": each.truth,
                "prediction": each.prediction,
            }
            for place in ranking.places
            for each in models[place.model].examples
            if each.kind == "wrong"
        ],
    }


def ranking_markdown(section: Mapping[str, Any]) -> list[str]:
    """The ranking's report in Markdown: places, the fields with a cell for each model, wrong values side by side."""
    names = [each["model"] for each in section["models"]]
    lines = [
        "## Extracted fields",
        "",
        "| Rank | Model | Tier | F1 | Precision | Recall | Accuracy | Fields | Averaged over | TP | FP | FN | TN |",
        "| ---: | --- | --- | ---: | ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for each in section["models"]:
        shown = " | ".join(each["text"][name] for name in SHOWN)
        counts = " | ".join(str(each["counts"][name]) for name in ("tp", "fp", "fn", "tn"))
        lines.append(
            f"| #{each['rank']} | {escape(each['model'])} | {SIGNS[each['colour']]} {each['tier']} | {shown} |"
            f" {each['won']} | {each['averaged']['fields']} of {each['averaged']['of']} | {counts} |"
        )
    lines += ["", f"| Field | {' | '.join(escape(name) for name in names)} | Winner |"]
    lines.append(f"| --- | {' | '.join('---:' for _ in names)} | --- |")
    for each in section["fields"]:
        found = [each["models"][name] for name in names]
        shown = " | ".join(f"{SIGNS[cell['colour']]} {cell['text']['f1']}" for cell in found)
        won = "all models alike" if each["outcome"] == "tie" else ", ".join(each["winners"])
        lines.append(f"| {escape(each['name'])} | {shown} | {SIGNS[each['badge']]} {each['title']}: {escape(won)} |")
    lines.append("")
    for each in section["models"]:
        lines += [f"> ⚠️ {escape(each['model'])}: {escape(line)}\n>" for line in (*each["warnings"], *each["broken"])]
    if section["wrong"]:
        lines += ["", "<details><summary>Wrong values</summary>", ""]
        lines += ["| Field | Document | Ground truth | Model | Found |", "| --- | --- | --- | --- | --- |"]
        for each in section["wrong"]:
            cells = (each["field"], each["document"], _said(each["truth"]), each["model"], _said(each["prediction"]))
            lines.append(f"| {' | '.join(escape(cell) for cell in cells)} |")
        lines += ["", "</details>"]
    if section["ground_truth"]:
        named = ", ".join(f"{escape(each['name'])} `{each['sha256'][:16]}`" for each in section["ground_truth"])
        lines += ["", f"Ground truth: {named}"]
    return lines
