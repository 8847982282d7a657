"""Pages: the cards over HTTP on the loopback. A browser does not follow a link from the Prefect UI to a file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

from flows.server import LOOPBACK


class _Pages(SimpleHTTPRequestHandler):
    """Reads only, no listings, nothing hidden; and answers only to its own name, so that no other site reads along."""

    server_version, sys_version = "firecard", ""

    def send_head(self) -> Any:
        assert isinstance(self.server, ThreadingHTTPServer)
        port = self.server.server_port
        if self.headers.get("Host") not in (f"{LOOPBACK}:{port}", f"localhost:{port}"):
            self.send_error(403)
            return None
        wanted = Path(self.translate_path(self.path))
        root = Path(self.directory).resolve()
        inside = wanted.resolve().relative_to(root).parts if root in wanted.resolve().parents else ("..",)
        if any(part.startswith(".") for part in inside) or not wanted.is_file():
            self.send_error(404)
            return None
        return super().send_head()

    def list_directory(self, path: Any) -> BytesIO | None:
        self.send_error(404)
        return None

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@contextmanager
def serving(folder: Path, home: Path) -> Iterator[str]:
    """The address under which the files of a folder are to be had; the same every time, so that old links stay good."""
    kept = home / "pages.port"
    try:
        wish = int(kept.read_text())
    except (OSError, ValueError):
        wish = 0
    handler = partial(_Pages, directory=str(folder))
    try:
        listening = ThreadingHTTPServer((LOOPBACK, wish), handler)
    except (OSError, OverflowError):
        listening = ThreadingHTTPServer((LOOPBACK, 0), handler)
    port = listening.server_port
    kept.write_text(f"{port}\n")
    threading.Thread(target=listening.serve_forever, name="pages", daemon=True).start()
    try:
        yield f"http://{LOOPBACK}:{port}"
    finally:
        listening.shutdown()
        listening.server_close()
