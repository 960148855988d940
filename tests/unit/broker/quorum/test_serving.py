"""What a member of the quorum answers: to those of another cluster, of other topics, in doubt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from broker.api import quorum_members
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.quorum.metadata_log import TOPIC
from broker.quorum.wire_form import TOPIC_ID
from broker.raft import events as e
from broker.raft.events import SnapshotId
from tests.unit.broker.api.nodes import CLUSTER_ID, ask, create_topic, running_node

OTHER = "BBBBBBBBBBBBBBBBBBBBBA"


def vote_request(cluster_id: str = CLUSTER_ID, voter: int = 1, topic: str = TOPIC) -> Any:
    part = m.VoteRequestPartitionData(partition_index=0, replica_epoch=99, replica_id=7)
    return m.VoteRequest(
        cluster_id=cluster_id,
        voter_id=voter,
        topics=[m.VoteRequestTopicData(topic_name=topic, partitions=[part])],
    )


def fetch_request(cluster_id: str = CLUSTER_ID, epoch: int = 1, offset: int = 0) -> Any:
    part = m.FetchPartition(
        partition=0, current_leader_epoch=epoch, fetch_offset=offset, last_fetched_epoch=0
    )
    return m.FetchRequest(
        cluster_id=cluster_id,
        replica_state=m.FetchRequestReplicaState(replica_id=7),
        max_wait_ms=0,
        max_bytes=1 << 20,
        topics=[m.FetchTopic(topic_id=TOPIC_ID, partitions=[part])],
    )


def snapshot_request(
    snapshot_id: SnapshotId,
    position: int = 0,
    cluster_id: str = CLUSTER_ID,
    max_bytes: int = 1 << 20,
) -> Any:
    part = m.FetchSnapshotRequestPartitionSnapshot(
        partition=0,
        current_leader_epoch=1,
        snapshot_id=m.FetchSnapshotRequestSnapshotId(
            end_offset=snapshot_id.end_offset, epoch=snapshot_id.epoch
        ),
        position=position,
    )
    return m.FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=7,
        max_bytes=max_bytes,
        topics=[m.FetchSnapshotRequestTopicSnapshot(name=TOPIC, partitions=[part])],
    )


async def test_another_cluster_is_refused_and_nothing_is_voted() -> None:
    async with running_node() as node:
        epoch = node.quorum.raft.epoch
        vote = await quorum_members.vote(node, ask(ApiKey.VOTE, vote_request(OTHER)))
        fetched = await quorum_members.fetch_metadata_log(
            node, ask(ApiKey.FETCH, fetch_request(OTHER))
        )
        snapshot = await quorum_members.fetch_snapshot(
            node, ask(ApiKey.FETCH_SNAPSHOT, snapshot_request(SnapshotId(1, 1), cluster_id=OTHER))
        )
        codes = [vote.error_code, fetched.error_code, snapshot.error_code]
        assert codes == [ErrorCode.INCONSISTENT_CLUSTER_ID] * 3
        assert node.quorum.raft.epoch == epoch


@pytest.mark.parametrize(
    ("request_body", "code"),
    [
        (vote_request(voter=4), ErrorCode.INVALID_VOTER_KEY),
        (vote_request(topic="t"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (m.VoteRequest(cluster_id=CLUSTER_ID, topics=[]), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
async def test_a_vote_that_is_not_for_this_voter_is_refused(
    request_body: Any, code: ErrorCode
) -> None:
    async with running_node() as node:
        answer = await quorum_members.vote(node, ask(ApiKey.VOTE, request_body))
        assert (answer.error_code, answer.topics) == (code, [])


async def fetched(node: Node, epoch: int = 1) -> m.FetchResponsePartitionData:
    request = ask(ApiKey.FETCH, fetch_request(epoch=epoch))
    answer = await quorum_members.fetch_metadata_log(node, request)
    assert answer.error_code == 0
    return answer.responses[0].partitions[0]


async def test_an_observer_is_given_the_log_and_told_who_leads() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        part = await fetched(node)
        assert (part.error_code, part.high_watermark) == (0, node.quorum.raft.high_watermark)
        assert part.current_leader is not None
        assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (1, 1)
        assert part.records
        described = quorum_members.describe_quorum_here(
            node, ask(ApiKey.DESCRIBE_QUORUM, m.DescribeQuorumRequest())
        )
        [told] = described.topics[0].partitions
        assert [each.replica_id for each in told.current_voters] == [1]
        assert [each.replica_id for each in told.observers] == [7]


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (m.FetchTopic(topic_id=b"t" * 16), ErrorCode.UNKNOWN_TOPIC_ID),
        (m.FetchTopic(topic_id=bytes(16), topic="t"), ErrorCode.UNKNOWN_TOPIC_ID),
        (m.FetchTopic(topic_id=b"t" * 16, topic=TOPIC), ErrorCode.UNKNOWN_TOPIC_ID),
        (m.FetchTopic(topic_id=bytes(16), topic=TOPIC), ErrorCode.NONE),
        (m.FetchTopic(topic_id=TOPIC_ID), ErrorCode.NONE),
    ],
)
async def test_a_fetch_of_another_topic_is_refused(topic: m.FetchTopic, code: ErrorCode) -> None:
    async with running_node() as node:
        body = fetch_request()
        topic.partitions = body.topics[0].partitions
        body.topics = [topic]
        answer = await quorum_members.fetch_metadata_log(node, ask(ApiKey.FETCH, body))
        assert (answer.error_code, bool(answer.responses)) == (code, code == ErrorCode.NONE)


async def test_a_fetch_of_another_epoch_is_told_the_right_one() -> None:
    async with running_node() as node:
        part = await fetched(node, epoch=9)
        assert part.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert part.current_leader is not None
        assert part.current_leader.leader_epoch == node.quorum.raft.epoch


def meanwhile(node: Node, deed: Callable[[], Awaitable[None]]) -> None:
    """Happens once, between what the rules say to a fetch and what is read for it."""
    ask_rules, deeds = node.quorum.ask, [deed]

    async def ask_and_do(make_event: Callable[[int], e.Event]) -> Any:
        answer = await ask_rules(make_event)
        if deeds:
            await deeds.pop()()
        return answer

    node.quorum.ask = ask_and_do  # type: ignore[method-assign]


async def test_one_that_leads_no_more_gives_no_records_under_its_old_epoch() -> None:
    async with running_node() as node:
        meanwhile(node, lambda: node.quorum.step(e.Resign()))
        part = await fetched(node)
        assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert not part.records


async def test_what_a_snapshot_takes_away_meanwhile_is_answered_with_the_snapshot() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        snapshot_id = SnapshotId(node.metadata.applied_offset, node.metadata.applied_epoch)
        image = node.metadata.image
        meanwhile(node, lambda: node.quorum.log.write_snapshot(image, snapshot_id))
        part = await fetched(node)
        assert part.error_code == ErrorCode.NONE
        assert not part.records
        assert part.snapshot_id is not None
        assert part.snapshot_id.end_offset == snapshot_id.end_offset


async def test_whoever_gives_up_asking_leaves_no_answer_behind() -> None:
    async with running_node() as node:
        async with node.quorum.stepping():
            asking = asyncio.ensure_future(fetched(node))
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.sleep(0)
        await fetched(node)
        assert asking.cancelled()
        assert not node.quorum._replies


async def snapshot_part(node: Node, request: Any) -> m.FetchSnapshotResponsePartitionSnapshot:
    answer = await quorum_members.fetch_snapshot(node, ask(ApiKey.FETCH_SNAPSHOT, request))
    assert answer.error_code == 0
    return answer.topics[0].partitions[0]


async def test_a_snapshot_is_given_in_parts_and_only_the_one_there_is() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        snapshot_id = SnapshotId(node.metadata.applied_offset, node.metadata.applied_epoch)
        await node.quorum.log.write_snapshot(node.metadata.image, snapshot_id)
        whole = await node.quorum.log.snapshots.read(snapshot_id)
        content = b""
        while len(content) < len(whole):
            request = snapshot_request(snapshot_id, len(content), max_bytes=100)
            part = await snapshot_part(node, request)
            assert (part.error_code, part.size, part.position) == (0, len(whole), len(content))
            assert 0 < len(part.unaligned_records or b"") <= 100
            content += bytes(part.unaligned_records or b"")
        assert content == whole
        beyond = await snapshot_part(node, snapshot_request(snapshot_id, len(whole) + 1))
        assert beyond.error_code == ErrorCode.POSITION_OUT_OF_RANGE
        other = await snapshot_part(node, snapshot_request(SnapshotId(1, 1)))
        assert other.error_code == ErrorCode.SNAPSHOT_NOT_FOUND
