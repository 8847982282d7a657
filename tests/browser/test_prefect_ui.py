"""The card as people review it: the artifact's page in the real Prefect UI, after a real run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.demo import CYCLE, write_demo
from flows.evaluate import evaluate
from flows.pages import serving


def _newest(key: str) -> str:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key])))
    return str(max(found, key=lambda each: each.created).id)


@pytest.fixture
def published(prefect_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a card whose artifacts are there and whose page is served, as `firecard up` does."""
    with serving(tmp_path, tmp_path) as pages:
        monkeypatch.setenv("FIRECARD_PAGES", pages)
        evaluate(write_demo(tmp_path), CYCLE, models=["hrrr"], schemes=["A"], out=tmp_path)
        yield tmp_path / "DEMO-A" / "2026-11-17T00" / "hrrr"


def test_the_artifact_shows_its_table_and_pictures(chromium: str, prefect_server: str, published: Path):
    from playwright.sync_api import sync_playwright

    said: list[str] = []
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page(viewport={"width": 1280, "height": 1600})
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"{prefect_server.removesuffix('/api')}/artifacts/artifact/{_newest('scorecard-demo-a-hrrr')}")
        page.wait_for_selector("td:has-text('WX01')", timeout=60_000)
        if shot := os.environ.get("FIRECARD_SHOTS"):
            page.wait_for_timeout(1500)
            page.screenshot(path=Path(shot) / "prefect-ui.png")
        widths = page.locator("img[src^='data:']").evaluate_all("images => images.map(image => image.naturalWidth)")
        # From the artifact to the page, as a reader goes.
        page.goto(f"{prefect_server.removesuffix('/api')}/artifacts/artifact/{_newest('page-demo-a-hrrr')}")
        link = page.locator("a:has-text('card.html')")
        link.evaluate("link => link.target = '_self'")
        link.click()
        page.wait_for_selector("#total", timeout=60_000)
        total = page.inner_text("#total")
        browser.close()
    assert len(widths) == 2  # bars and map
    assert all(width > 0 for width in widths)
    assert total == json.loads((published / "card.json").read_bytes())["total"]["text"]
    # The UI asks for what this machine cannot reach (fonts, news); that is Prefect's, not the card's.
    assert [each for each in said if "net::ERR" not in each and "Failed to load resource" not in each] == []
