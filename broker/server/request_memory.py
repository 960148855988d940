"""How many bytes of unanswered requests the broker holds: `queued.max.request.bytes`.

Requests are handled straight from a scratch buffer shared by all connections; only a request that
has not arrived whole, or that waits behind another one, needs memory of its own. That memory is
counted here. When it is used up, connections stop reading and wait their turn, so a flood ends in
the senders' socket buffers and not in ours.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

_SPARE_BYTES_MAX = 16 << 20
_SMALLEST_SPARE = 64 << 10


class Waiting(Protocol):
    def memory_available(self) -> None: ...


class RequestMemory:
    """Buffers by size class, reused because fresh megabytes cost a page fault each 4 KiB."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._spare: dict[int, list[bytearray]] = {}
        self.spare_bytes = 0
        self._waiting: deque[Waiting] = deque()
        self._privileged: Waiting | None = None

    @property
    def available_bytes(self) -> int:
        return max(0, self.limit_bytes - self.used_bytes)

    @property
    def saturated(self) -> bool:
        return self.used_bytes >= self.limit_bytes

    def may_take(self, taker: Waiting) -> bool:
        """Whether `taker` may have more memory now.

        A buffer may exceed what is left, or a limit below one request would stop the broker. With
        every byte held by requests that have not arrived whole nobody could go on, so one
        connection at a time is privileged to finish its request.
        """
        if not self.saturated or self._privileged is taker:
            return True
        if self._privileged is None:
            self._privileged = taker
            return True
        return False

    def wait(self, waiting: Waiting) -> None:
        self._waiting.append(waiting)

    def take(self, size: int) -> bytearray:
        """At least `size` bytes. Whether that is wise is asked of `may_take` before."""
        rounded = 1 << max(12, (size - 1).bit_length())
        spare = self._spare.get(rounded)
        if spare:
            self.spare_bytes -= rounded
            buffer = spare.pop()
        else:
            buffer = bytearray(rounded)
        self.used_bytes += rounded
        return buffer

    def give_back(self, buffer: bytearray) -> None:
        size = len(buffer)
        self.used_bytes -= size
        if size >= _SMALLEST_SPARE and self.spare_bytes + size <= _SPARE_BYTES_MAX:
            self.spare_bytes += size
            self._spare.setdefault(size, []).append(buffer)
        while self._waiting and not self.saturated:
            self._waiting.popleft().memory_available()

    def request_complete(self, owner: Waiting) -> None:
        """Ends the owner's privilege, if it had it, also when its connection is lost."""
        if self._privileged is owner:
            self._privileged = None
            if self._waiting:
                self._waiting.popleft().memory_available()

    def forget(self, waiting: Waiting) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)
        self.request_complete(waiting)
