"""Links between hosts: cut one way or both, healed, and asked what is left of them."""

from __future__ import annotations

import socket
from itertools import permutations
from pathlib import Path

import pytest

from harness.cluster.errors import FaultMissedError
from harness.cluster.netns.switch import Switch
from tests.netns.places import hosts, network_of, shown, started, until_it_says

NODES = ("n1", "n2", "n3", "clients")
ALL = frozenset(permutations(NODES, 2))

ECHOES = (
    "import socket; s = socket.create_server(('', 9092)); print('up', flush=True)\n"
    "c, _ = s.accept()\n"
    "while d := c.recv(100): print('heard', d.decode(), flush=True); c.sendall(d)\n"
    "print('farewell', flush=True)"
)


async def test_whole_hosts_reach_each_other(tmp_path: Path) -> None:
    async with hosts(tmp_path) as place:
        assert network_of(place).hosts == NODES
        assert await network_of(place).reachable() == ALL


async def test_a_cut_is_one_way(tmp_path: Path) -> None:
    async with hosts(tmp_path) as place:
        network = network_of(place)
        await network.cut([("n1", "n2")])
        assert await network.reachable() == ALL - {("n1", "n2")}
        await network.cut([("clients", "n3"), ("n1", "n2")])
        assert await network.reachable() == ALL - {("n1", "n2"), ("clients", "n3")}
        await network.heal()
        assert await network.reachable() == ALL


async def test_a_partition_leaves_what_its_graph_says(tmp_path: Path) -> None:
    async with hosts(tmp_path) as place:
        network = network_of(place)
        apart = [link for link in ALL if ("n3" in link)]
        await network.cut(apart)
        assert await network.reachable() == ALL - frozenset(apart)
        assert await shown(place, "n3", "hostname") == "n3", "commands come by another link"
        await network.heal()
        await network.heal()
        assert await network.reachable() == ALL


async def test_a_connection_under_a_cut_falls_silent_and_goes_on_after(tmp_path: Path) -> None:
    """Dropped and not refused: neither side hears of it, and TCP sends again when it can."""
    async with hosts(tmp_path, 1) as place:
        network = network_of(place)
        echo = await started(place, "n1", ECHOES)
        address = (place.hosts[0].address, 9092)
        connection = await place.ask(lambda: socket.create_connection(address, 5))
        with connection:
            connection.sendall(b"one")
            assert await place.ask(lambda: connection.recv(100)) == b"one"
            await network.cut([("n1", "clients")])
            connection.sendall(b"two")
            await until_it_says(echo, "heard two")
            connection.settimeout(0.1)
            with pytest.raises(TimeoutError):
                connection.recv(100)
            await network.heal()
            connection.settimeout(20)
            assert await place.ask(lambda: connection.recv(100)) == b"two"


async def test_a_cut_that_does_not_cut_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def do_nothing(_: Switch, commands: str, *, why: str) -> str:
        return ""

    async with hosts(tmp_path, 2) as place:
        monkeypatch.setattr(Switch, "nft", do_nothing)
        with pytest.raises(FaultMissedError, match="n1 still reaches n2"):
            await network_of(place).cut([("n1", "n2")])


async def test_a_heal_that_does_not_heal_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def do_nothing(_: Switch, commands: str, *, why: str) -> str:
        return ""

    async with hosts(tmp_path, 2) as place:
        await network_of(place).cut([("n1", "n2")])
        monkeypatch.setattr(Switch, "nft", do_nothing)
        with pytest.raises(FaultMissedError, match="n1 does not reach n2"):
            await network_of(place).heal()


async def test_unknown_links_are_refused(tmp_path: Path) -> None:
    async with hosts(tmp_path, 1) as place:
        with pytest.raises(ValueError, match="no node n2"):
            await network_of(place).cut([("n1", "n2")])
        with pytest.raises(ValueError, match="from n1 to itself"):
            await network_of(place).cut([("n1", "n1")])
