"""The card's section on fire threat: horizons, reliability, the fires in the order of their risk, the worst misses."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from metrics.kpis.threat import Cohort, ThreatRules, threat_scores
from metrics.scoring.normalise import clean
from metrics.survival import SLACK, BrierSums, PairCounts, Pairing, calibration
from tasks.matching.threat import Sample
from tasks.report.markdown import escape
from tasks.report.words import printable

PAIRINGS: tuple[Pairing, ...] = ("all", "harrell")
SEGMENTS = 240  # of the strip; a larger cohort is shown in groups of fires
MISSES, NAMED = 10, 50  # fires listed
LEVELS = (
    (1.0, "perfect"),
    (0.9, "excellent"),
    (0.8, "good"),
    (0.7, "decent"),
    (0.5, "not much better than chance"),
    (0.0, "worse than chance"),
)
READING = (
    "C-index: 0.5 is what guessing gives, 0.7 is decent, 0.8 good, 0.9 excellent, 1 a perfect order.",
    "Brier score: 0 is perfect, a constant probability of 0.5 gives 0.25, 1 is worst.",
    "Fires censored before a horizon are left out of its Brier score, so that those who hit are over-represented: that "
    "rewards hedging towards high probabilities. Compare models on the same fires, not absolute values.",
)


def threat_report(sample: Sample, rules: ThreatRules) -> dict[str, Any]:
    """Everything that the section shows, as plain data."""
    cohort = sample.cohort
    scores = threat_scores(cohort, rules)
    c_index = _number(scores.c_index)
    hits = int(cohort.event.sum())
    return {
        "fires": {"all": len(cohort.time), "hit": hits, "censored": len(cohort.time) - hits},
        "scores": {
            "c_index": c_index,
            "c_index_is": None if c_index is None else next(word for least, word in LEVELS if c_index >= least),
            "weighted_brier": _number(scores.weighted_brier),
            "unpenalised": _number(scores.unpenalised),
            "hybrid": _number(scores.hybrid),
        },
        "rules": {
            "risk_horizon": rules.risk_horizon,
            "pairing": rules.pairing,
            "c_index_weight": rules.c_index_weight,
            "brier_weight": rules.brier_weight,
            "penalty": rules.penalty,
            "repair": rules.repair,
        },
        "pairs": {each: _pairs(cohort.pairs(rules.risk_horizon, each)) for each in PAIRINGS},
        "horizons": _horizons(cohort, rules),
        "order": _order(cohort, rules.risk_horizon),
        "misses": _misses(cohort, rules),
        "falling": _falling(sample),
        "reading": list(READING),
    }


def _pairs(counts: PairCounts) -> dict[str, Any]:
    names = (
        *("comparable", "event_event", "event_censored", "concordant", "discordant", "tied"),
        *("simultaneous", "censored_before", "censored_censored"),
    )
    return {"c_index": _number(counts.c_index()), **{name: int(getattr(counts, name)) for name in names}}


def _horizons(cohort: Cohort, rules: ThreatRules) -> list[dict[str, Any]]:
    """By horizon: who is evaluated, who is not, the scores, and how often each probability came true."""
    found = []
    known = {each: BrierSums.of(cohort.at(each), cohort.outcomes(each)) for each in cohort.horizons}
    whole = sum(weight for each, weight in rules.horizons.items() if known[each].n)
    for horizon, sums in known.items():
        weight = rules.horizons.get(horizon, 0.0)
        evaluated, ones = int(sums.n), int(sums.ones)
        later = int((cohort.event & (cohort.time > horizon)).sum())
        found.append(
            {
                "horizon": horizon,
                "weight": clean(weight / whole) if weight and evaluated else 0.0,
                "evaluated": evaluated,
                "share": clean(evaluated / len(cohort.time)),
                "ones": ones,
                "zeros": evaluated - ones,
                "hit_later": later,
                "watched": evaluated - ones - later,
                "excluded": int(sums.excluded),
                "one_outcome": evaluated > 0 and ones in (0, evaluated),
                "brier": _number(sums.brier()),
                "c_index": _number(cohort.c_index(horizon, rules.pairing)),
                "bins": [
                    {
                        "low": each.low,
                        "high": each.high,
                        "predicted": clean(each.predicted),
                        "observed": clean(each.observed),
                        "count": each.count,
                    }
                    for each in calibration(cohort.at(horizon), cohort.time, cohort.event, horizon=horizon)
                ],
            }
        )
    return found


def _order(cohort: Cohort, risk_horizon: float) -> list[dict[str, Any]]:
    """The fires from the highest risk to the lowest, in groups where they are many."""
    risk = cohort.at(risk_horizon)
    order = np.argsort(-risk, kind="stable")
    groups = np.array_split(order, min(SEGMENTS, len(order)))
    return [
        {
            "fires": len(group),
            "hits": int(cohort.event[group].sum()),
            "risk": clean(float(risk[group].mean())),
            "what": f"{cohort.fires[group[0]]}: {_happened(cohort, group[0])}" if len(group) == 1 else "",
        }
        for group in groups
    ]


def _misses(cohort: Cohort, rules: ThreatRules) -> list[dict[str, Any]]:
    """The fires that add most to the weighted Brier score, each with its worst horizon."""
    terms = np.zeros((len(cohort.time), len(rules.horizons)))
    for at, (horizon, weight) in enumerate(rules.horizons.items()):
        happened = cohort.outcomes(horizon)
        known = max(1, np.isfinite(happened).sum())
        terms[:, at] = np.nan_to_num(weight * (cohort.at(horizon) - happened) ** 2 / known)
    costs = terms.sum(axis=1)
    whole = costs.sum()
    worst = [each for each in np.argsort(-costs, kind="stable")[:MISSES] if costs[each] > 0]
    return [
        {
            "fire": str(cohort.fires[fire]),
            "what": _happened(cohort, fire),
            "probabilities": [clean(float(each)) for each in cohort.probability[fire]],
            "worst_horizon": list(rules.horizons)[int(terms[fire].argmax())],
            "share": clean(float(costs[fire] / whole)),
        }
        for fire in worst
    ]


def _falling(sample: Sample) -> dict[str, Any]:
    """The fires whose probability falls from a horizon to a later one, the largest fall first."""
    falling = [each for each in np.argsort(-sample.falls, kind="stable") if sample.falls[each] > SLACK]
    return {
        "fires": len(falling),
        "share": clean(len(falling) / len(sample.falls)),
        "repaired": sample.repaired,
        "named": [
            {"fire": str(sample.cohort.fires[each]), "fall": clean(float(sample.falls[each]))}
            for each in falling[:NAMED]
        ],
    }


def _happened(cohort: Cohort, fire: int) -> str:
    return f"{'hit at' if cohort.event[fire] else 'censored at'} {cohort.time[fire]:.4g} h"


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else clean(float(value))


def markdown(report: Mapping[str, Any]) -> list[str]:
    """The section in Markdown; the reliability diagrams as pictures, because the UI strips drawings."""
    fires, scores, rules = report["fires"], report["scores"], report["rules"]
    pairs = report["pairs"][rules["pairing"]]
    lines = [
        "## Fire threat",
        "",
        f"{fires['all']} fires: {fires['hit']} hit, {fires['censored']} censored."
        f" Ordered by their probability at {rules['risk_horizon']:g} h.",
        "",
        f"- C-index {_text(scores['c_index'])}" + (f" ({scores['c_index_is']})" if scores["c_index_is"] else ""),
        f"- Weighted Brier score {_text(scores['weighted_brier'])}",
        f"- Hybrid {_text(scores['hybrid'])}; {_text(scores['unpenalised'])} before the penalty",
        "",
        "| Horizon | Weight | Evaluated | Ones | Zeros | Excluded | Brier | C-index |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in report["horizons"]:
        one = " ⚠️ one outcome only" if each["one_outcome"] and each["weight"] else ""
        lines.append(
            f"| {each['horizon']:g} h | {each['weight']:.3g} | {each['evaluated']} ({each['share']:.1%}) |"
            f" {each['ones']} | {each['zeros']}{one} | {each['excluded']} | {_text(each['brier'])} |"
            f" {_text(each['c_index'])} |"
        )
    lines += ["", "| Pairs | Comparable | Hit and hit | Hit and censored | Right | Tied | Wrong | C-index |"]
    lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name, each in report["pairs"].items():
        used = "**" if name == rules["pairing"] else ""
        lines.append(
            f"| {used}{name}{used} | {each['comparable']} | {each['event_event']} | {each['event_censored']} |"
            f" {each['concordant']} | {each['tied']} | {each['discordant']} | {_text(each['c_index'])} |"
        )
    left = ", ".join(
        f"{pairs[name]} {what}"
        for name, what in (
            ("censored_censored", "of two censored fires"),
            ("censored_before", "censored before the other hit"),
            ("simultaneous", "that hit at the same time"),
        )
        if pairs[name]
    )
    lines += ["", f"Not comparable: {left or 'none'}.", "", *_falling_lines(report), "### Reliability", ""]
    shown = [each for each in report["horizons"] if each["bins"]]
    lines += [_picture("reliability", f"Reliability at {each['horizon']:g} h", horizon=each) for each in shown]
    lines += ["", "<details><summary>Bins</summary>", "", "| Horizon | Bin | Forecast | Came true | Fires |"]
    lines += ["| ---: | --- | ---: | ---: | ---: |"]
    lines += [
        f"| {each['horizon']:g} h | {a_bin['low']:g} to {a_bin['high']:g} | {a_bin['predicted']:.3f} |"
        f" {a_bin['observed']:.3f} | {a_bin['count']} |"
        for each in shown
        for a_bin in each["bins"]
    ]
    lines += ["", "</details>", "", "### The fires by risk", ""]
    lines += [_picture("order", "Fires from the highest risk to the lowest", order=report["order"])]
    if report["misses"]:
        horizons = " | ".join(f"{each['horizon']:g} h" for each in report["horizons"])
        lines += ["", "### Worst misses", "", f"| Fire | What happened | {horizons} | Share of the Brier score |"]
        lines += ["| --- | --- |" + " ---: |" * (len(report["horizons"]) + 1)]
        for miss in report["misses"]:
            values = " | ".join(f"{value:.3g}" for value in miss["probabilities"])
            lines.append(f"| {escape(miss['fire'])} | {escape(miss['what'])} | {values} | {miss['share']:.1%} |")
    return [*lines, "", *(f"- {line}" for line in report["reading"]), ""]


def _falling_lines(report: Mapping[str, Any]) -> list[str]:
    falling = report["falling"]
    if not falling["fires"]:
        return ["No fire has a probability that falls with the horizon.", ""]
    named = ", ".join(f"{escape(each['fire'])} (−{each['fall']:.3g})" for each in falling["named"])
    more = falling["fires"] - len(falling["named"])
    verdict = "sorted before scoring" if falling["repaired"] else f"penalty {report['rules']['penalty']:g}"
    said = f"{falling['fires']} fires ({falling['share']:.1%}) have a probability that falls with the horizon"
    return [f"{said}, {verdict}: {named}{f' and {more} more' if more else ''}.", ""]


def _picture(name: str, title: str, **data: Any) -> str:
    """A drawing of the page as a picture of its own."""
    drawing = _environment().get_template(f"threat_{name}.html").render(alone=True, **data)
    return f"![{title}](data:image/svg+xml;base64,{base64.b64encode(drawing.encode()).decode()})"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["printable"] = printable
    return environment


def _text(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4f}"
