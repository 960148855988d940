"""Every operation of a history, declared once: its micro-operations, and whether it writes.

The recorder's flattening, the EDN writer, the tally of a run, its judge, the page and the clients
look here, so a new operation is one entry below. An `f` that is not declared is kept as it came and
counts as a read. docs/reference/history.md shows the form of each value.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from harness.history import kinds


class Writes(Enum):
    """Whether an operation that is `ok` has changed anything."""

    NEVER = "never"
    ALWAYS = "always"
    BY_MICRO_OPS = "by-micro-ops"
    """If one of its micro-operations writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroOperation:
    kinds: tuple[int, ...]
    """Elements of the history that stand for it."""
    writes: bool = False
    is_placed: bool = False
    """Whether a write is acknowledged as [offset, value]."""
    by_clients: bool = True
    """Whether clients here carry it out; the others are only in histories of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    writes: Writes = Writes.NEVER
    has_micro_ops: bool = False
    writes_records: bool = False
    """Whether it may append records, as opposed to a change of topics or of committed offsets."""
    is_keyed_by_words: bool = False
    """Whether its value is an object whose keys are words of the history, and no keys of logs."""
    is_answered: bool = True
    """Whether `ok` means that a broker has answered. A client may answer a poll from what it
    fetched before, and an assignment by itself."""
    is_notice: bool = False
    """Whether its rows have no invocation: they say what happened to a process, at any time, also
    during an operation of the process."""


MICRO_OPERATIONS: dict[str, MicroOperation] = {
    "send": MicroOperation(kinds=(kinds.SEND, kinds.SENT), writes=True, is_placed=True),
    "poll": MicroOperation(
        kinds=(kinds.POLL, kinds.POLLED_NOTHING, kinds.POLLED_EMPTY, kinds.RECORD)
    ),
    "append": MicroOperation(kinds=(kinds.APPEND,), writes=True),
    "r": MicroOperation(kinds=(kinds.READ, kinds.READ_EMPTY, kinds.READ_ELEMENT)),
    "w": MicroOperation(kinds=(kinds.WRITE,), writes=True, by_clients=False),
    "put": MicroOperation(kinds=(kinds.PUT, kinds.PUT_AT), writes=True, is_placed=True),
    "get": MicroOperation(kinds=(kinds.GET, kinds.GET_AT)),
    "pause": MicroOperation(kinds=(kinds.PAUSE,)),
    "abort": MicroOperation(kinds=(kinds.ABORT,)),
}

OPERATIONS: dict[str, Operation] = {
    "send": Operation(writes=Writes.ALWAYS, has_micro_ops=True, writes_records=True),
    "poll": Operation(has_micro_ops=True, is_answered=False),
    "txn": Operation(writes=Writes.BY_MICRO_OPS, has_micro_ops=True, writes_records=True),
    "put": Operation(writes=Writes.ALWAYS, has_micro_ops=True, writes_records=True),
    "get": Operation(has_micro_ops=True),
    "partitioner": Operation(is_answered=False),
    "assign": Operation(is_answered=False),
    "subscribe": Operation(is_answered=False),
    "leave": Operation(is_answered=False),
    "commit": Operation(is_keyed_by_words=True),
    "commit-later": Operation(is_answered=False),
    "committed": Operation(is_keyed_by_words=True),
    "assigned": Operation(is_keyed_by_words=True, is_answered=False, is_notice=True),
    "revoked": Operation(is_keyed_by_words=True, is_answered=False, is_notice=True),
    "lost": Operation(is_keyed_by_words=True, is_answered=False, is_notice=True),
    "end-offsets": Operation(is_keyed_by_words=True),
    "transform": Operation(writes=Writes.ALWAYS, is_keyed_by_words=True, writes_records=True),
    "init-transactions": Operation(is_keyed_by_words=True),
    "fence": Operation(is_keyed_by_words=True),
    "transaction": Operation(is_keyed_by_words=True, is_answered=False, is_notice=True),
    "create": Operation(writes=Writes.ALWAYS),
    "alter": Operation(writes=Writes.ALWAYS),
    "create-partitions": Operation(writes=Writes.ALWAYS),
    "delete": Operation(writes=Writes.ALWAYS),
    "describe": Operation(),
    "crash": Operation(is_answered=False),
}

NOTICES: tuple[str, ...] = tuple(name for name, each in OPERATIONS.items() if each.is_notice)

WRITING_KINDS: tuple[int, ...] = tuple(
    kind for each in MICRO_OPERATIONS.values() if each.writes for kind in each.kinds
)


def named(writes: Writes) -> tuple[str, ...]:
    """Names of the operations that write so."""
    return tuple(name for name, each in OPERATIONS.items() if each.writes is writes)


def is_write(f: str, value: object) -> bool:
    """Whether an operation that is invoked so writes, if it goes well."""
    declared = OPERATIONS.get(f, Operation())
    if declared.writes is not Writes.BY_MICRO_OPS:
        return declared.writes is Writes.ALWAYS
    assert isinstance(value, list)
    return any(MICRO_OPERATIONS[micro_op[0]].writes for micro_op in value)
