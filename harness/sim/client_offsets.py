"""Committed offsets of groups without members: asked of the group's coordinator, wherever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from harness.sim.client_errors import ClientError, check

if TYPE_CHECKING:
    from harness.sim.client import Client

_GROUP = 0
_LAST_VERSION_BY_NAME = 9
"""Of OffsetCommit and OffsetFetch: later ones name topics by their ids."""


class Offsets:
    """`Client.offsets`. A coordinator that refuses, or is lost, is looked up again."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._coordinators: dict[str, int] = {}

    async def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """One attempt. Raises ClientError: then it may be kept or not."""
        part = m.OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=""
        )
        topics = [m.OffsetCommitRequestTopic(name=topic, partitions=[part])]
        body = m.OffsetCommitRequest(group_id=group, topics=topics)
        await self._ask(group, ApiKey.OFFSET_COMMIT, body, _commit_error)

    async def fetch(self, group: str, topic: str, partition: int) -> int | None:
        """None when nothing is committed. Asks again until somebody knows."""
        asked = m.OffsetFetchRequestTopics(name=topic, partition_indexes=[partition])
        groups = [m.OffsetFetchRequestGroup(group_id=group, topics=[asked])]

        async def attempt() -> int | None:
            body = m.OffsetFetchRequest(groups=groups)
            answer = await self._ask(group, ApiKey.OFFSET_FETCH, body, _fetch_error)
            offset: int = answer.groups[0].topics[0].partitions[0].committed_offset
            return offset if offset >= 0 else None

        return await self._client.retried(attempt)

    async def _ask(self, group: str, key: ApiKey, body: Any, error_of: Any) -> Any:
        try:
            node_id = self._coordinators.get(group)
            if node_id is None:
                node_id = self._coordinators[group] = await self._find(group)
            nodes, settings = self._client.nodes, self._client.settings
            connection = await nodes.connection(node_id)
            version = min(_LAST_VERSION_BY_NAME, connection.version_of(key))
            answer = await connection.ask(key, version, body, settings.request_timeout_s)
            check(error_of(answer), place=f"group {group}")
        except ClientError:
            self._coordinators.pop(group, None)
            raise
        return answer

    async def _find(self, group: str) -> int:
        body = m.FindCoordinatorRequest(key=group, key_type=_GROUP, coordinator_keys=[group])
        answer = await self._client.ask_anyone(ApiKey.FIND_COORDINATOR, body)
        [found] = answer.coordinators
        check(found.error_code, found.error_message, place=f"group {group}")
        self._client.nodes.learn({found.node_id: Address(found.host, found.port)})
        node_id: int = found.node_id
        return node_id


def _commit_error(answer: m.OffsetCommitResponse) -> int:
    return answer.topics[0].partitions[0].error_code


def _fetch_error(answer: m.OffsetFetchResponse) -> int:
    group = answer.groups[0]
    return group.error_code or group.topics[0].partitions[0].error_code
