"""Hosts over ssh: reached by an inventory alone, broken and healed, and left without a trace."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from harness.cluster.base import RunningProcess
from harness.cluster.capabilities import Disks, Link, Network
from harness.cluster.errors import FaultMissedError, NoAnswerError
from harness.cluster.inventory import Inventory
from harness.cluster.ssh.place import SshPlace
from harness.cluster.waiting import wait_until
from harness.errors import EnvironmentFailure
from tests.netns.ssh_hosts import ssh_place

ANOTHER_KEY = "AAAAC3NzaC1lZDI1NTE5AAAAILIG2T/B0l0gaqj3puu510tu9N1OkQ4znY3LYuEm5zCF"
SLEEPS = "import time; print('up', flush=True); time.sleep(600)"


def network_of(place: SshPlace) -> Network:
    assert place.network is not None
    return place.network


def disks_of(place: SshPlace) -> Disks:
    assert place.disk is not None
    return place.disk


async def started(place: SshPlace, node: str, script: str) -> RunningProcess:
    home = next(host.home for host in place.hosts if host.node == node)
    process = await place.spawn(
        node, [sys.executable, "-c", script], stdout=home / "out", stderr=home / "err"
    )

    async def has_spoken() -> bool:
        return "\n" in await process.output("stdout")

    await wait_until(has_spoken, within_s=20, what="the process prints a line", every_s=0.01)
    return process


async def shown(place: SshPlace, node: str, *argv: str) -> str:
    done = await place.run(node, argv)
    assert done.exit_code == 0, done
    return done.stdout.strip()


def but_for(place: SshPlace, cut: Iterable[Link]) -> set[Link]:
    return set(permutations(network_of(place).hosts, 2)) - set(cut)


async def test_commands_files_and_processes_are_the_hosts_own(tmp_path: Path) -> None:
    async with ssh_place(tmp_path, 2) as place:
        hosts = await place.up(2)
        assert [host.node for host in hosts] == ["n1", "n2"]
        assert await shown(place, "n2", "hostname") == "n2"
        assert await shown(place, "n2", "pwd") == str(hosts[1].home)
        await place.put("n1", b"some\0thing", hosts[0].home / "below" / "file")
        await place.get("n1", hosts[0].home / "below" / "file", tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == b"some\0thing"
        process = await started(place, "n1", SLEEPS)
        await process.pause()
        assert await process.is_paused()
        await process.resume()
        await process.kill()
        assert await process.wait() == -9
        other = await started(place, "n2", SLEEPS)
        assert await other.terminate(within_s=20) == -15
        with pytest.raises(ValueError, match="no node n7 here"):
            await place.run("n7", ["true"])


async def test_a_cut_is_what_was_asked_for_and_nothing_else(tmp_path: Path) -> None:
    async with ssh_place(tmp_path, 3) as place:
        await place.up(3)
        network = network_of(place)
        assert await network.reachable() == but_for(place, [])
        one_way = [("n1", "n2")]
        await network.cut(one_way)
        assert await network.reachable() == but_for(place, one_way)
        # Faults add up; ssh is not concerned even though it is the clients that are cut off.
        clients = [("clients", "n3"), ("n3", "clients"), ("n1", "clients")]
        await network.cut(clients)
        assert await network.reachable() == but_for(place, [*one_way, *clients])
        await network.heal()
        assert await network.reachable() == but_for(place, [])
        await network.heal()
        with pytest.raises(ValueError, match="no link from n1 to n9"):
            await network.cut([("n1", "n9")])


async def test_iptables_cuts_where_there_is_no_nft(tmp_path: Path) -> None:
    async with ssh_place(tmp_path, 2) as place:
        await place.up(2)
        for host in place._hosts.values():
            host.firewall = "iptables"
        network = network_of(place)
        cut = [("n2", "n1"), ("n1", "clients"), ("clients", "n2")]
        for link in cut:
            await network.cut([link])
        assert await network.reachable() == but_for(place, cut)
        await network.heal()
        assert await network.reachable() == but_for(place, [])
        assert "LOG_TRIAL" not in await shown(place, "n1", "/usr/sbin/iptables", "-S")


async def test_a_cut_without_effect_is_a_fault_that_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ssh_place(tmp_path, 2) as place:
        await place.up(2)
        monkeypatch.setattr("harness.cluster.ssh.network.set_rules", lambda *_: "true")
        with pytest.raises(FaultMissedError, match="n1 still reaches n2"):
            await network_of(place).cut([("n1", "n2")])


async def test_a_disk_is_full_to_the_last_byte_and_heals(tmp_path: Path) -> None:
    async with ssh_place(tmp_path, 1) as place:
        (host,) = await place.up(1)
        disks = disks_of(place)
        before = await disks.free_bytes("n1")
        await disks.fill("n1")
        assert await disks.free_bytes("n1") == 0
        write = await place.run("n1", ["dd", "if=/dev/zero", f"of={host.data}/more", "bs=64k"])
        assert "No space left" in write.stderr
        await shown(place, "n1", "rm", f"{host.data}/more")
        await disks.heal()
        assert await disks.free_bytes("n1") >= before - (1 << 20)
        for fault in ("slow", "fail", "read-only", "power"):
            assert disks.why_not(fault)


async def test_data_on_the_root_file_system_is_refused_to_faults(tmp_path: Path) -> None:
    async with ssh_place(tmp_path, 1, data_dir="/") as place:
        with pytest.raises(EnvironmentFailure, match="on its root file system"):
            await place.up(1)
    async with ssh_place(tmp_path / "missing", 1, data_dir="/nonexistent") as place:
        with pytest.raises(EnvironmentFailure, match="there is no /nonexistent"):
            await place.up(1)
    async with ssh_place(tmp_path / "other", 1, data_dir=None) as place:
        await place.up(1)
        assert place.disk is None
        assert "data_dir" in (place.why_not("disk") or "")


async def test_the_next_run_ends_what_a_dead_one_has_left(tmp_path: Path) -> None:
    async with ssh_place(tmp_path, 2) as dead:
        await dead.up(2)
        left = await started(dead, "n1", SLEEPS)
        await network_of(dead).cut([("n1", "n2")])
        async with SshPlace(dead._inventory, vantage=dead._vantage) as place:
            await place.up(2)
            assert not await left.is_running()
            assert await network_of(place).reachable() == but_for(place, [])


async def test_nothing_is_left_in_force_or_running(tmp_path: Path) -> None:
    async with ssh_place(tmp_path, 2) as place:
        await place.up(2)
        home = place.hosts[0].home
        await started(place, "n1", SLEEPS)
        await network_of(place).cut([("n2", "n1")])
        await disks_of(place).fill("n2")
        await place.down()
        assert place.hosts == ()
        # From another home: in its own, it would tidy up before it looks.
        hosts = [replace(one, home=f"{tmp_path}/{one.node}") for one in place._inventory.hosts]
        async with SshPlace(Inventory(tuple(hosts), "a look"), vantage=place._vantage) as looking:
            await looking.up(2)
            standing = "for process in /proc/[0-9]*; do readlink $process/cwd; done"
            found = await looking.run("n1", ["sh", "-c", standing])
            assert str(home) not in found.stdout.splitlines()
            assert "log_trial" not in await shown(looking, "n1", "/usr/sbin/nft", "list", "ruleset")
            assert await disks_of(looking).free_bytes("n2") > 0


async def test_a_host_that_shows_another_key_is_not_let_in(tmp_path: Path) -> None:
    strangers = tmp_path / "strangers"
    strangers.touch()
    async with ssh_place(tmp_path, 1, known_hosts=strangers) as place:
        with pytest.raises(EnvironmentFailure, match=r"knows no key of n1 .* try: ssh-keyscan"):
            await place.up(1)
        await place.down()
    strangers.write_text(f"10.78.0.1 ssh-ed25519 {ANOTHER_KEY}\n")
    async with ssh_place(tmp_path / "again", 1, known_hosts=strangers) as place:
        with pytest.raises(NoAnswerError, match=r"n1 did not answer over ssh: Host key"):
            await place.up(1)


async def test_an_unchecked_host_is_held_to_the_key_it_showed_at_first(tmp_path: Path) -> None:
    async with ssh_place(
        tmp_path, 1, known_hosts=Path("/nonexistent"), check_host_key=False
    ) as place:
        await place.up(1)
        assert await shown(place, "n1", "hostname") == "n1"
