"""Random histories of a compacted log, compared with the table that they stand for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.disk.memory import MemoryDisk
from broker.log.compaction import compact
from broker.log.compaction_choice import find_dirt
from broker.log.log import Log
from broker.protocol.compression import Codec
from tests.unit.broker.log.builders import Clock
from tests.unit.broker.log.compacting import (
    COMPACT,
    DAY_MS,
    after_crash,
    committed,
    end,
    headers,
    open_compacted,
    settle,
    without_snapshots,
    write,
)

keys = st.sampled_from([b"a", b"b", b"c", b"a key that is longer than sixteen bytes"])
values = st.none() | st.sampled_from([b"1", b"2", b"3" * 50])
pairs = st.lists(st.tuples(keys, values), min_size=1, max_size=3)
producers = st.integers(1, 3)

steps = st.one_of(
    st.tuples(st.just("write"), pairs, st.sampled_from(list(Codec))),
    st.tuples(st.just("write"), pairs, st.sampled_from(list(Codec))),
    st.tuples(st.just("write_in_transaction"), producers, pairs),
    st.tuples(st.just("write_in_transaction"), producers, pairs),
    st.tuples(st.just("end"), producers, st.booleans()),
    st.tuples(st.just("end"), producers, st.booleans()),
    st.tuples(st.just("roll")),
    st.tuples(st.just("compact"), st.integers(2, 20)),
    st.tuples(st.just("compact"), st.integers(2, 20)),
    st.tuples(st.just("wait"), st.integers(1, 2 * DAY_MS)),
    st.tuples(st.just("expire_producers")),
    st.tuples(st.just("crash"), st.booleans()),
)


@dataclass
class Model:
    """Every record ever written, and how the transactions ended."""

    written: dict[int, tuple[bytes, bytes | None]] = field(default_factory=dict)
    undecided: dict[int, list[int]] = field(default_factory=dict)
    aborted: set[int] = field(default_factory=set)

    def last_stable_offset(self, end_offset: int) -> int:
        return min((offsets[0] for offsets in self.undecided.values()), default=end_offset)

    def table(self, up_to: int) -> dict[bytes, bytes]:
        table: dict[bytes, bytes] = {}
        for offset in sorted(self.written):
            if offset >= up_to or offset in self.aborted:
                continue
            key, value = self.written[offset]
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
        return table


class History:
    def __init__(self, log: Log, clock: Clock) -> None:
        self.log = log
        self.clock = clock
        self.model = Model()
        self.cleaned_to = 0
        self.sequences: dict[int, int] = {}

    async def write(self, pairs: list[tuple[bytes, bytes | None]], codec: Codec) -> None:
        first = write(self.log, *pairs, codec=codec, time_ms=self.clock.time_ms)
        self.model.written |= {first + n: pair for n, pair in enumerate(pairs)}

    async def write_in_transaction(
        self, producer_id: int, pairs: list[tuple[bytes, bytes | None]]
    ) -> None:
        sequence = self.sequences.get(producer_id, 0)
        first = write(self.log, *pairs, producer_id=producer_id, sequence=sequence,
                      transactional=True, time_ms=self.clock.time_ms)  # fmt: skip
        self.sequences[producer_id] = sequence + len(pairs)
        offsets = list(range(first, first + len(pairs)))
        self.model.written |= dict(zip(offsets, pairs, strict=True))
        self.model.undecided.setdefault(producer_id, []).extend(offsets)

    async def end(self, producer_id: int, is_committed: bool) -> None:
        end(self.log, producer_id, committed=is_committed)
        offsets = self.model.undecided.pop(producer_id, [])
        if not is_committed:
            self.model.aborted |= set(offsets)

    async def roll(self) -> None:
        await self.log.roll()

    async def compact(self, max_keys: int) -> None:
        await settle(self.log)
        dirt = find_dirt(self.log, self.cleaned_to, self.clock.now_ms())
        if dirt.dirty_bytes:
            result = await compact(self.log, dirt, max_keys=max_keys)
            assert result.is_complete
            self.cleaned_to = result.cleaned_to
        await self.check()

    async def wait(self, time_ms: int) -> None:
        self.clock.time_ms += time_ms

    async def expire_producers(self) -> None:
        """Those without a transaction; they begin anew when they come back."""
        for producer_id in [p for p in self.sequences if p not in self.model.undecided]:
            self.log.producers.producers.pop(producer_id, None)
            del self.sequences[producer_id]

    async def crash(self, keeps_snapshots: bool) -> None:
        await self.log.flush()
        known = set(self.log.producers.producers)
        if not keeps_snapshots:
            await without_snapshots(self.log)
        self.log = await after_crash(self.log)
        self.clock = self.log.clock  # type: ignore[assignment]
        if not keeps_snapshots:
            # A producer that had expired may be found again in the log, where it stopped.
            for producer_id in set(self.log.producers.producers) - known:
                self.log.producers.producers.pop(producer_id)
        await self.check()

    async def check(self) -> None:
        log, model = self.log, self.model
        log.advance_high_watermark(log.end_offset)
        stable = model.last_stable_offset(log.end_offset)
        assert log.last_stable_offset == stable
        found = await committed(log)
        offsets = [offset for offset, _, _ in found]
        assert offsets == sorted(set(offsets))
        table: dict[bytes, bytes] = {}
        for offset, key, value in found:
            assert model.written[offset] == (key, value)
            assert offset not in model.aborted
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
        assert table == model.table(stable)
        batches = await headers(log)
        for before, after in pairwise(batches):
            assert before.last_offset < after.base_offset
        for producer_id, sequence in self.sequences.items():
            assert log.producers.producers[producer_id].last_sequence == sequence - 1


async def run(history: list[tuple[object, ...]]) -> None:
    clock = Clock()
    config = replace(COMPACT, segment_bytes=2000, index_interval_bytes=100)
    subject = History(await open_compacted(MemoryDisk(), clock, config=config), clock)
    for name, *arguments in history:
        await getattr(subject, str(name))(*arguments)
    for producer_id in list(subject.model.undecided):
        await subject.end(producer_id, producer_id % 2 == 0)
    await subject.compact(100)
    await subject.wait(2 * DAY_MS)
    await subject.write([(b"last", b"1")], Codec.NONE)
    await subject.compact(100)
    await subject.crash(False)
    await subject.log.close()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=40))
def test_the_table_is_that_of_the_last_committed_values(history: list[tuple[object, ...]]) -> None:
    asyncio.run(run(history))
