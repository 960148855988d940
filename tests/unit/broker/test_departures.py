"""A broker that is gone is told from one that is only silent."""

from __future__ import annotations

import asyncio

import pytest

from broker.departures import Departures
from broker.network.interface import Address
from tests.unit.broker.peers.fake_network import FakeNetwork
from tests.virtual_time import in_virtual_time

CALLER = Address("n2", 50001)
LATER_CALLER = Address("n2", 50002)


class Watch:
    """Departures of a controller, and who it found to be gone."""

    def __init__(self, network: FakeNetwork) -> None:
        self.gone: list[tuple[int, float]] = []
        self.departures = Departures(
            network,
            address_of=lambda broker_id: Address(f"n{broker_id}", 9092) if broker_id < 9 else None,
            on_gone=self._on_gone,
            spawn=asyncio.ensure_future,
        )

    async def _on_gone(self, broker_id: int) -> None:
        self.gone.append((broker_id, asyncio.get_running_loop().time()))


@in_virtual_time
async def test_whom_nobody_can_call_any_more_is_gone_at_once() -> None:
    watch = Watch(FakeNetwork(ConnectionRefusedError()))
    watch.departures.heard(2, CALLER)
    assert watch.departures.closed(CALLER) == 2
    watch.departures.suspect(2)
    await asyncio.sleep(5)
    [(broker_id, at)] = watch.gone
    assert (broker_id, at < 0.01) == (2, True)


@in_virtual_time
async def test_a_port_that_closes_a_little_later_than_the_connection_is_knocked_at_again() -> None:
    network = FakeNetwork()
    watch = Watch(network)
    watch.departures.suspect(2)
    await asyncio.sleep(0.01)
    network.refusals = [ConnectionRefusedError()]
    await asyncio.sleep(5)
    assert [broker_id for broker_id, _ in watch.gone] == [2]
    assert all(connection.is_closed for connection in network.connections)


@in_virtual_time
async def test_who_opens_is_there_and_is_soon_left_in_peace() -> None:
    network = FakeNetwork()
    watch = Watch(network)
    watch.departures.suspect(2)
    await asyncio.sleep(60)
    assert watch.gone == []
    assert len(network.connections) == 4
    assert all(connection.is_closed for connection in network.connections)


@pytest.mark.parametrize("silence", [TimeoutError(), OSError(113, "No route to host")])
def test_silence_proves_nothing(silence: OSError) -> None:
    @in_virtual_time
    async def story() -> None:
        network = FakeNetwork(silence, ConnectionRefusedError())
        watch = Watch(network)
        watch.departures.suspect(2)
        await asyncio.sleep(60)
        assert (watch.gone, len(network.attempts_at)) == ([], 1)

    story()


@in_virtual_time
async def test_a_knock_that_hangs_is_given_up() -> None:
    network = FakeNetwork()
    network.hangs = True
    watch = Watch(network)
    watch.departures.suspect(2)
    await asyncio.sleep(2)
    network.hangs = False
    network.refusals = [ConnectionRefusedError()]
    await asyncio.sleep(60)
    assert (watch.gone, len(network.attempts_at)) == ([], 1)


@in_virtual_time
async def test_who_has_called_again_is_not_suspected() -> None:
    network = FakeNetwork(ConnectionRefusedError())
    watch = Watch(network)
    watch.departures.heard(2, CALLER)
    watch.departures.heard(2, LATER_CALLER)
    assert watch.departures.closed(CALLER) == 2
    watch.departures.suspect(2)
    await asyncio.sleep(60)
    assert (watch.gone, network.attempts_at) == ([], [])


@in_virtual_time
async def test_a_call_while_it_is_knocked_for_ends_the_suspicion() -> None:
    network = FakeNetwork()
    watch = Watch(network)
    watch.departures.suspect(2)
    await asyncio.sleep(0.01)
    watch.departures.heard(2, LATER_CALLER)
    network.refusals = [ConnectionRefusedError()]
    await asyncio.sleep(60)
    assert (watch.gone, len(network.attempts_at)) == ([], 1)


@in_virtual_time
async def test_other_connections_are_nobodys_departure_and_strangers_have_no_door() -> None:
    network = FakeNetwork(ConnectionRefusedError())
    watch = Watch(network)
    assert watch.departures.closed(CALLER) is None
    watch.departures.suspect(9)
    await asyncio.sleep(60)
    assert (watch.gone, network.attempts_at) == ([], [])
