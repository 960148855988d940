"""K02: compaction on one replica must not hide deletions from another one that was away."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.cleaner import Cleaner, no_limit
from broker.log.log import Log
from tests.unit.broker.log.builders import Clock, read_all
from tests.unit.broker.log.compacting import (
    COMPACT,
    DAY_MS,
    end,
    open_compacted,
    settle,
    state,
    write,
)


@dataclass
class Replica:
    log: Log
    cleaner: Cleaner = field(default_factory=lambda: Cleaner(MemoryDisk()))

    async def fetch(self, leader: Replica) -> None:
        """All that the leader has beyond the end of this log."""
        for header, batch in await read_all(leader.log):
            if header.base_offset >= self.log.end_offset:
                self.log.append_replicated(memoryview(bytearray(batch)))
        self.log.advance_high_watermark(leader.log.high_watermark)


EAGER = replace(COMPACT, min_cleanable_dirty_ratio=0.0)


async def replicas(clock: Clock) -> tuple[Replica, Replica]:
    return (
        Replica(await open_compacted(MemoryDisk(), clock, config=EAGER)),
        Replica(await open_compacted(MemoryDisk(), clock, config=EAGER)),
    )


async def clean(leader: Replica, other: Replica, clock: Clock, *, waits: bool) -> None:
    """Until everything is gone that may go: each pass needs some dirt of its own."""

    async def both(log: Log) -> int:
        return min(each.cleaner.cleaned_to(each.log) for each in (leader, other))

    for number in range(4):
        write(leader.log, (b"dirt", b"%d" % number))
        await settle(leader.log)
        done = await leader.cleaner.compact_the_dirtiest([leader.log], both if waits else no_limit)
        assert done is not None
        clock.time_ms += 2 * DAY_MS


@pytest.mark.parametrize(("waits", "comes_back"), [(True, False), (False, True)])
async def test_a_deleted_key_does_not_come_back_with_a_replica_that_was_down(
    waits: bool, comes_back: bool
) -> None:
    clock = Clock()
    leader, other = await replicas(clock)
    write(leader.log, (b"k", b"1"))
    await other.fetch(leader)
    write(leader.log, (b"k", None))  # while the other one is down
    await clean(leader, other, clock, waits=waits)
    await other.fetch(leader)
    other.log.advance_high_watermark(other.log.end_offset)
    assert (b"k" in await state(other.log)) is comes_back
    assert b"k" not in await state(leader.log)


@pytest.mark.parametrize(("waits", "comes_back"), [(True, False), (False, True)])
async def test_an_aborted_record_does_not_come_back_with_a_replica_that_was_down(
    waits: bool, comes_back: bool
) -> None:
    clock = Clock()
    leader, other = await replicas(clock)
    write(leader.log, (b"k", b"1"), producer_id=7, sequence=0, transactional=True)
    await other.fetch(leader)
    end(leader.log, 7, committed=False)
    # A later batch of the producer: otherwise the marker is kept for its epoch.
    write(leader.log, (b"other", b"1"), producer_id=7, sequence=1, transactional=True)
    end(leader.log, 7, committed=True)
    await clean(leader, other, clock, waits=waits)
    await other.fetch(leader)
    other.log.advance_high_watermark(other.log.end_offset)
    assert (b"k" in await state(other.log)) is comes_back
    assert b"k" not in await state(leader.log)


async def test_a_tombstone_goes_when_both_have_been_compacted() -> None:
    clock = Clock()
    leader, other = await replicas(clock)
    write(leader.log, (b"k", b"1"))
    write(leader.log, (b"k", None))
    await settle(leader.log)
    await other.fetch(leader)
    await clean(leader, other, clock, waits=True)
    assert any(header.base_offset == 1 for header, _ in await read_all(leader.log))
    await settle(other.log)
    assert await other.cleaner.compact_the_dirtiest([other.log]) is not None
    await clean(leader, other, clock, waits=True)
    assert not any(header.base_offset == 1 for header, _ in await read_all(leader.log))
