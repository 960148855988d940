"""Names are found in the bodies of every API that carries some, in every version of it."""

from __future__ import annotations

from typing import Any

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.schema_text import schema
from harness.wire.names import Places, names_in_request, reply_places, request_places
from tests.unit.harness.wire.builders import reply, request

TOPIC_ID = bytes(range(16))
ALL_FOUR = "topic partition group transaction"

# Each body names topic t, partition 3, group g and transaction x wherever it can.
REQUESTS: dict[ApiKey, tuple[Any, str]] = {
    ApiKey.PRODUCE: (
        m.ProduceRequest(
            transactional_id="x",
            topic_data=[
                m.TopicProduceData(
                    name="t",
                    topic_id=TOPIC_ID,
                    partition_data=[m.PartitionProduceData(index=3, records=b"")],
                )
            ],
        ),
        "topic partition transaction",
    ),
    ApiKey.FETCH: (
        m.FetchRequest(
            topics=[
                m.FetchTopic(
                    topic="t", topic_id=TOPIC_ID, partitions=[m.FetchPartition(partition=3)]
                )
            ]
        ),
        "topic partition",
    ),
    ApiKey.LIST_OFFSETS: (
        m.ListOffsetsRequest(
            topics=[
                m.ListOffsetsTopic(name="t", partitions=[m.ListOffsetsPartition(partition_index=3)])
            ]
        ),
        "topic partition",
    ),
    ApiKey.METADATA: (
        m.MetadataRequest(topics=[m.MetadataRequestTopic(name="t")]),
        "topic",
    ),
    ApiKey.OFFSET_COMMIT: (
        m.OffsetCommitRequest(
            group_id="g",
            topics=[
                m.OffsetCommitRequestTopic(
                    name="t",
                    topic_id=TOPIC_ID,
                    partitions=[m.OffsetCommitRequestPartition(partition_index=3)],
                )
            ],
        ),
        "topic partition group",
    ),
    ApiKey.OFFSET_FETCH: (
        m.OffsetFetchRequest(
            group_id="g",
            topics=[m.OffsetFetchRequestTopic(name="t", partition_indexes=[3])],
            groups=[
                m.OffsetFetchRequestGroup(
                    group_id="g",
                    topics=[
                        m.OffsetFetchRequestTopics(
                            name="t", topic_id=TOPIC_ID, partition_indexes=[3]
                        )
                    ],
                )
            ],
        ),
        "topic partition group",
    ),
    ApiKey.JOIN_GROUP: (
        m.JoinGroupRequest(group_id="g", protocols=[m.JoinGroupRequestProtocol(name="t")]),
        "group",
    ),
    ApiKey.SYNC_GROUP: (m.SyncGroupRequest(group_id="g"), "group"),
    ApiKey.HEARTBEAT: (m.HeartbeatRequest(group_id="g"), "group"),
    ApiKey.LEAVE_GROUP: (m.LeaveGroupRequest(group_id="g"), "group"),
    ApiKey.DESCRIBE_GROUPS: (m.DescribeGroupsRequest(groups=["g"]), "group"),
    ApiKey.DELETE_GROUPS: (m.DeleteGroupsRequest(groups_names=["g"]), "group"),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (m.ConsumerGroupDescribeRequest(group_ids=["g"]), "group"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (
        m.ConsumerGroupHeartbeatRequest(
            group_id="g",
            topic_partitions=[
                m.ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=TOPIC_ID, partitions=[3])
            ],
        ),
        "topic partition group",
    ),
    ApiKey.INIT_PRODUCER_ID: (m.InitProducerIdRequest(transactional_id="x"), "transaction"),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        m.AddPartitionsToTxnRequest(
            transactions=[
                m.AddPartitionsToTxnTransaction(
                    transactional_id="x",
                    topics=[m.AddPartitionsToTxnTopic(name="t", partitions=[3])],
                )
            ],
            v3_and_below_transactional_id="x",
            v3_and_below_topics=[m.AddPartitionsToTxnTopic(name="t", partitions=[3])],
        ),
        "topic partition transaction",
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: (
        m.AddOffsetsToTxnRequest(transactional_id="x", group_id="g"),
        "group transaction",
    ),
    ApiKey.END_TXN: (m.EndTxnRequest(transactional_id="x"), "transaction"),
    ApiKey.WRITE_TXN_MARKERS: (
        m.WriteTxnMarkersRequest(
            markers=[
                m.WritableTxnMarker(
                    topics=[m.WritableTxnMarkerTopic(name="t", partition_indexes=[3])]
                )
            ]
        ),
        "topic partition",
    ),
    ApiKey.TXN_OFFSET_COMMIT: (
        m.TxnOffsetCommitRequest(
            transactional_id="x",
            group_id="g",
            topics=[
                m.TxnOffsetCommitRequestTopic(
                    name="t", partitions=[m.TxnOffsetCommitRequestPartition(partition_index=3)]
                )
            ],
        ),
        ALL_FOUR,
    ),
    ApiKey.CREATE_TOPICS: (
        m.CreateTopicsRequest(
            topics=[
                m.CreatableTopic(
                    name="t",
                    assignments=[m.CreatableReplicaAssignment(partition_index=3)],
                    configs=[m.CreatableTopicConfig(name="cleanup.policy", value="compact")],
                )
            ]
        ),
        "topic partition",
    ),
    ApiKey.DELETE_TOPICS: (
        m.DeleteTopicsRequest(topics=[m.DeleteTopicState(name="t")], topic_names=["t"]),
        "topic",
    ),
    ApiKey.CREATE_PARTITIONS: (
        m.CreatePartitionsRequest(topics=[m.CreatePartitionsTopic(name="t")]),
        "topic",
    ),
    ApiKey.DELETE_RECORDS: (
        m.DeleteRecordsRequest(
            topics=[
                m.DeleteRecordsTopic(
                    name="t", partitions=[m.DeleteRecordsPartition(partition_index=3)]
                )
            ]
        ),
        "topic partition",
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (
        m.OffsetForLeaderEpochRequest(
            topics=[
                m.OffsetForLeaderTopic(
                    topic="t", partitions=[m.OffsetForLeaderPartition(partition=3)]
                )
            ]
        ),
        "topic partition",
    ),
    ApiKey.ELECT_LEADERS: (
        m.ElectLeadersRequest(
            topic_partitions=[m.ElectLeadersRequestTopicPartitions(topic="t", partitions=[3])]
        ),
        "topic partition",
    ),
    ApiKey.VOTE: (
        m.VoteRequest(
            topics=[
                m.VoteRequestTopicData(
                    topic_name="t", partitions=[m.VoteRequestPartitionData(partition_index=3)]
                )
            ]
        ),
        "topic partition",
    ),
    ApiKey.FETCH_SNAPSHOT: (
        m.FetchSnapshotRequest(
            topics=[
                m.FetchSnapshotRequestTopicSnapshot(
                    name="t", partitions=[m.FetchSnapshotRequestPartitionSnapshot(partition=3)]
                )
            ]
        ),
        "topic partition",
    ),
    ApiKey.ALTER_PARTITION: (
        m.AlterPartitionRequest(
            topics=[
                m.AlterPartitionRequestTopicData(
                    topic_id=TOPIC_ID,
                    partitions=[m.AlterPartitionRequestPartitionData(partition_index=3)],
                )
            ]
        ),
        "topic partition",
    ),
}


def name_of(topic_id: bytes) -> str | None:
    return "t" if topic_id == TOPIC_ID else None


@pytest.mark.parametrize("key", REQUESTS, ids=lambda key: key.name)
def test_a_request_is_known_by_what_it_names(key: ApiKey) -> None:
    body, expected = REQUESTS[key]
    first, last = API_VERSIONS[key]
    for version in range(first, last + 1):
        names = request(key, version, body).names
        found = {
            "topic": names.has_topic("t", None, name_of),
            "partition": names.has_topic("t", 3, name_of),
            "group": names.groups == ("g",),
            "transaction": names.transactional_ids == ("x",),
        }
        assert " ".join(kind for kind, there in found.items() if there) == expected, version
        assert not names.has_topic("t", 4, name_of)
        assert not names.has_topic("other", None, name_of)


def all_places(places: Places) -> list[str]:
    own = (places.topics, places.partitions, places.groups, places.transactional_ids)
    return [name for names in own for name in names] + [
        f"{field}.{name}" for field, inner in places.inner for name in all_places(inner)
    ]


def test_a_name_is_a_topic_only_where_kafka_means_one() -> None:
    innocent = ("configs.", "listeners.", "features.", "protocols.", "endpoints.", "nodes.")
    for key, api in schema().apis.items():
        for version in api.versions:
            found = all_places(request_places(key, version)) + all_places(
                reply_places(key, version)
            )
            assert [path for path in found if any(part in path for part in innocent)] == []


def test_a_fetch_that_forgets_a_partition_does_not_read_it() -> None:
    body = m.FetchRequest(forgotten_topics_data=[m.ForgottenTopic(topic="t", partitions=[3])])
    assert names_in_request(ApiKey.FETCH, 12, body).topics == {}


@pytest.mark.parametrize("version", range(7))
def test_a_coordinator_is_looked_for_by_group_or_transaction(version: int) -> None:
    for key_type, expected in ((0, (("k",), ())), (1, ((), ("k",)))):
        if version == 0 and key_type == 1:
            continue  # knows groups only
        body = m.FindCoordinatorRequest(key="k", key_type=key_type, coordinator_keys=["k"])
        names = request(ApiKey.FIND_COORDINATOR, version, body).names
        assert (names.groups, names.transactional_ids) == expected


def test_a_reply_is_known_by_its_request_for_what_it_never_says() -> None:
    asked = m.EndTxnRequest(transactional_id="x")
    assert reply(ApiKey.END_TXN, 3, asked, m.EndTxnResponse()).names.transactional_ids == ("x",)
    beat = reply(ApiKey.HEARTBEAT, 4, m.HeartbeatRequest(group_id="g"), m.HeartbeatResponse())
    assert beat.names.groups == ("g",)


def test_a_reply_that_can_name_topics_has_only_those_it_names() -> None:
    asked, _ = REQUESTS[ApiKey.FETCH]
    nothing_new = reply(ApiKey.FETCH, 12, asked, m.FetchResponse(responses=[]))
    assert not nothing_new.names.has_topic("t", None, name_of)
    news = m.FetchResponse(
        responses=[
            m.FetchableTopicResponse(
                topic="t", partitions=[m.FetchResponsePartitionData(partition_index=3)]
            )
        ]
    )
    assert reply(ApiKey.FETCH, 12, asked, news).names.has_topic("t", 3, name_of)


def test_all_topics_are_named_by_the_reply_alone() -> None:
    answered = m.MetadataResponse(
        topics=[
            m.MetadataResponseTopic(
                name="t", partitions=[m.MetadataResponsePartition(partition_index=3)]
            )
        ]
    )
    found = reply(ApiKey.METADATA, 12, m.MetadataRequest(topics=None), answered)
    assert found.names.has_topic("t", 3, name_of)
