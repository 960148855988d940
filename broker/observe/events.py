"""What a node tells about itself while it runs: appends, roles, epochs, watermarks, truncations.

Nobody listens in a real process. A simulator does, and writes a trace.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol


class EventSink(Protocol):
    def emit(
        self,
        kind: str,
        *,
        topic: str,
        partition: int | None,
        offset: int | None,
        epoch: int | None,
        detail: object,
    ) -> None: ...


event_sink: ContextVar[EventSink | None] = ContextVar("event_sink", default=None)
"""Set by whoever starts a node, in the context in which it starts it."""


def emit(
    kind: str,
    topic: str = "",
    partition: int | None = None,
    offset: int | None = None,
    epoch: int | None = None,
    detail: object = "",
) -> None:
    """`kind` is a word of the trace: append, truncate, role, epoch, isr, high_watermark ..."""
    sink = event_sink.get()
    if sink is not None:
        sink.emit(kind, topic=topic, partition=partition, offset=offset, epoch=epoch, detail=detail)
