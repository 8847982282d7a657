"""Path templates such as `wrf/{cycle:%Y%m%d%H}/wrfout_*`: which files belong to a cycle, and which cycles there are.

Expanded here by hand: `str.format` would follow attributes and build strings of any width.
"""

from __future__ import annotations

import glob
import re
from datetime import UTC, datetime
from pathlib import Path

from metrics.errors import BadParameter

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
CODES = {"Y": r"\d{4}", "y": r"\d{2}", "m": r"\d{2}", "d": r"\d{2}", "H": r"\d{2}", "M": r"\d{2}", "j": r"\d{3}"}


def _format_of(field: str) -> str:
    """The date format inside a placeholder; refused unless it is `cycle` with known codes."""
    name, _, pattern = field.partition(":")
    pattern = pattern or "%Y%m%d%H"
    unknown = [code for code in re.findall(r"%(.?)", pattern) if code not in CODES]
    if name != "cycle" or unknown:
        what = f"%{unknown[0]}" if name == "cycle" else "{" + field + "}"
        raise BadParameter(f"unknown placeholder {what}; expected {{cycle:%Y%m%d%H}} with %Y %y %m %d %H %M or %j")
    return pattern


def check(template: str) -> None:
    """Refuse a template that could not be expanded."""
    for field in PLACEHOLDER.findall(template):
        _format_of(field)
    if re.search(r"[{}]", PLACEHOLDER.sub("", template)):
        raise BadParameter(f"unbalanced braces in the path {template!r}")


def files(template: str, root: Path, cycle: datetime) -> list[Path]:
    """The files of a cycle, sorted by name; the template is relative to `root`."""
    pattern = PLACEHOLDER.sub(lambda found: cycle.strftime(_format_of(found[1])), template)
    return sorted(root / name for name in _matching(pattern, root))


def _matching(pattern: str, root: Path) -> list[str]:
    """Names below the root; the root itself may hold brackets, which are no pattern."""
    return glob.glob(pattern, root_dir=root)  # noqa: PTH207  (Path.glob refuses `../obs/*.csv`)


def cycles(template: str, root: Path) -> list[datetime]:
    """The cycles that have a file, in order; none where the template does not name the cycle."""
    formats = [_format_of(field) for field in PLACEHOLDER.findall(template)]
    if not formats:
        return []
    pieces = PLACEHOLDER.split(template)
    wild, exact, group = "", "", 0
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            wild += piece
            exact += re.sub(r"\\\*", "[^/]*", re.sub(r"\\\?", "[^/]", re.escape(piece)))
            continue
        part = re.sub(r"%(.)", lambda code: f"\0{code[1]}", _format_of(piece))
        wild += re.sub("\0.", "*", part)
        exact += (
            f"(?P<c{group}>" + re.sub("\0(.)", lambda code: CODES[code[1]], re.escape(part).replace("\\\0", "\0")) + ")"
        )
        group += 1
    found = set()
    for name in _matching(wild, root):
        match = re.fullmatch(exact, name)
        if not match:
            continue
        text = "|".join(match[f"c{i}"] for i in range(group))
        try:
            found.add(datetime.strptime(text, "|".join(formats)).replace(tzinfo=UTC))
        except (ValueError, re.error):
            continue
    return sorted(found)


def folder_name(name: str) -> str:
    """One harmless path component, whatever a model is called."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:80].strip(".-") or "unnamed"


def artifact_key(*names: str) -> str:
    """A key as Prefect wants it: lowercase letters, digits and dashes, the same every night."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(names).lower()).strip("-")
