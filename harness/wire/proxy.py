"""A proxy that understands Kafka: stands before brokers and does to messages what faults say.

It stands on its broker's own host, so that whatever befalls the links between hosts befalls what it
carries. It dials the broker before it reads a byte of the client, and says nothing of its own:
where nobody listens behind it, it resets the client's connection; where the broker stands still,
the client waits. Two things differ from the broker's own socket, and both belong to TCP alone. A
client of a broker that is down sees its connection opened and reset, not refused. And the broker
sees connections from its own host, whoever the client is.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from harness.wire.match import Action, MessageFault, MessageFaults
from harness.wire.message import Message
from harness.wire.relay import Relay
from harness.wire.topic_ids import TopicIds
from harness.wire.tracker import ConnectionTracker

_LINGER_NOT = struct.pack("ii", 1, 0)

Dial = Callable[[], Awaitable[socket.socket]]
"""A new connection to the broker, or OSError."""


@dataclass(slots=True)
class _Front:
    """A door before one broker."""

    node: str
    listener: socket.socket
    dial: Dial
    accepting: asyncio.Task[None] | None = None
    opening: set[asyncio.Task[None]] = field(default_factory=set)
    relays: set[Relay] = field(default_factory=set)


class Proxy:
    def __init__(self, name_of_peer: Callable[[str], str] = lambda address: address) -> None:
        """`name_of_peer` tells what a matcher calls the host at an address."""
        self._topic_ids = TopicIds()
        self._faults = MessageFaults(topic_name_of=self._topic_ids.name_of)
        self._name_of_peer = name_of_peer
        self._fronts: list[_Front] = []

    def stand_before(self, node: str, listener: socket.socket, dial: Dial) -> None:
        """Takes over the listener, which must listen already and not block."""
        front = _Front(node, listener, dial)
        front.accepting = asyncio.get_running_loop().create_task(self._accept(front))
        self._fronts.append(front)

    async def leave(self, node: str) -> None:
        """Its doors are shut, and its connections gone."""
        for front in [each for each in self._fronts if each.node == node]:
            self._fronts.remove(front)
            assert front.accepting is not None
            tasks = [front.accepting, *front.opening]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            front.listener.close()
            for relay in list(front.relays):
                relay.abort()

    async def close(self) -> None:
        for node in {front.node for front in self._fronts}:
            await self.leave(node)

    def add(self, fault: MessageFault) -> None:
        self._faults.add(fault)

    def remove(self, name: str) -> None:
        self._faults.remove(name)

    @property
    def known(self) -> Collection[str]:
        """The names of all faults there ever were."""
        return self._faults.counts().keys()

    def hits(self, name: str) -> int:
        return self._faults.hits(name)

    def answers(self, name: str) -> dict[str, int]:
        return self._faults.answers(name)

    async def _accept(self, front: _Front) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, (address, port) = await loop.sock_accept(front.listener)
            except OSError:
                # One that was gone before it was accepted, or too many at once.
                await asyncio.sleep(0.01)
                continue
            client.setblocking(False)
            name = self._name_of_peer(address)
            task = loop.create_task(self._open(front, client, name, port))
            front.opening.add(task)
            task.add_done_callback(front.opening.discard)

    async def _open(self, front: _Front, client: socket.socket, name: str, port: int) -> None:
        try:
            broker = await front.dial()
        except OSError:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            client.close()
            return
        except asyncio.CancelledError:
            client.close()
            raise
        tracker = ConnectionTracker(
            connection=f"{name}:{port}->{front.node}", client=name, server=front.node
        )
        relay = Relay(tracker, self._decide, lambda: front.relays.discard(relay))
        front.relays.add(relay)
        with suppress(OSError):
            await relay.start(client, broker)

    def _decide(self, message: Message) -> Sequence[Action]:
        """Learns what topic ids mean while no fault asks for it, too: one that comes later will."""
        self._topic_ids.learn(message)
        return self._faults.decide(message)
