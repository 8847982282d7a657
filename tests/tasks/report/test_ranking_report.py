"""A ranking in words: places, remarks, badges, a table for programs, and the terminal."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import pytest

from metrics.kpis.kpi import KpiResult
from metrics.scoring.normalise import Normalisation
from metrics.scoring.ranking import rank_cards
from metrics.scoring.scorecard import Scheme, UnitScore, score
from tasks.report.ranking import ranking_csv, ranking_html, ranking_markdown, ranking_record
from tasks.report.terminal import print_rankings

SCHEME = Scheme("A", by_count=True)
CASE = SimpleNamespace(title="A | night")
EVIL = "[/red]<b>|\u202e"


def card(model: str, **scores: float):
    units = {
        name: UnitScore(
            name,
            f"Name of {name}",
            KpiResult(None, "1"),
            Normalisation("bounded", 0, 1),
            1.0,
            0.0,
            1.0,
            scores.get(name),
        )
        for name in ("W1", "W2", "W3")
    }
    groups = {"All": ("W1", "W2", "W3")}
    return score(case="NIGHT", model=model, cycle="2026-11-17T00:00Z", scheme=SCHEME, groups=groups, units=units)


@pytest.fixture
def record() -> dict:
    cards = [card("one", W1=80.0, W2=50.0, W3=90.0), card(EVIL, W1=60.0, W2=50.0)]
    return ranking_record(CASE, cards, rank_cards(cards, SCHEME), None, {}, {"gone": "nothing to read"})


def test_the_record(record):
    assert [(each["rank"], each["model"], each["score"], each["won"]) for each in record["models"]] == [
        (1, "one", 65.0, "Won 1 of 2 KPIs"),
        (2, EVIL, 55.0, "Won 0 of 2 KPIs"),
    ]
    assert [each["outcome"] for each in record["kpis"]] == ["sole", "tie", None]
    assert record["models"][0]["own"]["text"] == "73.33"  # (80 + 50 + 90) / 3: the card's own total stands beside it
    assert record["unranked"] == [{"model": "gone", "reason": "nothing to read"}]
    assert f"without W3 (no score of {EVIL})" in record["remarks"][0]


def test_markdown_html_and_terminal_keep_strangers_harmless(record, capsys):
    text, page = ranking_markdown(record), ranking_html(record)
    print_rankings([record])
    printed = capsys.readouterr().out
    for each in (text, page, printed):
        assert "\u202e" not in each
    assert "<b>|" not in page
    assert "<b>" not in text
    assert "#1 one" in printed
    assert "65.00" in printed
    assert "| #1 | one | 🟡 **65.00** | Won 1 of 2 KPIs |" in text
    assert "🔵 Universal tie: all models alike" in text


def test_the_table(record):
    rows = list(csv.DictReader(ranking_csv(record).splitlines()))
    assert [(row["model"], row["name"], row["score"], row["winner"]) for row in rows if row["what"] == "kpi"] == [
        ("one", "W1", "80.0", "1"),
        ("one", "W2", "50.0", "0"),
        ("one", "W3", "90.0", "0"),
        (EVIL, "W1", "60.0", "0"),
        (EVIL, "W2", "50.0", "0"),
        (EVIL, "W3", "", "0"),
    ]
