"""What becomes of each packet of a link under a fault: lost, changed, or let go at a later time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.cluster.capabilities import PacketFault

QUEUE_S_MAX = 1.0
"""A link that is too slow for what it is sent keeps this much of it, and drops what is more."""

_OVERTAKEN_BY_S = 0.02


@dataclass(frozen=True, slots=True)
class Passing:
    at_s: float
    is_corrupt: bool = False


class LinkFate:
    def __init__(self, fault: PacketFault, draw: Callable[[], float]) -> None:
        """`draw` gives numbers in [0, 1). Duplicates are not made here."""
        self._fault = fault
        self._draw = draw
        self._free_s = 0.0

    def of(self, size: int, now_s: float) -> Passing | None:
        """Of a packet that arrives now; None if it is lost."""
        fault = self._fault
        if self._happens(fault.loss):
            return None
        at_s = now_s
        if fault.bytes_per_s is not None:
            begins_s = max(now_s, self._free_s)
            if begins_s - now_s > QUEUE_S_MAX:
                return None
            at_s = self._free_s = begins_s + size / fault.bytes_per_s
        at_s += fault.delay_ms / 1e3
        if fault.jitter_ms:
            at_s += (2 * self._draw() - 1) * fault.jitter_ms / 1e3
        if self._happens(fault.reorder):
            # Late enough for its followers to come first.
            at_s += _OVERTAKEN_BY_S * (0.5 + self._draw())
        return Passing(max(now_s, at_s), self._happens(fault.corrupt))

    def _happens(self, share: float) -> bool:
        return share > 0 and self._draw() < share


def with_a_bit_flipped(content: bytes, draw: float) -> bytes:
    """Behind the header of the IP packet, where a checksum will tell."""
    header = (content[0] & 0xF) * 4 if content else 0
    bits = (len(content) - header) * 8
    if bits <= 0:
        return content
    bit = header * 8 + int(draw * bits)
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
