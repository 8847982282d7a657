"""Match: bring forecast and observation onto the same points, and keep account of every candidate."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from prefect import task
from prefect.cache_policies import NO_CACHE

from configs.case import Case
from tasks.find import FoundFiles, retry_io
from tasks.matching.pairs import Matched, match_pairs
from tasks.store.keyed import Store

META = b"firecard"


@task(
    task_run_name="match-{found.model.name}",
    cache_policy=NO_CACHE,
    retries=2,
    retry_delay_seconds=[1, 5],
    retry_condition_fn=retry_io,
)
def match_model(case: Case, found: FoundFiles, store: Store) -> Path:
    """The model's candidates with their outcome, as a file named by what went into it."""
    name = found.model.name_in_file
    digests = [each.sha256 for each in found.files]
    key = (digests, name, found.cycle, case.window, case.variables)

    def make(path: Path) -> None:
        files = [each.path for each in found.files]
        write_matched(path, match_pairs(files, name, found.cycle, case.window, case.variables))

    return store.keep("pairs", key, make)


def write_matched(path: Path, matched: Matched) -> None:
    """The candidates as Parquet."""
    table = pa.Table.from_pandas(matched.table, preserve_index=False)
    meta = {META: json.dumps({"offered": matched.offered}).encode()}
    pyarrow.parquet.write_table(table.replace_schema_metadata(meta), path, compression="zstd")


def read_matched(path: Path) -> Matched:
    """The candidates as `write_matched` kept them."""
    table = pyarrow.parquet.read_table(path)
    offered = tuple(json.loads(table.schema.metadata[META])["offered"])
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    return Matched(frame, offered)
