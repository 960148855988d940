"""Requests about groups to a whole node on a memory disk, as short calls."""

from __future__ import annotations

import asyncio
from typing import Any

from broker.api.delete_groups import delete_groups
from broker.api.describe_groups import describe_groups
from broker.api.find_coordinator import find_coordinator
from broker.api.list_groups import list_groups
from broker.api.offset_commit import offset_commit
from broker.api.offset_delete import offset_delete
from broker.api.offset_fetch import offset_fetch
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from tests.unit.broker.api.nodes import ask

ONE_PARTITION = {"offsets.topic.num.partitions": "1"}


async def coordinator_is_ready(node: Node, group: str = "g") -> None:
    body = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    answer: Any = find_coordinator(node, ask(ApiKey.FIND_COORDINATOR, body))
    found = await answer if asyncio.iscoroutine(answer) else answer
    assert (found.coordinators[0].error_code, found.coordinators[0].node_id) == (0, 1)
    async with asyncio.timeout(10):
        while (await fetch(node, group)).error_code:  # noqa: ASYNC110 - the client asks again
            await asyncio.sleep(0.001)


async def commit(
    node: Node, offset: int, group: str = "g", topic: str = "t", version: int = 9, **fields: Any
) -> int:
    part = m.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    body = m.OffsetCommitRequest(
        group_id=group,
        topics=[m.OffsetCommitRequestTopic(name=topic, partitions=[part])],
        **fields,
    )
    answer = await offset_commit(node, ask(ApiKey.OFFSET_COMMIT, body, version))
    code: int = answer.topics[0].partitions[0].error_code
    return code


async def fetch(node: Node, group: str = "g") -> m.OffsetFetchResponseGroup:
    body = m.OffsetFetchRequest(groups=[m.OffsetFetchRequestGroup(group_id=group, topics=None)])
    return (await offset_fetch(node, ask(ApiKey.OFFSET_FETCH, body, 9))).groups[0]


async def committed(node: Node, group: str = "g") -> dict[tuple[str, int], int]:
    """What the group has committed, by topic and partition."""
    answer = await fetch(node, group)
    assert answer.error_code == 0
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in answer.topics
        for each in topic.partitions
    }


async def delete_offsets(node: Node, group: str, topic: str, *indexes: int) -> Any:
    """The error of the group, or those of its partitions."""
    parts = [m.OffsetDeleteRequestPartition(partition_index=each) for each in indexes]
    body = m.OffsetDeleteRequest(
        group_id=group, topics=[m.OffsetDeleteRequestTopic(name=topic, partitions=parts)]
    )
    answer = await offset_delete(node, ask(ApiKey.OFFSET_DELETE, body))
    if answer.error_code:
        return answer.error_code
    [told] = answer.topics
    return {each.partition_index: each.error_code for each in told.partitions}


async def delete(node: Node, *groups: str) -> dict[str, int]:
    body = m.DeleteGroupsRequest(groups_names=list(groups))
    answer = await delete_groups(node, ask(ApiKey.DELETE_GROUPS, body))
    return {each.group_id: each.error_code for each in answer.results}


async def listed(node: Node, states: list[str], types: list[str]) -> list[tuple[str, str, str]]:
    body = m.ListGroupsRequest(states_filter=states, types_filter=types)
    answer = await list_groups(node, ask(ApiKey.LIST_GROUPS, body))
    assert answer.error_code == 0
    return [(each.group_id, each.group_state, each.group_type) for each in answer.groups]


async def described(node: Node, group: str, version: int) -> m.DescribeGroupsResponseDescribedGroup:
    body = m.DescribeGroupsRequest(groups=[group], include_authorized_operations=True)
    answer = await describe_groups(node, ask(ApiKey.DESCRIBE_GROUPS, body, version))
    return answer.groups[0]
