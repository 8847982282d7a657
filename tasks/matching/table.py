"""The candidates of a match as a file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tasks.matching.pairs import Matched

META = b"firecard"


def write_matched(path: Path, matched: Matched) -> None:
    """The candidates as Parquet; how they came about stands in its metadata."""
    table = pa.Table.from_pandas(matched.table, preserve_index=False)
    meta = json.dumps({"offered": matched.offered, "how": matched.how}, ensure_ascii=False)
    pyarrow.parquet.write_table(table.replace_schema_metadata({META: meta.encode()}), path, compression="zstd")


def read_matched(path: Path) -> Matched:
    """The candidates as `write_matched` kept them."""
    table = pyarrow.parquet.read_table(path)
    meta = json.loads(table.schema.metadata[META])
    return Matched(table.to_pandas(ignore_metadata=True), tuple(meta["offered"]), meta["how"])
