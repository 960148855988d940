"""Hosts on this machine: each with a name, an address, processes and a disk of its own."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.cluster.errors import NotInTimeError
from harness.cluster.netns import NetnsPlace
from tests.netns.places import SMALL_BYTES, hosts, shown, started

SLEEPS = "import time; print('up', flush=True); time.sleep(600)"
DEAF = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('up', flush=True); time.sleep(600)"
)
HAS_A_CHILD = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)"
)
ENDS_WELL_WHEN_ASKED = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    "print('up', flush=True); time.sleep(600)"
)


def routes_of_this_machine_to(address: str) -> list[str]:
    """Beside the one that leads everywhere."""
    network = address.rpartition(".")[0]
    asked = ["ip", "-o", "addr"], ["ip", "route"]
    told = "".join(subprocess.check_output(argv, text=True) for argv in asked)
    return [line for line in told.splitlines() if network in line]


async def test_each_host_is_one_of_its_own(tmp_path: Path) -> None:
    async with hosts(tmp_path, 2) as place:
        assert [host.node for host in place.hosts] == ["n1", "n2"]
        assert len({host.address for host in place.hosts}) == 2
        for host in place.hosts:
            assert await shown(place, host.node, "hostname") == host.node
            assert await shown(place, host.node, "pwd") == str(host.home)
            addresses = await shown(place, host.node, "ip", "-4", "-o", "addr", "show", "eth0")
            assert f" {host.address}/24 " in addresses
            assert await shown(place, host.node, "ip", "route", "show", "default") == ""
            size = int(await shown(place, host.node, "stat", "-f", "-c", "%b", str(host.data)))
            block = int(await shown(place, host.node, "stat", "-f", "-c", "%S", str(host.data)))
            assert 0.5 * SMALL_BYTES < size * block < SMALL_BYTES
            assert await shown(place, host.node, "sh", "-c", "cat /proc/1/comm") == "sshd"
        assert await shown(place, "clients", "hostname") == "clients"
        assert len({place.port(host.node, 9092) for host in place.hosts}) == 1


async def test_a_host_sees_only_its_own_processes_and_files(tmp_path: Path) -> None:
    async with hosts(tmp_path, 2) as place:
        process = await started(place, "n1", SLEEPS)
        assert str(process.pid) in (await shown(place, "n1", "sh", "-c", "ls -d /proc/[0-9]*"))
        elsewhere = await shown(place, "n2", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        assert "time.sleep(600)" not in elsewhere
        await place.put("n1", b"x", place.hosts[0].data / "only here")
        assert "only here" in await shown(place, "n1", "ls", str(place.hosts[0].data))
        assert list(await asyncio.to_thread(tmp_path.rglob, "only here")) == []
        assert await shown(place, "n1", "ls", "/run") == "host\nlock\nsshd"


async def test_a_command_tells_its_exit_code_and_what_it_wrote(tmp_path: Path) -> None:
    script = "import sys; print('x' * 3_000_000); print('y' * 3_000_000, file=sys.stderr)"
    async with hosts(tmp_path, 1) as place:
        done = await place.run("n1", [sys.executable, "-c", f"{script}; sys.exit(3)"])
        assert done.exit_code == 3
        assert done.stdout == "x" * 3_000_000 + "\n"
        assert done.stderr == "y" * 3_000_000 + "\n"
        assert (await place.run("n1", ["sh", "-c", "kill -9 $$"])).exit_code == 137
        odd = ["printf", "%s|", "a b", "$HOME", "'\"", "*"]
        assert (await place.run("n1", odd)).stdout == "a b|$HOME|'\"|*|"


async def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    async with hosts(tmp_path, 1) as place:
        with pytest.raises(
            NotInTimeError, match=r"timed out after 0\.5 s waiting until sh ends on n1"
        ):
            await place.run("n1", ["sh", "-c", "sleep 601 & sleep 601"], within_s=0.5)
        running = await shown(place, "n1", "sh", "-c", "cat /proc/[0-9]*/comm")
        assert "sleep" not in running.split()


async def test_files_go_to_a_host_and_come_back(tmp_path: Path) -> None:
    content = os.urandom(3_000_000)
    async with hosts(tmp_path / "place", 1) as place:
        there = place.hosts[0].data / "deep/er/file of mine"
        await place.put("n1", content, there)
        await place.get("n1", there, tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == content


async def test_a_process_is_paused_resumed_and_killed_with_its_children(tmp_path: Path) -> None:
    async with hosts(tmp_path, 1) as place:
        process = await started(place, "n1", HAS_A_CHILD)
        child = int(await process.output("stdout"))
        await process.pause()
        assert await process.is_paused()
        assert await process.is_running()
        await process.resume()
        assert not await process.is_paused()
        await process.kill()
        assert not await process.is_running()
        assert await process.wait() == -9
        assert await shown(place, "n1", "sh", "-c", f"ls -d /proc/{child} 2>/dev/null; true") == ""
        await process.kill()
        await process.resume()


async def test_a_process_that_is_asked_to_end_tells_how_it_did(tmp_path: Path) -> None:
    async with hosts(tmp_path, 1) as place:
        willing = await started(place, "n1", ENDS_WELL_WHEN_ASKED)
        await willing.pause()
        assert await willing.terminate(within_s=20) == 7
        deaf = await started(place, "n1", DEAF)
        assert await deaf.output("stdout") == "up\n", "only its own words, not its forerunner's"
        with pytest.raises(NotInTimeError, match="ends after SIGTERM; it was killed"):
            await deaf.terminate(within_s=0.2)
        assert await deaf.wait() == -9


async def test_a_process_that_cannot_start_has_ended(tmp_path: Path) -> None:
    async with hosts(tmp_path, 1) as place:
        home = place.hosts[0].home
        process = await place.spawn(
            "n1", ["/no/such/command"], stdout=home / "out", stderr=home / "err"
        )
        assert await process.wait() == 127
        assert "/no/such/command" in await process.output("stderr")


async def test_questions_are_asked_from_the_clients_network(tmp_path: Path) -> None:
    serves = (
        "import socket; s = socket.create_server(('', 9092)); print('up', flush=True)\n"
        "while True: c, a = s.accept(); c.sendall(a[0].encode()); c.close()"
    )

    def question(address: str) -> str:
        with socket.create_connection((address, 9092), 5) as connection:
            return connection.recv(100).decode()

    async with hosts(tmp_path, 1) as place:
        await started(place, "n1", serves)
        address = place.hosts[0].address
        mine = await shown(place, "clients", "hostname", "-I")
        assert await place.ask(lambda: question(address)) in mine.split()
        assert await asyncio.to_thread(routes_of_this_machine_to, address) == []


async def test_a_client_is_our_child_in_the_clients_network(tmp_path: Path) -> None:
    async with hosts(tmp_path, 1) as place:
        command = place.client_command(["sh", "-c", "hostname; hostname -I; echo $$; pwd"])
        client = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, cwd=tmp_path
        )
        said, _ = await client.communicate()
        name, addresses, pid, directory = said.decode().splitlines()
        assert (name, int(pid), directory) == ("clients", client.pid, str(tmp_path))
        assert addresses == await shown(place, "clients", "hostname", "-I") + " "


async def test_two_places_do_not_meet(tmp_path: Path) -> None:
    async with hosts(tmp_path / "a", 1) as one, hosts(tmp_path / "b", 1) as other:
        assert one.hosts[0].address == other.hosts[0].address
        await started(one, "n1", SLEEPS)
        assert "python" not in await shown(other, "n1", "sh", "-c", "cat /proc/[0-9]*/comm")
        await one.down()
        assert await shown(other, "n1", "hostname") == "n1"


async def test_an_unknown_node_is_refused(tmp_path: Path) -> None:
    async with hosts(tmp_path, 1) as place:
        with pytest.raises(ValueError, match="no node n2 here"):
            await place.run("n2", ["true"])


def test_hosts_are_up_in_seconds(tmp_path: Path) -> None:
    """Not a measurement: a place that takes this long waits for something that never comes."""

    async def up_and_down() -> None:
        async with NetnsPlace(tmp_path) as place:
            await place.up(5)

    begun_s = time.monotonic()
    asyncio.run(up_and_down())
    assert time.monotonic() - begun_s < 30
