"""Process, invocation and outcome of each row's operation, as checkers determine them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

from checkers.arrays import Bools
from checkers.columns import OK, Columns, Elements, elements_from, ops_from
from harness.history import schema
from harness.history.op import Op

_INVOKE = 0
_COLUMNS = ("process", "type", "f")


@dataclass(frozen=True, slots=True)
class Speakers:
    """Columns with one entry for each row of a history."""

    process: npt.NDArray[np.int32]
    call: npt.NDArray[np.int32]
    """The row of the invocation; -1 if there is none."""
    outcome: npt.NDArray[np.int8]
    """1 ok, 2 info, 3 fail; 0 if another row has the elements of the operation, and for rows of the
    nemesis."""

    @classmethod
    def of(cls, ops: pa.Table, has_elements: Bools) -> Speakers:
        """If a completion has no elements, the outcome is that of the invocation's row."""
        columns = Columns(NoHistory(), ops=ops_from(_filled(ops)), elements=no_elements())
        outcome, partner = columns.outcome.copy(), columns.partner
        invoked = np.flatnonzero((columns.ops.type == _INVOKE) & (partner >= 0))
        ends = partner[invoked]
        silent = (columns.outcome[ends] != OK) & ~has_elements[ends]
        outcome[invoked[silent]] = columns.outcome[ends[silent]]
        process = ops["process"].to_numpy().astype(np.int32)
        return cls(process, columns.call.astype(np.int32), outcome)


@lru_cache(maxsize=1)
def speakers_of_file(place: str) -> Speakers:
    """Speakers of a long history in Parquet; cached, because a worker reads many parts of it."""
    ops = pq.read_table(Path(place) / "ops.parquet", columns=list(_COLUMNS), memory_map=False)
    has_elements = np.zeros(len(ops), np.bool_)
    elements = pq.ParquetFile(Path(place) / "elements.parquet", memory_map=False)
    for batch in elements.iter_batches(1 << 20, columns=["op"]):
        has_elements[batch.column(0).to_numpy()] = True
    return Speakers.of(ops, has_elements)


class NoHistory:
    """A history for `Columns` of which only the operations are used."""

    keys = ()
    values = ()
    timestamps = None

    def op(self, index: int) -> Op:
        raise LookupError(index)


def no_elements() -> Elements:
    return elements_from(schema.ELEMENTS.empty_table())


def _filled(ops: pa.Table) -> pa.Table:
    """The operations with blank columns, on which pairs do not depend."""
    blank = pa.array(np.zeros(len(ops), np.int64))
    for name in ("index", "time"):
        if name not in ops.column_names:
            ops = ops.append_column(name, blank)
    return ops
