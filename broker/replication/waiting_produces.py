"""Produces with acks=all that wait for the high watermark, in the order in which it frees them.

They belong to one leadership: what a later leader commits says nothing about them, even if a
record of theirs still lies at its offset (Redpanda 3003).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from broker.protocol.errors import ErrorCode

Key = TypeVar("Key")

_FEWEST_TO_TIDY = 64


class WaitingProduces(Generic[Key]):
    """`Key` is whatever the caller answers by. Each one comes out exactly once."""

    __slots__ = ("_by_deadline", "_by_offset", "_keys", "_number")

    def __init__(self) -> None:
        self._keys: dict[int, Key] = {}  # in order of arrival
        self._by_offset: list[tuple[int, int]] = []
        self._by_deadline: list[tuple[float, int]] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: Key, required_offset: int, deadline: float) -> None:
        """`required_offset` is the end of what was appended: the high watermark must reach it."""
        self._number = number = self._number + 1
        self._keys[number] = key
        heappush(self._by_offset, (required_offset, number))
        heappush(self._by_deadline, (deadline, number))

    @property
    def next_deadline(self) -> float | None:
        deadlines = self._by_deadline
        while deadlines and deadlines[0][1] not in self._keys:
            heappop(deadlines)
        return deadlines[0][0] if deadlines else None

    def take_committed(
        self, high_watermark: int, *, is_under_min_isr: bool
    ) -> list[tuple[Key, ErrorCode]]:
        """The in-sync set is looked at again now: it was large enough before the append."""
        offsets = self._by_offset
        if not offsets or offsets[0][0] > high_watermark:
            return []
        outcome = ErrorCode.NONE
        if is_under_min_isr:
            outcome = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        taken = []
        while offsets and offsets[0][0] <= high_watermark:
            _, number = heappop(offsets)
            if number in self._keys:
                taken.append((self._keys.pop(number), outcome))
        self._tidy()
        return taken

    def take_expired(self, now: float) -> list[tuple[Key, ErrorCode]]:
        taken = []
        while (deadline := self.next_deadline) is not None and deadline <= now:
            _, number = heappop(self._by_deadline)
            taken.append((self._keys.pop(number), ErrorCode.REQUEST_TIMED_OUT))
        self._tidy()
        return taken

    def take_all(self) -> list[tuple[Key, ErrorCode]]:
        """On loss of leadership."""
        taken = [(key, ErrorCode.NOT_LEADER_OR_FOLLOWER) for key in self._keys.values()]
        self._keys.clear()
        self._by_offset.clear()
        self._by_deadline.clear()
        return taken

    def _tidy(self) -> None:
        """Whoever came out by one order is still in the other; not for ever, though."""
        most = max(2 * len(self._keys), _FEWEST_TO_TIDY)
        if len(self._by_deadline) > most:
            self._by_deadline = [each for each in self._by_deadline if each[1] in self._keys]
            heapify(self._by_deadline)
        if len(self._by_offset) > most:
            self._by_offset = [each for each in self._by_offset if each[1] in self._keys]
            heapify(self._by_offset)
