"""The card's page in a real browser: its numbers are those of card.json, and nothing runs over the edge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from flows.demo import CYCLE, write_demo
from flows.evaluate import evaluate


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Path:
    out = tmp_path_factory.mktemp("page")
    assert datetime(2026, 11, 17, tzinfo=UTC) == CYCLE
    evaluate(write_demo(out), CYCLE, models=["hrrr"], schemes=["A"], out=out)
    return out / "DEMO-A" / "2026-11-17T00" / "hrrr"


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        started = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield started
        started.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_shows_the_numbers_of_the_record(browser, folder: Path, width: int, scheme: str):
    record = json.loads((folder / "card.json").read_bytes())
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on(
        "request", lambda request: said.append(request.url) if not request.url.startswith(("file:", "data:")) else None
    )
    page.goto((folder / "card.html").as_uri())
    assert page.inner_text("#total") == record["total"]["text"]
    assert page.inner_text("#headline") == "Total Score DEMO agg. A: hrrr"
    shown = page.locator("#scores td.score").all_inner_texts()
    expected = []
    for group in record["groups"]:
        expected += [group["text"], *(kpi["text"] for kpi in group["kpis"])]
    assert shown == expected
    bars = page.locator("#scores .bar > i").evaluate_all(
        "bars => bars.map(bar => 100 * bar.offsetWidth / bar.parentElement.offsetWidth)"
    )
    assert bars == pytest.approx([float(text) for text in expected], abs=1.0)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    loaded = page.locator("img").evaluate_all(
        "pictures => Promise.all(pictures.map(async each => { await each.decode(); return [each.naturalWidth, each.alt,"
        " each.getBoundingClientRect().right, each.getBoundingClientRect().width] }))"
    )
    assert len(loaded) == 5  # map, two series, error by lead, rose
    assert all(natural > 0 and alt and right <= width and shown > 200 for natural, alt, right, shown in loaded)
    for variable, entry in record["ledger"].items():
        assert f"{entry['pairs']} of {entry['candidates']} became pairs" in page.inner_text("#ledger"), variable
    stacks = page.locator("#ledger .stack").evaluate_all(
        "stacks => stacks.map(stack => [...stack.children].map(part => part.getBoundingClientRect().width)"
        ".map(part => 100 * part / stack.getBoundingClientRect().width))"
    )
    for parts, entry in zip(stacks, record["ledger"].values(), strict=True):
        counts = [entry["pairs"], *entry["left_out"].values()]
        assert sorted(parts) == pytest.approx(sorted(100 * each / entry["candidates"] for each in counts), abs=0.5)
    assert page.inner_text("#command") == "firecard run demo.yaml --cycle 2026-11-17T00 --model hrrr --scheme A"
    worst = record["reports"]["weather"]["stations"][0]
    assert page.locator("#stations td.name").first.inner_text() == worst["name"]
    assert said == []
    page.close()
