"""Administration: one thin call for each thing that one may ask of a cluster.

A call is made again only when the broker has not done it: it was not reached, or is not the
controller. Any other error goes to the caller, who sees by `is_definite` whether it may be done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.errors import BrokerError, ClientError, check, known_code
from harness.native.metadata import ClusterView, TopicView

if TYPE_CHECKING:
    from harness.native.client import Client

PREFERRED = 0
UNCLEAN = 1

_TOPIC_RESOURCE = 2
_SET = 0
_DELETE = 1

METADATA_TOPIC = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    cluster_id: str
    controller_id: int
    brokers: dict[int, Address]
    fenced: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    node_id: int
    log_end_offset: int


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


class Admin:
    """`Client.admin`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
        assignment: Mapping[int, Sequence[int]] | None = None,
    ) -> bytes:
        """The new topic's id. `assignment` names the replicas of each partition itself."""
        topic = m.CreatableTopic(
            name=name,
            num_partitions=-1 if assignment else partitions,
            replication_factor=-1 if assignment else replication_factor,
            assignments=[
                m.CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
                for index, replicas in sorted((assignment or {}).items())
            ],
            configs=[
                m.CreatableTopicConfig(name=key, value=value)
                for key, value in (configs or {}).items()
            ],
        )
        body = m.CreateTopicsRequest(topics=[topic], timeout_ms=self._timeout_ms)
        (created,) = (await self._ask_controller(ApiKey.CREATE_TOPICS, body)).topics
        check(created.error_code, created.error_message, place=name)
        self._client.metadata.invalidate()
        topic_id: bytes = created.topic_id
        return topic_id

    async def create_partitions(self, name: str, count: int) -> None:
        """So many in all."""
        topic = m.CreatePartitionsTopic(name=name, count=count, assignments=None)
        body = m.CreatePartitionsRequest(topics=[topic], timeout_ms=self._timeout_ms)
        (grown,) = (await self._ask_controller(ApiKey.CREATE_PARTITIONS, body)).results
        check(grown.error_code, grown.error_message, place=name)
        self._client.metadata.invalidate()

    async def delete_topic(self, name: str) -> None:
        body = m.DeleteTopicsRequest(
            topics=[m.DeleteTopicState(name=name)], topic_names=[name], timeout_ms=self._timeout_ms
        )
        (deleted,) = (await self._ask_controller(ApiKey.DELETE_TOPICS, body)).responses
        check(deleted.error_code, deleted.error_message, place=name)
        self._client.metadata.invalidate()

    async def alter_topic(self, name: str, configs: Mapping[str, str | None]) -> None:
        """None takes the topic's own setting away."""
        resource = m.IncrementalAlterConfigsRequestAlterConfigsResource(
            resource_type=_TOPIC_RESOURCE,
            resource_name=name,
            configs=[
                m.IncrementalAlterConfigsRequestAlterableConfig(
                    name=key, config_operation=_DELETE if value is None else _SET, value=value
                )
                for key, value in configs.items()
            ],
        )
        body = m.IncrementalAlterConfigsRequest(resources=[resource])
        answer = await self._ask_controller(ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
        (altered,) = answer.responses
        check(altered.error_code, altered.error_message, place=name)

    async def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Asks the leader, and again until one has done it: a second time changes nothing."""

        async def attempt() -> None:
            leader = await self._client.metadata.leader(topic, partition)
            asked = m.DeleteRecordsTopic(
                name=topic,
                partitions=[m.DeleteRecordsPartition(partition_index=partition, offset=before)],
            )
            body = m.DeleteRecordsRequest(topics=[asked], timeout_ms=self._timeout_ms)
            answer = await self._client.nodes.ask(leader.node_id, ApiKey.DELETE_RECORDS, body)
            (done,) = answer.topics[0].partitions
            check(done.error_code, place=f"{topic}-{partition}")

        await self._client.retried(attempt)

    async def describe_topic(self, name: str, *, node: int | None = None) -> TopicView:
        """As `node` sees it, or the first that answers."""
        if node is not None:
            await self._client.make_known(node)
            view = await self._client.metadata.view(node, [name])
        else:
            view = await self._client.retried(lambda: self._view_of_anyone(name))
        if name in view.errors:
            raise BrokerError(view.errors[name], place=name)
        return view.topics[name]

    async def elect_leaders(
        self, partitions: Sequence[tuple[str, int]] | None = None, *, election: int = PREFERRED
    ) -> dict[tuple[str, int], ErrorCode]:
        """What became of each partition; None asks for all of them."""
        asked = None
        if partitions is not None:
            asked = [
                m.ElectLeadersRequestTopicPartitions(topic=topic, partitions=indexes)
                for topic, indexes in _by_topic(partitions).items()
            ]
        body = m.ElectLeadersRequest(
            election_type=election, topic_partitions=asked, timeout_ms=self._timeout_ms
        )
        answer = await self._ask_controller(ApiKey.ELECT_LEADERS, body)
        check(answer.error_code, place="ElectLeaders")
        return {
            (topic.topic, part.partition_id): known_code(part.error_code)
            for topic in answer.replica_election_results
            for part in topic.partition_result
        }

    async def alter_partition_reassignments(
        self, wanted: Mapping[tuple[str, int], Sequence[int] | None]
    ) -> dict[tuple[str, int], ErrorCode]:
        """The replicas each partition shall have; None calls a reassignment off."""
        topics = [
            m.ReassignableTopic(
                name=topic,
                partitions=[
                    m.ReassignablePartition(
                        partition_index=index, replicas=_list(wanted[topic, index])
                    )
                    for index in indexes
                ],
            )
            for topic, indexes in _by_topic(list(wanted)).items()
        ]
        body = m.AlterPartitionReassignmentsRequest(timeout_ms=self._timeout_ms, topics=topics)
        answer = await self._ask_controller(ApiKey.ALTER_PARTITION_REASSIGNMENTS, body)
        check(answer.error_code, answer.error_message, place="AlterPartitionReassignments")
        return {
            (topic.name, part.partition_index): known_code(part.error_code)
            for topic in answer.responses
            for part in topic.partitions
        }

    async def describe_quorum(self) -> QuorumDescription:
        asked = m.DescribeQuorumRequestPartitionData(partition_index=0)
        body = m.DescribeQuorumRequest(
            topics=[m.DescribeQuorumRequestTopicData(topic_name=METADATA_TOPIC, partitions=[asked])]
        )
        answer = await self._ask_controller(ApiKey.DESCRIBE_QUORUM, body)
        check(answer.error_code, answer.error_message, place="DescribeQuorum")
        (part,) = answer.topics[0].partitions
        check(part.error_code, part.error_message, place="DescribeQuorum")
        return QuorumDescription(
            part.leader_id,
            part.leader_epoch,
            part.high_watermark,
            _replicas(part.current_voters),
            _replicas(part.observers),
        )

    async def describe_cluster(self, *, node: int | None = None) -> ClusterDescription:
        body = m.DescribeClusterRequest(include_fenced_brokers=True)
        if node is not None:
            await self._client.make_known(node)
            answer = await self._client.nodes.ask(node, ApiKey.DESCRIBE_CLUSTER, body)
        else:
            answer = await self._client.ask_anyone(ApiKey.DESCRIBE_CLUSTER, body)
        check(answer.error_code, answer.error_message, place="DescribeCluster")
        return ClusterDescription(
            answer.cluster_id,
            answer.controller_id,
            {each.broker_id: Address(each.host, each.port) for each in answer.brokers},
            tuple(each.broker_id for each in answer.brokers if each.is_fenced),
        )

    @property
    def _timeout_ms(self) -> int:
        return int(self._client.settings.request_timeout_s * 1000)

    async def _view_of_anyone(self, name: str) -> ClusterView:
        last: ClientError | None = None
        for node_id in self._client.nodes.candidates():
            try:
                return await self._client.metadata.view(node_id, [name])
            except ClientError as error:
                last = error
        assert last is not None, "there is a bootstrap address at least"
        raise last

    async def _ask_controller(self, key: ApiKey, body: Any) -> Any:
        async def attempt() -> Any:
            node_id = await self._client.metadata.controller()
            answer = await self._client.nodes.ask(node_id, key, body)
            if ErrorCode.NOT_CONTROLLER in _codes(answer):
                raise BrokerError(ErrorCode.NOT_CONTROLLER, place=f"node {node_id}")
            return answer

        return await self._client.retried(attempt, may_be_done_twice=False)


def _codes(answer: Any) -> list[int]:
    """Of the whole answer and of the topics in it; which of them there are depends on the API."""
    named = ("topics", "responses", "results")
    parts = [answer, *(part for name in named for part in getattr(answer, name, ()))]
    return [part.error_code for part in parts if hasattr(part, "error_code")]


def _by_topic(partitions: Sequence[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, index in partitions:
        found.setdefault(topic, []).append(index)
    return found


def _list(replicas: Sequence[int] | None) -> list[int] | None:
    return None if replicas is None else list(replicas)


def _replicas(states: Sequence[m.DescribeQuorumResponseReplicaState]) -> tuple[QuorumReplica, ...]:
    return tuple(QuorumReplica(each.replica_id, each.log_end_offset) for each in states)
