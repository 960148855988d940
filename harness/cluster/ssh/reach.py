"""Who hears whom, one way at a time: datagrams between the ears of hosts and the clients'.

A datagram that nobody answers says something of the way there alone. A host's ear lives as long as
the place, so that a look costs two short commands a host.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
import shlex
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import count

from harness.cluster.capabilities import Link, Node
from harness.cluster.errors import NodeFailedError
from harness.cluster.inventory import CLIENTS
from harness.cluster.remote.spawned import spawn
from harness.cluster.ssh import ear
from harness.cluster.ssh.remote_host import RemoteHost
from harness.cluster.ssh.vantage import Vantage
from harness.cluster.waiting import wait_until

PORT = 29090
_READY_WITHIN_S = 15.0
_ORDER_WITHIN_S = 5
_AT_LAST_S = 0.2
_LOOKS_FOR_CLIENTS = 3


class Reach:
    """Of hosts that are up."""

    def __init__(self, hosts: Mapping[Node, RemoteHost], vantage: Vantage) -> None:
        self._hosts = hosts
        self._vantage = vantage
        self._secret = secrets.token_hex(8)
        self._numbers = count(1)
        self._box: socket.socket | None = None
        self._clients: dict[Node, str] = {}

    async def open(self) -> None:
        """Does nothing if it is open."""
        if self._box is None:
            await _each(self._hosts.values(), self._give_ear)
            self._box = await self._vantage.ask(_made_box)
            # A host knows where the clients are once it has heard of them; they are never cut yet.
            for _ in range(_LOOKS_FOR_CLIENTS):
                await self.heard()
                if len(self._clients) == len(self._hosts):
                    break

    def close(self) -> None:
        """The ears themselves end with their place."""
        if self._box is not None:
            self._box.close()
            self._box = None

    def clients_as_seen_by(self, node: Node) -> str:
        """Their address, as the node's firewall sees it."""
        if node not in self._clients:
            raise NodeFailedError(
                f"{node} does not hear the clients by datagrams to port {PORT}; "
                "is there a firewall between them?"
            )
        return self._clients[node]

    async def heard(self) -> frozenset[Link]:
        """Every link on which a datagram arrived just now."""
        assert self._box is not None, "not open"
        box, token = self._box, f"{self._secret}.{next(self._numbers)}"
        addresses = [(host.ip, PORT) for host in self._hosts.values()]
        await asyncio.gather(
            _each(self._hosts.values(), lambda host: _order(host, token)),
            self._vantage.ask(lambda: _tell(box, token, addresses)),
        )
        heard_here = await self._vantage.ask(lambda: _listen(box, token))
        links = {(source, CLIENTS) for source in heard_here}

        async def collect(host: RemoteHost) -> None:
            for source, address in await _heard_by(host, token):
                links.add((source, host.node))
                if source == CLIENTS:
                    self._clients[host.node] = address

        await _each(self._hosts.values(), collect)
        return frozenset(links)

    async def _give_ear(self, host: RemoteHost) -> None:
        script = host.home / "ear.py"
        await host.shell.put(inspect.getsource(ear).encode(), script)
        peers = [f"{one.node}={one.ip}" for one in self._hosts.values() if one is not host]
        files = [str(host.home / name) for name in ("ear.orders", "ear.heard")]
        process = await spawn(
            host.shell,
            [
                host.described.python,
                str(script),
                host.node,
                self._secret,
                str(PORT),
                *files,
                *peers,
            ],
            stdout=host.home / "ear.out",
            stderr=host.home / "ear.log",
            record=host.home / "spawned" / "ear",
        )
        host.processes.append(process)

        async def is_decided() -> bool:
            return bool(await process.output("stdout")) or not await process.is_running()

        await wait_until(is_decided, within_s=_READY_WITHIN_S, what=f"{host.node} listens")
        if not await process.is_running():
            said = (await process.output("stderr")).strip()
            raise NodeFailedError(f"{host.node} cannot listen to the others: {said[-500:]}")


async def _order(host: RemoteHost, token: str) -> None:
    """Returns when the ear has its order, not when it has carried it out."""
    orders = shlex.quote(str(host.home / "ear.orders"))
    # Nobody reads where no ear is, and then a writer would wait for ever.
    answer = await host.shell.script(
        f"timeout {_ORDER_WITHIN_S} sh -c 'echo {token} >\"$1\"' order {orders}"
    )
    if answer.exit_code != 0:
        raise NodeFailedError(f"{host.node} listens no longer: {answer.stderr.strip()}")


async def _heard_by(host: RemoteHost, token: str) -> list[tuple[Node, str]]:
    heard = shlex.quote(str(host.home / "ear.heard"))
    answer = await host.shell.script(f"grep '^{token} ' {heard} | sort -u")
    words = [line.split() for line in answer.stdout.splitlines()]
    return [(each[1], each[2]) for each in words if len(each) > ear.WORDS]


def _made_box() -> socket.socket:
    box = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    box.bind(("", 0))
    return box


def _tell(box: socket.socket, token: str, addresses: list[tuple[str, int]]) -> None:
    box.setblocking(False)
    ear.tell(box, f"{token} {CLIENTS}".encode(), addresses)


def _listen(box: socket.socket, token: str) -> set[Node]:
    """From now on until the last ear that was given an order has long sent its last datagram."""
    found: set[Node] = set()
    until_s = time.monotonic() + ear.ROUNDS * ear.ROUND_S + _AT_LAST_S
    while (left_s := until_s - time.monotonic()) > 0:
        box.settimeout(left_s)
        try:
            words = box.recv(ear.LETTER_BYTES_MAX).decode(errors="replace").split()
        except TimeoutError:
            break
        except OSError:
            continue  # A host where nobody listens has told us so.
        if len(words) == ear.WORDS and words[0] == token:
            found.add(words[1])
    return found


async def _each(hosts: Iterable[RemoteHost], act: Callable[[RemoteHost], Awaitable[None]]) -> None:
    await asyncio.gather(*(act(host) for host in hosts))
