"""Disks of hosts: filled, slowed, broken, without power; and healed."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from harness.cluster.capabilities import DISK_FAULTS
from harness.cluster.errors import FaultMissedError, NoAnswerError
from harness.cluster.netns.loop_disk import LoopDisk
from harness.cluster.netns.machine import Machine
from harness.errors import EnvironmentFailure
from tests.netns.places import disks_of, hosts, network_of, shown, started, until_it_says
from tests.netns.test_links import ECHOES

WRITES_HALF_OF_IT_DURABLY = """
import os, time
log = open("data/log", "wb", 0)
log.write(b"A" * 5000)
os.fsync(log.fileno())
os.fsync(os.open("data", os.O_RDONLY))
log.write(b"B" * 5000)
open("data/unsynced", "wb").write(b"C" * 100)
print("written", flush=True)
time.sleep(600)
"""

APPENDS = """
import os, time
log = open("data/log", "ab", 0)
print("up", flush=True)
while True:
    try:
        log.write(b"x" * 1000)
        time.sleep(0.005)
    except OSError as error:
        print(error, flush=True)
        time.sleep(600)
"""


async def test_several_who_restore_power_at_once_find_one_host(tmp_path: Path) -> None:
    """Two who boot one host would hold half of it each, and block the loop for ever."""
    async with asyncio.timeout(60), hosts(tmp_path, 1) as place:
        disks = disks_of(place)
        for _ in range(2):
            await asyncio.gather(disks.lose_power("n1"), disks.heal())
            await asyncio.gather(disks.restore_power("n1"), disks.heal(), disks.restore_power("n1"))
            assert await shown(place, "n1", "hostname") == "n1"
            assert ("n1", "clients") in await network_of(place).reachable()


async def test_healing_leaves_a_host_off_that_is_to_stay_so(tmp_path: Path) -> None:
    async with hosts(tmp_path, 2) as place:
        disks = disks_of(place)
        await disks.lose_power("n1")
        await disks.fill("n2")
        await disks.heal(but=["n1"])
        assert await disks.free_bytes("n2")
        with pytest.raises(NoAnswerError, match="n1 is off"):
            await place.run("n1", ["true"])
        await disks.heal()
        assert await shown(place, "n1", "hostname") == "n1"


async def test_a_loss_of_power_takes_what_was_not_synced_and_nothing_else(tmp_path: Path) -> None:
    async with hosts(tmp_path, 2) as place:
        disks = disks_of(place)
        process = await started(place, "n1", WRITES_HALF_OF_IT_DURABLY)
        await disks.lose_power("n1")
        assert not await process.is_running()
        assert await process.wait() == -9
        with pytest.raises(NoAnswerError, match="n1 is off"):
            await place.run("n1", ["true"])
        assert ("n2", "n1") not in await network_of(place).reachable()
        await disks.restore_power("n1")
        await disks.restore_power("n1")
        assert await shown(place, "n1", "ls", "data") == "log\nlost+found"
        assert await shown(place, "n1", "sh", "-c", "wc -c <data/log") == "5000"
        assert ("n2", "n1") in await network_of(place).reachable()


async def test_a_host_has_a_boot_id_of_its_own_and_another_after_a_loss_of_power(
    tmp_path: Path,
) -> None:
    """By it a broker knows whether it was killed, or lost what it had not synced."""
    boot_id = ["cat", "/proc/sys/kernel/random/boot_id"]
    machine = await asyncio.to_thread(Path(boot_id[1]).read_text)
    async with hosts(tmp_path, 2) as place:
        first, other = await shown(place, "n1", *boot_id), await shown(place, "n2", *boot_id)
        assert first == await shown(place, "n1", *boot_id)
        await disks_of(place).lose_power("n1")
        await disks_of(place).restore_power("n1")
        second = await shown(place, "n1", *boot_id)
        assert len({first, other, second, machine.strip()}) == 4
        assert other == await shown(place, "n2", *boot_id)


async def test_a_kill_takes_nothing(tmp_path: Path) -> None:
    """Which is why a loss of power is worth the trouble."""
    async with hosts(tmp_path, 1) as place:
        process = await started(place, "n1", WRITES_HALF_OF_IT_DURABLY)
        await process.kill()
        assert await shown(place, "n1", "sh", "-c", "wc -c <data/log") == "10000"


async def test_nobody_hears_a_farewell_of_a_host_that_loses_power(tmp_path: Path) -> None:
    async with hosts(tmp_path, 1) as place:
        await started(place, "n1", ECHOES)
        address = (place.hosts[0].address, 9092)
        connection = await place.ask(lambda: socket.create_connection(address, 5))
        with connection:
            await disks_of(place).lose_power("n1")
            connection.settimeout(0.2)
            with pytest.raises(TimeoutError):
                connection.recv(100)
            await disks_of(place).restore_power("n1")
            # The host has forgotten it, and says so as soon as it is spoken to.
            connection.settimeout(20)
            connection.sendall(b"?")
            with pytest.raises(ConnectionResetError):
                await place.ask(lambda: connection.recv(100))


async def test_a_power_loss_that_loses_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hosts(tmp_path, 1) as place:
        monkeypatch.setattr("fcntl.ioctl", lambda *_: 0)
        with pytest.raises(FaultMissedError, match="still takes writes"):
            await disks_of(place).lose_power("n1")
        monkeypatch.undo()
        await disks_of(place).heal()
        assert await shown(place, "n1", "hostname") == "n1"


async def test_a_host_that_does_not_come_back_may_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hosts(tmp_path, 1) as place:
        await disks_of(place).lose_power("n1")
        monkeypatch.setattr(Machine, "go", Machine.end)
        with pytest.raises(EnvironmentFailure, match="n1"):
            await disks_of(place).restore_power("n1")
        monkeypatch.undo()
        await disks_of(place).restore_power("n1")
        assert await shown(place, "n1", "hostname") == "n1"


async def test_a_full_disk_takes_no_byte_more(tmp_path: Path) -> None:
    async with hosts(tmp_path, 2) as place:
        disks = disks_of(place)
        process = await started(place, "n1", APPENDS)
        await disks.fill("n1")
        assert await disks.free_bytes("n1") == 0
        await until_it_says(process, "No space left on device")
        assert await disks.free_bytes("n2") > 0
        await disks.heal()
        assert await disks.free_bytes("n1") > 0
        await shown(place, "n1", "sh", "-c", "head -c 1000000 /dev/zero >data/again")


@pytest.mark.parametrize(
    ("fault", "error"),
    [("make_read_only", "Read-only file system"), ("fail", "Input/output error")],
)
async def test_a_broken_disk_is_told_to_whoever_has_it_open(
    tmp_path: Path, fault: str, error: str
) -> None:
    async with hosts(tmp_path, 1) as place:
        disks = disks_of(place)
        process = await started(place, "n1", APPENDS)
        await shown(place, "n1", "sh", "-c", "echo before >data/before")
        await getattr(disks, fault)("n1")
        await until_it_says(process, error)
        refused = await place.run("n1", ["touch", "data/new"])
        assert error in refused.stderr
        await disks.heal()
        await shown(place, "n1", "touch", "data/new")
        # No sync was asked for, and yet it is there: nothing was lost by the fault itself.
        assert await shown(place, "n1", "cat", "data/before") == "before"
        await disks.heal()


async def test_a_slow_disk_slows_those_who_wait_for_it(tmp_path: Path) -> None:
    async with hosts(tmp_path, 1) as place:
        disks = disks_of(place)
        await disks.slow("n1", 0.1)
        await disks.heal()
        # Had it not been slow, that would have been told; were it still slow, this would take 90 s.
        sync = "dd if=/dev/zero of=data/s bs=4k count=900 oflag=dsync"
        assert (await place.run("n1", sync.split(), within_s=60)).exit_code == 0


async def test_a_fault_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hosts(tmp_path, 1) as place:
        monkeypatch.setattr(LoopDisk, "report_an_error", lambda _: None)
        with pytest.raises(FaultMissedError, match="n1 still writes"):
            await disks_of(place).make_read_only("n1")
        monkeypatch.setattr("os.posix_fallocate", lambda *_: _refuse())
        with pytest.raises(FaultMissedError, match="n1 still has"):
            await disks_of(place).fill("n1")


def _refuse() -> None:
    raise OSError(28, "no")


async def test_every_fault_can_be_had_here(tmp_path: Path) -> None:
    async with hosts(tmp_path, 1) as place:
        disks = disks_of(place)
        assert [fault for fault in DISK_FAULTS if disks.why_not(fault)] == []
        await disks.heal()
        await disks.lose_power("n1")
        with pytest.raises(EnvironmentFailure, match="n1 is off"):
            await disks.fill("n1")
        await disks.heal()
        assert await shown(place, "n1", "hostname") == "n1"
