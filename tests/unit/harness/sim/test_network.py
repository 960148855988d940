"""Order, cuts, resets and back-pressure of simulated connections."""

import asyncio
from collections.abc import Iterator

import pytest

from broker.disk.memory import MemoryDisk
from harness.decisions import Override
from harness.sim.flow import WINDOW_BYTES
from harness.sim.links import Slowness
from harness.sim.simulation import Simulation
from tests.unit.harness.sim.peers import Pair, frame


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with Simulation(3) as simulation:
        yield simulation


def test_frames_arrive_one_by_one_in_order_and_each_in_its_own_time(
    simulation: Simulation,
) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        client, _ = await pair.meet()
        for first in range(0, 200, 10):
            client.send([frame(b"%04d" % (first + number)) for number in range(10)])
            await asyncio.sleep(0.001)
        await asyncio.sleep(1)

    simulation.run(main(), deadline_s=10)
    assert pair.server.pieces == [frame(b"%04d" % number) for number in range(200)]
    assert len(set(pair.server.times_s)) > 20
    assert pair.server.times_s == sorted(pair.server.times_s)


def test_one_slow_message_holds_up_those_behind_it_but_no_other_connection() -> None:
    slow = Override("request_delay", "a>b:9092#1", 1, 1 - 1e-15)
    with Simulation(3, overrides=[slow]) as simulation:
        one, other = Pair(simulation), Pair(simulation)

        async def main() -> None:
            first, _ = await one.meet()
            await other.dial()
            await asyncio.sleep(1)
            assert other.client.connection is not None
            for number in range(4):
                first.send((frame(b"%04d" % number),))
            other.client.connection.send((frame(b"else"),))
            await asyncio.sleep(1)

        simulation.run(main(), deadline_s=10)
        pieces, times = one.server.pieces, one.server.times_s
        assert set(pieces[:2]) == {frame(b"0000"), frame(b"else")}
        assert pieces[2:] == [frame(b"%04d" % number) for number in (1, 2, 3)]
        assert times[2] - max(times[:2]) > 0.005
        assert times[2] == times[3] == times[4]


def test_pieces_of_a_frame_travel_together_and_half_a_frame_goes_after_a_while(
    simulation: Simulation,
) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        client, _ = await pair.meet()
        client.send((b"\0\0\0\x08", b"ab"))
        client.send((b"cdefgh",))
        await asyncio.sleep(0.1)
        client.send((b"\0\0\0\x08half",))
        await asyncio.sleep(0.1)
        client.send((b"rest" + frame(b"next"),))
        await asyncio.sleep(0.1)

    simulation.run(main(), deadline_s=10)
    assert pair.server.pieces == [frame(b"abcdefgh"), b"\0\0\0\x08half", b"rest", frame(b"next")]


def test_a_message_larger_than_the_receivers_buffer_comes_in_parts(
    simulation: Simulation,
) -> None:
    pair = Pair(simulation, buffer_bytes=1000)
    body = bytes(range(256)) * 40

    async def main() -> None:
        client, _ = await pair.meet()
        client.send((frame(body),))
        await asyncio.sleep(1)

    simulation.run(main(), deadline_s=10)
    assert b"".join(pair.server.pieces) == frame(body)
    assert len(pair.server.pieces) == 11
    deliveries = [row for row in simulation.trace.rows() if row.kind == "deliver"]
    assert len(deliveries) == 1


def test_a_cut_holds_messages_and_a_healed_link_lets_them_through(simulation: Simulation) -> None:
    pair = Pair(simulation)
    times: list[float] = []

    async def main() -> None:
        client, server = await pair.meet()
        pair.there.cut()
        client.send((frame(b"held"),))
        server.send((frame(b"free"),))
        await asyncio.sleep(5)
        assert pair.server.pieces == []
        assert pair.client.pieces == [frame(b"free")]
        times.append(simulation.now_s)
        pair.there.heal()
        client.send((frame(b"late"),))
        await asyncio.sleep(10)

    simulation.run(main(), deadline_s=60)
    assert pair.server.pieces == [frame(b"held"), frame(b"late")]
    # After five seconds of silence the next try is seconds away, as with TCP.
    assert 0.1 < pair.server.times_s[0] - times[0] < 4.0


def test_two_cuts_of_one_link_must_both_be_healed(simulation: Simulation) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        client, _ = await pair.meet()
        pair.there.cut()
        pair.there.cut()
        client.send((frame(b"held"),))
        pair.there.heal()
        await asyncio.sleep(10)
        assert pair.server.pieces == []
        pair.there.heal()
        await asyncio.sleep(10)

    simulation.run(main(), deadline_s=60)
    assert pair.server.pieces == [frame(b"held")]


@pytest.mark.parametrize(("draw", "arrives"), [(0.4, []), (0.6, [frame(b"old news")])])
def test_what_a_cut_held_may_still_come_after_its_sender_has_closed(
    draw: float, arrives: list[bytes]
) -> None:
    override = Override("request_lost_at_close", "a>b:9092#1", 0, draw)
    with Simulation(3, overrides=[override]) as simulation:
        pair = Pair(simulation)

        async def main() -> None:
            client, _ = await pair.meet()
            pair.there.cut()
            client.send((frame(b"old news"),))
            await asyncio.sleep(1)
            client.close()
            assert pair.client.closings == [None]
            await asyncio.sleep(1)
            assert pair.server.closings == []
            pair.there.heal()
            await asyncio.sleep(10)

        simulation.run(main(), deadline_s=60)
        assert pair.server.pieces == arrives
        assert pair.server.closings == [None]


