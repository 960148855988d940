"""No group has committed anything, and none can be joined; clients get that as plain answers."""

from broker.api.absent_groups import list_groups, offset_fetch
from broker.api.api_versions import api_versions
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.nodes import running_node as listening_node
from tests.nodes import wire
from tests.unit.broker.api.at_once import at_once
from tests.unit.broker.api.nodes import ask, create_topic, running_node

REFUSED = (
    (ApiKey.JOIN_GROUP, m.JoinGroupRequest(protocols=[])),
    (ApiKey.SYNC_GROUP, m.SyncGroupRequest(assignments=[])),
    (ApiKey.HEARTBEAT, m.HeartbeatRequest()),
    (ApiKey.LEAVE_GROUP, m.LeaveGroupRequest(members=[])),
)


async def test_there_are_no_groups() -> None:
    async with running_node() as node:
        groups = list_groups(node, ask(ApiKey.LIST_GROUPS, m.ListGroupsRequest()))
        assert (groups.error_code, groups.groups) == (ErrorCode.NONE, [])


async def test_no_offset_is_committed_in_either_form_of_the_question() -> None:
    async with running_node() as node:
        topic_id = await create_topic(node, "t", 2)
        topic = m.OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])
        old = m.OffsetFetchRequest(group_id="g", topics=[topic])
        told = at_once(offset_fetch(node, ask(ApiKey.OFFSET_FETCH, old, 7)))
        [answer] = told.topics
        offsets = [(p.partition_index, p.committed_offset, p.error_code) for p in answer.partitions]
        assert (told.error_code, offsets) == (0, [(0, -1, 0), (1, -1, 0)])
        asked = [
            m.OffsetFetchRequestTopics(topic_id=each, partition_indexes=[0])
            for each in (topic_id, b"?" * 16)
        ]
        group = m.OffsetFetchRequestGroup(group_id="g", topics=asked)
        new = m.OffsetFetchRequest(groups=[group, m.OffsetFetchRequestGroup(topics=None)])
        known, everything = at_once(offset_fetch(node, ask(ApiKey.OFFSET_FETCH, new, 10))).groups
        parts = [topic.partitions[0] for topic in known.topics]
        assert [(part.committed_offset, part.error_code) for part in parts] == [
            (-1, ErrorCode.NONE),
            (-1, ErrorCode.UNKNOWN_TOPIC_ID),
        ]
        assert everything.topics == []


async def test_what_needs_a_coordinator_is_refused_and_not_advertised() -> None:
    async with listening_node() as node, wire(node) as connection:
        for key, body in REFUSED:
            answer = await connection.ask(key, 3, body)
            assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        part = m.OffsetCommitRequestPartition(partition_index=4)
        commit = m.OffsetCommitRequest(
            topics=[m.OffsetCommitRequestTopic(name="t", partitions=[part])]
        )
        answer = await connection.ask(ApiKey.OFFSET_COMMIT, 6, commit)
        [refused] = answer.topics[0].partitions
        assert (refused.partition_index, refused.error_code) == (4, ErrorCode.UNSUPPORTED_VERSION)
        told = api_versions(node, ask(ApiKey.API_VERSIONS, m.ApiVersionsRequest(), 0))
        advertised = {each.api_key for each in told.api_keys}
        assert ApiKey.OFFSET_FETCH in advertised
        assert not advertised & {ApiKey.OFFSET_COMMIT, *(key for key, _ in REFUSED)}
