"""The card as people review it: the artifact's page in the real Prefect UI, after a real run."""

from __future__ import annotations

import os
from pathlib import Path

from flows.demo import CYCLE, write_demo
from flows.evaluate import evaluate


def _newest(key: str) -> str:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key])))
    return str(max(found, key=lambda each: each.created).id)


def test_the_artifact_shows_its_table_and_pictures(chromium: str, prefect_server: str, tmp_path: Path):
    from playwright.sync_api import sync_playwright

    evaluate(write_demo(tmp_path), CYCLE, models=["hrrr"], schemes=["A"], out=tmp_path)
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
        browser.close()
    assert widths
    assert all(width > 0 for width in widths)
    # The UI asks for what this machine cannot reach (fonts, news); that is Prefect's, not the card's.
    assert [each for each in said if "net::ERR" not in each and "Failed to load resource" not in each] == []
