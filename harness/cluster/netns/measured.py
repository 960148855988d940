"""What befalls the packets of links, measured: does a fault show that was asked for?

Both ends of a link have the same clock here, so a single datagram tells how long it was under way.
"""

from __future__ import annotations

import math
import os
import selectors
import socket
import struct
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from harness.cluster.capabilities import Link, Node, PacketFault

_LETTER = struct.Struct("!16sHHIQ")
_LETTER_BYTES_MAX = 2048
_LARGE_BYTES = 1000
_HITS_EXPECTED = 12
_LETTERS_MIN = 20
_LETTERS_MAX = 2000
_RATE_SPAN_S = 0.3
_LARGE_MIN, _LARGE_MAX = 5, 400
_AT_LAST_S = 0.25
_SILENCE_S = 3.0
"""How much longer to wait for a link on which nothing arrived. On a busy machine the program that
holds the packets of a rootless host may not run for a while."""
_AT_ONCE = 25
_NS = 1e9


@dataclass(slots=True)
class Arrived:
    """The datagrams of one link, in the order of their arrival."""

    sent: int
    numbers: list[int] = field(default_factory=list)
    distinct: set[int] = field(default_factory=set)
    under_way_s: list[float] = field(default_factory=list)
    first_s: float = 0.0
    last_s: float = 0.0

    def take(self, number: int, sent_s: float, now_s: float) -> None:
        self.first_s = self.first_s if self.numbers else now_s
        self.last_s = now_s
        self.numbers.append(number)
        self.distinct.add(number)
        self.under_way_s.append(now_s - sent_s)

    @property
    def lost(self) -> int:
        return self.sent - len(self.distinct)

    @property
    def doubled(self) -> int:
        return len(self.numbers) - len(self.distinct)

    @property
    def overtaken(self) -> int:
        return sum(later < earlier for earlier, later in pairwise(self.numbers))


def measured(
    mailboxes: Mapping[Node, socket.socket], links: Collection[Link], fault: PacketFault
) -> dict[Link, Arrived]:
    """Sends as many datagrams as the fault takes to show. Blocks."""
    count, size = _letters(fault)
    nodes = tuple(mailboxes)
    number_of = {node: number for number, node in enumerate(nodes)}
    found = {link: Arrived(count) for link in links if set(link) <= mailboxes.keys()}
    token = os.urandom(16)
    with selectors.DefaultSelector() as selector:
        for node, box in mailboxes.items():
            selector.register(box, selectors.EVENT_READ, node)

        def read(until_s: float) -> None:
            while any(one.lost for one in found.values()):
                left_s = until_s - time.monotonic()
                ready = selector.select(max(0.0, left_s))
                for key, _ in ready:
                    _read_all(key.fileobj, token, found, nodes)
                if left_s <= 0 and not ready:
                    return

        for number in range(count):
            for source, target in found:
                ends = number_of[source], number_of[target]
                _post(mailboxes[source], mailboxes[target], token, *ends, number, size)
            if number % _AT_ONCE == 0:
                read(0.0)
        read(time.monotonic() + _patience_s(fault, count, size))
        if fault.loss < 1 and not all(one.numbers for one in found.values()):
            read(time.monotonic() + _SILENCE_S)
    return found


def why_not_shown(fault: PacketFault, seen: Arrived) -> str | None:
    """None if what arrived bears the marks of the fault."""
    if not seen.numbers:
        return None if fault.loss >= 1 else "nothing arrives any more"
    checks = (
        (_is_due(fault.loss, seen) and seen.lost < seen.sent * fault.loss / 3, "no packet is lost"),
        (_is_due(fault.corrupt, seen) and not seen.lost, "no packet is corrupt"),
        (_is_due(fault.duplicate, seen) and not seen.doubled, "no packet comes twice"),
        (_is_due(fault.reorder, seen) and not seen.overtaken, "no packet overtakes another"),
        (median(seen.under_way_s) < fault.delay_ms * 0.8e-3, "packets are not delayed"),
        (_spread_s(seen) < fault.jitter_ms * 0.5e-3, "every packet takes as long as the others"),
        (seen.last_s - seen.first_s < _least_span_s(fault, seen), "packets come too fast"),
    )
    return next((complaint for is_missed, complaint in checks if is_missed), None)


def _is_due(share: float, seen: Arrived) -> bool:
    return share * seen.sent >= _HITS_EXPECTED * 0.99


def _spread_s(seen: Arrived) -> float:
    return max(seen.under_way_s) - min(seen.under_way_s)


def _least_span_s(fault: PacketFault, seen: Arrived) -> float:
    if fault.bytes_per_s is None:
        return 0.0
    return 0.5 * (len(seen.distinct) - 1) * _LARGE_BYTES / fault.bytes_per_s


def _letters(fault: PacketFault) -> tuple[int, int]:
    """How many, and how large."""
    if fault.bytes_per_s is not None:
        count = int(fault.bytes_per_s * _RATE_SPAN_S / _LARGE_BYTES)
        return min(_LARGE_MAX, max(_LARGE_MIN, count)), _LARGE_BYTES
    shares = (fault.loss, fault.corrupt, fault.duplicate, fault.reorder)
    needed = [math.ceil(_HITS_EXPECTED / share) for share in shares if share > 0]
    return min(_LETTERS_MAX, max(_LETTERS_MIN, *needed, 0)), _LETTER.size


def _patience_s(fault: PacketFault, count: int, size: int) -> float:
    in_line_s = 0.0 if fault.bytes_per_s is None else count * size / fault.bytes_per_s
    return _AT_LAST_S + 1.5 * (fault.delay_ms + fault.jitter_ms) / 1e3 + 1.5 * in_line_s


def _post(
    source: socket.socket,
    target: socket.socket,
    token: bytes,
    sender: int,
    receiver: int,
    number: int,
    size: int,
) -> None:
    letter = _LETTER.pack(token, sender, receiver, number, time.monotonic_ns())
    try:
        source.sendto(letter.ljust(size, b"\0"), target.getsockname())
    except OSError:
        # Lost before it has left.
        return


def _read_all(
    box: object, token: bytes, found: Mapping[Link, Arrived], nodes: tuple[Node, ...]
) -> None:
    assert isinstance(box, socket.socket)
    while True:
        try:
            letter = box.recv(_LETTER_BYTES_MAX)
        except OSError:
            return
        now_s = time.monotonic_ns() / _NS
        if len(letter) < _LETTER.size or not letter.startswith(token):
            continue
        _, sender, receiver, number, sent_ns = _LETTER.unpack_from(letter)
        found[nodes[sender], nodes[receiver]].take(number, sent_ns / _NS, now_s)
