"""The columns of a history, as docs/reference/history.md describes them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.history.op import TYPES

INVOKE: Final = 0
OK: Final = 1
FAIL: Final = 2
INFO: Final = 3

TYPE_NAMES: Final = pa.array(TYPES, pa.string())
TYPE: Final = pa.dictionary(pa.int8(), pa.string())
WORD: Final = pa.dictionary(pa.int32(), pa.string())

OPS: Final = pa.schema(
    [
        pa.field("index", pa.int64(), nullable=False),
        pa.field("time", pa.int64(), nullable=False),
        pa.field("process", pa.int32(), nullable=False),
        pa.field("type", TYPE, nullable=False),
        pa.field("f", WORD, nullable=False),
        pa.field("error", pa.string()),
        pa.field("node", WORD),
    ]
)

ELEMENTS: Final = pa.schema(
    [
        pa.field("op", pa.int32(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("kind", pa.int8(), nullable=False),
        pa.field("key", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("value", pa.int64()),
        pa.field("boxed", pa.bool_(), nullable=False),
    ]
)

TIMESTAMP: Final = pa.field("timestamp", pa.int64())
"""Optional last column of the elements: a history without timestamps does not have it, so neither
histories of others nor those of older versions need it, and it takes no room where it is empty."""
STAMPED_ELEMENTS: Final = ELEMENTS.append(TIMESTAMP)

RECORDED_ELEMENTS: Final = STAMPED_ELEMENTS.set(0, pa.field("op", pa.int64(), nullable=False))
"""Elements in chunks: `op` is wider, because a run of days has more rows than one machine would
ever load at once. A stream of Arrow has one schema from its beginning, so the column of timestamps
is always there; a batch without any is compressed to a few bytes."""
OLDER_RECORDED_ELEMENTS: Final = RECORDED_ELEMENTS.remove(len(ELEMENTS))
"""Chunks of versions that recorded no timestamps."""

KEYS: Final = pa.schema(
    [pa.field("id", pa.int32(), nullable=False), pa.field("json", pa.string(), nullable=False)]
)
VALUES: Final = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("json", pa.string(), nullable=False)]
)

OPS_MAX: Final = 2**31 - 1
