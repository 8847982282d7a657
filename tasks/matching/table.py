"""The candidates of a match as a file."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tasks.matching.pairs import Matched

META = b"firecard"
BACKDROP = b"firecard.backdrop"  # float32, row after row, compressed; its shape stands in the metadata


def write_matched(path: Path, matched: Matched) -> None:
    """The candidates as Parquet; how they came about stands in its metadata."""
    table = pa.Table.from_pandas(matched.table, preserve_index=False)
    ground = np.empty((3, 0, 0)) if matched.backdrop is None else matched.backdrop
    meta = json.dumps({"offered": matched.offered, "how": matched.how, "backdrop": ground.shape}, ensure_ascii=False)
    kept = {META: meta.encode(), BACKDROP: base64.b64encode(zlib.compress(ground.astype("<f4").tobytes()))}
    pyarrow.parquet.write_table(table.replace_schema_metadata(kept), path, compression="zstd")


def read_matched(path: Path) -> Matched:
    """The candidates as `write_matched` kept them."""
    table = pyarrow.parquet.read_table(path)
    meta = json.loads(table.schema.metadata[META])
    ground = None
    if 0 not in meta.get("backdrop", [0]):
        kept = zlib.decompress(base64.b64decode(table.schema.metadata[BACKDROP]))
        ground = np.frombuffer(kept, "<f4").reshape(meta["backdrop"]).astype(float)
    return Matched(table.to_pandas(ignore_metadata=True), tuple(meta["offered"]), meta["how"], ground)
