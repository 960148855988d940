"""Keeps the packets of shaped links back for as long as their faults say; a process of its own.

It is told on its standard input, a line of JSON each time, and answers each line with one:

    {"pid": 77, "queue": 3, "link": "n1>n2", "fault": {"delay_ms": 50}}
                 from now on, packets in this queue of that process's namespace have this fault
    {"pid": 77, "queue": 3, "fault": null}
                 what it keeps of them goes at once, and the queue is closed

At the end of its input it lets everything go and ends.
"""

from __future__ import annotations

import heapq
import json
import os
import selectors
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from harness.cluster.capabilities import PacketFault
from harness.cluster.netns.fate import LinkFate, with_a_bit_flipped
from harness.cluster.netns.namespaces import inside, network_of
from harness.cluster.netns.packet_queue import Packet, PacketQueue
from harness.decisions import Decisions

_LINE_BYTES_MAX = 1 << 16


@dataclass(frozen=True, slots=True)
class _Link:
    queue: PacketQueue
    fate: LinkFate


class PacketKeeper:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._links: dict[tuple[int, int], _Link] = {}
        self._decisions = Decisions(0)
        self._which_bit = self._decisions.of("packet", "corrupt").next
        self._kept: list[tuple[float, int, PacketQueue, Packet, bytes | None]] = []
        self._turn = count()

    def serve(self) -> None:
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select(self._patience_s()):
                if key.data is None:
                    if not self._listen():
                        return
                else:
                    self._take(key.data)
            self._let_go(time.monotonic())

    def _patience_s(self) -> float | None:
        return max(0.0, self._kept[0][0] - time.monotonic()) if self._kept else None

    def _listen(self) -> bool:
        """A line at a time: whoever writes one waits for its answer."""
        line = os.read(sys.stdin.fileno(), _LINE_BYTES_MAX)
        if not line:
            for key in list(self._links):
                self._close(key)
            return False
        try:
            self._obey(json.loads(line))
            answer: dict[str, str] = {}
        except OSError as error:
            answer = {"error": str(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        return True

    def _obey(self, told: Mapping[str, Any]) -> None:
        key = told["pid"], told["queue"]
        self._close(key)
        if told["fault"] is None:
            return
        fault = PacketFault(**told["fault"])
        network = network_of(told["pid"])
        try:
            queue = inside(network, lambda: PacketQueue(key[1], whole=fault.corrupt > 0))
        finally:
            os.close(network)
        draw = self._decisions.of("packet", told["link"]).next
        self._links[key] = _Link(queue, LinkFate(fault, draw))
        self._selector.register(queue, selectors.EVENT_READ, self._links[key])

    def _take(self, link: _Link) -> None:
        now_s = time.monotonic()
        for packet in link.queue.packets():
            passing = link.fate.of(packet.size, now_s)
            if passing is None:
                link.queue.drop(packet)
                continue
            content = None
            if passing.is_corrupt:
                content = with_a_bit_flipped(packet.content, self._which_bit())
            if passing.at_s <= now_s:
                link.queue.accept(packet, content)
            else:
                kept = (passing.at_s, next(self._turn), link.queue, packet, content)
                heapq.heappush(self._kept, kept)

    def _let_go(self, now_s: float) -> None:
        while self._kept and self._kept[0][0] <= now_s:
            _, _, queue, packet, content = heapq.heappop(self._kept)
            queue.accept(packet, content)

    def _close(self, key: tuple[int, int]) -> None:
        link = self._links.pop(key, None)
        if link is None:
            return
        self._take(link)
        mine = [kept for kept in self._kept if kept[2] is link.queue]
        self._kept = [kept for kept in self._kept if kept[2] is not link.queue]
        heapq.heapify(self._kept)
        for _, _, queue, packet, content in sorted(mine, key=lambda kept: kept[:2]):
            queue.accept(packet, content)
        self._selector.unregister(link.queue)
        link.queue.close()


if __name__ == "__main__":
    PacketKeeper().serve()
