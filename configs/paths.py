"""Path templates such as `wrf/{cycle:%Y%m%d%H}/wrfout_*`: which files belong to a cycle, and which cycles there are.

Expanded here by hand: `str.format` would follow attributes and build strings of any width. A URL such as
`https://…/{cycle:%Y%m%d%H}.zarr` is one place for every cycle: it is not searched.
"""

from __future__ import annotations

import glob
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import cast
from urllib.parse import unquote, urlsplit

from metrics.errors import BadParameter

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
CODES = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "M": 2, "j": 3}  # how many digits each has
WILD = re.compile(r"\*+|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)  # what `glob` takes for a pattern; anything else is itself


URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


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
    if re.search(r"[\x00-\x1f\x7f]", template):
        raise BadParameter(f"control characters in the path {template!r}")


def files(template: str, root: Path, cycle: datetime) -> list[Path]:
    """The files of a cycle, sorted by name; the template is relative to `root`."""
    pattern = PLACEHOLDER.sub(lambda found: cycle.strftime(_format_of(found[1])), template)
    if URL.match(pattern):
        return [place(pattern)]
    return sorted(root / name for name in _matching(pattern, root))


def place(text: str) -> Path:
    """A path, or what stands for one where the text is a URL: fsspec's own kind of path (`upath`)."""
    if not URL.match(text):
        return Path(text)
    parts = urlsplit(text)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if "@" in parts.netloc:
        raise BadParameter(f"{text.partition('://')[0]}://…: a path holds no user or password; set them for fsspec")
    try:
        from upath import UPath

        return cast("Path", UPath(text))
    except (ImportError, ValueError) as error:
        raise BadParameter(
            f"{text}: a URL needs the extra `zarr`, and for some protocols a library of their own: "
            f"pip install 'firecard[zarr]' ({error})"
        ) from None


def is_one_url_per_cycle(template: str) -> bool:
    """Whether only somebody who knows the cycle can know the place."""
    return bool(URL.match(template) and PLACEHOLDER.search(template))


def _matching(pattern: str, root: Path) -> list[str]:
    """Names below the root; the root itself may hold brackets, which are no pattern."""
    return glob.glob(pattern, root_dir=root)  # noqa: PTH207  (Path.glob refuses `../obs/*.csv`)


def cycles(template: str, root: Path) -> list[datetime]:
    """The cycles that have a file, in order; none where the template does not name a whole day."""
    if URL.match(template):
        return []
    codes = re.findall("%(.)", "".join(_format_of(field) for field in PLACEHOLDER.findall(template)))
    if not ({"Y", "y"} & set(codes) and ({"m", "d"} <= set(codes) or "j" in codes)):
        return []
    wild, exact = "", ""
    for index, piece in enumerate(PLACEHOLDER.split(template)):
        if index % 2 == 0:
            wild += piece
            exact += "".join(_as_expression(part) for part in WILD.findall(piece))
            continue
        for part in re.findall("%.|[^%]+", _format_of(piece)):
            digits = CODES[part[1]] if part.startswith("%") else 0
            wild += "[0-9]" * digits or part
            exact += f"([0-9]{{{digits}}})" if digits else re.escape(part)
    found = set()
    for name in _matching(wild, root):
        match = re.fullmatch(exact, name)
        cycle = _cycle_of(list(zip(codes, match.groups(), strict=True))) if match else None
        if cycle:
            found.add(cycle)
    return sorted(found)


def _as_expression(part: str) -> str:
    """A piece of a `glob` pattern as a regular expression."""
    if part[0] == "*":
        return "[^/]*"
    if part == "?":
        return "[^/]"
    if part[0] == "[" and len(part) > 1:
        inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", part[1:-1].removeprefix("!"))
        return f"[{'^' if part[1] == '!' else ''}{inside}]"
    return re.escape(part)


def _cycle_of(written: list[tuple[str, str]]) -> datetime | None:
    """The cycle that the parts of a name spell; none where they are no date, or where two of them disagree."""
    values = dict(written)
    if any(values[code] != digits for code, digits in written):
        return None
    text, pattern = " ".join(values.values()), " ".join(f"%{code}" for code in values)
    try:
        cycle = datetime.strptime(text, pattern).replace(tzinfo=UTC)
    except ValueError:
        return None
    return cycle if cycle.strftime(pattern) == text else None  # a 366th day goes over into the next year


def moment(text: str) -> datetime:
    """A cycle as people write it: UTC, to the hour or the minute."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise BadParameter(f"expected a UTC time such as 2026-11-17T00, got {text!r}") from None
    return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)


def folder_name(name: str) -> str:
    """One harmless path component, whatever a model is called."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:80].strip(".-") or "unnamed"


def artifact_key(*names: str) -> str:
    """A key as Prefect wants it: lowercase letters, digits and dashes, the same every night."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(names).lower()).strip("-")
