"""Random lives of a compacted log: of what was synced, only what later records replaced is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from broker.config.topic import LogConfig
from broker.log.cleaner import Cleaner
from broker.log.compaction import Compacted
from broker.log.log_directory import LogDirectory
from tests.property.compacted_model import (
    CompactedModel,
    Pass,
    batches_of,
    check_producers,
    check_table,
)
from tests.property.storage_model import Written, aborted_in, check_content
from tests.property.storage_rules import StorageMachine

KEYS = (*(b"%d" % number for number in range(19)), b"one that is longer than sixteen bytes")
MAX_KEYS = 15
"""Fewer than there are: some passes stop before they have seen all."""

CONFIG = LogConfig(
    segment_bytes=1500,
    index_interval_bytes=150,
    cleanup_compact=True,
    cleanup_delete=False,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=2000,
)
ELAPSED_MS = st.sampled_from((0, 500, 3000))


class CompactedStorageMachine(StorageMachine):
    """All that happens to other logs, and compaction at any time."""

    config = CONFIG

    def _new_model(self) -> CompactedModel:
        return CompactedModel()

    @property
    def compacted(self) -> CompactedModel:
        assert isinstance(self.model, CompactedModel)
        return self.model

    def _new_directory(self) -> LogDirectory:
        directory = super()._new_directory()
        directory.cleaner = Cleaner(self.disk, max_keys=MAX_KEYS)
        return directory

    def _content(self, count: int) -> tuple[Sequence[bytes], Sequence[bytes | None]]:
        dice = Random(self.serial)
        keys = [dice.choice(KEYS) for _ in range(count)]
        numbers = range(self.serial, self.serial + count)
        return keys, [
            None if dice.random() < 0.25 else b"%d " % number * (1 + number % 40)
            for number in numbers
        ]

    def _remembered(self, producer_id: int) -> list[Written]:
        known = self.log.producers.producers.get(producer_id)
        last_offsets = [batch.last_offset for batch in known.window] if known else []
        window = self.model.window(producer_id)
        return [written for written in window if written.header.last_offset in last_offsets]

    def _first_cut(self) -> int:
        """What was replicated when it was compacted is never truncated: no leader lacks it."""
        return max(self.log.start_offset, self.compacted.relied_on)

    async def _check(self) -> None:
        await check_content(self.log, self.model)
        check_producers(self.log, self.compacted)
        check_table(self.log, self.compacted)
        assert not self.directory.cleaner.uncleanable
        names = await self.disk.list(self.log.directory)
        assert not [name for name in names if name.endswith(".swap")]

    # A pass

    def _new_reach(self) -> int:
        """Where sealed segments end, before anything undecided or not replicated."""
        log = self.log
        reach = log.segments[0].base_offset
        for segment, following in pairwise(log.segments):
            if not segment.sealed or following.base_offset > log.last_stable_offset:
                break
            reach = following.base_offset
        return reach

    def _compact(self, beside: Coroutine[Any, Any, None] | None = None) -> None:
        """While it runs, something else may happen to the log. Whatever it comes to is judged."""
        model = self.compacted
        now_ms = self.clock.time_ms
        reach = 0

        async def one_pass() -> Compacted | None:
            nonlocal reach
            reach = self._new_reach()
            model.reach = max(model.reach, reach)
            model.relied_on = max(model.relied_on, self.log.high_watermark)
            model.synced_end = max(model.synced_end, reach)
            return await self.directory.compact_the_dirtiest()

        async def steps() -> Compacted | None:
            works = [self._survive(one_pass())]
            if beside is not None:
                works.append(self._survive(beside))
            return (await asyncio.gather(*works))[0]

        result = self.act(steps())
        self._get_over_faults()
        with self._undisturbed():
            found = self.run(batches_of(self.log))
        first = self.log.segments[0].base_offset
        before = [written for written in model.left if written.header.base_offset >= first]
        aborted = aborted_in(model)
        step = Pass(reach=reach, now_ms=now_ms, delete_retention_ms=CONFIG.delete_retention_ms)
        step.check(before, found, aborted)
        if result is not None and result.is_complete:
            assert result.cleaned_to <= reach
            whole = replace(step, reach=result.cleaned_to)
            whole.check_thorough(before, found, aborted, self.log.start_offset)
        earlier = [written for written in model.left if written.header.base_offset < first]
        model.left = earlier + found

    @rule(elapsed_ms=ELAPSED_MS)
    def compact(self, elapsed_ms: int) -> None:
        self.clock.time_ms += elapsed_ms
        self._compact()

    @rule(seed=st.integers(0, 1 << 16), count=st.integers(4, 25), elapsed_ms=ELAPSED_MS)
    def write_much_and_compact(self, seed: int, count: int, elapsed_ms: int) -> None:
        self._write_what_can_be_compacted(seed, count)
        self.compact(elapsed_ms)

    @rule(
        seed=st.integers(0, 1 << 16),
        count=st.integers(4, 25),
        unsynced=st.integers(0, 8),
        points=st.none() | st.integers(1, 80),
    )
    def compact_and_lose_power(
        self, seed: int, count: int, unsynced: int, points: int | None
    ) -> None:
        """In the midst of it, or right after it. The last records are in memory only."""
        self._write_what_can_be_compacted(seed, count)
        self.act(self._write_much(seed + 1, unsynced))
        self.log.advance_high_watermark(self.log.end_offset)
        if points is not None:
            self.lights_will_go_out(points, seed)
        self._compact()
        self.power_loss(None if seed % 2 else seed)

    @rule(seed=st.integers(0, 1 << 16), count=st.integers(1, 12))
    def write_while_compacting(self, seed: int, count: int) -> None:
        self._compact(self._write_much(seed, count))

    @rule(back=st.integers(0, 8))
    def truncate_while_compacting(self, back: int) -> None:
        self._compact(self._truncate(back))

    def _write_what_can_be_compacted(self, seed: int, count: int) -> None:
        self.act(self._write_much(seed, count))
        self.log.advance_high_watermark(self.log.end_offset)
        self.roll()
        self.let_time_pass(30)


TestCompactedStorage = CompactedStorageMachine.TestCase
TestCompactedStorage.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_compacted_lives() -> None:
    run_state_machine_as_test(
        CompactedStorageMachine,
        settings=settings(
            TestCompactedStorage.settings,
            max_examples=1000,
            stateful_step_count=60,
            report_multiple_bugs=False,
        ),
    )