def test_a_closed_receiver_gets_nothing_more(simulation: Simulation) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        client, server = await pair.meet()
        client.send((frame(b"first"),))
        server.close()
        client.send((frame(b"second"),))
        await asyncio.sleep(1)

    simulation.run(main(), deadline_s=10)
    assert pair.server.pieces == []
    assert pair.server.closings == pair.client.closings == [None]
    drops = [row.detail for row in simulation.trace.rows() if row.kind == "drop"]
    assert drops == ["closed", "closed"]


def test_peers_of_a_killed_process_see_a_reset_behind_what_it_sent(simulation: Simulation) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        _, server = await pair.meet()
        server.send((frame(b"last words"),))
        pair.b.kill()
        await asyncio.sleep(1)
        with pytest.raises(ConnectionRefusedError):
            await pair.dial()

    simulation.run(main(), deadline_s=10)
    assert pair.client.pieces == [frame(b"last words")]
    [error] = pair.client.closings
    assert isinstance(error, ConnectionResetError)
    assert pair.server.closings == []


def test_after_a_power_loss_peers_see_silence_until_the_host_is_back(
    simulation: Simulation,
) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        client, _ = await pair.meet()
        assert pair.b.life is not None
        simulation.loop.crash(pair.b.life)
        simulation.network.power_lost("b", 0)
        client.send((frame(b"hello?"),))
        await asyncio.sleep(30)
        assert pair.client.closings == []
        simulation.network.power_back("b", 0)
        await asyncio.sleep(1)

    simulation.run(main(), deadline_s=60)
    [error] = pair.client.closings
    assert isinstance(error, ConnectionResetError)


def test_a_receiver_that_does_not_read_makes_its_sender_wait(simulation: Simulation) -> None:
    pair = Pair(simulation)
    message = frame(bytes(100_000))

    async def main() -> None:
        client, server = await pair.meet()
        server.pause_reading()
        for _ in range(10):
            client.send((message,))
        await asyncio.sleep(1)
        assert client.unsent_bytes == 10 * len(message) - (WINDOW_BYTES // len(message)) * len(
            message
        )
        assert pair.server.pieces == []
        assert pair.client.drains == 0
        server.resume_reading()
        await asyncio.sleep(1)
        assert client.unsent_bytes == 0
        assert pair.client.drains >= 1

    simulation.run(main(), deadline_s=10)
    assert b"".join(pair.server.pieces) == message * 10


def test_a_sender_waits_while_acknowledgements_are_cut_off(simulation: Simulation) -> None:
    pair = Pair(simulation)
    message = frame(bytes(200_000))

    async def main() -> None:
        client, _ = await pair.meet()
        pair.back.cut()
        for _ in range(10):
            client.send((message,))
        await asyncio.sleep(5)
        assert b"".join(pair.server.pieces) == message * 2
        assert client.unsent_bytes > 0
        pair.back.heal()
        await asyncio.sleep(10)
        assert client.unsent_bytes == 0

    simulation.run(main(), deadline_s=60)
    assert b"".join(pair.server.pieces) == message * 10


def test_a_paused_process_gets_in_order_what_came_meanwhile(simulation: Simulation) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        client, _ = await pair.meet()
        pair.b.pause()
        for number in range(3):
            client.send((frame(b"%04d" % number),))
            await asyncio.sleep(1)
        assert pair.server.pieces == []
        dialling = pair.dial()
        await dialling  # The kernel answers for it.
        pair.b.resume()
        await asyncio.sleep(1)

    simulation.run(main(), deadline_s=20)
    assert pair.server.pieces == [frame(b"%04d" % number) for number in range(3)]


def test_a_slow_link_takes_its_time(simulation: Simulation) -> None:
    pair = Pair(simulation)
    slow = Slowness(extra_ns=2_000_000_000, bytes_per_s=1000.0)

    async def main() -> None:
        client, _ = await pair.meet()
        pair.there.slow_down(slow)
        began = simulation.now_s
        client.send((frame(bytes(1996)),))
        client.send((frame(bytes(1996)),))
        await asyncio.sleep(20)
        first, second = (at - began for at in pair.server.times_s)
        assert 4.0 < first < 4.1
        assert 6.0 < second < 6.1
        pair.there.speed_up(slow)
        client.send((frame(b"fast"),))
        began = simulation.now_s
        await asyncio.sleep(1)
        assert pair.server.times_s[-1] - began < 0.1

    simulation.run(main(), deadline_s=60)


def test_file_slices_are_sent_as_their_bytes_and_a_short_one_breaks_the_connection(
    simulation: Simulation,
) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        client, _ = await pair.meet()
        file = await MemoryDisk().create("log")
        file.append([b"0123456789"])
        client.send((b"\0\0\0\x06>", file.slice(2, 5)))
        await asyncio.sleep(1)
        assert pair.server.pieces == [b"\0\0\0\x06>23456"]
        client.send_file(file.slice(8, 5))
        await asyncio.sleep(1)

    simulation.run(main(), deadline_s=10)
    [error] = pair.client.closings
    assert isinstance(error, OSError)
    assert "ended inside a slice" in str(error)
    assert pair.server.closings == [None]
