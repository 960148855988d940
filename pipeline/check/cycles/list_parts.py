"""First step: all that is said of some lists, as dependencies and as a summary."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from checkers.cuts.lists import Links, Part, Said

COLUMNS: Final = (
    *("op_row", "call", "outcome", "number", "position", "kind", "key_id", "value", "boxed"),
)
"""Of elements that speak; `op_row` is the row that completes the operation."""

SUMMARY, LONGEST, LINK = range(3)
"""What a row is about: the part; the longest read of `key`, which is in the operation `source`; or
a dependency between two operations."""

LINKS: Final = tuple(each.name for each in fields(Links))
SCHEMA: Final = pa.schema(
    [
        pa.field("what", pa.int8()),
        pa.field("summary", pa.binary()),
        pa.field("key", pa.int32()),
        *(pa.field(name, pa.int64()) for name in LINKS),
    ]
)


def parts_of_lists(*, realtime: bool) -> Callable[[pa.Table], pa.Table]:
    """For applyInArrow, of all rows with COLUMNS of some keys."""

    def told(group: pa.Table) -> pa.Table:
        part = Part(said_from(group), realtime=realtime)
        keys, rows = part.longest
        links = {name: getattr(part.links, name) for name in LINKS}
        return pa.concat_tables(
            [
                _table(SUMMARY, {"summary": pa.array([pickle.dumps(part.summary)], pa.binary())}),
                _table(LONGEST, {"key": keys, "source": rows}),
                _table(LINK, links),
            ]
        )

    return told


def said_from(group: pa.Table) -> Said:
    def column(name: str, null: Any = None) -> npt.NDArray[Any]:
        values = group[name]
        if values.null_count:
            values = pc.fill_null(values, null)
        return np.asarray(values)

    return Said(
        row=column("op_row").astype(np.int64),
        call=column("call", -1).astype(np.int64),
        outcome=column("outcome"),
        number=column("number"),
        position=column("position", 0),
        kind=column("kind"),
        key=column("key_id"),
        value=column("value", 0),
        boxed=column("boxed").astype(np.bool_),
        told=np.asarray(pc.is_valid(group["value"])),
    )


def _table(what: int, columns: dict[str, Any]) -> pa.Table:
    count = len(next(iter(columns.values())))
    columns["what"] = np.full(count, what, np.int8)
    arrays = [
        pa.array(columns[each.name], each.type)
        if each.name in columns
        else pa.nulls(count, each.type)
        for each in SCHEMA
    ]
    return pa.table(arrays, schema=SCHEMA)
