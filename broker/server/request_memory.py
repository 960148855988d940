"""How many bytes of unanswered requests the broker holds: `queued.max.request.bytes`.

Requests are handled straight from a scratch buffer shared by all connections; only a request that
has not arrived whole, or that waits behind another one, needs memory of its own. That memory is
counted here. When it is used up, connections stop reading and wait their turn, so a flood ends in
the senders' socket buffers and not in ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

USUAL_REQUEST_BYTES = 1 << 20
"""Requests up to this size have a quarter of the memory to themselves, so that a few giants that
never finish cannot keep everybody else waiting."""

_SPARE_BYTES_MAX = 16 << 20
_SMALLEST_SPARE = 64 << 10
_SMALLEST_BUFFER = 4096


class Waiting(Protocol):
    def memory_available(self) -> None:
        """Woken, not granted: the connection asks `may_take` again."""
        ...


class RequestMemory:
    """Buffers by size class, reused because fresh megabytes cost a page fault each 4 KiB."""

    def __init__(self, limit_bytes: int, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self.limit_bytes = limit_bytes
        self._for_giants = limit_bytes * 3 // 4
        self._relaxed = self._for_giants - USUAL_REQUEST_BYTES
        self.spare_bytes = 0
        self._spare: dict[int, list[bytearray]] = {}
        self._usual: deque[Waiting] = deque()
        self._giants: deque[Waiting] = deque()
        self._call_soon = call_soon
        self._is_serving_soon = False
        self._counted_bytes = 0
        self._privileged: Waiting | None = None
        self._privileged_bytes = 0  # held by the privileged connection, beyond the limit

    @property
    def used_bytes(self) -> int:
        return self._counted_bytes + self._privileged_bytes

    @property
    def saturated(self) -> bool:
        """Nothing is left for a request whose size is not known yet."""
        return self._counted_bytes >= self._for_giants

    @property
    def is_tight(self) -> bool:
        """Little should be read at once, for what is read must be kept."""
        return self._counted_bytes > self._relaxed

    @property
    def is_somebody_waiting(self) -> bool:
        return bool(self._usual or self._giants)

    def may_take(self, taker: Waiting, size: int, *, request_bytes: int, held_bytes: int) -> bool:
        """Whether `taker`, which holds so much, may take `size` for a request of such a length.

        With every byte held by requests that have not arrived whole nobody could go on, and a
        limit below one request would stop the broker, so one connection at a time is privileged
        to finish its request.
        """
        if self._privileged is taker:
            return True
        usual = request_bytes <= USUAL_REQUEST_BYTES
        limit = self.limit_bytes if usual else self._for_giants
        if self._counted_bytes + _rounded(size) <= limit:
            return True
        if self._privileged is None:
            self._privileged = taker
            self._privileged_bytes = held_bytes
            self._counted_bytes -= held_bytes
            return True
        return False

    def wait(self, waiting: Waiting, *, request_bytes: int) -> None:
        queue = self._usual if request_bytes <= USUAL_REQUEST_BYTES else self._giants
        queue.append(waiting)

    def hold(self, size: int) -> None:
        """Counts bytes that are kept elsewhere: an append that waits for the disk."""
        self._counted_bytes += size

    def let_go(self, size: int) -> None:
        self._counted_bytes -= size
        self._wake()

    def take(self, size: int, taker: Waiting) -> bytearray:
        """At least `size` bytes. Whether that is wise is asked of `may_take` before."""
        rounded = _rounded(size)
        spare = self._spare.get(rounded)
        if spare:
            self.spare_bytes -= rounded
            buffer = spare.pop()
        else:
            buffer = bytearray(rounded)
        self._count(rounded, taker)
        return buffer

    def grow(self, buffer: bytearray, size: int, taker: Waiting) -> bool:
        """Makes a large buffer longer where it lies: the system moves its pages, not its bytes.

        Impossible, and so False, while somebody has a view of it.
        """
        more = size - len(buffer)
        try:
            buffer.extend(bytes(more))
        except BufferError:
            return False
        self._count(more, taker)
        return True

    def give_back(self, buffer: bytearray, taker: Waiting) -> None:
        size = len(buffer)
        self._count(-size, taker)
        is_class = size & (size - 1) == 0  # not one that grew
        if is_class and size >= _SMALLEST_SPARE and self.spare_bytes + size <= _SPARE_BYTES_MAX:
            self.spare_bytes += size
            self._spare.setdefault(size, []).append(buffer)
        self._wake()

    def request_complete(self, owner: Waiting) -> None:
        """Ends the owner's privilege, if it had it, also when its connection is lost."""
        if self._privileged is owner:
            self._privileged = None
            self._counted_bytes += self._privileged_bytes
            self._privileged_bytes = 0
            self._wake()

    def forget(self, waiting: Waiting) -> None:
        for queue in (self._usual, self._giants):
            if waiting in queue:
                queue.remove(waiting)
        self.request_complete(waiting)

    def _count(self, change: int, taker: Waiting) -> None:
        if self._privileged is taker:
            self._privileged_bytes += change
        else:
            self._counted_bytes += change

    def _wake(self) -> None:
        """Soon, not now: whoever gives memory back is in the middle of something."""
        if self.is_somebody_waiting and not self._is_serving_soon:
            self._is_serving_soon = True
            self._call_soon(self._serve_waiting)

    def _serve_waiting(self) -> None:
        self._is_serving_soon = False
        for queue in (self._usual, self._giants):
            while queue:
                first = queue.popleft()
                first.memory_available()
                if queue and queue[-1] is first:
                    # Still too little for it, and so for those behind it.
                    queue.rotate(1)
                    break


def _rounded(size: int) -> int:
    return max(_SMALLEST_BUFFER, 1 << (size - 1).bit_length())
