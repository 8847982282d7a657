"""The card on paper: one page, the rows of the card in their order and wording, the same bytes each time."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tasks.report.pdf import pdf_card


def record(groups: dict[str, dict[str, str]], **changed: Any) -> dict[str, Any]:
    """A card of what the page needs, from the texts of its scores."""
    made = [
        {
            "name": name,
            "text": text.pop("Group"),
            "kpis": [{"id": each, "text": score, "flags": []} for each, score in text.items()],
        }
        for name, text in groups.items()
    ]
    return {
        "case": "FB001",
        "scheme": "B",
        "model": "<Model Name>",
        "title": "",
        "cycle": "2026-11-17T00:00Z",
        "window": "a day",
        "total": {"score": 53.91, "text": "53.91"},
        "scored": {"kpis": 6, "of": 6},
        "partial": False,
        "groups": made,
        **changed,
    }


def worked_example() -> dict[str, Any]:
    """The card of R-000-12."""
    return record(
        {
            "Building Damaged": {"Group": "52.77", "BD01": "34.76", "BD02": "87.36", "BD03": "36.19"},
            "Burn Severity": {"Group": "56.20", "SV01": "76.44", "SV02": "61.93", "SV03": "30.22"},
        }
    )


@pytest.fixture
def read(tmp_path: Path):
    """The lines of a PDF as its reader sees them, and its number of pages."""
    if not shutil.which("pdftotext"):
        pytest.skip("no pdftotext (poppler-utils) on this machine")

    def lines(content: bytes) -> tuple[list[str], int]:
        path = tmp_path / "card.pdf"
        path.write_bytes(content)
        done = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True)
        pages = done.stdout.split("\f")[:-1]
        return [" ".join(line.split()) for line in done.stdout.splitlines() if line.strip()], len(pages)

    return lines


def test_the_rows_are_those_of_the_worked_example(read):
    lines, pages = read(pdf_card(worked_example()))
    assert pages == 1
    assert lines[:9] == [
        "Total Score FB001 agg. B: <Model Name> 53.91",
        "Group Building Damaged 52.77",
        "BD01 34.76",
        "BD02 87.36",
        "BD03 36.19",
        "Group Burn Severity 56.20",
        "SV01 76.44",
        "SV02 61.93",
        "SV03 30.22",
    ]
    assert lines[9:] == ["Cycle 2026-11-17T00:00Z, valid a day"]


def test_the_same_record_gives_the_same_bytes_without_a_date():
    content = pdf_card(worked_example())
    assert content == pdf_card(worked_example())
    assert b"CreationDate" not in content
    assert content.startswith(b"%PDF-")
    assert len(content) < 100_000


def test_a_partial_card_says_so_below_the_rows(read):
    card = record(
        {"Wind": {"Group": "n/a", "WX01": "n/a"}}, total=None, partial=True, scored={"kpis": 0, "of": 1}, model="hrrr"
    )
    card["groups"][0]["kpis"][0]["flags"] = ["not offered by this model"]
    lines, _ = read(pdf_card(card))
    assert lines[:3] == ["Total Score FB001 agg. B: hrrr n/a", "Group Wind n/a", "WX01 n/a"]
    assert "Partial: 0 of 1 KPIs have a score; do not rank it against a complete card." in lines
    assert "WX01: not offered by this model" in lines


@pytest.mark.parametrize("count", [1, 40, 200])
def test_many_rows_stay_on_one_page(read, count):
    groups = {
        f"Group number {g}": {"Group": "50.00", **{f"K{g:02d}{k:03d}": "50.00" for k in range(count // 2)}}
        for g in range(2)
    }
    lines, pages = read(pdf_card(record(groups)))
    assert pages == 1
    assert len([line for line in lines if line.endswith("50.00")]) == 2 + 2 * (count // 2)


@pytest.mark.parametrize(
    "name", ["$x$", "$\\frac{", "[/red]", "<script>", "🔥", "\x1b[31m", "\u202e", "long " * 100, "n" * 900, ""]
)
def test_names_of_strangers_do_no_harm(read, name):
    card = record({name: {"Group": "50.00", name + "1": "50.00"}}, model=name, title=name)
    lines, pages = read(pdf_card(card))
    assert pages == 1
    assert any("53.91" in line for line in lines[:4])
