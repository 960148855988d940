"""One log directory: what its logs' troubles do to it, and what it does unasked."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from random import Random

import pytest

from broker.config.topic import LogConfig
from broker.disk.files import FileDisk
from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk
from broker.log import identity
from broker.log.breather import Breather
from broker.log.broker_life import Life
from broker.log.log_directory import LogDirectory
from broker.log.side_by_side import AT_ONCE
from broker.protocol.errors import ErrorCode, KafkaError
from tests.open_descriptors import settle
from tests.unit.broker.log.builders import Clock, append, batch


def unloaded(disk: Disk, clock: Clock | None = None) -> LogDirectory:
    return LogDirectory(
        disk, "/data", clock=clock or Clock(), random=Random(7), breather=Breather()
    )


async def loaded(disk: Disk, clock: Clock | None = None, boot_id: str = "") -> LogDirectory:
    await identity.write_identity(
        disk, identity.Identity(cluster_id="c", node_id=1, directory_id="d")
    )
    directory = unloaded(disk, clock)
    await directory.load(lambda _: LogConfig(), boot_id=boot_id)
    return directory


async def test_a_failure_is_forgotten_when_the_last_log_is_back(memory: MemoryDisk) -> None:
    directory = await loaded(memory)
    logs = [await directory.create(name, 0, bytes(16), LogConfig()) for name in ("a", "b")]
    memory.fail("append", error=errno.EIO, times=1)
    with pytest.raises(KafkaError):
        append(logs[0], batch())
    assert directory.failure is not None
    await logs[0].reopen(Breather())
    assert directory.failure is not None
    await logs[1].reopen(Breather())
    assert directory.failure is None
    assert not directory.is_offline
    await directory.close()


async def test_a_full_disk_takes_no_log_offline(memory: MemoryDisk) -> None:
    directory = await loaded(memory)
    logs = [await directory.create(name, 0, bytes(16), LogConfig()) for name in ("a", "b")]
    memory.fail("append", "a-0/*", error=errno.ENOSPC)
    with pytest.raises(KafkaError):
        append(logs[0], batch())
    append(logs[1], batch())
    assert directory.failure is None
    assert [log.failure for log in logs] == [None, None]
    await directory.close()


async def test_flush_ms_does_not_mind_a_clock_that_is_set_back(memory: MemoryDisk) -> None:
    clock = Clock()
    directory = await loaded(memory, clock)
    log = await directory.create("a", 0, bytes(16), LogConfig(flush_ms=1))
    clock.time_ms -= 3_600_000
    append(log, batch())
    log.last_flush_ms -= 10
    await directory.flush_what_is_due()
    assert log.recovery_point == 1
    await directory.close()


async def test_a_retired_log_is_not_known_any_more(memory: MemoryDisk) -> None:
    directory = await loaded(memory)
    log = await directory.create("a", 0, bytes(16), LogConfig())
    append(log, batch())
    log.failure = OSError(errno.EIO, "another log of the directory met it")
    coming_back = asyncio.create_task(log.reopen(Breather()))
    await directory.retire(log)
    with pytest.raises(KafkaError) as refused:
        await coming_back
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(KafkaError) as refused:
        await log.roll()
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await directory.sweep()
    assert [name for name in await memory.list("") if name.startswith("a-0")] == []


async def left_by_a_life(disk: MemoryDisk) -> LogDirectory:
    """With one log that holds a record, flushed and checkpointed."""
    directory = await loaded(disk)
    await directory.note_life(7, "monday")
    log = await directory.create("a", 0, bytes(16), LogConfig())
    append(log, batch())
    await log.flush()
    await directory.checkpoint()
    return directory


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("what", ["a-0/00000000000000000000.log", "a-0"])
async def test_a_life_that_lost_what_was_flushed_does_not_vouch_for_it(
    memory: MemoryDisk, is_clean: bool, what: str
) -> None:
    directory = await left_by_a_life(memory)
    if is_clean:
        await directory.close(7)
    else:
        memory.process_crash()
    await (memory.delete_directory(what) if what == "a-0" else memory.replace(what, b""))
    assert (await loaded(memory, boot_id="monday")).last_life == Life(7, is_unharmed=False)
    # Also not to a later start, when the checkpoints have forgotten it.
    memory.process_crash()
    assert (await loaded(memory, boot_id="monday")).last_life == Life(7, is_unharmed=False)


@pytest.mark.parametrize("is_swept", [False, True])
async def test_a_log_that_was_deleted_is_not_missed(memory: MemoryDisk, is_swept: bool) -> None:
    directory = await left_by_a_life(memory)
    await directory.retire(directory.logs[0])
    if is_swept:
        await directory.sweep()
    memory.process_crash()
    assert (await loaded(memory, boot_id="monday")).last_life == Life(7, is_unharmed=True)


async def test_a_killed_life_that_lost_nothing_vouches_for_everything(memory: MemoryDisk) -> None:
    await left_by_a_life(memory)
    memory.process_crash()
    assert (await loaded(memory, boot_id="monday")).last_life == Life(7, is_unharmed=True)


async def test_nothing_is_swept_in_a_directory_that_could_not_be_loaded(
    memory: MemoryDisk,
) -> None:
    directory = await left_by_a_life(memory)
    await directory.create("b", 0, bytes(16), LogConfig())
    await directory.retire(directory.logs[0])
    memory.process_crash()
    memory.fail("open", "b-0/*")
    directory = unloaded(memory)
    with pytest.raises(OSError, match="Input/output"):
        await directory.load(lambda _: LogConfig(), boot_id="monday")
    await directory.sweep()
    memory.heal()
    # The checkpoint still names what was deleted: without its directory it would be missed.
    assert (await loaded(memory, boot_id="monday")).last_life == Life(7, is_unharmed=True)


async def test_a_sweep_waits_for_the_checkpoint_that_forgets_what_it_deletes(
    memory: MemoryDisk,
) -> None:
    directory = await left_by_a_life(memory)
    await directory.retire(directory.logs[0])
    memory.slow("replace", "recovery-point*", seconds=0.05)
    writing = asyncio.create_task(directory.checkpoint())
    await asyncio.sleep(0.01)
    sweeping = asyncio.create_task(directory.sweep())
    await asyncio.sleep(0.02)
    writing.cancel()
    sweeping.cancel()
    await asyncio.gather(writing, sweeping, return_exceptions=True)
    memory.process_crash()
    memory.heal()
    assert (await loaded(memory, boot_id="monday")).last_life == Life(7, is_unharmed=True)


async def test_a_load_that_fails_leaves_no_file_open(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path))
    directory = await loaded(disk)
    for index in range(2 * AT_ONCE):
        await directory.create("a", index, bytes(16), LogConfig())
    await directory.close()
    last = max(name for name in await disk.list("") if name.startswith("a-"))
    segment = tmp_path / last / "00000000000000000000.log"
    segment.unlink()
    segment.mkdir()
    (segment / "something").touch()
    directory = unloaded(disk)
    await settle(tmp_path)
    # Whoever goes on without the directory keeps the problem, with all that its frames hold.
    with pytest.raises(OSError, match="Is a directory") as kept:
        await directory.load(lambda _: LogConfig())
    assert kept.tb is not None
    await settle(tmp_path)
    await disk.close()
