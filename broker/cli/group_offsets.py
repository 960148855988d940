"""The committed offsets of a group, and how far they are behind the ends of the logs."""

from __future__ import annotations

from typing import NamedTuple

from broker.cli.bootstrap import check_answer
from broker.cli.cluster_client import ClusterClient
from broker.cli.group_view import GroupView
from broker.cli.log_offsets import LATEST, PartitionName, find_offsets
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey

NEWEST_WITH_NAMES = 9
"""Version 10 of OffsetFetch and OffsetCommit have topic ids, and ids of deleted topics are gone."""

_NONE_COMMITTED = -1
_LEADER_PATIENCE_S = 5.0
"""A partition without a leader must not keep the others from being shown."""


class PartitionLag(NamedTuple):
    partition: PartitionName
    committed: int | None
    log_end: int | None
    """The high watermark, where consumers find the end. None if no leader could be asked."""
    owners: list[str]

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.log_end is None:
            return None
        return max(0, self.log_end - self.committed)


async def committed_offsets(cluster: ClusterClient, group_id: str) -> dict[PartitionName, int]:
    """Sorted by topic and partition; nothing for an unknown group."""
    body = m.OffsetFetchRequest(
        group_id=group_id,
        topics=None,
        groups=[m.OffsetFetchRequestGroup(group_id=group_id, topics=None)],
    )
    answered = await cluster.ask_coordinator(
        group_id, ApiKey.OFFSET_FETCH, body, _codes, newest=NEWEST_WITH_NAMES
    )
    told = _told(answered.answer)
    check_answer(f"group {group_id}", told.error_code)
    found: dict[PartitionName, int] = {}
    for topic in told.topics:
        for each in topic.partitions:
            where = PartitionName(topic.name, each.partition_index)
            check_answer(f"group {group_id}: the offset of {where}", each.error_code)
            if each.committed_offset != _NONE_COMMITTED:
                found[where] = each.committed_offset
    return dict(sorted(found.items()))


async def lags_of(cluster: ClusterClient, group: GroupView) -> list[PartitionLag]:
    """Of each partition that the group has committed an offset of, or that a member has."""
    committed = await committed_offsets(cluster, group.group_id)
    owners = group.owners()
    wanted = sorted(committed.keys() | owners.keys())
    ends = await find_offsets(cluster, wanted, LATEST, at_most_s=_LEADER_PATIENCE_S)
    return [
        PartitionLag(
            each,
            committed.get(each),
            None if ends[each].error_code else ends[each].offset,
            owners.get(each, []),
        )
        for each in wanted
    ]


def _told(answer: m.OffsetFetchResponse) -> m.OffsetFetchResponseGroup | m.OffsetFetchResponse:
    """Before version 8 a request is about one group, and the answer stands at the top."""
    return answer.groups[0] if answer.groups else answer


def _codes(answer: m.OffsetFetchResponse) -> list[int]:
    return [_told(answer).error_code]
