"""The network between simulated hosts: names, ports, links, and connections that come about.

Host names are the names of the nodes. Everything here is the world's, not a process's: it goes on
when processes crash.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import TYPE_CHECKING

from broker.network.interface import Address, Connection, Listener, Network
from harness.sim.connection import SimConnection
from harness.sim.conversation import Conversation
from harness.sim.dial import Dial
from harness.sim.flow import Flow
from harness.sim.links import LOOPBACK, Link, LinkTimes
from harness.sim.lives import Life
from harness.sim.loop import SimLoop
from harness.sim.trace import Trace

if TYPE_CHECKING:
    from harness.wire.match import MessageFaults

_ANY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - a name to be understood, not one to bind
_OWN_ADDRESS = ("localhost", "127.0.0.1", "::1")
_FIRST_FREE_PORT = 32768
_FIRST_CLIENT_PORT = 49152


class Host:
    """A machine on the network, whatever runs on it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_up = True
        self.listeners: dict[int, SimListener] = {}
        self.connections: dict[SimConnection, None] = {}
        self.silent: list[SimConnection] = []
        """Ends that a power loss took, of which the peers do not know yet."""
        self._client_ports = _FIRST_CLIENT_PORT

    def free_port(self) -> int:
        port = _FIRST_FREE_PORT
        while port in self.listeners:
            port += 1
        return port

    def client_port(self) -> int:
        self._client_ports += 1
        return self._client_ports - 1


class SimListener:
    def __init__(
        self,
        host: Host,
        address: Address,
        on_connection: Callable[[SimConnection], None],
        life: Life,
    ) -> None:
        self.address = address
        self.life = life
        self.context: Context = copy_context()
        self.on_connection = on_connection
        self._host = host

    def stop(self) -> None:
        if self._host.listeners.get(self.address.port) is self:
            del self._host.listeners[self.address.port]

    async def close(self) -> None:
        self.stop()


