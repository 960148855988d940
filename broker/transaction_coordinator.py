"""The transaction coordinator of a node: the shards of `__transaction_state`, by transactional id.

The machines decide. Here their decisions meet the cluster: producer ids come from the controller,
markers go to the brokers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from broker.coordination.internal_topics import InternalTopic
from broker.coordination.keyed_shards import KeyedShards, reply_of
from broker.coordination.shard import Shard, ShardSettings, ShardState, Surroundings
from broker.coordination.shards import Shards
from broker.coordination.step import Now, Step, Ticket
from broker.marker_targets import MarkerTargets
from broker.metadata.image import TopicInfo
from broker.metadata.internal_topics import TRANSACTIONS_TOPIC
from broker.partition import Partition
from broker.peers.channel import UnansweredError
from broker.protocol.errors import ErrorCode, KafkaError
from broker.transaction_events import tell_of_step
from broker.transaction_markers import Outgoing, TransactionMarkers
from broker.transactions.initialising import NeedsProducerId
from broker.transactions.machine import TransactionMachine
from broker.transactions.settings import TransactionSettings
from broker.transactions.transaction import Transaction

if TYPE_CHECKING:
    from broker.config.broker import BrokerConfig
    from broker.node import Node

_log = logging.getLogger(__name__)

_RETRY_S = 0.1

_Shard = Shard[TransactionMachine]
RunWithId = Callable[[TransactionMachine, Ticket, Now, int | None], Step]


class TransactionCoordinator:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._targets = MarkerTargets(node)
        self.shards = Shards(TRANSACTIONS_TOPIC, self.make_machine, self._surroundings)
        self.by_id = KeyedShards(self.shards, lambda: self.topic)
        self._markers = TransactionMarkers(self._targets, node.spawn)
        self._looking: dict[_Shard, None] = {}
        self._sending: dict[tuple[_Shard, str, int, int], None] = {}
        """Prepared transactions by shard, transactional id, producer id and epoch."""

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
            self._sending = {
                key: None for key in self._sending if key[0].state is not ShardState.CLOSED
            }

    def close(self) -> None:
        self.shards.close()
        self._markers.close()
        self._targets.close()

    # Markers

    def _decided(self, partition: Partition, step: Step) -> None:
        """With every step. One that writes may have prepared a transaction; one that neither
        writes nor replies may be the first after a load, which finds them prepared."""
        tell_of_step(partition, step)
        shard = self.shards.find(partition.index)
        if shard is None or shard in self._looking or (step.replies and not step.records):
            return
        if shard.machine.has_prepared:
            self._looking[shard] = None
            self._node.spawn(self._look(shard))

    async def _look(self, shard: _Shard) -> None:
        """Sends the markers of what is prepared and committed."""
        while shard.state is ShardState.ACTIVE:
            # Before the question: what is decided after it needs a look of its own.
            self._looking.pop(shard, None)
            try:
                prepared = await reply_of(
                    shard.ask(lambda machine, ticket, _: machine.prepared(ticket))
                )
            except KafkaError as problem:
                _log.info("%d: no markers are sent yet: %s", shard.partition.index, problem)
                if shard in self._looking:
                    return
                self._looking[shard] = None
                await asyncio.sleep(_RETRY_S)
                continue
            for each in prepared:
                self._send(shard, each)
            return
        self._looking.pop(shard, None)

    def _send(self, shard: _Shard, transaction: Transaction) -> None:
        key = (shard, transaction.transactional_id, *transaction.identity)
        if key in self._sending:
            return
        self._sending[key] = None

        def done() -> None:
            self._node.spawn(self._complete(shard, transaction))

        self._markers.send(
            Outgoing(
                transaction,
                shard.partition.index,
                shard.leader_epoch,
                lambda: shard.state is ShardState.CLOSED,
                done,
                dict(transaction.partitions),
            )
        )

    async def _complete(self, shard: _Shard, transaction: Transaction) -> None:
        """Until it is written, or another coordinator has to do it."""
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        while code and shard.state is not ShardState.CLOSED:
            try:
                code = await reply_of(
                    shard.ask(
                        lambda machine, ticket, now: machine.complete(ticket, transaction, now)
                    )
                )
            except KafkaError as problem:
                code = problem.code
            if code:
                await asyncio.sleep(_RETRY_S)
        self._sending.pop((shard, transaction.transactional_id, *transaction.identity), None)


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
