"""The ranking of a case's models as a record, as Markdown, as a table and as a page."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from configs.case import Case
from metrics.scoring.normalise import clean, format_score, round_score
from metrics.scoring.ranking import BADGES, TITLES, Common, Ranking, wins_text
from metrics.scoring.scorecard import ScoreCard, short_id
from tasks.report.extraction import SIGNS
from tasks.report.extraction import ranking_markdown as fields_markdown
from tasks.report.html import html_page
from tasks.report.markdown import escape
from tasks.report.words import emoji

SCHEMA = "firecard.ranking/1"
METRICS = ("f1", "precision", "recall", "accuracy")
COUNTS = ("n", "tp", "fp", "fn", "tn", "wrong", "excluded")


def ranking_record(
    case: Case,
    cards: Sequence[ScoreCard],
    common: Common,
    leading: tuple[str, Ranking] | None,
    sections: Mapping[str, Mapping[str, Any]],
    absent: Mapping[str, str],
) -> dict[str, Any]:
    """Everything a ranking says, as plain data; `leading` is a family's own ranking where the case has no other."""
    by_model = {card.model: card for card in cards}
    rule, ranking = leading or ("score", common.ranking)
    what = "KPIs" if leading is None else "fields"
    placed = {place.model for place in ranking.places}
    return {
        "schema": SCHEMA,
        "case": cards[0].case,
        "title": case.title,
        "scheme": cards[0].scheme,
        "cycle": cards[0].cycle,
        "rule": rule,
        "by": list(ranking.criteria),
        "models": [
            {
                "rank": place.rank,
                "model": place.model,
                "score": _rounded(common.totals[place.model]),
                "text": format_score(common.totals[place.model]),
                "marks": dict(zip(ranking.criteria, map(clean, place.marks), strict=False)),
                "own": {
                    "text": format_score(by_model[place.model].total),
                    "partial": by_model[place.model].partial,
                },
                "wins": clean(place.wins),
                "won": f"Won {wins_text(place.wins)} of {len(ranking.contests)} {what}",
                "decided_by": place.decided_by or None,
            }
            for place in ranking.places
        ],
        "unranked": [
            *({"model": name, "reason": reason} for name, reason in absent.items()),
            *({"model": name, "reason": "no KPI that all models have"} for name in by_model if name not in placed),
        ],
        "kpis": _kpis(cards, common),
        "remarks": _remarks(common, cards[0].case, by_model, absent),
        "sections": dict(sections),
    }


def _kpis(cards: Sequence[ScoreCard], common: Common) -> list[dict[str, Any]]:
    scores = {card.model: {unit.id: unit.score for unit in card.units} for card in cards}
    won = {each.name: each for each in common.ranking.contests}
    rows = []
    for group in cards[0].groups:
        for unit in group.units:
            each = won.get(unit.id)
            rows.append(
                {
                    "id": short_id(cards[0].case, unit.id),
                    "name": unit.name,
                    "group": group.name,
                    "scores": {
                        model: {"score": _rounded(own[unit.id]), "text": format_score(own[unit.id])}
                        for model, own in scores.items()
                    },
                    "outcome": each.outcome if each else None,
                    "title": TITLES[each.outcome] if each else "Not compared",
                    "badge": BADGES[each.outcome] if each else None,
                    "winners": list(each.winners) if each else [],
                    "left_out": common.left_out.get(unit.id),
                }
            )
    return rows


def _remarks(common: Common, case: str, models: Mapping[str, ScoreCard], absent: Mapping[str, str]) -> list[str]:
    remarks = []
    if not common.kpis and len(models) > 1:
        remarks.append("The models have no KPI in common: their scores cannot be compared.")
    elif common.left_out:
        left = "; ".join(f"{short_id(case, name)} ({why})" for name, why in common.left_out.items())
        remarks.append(f"Compared on {len(common.kpis)} KPIs that all models have, without {left}.")
    thin = [name for name, card in models.items() if card.partial]
    if thin:
        remarks.append(f"Partial cards: {', '.join(thin)}; only what all models have is compared.")
    remarks += [f"{name} is not ranked: it has no card." for name in absent]
    return remarks


def _rounded(score: float | None) -> float | None:
    return None if score is None else round_score(score)


def ranking_headline(record: Mapping[str, Any]) -> str:
    return f"Ranking {record['case']} agg. {record['scheme']}"


def ranking_markdown(record: Mapping[str, Any]) -> str:
    """The ranking in Markdown; shown as a Prefect artifact."""
    names = [each["model"] for each in record["models"]]
    lines = [
        f"# {escape(ranking_headline(record))}",
        "",
        f"Cycle {escape(record['cycle'])}" + (f". {escape(record['title'])}" if record["title"] else ""),
        "",
        "| Rank | Model | Score | Wins | Card | Decided by |",
        "| ---: | --- | ---: | --- | ---: | --- |",
    ]
    for each in record["models"]:
        card = f"{each['own']['text']}{' (partial)' if each['own']['partial'] else ''}"
        lines.append(
            f"| #{each['rank']} | {escape(each['model'])} | {emoji(each['score'])} **{each['text']}** | {each['won']} |"
            f" {card} | {each['decided_by'] or ''} |"
        )
    lines += ["", f"Ranked by {', then '.join(record['by'])}.", ""]
    lines += [f"> ⚠️ {escape(line)}\n>" for line in record["remarks"]]
    lines += ["", "## KPIs", "", f"| KPI | {' | '.join(escape(name) for name in names)} | Winner |"]
    lines.append(f"| --- | {' | '.join('---:' for _ in names)} | --- |")
    for row in record["kpis"]:
        cells = (row["scores"][name] for name in names)
        shown = " | ".join(f"{emoji(cell['score'])} {cell['text']}" for cell in cells)
        lines.append(f"| {escape(row['id'])} {escape(row['name'])} | {shown} | {_winner(row)} |")
    for name, section in record["sections"].items():
        if name == "extraction":
            lines += ["", *fields_markdown(section)]
    return "\n".join([*lines, ""])


def _winner(row: Mapping[str, Any]) -> str:
    if row["outcome"] is None:
        return f"not compared: {escape(row['left_out'] or 'one model')}"
    who = "all models alike" if row["outcome"] == "tie" else ", ".join(row["winners"])
    return f"{SIGNS[row['badge']]} {row['title']}: {escape(who)}"


def ranking_csv(record: Mapping[str, Any]) -> str:
    """One row for each model and KPI or field, fractions and scores as numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["rank", "model", "what", "name", "score", *METRICS, *COUNTS, "winner"])
    blank = [""] * (len(METRICS) + len(COUNTS))
    for each in record["models"]:
        rank, model = each["rank"], each["model"]
        writer.writerow([rank, model, "total", "", each["score"], *blank, ""])
        for row in record["kpis"]:
            won = int(row["outcome"] in ("sole", "shared") and model in row["winners"])
            writer.writerow([rank, model, "kpi", row["id"], row["scores"][model]["score"], *blank, won])
        for row in record["sections"].get("extraction", {}).get("fields", ()):
            cell = row["models"][model]
            won = int(row["outcome"] != "tie" and model in row["winners"])
            numbers = [cell[name] for name in (*METRICS, *COUNTS)]
            writer.writerow([rank, model, "field", row["name"], "", *numbers, won])
    return text.getvalue()


def ranking_html(record: Mapping[str, Any]) -> str:
    """The page of a ranking."""
    return html_page("ranking.html", ranking=record, headline_text=ranking_headline(record))
