"""What travels over a connection: a frame, some bytes, or a word of TCP's own."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from harness.sim.trace import ABSENT

if TYPE_CHECKING:
    from harness.sim.conversation import Asked


class ParcelKind(IntEnum):
    DATA = 0
    OPEN = 1
    """The last step of the handshake: the server may accept."""
    END = 2
    """The sender has closed; nothing follows."""
    RESET = 3


class Parcel:
    """One event on a connection. Parcels of one direction never overtake each other."""

    __slots__ = ("api", "asked", "breaks_stream", "copies", "correlation_id", "data", "delay_ns",
                 "is_dropped", "is_frame", "kind", "row", "taken")  # fmt: skip

    def __init__(self, kind: ParcelKind, data: bytes = b"", *, is_frame: bool = False) -> None:
        self.kind = kind
        self.data = data
        self.is_frame = is_frame
        self.api = ""
        self.correlation_id = ABSENT
        self.asked: Asked | None = None
        self.row = 0
        """Of the trace: its sending, which is the cause of its delivery."""
        self.delay_ns = 0
        self.is_dropped = False
        self.breaks_stream = False
        """Dropped by a fault: what follows cannot arrive either, for a stream has no holes."""
        self.copies: list[tuple[int, Parcel]] = []
        """Made by message faults, each with how long after the original it comes."""
        self.taken = 0
        """Bytes of it that the receiver has."""

    def copy(self, row: int) -> Parcel:
        twin = Parcel(self.kind, self.data, is_frame=self.is_frame)
        twin.api, twin.correlation_id, twin.asked = self.api, self.correlation_id, self.asked
        twin.row = row
        return twin
