"""Produce requests that wait for a partition's high watermark, each with a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from broker.protocol.errors import ErrorCode
from broker.replication.waiting_produces import WaitingProduces


class CommitWaiters:
    """Those of one leadership: `release_all` ends it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: WaitingProduces[asyncio.Future[ErrorCode]] = WaitingProduces()
        self._expiry: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return self._expiry is not None

    def add(self, outcome: asyncio.Future[ErrorCode], end_offset: int, timeout_s: float) -> None:
        self._waiting.add(outcome, end_offset, self._loop.time() + timeout_s)
        self._set_expiry()

    def committed(self, high_watermark: int, *, is_under_min_isr: bool) -> None:
        _tell(self._waiting.take_committed(high_watermark, is_under_min_isr=is_under_min_isr))

    def release_all(self) -> None:
        """The leadership is over."""
        _tell(self._waiting.take_all())
        self._set_expiry()

    def _set_expiry(self) -> None:
        """A timer that is early is left alone: it sets itself again, and most produces are
        answered long before their time is up."""
        deadline = self._waiting.next_deadline
        if self._expiry is not None:
            if deadline is not None and self._expiry.when() <= deadline:
                return
            self._expiry.cancel()
            self._expiry = None
        if deadline is not None:
            self._expiry = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        _tell(self._waiting.take_expired(self._loop.time()))
        self._set_expiry()


def _tell(outcomes: Iterable[tuple[asyncio.Future[ErrorCode], ErrorCode]]) -> None:
    for waiting, code in outcomes:
        if not waiting.done():
            waiting.set_result(code)
