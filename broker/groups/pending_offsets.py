"""Offsets that transactions have committed and not ended: what their markers will make of them.

A staged offset counts when its transaction commits, as of the moment in which it was staged. So of
two commits of one partition the later record in the log counts, wherever the markers stand. A plain
commit that follows a staged one therefore replaces it, though the transaction is still open. This
is the same when the log is loaded, and when compaction has kept only the last record of the key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from broker.groups.offsets import CommittedOffset

OffsetKey = tuple[str, str, int]
"""A group, a topic, a partition."""


class Staged(NamedTuple):
    committed: CommittedOffset | None
    """None once a later commit of the partition has replaced it."""
    order: int
    """Greater for what was staged later."""


class PendingOffsets:
    """By producer. Changed by the replay of records and markers only."""

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[OffsetKey, Staged]] = {}
        self._producers: dict[OffsetKey, dict[int, None]] = {}
        self._count_by_group: dict[str, int] = {}
        self._order = 0

    def __contains__(self, key: OffsetKey) -> bool:
        """Whether an open transaction has an offset of this partition."""
        return key in self._producers

    def __iter__(self) -> Iterator[tuple[int, OffsetKey, Staged]]:
        """Every staged offset with its producer, in the order of their first commits."""
        for producer_id, staged in self._by_producer.items():
            for key, each in staged.items():
                yield producer_id, key, each

    def has_group(self, group_id: str) -> bool:
        """Whether an open transaction has an offset of this group."""
        return group_id in self._count_by_group

    def keys_of_group(self, group_id: str) -> list[OffsetKey]:
        """The partitions that open transactions have offsets of."""
        if group_id not in self._count_by_group:
            return []
        return [key for key in self._producers if key[0] == group_id]

    def keys_of_topic(self, topic: str) -> list[OffsetKey]:
        return [key for key in self._producers if key[1] == topic]

    def topics(self) -> list[str]:
        return list(dict.fromkeys(topic for _, topic, _ in self._producers))

    def stage(self, producer_id: int, key: OffsetKey, committed: CommittedOffset) -> None:
        """A later commit of the same transaction replaces an earlier one."""
        self._order += 1
        self._by_producer.setdefault(producer_id, {})[key] = Staged(committed, self._order)
        producers = self._producers.setdefault(key, {})
        if not producers:
            self._count_by_group[key[0]] = self._count_by_group.get(key[0], 0) + 1
        producers[producer_id] = None

    def replace(self, key: OffsetKey) -> None:
        """A plain commit of the partition was written after everything that is staged for it."""
        self._order += 1
        self._replace_before(key, self._order)

    def _replace_before(self, key: OffsetKey, order: int) -> None:
        for producer_id in self._producers.get(key, ()):
            staged = self._by_producer[producer_id]
            if staged[key].order < order:
                staged[key] = Staged(None, staged[key].order)

    def forget(self, key: OffsetKey) -> None:
        """The offset was deleted, and what is staged for it as well."""
        for producer_id in list(self._producers.get(key, ())):
            self._remove(producer_id, key)

    def end(self, producer_id: int, *, committed: bool) -> list[tuple[OffsetKey, CommittedOffset]]:
        """Removes what the producer has staged. Returns the offsets that count from now on."""
        applied: list[tuple[OffsetKey, CommittedOffset]] = []
        for key, staged in list(self._by_producer.get(producer_id, {}).items()):
            self._remove(producer_id, key)
            if committed and staged.committed is not None:
                applied.append((key, staged.committed))
                self._replace_before(key, staged.order)
        return applied

    def _remove(self, producer_id: int, key: OffsetKey) -> None:
        staged = self._by_producer[producer_id]
        del staged[key]
        if not staged:
            del self._by_producer[producer_id]
        producers = self._producers[key]
        del producers[producer_id]
        if producers:
            return
        del self._producers[key]
        self._count_by_group[key[0]] -= 1
        if not self._count_by_group[key[0]]:
            del self._count_by_group[key[0]]
