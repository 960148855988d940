"""A log on a disk that fails, beside a model: what the rules of its random lives are made of."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis.stateful import RuleBasedStateMachine

from broker.config.topic import LogConfig
from broker.disk.faults import Faults
from broker.disk.memory import MemoryDisk
from broker.log.breather import Breather
from broker.log.log import Log, Origin
from broker.log.log_directory import LogDirectory
from broker.protocol.compression import Codec
from broker.protocol.errors import ErrorCode, KafkaError
from tests.property.storage_model import Model, Written, check_content, check_producers
from tests.unit.broker.log.builders import Clock, batch, marker

T = TypeVar("T")

PLAIN = -1
IDEMPOTENT = (1, 2)
TRANSACTIONAL = (3, 4)

CONFIG = LogConfig(
    segment_bytes=1500, index_interval_bytes=150, retention_ms=1000, retention_bytes=6000
)
FRAGILE = ("append", "fdatasync", "replace", "create", "delete", "truncate", "warm", "rename")


class StorageLife(RuleBasedStateMachine):
    """Keeps the log and the model in step, through failures and crashes."""

    config = CONFIG

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.disk = MemoryDisk()
        self.clock = Clock()
        self.model: Model = self._new_model()
        self.leader_epoch = 0
        self.serial = 0
        self.lights_out_in = 0
        self.lights_out_seed = 0
        self.is_dark = False
        self.is_cold = False
        self.directory: LogDirectory
        self.log: Log

    # What is another way with a log that is compacted

    def _new_model(self) -> Model:
        return Model()

    async def _check(self) -> None:
        await check_content(self.log, self.model)
        check_producers(self.log, self.model)

    def _remembered(self, producer_id: int) -> list[Written]:
        """The batches that are known for duplicates when they come again."""
        return self.model.window(producer_id)

    def _first_cut(self) -> int:
        """Where a truncation may begin."""
        return self.log.start_offset

    def _content(self, count: int) -> tuple[Sequence[bytes] | None, Sequence[bytes | None]]:
        """Keys and values of the next records."""
        numbers = range(self.serial, self.serial + count)
        return None, [b"%d " % number * (1 + number % 40) for number in numbers]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    # What happens to the disk

    async def _before(self, _operation: str, _path: str) -> None:
        if self.lights_out_in:
            self.lights_out_in -= 1
            if not self.lights_out_in:
                self.is_dark = True
                self.disk.power_loss(Random(self.lights_out_seed))

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Nothing fails while a test looks at the log itself."""
        before, self.disk.before = self.disk.before, None
        faults, self.disk.faults = self.disk.faults, Faults()
        capacity_bytes, self.disk.capacity_bytes = self.disk.capacity_bytes, None
        yield
        self.disk.faults, self.disk.before = faults, before
        self.disk.capacity_bytes = capacity_bytes

    def _new_directory(self) -> LogDirectory:
        return LogDirectory(
            self.disk, "/data", clock=self.clock, random=Random(7), breather=Breather()
        )

    async def _load(self) -> None:
        self.directory = self._new_directory()
        logs = await self.directory.load(lambda _: self.config)
        if logs:
            (self.log,) = logs

    async def _after_crash(self) -> None:
        """Another process finds what is left."""
        self.lights_out_in = 0
        self.is_dark = False
        self.disk.heal()
        self.disk.capacity_bytes = None
        self.log.abandon()
        await self._load()
        self._learn_what_survived()

    def _learn_what_survived(self) -> None:
        """Some prefix, at least the synced one; of a log that begins anew, nothing."""
        model, log = self.model, self.log
        assert model.synced_end <= log.end_offset, "synced records are lost"
        if model.synced_end < log.start_offset and not (log.size_bytes or log.producers.producers):
            # The loss reached below the start: the log began anew there, and knows nobody.
            assert model.start_low <= log.start_offset <= model.start_high
            model.clear(log.start_offset)
        assert log.end_offset <= model.end
        model.cut(log.end_offset)
        assert model.start_low <= log.start_offset <= model.start_high
        model.start_low = model.start_high = log.start_offset
        model.synced_end = model.end  # a start ends with a sync

    async def _survive(self, work: Coroutine[Any, Any, T]) -> T | None:
        """None when the disk failed: then the log is offline, or the machine is dark."""
        try:
            return await work
        except OSError:
            return None
        except KafkaError as problem:
            if problem.code is not ErrorCode.KAFKA_STORAGE_ERROR or not self._is_refusing():
                raise
            return None

    def _is_refusing(self) -> bool:
        return self.log.failure is not None or self.log.no_room is not None

    async def _recover_if_needed(self) -> None:
        if self.is_dark:
            await self._after_crash()
        elif self.log.failure is not None:
            await self._come_back()
        elif self.log.no_room is not None:
            await self._find_room()

    async def _find_room(self) -> None:
        """A full disk can be read, and takes records again when something was deleted."""
        self.disk.heal()
        self.disk.capacity_bytes = None
        assert not self.log.can_append(1)
        await self._survive(self.log.roll())
        if self.is_dark:
            await self._after_crash()
            return
        assert self.log.no_room is None
        assert self.log.end_offset <= self.model.end
        self.model.cut(self.log.end_offset)

    async def _come_back(self) -> None:
        """The disk works again: everything that was acknowledged is still there."""
        with pytest.raises(KafkaError) as refused:
            self.log.can_append(1)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        self.disk.heal()
        self.disk.capacity_bytes = None
        try:
            await self.log.reopen(Breather())
        except OSError:
            assert self.is_dark
            await self._after_crash()
            return
        self._learn_what_survived()

    def act(self, work: Coroutine[Any, Any, T]) -> T | None:
        async def steps() -> T | None:
            result = await self._survive(work)
            dark, failed = self.is_dark, self._is_refusing()
            await self._recover_if_needed()
            return None if dark or failed else result

        return self.run(steps())

    def _get_over_faults(self) -> None:
        """What runs behind the scenes may have met one after the last act."""
        while self.is_dark or self._is_refusing():
            self.act(asyncio.sleep(0))

    # What is done to the log

    async def _append(self, records: memoryview, origin: Origin = Origin.CLIENT) -> int:
        while not self.log.can_append(len(records)):
            await self.log.roll()
        answer = self.log.append(records, leader_epoch=self.leader_epoch, origin=origin)
        assert not answer.duplicate
        assert answer.base_offset == self.model.end
        self.model.add(bytes(records))
        return answer.base_offset

    def _batch(self, producer_id: int, count: int, codec: int) -> memoryview:
        keys, values = self._content(count)
        self.serial += count
        self.clock.time_ms += self.serial % 3
        sequence = -1
        if producer_id >= 0:
            producer = self.model.table().producers.get(producer_id)
            sequence = producer.last_sequence + 1 if producer else 0
        return batch(
            *values,
            keys=keys,
            codec=codec,
            time_ms=self.clock.time_ms - self.serial % 7,
            producer_id=producer_id,
            epoch=0 if producer_id >= 0 else -1,
            sequence=sequence,
            transactional=producer_id in TRANSACTIONAL,
        )

    async def _write_much(self, seed: int, count: int) -> None:
        random = Random(seed)
        for _ in range(count):
            producer_id = random.choice((PLAIN, *IDEMPOTENT, *TRANSACTIONAL))
            if producer_id in TRANSACTIONAL and random.random() < 0.3:
                end = marker(producer_id, committed=random.random() < 0.5)
                await self._append(end, Origin.COORDINATOR)
            else:
                codec = random.choice(list(Codec))
                await self._append(self._batch(producer_id, random.randint(1, 5), codec))

    async def _truncate(self, back: int) -> None:
        first = self._first_cut()
        bases = [written.header.base_offset for written in self.model.batches]
        boundaries = [base for base in bases if base >= first]
        if not boundaries:
            return
        target = boundaries[max(-1 - back, -len(boundaries))]
        self.model.synced_end = min(self.model.synced_end, target)
        await self.log.truncate_to(target)
        self.model.cut(target)
