"""Takes down what clients and nemesis do, and keeps count while a run goes on.

Everything lands in the history. The counts are for the eyes of whoever watches, and for the end of
the run, which has to know how far each key was acknowledged and read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.client.traffic import Traffic
from harness.history.op import NEMESIS, Op, OpType
from harness.history.operations import MICRO_OPERATIONS, NOTICES, OPERATIONS

_LISTS = frozenset(name for name, each in OPERATIONS.items() if each.has_micro_ops)
_PLACED = frozenset(name for name, each in MICRO_OPERATIONS.items() if each.is_placed)
_UNPLACED = frozenset(name for name, each in MICRO_OPERATIONS.items() if each.writes) - _PLACED
Publish = Callable[[Op], None]
_BUCKETS_NS = tuple(int(100_000 * 1.15**step) for step in range(100))
"""From 0.1 ms to beyond a minute, each 15 % above the last."""


class Rows(Protocol):
    """Where rows are kept: a Recorder, or nothing that keeps them."""

    def __len__(self) -> int: ...

    def record(
        self,
        time_ns: int,
        process: int,
        type: OpType,  # noqa: A002 - the name of the column
        f: str,
        value: Any,
        error: str | None = None,
        node: str | None = None,
        *,
        timestamps: Any = None,
    ) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class Counts:
    ok: int = 0
    fail: int = 0
    info: int = 0
    sent: int = 0
    """Acknowledged sends, puts and appends."""
    read: int = 0
    """Records that polls returned."""

    @property
    def completed(self) -> int:
        return self.ok + self.fail + self.info


@dataclass(slots=True)
class _Waits:
    """How long operations took, in buckets, since it was last asked."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS_NS) + 1))

    def add(self, taken_ns: int) -> None:
        self.counts[bisect_left(_BUCKETS_NS, taken_ns)] += 1

    def quantile_ms(self, share: float) -> float | None:
        total = sum(self.counts)
        if not total:
            return None
        left = share * total
        for bucket, count in enumerate(self.counts):
            left -= count
            if left <= 0:
                return _BUCKETS_NS[min(bucket, len(_BUCKETS_NS) - 1)] / 1e6
        return None


class Tally:
    def __init__(self, recorder: Rows, start_ns: int, publish: Publish | None = None) -> None:
        self._recorder = recorder
        self._publish = publish
        self._start_ns = start_ns
        self._open: dict[int, tuple[int, str, Any]] = {}
        self._waits = _Waits()
        self.counts = Counts()
        self.acknowledged: dict[str, int] = {}
        """By key: the offset after the last that was acknowledged."""
        self.known: dict[str, int] = {}
        """By key: the offset after the last that anybody was told of."""
        self.seen: dict[str, int] = {}
        """By key: the offset after the last that was read."""
        self.sent_by_key: Counter[str] = Counter()
        """Acknowledged records of each key."""
        self.traffic: dict[int, Traffic] = {}
        """By the client's number, from 0: what it had on the wire."""

    def row(
        self,
        time_ns: int,
        process: int,
        type_: OpType,
        f: str,
        value: Any,
        error: str | None = None,
        node: str | None = None,
        timestamps: list[Any] | None = None,
    ) -> None:
        self._record(time_ns, process, type_, f, value, error, node, timestamps)
        if f in NOTICES:
            return
        if type_ == "invoke":
            self._open[process] = (time_ns, f, value)
            return
        begun = self._open.pop(process, None)
        if begun is not None:
            self._waits.add(time_ns - begun[0])
        counts = self.counts
        if type_ == "ok":
            counts.ok += 1
            self._learn(f, value)
        elif type_ == "fail":
            counts.fail += 1
        else:
            counts.info += 1
            self._learn_acknowledged(f, value)

    def add_traffic(self, client: int, counted: Traffic) -> None:
        self.traffic.setdefault(client, Traffic()).add(counted)

    def note(self, time_ns: int, f: str, value: Any) -> None:
        """What the nemesis did."""
        self._record(time_ns, NEMESIS, "info", f, value)

    def abandon(self, time_ns: int, process: int, why: str) -> None:
        """Nobody will ever say what became of the operation that this process has under way."""
        under_way = self._open.get(process)
        if under_way is not None:
            self.row(time_ns, process, "info", under_way[1], under_way[2], why)

    def flush(self) -> None:
        self._recorder.flush()

    def close(self) -> None:
        self._recorder.close()

    def recent_p99_ms(self) -> float | None:
        """Of the operations that ended since it was last asked."""
        found, self._waits = self._waits.quantile_ms(0.99), _Waits()
        return found

    @property
    def unread(self) -> int:
        """How many offsets are acknowledged beyond what anybody has read."""
        seen = self.seen
        return sum(max(0, end - seen.get(key, 0)) for key, end in self.acknowledged.items())

    def ends(self) -> Mapping[str, int]:
        """How far each key must be read before everything acknowledged or seen has been passed."""
        return {
            key: max(self.acknowledged.get(key, 0), self.known.get(key, 0))
            for key in {**self.acknowledged, **self.known}
        }

    def _record(
        self,
        time_ns: int,
        process: int,
        type_: OpType,
        f: str,
        value: Any,
        error: str | None = None,
        node: str | None = None,
        timestamps: list[Any] | None = None,
    ) -> None:
        at_ns, number = time_ns - self._start_ns, len(self._recorder)
        self._recorder.record(at_ns, process, type_, f, value, error, node, timestamps=timestamps)
        if self._publish is not None:
            row = Op(number, at_ns, process, type_, f, value, error, node, None, timestamps)
            self._publish(row)

    def _learn(self, f: str, value: Any) -> None:
        if f in _LISTS:
            for micro in value:
                name = micro[0]
                if name in _PLACED:
                    # A register's partition is what is read back.
                    self._acknowledge(micro[1].partition("/")[0], micro[2])
                elif name == "poll":
                    self._see(micro)
                elif name in _UNPLACED:
                    self.counts.sent += 1
                    self.sent_by_key[micro[1]] += 1
        elif f == "transform":
            for key, placed in value["out"]:
                self._acknowledge(key, placed)
        elif f == "end-offsets" and value is not None:
            for key, end in (value.get("high") or {}).items():
                if end > self.known.get(key, 0):
                    self.known[key] = end

    def _learn_acknowledged(self, f: str, value: Any) -> None:
        """Records with an offset in a send whose other records are unknown."""
        if f == "send":
            for _, key, placed in value:
                if isinstance(placed, list):
                    self._acknowledge(key, placed)

    def _acknowledge(self, key: str, placed: Any) -> None:
        self.counts.sent += 1
        self.sent_by_key[key] += 1
        if not isinstance(placed, list) or placed[0] is None:
            return
        end = placed[0] + 1
        if end > self.acknowledged.get(key, 0):
            self.acknowledged[key] = end

    def _see(self, micro: list[Any]) -> None:
        if len(micro) < 2:
            return
        for key, records in micro[1].items():
            self.counts.read += len(records)
            if records and records[-1][0] + 1 > self.seen.get(key, 0):
                self.seen[key] = records[-1][0] + 1
