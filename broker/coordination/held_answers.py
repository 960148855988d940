"""Answers of a shard, held until the high watermark has passed everything that they show."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from broker.coordination.errors import for_clients
from broker.coordination.step import Reply, Ticket
from broker.partition import Partition
from broker.protocol.errors import ErrorCode, KafkaError


class _Held(NamedTuple):
    end_offset: int
    deadline_s: float
    replies: list[Reply]


class HeldAnswers:
    """Those of one leader epoch: `close` ends it."""

    def __init__(self, partition: Partition, timeout_s: float) -> None:
        self._partition = partition
        self._timeout_s = timeout_s
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[Ticket, Callable[[Any], None]] = {}
        self._held: deque[_Held] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._unproven: deque[tuple[int, float]] = deque()
        self.led_at_s = self._loop.time()
        """When this node certainly led: the partition was given to it, or the other replicas took
        an append that it made then."""

    def expect(self, ticket: Ticket, replied: Callable[[Any], None]) -> None:
        """`replied` is called in the moment in which the ticket is answered."""
        self._waiting[ticket] = replied

    def appended(self, end_offset: int) -> None:
        """The log ends there since this moment."""
        self._unproven.append((end_offset, self._loop.time()))

    def hold(self, end_offset: int, replies: list[Reply]) -> None:
        """Answers when the high watermark is at `end_offset`, or that it was not in time."""
        deadline = self._loop.time() + self._timeout_s
        self._held.append(_Held(end_offset, deadline, replies))
        self.release()

    def release(self) -> None:
        """The high watermark may have moved."""
        mark, held = self._partition.log.high_watermark, self._held
        while self._unproven and self._unproven[0][0] <= mark:
            self.led_at_s = self._unproven.popleft()[1]
        while held and held[0].end_offset <= mark:
            released = held.popleft()
            self._partition.acknowledged(released.end_offset)
            for reply in released.replies:
                self.answer(reply.ticket, reply.response)
        if held and self._timer is None:
            self._timer = self._loop.call_at(held[0].deadline_s, self._time_out)

    def _time_out(self) -> None:
        """Answer with a retriable error. The records stay appended and may yet be committed."""
        self._timer = None
        now = self._loop.time()
        while self._held and self._held[0].deadline_s <= now:
            for reply in self._held.popleft().replies:
                code = for_clients(ErrorCode.REQUEST_TIMED_OUT)
                self.answer(reply.ticket, KafkaError(code, "not committed in time"))
        self.release()

    def answer(self, ticket: Ticket, result: Any) -> None:
        replied = self._waiting.pop(ticket, None)
        if replied is not None:
            replied(result)

    def turn_away(self, tickets: Iterable[Ticket]) -> None:
        for ticket in tickets:
            self.answer(ticket, KafkaError(ErrorCode.NOT_COORDINATOR, "the leadership has ended"))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._held.clear()
        self.turn_away(list(self._waiting))
