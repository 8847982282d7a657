"""The section on fire threat: what the synthetic cohort must show, and strange ids that break nothing."""

from __future__ import annotations

import base64
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from flows.demos.threat import cohort as demo_cohort
from metrics.kpis.threat import Cohort, ThreatRules
from tasks.matching.threat import Sample
from tasks.report.threat import markdown, threat_report


def sample_of(cohort: Cohort, *, repaired: bool = False) -> Sample:
    return Sample(cohort.repaired() if repaired else cohort, cohort.falls(), repaired, {})


def demo(model: str) -> Cohort:
    outcomes, models = demo_cohort()
    table = models[model]
    return Cohort(
        table["fire_id"].to_numpy(object),
        outcomes["time_to_hit"].to_numpy(float),
        outcomes["event"].to_numpy(bool),
        (12.0, 24.0, 48.0, 72.0),
        table.drop(columns="fire_id").to_numpy(float),
    )


def test_the_seeds_counts():  # R-004-06, R-004-15
    report = threat_report(sample_of(demo("steady")), ThreatRules())
    assert report["fires"] == {"all": 221, "hit": 69, "censored": 152}
    rows = {
        each["horizon"]: [each[name] for name in ("evaluated", "ones", "zeros", "hit_later", "watched", "excluded")]
        for each in report["horizons"]
    }
    assert rows[24.0] == [196, 63, 133, 6, 127, 25]
    assert rows[48.0] == [166, 66, 100, 3, 97, 55]
    assert rows[72.0] == [69, 69, 0, 0, 0, 152]
    assert [round(100 * each["share"], 1) for each in report["horizons"][1:]] == [88.7, 75.1, 31.2]
    pairs = report["pairs"]["all"]
    assert (pairs["event_event"], pairs["event_censored"], pairs["comparable"]) == (2_346, 10_488, 12_834)
    assert (pairs["censored_censored"], pairs["simultaneous"], pairs["censored_before"]) == (11_476, 0, 0)
    harrell = report["pairs"]["harrell"]
    assert harrell["event_censored"] + harrell["censored_before"] == 10_488
    assert [each["one_outcome"] for each in report["horizons"]] == [False, False, False, True]
    assert [each["weight"] for each in report["horizons"]] == [0, 0.3, 0.4, 0.3]


@pytest.mark.parametrize("model", ["steady", "hedging", "unordered"])
def test_it_adds_up_and_is_plain_data(model):
    report = threat_report(sample_of(demo(model)), ThreatRules())
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    for each in report["horizons"]:
        assert sum(a_bin["count"] for a_bin in each["bins"]) == each["evaluated"]
        assert each["evaluated"] + each["excluded"] == 221
    assert len(report["order"]) == 221
    assert sum(each["hits"] for each in report["order"]) == 69
    risks = [each["risk"] for each in report["order"]]
    assert risks == sorted(risks, reverse=True)
    shares = [each["share"] for each in report["misses"]]
    assert shares == sorted(shares, reverse=True)


def test_the_worst_miss_is_the_fire_that_was_most_wrong():
    cohort = demo("steady")
    first = int(np.flatnonzero(cohort.event & (cohort.time < 24))[0])
    probability = cohort.probability.copy()
    probability[first] = 0.0
    (worst, *_) = threat_report(sample_of(replace(cohort, probability=probability)), ThreatRules())["misses"]
    assert worst["fire"] == cohort.fires[first]
    assert worst["what"].startswith("hit at ")
    assert worst["probabilities"] == [0, 0, 0, 0]
    assert worst["worst_horizon"] == 72.0  # of 69 fires a single one weighs most there


def test_falling_fires_are_named_and_a_repair_is_said():
    cohort = demo("unordered")
    expected = {str(cohort.fires[each]) for each in range(221) if (np.diff(cohort.probability[each]) < -1e-9).any()}
    falling = threat_report(sample_of(cohort), ThreatRules())["falling"]
    assert {each["fire"] for each in falling["named"]} == expected
    assert falling["fires"] == len(expected) > 0
    report = threat_report(sample_of(cohort, repaired=True), ThreatRules(repair="sort"))
    assert report["falling"]["repaired"]
    assert report["falling"]["fires"] == len(expected)
    assert report["scores"]["hybrid"] == report["scores"]["unpenalised"]
    assert "sorted before scoring" in "\n".join(markdown(report))


def test_a_large_cohort_stays_small():
    rng = np.random.default_rng(5)
    fires = 20_000
    cohort = Cohort(
        np.array([f"F{each}" for each in range(fires)], dtype=object),
        rng.exponential(40, fires),
        rng.random(fires) < 0.3,
        (12.0, 24.0, 48.0, 72.0),
        rng.random((fires, 4)),
    )
    report = threat_report(sample_of(cohort), ThreatRules())
    assert sum(each["fires"] for each in report["order"]) == fires
    assert len(report["falling"]["named"]) == 50
    assert len(json.dumps(report, indent=2)) < 100_000
    text = "\n".join(markdown(report))
    assert len(text) < 150_000
    assert f"and {report['falling']['fires'] - 50} more" in text


def test_markdown_says_it_in_tables_pictures_and_sentences():
    lines = markdown(threat_report(sample_of(demo("unordered")), ThreatRules()))
    text = "\n".join(lines)
    assert "| 72 h | 0.3 | 69 (31.2%) | 69 | 0 ⚠️ one outcome only | 152 |" in text
    assert "| **all** | 12834 | 2346 | 10488 |" in text
    assert "Not comparable: 11476 of two censored fires." in text
    assert "rewards hedging" in text
    assert "0.5 is what guessing gives" in text
    pictures = re.findall(r"!\[[^]]*\]\(data:image/svg\+xml;base64,([^)]+)\)", text)
    assert len(pictures) == 5
    for each in pictures:
        assert ET.fromstring(base64.b64decode(each)).tag.endswith("svg")


def test_ids_of_strangers(monkeypatch):
    from tasks.report.html import _environment

    cohort = demo("unordered")
    evil = "<script>alert(1)</script>|`x` \u202e&"
    report = threat_report(sample_of(replace(cohort, fires=np.full(221, evil, dtype=object))), ThreatRules())
    page = _environment().get_template("threat.html").render(report=report)
    assert "<script>" not in page
    assert "\u202e" not in page
    text = "\n".join(markdown(report))
    assert "<script>" not in text
    assert "\u202e" not in text
    for each in re.findall(r"base64,([^)]+)\)", text):
        assert b"<script>" not in base64.b64decode(each)


def test_nothing_to_compare_is_shown_as_such():
    cohort = Cohort(
        np.array(["a"], dtype=object), np.array([5.0]), np.array([False]), (12.0, 24.0), np.array([[0.1, 0.2]])
    )
    report = threat_report(sample_of(cohort), ThreatRules(horizons={24.0: 1.0}))
    assert report["scores"] == dict.fromkeys(("c_index", "c_index_is", "weighted_brier", "unpenalised", "hybrid"))
    text = "\n".join(markdown(report))
    assert "C-index n/a" in text
    assert "Hybrid n/a" in text
    assert "nan" not in text
    from tasks.report.html import _environment

    assert "n/a" in _environment().get_template("threat.html").render(report=report)
