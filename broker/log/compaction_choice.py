"""Which segments may be compacted, which log is the dirtiest, and whether it is worth it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from broker.log.recovery import LARGEST_RELATIVE_OFFSET
from broker.log.segment import Segment

if TYPE_CHECKING:
    from broker.log.log import Log

MAX_SOURCES = 16
"""A swap deletes its sources one by one, while appends that need a new segment wait."""

NEVER_MS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Dirt:
    """What a compaction could work on: sealed segments, the first ones clean already."""

    first_dirty: int
    segments: tuple[Segment, ...]
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool
    """Something has waited for longer than max.compaction.lag.ms."""

    @property
    def ratio(self) -> float:
        return self.dirty_bytes / max(self.clean_bytes + self.dirty_bytes, 1)


def find_dirt(log: Log, cleaned_to: int, now_ms: int) -> Dirt:
    """Never the active segment, nothing undecided, and nothing that others may not have yet."""
    first_dirty = _first_dirty(log, cleaned_to)
    limit = min(log.last_stable_offset, log.high_watermark)
    lag_ms = log.config.min_compaction_lag_ms
    usable: list[Segment] = []
    clean_bytes = dirty_bytes = 0
    oldest_ms = NEVER_MS
    for segment, following in pairwise(log.segments):
        end = following.base_offset
        if end > limit or not segment.sealed or segment.damage is not None:
            # Rewritten, a damaged segment would look whole, and its loss like a deletion.
            break
        if end <= first_dirty:
            clean_bytes += segment.size
        else:
            if lag_ms > 0 and segment.largest_timestamp > now_ms - lag_ms:
                break
            dirty_bytes += segment.size
            oldest_ms = min(oldest_ms, segment.first_append_ms)
        usable.append(segment)
    overdue = dirty_bytes > 0 and now_ms - oldest_ms > log.config.max_compaction_lag_ms
    return Dirt(first_dirty, tuple(usable), clean_bytes, dirty_bytes, overdue)


def _first_dirty(log: Log, cleaned_to: int) -> int:
    """A checkpoint from before a truncation must not call dirty records clean (KAFKA-3330)."""
    if not log.start_offset <= cleaned_to <= log.end_offset:
        return log.start_offset
    return cleaned_to


def is_worth_it(log: Log, dirt: Dirt) -> bool:
    if not dirt.dirty_bytes or not log.config.cleanup_compact or log.failure is not None:
        return False
    return dirt.is_overdue or dirt.ratio > log.config.min_cleanable_dirty_ratio


def choose(found: Sequence[tuple[Log, Dirt]]) -> tuple[Log, Dirt] | None:
    """The dirtiest first; among equals the first one."""
    worth_it = [entry for entry in found if is_worth_it(*entry)]
    return max(worth_it, key=lambda entry: entry[1].ratio, default=None)


def group(
    segments: Sequence[Segment], max_bytes: int, max_index_entries: int
) -> list[list[Segment]]:
    """Neighbours that fit in one segment together, so that small leftovers do not pile up."""
    groups: list[list[Segment]] = []
    size = entries = 0
    for segment in segments:
        current = groups[-1] if groups else []
        fits = (
            0 < len(current) < MAX_SOURCES
            and size + segment.size <= max_bytes
            and entries + len(segment.offsets) + 1 <= max_index_entries
            and segment.end_offset - current[0].base_offset <= LARGEST_RELATIVE_OFFSET
        )
        if fits:
            current.append(segment)
            size += segment.size
            entries += len(segment.offsets) + 1
        else:
            groups.append([segment])
            size, entries = segment.size, len(segment.offsets) + 1
    return groups
