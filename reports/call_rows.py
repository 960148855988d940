"""Operations as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.history.op import TYPES
from reports.calls import Calls
from reports.limits import Limits
from reports.wording import cut, outcome, seconds


@dataclass(frozen=True, slots=True)
class Call:
    """One operation as a row of a table."""

    index: int
    time: str
    time_ns: int
    took: str
    process: str
    f: str
    type: str
    text: str
    error: str
    is_guilty: bool = False


def around(
    calls: Calls, guilty: set[int], moments: Sequence[int], limits: Limits
) -> tuple[tuple[Call, ...], int]:
    """The calls that are guilty or near a guilty one; of a run without any, the last ones."""
    own = {call for index in guilty if (call := calls.call_of(index)) is not None}
    shown = set(sorted(own)[: limits.calls])
    for at_ns in moments or [calls.end_of_all_ns]:
        middle = int(np.searchsorted(calls.begin_ns, at_ns))
        first, last = max(0, middle - limits.around), min(len(calls), middle + limits.around)
        for call in range(first, last):
            if len(shown) >= limits.calls:
                break
            shown.add(call)
    rows = tuple(call_row(calls, call, call in own) for call in sorted(shown))
    return rows, len(calls) - len(rows)


def call_row(
    calls: Calls, call: int, is_guilty: bool, witness: Mapping[str, Any] | None = None
) -> Call:
    op = calls.told(call)
    begin_ns, end_ns = int(calls.begin_ns[call]), int(calls.end_ns[call])
    witness = witness or {}
    return Call(
        index=int(op.index),
        time=seconds(end_ns if witness else begin_ns),
        time_ns=begin_ns,
        took=f"{(end_ns - begin_ns) / 1e6:,.1f} ms" if calls.ended[call] >= 0 else "no end",
        process=f"p{op.process}",
        f=op.f,
        type=TYPES[int(calls.type[call])],
        text=outcome(op, witness.get("key"), witness.get("offset")),
        error=cut(op.error or ""),
        is_guilty=is_guilty,
    )
