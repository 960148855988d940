"""What can happen to a log, as the rules of a state machine."""

from __future__ import annotations

import asyncio
import errno
from random import Random

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from broker.log import identity
from broker.log.log import Origin
from broker.protocol.compression import Codec
from broker.protocol.errors import ErrorCode, KafkaError
from tests.property.storage_life import (
    FRAGILE,
    IDEMPOTENT,
    PLAIN,
    TRANSACTIONAL,
    StorageLife,
)
from tests.unit.broker.log.builders import batch, marker


class StorageMachine(StorageLife):
    @initialize()
    def begin(self) -> None:
        async def steps() -> None:
            await identity.write_identity(
                self.disk, identity.Identity(cluster_id="c", node_id=1, directory_id="d")
            )
            await self._load()
            self.log = await self.directory.create("orders", 0, bytes(16), self.config)
            # A topic exists once its directory is durable; the first flush makes it so.
            await self.log.flush()
            await self.directory.checkpoint()

        self.run(steps())
        self.disk.before = self._before

    @rule(
        producer_id=st.sampled_from((PLAIN, *IDEMPOTENT, *TRANSACTIONAL)),
        count=st.integers(1, 5),
        codec=st.sampled_from(list(Codec)),
    )
    def append(self, producer_id: int, count: int, codec: int) -> None:
        self.act(self._append(self._batch(producer_id, count, codec)))

    @rule(seed=st.integers(0, 1 << 16), count=st.integers(4, 25))
    def write_much(self, seed: int, count: int) -> None:
        self.act(self._write_much(seed, count))

    @rule(seed=st.integers(0, 1 << 16), count=st.integers(2, 12), synced=st.booleans())
    def write_much_and_lose_power(self, seed: int, count: int, synced: bool) -> None:
        self.act(self._write_much(seed, count))
        if synced:
            self.flush()
            self.act(self._write_much(seed + 1, count))
        self.disk.power_loss(Random(seed))
        self.run(self._after_crash())

    @rule(seed=st.integers(0, 1 << 16))
    def delete_records_and_lose_power(self, seed: int) -> None:
        self.log.advance_high_watermark(self.log.end_offset)
        self.delete_records((seed % 5) / 4)
        self.disk.power_loss(Random(seed))
        self.run(self._after_crash())

    @rule(producer_id=st.sampled_from(IDEMPOTENT), back=st.integers(0, 4))
    def append_again(self, producer_id: int, back: int) -> None:
        window = self._remembered(producer_id)
        if back >= len(window):
            return
        written = window[back]
        again = bytearray(written.data)
        again[0:8] = bytes(8)
        answer = self.log.append(
            memoryview(again), leader_epoch=self.leader_epoch, origin=Origin.CLIENT
        )
        assert answer.duplicate
        assert answer.base_offset == written.header.base_offset
        assert answer.last_offset == written.header.last_offset

    @rule(producer_id=st.sampled_from(IDEMPOTENT), gap=st.integers(1, 3))
    def append_out_of_order(self, producer_id: int, gap: int) -> None:
        producer = self.model.table().producers.get(producer_id)
        if producer is None:
            return
        records = batch(producer_id=producer_id, epoch=0, sequence=producer.last_sequence + 1 + gap)
        with pytest.raises(KafkaError) as refused:
            self.log.append(records, leader_epoch=self.leader_epoch, origin=Origin.CLIENT)
        assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    @rule(producer_id=st.sampled_from(TRANSACTIONAL), committed=st.booleans())
    def end_transaction(self, producer_id: int, committed: bool) -> None:
        self.act(self._append(marker(producer_id, committed=committed), Origin.COORDINATOR))

    @rule(damage=st.integers(0, 200))
    def append_damaged(self, damage: int) -> None:
        records = bytearray(self._batch(PLAIN, 2, Codec.NONE))
        records[17 + damage % (len(records) - 17)] ^= 1
        with pytest.raises(KafkaError):
            self.log.append(
                memoryview(records), leader_epoch=self.leader_epoch, origin=Origin.CLIENT
            )

    @rule()
    def raise_leader_epoch(self) -> None:
        self.leader_epoch += 1
        self.act(self.log.assign_leader_epoch(self.leader_epoch))

    @rule()
    def roll(self) -> None:
        self.act(self.log.roll())

    @rule()
    def flush(self) -> None:
        async def steps() -> None:
            end = self.log.end_offset
            await self.log.flush()
            assert self.log.recovery_point == end
            if not self.is_dark:
                self.model.synced_end = end

        self.act(steps())

    @rule(times=st.integers(1, 30))
    def let_time_pass(self, times: int) -> None:
        async def steps() -> None:
            for _ in range(times):
                await asyncio.sleep(0)

        self.act(steps())

    @rule(share=st.floats(0, 1))
    def advance_high_watermark(self, share: float) -> None:
        low, high = self.log.high_watermark, self.log.end_offset
        self.log.advance_high_watermark(low + round((high - low) * share))

    @rule()
    def checkpoint(self) -> None:
        self.act(self.directory.checkpoint())

    @rule(elapsed_ms=st.sampled_from((0, 500, 5000)))
    def apply_retention(self, elapsed_ms: int) -> None:
        self.clock.time_ms += elapsed_ms
        before = self.log.start_offset
        self.model.start_high = max(before, self.log.high_watermark)
        if self.act(self.log.apply_retention()) is not None:
            assert before <= self.log.start_offset <= self.log.high_watermark
            # Nobody was promised more than what is gone.
            self.model.start_low = max(self.model.start_low, self.log.segments[0].base_offset)
            self.model.start_high = self.log.start_offset

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        low, high = self.log.start_offset, self.log.high_watermark
        target = low + round((high - low) * share)
        self.model.start_high = target
        if self.act(self.log.delete_records(target)) is not None:
            assert self.log.start_offset == target
            self.model.start_low = self.model.start_high = target

    @rule(back=st.integers(0, 8))
    def truncate(self, back: int) -> None:
        self.act(self._truncate(back))

    # Stops and starts

    @rule()
    def stop_and_start(self) -> None:
        """A stop may fail half-way; the next start does not mind."""

        async def close() -> bool:
            await self.directory.close()
            return self.log.failure is None

        async def steps() -> None:
            end = self.log.end_offset
            is_clean = await self._survive(close())
            if self.is_dark:
                await self._after_crash()
                return
            if is_clean:
                self.model.synced_end = end
            self.disk.process_crash()
            await self._after_crash()
            assert self.log.end_offset == end

        self.run(steps())

    @rule()
    def crash_of_the_process(self) -> None:
        end = self.log.end_offset
        self.disk.process_crash()
        self.run(self._after_crash())
        assert self.log.end_offset == end, "the machine did not lose power"

    @rule(seed=st.none() | st.integers(0, 1 << 16))
    def power_loss(self, seed: int | None) -> None:
        self.disk.power_loss(None if seed is None else Random(seed))
        self.run(self._after_crash())

    @rule(points=st.integers(1, 25), seed=st.integers(0, 1 << 16))
    def lights_will_go_out(self, points: int, seed: int) -> None:
        self.lights_out_in, self.lights_out_seed = points, seed

    @rule(operation=st.sampled_from(FRAGILE), error=st.sampled_from((errno.EIO, errno.ENOSPC)))
    def disk_will_fail(self, operation: str, error: int) -> None:
        self.disk.fail(operation, "orders-0/*", error=error, times=1)

    @rule(room=st.integers(0, 400))
    def disk_becomes_full(self, room: int) -> None:
        self.disk.capacity_bytes = self.disk._used_bytes() + room

    @rule()
    def cache_is_dropped(self) -> None:
        """For good: after every step."""
        self.is_cold = True
        self.disk.chill()

    @invariant()
    def everything_holds(self) -> None:
        if not hasattr(self, "log"):
            return
        self._get_over_faults()
        assert not self.disk.blocking_reads, "a cold read would have stopped the loop"
        with self._undisturbed():
            self.run(self._check())
        if self.is_cold:
            self.disk.chill()

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.abandon()
            self.run(asyncio.sleep(0))
        self.loop.close()
