"""What no run can be asked for: times before it begins, rates that are none, names in use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.schedule.faults import CLIENTS

if TYPE_CHECKING:
    from harness.schedule.schedule import Schedule

JUDGE = "judge"
"""The host of the client that makes the topic, and reads everything back."""

_OUTSIDE = "outside"
_NODE = re.compile(r"n[0-9]+")
_NOT_NEGATIVE = ("at_ms", "for_ms", "extra_ms", "delay_ms", "jitter_ms", "spare_bytes", "rate")
_POSITIVE = ("factor", "bytes_per_s", "period_ms")
_SHARES = ("loss", "duplicate", "reorder", "corrupt")


def beyond_limits(schedule: Schedule) -> Iterator[str]:
    """A sentence for each: what is wrong, where, and what to try."""
    if schedule.nodes < 1:
        yield f"nodes is {schedule.nodes}; try 1"
    if schedule.length_ms <= 0:
        yield f"length_ms is {schedule.length_ms:g}; try 20000"
    for client, operations in schedule.operations.items():
        if not client or _NODE.fullmatch(client) or client in (JUDGE, CLIENTS, _OUTSIDE):
            yield f"operations: {client!r} is no name for a client, it has another meaning; try c1"
        for number, operation in enumerate(operations, 1):
            yield from _numbers(operation, f"operations of {client}, {number}")
    for fault in schedule.faults:
        yield from _numbers(fault, f"fault {fault.name!r}")
    for number, point in enumerate(schedule.crash_points, 1):
        yield from _numbers(point, f"crash point {number}")
    yield from _of_messages(schedule)
    for number, override in enumerate(schedule.overrides, 1):
        if not 0 <= override.value < 1:
            yield f"override {number}: value is {override.value:g}; it lies in [0, 1), try 0.99"
        if override.ordinal < 0:
            yield f"override {number}: ordinal is {override.ordinal}; they are counted from 0"


def _numbers(entry: object, where: str) -> Iterator[str]:
    for name in (*_NOT_NEGATIVE, *_POSITIVE, *_SHARES):
        value = getattr(entry, name, None)
        if value is None:
            continue
        if value < 0:
            yield f"{where}: {name} is {value:g}; it cannot be less than 0"
        elif name in _POSITIVE and value == 0:
            yield f"{where}: {name} is 0; it must be more"
        elif name in _SHARES and value > 1:
            yield f"{where}: {name} is {value:g}; it is a share, so 1 is all of them"


def _of_messages(schedule: Schedule) -> Iterator[str]:
    hosts = [f"n{number}" for number in range(1, schedule.nodes + 1)]
    hosts += [*schedule.operations, JUDGE]
    for fault in schedule.message_faults:
        for field in ("node", "source", "target"):
            name = getattr(fault.matcher, field)
            if name not in (None, CLIENTS, *hosts):
                yield (
                    f"message fault {fault.name!r}: {field} is {name!r}; known are "
                    + ", ".join(hosts)
                )