class SimNetwork:
    def __init__(
        self,
        loop: SimLoop,
        trace: Trace,
        *,
        times: LinkTimes | None = None,
        message_faults: MessageFaults | None = None,
    ) -> None:
        self.loop = loop
        self.trace = trace
        self.times = times or LinkTimes()
        self.message_faults = message_faults
        self._hosts: dict[str, Host] = {}
        self._links: dict[tuple[str, str], Link] = {}
        self._dialled: dict[str, int] = {}

    def host(self, name: str) -> Host:
        if name not in self._hosts:
            self._hosts[name] = Host(name)
        return self._hosts[name]

    @property
    def host_names(self) -> list[str]:
        return list(self._hosts)

    @property
    def messages_held(self) -> int:
        return sum(link.messages_held for link in self._links.values())

    def link(self, source: str, target: str) -> Link:
        link = self._links.get((source, target))
        if link is None:
            times = LOOPBACK if source == target else self.times
            link = self._links[source, target] = Link(source, target, times)
        return link

    def of(self, name: str) -> HostNetwork:
        """What a process on this host is handed."""
        return HostNetwork(self, self.host(name))

    def resolve(self, name: str, asking: Host) -> Host:
        if name in _OWN_ADDRESS:
            return asking
        if name not in self._hosts:
            raise socket.gaierror(
                socket.EAI_NONAME, f"Name or service not known: {name}, asked by {asking.name}"
            )
        return self._hosts[name]

    # Connections that come about

    def name_connection(self, source: str, target: str, port: int) -> str:
        pair = f"{source}>{target}:{port}"
        self._dialled[pair] = self._dialled.get(pair, 0) + 1
        return f"{pair}#{self._dialled[pair]}"

    def establish(
        self, name: str, source: Host, target: Host, address: Address, life: Life
    ) -> SimConnection:
        """The client's end; the server's comes to its listener with the handshake's last step."""
        row = self.trace.emit("connect", source.name, name)
        conversation = Conversation(
            self.trace, name, client=source.name, server=target.name, faults=self.message_faults
        )
        there, back = self.link(source.name, target.name), self.link(target.name, source.name)
        decisions = self.loop.decisions
        requests = Flow(
            self.loop, decisions, name,
            purpose="request", link=there, back=back, note_send=conversation.request_sent,
            tell=conversation.tell,
        )  # fmt: skip
        replies = Flow(
            self.loop, decisions, name,
            purpose="reply", link=back, back=there, note_send=conversation.reply_sent,
            tell=conversation.tell,
        )  # fmt: skip
        client_address = Address(source.name, source.client_port())
        client = SimConnection(
            self, source, client_address, address, conversation,
            out=requests, into=replies, life=life, is_server=False,
        )  # fmt: skip
        server = SimConnection(
            self, target, Address(target.name, address.port), client_address, conversation,
            out=replies, into=requests, life=self.loop.outside, is_server=True,
        )  # fmt: skip
        requests.join(client, server)
        replies.join(server, client)
        source.connections[client] = None

        def accept(end: SimConnection, _: int) -> None:
            self._accept(end, address.port, row)

        server.when_opened = accept
        requests.open()
        return client

    def _accept(self, server: SimConnection, port: int, cause: int) -> None:
        host = server.host
        listener = host.listeners.get(port)
        if listener is None:
            server.vanish(cause, with_reset=host.is_up)
            return
        server.life = listener.life
        host.connections[server] = None
        row = self.trace.emit("accept", host.name, server.name, cause=cause)
        self.loop.call_in_life(
            listener.life, listener.context.copy(), row, listener.on_connection, server
        )

    # What becomes of processes and machines

    def process_ended(self, life: Life, cause: int) -> None:
        """The kernel closes for it: peers see a reset."""
        self._close_all(self.host(life.host), life, cause, with_reset=True)

    def power_lost(self, name: str, cause: int) -> None:
        """Peers see nothing at all."""
        host = self.host(name)
        host.is_up = False
        host.silent += host.connections
        self._close_all(host, None, cause, with_reset=False)

    def power_back(self, name: str, cause: int) -> None:
        host = self.host(name)
        if not host.is_up:
            host.is_up = True
            silent, host.silent = host.silent, []
            for connection in silent:
                connection.reset_after_silence(cause)

    def _close_all(self, host: Host, life: Life | None, cause: int, *, with_reset: bool) -> None:
        for listener in list(host.listeners.values()):
            if life is None or listener.life is life:
                listener.stop()
        for connection in list(host.connections):
            if life is None or connection.life is life:
                connection.vanish(cause, with_reset=with_reset)


class HostNetwork:
    """The network as one host sees it; implements the broker's seam."""

    def __init__(self, network: SimNetwork, host: Host) -> None:
        self._network = network
        self._host = host

    async def listen(
        self, address: Address, on_connection: Callable[[SimConnection], None]
    ) -> SimListener:
        host = self._host
        if address.host not in (*_ANY_ADDRESS, *_OWN_ADDRESS, host.name):
            raise OSError(errno.EADDRNOTAVAIL, f"cannot listen on {address}: not an address here")
        port = address.port or host.free_port()
        if port in host.listeners:
            raise OSError(errno.EADDRINUSE, f"cannot listen on {address}: Address already in use")
        bound = Address(host.name if address.host in _ANY_ADDRESS else address.host, port)
        life = self._network.loop.present_life()
        listener = host.listeners[port] = SimListener(host, bound, on_connection, life)
        return listener

    async def connect(self, address: Address) -> SimConnection:
        network = self._network
        target = network.resolve(address.host, self._host)
        life = network.loop.present_life()
        return await Dial(network, self._host, target, address, life).result


def _check(network: HostNetwork, listener: SimListener, connection: SimConnection) -> Network:
    """Has mypy hold the simulated network to the seam."""
    _: tuple[Listener, Connection] = listener, connection
    return network
