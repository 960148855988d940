"""One attempt to connect: asks, asks again while nobody answers, and gives up in the end."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from broker.network.interface import Address
from harness.sim.links import CONNECT_RETRIES_NS, CONNECT_TIMEOUT_NS
from harness.sim.lives import Life

if TYPE_CHECKING:
    from asyncio import Future

    from harness.sim.connection import SimConnection
    from harness.sim.network import Host, SimNetwork


class Dial:
    """`result` is done when the handshake is, refused, or after two minutes of silence."""

    def __init__(
        self, network: SimNetwork, source: Host, target: Host, address: Address, life: Life
    ) -> None:
        self.name = network.name_connection(source.name, target.name, address.port)
        self.result: Future[SimConnection] = network.loop.create_future()
        self._network = network
        self._loop = network.loop
        self._cause = network.loop.cause
        self._source = source
        self._target = target
        self._address = address
        self._life = life
        self._there = network.link(source.name, target.name)
        self._back = network.link(target.name, source.name)
        self._delays = network.loop.decisions.of("connect_delay", self.name)
        self._began_ns = network.loop.now_ns
        self._ask()

    @property
    def _is_forgotten(self) -> bool:
        return self.result.done() or self._life.is_dead

    def _ask(self) -> None:
        if not self._is_forgotten:
            at_ns = self._there.arrival_ns(self._loop.now_ns, 0, self._delays.next())
            self._loop.call_kernel(at_ns, Dial._asked, self)

    def _asked(self) -> None:
        if self._there.is_cut or not self._target.is_up:
            self._ask_again_later()
            return
        self._is_refused = self._address.port not in self._target.listeners
        at_ns = self._back.arrival_ns(self._loop.now_ns, 0, self._delays.next())
        self._loop.call_kernel(at_ns, Dial._answered, self)

    def _answered(self) -> None:
        if self._back.is_cut or not self._target.is_up:
            self._ask_again_later()
        elif self._is_forgotten:
            return
        elif self._is_refused:
            self._fail(ConnectionRefusedError(errno.ECONNREFUSED, self._told("refused")))
        else:
            self._loop.cause = self._cause
            self.result.set_result(
                self._network.establish(
                    self.name, self._source, self._target, self._address, self._life
                )
            )

    def _ask_again_later(self) -> None:
        for retry_ns in CONNECT_RETRIES_NS:
            if self._began_ns + retry_ns > self._loop.now_ns:
                self._loop.call_kernel(self._began_ns + retry_ns, Dial._ask, self)
                return
        self._loop.call_kernel(self._began_ns + CONNECT_TIMEOUT_NS, Dial._time_out, self)

    def _time_out(self) -> None:
        if not self._is_forgotten:
            self._fail(TimeoutError(errno.ETIMEDOUT, self._told("timed out")))

    def _fail(self, error: OSError) -> None:
        self._network.trace.emit("refuse", self._source.name, self.name, detail=str(error.strerror))
        self.result.set_exception(error)

    def _told(self, what: str) -> str:
        return f"Connect call to {self._address} {what}"
