"""Stock asyncio streams over the simulated network."""

import asyncio
from collections.abc import Iterator

import pytest

from harness.sim.loop import SimulationError
from harness.sim.processes import SimProcess
from harness.sim.simulation import Simulation


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with Simulation(11) as simulation:
        yield simulation


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()


def serving(simulation: Simulation, port: int = 7) -> SimProcess:
    server = SimProcess(simulation, "server")

    async def serve() -> None:
        listening = await asyncio.start_server(echo, "server", port)
        assert listening.sockets[0].getsockname() == ("server", port)
        await listening.serve_forever()

    _ = server.start(serve())
    return server


def test_streams_talk_between_hosts(simulation: Simulation) -> None:
    serving(simulation)
    client = SimProcess(simulation, "client")

    async def talk() -> list[bytes]:
        reader, writer = await asyncio.open_connection("server", 7)
        assert writer.get_extra_info("peername") == ("server", 7)
        assert writer.get_extra_info("sockname")[0] == "client"
        heard = []
        for word in (b"one\n", b"two\n", b"three\n"):
            writer.write(word)
            heard.append(await reader.readline())
        writer.write(b"four\n")
        writer.write_eof()
        heard.append(await reader.read())
        writer.close()
        await writer.wait_closed()
        return heard

    async def main() -> list[bytes]:
        await asyncio.sleep(0.1)
        return await client.start(talk())

    assert simulation.run(main(), deadline_s=10) == [b"ONE\n", b"TWO\n", b"THREE\n", b"FOUR\n"]
    assert {row.connection for row in simulation.trace.rows() if row.kind == "send"} == {
        "client>server:7#1"
    }


def test_megabytes_pass_with_back_pressure(simulation: Simulation) -> None:
    serving(simulation)
    line = b"x" * 9_999 + b"\n"

    async def main() -> int:
        await asyncio.sleep(0.1)
        reader, writer = await asyncio.open_connection("server", 7)

        async def write() -> None:
            for _ in range(500):
                writer.write(line)
                await writer.drain()

        writing = asyncio.create_task(write())
        await asyncio.sleep(5)
        assert not writing.done()  # Nobody reads the echo, so the echo reads no more.
        count = 0
        for _ in range(500):
            count += len(await reader.readline())
        await writing
        writer.close()
        return count

    assert simulation.run(main(), deadline_s=100) == 5_000_000


def test_the_death_of_the_other_side_is_an_error_here(simulation: Simulation) -> None:
    server = serving(simulation)

    async def main() -> None:
        await asyncio.sleep(0.1)
        reader, writer = await asyncio.open_connection("server", 7)
        server.kill()
        with pytest.raises(ConnectionResetError):
            await reader.readline()
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("server", 7)

    simulation.run(main(), deadline_s=10)


def test_what_was_written_before_a_close_arrives(simulation: Simulation) -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(5)
        heard.append(await reader.read())
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(listen, "", 80)
        _, writer = await asyncio.open_connection("localhost", 80)
        writer.write(bytes(2_000_000))
        writer.close()
        await writer.wait_closed()
        await asyncio.sleep(5)
        server.close()

    simulation.run(main(), deadline_s=60)
    assert [len(each) for each in heard] == [2_000_000]


def test_tls_is_refused_with_a_sentence(simulation: Simulation) -> None:
    async def main() -> None:
        await asyncio.open_connection("server", 7, ssl=True)

    with pytest.raises(SimulationError, match="connect in plain text"):
        simulation.run(main(), deadline_s=1)
