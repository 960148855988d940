"""The file of the leader epochs: behind only as long as somebody knows that it is."""

from __future__ import annotations

import asyncio
import errno

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.epochs import EpochStart
from broker.protocol.errors import KafkaError
from tests.unit.broker.log.builders import append, batch, open_log, reopened


async def test_epochs_whose_write_failed_are_written_by_the_next_one(
    memory: MemoryDisk,
) -> None:
    log = await open_log(memory)
    append(log, batch(), leader_epoch=5)
    memory.fail("replace", "*epoch*", error=errno.ENOSPC, times=1)
    with pytest.raises(KafkaError):
        await log.flush()
    log.no_room = None
    await log.close()
    log = await reopened(log)
    assert log.epochs.entries == (EpochStart(5, 0),)
    await log.close()


async def test_an_epoch_that_begins_while_the_file_is_written_is_not_lost(
    memory: MemoryDisk,
) -> None:
    log = await open_log(memory)
    append(log, batch(), leader_epoch=5)

    async def begin_another(operation: str, path: str) -> None:
        if operation == "fdatasync" and "epoch" in path:
            memory.before = None
            append(log, batch(), leader_epoch=6)

    memory.before = begin_another
    await log.flush()
    assert log.epochs.changed
    await log.close()
    log = await reopened(log)
    assert log.epochs.entries == (EpochStart(5, 0), EpochStart(6, 1))
    await log.close()


async def test_the_running_epoch_ends_at_the_end_of_the_log_without_a_write(
    memory: MemoryDisk,
) -> None:
    log = await open_log(memory)
    append(log, batch(), leader_epoch=5)
    await log.flush()
    operations: list[str] = []

    async def note(operation: str, _path: str) -> None:
        operations.append(operation)
        await asyncio.sleep(0)

    memory.before = note
    await log.assign_leader_epoch(8)
    assert operations == []
    assert log.end_offset_for_epoch(8) == (8, 1)
    assert log.end_offset_for_epoch(5) == (5, 1)
    await log.close()
