"""One row of a history, as people and plain Python code see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

OpType = Literal["invoke", "ok", "fail", "info"]
TYPES: Final[tuple[OpType, ...]] = get_args(OpType)
"""In the order of their codes in the column `type`."""

NEMESIS: Final = -1

BACKGROUND: Final = 1 << 30
"""Processes from this number on do what a client left to its library: a commit that nobody waits
for overlaps other operations of its client, so it is a process of its own."""
BACKGROUND_AT_ONCE: Final = 1000


def background_process(process: int, number: int) -> int:
    """Process number of the background operation `number` of a client's process."""
    assert 0 <= number < BACKGROUND_AT_ONCE
    return BACKGROUND + process * BACKGROUND_AT_ONCE + number


def foreground_process(process: int) -> int:
    """The client's own process, of a background process as of itself."""
    return process if process < BACKGROUND else (process - BACKGROUND) // BACKGROUND_AT_ONCE


Key = str | int
"""Of one log: `topic-partition`, or one of Jepsen's integers."""


@dataclass(frozen=True, slots=True)
class Op:
    """An invocation or a completion; docs/reference/history.md says what its value may be."""

    index: int
    time_ns: int
    process: int
    type: OpType
    f: str
    value: Any = None
    error: str | None = None
    node: str | None = None
    extra: Mapping[str, Any] | None = None
    """Fields of histories that others wrote and that we do not know."""
    timestamps: list[Any] | None = None
    """Timestamps of the records that were sent or polled (timestamps.py); None: not recorded."""
