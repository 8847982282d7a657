"""A million documents, ten fields, three models: from files to field metrics, macro averages and a ranking."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from workload import Goal, Skipped, Trial, agree_on_arrays, faster

ID = "W8"
WORK = "extraction: classification, field metrics, macro averages and ranking, from Parquet files"
DOCUMENTS = 1_000_000
MODELS = ("atlas", "borealis", "cirrus")
# How many different values a field has; two fields are dates in several spellings.
FIELDS = {
    "contract_type": 12,
    "party": 20_000,
    "counterparty": 20_000,
    "effective_date": 3_000,
    "renewal_date": 3_000,
    "currency": 30,
    "governing_law": 60,
    "signatory": 50_000,
    "reference": 200_000,
    "guarantor": 500,
}
DATES = ("effective_date", "renewal_date")
RIGHT = {"atlas": 0.92, "borealis": 0.85, "cirrus": 0.7}


def prepare() -> Trial:
    folder = Path(tempfile.mkdtemp(prefix="firecard-w8-"))
    if shutil.disk_usage(folder).free < 2e9:
        raise Skipped("less than 2 GB free for the inputs")
    write_inputs(folder)
    peak = {name: peak_memory(name, folder) for name in ("firecard", "pandas")}
    trial = Trial(
        inputs=f"{DOCUMENTS:,} documents × {len(FIELDS)} fields × {len(MODELS)} models and ground truth, in Parquet,"
        f" {sum(each.stat().st_size for each in folder.iterdir()) / 1e6:.0f} MB",
        contenders={
            "firecard": lambda: with_firecard(folder),
            "pandas script": lambda: with_pandas(folder),
        },
        agree=lambda results: agree_on_arrays(
            results, reference="firecard", others=("pandas script",), rtol=1e-12, atol=0
        ),
        goals=(
            faster("firecard", "pandas script", than="a pandas script", least=10),
            Goal("firecard: peak memory", lambda _seconds: peak["firecard"], "≤", unit=" MB"),
            Goal("pandas script: peak memory", lambda _seconds: peak["pandas"], "≤", unit=" MB"),
        ),
        notes=(
            "Each reads the files, joins documents by id, sets case, spaces and spellings of dates aside, and ranks.",
            "The script uses pandas' own vectorised text methods and parses dates by distinct value.",
        ),
    )
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return trial


def write_inputs(folder: Path) -> None:
    """Ground truth, and models that take a wrong value, miss one or write it in another spelling."""
    rng = np.random.default_rng(20261117)
    ids = np.array([f"doc-{each:07d}" for each in range(DOCUMENTS)])
    truth = {name: rng.integers(-count // 10, count, DOCUMENTS) for name, count in FIELDS.items()}
    write_table(folder / "truth.parquet", ids, {name: (codes, 0) for name, codes in truth.items()})
    for model in MODELS:
        order = rng.permutation(DOCUMENTS)
        columns = {}
        for name, codes in truth.items():
            chance = rng.random(DOCUMENTS)
            other = rng.integers(0, FIELDS[name], DOCUMENTS)
            given = np.where(chance < RIGHT[model], codes, np.where(chance < 0.97, other, -1))
            given[chance > 0.999] = PENDING
            columns[name] = (given[order], rng.integers(0, SPELLINGS, DOCUMENTS))
        write_table(folder / f"{model}.parquet", ids[order], columns)


SPELLINGS, PENDING = 3, -1_000_000


def write_table(path: Path, ids: np.ndarray, columns: dict[str, tuple[np.ndarray, Any]]) -> None:
    table = {"document": pa.array(ids)}
    for name, (codes, spelling) in columns.items():
        texts = [spelt(name, each, how) for each in range(FIELDS[name]) for how in range(SPELLINGS)]
        texts += ["Not Present", "pending"]
        index = np.where(codes < 0, len(texts) - 2, codes * SPELLINGS + spelling)
        index[codes == PENDING] = len(texts) - 1
        table[name] = pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int32)), texts).cast(pa.string())
    pyarrow.parquet.write_table(pa.table(table), path)


def spelt(field: str, code: int, how: int) -> str:
    if field in DATES:
        day = np.datetime64("2016-01-01") + code
        moment = day.astype(object)
        return (str(day), f"{moment:%B} {moment.day}, {moment.year}", f"{moment.day} {moment:%b} {moment.year}")[how]
    value = f"{field.replace('_', ' ').title()} Number {code}"
    return (value, value.upper(), f" {value.lower()} ")[how]


def with_firecard(folder: Path) -> dict[str, Any]:
    from configs.extraction import ExtractionRules
    from metrics.extraction import KINDS, ExtractionSums, overall
    from metrics.scoring.ranking import contest, rank
    from tasks.families.extraction import reduce_answers
    from tasks.matching.extraction import match_answers
    from tasks.readers.extraction import Layout, read_answers

    truth = read_answers([folder / "truth.parquet"], Layout())
    counted = {}
    for model in MODELS:
        found = match_answers(
            read_answers([folder / f"{model}.parquet"], Layout(), (), model), truth, ExtractionRules()
        )
        _, counts = reduce_answers(found)
        counted[model] = ExtractionSums.of_counts(counts.sum(axis=1))
    assert len(KINDS) == 6
    metrics = {model: each.metrics() for model, each in counted.items()}
    averages = {model: overall(each) for model, each in counted.items()}
    order = ("f1", "precision", "recall")
    contests = [
        contest(field, {model: [float(metrics[model][name][index]) for name in order] for model in MODELS})
        for index, field in enumerate(FIELDS)
    ]
    ranking = rank({model: [float(averages[model][name]) for name in order] for model in MODELS}, contests, order)
    return {
        "counts": np.array([[each.tp, each.fp, each.fn, each.tn] for each in counted.values()]),
        "f1": np.array([averages[model]["f1"] for model in MODELS]),
        "rank": np.array([MODELS.index(place.model) for place in ranking.places]),
        "wins": np.array([place.wins for place in ranking.places]),
    }


def with_pandas(folder: Path) -> dict[str, Any]:
    import pandas as pd

    def normal(values: Any, is_date: bool) -> Any:
        text = values.fillna("").str.normalize("NFKC").str.casefold().str.strip().str.replace(r"\s+", " ", regex=True)
        text = text.mask(text == "not present", "")
        if is_date:
            known = pd.Series(text.unique())
            days = pd.to_datetime(known, format="mixed", errors="coerce").dt.strftime("%Y-%m-%d")
            text = text.map(dict(zip(known, days.fillna(known), strict=True)))
        return text

    truth = pd.read_parquet(folder / "truth.parquet").set_index("document")
    right = {name: normal(truth[name], name in DATES) for name in FIELDS}
    counts, table = [], []
    for model in MODELS:
        given = pd.read_parquet(folder / f"{model}.parquet").set_index("document").reindex(truth.index)
        own = []
        for name in FIELDS:
            value = normal(given[name], name in DATES)
            kept = ~value.isin(["pending", "error"]) & ~right[name].isin(["pending", "error"])
            value, expected = value[kept], right[name][kept]
            present, there = value != "", expected != ""
            same = value == expected
            tp, tn = int((same & there).sum()), int((same & ~there).sum())
            fp, fn = int((present & ~same).sum()), int((there & ~same).sum())
            own.append((tp, fp, fn, tn))
            precision = tp / (tp + fp) if tp + fp else 0.0
            recall = tp / (tp + fn) if tp + fn else 0.0
            f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
            table.append((model, name, f1, precision, recall))
        counts.append(np.array(own).T)
    frame = pd.DataFrame(table, columns=["model", "field", "f1", "precision", "recall"])
    averages = frame.groupby("model")[["f1", "precision", "recall"]].mean()
    best = frame.loc[frame.groupby("field")["f1"].idxmax(), "model"].value_counts()
    ranked = averages.sort_values(["f1", "precision", "recall"], ascending=False).index
    return {
        "counts": np.array(counts, dtype=float),
        "f1": averages.loc[list(MODELS), "f1"].to_numpy(),
        "rank": np.array([MODELS.index(each) for each in ranked]),
        "wins": np.array([float(best.get(each, 0)) for each in ranked]),
    }


def peak_memory(name: str, folder: Path) -> float:
    """Of a process of its own that does the work once, in MB."""
    run = [sys.executable, str(Path(__file__).resolve()), name, str(folder)]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=root)
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    import resource

    {"firecard": with_firecard, "pandas": with_pandas}[sys.argv[1]](Path(sys.argv[2]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
