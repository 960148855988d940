"""Packets of links: late, lost, doubled, overtaken, corrupt, at a rate; and healed."""

from __future__ import annotations

import re
import socket
from itertools import permutations
from pathlib import Path

import pytest

from harness.cluster.capabilities import Network, PacketFault
from harness.cluster.errors import FaultMissedError
from harness.cluster.netns.netem import NetemShaper
from harness.cluster.netns.packet_keeper import PacketKeeper
from harness.cluster.netns.queues import QueueShaper
from harness.cluster.netns.tools import must
from tests.netns.places import disks_of, hosts, network_of, started
from tests.netns.test_links import ECHOES

FAULTS = {
    "delay": PacketFault(delay_ms=40),
    "jitter": PacketFault(delay_ms=20, jitter_ms=10),
    "loss": PacketFault(loss=0.2),
    "duplicate": PacketFault(duplicate=0.3),
    "reorder": PacketFault(reorder=0.2),
    "corrupt": PacketFault(corrupt=0.2),
    "rate": PacketFault(bytes_per_s=200_000),
    "all at once": PacketFault(
        delay_ms=30, jitter_ms=5, loss=0.1, duplicate=0.1, reorder=0.1, corrupt=0.1
    ),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_shows_on_its_link_and_on_no_other(tmp_path: Path, name: str) -> None:
    """That it shows is proved by `shape` itself, and that the proof is worth something below."""
    async with hosts(tmp_path, 2) as place:
        network = network_of(place)
        assert network.why_not(FAULTS[name]) is None
        await network.shape([("n1", "n2")], FAULTS[name])
        assert await network.reachable() == frozenset(permutations(network.hosts, 2))
        with pytest.raises(FaultMissedError, match="from n2 to n1"):
            await pretend(network, FAULTS[name])
        await network.heal()


async def pretend(network: Network, fault: PacketFault) -> None:
    """Asks for the fault on the way back and does nothing for it."""
    with pytest.MonkeyPatch.context() as patch:

        async def do_nothing(*_: object) -> None:
            return

        patch.setattr(QueueShaper, "set", do_nothing)
        patch.setattr("harness.cluster.netns.netem.NetemShaper.set", do_nothing)
        await network.shape([("n2", "n1")], fault)


async def test_a_second_fault_takes_the_place_of_the_first(tmp_path: Path) -> None:
    async with hosts(tmp_path, 2) as place:
        network = network_of(place)
        await network.shape([("n1", "n2"), ("n2", "n1")], PacketFault(loss=1.0))
        assert ("n1", "n2") not in await network.reachable()
        await network.shape([("n1", "n2")], PacketFault(delay_ms=10))
        assert ("n1", "n2") in await network.reachable()
        assert ("n2", "n1") not in await network.reachable()
        await network.heal()
        assert ("n2", "n1") in await network.reachable()


async def test_a_fault_outlives_a_loss_of_power(tmp_path: Path) -> None:
    async with hosts(tmp_path, 2) as place:
        network = network_of(place)
        await network.shape([("n1", "n2")], PacketFault(loss=1.0))
        await disks_of(place).lose_power("n2")
        await disks_of(place).restore_power("n2")
        reachable = await network.reachable()
        assert ("n1", "n2") not in reachable
        assert ("n2", "n1") in reachable
        await network.heal()


async def test_connections_live_through_bad_weather(tmp_path: Path) -> None:
    bad = PacketFault(delay_ms=5, jitter_ms=3, loss=0.05, duplicate=0.1, reorder=0.1, corrupt=0.05)
    async with hosts(tmp_path, 1) as place:
        network = network_of(place)
        await started(place, "n1", ECHOES.replace("print('heard', d.decode(), flush=True); ", ""))
        address = (place.hosts[0].address, 9092)
        connection = await place.ask(lambda: socket.create_connection(address, 20))
        sent = bytes(range(256)) * 400

        def echo() -> bytes:
            connection.settimeout(60)
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            heard = b""
            while more := connection.recv(1 << 16):
                heard += more
            return heard

        with connection:
            await network.shape([("n1", "clients"), ("clients", "n1")], bad)
            assert await place.ask(echo) == sent
        await network.heal()


async def test_the_commands_for_netem_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by a kernel without netem: another queue stands where netem would."""
    monkeypatch.setattr("harness.cluster.netns.netem._netem", lambda _: "pfifo limit 1000")
    async with hosts(tmp_path, 2) as place:
        shaper = NetemShaper(place._fleet)
        everybody = frozenset(permutations(("n1", "n2", "clients"), 2))
        for link in everybody:
            await shaper.set(link, PacketFault(delay_ms=1))
            await shaper.set(link, PacketFault(delay_ms=2))
        assert await network_of(place).reachable() == everybody
        counted = "tc -s class show dev data2".split()
        told = await place._fleet.switch.call(lambda: must(counted, why="count packets"))
        passed = re.findall(r"class htb (1:\w+) .*\n Sent \d+ bytes (\d+) pkt", told)
        assert {name for name, count in passed if int(count)} == {"1:1", "1:64"}, told
        for link in everybody:
            await shaper.clear(link)
        assert await network_of(place).reachable() == everybody
        await disks_of(place).lose_power("n2")
        await disks_of(place).restore_power("n2")
        shaper.forget("n2")
        await shaper.set(("n1", "n2"), PacketFault(delay_ms=1))


def test_the_keeper_ends_with_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = socket.socketpair()
    with reader, writer, reader.makefile() as nothing:
        writer.close()
        monkeypatch.setattr("sys.stdin", nothing)
        PacketKeeper().serve()
