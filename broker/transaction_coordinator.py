"""The transaction coordinator of a node: the shards of `__transaction_state`, by transactional id.

The machines decide. Here their decisions meet the cluster: producer ids come from the controller,
markers go to the brokers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from broker.coordination.internal_topics import InternalTopic
from broker.coordination.keyed_shards import KeyedShards
from broker.coordination.shards import Shards
from broker.coordination.step import Now, Step, Ticket
from broker.coordination.surroundings import ShardSettings, Surroundings
from broker.marker_targets import MarkerTargets
from broker.metadata.image import TopicInfo
from broker.metadata.internal_topics import TRANSACTIONS_TOPIC
from broker.partition import Partition
from broker.peers.channel import UnansweredError
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transaction_ends import TransactionEnds
from broker.transaction_events import tell_of_step
from broker.transaction_figures import TransactionFigures, count_step, look_at_transactions
from broker.transactions.initialising import NeedsProducerId
from broker.transactions.machine import TransactionMachine
from broker.transactions.settings import TransactionSettings

if TYPE_CHECKING:
    from broker.config.broker import BrokerConfig
    from broker.node import Node

RunWithId = Callable[[TransactionMachine, Ticket, Now, int | None], Step]


class TransactionCoordinator:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._targets = MarkerTargets(node)
        self.shards = Shards(TRANSACTIONS_TOPIC, self.make_machine, self._surroundings)
        self.by_id = KeyedShards(self.shards, lambda: self.topic)
        self._ends = TransactionEnds(self._targets, node.spawn)

    def make_machine(self) -> TransactionMachine:
        """One that has seen no record yet."""
        return TransactionMachine(transaction_settings(self._node.config))

    def _surroundings(self) -> Surroundings:
        config = self._node.config
        return Surroundings(
            self._node.world.clock,
            self._node.spawn,
            ShardSettings(
                load_buffer_bytes=config.transaction_state_log_load_buffer_size,
                commit_timeout_s=config.request_timeout_ms / 1000,
            ),
            self._decided,
        )

    # Requests

    async def submit_with_id(self, transactional_id: str, run: RunWithId) -> Any:
        """The reply of the machine, which is asked again with a new producer id if it needs one.

        Raises KafkaError when this node cannot answer.
        """
        answer = await self.by_id.submit(
            transactional_id, lambda machine, ticket, now: run(machine, ticket, now, None)
        )
        if not isinstance(answer, NeedsProducerId):
            return answer
        try:
            fresh_id = await self._node.producer_ids.next()
        except UnansweredError as problem:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(problem)) from problem
        return await self.by_id.submit(
            transactional_id, lambda machine, ticket, now: run(machine, ticket, now, fresh_id)
        )

    async def look(self) -> TransactionFigures:
        """Figures of the transactions that are open, for /metrics."""
        return await look_at_transactions(self._node)

    @property
    def topic(self) -> TopicInfo | None:
        return self._node.metadata.image.topic(TRANSACTIONS_TOPIC)

    def topic_to_create(self) -> InternalTopic:
        """What Kafka makes of `__transaction_state` when the first producer asks for it."""
        config = self._node.config
        return InternalTopic(
            name=TRANSACTIONS_TOPIC,
            partition_count=config.transaction_state_log_num_partitions,
            replication_factor=config.transaction_state_log_replication_factor,
            configs={
                "unclean.leader.election.enable": "false",
                "compression.type": "uncompressed",
                "cleanup.policy": "compact",
                "min.insync.replicas": str(config.transaction_state_log_min_isr),
                "segment.bytes": str(config.transaction_state_log_segment_bytes),
            },
        )

    # What happens

    def role_changed(self, partition: Partition, is_held: bool) -> None:
        self.shards.role_changed(partition, is_held)
        if partition.topic == TRANSACTIONS_TOPIC:
            self._ends.shards_changed()

    def close(self) -> None:
        self.shards.close()
        self._ends.close()
        self._targets.close()

    def _decided(self, partition: Partition, step: Step) -> None:
        tell_of_step(partition, step)
        shard = self.shards.find(partition.index)
        if shard is not None:
            count_step(self._node.metrics, shard.machine, step)
            self._ends.step_taken(shard, step)


def transaction_settings(config: BrokerConfig) -> TransactionSettings:
    return TransactionSettings(
        max_timeout_ms=config.transaction_max_timeout_ms,
        id_expiration_ms=config.transactional_id_expiration_ms,
        timeout_check_interval_ms=(
            config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        ),
        expiry_check_interval_ms=(
            config.transaction_remove_expired_transaction_cleanup_interval_ms
        ),
    )
