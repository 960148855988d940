"""Figures over the time of a run: how quick, how much, how far behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.history.operations import OPERATIONS
from harness.history.schema import FAIL, INFO, OK
from harness.store.results import SurvivedFigures
from reports.calls import RECORD, Calls, Ints
from reports.faults import Band

Floats = npt.NDArray[np.float64]
WRITES = frozenset(name for name, each in OPERATIONS.items() if each.writes_records)
_NS = 1_000_000_000
_DENSE_MAX = 1 << 25
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Rates:
    """By time slot."""

    at_s: Floats
    ok: Floats
    fail: Floats
    info: Floats
    unread: Floats
    waited_p50_s: Floats
    """From an acknowledgement to the first poll that returned it; by when it was acknowledged."""
    waited_p99_s: Floats


@dataclass(frozen=True, slots=True)
class Partition:
    key: Any
    sent: int
    read: int
    """How many of those were read; of several at one offset, only one can be."""


@dataclass(slots=True)
class Reading:
    """For every record that was acknowledged and read: when, and how long that took.

    In numbers as small as will do: a run may have many millions of them.
    """

    partitions: list[Partition]
    slot: npt.NDArray[np.int16]
    """In which time slot it was acknowledged."""
    waited_s: npt.NDArray[np.float32]
    unread: Floats


def slots(end_ns: int) -> Ints:
    """The ends of the time slots: at most 240, of a second or more."""
    width = max(1, -(-end_ns // (240 * _NS))) * _NS
    return np.arange(width, end_ns + width, width, dtype=np.int64)


def reading(calls: Calls) -> Reading:
    """Key by key, because offsets of one key are dense and need no sorting."""
    elements, time_ns = calls.elements, calls.rows.time_ns
    ends = slots(calls.end_of_all_ns)
    unread = np.zeros(len(ends))
    width = _width(ends)
    partitions: list[Partition] = []
    slot, waited = [np.zeros(0, np.int16)], [np.zeros(0, np.float32)]
    is_ok = calls.rows.type[elements.row] == OK
    for number, key in enumerate(calls.history.keys):
        own = np.flatnonzero((elements.key == number) & (elements.offset >= 0))
        if not len(own):
            continue
        is_record = elements.kind[own] == RECORD
        records, acks = own[is_record], own[~is_record & is_ok[own]]
        acked_at, offsets = time_ns[elements.row[acks]], elements.offset[acks]
        read_at = _first_read(offsets, elements.offset[records], time_ns[elements.row[records]])
        unread += behind(ends, acked_at, offsets, time_ns[elements.row[records]],
                         elements.offset[records])  # fmt: skip
        was_read = read_at != _NEVER
        # Of two that were acknowledged at one offset, only one can have been read.
        partitions.append(Partition(key, len(acks), len(np.unique(offsets[was_read]))))
        acked_at, read_at = acked_at[was_read], read_at[was_read]
        slot.append(np.minimum(acked_at // width, len(ends) - 1).astype(np.int16))
        waited.append((np.maximum(read_at - acked_at, 0) / _NS).astype(np.float32))
    return Reading(partitions, np.concatenate(slot), np.concatenate(waited), unread)


def _width(ends: Ints) -> int:
    return int(ends[0]) if len(ends) else _NS


def _first_read(acked: Ints, read: Ints, read_ns: Ints) -> Ints:
    """When each of the acknowledged offsets was first read."""
    top = max(acked.max(initial=0), read.max(initial=0))
    if top > _DENSE_MAX:
        # Somebody made up an offset: number those that there are.
        _, ranks = np.unique(np.concatenate([acked, read]), return_inverse=True)
        acked, read, top = ranks[: len(acked)], ranks[len(acked) :], len(ranks)
    first = np.full(int(top) + 1, _NEVER, np.int64)
    # Backwards, so that the earliest is what stays.
    first[read[::-1]] = read_ns[::-1]
    found: Ints = first[acked]
    return found


def behind(ends: Ints, acked_ns: Ints, acked: Ints, read_ns: Ints, read: Ints) -> Floats:
    """How many offsets were acknowledged beyond what anybody had read, at each of these times."""
    return np.maximum(_reached(ends, acked_ns, acked) - _reached(ends, read_ns, read), 0.0)


def _reached(ends: Ints, times_ns: Ints, offsets: Ints) -> Floats:
    tops = np.concatenate([[0], np.maximum.accumulate(offsets + 1)])
    return tops[np.searchsorted(times_ns, ends, side="right")].astype(np.float64)


def rates(calls: Calls, read: Reading) -> Rates:
    ends = slots(calls.end_of_all_ns)
    width = _width(ends)
    slot = calls.end_ns // width
    per_s = [
        np.bincount(slot[calls.type == type_], minlength=len(ends))[: len(ends)] / (width / _NS)
        for type_ in (OK, FAIL, INFO)
    ]
    p50, p99 = np.full(len(ends), np.nan), np.full(len(ends), np.nan)
    order = np.argsort(read.slot, kind="stable")
    bounds = np.searchsorted(read.slot[order], np.arange(len(ends) + 1))
    for number in range(len(ends)):
        own = read.waited_s[order[bounds[number] : bounds[number + 1]]]
        if len(own):
            p50[number], p99[number] = np.quantile(own, (0.5, 0.99))
    ok, fail, info = per_s
    return Rates((ends - width / 2) / _NS, ok, fail, info, read.unread, p50, p99)


def acknowledged(calls: Calls) -> npt.NDArray[np.bool_]:
    """Which calls wrote something and were acknowledged."""
    writes = [code for code, name in enumerate(calls.rows.names) if name in WRITES]
    found: npt.NDArray[np.bool_] = (calls.type == OK) & np.isin(calls.f, writes)
    return found


def during(calls: Calls, bands: Sequence[Band]) -> npt.NDArray[np.bool_]:
    """Which calls ended while a fault was in force."""
    found = np.zeros(len(calls), np.bool_)
    for band in bands:
        found |= (calls.end_ns >= band.begin_ns) & (calls.end_ns <= band.end_ns)
    return found


def writes_under_faults(
    calls: Calls, bands: Sequence[Band], survived: SurvivedFigures | None
) -> int:
    """How many writes were acknowledged while a fault was in force, as the run itself counted.

    A run that did not count has bands alone, which begin a moment before a fault takes hold.
    """
    if survived is not None:
        return survived["writes"]
    return int(np.sum(acknowledged(calls) & during(calls, bands)))


def longest_silence_s(calls: Calls) -> float | None:
    """The longest time in which no write was acknowledged, between the first and the last."""
    ends = np.sort(calls.end_ns[acknowledged(calls)])
    return float(np.max(np.diff(ends))) / _NS if len(ends) > 1 else None


def latency_ms(calls: Calls) -> dict[str, tuple[int, float, float, float]]:
    """By what was done, for those that went well: how many, median, 99 %, longest."""
    found = {}
    took = (calls.end_ns - calls.begin_ns) / 1e6
    for code, name in enumerate(calls.rows.names):
        own = took[(calls.f == code) & (calls.type == OK)]
        if len(own):
            p50, p99 = np.quantile(own, (0.5, 0.99)).tolist()
            found[name] = (len(own), p50, p99, float(own.max()))
    return dict(sorted(found.items()))
