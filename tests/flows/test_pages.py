"""The cards over HTTP: what is a card and nothing else, on the loopback, under an address that stays."""

from __future__ import annotations

import http.client
import socket
from pathlib import Path

import pytest

from flows.pages import serving
from tasks.publish import page_address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out" / "HAND-A" / "m").mkdir(parents=True)
    (tmp_path / "out" / "HAND-A" / "m" / "card.html").write_text("<p>a card")
    (tmp_path / "out" / ".store").mkdir()
    (tmp_path / "out" / ".store" / "pairs").write_text("not for others")
    (tmp_path / "secret").write_text("not for others")
    (tmp_path / "out" / "HAND-A" / "way-out").symlink_to(tmp_path / "secret")
    return tmp_path / "out"


def asked(address: str, path: str, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(address.removeprefix("http://"))
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_a_card_is_read_and_nothing_else(folder: Path, tmp_path: Path):
    with serving(folder, tmp_path) as address:
        assert address.startswith("http://127.0.0.1:")
        assert asked(address, "/HAND-A/m/card.html") == (200, b"<p>a card")
        for path in ("/", "/HAND-A", "/HAND-A/", "/.store/pairs", "/../secret", "/%2e%2e/secret", "/HAND-A/way-out"):
            assert asked(address, path)[0] == 404, path
        assert asked(address, "/HAND-A/m/card.html", Host="elsewhere.example")[0] == 403


def test_the_address_stays_unless_it_is_taken(folder: Path, tmp_path: Path):
    with serving(folder, tmp_path) as first:
        pass
    with serving(folder, tmp_path) as second:
        assert second == first
    port = int(first.rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)), serving(folder, tmp_path) as third:
        assert third != first
        assert asked(third, "/HAND-A/m/card.html")[0] == 200


def test_links_go_where_the_cards_are_served(folder: Path, monkeypatch: pytest.MonkeyPatch):
    page = folder / "HAND-A" / "a model" / "card.html"
    monkeypatch.delenv("FIRECARD_PAGES", raising=False)
    assert page_address(page, folder) == page.as_uri()
    monkeypatch.setenv("FIRECARD_PAGES", "http://127.0.0.1:8000/")
    assert page_address(page, folder) == "http://127.0.0.1:8000/HAND-A/a%20model/card.html"
