"""Reads of a register that another write had replaced: committed offsets, and keys that compaction
must keep.

A read may give what a write put there that began before the read ended, unless a later write,
begun after that one ended, had ended before the read began. What was there before any write may be
read until one has ended. These operations are few beside records, so this is plain Python.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Access:
    value: Hashable
    call: int
    ret: int
    """The row at which it ended; of a write that may still come, later than all."""
    certain: bool = True
    """Whether a write took effect for sure."""


@dataclass(slots=True)
class Register:
    writes: list[Access] = field(default_factory=list)
    reads: list[Access] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Stale:
    read: Access
    source: Access | None
    """The write that was read; none, if there was none or nothing was read."""
    replaced_by: Access | None


def stale_reads(register: Register, unwritten: Hashable = None) -> Iterable[Stale]:
    """Reads that no order of the writes explains one by one."""
    certain = sorted((write for write in register.writes if write.certain), key=lambda one: one.ret)
    returns = [write.ret for write in certain]
    # Of the writes that ended by then, the one that began last.
    latest: list[Access] = []
    for write in certain:
        latest.append(write if not latest or write.call > latest[-1].call else latest[-1])
    by_value: dict[Hashable, list[Access]] = {}
    for write in register.writes:
        by_value.setdefault(write.value, []).append(write)
    for read in register.reads:
        ended = bisect_left(returns, read.call)
        last = latest[ended - 1] if ended else None
        sources = [write for write in by_value.get(read.value, ()) if write.call < read.ret]
        if any(last is None or not source.ret < last.call for source in sources):
            continue
        if read.value == unwritten and last is None:
            continue
        newest = max(sources, key=lambda one: one.call, default=None)
        yield Stale(read, newest, last)
