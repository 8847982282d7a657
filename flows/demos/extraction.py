"""Made-up contracts and three models that read them with known faults: wrong values, misses, inventions, failures."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.resources import as_file, files
from pathlib import Path
from random import Random

from tasks.store.keyed import writing

DOCUMENTS, SEED = 120, 20261117
TYPES = ("Service Agreement", "NDA", "License Agreement", "Employment Agreement", "Lease")
NAMES = ("Acme", "Globex", "Initech", "Umbrella", "Stark", "Wayne", "Tyrell", "Cyberdyne")
ENDINGS = ("Ltd", "GmbH", "Inc.", "S.A.")
FIELDS = ("contract_type", "party", "effective_date", "renewal_date", "amount", "guarantor")


@dataclass(frozen=True, slots=True)
class Reader:
    """How often a model takes a wrong value, misses one, invents one, and does not finish a document."""

    wrong: float
    missed: float
    invented: float
    unfinished: float


READERS = {
    "atlas": Reader(wrong=0.04, missed=0.03, invented=0.02, unfinished=0.02),
    "Borealis": Reader(wrong=0.10, missed=0.02, invented=0.10, unfinished=0.0),
    "cirrus": Reader(wrong=0.22, missed=0.25, invented=0.01, unfinished=0.05),
}


def write_demo(folder: Path) -> Path:
    """The contracts' ground truth, the models' answers and the case, in the folder; returns the case file."""
    rng = Random(SEED)
    truth = {f"C{number:04d}": _contract(rng) for number in range(1, DOCUMENTS + 1)}
    answers = {name: _read(truth, reader, rng) for name, reader in READERS.items()}
    texts = {
        "truth.csv": _wide(truth),
        "predictions.csv": _long({name: answers[name] for name in ("atlas", "Borealis")}),
        "cirrus.jsonl": "".join(
            json.dumps({"document": name, **values}, ensure_ascii=False) + "\n"
            for name, values in answers["cirrus"].items()
        ),
    }
    for name, text in texts.items():
        with writing(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    case = folder / "extraction.yaml"
    with as_file(files("configs") / "cases" / "extraction.yaml") as shipped, writing(case) as temporary:
        shutil.copyfile(shipped, temporary)
    return case


Values = dict[str, str]


def _contract(rng: Random) -> Values:
    start = date(2020, 1, 1) + timedelta(days=rng.randrange(1500))
    renewed = start + timedelta(days=365 * rng.randint(1, 5))
    return {
        "contract_type": rng.choice(TYPES),
        "party": _party(rng),
        "effective_date": start.isoformat(),
        "renewal_date": f"{renewed:%d/%m/%Y}" if rng.random() < 0.7 else "",
        "amount": f"{rng.randrange(1, 900) * 1000 + rng.choice((0, 0, 500)):,}",
        "guarantor": _party(rng) if rng.random() < 0.03 else "Not Present",
    }


def _party(rng: Random) -> str:
    return f"{rng.choice(NAMES)} {rng.choice(ENDINGS)}"


def _read(truth: dict[str, Values], reader: Reader, rng: Random) -> dict[str, Values]:
    """A model's answers, each in a spelling of its own."""
    answers = {}
    for name, right in truth.items():
        if rng.random() < reader.unfinished:
            answers[name] = {field: rng.choice(("pending", "error")) for field in FIELDS}
            continue
        other = _contract(rng)
        answers[name] = {
            field: _spelt(_answer(right[field], other[field], reader, rng), field, rng) for field in FIELDS
        }
    return answers


def _answer(right: str, other: str, reader: Reader, rng: Random) -> str:
    if right in ("", "Not Present"):
        return other if rng.random() < reader.invented else ""
    chance = rng.random()
    if chance < reader.wrong:
        return other
    return "" if chance < reader.wrong + reader.missed else right


def _spelt(value: str, field: str, rng: Random) -> str:
    """The same value as another hand would write it."""
    if value in ("", "Not Present"):
        return rng.choice(("", "Not Present", "not present"))
    if field == "effective_date":
        day = date.fromisoformat(value)
        return rng.choice((value, f"{day:%B} {day.day}, {day.year}", f"{day.day} {day:%b} {day.year}"))
    if field == "amount":
        return rng.choice((value, value.replace(",", ""), f"${value}.00"))
    if field == "renewal_date":
        return value
    return rng.choice((value, value.upper(), f" {value.lower()}", value.replace(" ", "  ")))


def _wide(rows: dict[str, Values]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["document", *FIELDS])
    writer.writerows([name, *values.values()] for name, values in rows.items())
    return text.getvalue()


def _long(models: dict[str, dict[str, Values]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["model", "document", "field", "value"])
    for model, rows in models.items():
        for name, values in rows.items():
            writer.writerows([model, name, field, value] for field, value in values.items())
    return text.getvalue()
