"""The coordinator of a group: offsets that are committed and asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.coordinator_way import GROUP, CoordinatorWay
from harness.native.errors import BrokerError, check

if TYPE_CHECKING:
    from harness.native.client import Client

_LAST_BY_NAME = 9
"""Later versions name topics by their ids."""
_REFUSALS = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
    }
)
"""Answers to a commit before anything is appended. NOT_COORDINATOR is not among them: commits that
wait for the high watermark are answered so when their coordinator loses the partition."""


class CommitRefusedError(BrokerError):
    """Certainly not committed."""

    is_definite = True


class GroupCoordinator:
    """The coordinator of one group.

    Each lane is a connection: a join waits for the other members and holds up what is behind it, so
    offsets, membership and the goodbye have lanes of their own.
    """

    def __init__(self, client: Client, group: str) -> None:
        self.group = group
        self._way = CoordinatorWay(client, group, GROUP)

    async def ask(
        self,
        key: ApiKey,
        body: Any,
        *,
        lane: str = "offsets",
        timeout_s: float | None = None,
        at_least: int = 0,
    ) -> Any:
        """The body of the answer; its error codes are the caller's to look at. `at_least`: the
        first version of the API that can do what is asked."""
        by_name = key in (ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH)
        return await self._way.ask(
            key,
            body,
            lane=f"group {self.group} {lane}",
            timeout_s=timeout_s,
            at_least=at_least,
            at_most=_LAST_BY_NAME if by_name else None,
        )

    def heard(self, code: int) -> None:
        """An answer of the coordinator; one that has moved is looked for again."""
        self._way.heard(code)

    async def commit(
        self,
        offsets: Mapping[tuple[str, int], int],
        *,
        generation: int,
        member_id: str,
        instance_id: str | None,
        at_least: int = 0,
    ) -> None:
        """One attempt. Raises CommitRefusedError if no partition was committed, or what leaves the
        outcome unknown.

        A coordinator may take some partitions of a request and refuse others: those that the member
        did not own yet in the epoch that it names (KIP-1251).
        """
        topics: dict[str, list[m.OffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            topics.setdefault(topic, []).append(
                m.OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offset, committed_metadata=""
                )
            )
        body = m.OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=[
                m.OffsetCommitRequestTopic(name=name, partitions=parts)
                for name, parts in topics.items()
            ],
        )
        answer = await self.ask(ApiKey.OFFSET_COMMIT, body, at_least=at_least)
        codes = {
            f"commit of {topic.name}-{part.partition_index} for {self.group}": part.error_code
            for topic in answer.topics
            for part in topic.partitions
        }
        kind = CommitRefusedError if _REFUSALS.issuperset(codes.values()) else BrokerError
        for place, code in codes.items():
            self.heard(code)
            if code != ErrorCode.NONE:
                raise kind(code, place=place)

    async def committed(self, keys: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int | None]:
        """What the group has committed; None where it has committed nothing."""
        topics: dict[str, list[int]] = {}
        for topic, index in keys:
            topics.setdefault(topic, []).append(index)
        asked = m.OffsetFetchRequestGroup(
            group_id=self.group,
            topics=[
                m.OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
                for name, indexes in topics.items()
            ],
        )
        body = m.OffsetFetchRequest(
            group_id=self.group,
            topics=[
                m.OffsetFetchRequestTopic(name=name, partition_indexes=indexes)
                for name, indexes in topics.items()
            ],
            groups=[asked],
            require_stable=True,
        )
        answer = await self.ask(ApiKey.OFFSET_FETCH, body)
        # Up to version 7 a request is about one group, and the answer has no list of groups.
        group = answer.groups[0] if answer.groups else answer
        self.heard(group.error_code)
        check(group.error_code, place=f"offsets of {self.group}")
        found: dict[tuple[str, int], int | None] = {}
        for each in group.topics:
            for part in each.partitions:
                check(part.error_code, place=f"offset of {each.name}-{part.partition_index}")
                offset = part.committed_offset
                found[each.name, part.partition_index] = offset if offset >= 0 else None
        return found
