"""What commands about groups do when leaders and coordinators are not where they were."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from broker.cli import cluster_client
from broker.cli.cluster_client import ClusterClient
from broker.cli.errors import EnvironmentFailure
from broker.cli.group_listing import all_groups
from broker.cli.group_offsets import committed_offsets
from broker.cli.group_view import view_group
from broker.cli.groups import _delete
from broker.cli.log_offsets import LATEST, FoundOffset, PartitionName, find_offsets
from broker.network.sockets import SocketNetwork
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.cli.scripted_broker import HANG_UP, ScriptedBroker, scripted

T0 = PartitionName("t", 0)
PASSING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


@pytest.fixture(autouse=True)
def short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_client, "_FIRST_REST_S", 0.001)


@asynccontextmanager
async def client_of(
    broker: ScriptedBroker, timeout_s: float = 20.0
) -> AsyncIterator[ClusterClient]:
    cluster = ClusterClient(SocketNetwork(), broker.address, timeout_s)
    try:
        yield cluster
    finally:
        cluster.close()


def deleted(code: ErrorCode) -> m.DeleteGroupsResponse:
    return m.DeleteGroupsResponse(results=[m.DeletableGroupResult(group_id="g", error_code=code)])


def fetched(code: ErrorCode = ErrorCode.NONE, offset: int = 7) -> m.OffsetFetchResponse:
    part = m.OffsetFetchResponsePartitions(
        partition_index=0, committed_offset=offset, metadata="", error_code=0
    )
    topics = [] if code else [m.OffsetFetchResponseTopics(name="t", partitions=[part])]
    return m.OffsetFetchResponse(
        groups=[m.OffsetFetchResponseGroup(group_id="g", topics=topics, error_code=code)]
    )


def latest(code: ErrorCode, offset: int = -1) -> m.ListOffsetsResponse:
    part = m.ListOffsetsPartitionResponse(partition_index=0, error_code=code, offset=offset)
    return m.ListOffsetsResponse(topics=[m.ListOffsetsTopicResponse(name="t", partitions=[part])])


async def test_a_coordinator_that_is_not_ready_or_not_it_is_looked_for_again() -> None:
    answers = [*(fetched(code) for code in PASSING), HANG_UP, fetched()]
    async with scripted({ApiKey.OFFSET_FETCH: answers}) as broker, client_of(broker) as cluster:
        assert await committed_offsets(cluster, "g") == {T0: 7}
        assert broker.count(ApiKey.OFFSET_FETCH) == broker.count(ApiKey.FIND_COORDINATOR) == 5


async def test_a_coordinator_that_does_not_exist_yet_is_waited_for() -> None:
    code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    none = m.FindCoordinatorResponse(
        coordinators=[m.Coordinator(key="g", node_id=-1, port=-1, error_code=code)]
    )
    async with scripted({}) as broker:
        found = broker._usual(ApiKey.FIND_COORDINATOR)
        broker._script[ApiKey.FIND_COORDINATOR] = [none, none, found]
        async with client_of(broker) as cluster:
            assert (await cluster.coordinator("g")).address == broker.address


async def test_a_coordinator_that_never_comes_ends_the_command_in_time_with_its_error() -> None:
    script = {ApiKey.OFFSET_FETCH: [fetched(ErrorCode.NOT_COORDINATOR)]}
    async with scripted(script) as broker, client_of(broker, timeout_s=0.3) as cluster:
        with pytest.raises(EnvironmentFailure) as ended:
            await committed_offsets(cluster, "g")
        assert str(ended.value) == (
            "group g: no answer from its coordinator within 0.3 s: NOT_COORDINATOR"
        )
        assert ended.value.exit_code == 255


@pytest.mark.parametrize("lost", [HANG_UP, deleted(ErrorCode.COORDINATOR_NOT_AVAILABLE)])
async def test_a_group_that_an_unanswered_attempt_has_deleted_is_deleted(
    lost: m.DeleteGroupsResponse | None,
) -> None:
    answers = [lost, deleted(ErrorCode.GROUP_ID_NOT_FOUND)]
    async with scripted({ApiKey.DELETE_GROUPS: answers}) as broker, client_of(broker) as cluster:
        assert await _delete(cluster, "g") is None


async def test_a_group_that_only_another_node_was_asked_for_was_never_there() -> None:
    answers = [deleted(ErrorCode.NOT_COORDINATOR), deleted(ErrorCode.GROUP_ID_NOT_FOUND)]
    async with scripted({ApiKey.DELETE_GROUPS: answers}) as broker, client_of(broker) as cluster:
        assert "GROUP_ID_NOT_FOUND" in (await _delete(cluster, "g") or "")


async def test_a_leader_that_is_none_any_more_is_looked_for_again() -> None:
    passing = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.OFFSET_NOT_AVAILABLE)
    answers = [*(latest(code) for code in passing), HANG_UP, latest(ErrorCode.NONE, 9)]
    async with scripted({ApiKey.LIST_OFFSETS: answers}) as broker, client_of(broker) as cluster:
        assert await find_offsets(cluster, [T0], LATEST) == {T0: FoundOffset(9)}
        assert broker.count(ApiKey.METADATA) == 4


async def test_a_partition_without_a_leader_does_not_hold_up_the_others_for_long() -> None:
    code = ErrorCode.LEADER_NOT_AVAILABLE
    script = {ApiKey.LIST_OFFSETS: [latest(code)]}
    async with scripted(script) as broker, client_of(broker) as cluster:
        found = await find_offsets(cluster, [T0], LATEST, at_most_s=0.1)
        assert found == {T0: FoundOffset(error_code=code)}


async def test_groups_are_listed_when_every_broker_has_loaded_its_own() -> None:
    group = m.ListedGroup(group_id="g", protocol_type="consumer")
    answers = [
        m.ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, groups=[]),
        HANG_UP,
        m.ListGroupsResponse(groups=[group]),
    ]
    async with scripted({ApiKey.LIST_GROUPS: answers}) as broker, client_of(broker) as cluster:
        assert [each.group_id for each in await all_groups(cluster)] == ["g"]


async def test_brokers_of_older_versions_are_asked_in_their_words() -> None:
    """One group at the top of a request, one coordinator, and a dead group in place of none."""
    part = m.OffsetFetchResponsePartition(
        partition_index=0, committed_offset=7, metadata="", error_code=0
    )
    old = m.OffsetFetchResponse(topics=[m.OffsetFetchResponseTopic(name="t", partitions=[part])])
    dead = m.DescribeGroupsResponseDescribedGroup(group_id="g", group_state="Dead", members=[])
    script: dict[ApiKey, list[Any]] = {
        ApiKey.OFFSET_FETCH: [old],
        ApiKey.DESCRIBE_GROUPS: [m.DescribeGroupsResponse(groups=[dead])],
    }
    oldest = {
        ApiKey.OFFSET_FETCH: 5,
        ApiKey.FIND_COORDINATOR: 2,
        ApiKey.DESCRIBE_GROUPS: 4,
        ApiKey.CONSUMER_GROUP_DESCRIBE: -1,
    }
    async with scripted(script, oldest) as broker, client_of(broker) as cluster:
        assert await committed_offsets(cluster, "g") == {T0: 7}
        assert await view_group(cluster, "g") is None
        [body] = [body for key, _, body in broker.asked if key == ApiKey.OFFSET_FETCH]
        assert (body.group_id, body.topics) == ("g", None)
        [body] = [body for key, _, body in broker.asked if key == ApiKey.FIND_COORDINATOR]
        assert (body.key, body.key_type) == ("g", 0)
