"""Every admin answer can be written, and read again, in every version that is advertised."""

import inspect
from typing import Any

import pytest

from broker.api.table import API_TABLE
from broker.disk.interface import FileSlice
from broker.metadata.ids import ZERO_ID
from broker.node import Node
from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from tests.unit.broker.api.nodes import append, ask, create_topic, running_node

_CONFIG: dict[str, Any] = {"resource_type": 2, "resource_name": "t"}


# Each is answered with both success and failure wherever its API has room for both.
_REQUESTS: dict[ApiKey, Any] = {
    ApiKey.METADATA: m.MetadataRequest(
        topics=[m.MetadataRequestTopic(name="t"), m.MetadataRequestTopic(name="nope")]
    ),
    ApiKey.FIND_COORDINATOR: m.FindCoordinatorRequest(key="g", coordinator_keys=["g", "h"]),
    ApiKey.LIST_GROUPS: m.ListGroupsRequest(),
    ApiKey.DESCRIBE_GROUPS: m.DescribeGroupsRequest(groups=["g"]),
    ApiKey.DELETE_GROUPS: m.DeleteGroupsRequest(groups_names=["g"]),
    ApiKey.OFFSET_DELETE: m.OffsetDeleteRequest(group_id="g", topics=[]),
    ApiKey.OFFSET_FETCH: m.OffsetFetchRequest(
        topics=[m.OffsetFetchRequestTopic(name="t", partition_indexes=[0])],
        groups=[
            m.OffsetFetchRequestGroup(
                group_id="g",
                topics=[
                    m.OffsetFetchRequestTopics(name="t", topic_id=ZERO_ID, partition_indexes=[0])
                ],
            )
        ],
    ),
    ApiKey.OFFSET_COMMIT: m.OffsetCommitRequest(
        topics=[
            m.OffsetCommitRequestTopic(
                name="t",
                topic_id=ZERO_ID,
                partitions=[
                    m.OffsetCommitRequestPartition(partition_index=0, committed_metadata="")
                ],
            )
        ]
    ),
    ApiKey.JOIN_GROUP: m.JoinGroupRequest(protocols=[]),
    ApiKey.SYNC_GROUP: m.SyncGroupRequest(assignments=[]),
    ApiKey.HEARTBEAT: m.HeartbeatRequest(),
    ApiKey.LEAVE_GROUP: m.LeaveGroupRequest(members=[]),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: m.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=1
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: m.ConsumerGroupDescribeRequest(group_ids=["g", ""]),
    ApiKey.DESCRIBE_GROUPS: m.DescribeGroupsRequest(groups=["g", "nope"]),
    ApiKey.DELETE_GROUPS: m.DeleteGroupsRequest(groups_names=["g", "nope"]),
    ApiKey.API_VERSIONS: m.ApiVersionsRequest(
        client_software_name="x", client_software_version="1"
    ),
    ApiKey.CREATE_TOPICS: m.CreateTopicsRequest(
        topics=[
            m.CreatableTopic(name="new", num_partitions=1, replication_factor=1),
            m.CreatableTopic(name="t", num_partitions=1, replication_factor=1),
        ],
        validate_only=True,
    ),
    ApiKey.DELETE_TOPICS: m.DeleteTopicsRequest(
        topics=[
            m.DeleteTopicState(name="nope", topic_id=ZERO_ID),
            m.DeleteTopicState(name=None, topic_id=b"\x01" * 16),
        ],
        topic_names=["nope"],
    ),
    ApiKey.DELETE_RECORDS: m.DeleteRecordsRequest(
        topics=[
            m.DeleteRecordsTopic(
                name="t", partitions=[m.DeleteRecordsPartition(partition_index=0, offset=1)]
            )
        ]
    ),
    ApiKey.INIT_PRODUCER_ID: m.InitProducerIdRequest(transactional_id=None),
    ApiKey.ADD_PARTITIONS_TO_TXN: m.AddPartitionsToTxnRequest(
        transactions=[
            m.AddPartitionsToTxnTransaction(
                transactional_id="x",
                topics=[m.AddPartitionsToTxnTopic(name="t", partitions=[0, 9])],
            )
        ],
        v3_and_below_transactional_id="x",
        v3_and_below_topics=[m.AddPartitionsToTxnTopic(name="t", partitions=[0, 9])],
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: m.AddOffsetsToTxnRequest(transactional_id="x", group_id="g"),
    ApiKey.END_TXN: m.EndTxnRequest(transactional_id="x"),
    ApiKey.DESCRIBE_TRANSACTIONS: m.DescribeTransactionsRequest(transactional_ids=["x", ""]),
    ApiKey.LIST_TRANSACTIONS: m.ListTransactionsRequest(state_filters=["Empty", "nope"]),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: m.OffsetForLeaderEpochRequest(
        topics=[
            m.OffsetForLeaderTopic(
                topic="t", partitions=[m.OffsetForLeaderPartition(partition=0, leader_epoch=0)]
            )
        ]
    ),
    ApiKey.DESCRIBE_ACLS: m.DescribeAclsRequest(),
    ApiKey.DESCRIBE_CONFIGS: m.DescribeConfigsRequest(
        resources=[
            m.DescribeConfigsResource(**_CONFIG, configuration_keys=None),
            m.DescribeConfigsResource(resource_type=4, resource_name="1"),
            m.DescribeConfigsResource(resource_type=2, resource_name="nope"),
        ],
        include_synonyms=True,
        include_documentation=True,
    ),
    ApiKey.ALTER_CONFIGS: m.AlterConfigsRequest(
        resources=[m.AlterConfigsRequestAlterConfigsResource(**_CONFIG, configs=[])]
    ),
    ApiKey.ALTER_REPLICA_LOG_DIRS: m.AlterReplicaLogDirsRequest(
        dirs=[
            m.AlterReplicaLogDir(
                path="data", topics=[m.AlterReplicaLogDirTopic(name="t", partitions=[0, 9])]
            )
        ]
    ),
    ApiKey.DESCRIBE_LOG_DIRS: m.DescribeLogDirsRequest(topics=None),
    ApiKey.CREATE_PARTITIONS: m.CreatePartitionsRequest(
        topics=[m.CreatePartitionsTopic(name="t", count=1, assignments=None)]
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: m.IncrementalAlterConfigsRequest(
        resources=[m.IncrementalAlterConfigsRequestAlterConfigsResource(**_CONFIG, configs=[])]
    ),
    ApiKey.ELECT_LEADERS: m.ElectLeadersRequest(
        topic_partitions=[m.ElectLeadersRequestTopicPartitions(topic="t", partitions=[0, 9])]
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: m.AlterPartitionReassignmentsRequest(
        topics=[
            m.ReassignableTopic(
                name="t",
                partitions=[
                    m.ReassignablePartition(partition_index=0, replicas=None),
                    m.ReassignablePartition(partition_index=1, replicas=[1]),
                ],
            )
        ]
    ),
    ApiKey.DESCRIBE_QUORUM: m.DescribeQuorumRequest(
        topics=[
            m.DescribeQuorumRequestTopicData(
                topic_name="__cluster_metadata",
                partitions=[m.DescribeQuorumRequestPartitionData(partition_index=0)],
            )
        ]
    ),
    ApiKey.WRITE_TXN_MARKERS: m.WriteTxnMarkersRequest(
        markers=[
            m.WritableTxnMarker(
                producer_id=3,
                producer_epoch=0,
                transaction_result=True,
                topics=[m.WritableTxnMarkerTopic(name="t", partition_indexes=[0, 9])],
                coordinator_epoch=0,
            )
        ]
    ),
    ApiKey.TXN_OFFSET_COMMIT: m.TxnOffsetCommitRequest(
        transactional_id="x",
        group_id="g",
        producer_id=3,
        producer_epoch=0,
        topics=[
            m.TxnOffsetCommitRequestTopic(
                name="t",
                partitions=[m.TxnOffsetCommitRequestPartition(partition_index=0)],
            )
        ],
    ),
    ApiKey.UNREGISTER_BROKER: m.UnregisterBrokerRequest(broker_id=9),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: m.ListPartitionReassignmentsRequest(topics=None),
    ApiKey.DESCRIBE_CLUSTER: m.DescribeClusterRequest(),
    ApiKey.DESCRIBE_PRODUCERS: m.DescribeProducersRequest(
        topics=[m.DescribeProducersRequestTopicRequest(name="t", partition_indexes=[0, 9])]
    ),
    ApiKey.LIST_CONFIG_RESOURCES: m.ListConfigResourcesRequest(),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: m.DescribeTopicPartitionsRequest(
        topics=[], response_partition_limit=1, cursor=None
    ),
}

_DATA_PATH = (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS)


def _bytes(chunks: list[Any]) -> bytes:
    return b"".join(bytes(c.read() if isinstance(c, FileSlice) else c) for c in chunks)


async def _round(node: Node, key: ApiKey, version: int, body: Any) -> None:
    written = _bytes(codec.encode_request(key, version, body))
    decoded, end = codec.decode_request(key, version, memoryview(written), 0)
    assert end == len(written)
    answer = API_TABLE[key].handler(node, ask(key, decoded, version))
    if inspect.isawaitable(answer):
        answer = await answer
    sent = _bytes(codec.encode_response(key, version, answer))
    again, end = codec.decode_response(key, version, memoryview(sent), 0)
    assert end == len(sent)
    assert _bytes(codec.encode_response(key, version, again)) == sent


@pytest.mark.parametrize("key", [ApiKey(key) for key in API_TABLE if key not in _DATA_PATH])
async def test_an_answer_is_written_in_every_version(key: ApiKey) -> None:
    async with running_node() as node:
        await create_topic(node, "t", 2)
        append(node, "t", 3)
        body = _REQUESTS[key]
        for version in range(API_TABLE[key].version_min, API_TABLE[key].version_max + 1):
            await _round(node, key, version, body)
