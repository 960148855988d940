"""One direction of a connection: bytes go in, parcels come out in order, cuts hold them.

What the receiver has not read yet counts against a window, as TCP's does. Beyond it bytes wait
with the sender, who sees them as unsent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.sim.cutting import FrameCutter
from harness.sim.links import Link, next_try_ns
from harness.sim.parcels import Parcel, ParcelKind

if TYPE_CHECKING:
    from harness.decisions import Decisions, Stream
    from harness.sim.connection import SimConnection
    from harness.sim.loop import SimLoop

WINDOW_BYTES = 512 << 10
PARTIAL_WAIT_NS = 1_000_000
"""A frame that comes in pieces is one event, unless its rest takes longer than this."""

SHARE_LOST_AT_CLOSE = 0.5
"""How often a sender that closes takes back what a cut has held. Otherwise the kernel goes on
trying, and the peer gets old bytes of a connection that its client has long forgotten."""


_SENDER_DOWN = "sender down"
"""Nobody is left to send it again."""


class Flow:
    __slots__ = ("_arrival_ns", "_back", "_cutter", "_delays", "_held", "_in_network",
                 "_is_broken", "_is_credit_due", "_is_ended", "_is_flush_due", "_is_silent",
                 "_link", "_loop", "_lost_ns", "_note_send", "_other_delays", "_retries", "_sender",
                 "_shares", "_target", "_tell", "_waiting")  # fmt: skip

    def __init__(
        self,
        loop: SimLoop,
        decisions: Decisions,
        name: str,
        *,
        purpose: str,
        link: Link,
        back: Link,
        note_send: Callable[[Parcel], None],
        tell: Callable[[str, Parcel, str, str], object],
    ) -> None:
        """`purpose` says what it carries: requests or replies. `back` is where credit returns.

        `tell` takes what becomes of a parcel on the way: kind, parcel, host and a few words.
        """
        self._loop = loop
        self._link = link
        self._back = back
        self._note_send = note_send
        self._tell = tell
        self._delays: Stream = decisions.of(f"{purpose}_delay", name)
        self._other_delays: Stream = decisions.of(f"{purpose}_side_control_delay", name)
        self._retries: Stream = decisions.of(f"{purpose}_retransmission", name)
        self._shares: Stream = decisions.of(f"{purpose}_lost_at_close", name)
        self._cutter = FrameCutter()
        self._is_flush_due = False
        self._arrival_ns = 0
        self._in_network = 0
        self._waiting: deque[Parcel] = deque()
        self._is_credit_due = False
        self._held: deque[Parcel] = deque()
        self._lost_ns = 0
        self._is_ended = False
        self._is_silent = False
        self._is_broken = False
        self._sender: SimConnection
        self._target: SimConnection

    def join(self, sender: SimConnection, target: SimConnection) -> None:
        self._sender = sender
        self._target = target

    # The sender's side

    def push(self, data: bytes) -> None:
        if self._cutter.is_one_frame(data):
            self._offer(Parcel(ParcelKind.DATA, data, is_frame=True))
            return
        for piece in self._cutter.feed(data):
            self._offer(Parcel(ParcelKind.DATA, piece.data, is_frame=piece.is_frame))
        if self._cutter.has_partial and not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_kernel(self._loop.now_ns + PARTIAL_WAIT_NS, Flow._flush, self)

    def _flush(self) -> None:
        self._is_flush_due = False
        if not self._is_ended:
            for piece in self._cutter.flush():
                self._offer(Parcel(ParcelKind.DATA, piece.data))

    def _offer(self, parcel: Parcel) -> None:
        self._note_send(parcel)
        if parcel.breaks_stream:
            self._is_broken = True
        if parcel.is_dropped:
            return
        if self._is_broken:
            self._drop(parcel, "behind a dropped one")
            return
        size = len(parcel.data)
        if self._waiting or (self._in_network and self._in_network + size > WINDOW_BYTES):
            self._waiting.append(parcel)
            self._sender.unsent_bytes += size
        else:
            self._depart(parcel, size, self._delays)

    def _depart(self, parcel: Parcel, size: int, delays: Stream) -> None:
        loop = self._loop
        self._in_network += size
        due_ns = self._link.arrival_ns(loop.now_ns, size, delays.next()) + parcel.delay_ns
        # Later parcels wait behind earlier ones: order never changes inside a connection.
        arrival_ns = self._arrival_ns = max(due_ns, self._arrival_ns)
        loop.call_kernel(arrival_ns, self._arrive, parcel)
        for after_ns, copy in parcel.copies:
            self._in_network += len(copy.data)
            loop.call_kernel(arrival_ns + after_ns, self._arrive, copy)

    def open(self) -> None:
        self._depart(Parcel(ParcelKind.OPEN), 0, self._other_delays)

    def end(self, kind: ParcelKind, row: int) -> None:
        """The sender is done: by `close` (END), or because its process is gone (RESET)."""
        if self._is_ended:
            return
        if kind is ParcelKind.END:
            self._flush()
        self._is_ended = True
        self._drop_all(self._waiting, "closed before it left")
        self._sender.unsent_bytes = 0
        if self._held and self._shares.next() < SHARE_LOST_AT_CLOSE:
            self._drop_all(self._held, "closed during a cut")
        parcel = Parcel(kind)
        parcel.row = row
        self._depart(parcel, 0, self._other_delays)

    def fall_silent(self) -> None:
        """The sender's host has lost its power: nothing is sent again, nothing is said."""
        self._is_ended = self._is_silent = True
        self._drop_all(self._waiting, _SENDER_DOWN)
        self._drop_all(self._held, _SENDER_DOWN)

    def reset_after_silence(self, row: int) -> None:
        """The host is up again, and knows nothing of this connection."""
        parcel = Parcel(ParcelKind.RESET)
        parcel.row = row
        self._depart(parcel, 0, self._other_delays)

    # On the way

    def _arrive(self, parcel: Parcel) -> None:
        if self._held or self._link.is_cut:
            self._hold(parcel)
        else:
            self._target.arrived(parcel)

    def _hold(self, parcel: Parcel) -> None:
        if self._is_silent and parcel.kind is not ParcelKind.RESET:
            self._drop(parcel, _SENDER_DOWN)
            return
        if not self._held:
            self._lost_ns = self._loop.now_ns
            self._link.when_healed(self._retransmit_later)
        self._held.append(parcel)
        self._link.messages_held += 1
        if parcel.kind is ParcelKind.DATA:
            self._tell("hold", parcel, self._link.source, "a cut")

    def _drop_all(self, parcels: deque[Parcel], why: str) -> None:
        for parcel in parcels:
            self._drop(parcel, why)
        parcels.clear()

    def _drop(self, parcel: Parcel, why: str) -> None:
        if parcel.kind is ParcelKind.DATA:
            self._tell("drop", parcel, self._link.source, why)

    def _retransmit_later(self) -> None:
        now_ns = self._loop.now_ns
        at_ns = next_try_ns(self._lost_ns, now_ns, self._retries.next())
        self._loop.call_kernel(at_ns, Flow._retransmit, self)

    def _retransmit(self) -> None:
        if self._link.is_cut:
            self._link.when_healed(self._retransmit_later)
            return
        held, self._held = self._held, deque()
        for parcel in held:
            self._target.arrived(parcel)

    # The receiver's side

    def consumed(self, size: int) -> None:
        """So many bytes have been read, or will never be."""
        self._in_network -= size
        if self._waiting and not self._is_credit_due:
            self._is_credit_due = True
            draw = self._other_delays.next()
            self._loop.call_kernel(
                self._back.arrival_ns(self._loop.now_ns, 0, draw), Flow._credit, self
            )

    def _credit(self) -> None:
        if self._back.is_cut:
            self._back.when_healed(self._credit_later)
            return
        self._is_credit_due = False
        waiting = self._waiting
        while waiting:
            size = len(waiting[0].data)
            if self._in_network and self._in_network + size > WINDOW_BYTES:
                return
            self._sender.unsent_bytes -= size
            self._depart(waiting.popleft(), size, self._delays)
        if not self._is_ended:
            self._sender.drained()

    def _credit_later(self) -> None:
        at_ns = next_try_ns(self._loop.now_ns, self._loop.now_ns, self._retries.next())
        self._loop.call_kernel(at_ns, Flow._credit, self)
