"""A small state machine for tests of the shell: notes by name, and one who waits for a note."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

from broker.config.topic import LogConfig
from broker.coordination.shard import Shard, ShardState
from broker.coordination.step import CoordinatorRecord, Now, Reply, Step, Ticket
from broker.coordination.surroundings import ShardSettings, Surroundings
from broker.disk.memory import MemoryDisk
from broker.metadata.partition_info import PartitionInfo
from broker.partition import Partition
from broker.protocol.errors import ErrorCode
from tests.unit.broker.led_partition import LED_HERE, leading
from tests.unit.broker.log.builders import Clock

ALONE = replace(LED_HERE, replicas=(0,), isr=(0,))


@dataclass
class Notes:
    """Implements `coordination.step.Machine`."""

    notes: dict[bytes, bytes] = field(default_factory=dict)
    waiting: dict[Ticket, bytes] = field(default_factory=dict)
    deadline_s: float | None = None
    ticks: list[float] = field(default_factory=list)
    was_loaded: bool = False
    refusals: list[ErrorCode] = field(default_factory=list)

    # What tests ask

    def write(self, ticket: Ticket, name: bytes, text: bytes | None) -> Step:
        return self.write_all(ticket, [CoordinatorRecord(name, text)])

    def write_all(
        self, ticket: Ticket, records: list[CoordinatorRecord], *, is_atomic: bool = True
    ) -> Step:
        return Step(
            records,
            [Reply(ticket, "written")],
            lambda code, now: self._refused(ticket, code),
            is_atomic,
        )

    def _refused(self, ticket: Ticket, code: ErrorCode) -> Step:
        self.refusals.append(code)
        return Step(replies=[Reply(ticket, code)])

    def read(self, ticket: Ticket, name: bytes) -> Step:
        return Step(replies=[Reply(ticket, self.notes.get(name))])

    def wait(self, ticket: Ticket, name: bytes) -> Step:
        """Answered when somebody writes that note."""
        self.waiting[ticket] = name
        return Step()

    # What the shell asks

    def replay(self, record: CoordinatorRecord) -> None:
        if record.value is None:
            self.notes.pop(record.key, None)
        else:
            self.notes[record.key] = record.value

    def loaded(self, now: Now) -> Step:
        self.was_loaded = True
        return Step()

    def tick(self, now: Now) -> Step:
        self.ticks.append(now.loop_s)
        self.deadline_s = None
        return Step([CoordinatorRecord(b"tick", b"%d" % len(self.ticks))], refused=self._tick_again)

    def _tick_again(self, code: ErrorCode, now: Now) -> Step:
        self.refusals.append(code)
        self.deadline_s = now.loop_s
        return Step()

    def tickets(self) -> list[Ticket]:
        return list(self.waiting)


@dataclass
class Stage:
    """One partition and its shards, with the tasks that they start."""

    partition: Partition
    settings: ShardSettings = field(
        default_factory=lambda: ShardSettings(load_buffer_bytes=1 << 20, commit_timeout_s=5.0)
    )
    clock: Clock = field(default_factory=Clock)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))

    def shard(self) -> Shard[Notes]:
        around = Surroundings(self.clock, self.spawn, self.settings)
        return Shard(self.partition, Notes, around)

    async def active_shard(self) -> Shard[Notes]:
        shard = self.shard()
        await until(lambda: shard.state is ShardState.ACTIVE)
        return shard


async def stage(
    info: PartitionInfo = ALONE, disk: MemoryDisk | None = None, **config: Any
) -> Stage:
    partition = await leading(info, directory="__notes-0", disk=disk)
    partition.log.config = replace(LogConfig(), **config)
    partition.reconfigured()
    return Stage(partition)


async def until(condition: Callable[[], bool]) -> None:
    """In virtual time: gives everybody a turn until it is so."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to be so")


def write(shard: Shard[Notes], name: bytes, text: bytes | None) -> asyncio.Future[Any]:
    return shard.ask(lambda machine, ticket, now: machine.write(ticket, name, text))


def read(shard: Shard[Notes], name: bytes) -> asyncio.Future[Any]:
    return shard.ask(lambda machine, ticket, now: machine.read(ticket, name))
