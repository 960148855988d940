"""What a simulated node tells about itself: rows of the trace, and news for an onlooker."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from broker.observe.events import EventSink
from harness.sim.trace import ABSENT, Trace

UNTRACED = frozenset({"served", "learned"})
"""So frequent, or of so little interest later, that only an onlooker is told."""


class News(NamedTuple):
    """One event as the node told it; `row` is that of the trace, or the last one before it."""

    row: int
    node: str
    kind: str
    topic: str
    partition: int | None
    offset: int | None
    epoch: int | None
    detail: object


class Onlooker(Protocol):
    """Must not raise, or the broker would hear of it."""

    def hear(self, news: News) -> None: ...

    def life_began(self, node: str) -> None:
        """The process is there, and can be looked at."""

    def life_ended(self, node: str) -> None: ...

    def life_failed(self, node: str, row: int, problem: BaseException) -> None:
        """It is about to end, and by itself; `row` is that of the trace."""


class TraceSink:
    def __init__(self, trace: Trace, node: str) -> None:
        self._trace = trace
        self._node = node
        self.onlooker: Onlooker | None = None

    def emit(
        self,
        kind: str,
        *,
        topic: str,
        partition: int | None,
        offset: int | None,
        epoch: int | None,
        detail: object,
    ) -> None:
        trace, onlooker = self._trace, self.onlooker
        if kind in UNTRACED:
            row = len(trace)
        else:
            row = self._write(kind, topic, partition, offset, epoch, detail)
        if onlooker is not None:
            onlooker.hear(News(row, self._node, kind, topic, partition, offset, epoch, detail))

    def _write(
        self,
        kind: str,
        topic: str,
        partition: int | None,
        offset: int | None,
        epoch: int | None,
        detail: object,
    ) -> int:
        return self._trace.emit(
            kind,
            self._node,
            topic=topic,
            partition=ABSENT if partition is None else partition,
            offset=ABSENT if offset is None else offset,
            epoch=ABSENT if epoch is None else epoch,
            detail=str(detail),
        )


def _check(sink: TraceSink) -> EventSink:
    return sink
