"""Connections of the simulated network: how they come about, and how they do not."""

import asyncio
import errno
from collections.abc import Iterator

import pytest

from broker.network.interface import Address
from harness.sim.links import CONNECT_TIMEOUT_NS
from harness.sim.simulation import Simulation
from tests.unit.harness.sim.peers import PORT, Pair


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with Simulation(3) as simulation:
        yield simulation


def test_connecting_through_a_cut_succeeds_when_a_later_try_passes(simulation: Simulation) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        await pair.listen()
        pair.back.cut()
        dialling = pair.dial()
        await asyncio.sleep(5)
        assert not dialling.done()
        pair.back.heal()
        await dialling
        assert 7.0 <= simulation.now_s < 7.1

    simulation.run(main(), deadline_s=60)


def test_connecting_to_a_silent_host_times_out_and_a_missing_listener_refuses(
    simulation: Simulation,
) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        with pytest.raises(ConnectionRefusedError):
            await pair.dial()
        assert simulation.now_s < 0.1
        simulation.network.power_lost("b", 0)
        began = simulation.now_s
        with pytest.raises(TimeoutError) as caught:
            await pair.dial()
        assert caught.value.errno == errno.ETIMEDOUT
        assert simulation.now_s - began == pytest.approx(CONNECT_TIMEOUT_NS / 1e9)
        with pytest.raises(OSError, match="Name or service not known: c"):
            await simulation.network.of("a").connect(Address("c", PORT))

    simulation.run(main(), deadline_s=600)


def test_an_attempt_that_was_given_up_never_reaches_the_listener(simulation: Simulation) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        await pair.listen()
        pair.back.cut()
        dialling = pair.dial()
        await asyncio.sleep(2)
        dialling.cancel()
        pair.back.heal()
        await asyncio.sleep(200)

    simulation.run(main(), deadline_s=300)
    assert pair.server.connection is None


def test_an_attempt_may_be_given_up_while_its_answer_is_under_way(simulation: Simulation) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        await pair.listen()
        dialling = pair.dial()
        await asyncio.sleep(0.00015)
        dialling.cancel()
        await asyncio.sleep(10)

    simulation.run(main(), deadline_s=300)
    assert pair.server.connection is None
    assert not [row for row in simulation.trace.rows() if row.kind == "connect"]


def test_ports_are_taken_once_and_addresses_are_checked(simulation: Simulation) -> None:
    network = simulation.network.of("a")

    async def main() -> None:
        first = await network.listen(Address("", 0), lambda _: None)
        assert first.address.host == "a"
        with pytest.raises(OSError, match="Address already in use"):
            await network.listen(Address("0.0.0.0", first.address.port), lambda _: None)  # noqa: S104
        with pytest.raises(OSError, match="not an address here"):
            await network.listen(Address("b", 1), lambda _: None)
        await first.close()
        again = await network.listen(first.address, lambda _: None)
        assert again.address == first.address

    simulation.run(main(), deadline_s=1)
