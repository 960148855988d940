"""Timers inside a state machine: keyed, in a deterministic order, without a clock of their own."""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

_STALE_ENTRIES_MIN = 64


class Deadlines(Generic[Key]):
    """At most one deadline for each key. Ties are broken by the order in which they were set.

    A heap with lazy cancellation: a heartbeat that moves its deadline leaves the old entry in the
    heap until it comes up, or until stale entries outnumber the others.
    """

    __slots__ = ("_by_key", "_heap", "_sequence")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Key]] = []
        self._by_key: dict[Key, tuple[float, int]] = {}
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: Key) -> bool:
        return key in self._by_key

    def set(self, key: Key, at_s: float) -> None:
        """Replaces the deadline that the key has."""
        self._sequence += 1
        self._by_key[key] = at_s, self._sequence
        heappush(self._heap, (at_s, self._sequence, key))
        if len(self._heap) > 2 * len(self._by_key) + _STALE_ENTRIES_MIN:
            self._heap = [(at, number, each) for each, (at, number) in self._by_key.items()]
            heapify(self._heap)

    def cancel(self, key: Key) -> None:
        """Does nothing if the key has no deadline."""
        self._by_key.pop(key, None)

    def at_s(self, key: Key) -> float | None:
        """The key's deadline in loop seconds, or None."""
        found = self._by_key.get(key)
        return None if found is None else found[0]

    @property
    def next_s(self) -> float | None:
        """The earliest deadline in loop seconds, or None."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else None

    def take_next(self, now_s: float) -> Key | None:
        """Removes and returns the key with the earliest deadline that has come, if any.

        One at a time, because what follows from it may cancel the next one or set it anew.
        """
        self._drop_stale()
        if not self._heap or self._heap[0][0] > now_s:
            return None
        _, _, key = heappop(self._heap)
        del self._by_key[key]
        return key

    def _drop_stale(self) -> None:
        heap = self._heap
        while heap and self._by_key.get(heap[0][2]) != heap[0][:2]:
            heappop(heap)
