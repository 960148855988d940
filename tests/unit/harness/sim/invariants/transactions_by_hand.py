"""A cluster at rest in which one producer has committed a transaction, to be damaged by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from broker.coordination.step import CoordinatorRecord
from broker.inspect import TRANSACTIONS_TOPIC
from broker.network.interface import Address
from broker.partition import Partition
from broker.protocol.batch import TRANSACTIONAL
from broker.protocol.control import EndTransactionMarker, build_marker_batch
from broker.protocol.errors import ErrorCode
from broker.protocol.records import Record, build_batch
from broker.transactions import records
from broker.transactions.transaction import Transaction
from harness.native.client import Client
from harness.native.errors import BrokerError
from harness.native.produce_queue import Delivered, Identity
from harness.native.settings import ClientSettings
from harness.native.versions import versions_of
from harness.sim.invariants.base import Invariant
from harness.sim.nodes import PORT
from harness.sim.processes import SimProcess
from harness.sim.run import transaction_properties
from harness.sim.simulation import Simulation
from tests.unit.harness.sim.invariants.cluster_by_hand import COUNT, RECORDS, ClusterByHand

NAME = "a"
TIME_MS = 1_700_000_000_000


class TransactionsByHand(ClusterByHand):
    """`t-0` has the records of ClusterByHand and one of a transaction of the first protocol, with
    its marker."""

    identity: Identity

    async def begin(self) -> None:
        await super().begin()
        await SimProcess(self.simulation, "c2").start(self._transact())

    async def _transact(self) -> None:
        client = Client(
            self.simulation.network.of("c2"),
            [Address(name, PORT) for name in self.cluster.nodes],
            random=self.simulation.decisions.random("client", "c2"),
            now_ms=lambda: TIME_MS,
            settings=ClientSettings(versions=versions_of("EndTxn=4", 0, "c2")),
        )
        producer = client.transactional_producer(NAME)
        self.identity = await producer.init()
        producer.begin()
        sent = producer.submit("t", 0, [(None, b"in a transaction")])
        await producer.commit()
        assert sent.result() == Delivered(RECORDS)
        # The marker is written after the commit is answered; and the end after the marker.
        await client.retried(lambda: _is_over(self))
        await client.close()

    # Damage

    def write(self, node_id: int, *, epoch: int, sequence: int, transactional: bool = True) -> None:
        """A batch of the producer, past all rules."""
        log = self.partition(node_id).log
        batch = build_batch(
            [Record(log.end_offset, TIME_MS, None, b"x")],
            leader_epoch=self.partition(node_id).leader_epoch,
            producer_id=self.identity.producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            attributes=TRANSACTIONAL if transactional else 0,
        )
        log.append_replicated(memoryview(bytes(batch)))

    def mark(self, node_id: int, *, epoch: int, committed: bool, coordinator_epoch: int) -> None:
        log = self.partition(node_id).log
        batch = build_marker_batch(
            EndTransactionMarker(committed, coordinator_epoch),
            producer_id=self.identity.producer_id,
            producer_epoch=epoch,
            time_ms=TIME_MS,
            base_offset=log.end_offset,
            leader_epoch=self.partition(node_id).leader_epoch,
        )
        log.append_replicated(memoryview(bytes(batch)))

    # The coordinator

    @property
    def coordinator(self) -> int:
        return next(
            each
            for each in range(1, COUNT + 1)
            if self.coordinator_partition(each).leader is not None
        )

    def coordinator_partition(self, node_id: int) -> Partition:
        partition = self.node(node_id).partitions.find(TRANSACTIONS_TOPIC, 0)
        assert partition is not None
        return partition

    @property
    def transaction(self) -> Transaction:
        shard = self.node(self.coordinator).transactions.shards.find(0)
        assert shard is not None
        return shard.machine.transactions[NAME]

    def decide_transaction(self, **changes: object) -> None:
        """The coordinator writes what it should not, and it is committed."""
        self.record(records.record(replace(self.transaction, **changes)))  # type: ignore[arg-type]

    def batch_of(self, partition: Partition, record: CoordinatorRecord) -> bytes:
        return bytes(
            build_batch(
                [Record(partition.log.end_offset, TIME_MS, record.key, record.value)],
                leader_epoch=partition.leader_epoch,
            )
        )

    def record(self, record: CoordinatorRecord) -> None:
        node_id = self.coordinator
        partition = self.coordinator_partition(node_id)
        log = partition.log
        log.append_replicated(memoryview(self.batch_of(partition, record)))
        log.high_watermark = log.end_offset
        assert partition.leader is not None
        partition.leader.high_watermark = log.end_offset
        self.tell("high_watermark", node_id, topic=TRANSACTIONS_TOPIC)


async def _is_over(cluster: TransactionsByHand) -> None:
    log = cluster.coordinator_partition(cluster.coordinator).log
    if not cluster.transaction.state.is_idle or log.high_watermark < log.end_offset:
        raise BrokerError(ErrorCode.CONCURRENT_TRANSACTIONS)


@contextmanager
def transactions_by_hand(
    invariant: Invariant, properties: Mapping[str, str] | None = None
) -> Iterator[TransactionsByHand]:
    with Simulation(1) as simulation:
        made = TransactionsByHand(
            simulation,
            invariant,
            {"min.insync.replicas": "2", **transaction_properties(COUNT), **(properties or {})},
        )
        simulation.run(made.begin(), deadline_s=60.0)
        yield made
