"""What a simulated node tells about itself, as rows of the trace."""

from __future__ import annotations

from broker.observe.events import EventSink
from harness.sim.trace import ABSENT, Trace


class TraceSink:
    def __init__(self, trace: Trace, node: str) -> None:
        self._trace = trace
        self._node = node

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
        self._trace.emit(
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
