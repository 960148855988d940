"""One pass of compaction over one log: of every key the last value stays.

Reading and rewriting go on beside appends and fetches. Only the swap of finished segments holds
the log's locks; when something cut or deleted segments meanwhile, the work is thrown away.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker.log.breather import Breather
from broker.log.compaction_choice import Dirt, group
from broker.log.compaction_keys import BYTES_PER_KEY, LastOffsets
from broker.log.compaction_rewrite import collect_keys, rewrite
from broker.log.compaction_rules import Rules
from broker.log.compaction_swap import CleanedSegment, carry_out, decide, discard, swap_name
from broker.log.compaction_transactions import TransactionsSeen
from broker.log.offset_index import ENTRY_SIZE
from broker.log.segment import Segment
from broker.protocol.batch import CorruptBatchError

if TYPE_CHECKING:
    from broker.log.log import Log

NO_LIMIT = 2**63 - 1
DEFAULT_MAX_KEYS = 128 * 1024 * 1024 // BYTES_PER_KEY
"""What fits in the default of log.cleaner.dedupe.buffer.size."""


@dataclass(frozen=True, slots=True)
class Compacted:
    cleaned_to: int
    """Where the next pass begins to look for dirt."""

    bytes_before: int
    bytes_after: int
    is_complete: bool
    """False when the log was cut meanwhile, or when a segment could not be replaced."""


async def compact(
    log: Log,
    dirt: Dirt,
    *,
    max_keys: int = DEFAULT_MAX_KEYS,
    removable_below: int = NO_LIMIT,
    breather: Breather | None = None,
) -> Compacted:
    """CorruptBatchError when a segment is damaged, OSError when the disk fails: nothing changed.

    KafkaError when the log itself failed.
    """
    work = _Pass(log, dirt, breather or Breather())
    aborted = log.aborted_transactions(log.segments[0].base_offset, log.end_offset)
    rules = Rules(
        keys=LastOffsets(max_keys),
        transactions=TransactionsSeen(aborted),
        producers=dict(log.producers.producers),
        now_ms=log.clock.now_ms(),
        delete_retention_ms=log.config.delete_retention_ms,
        removable_below=removable_below,
    )
    if log.recovery_point < log.end_offset:
        # Records go because of a marker, or of a later batch of their producer, that may be in the
        # active segment. Were these lost with the power, nothing would bring the records back.
        await log.flush()
    try:
        dirty = [segment for segment in dirt.segments if segment.end_offset > dirt.first_dirty]
        await collect_keys(rules, dirty, dirt.first_dirty, work.breather)
        # The same batches are seen once more, now together with the clean ones before them.
        rules.transactions = TransactionsSeen(aborted)
        await work.rewrite(rules)
    except _CutMeanwhileError:
        return Compacted(dirt.first_dirty, work.bytes_before, work.bytes_after, False)
    except (OSError, CorruptBatchError):
        if work.is_untouched():
            raise
        # What looks like damage was a file that somebody cut or closed while it was read.
        return Compacted(dirt.first_dirty, work.bytes_before, work.bytes_after, False)
    return Compacted(rules.keys.latest + 1, work.bytes_before, work.bytes_after, True)


class _CutMeanwhileError(Exception):
    """Segments that the pass relies on are no longer those of the log."""


class _Pass:
    def __init__(self, log: Log, dirt: Dirt, breather: Breather) -> None:
        self.log = log
        self.breather = breather
        self.bytes_before = 0
        self.bytes_after = 0
        # Whatever cuts a segment drops the one that follows it, even if it is refilled at once.
        # So the pass relies on one segment more than it rewrites.
        following = log.segments[len(dirt.segments)]
        self._relied_on = [*dirt.segments, following]
        self._segments = dirt.segments

    def is_untouched(self) -> bool:
        """A record may have been dropped for the sake of a later one: that must still be there."""
        present = {id(segment) for segment in self.log.segments}
        return all(id(segment) in present for segment in self._relied_on)

    async def rewrite(self, rules: Rules) -> None:
        in_reach = [s for s in self._segments if s.base_offset <= rules.keys.latest]
        config = self.log.config
        index_entries = config.segment_index_bytes // ENTRY_SIZE
        for sources in group(in_reach, config.segment_bytes, index_entries):
            await self._replace(sources, rules)

    async def _replace(self, sources: list[Segment], rules: Rules) -> None:
        log = self.log
        cleaned = await CleanedSegment.begin(log.disk, log.directory, sources[0].base_offset)
        try:
            interval_bytes = log.config.index_interval_bytes
            await rewrite(log.disk, sources, rules, interval_bytes, self.breather, cleaned)
        except BaseException:
            await _throw_away(log, cleaned)
            raise
        # Once decided it is finished, even if whoever asked for it no longer waits.
        await asyncio.shield(asyncio.create_task(self._swap(sources, cleaned)))

    async def _swap(self, sources: list[Segment], cleaned: CleanedSegment) -> None:
        log = self.log
        async with log.changing, log.syncing:
            if log.failure is not None or not self.is_untouched():
                await _throw_away(log, cleaned)
                raise _CutMeanwhileError
            try:
                await decide(log.disk, sources, cleaned)
                await carry_out(log.disk, log.directory, swap_name(cleaned.base_offset))
            except OSError as problem:
                raise log.fail(problem) from problem
            replacement = cleaned.as_segment()
            replacement.end_offset = sources[-1].end_offset
            replacement.first_append_ms = sources[0].first_append_ms
            # Files of the sources stay open for those that still read them.
            first = log.segments.index(sources[0])
            others = log.segments
            log.set_segments([*others[:first], replacement, *others[first + len(sources) :]])
            self.bytes_before += sum(source.size for source in sources)
            self.bytes_after += replacement.size
            del self._relied_on[: len(sources)]


async def _throw_away(log: Log, cleaned: CleanedSegment) -> None:
    cleaned.file.close()
    with suppress(OSError):
        await discard(log.disk, cleaned)
