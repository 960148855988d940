"""Offsets that nobody needs any more (KIP-211): found in slices, and deleted by tombstones.

While a group has members, offsets of topics that they read never expire. When it has none, the
retention begins when the last one left. A consumer that is in no group keeps its offsets for the
retention after each commit. Offsets that an open transaction will replace do not expire.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups import records
from broker.groups.group import Group
from broker.groups.offsets import CommittedOffset, CommittedOffsets, delete_record
from broker.groups.pending_offsets import PendingOffsets
from broker.groups.settings import GroupSettings
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

_OFFSETS_AT_ONCE = 2000


class OffsetExpiry:
    """One look at all groups, in as many steps as it takes."""

    def __init__(
        self,
        offsets: CommittedOffsets,
        pending: PendingOffsets,
        groups: Mapping[str, Group],
        simple: Mapping[str, None],
    ) -> None:
        """`simple` are groups without members and without a state of their own."""
        self._offsets = offsets
        self._pending = pending
        self._groups = groups
        self._simple = simple
        self._left: deque[str] = deque()

    @property
    def is_under_way(self) -> bool:
        return bool(self._left)

    def begin(self) -> None:
        self._left = deque([*self._groups, *self._simple])

    def look(self, settings: GroupSettings, now: Now) -> list[CoordinatorRecord]:
        """The tombstones of the next groups' offsets, and of groups that have nothing left."""
        found: list[CoordinatorRecord] = []
        budget = _OFFSETS_AT_ONCE
        while self._left and budget > 0:
            group_id = self._left.popleft()
            group = self._groups.get(group_id)
            if group is None and group_id not in self._simple:
                continue
            tombstones, looked_at, is_all = self._expired(group_id, group, settings, now)
            budget -= 1 + looked_at
            found += tombstones
            if is_all:
                found += _group_tombstones(group_id, group)
        return found

    def _expired(
        self, group_id: str, group: Group | None, settings: GroupSettings, now: Now
    ) -> tuple[list[CoordinatorRecord], int, bool]:
        """Also how many offsets were looked at, and whether none of them stays."""
        expired: list[CoordinatorRecord] = []
        count = 0
        for topic, partitions in self._offsets.of_group(group_id).items():
            is_read = group is not None and group.is_subscribed_to(topic)
            for partition, committed in partitions.items():
                count += 1
                is_kept = is_read or (group_id, topic, partition) in self._pending
                if not is_kept and _has_expired(group, committed, settings, now):
                    expired.append(delete_record(group_id, topic, partition))
        is_all = len(expired) == count and not self._pending.has_group(group_id)
        return expired, count, is_all


def _has_expired(
    group: Group | None, committed: CommittedOffset, settings: GroupSettings, now: Now
) -> bool:
    since = committed.commit_timestamp_ms
    if group is not None:
        begins = group.offsets_expire_from_ms(committed.commit_timestamp_ms)
        if begins is None:
            return False
        since = begins
    return now.wall_ms >= committed.expires_at_ms(since, settings.offsets_retention_ms)


def _group_tombstones(group_id: str, group: Group | None) -> list[CoordinatorRecord]:
    if group is None:
        return [records.tombstone(m.GroupMetadataKey(group=group_id))]
    return group.tombstones() if group.check_delete() == ErrorCode.NONE else []
