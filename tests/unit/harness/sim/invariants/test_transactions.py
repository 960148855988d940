"""The invariants of transactions hold in a cluster that is well, and each finds its own damage."""

from __future__ import annotations

import pytest

from broker.inspect import TRANSACTIONS_TOPIC
from broker.transactions import records
from broker.transactions.state import TransactionState
from harness.sim.invariants.base import Invariant
from harness.sim.invariants.decided_transactions import DecidedTransactions
from harness.sim.invariants.equal_compaction import EqualCompaction
from harness.sim.invariants.known_transactions import KnownTransactions
from harness.sim.invariants.last_stable import LastStable
from harness.sim.invariants.markers_everywhere import MarkersEverywhere
from harness.sim.invariants.owned_producers import OwnedProducers
from harness.sim.invariants.sequences_follow import SequencesFollow
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks
from tests.unit.harness.sim.invariants.transactions_by_hand import transactions_by_hand


@pytest.mark.parametrize(
    "rule",
    [
        DecidedTransactions(),
        KnownTransactions(),
        LastStable(),
        MarkersEverywhere(),
        OwnedProducers(),
        SequencesFollow(),
    ],
    ids=lambda rule: rule.name,
)
def test_in_a_cluster_that_is_well_there_is_something_to_compare(rule: Invariant) -> None:
    with transactions_by_hand(rule):
        assert rule.looks > 0


# W-LSO


def test_a_last_stable_offset_beyond_an_open_transaction_is_found() -> None:
    rule = LastStable()
    with transactions_by_hand(rule) as cluster:
        node_id = cluster.leader
        cluster.write(node_id, epoch=cluster.identity.epoch, sequence=1)
        log = cluster.partition(node_id).log
        log.producers._open.clear()
        log._first_unstable = None
        log.high_watermark = log.end_offset
        expected = log.end_offset - 1
        with breaks(rule, rf"stable offset is {expected + 1}, and by its log it is {expected}"):
            cluster.tell("append", node_id)


def test_a_last_stable_offset_that_goes_back_is_found() -> None:
    rule = LastStable()
    with transactions_by_hand(rule) as cluster:
        cluster.partition(cluster.leader).log._first_unstable = 1
        with breaks(rule, "goes back from 6 to 1"):
            cluster.tell("append", cluster.leader)


# W-SEQ


@pytest.mark.parametrize(
    ("epoch", "sequence", "words"),
    [(0, 5, "begins with sequence 5, after 0"), (1, 3, "begins with sequence 3")],
)
def test_a_gap_in_the_sequences_is_found(epoch: int, sequence: int, words: str) -> None:
    rule = SequencesFollow()
    with transactions_by_hand(rule) as cluster:
        cluster.write(cluster.leader, epoch=epoch, sequence=sequence)
        with breaks(rule, words):
            cluster.tell("append", cluster.leader)


def test_an_epoch_that_is_over_is_found() -> None:
    rule = SequencesFollow()
    with transactions_by_hand(rule) as cluster:
        cluster.write(cluster.leader, epoch=1, sequence=0)
        cluster.tell("append", cluster.leader)
        cluster.write(cluster.leader, epoch=0, sequence=1)
        with breaks(rule, "in epoch 0, after epoch 1"):
            cluster.tell("append", cluster.leader)


# W-PID


def test_a_producer_id_of_two_transactional_ids_is_found() -> None:
    rule = OwnedProducers()
    with (
        transactions_by_hand(rule) as cluster,
        breaks(rule, r"producer id \d+ of b belongs to a"),
    ):
        cluster.decide_transaction(transactional_id="b")


def test_an_epoch_that_is_given_twice_is_found() -> None:
    rule = OwnedProducers()
    with (
        transactions_by_hand(rule) as cluster,
        breaks(rule, "initialised anew with the epoch 0"),
    ):
        cluster.decide_transaction(state=TransactionState.EMPTY)


def test_a_batch_outside_of_transactions_is_found() -> None:
    rule = OwnedProducers()
    with transactions_by_hand(rule) as cluster:
        cluster.write(cluster.leader, epoch=0, sequence=1, transactional=False)
        with breaks(rule, "a batch without a transaction"):
            cluster.tell("append", cluster.leader)


# W-TXN


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": TransactionState.PREPARE_COMMIT}, "PrepareCommit .* follows CompleteCommit"),
        ({"state": TransactionState.COMPLETE_ABORT}, "CompleteAbort .* follows CompleteCommit"),
        ({"state": TransactionState.EMPTY, "producer_epoch": -1}, "which has a later epoch"),
    ],
)
def test_a_transition_that_is_none_is_found(changes: dict[str, object], words: str) -> None:
    rule = DecidedTransactions()
    with transactions_by_hand(rule) as cluster, breaks(rule, f"a: .*{words}"):
        cluster.decide_transaction(**changes)


def test_an_id_that_expires_within_a_transaction_is_found() -> None:
    rule = DecidedTransactions()
    with transactions_by_hand(rule) as cluster:
        cluster.decide_transaction(state=TransactionState.ONGOING)
        with breaks(rule, "expired in Ongoing"):
            cluster.record(records.tombstone("a"))


def test_a_marker_without_a_decision_is_found() -> None:
    rule = DecidedTransactions()
    with transactions_by_hand(rule) as cluster:
        cluster.mark(cluster.leader, epoch=0, committed=False, coordinator_epoch=0)
        with breaks(rule, "an ABORT marker .* no coordinator has committed that decision"):
            cluster.tell("append", cluster.leader)


# W-MARK


def test_a_complete_transaction_without_its_marker_is_found() -> None:
    rule = MarkersEverywhere()
    with transactions_by_hand(rule) as cluster:
        partitions = {("t", 0): None}
        cluster.decide_transaction(state=TransactionState.ONGOING, partitions=partitions)
        cluster.decide_transaction(state=TransactionState.PREPARE_ABORT, partitions=partitions)
        with breaks(rule, "a is complete, and t-0 has no marker for it"):
            cluster.decide_transaction(state=TransactionState.COMPLETE_ABORT, partitions={})


def test_two_markers_of_one_epoch_are_found_in_the_second_protocol() -> None:
    rule = MarkersEverywhere()
    with transactions_by_hand(rule) as cluster:
        more = {"producer_epoch": 7, "client_version": 2}
        cluster.decide_transaction(state=TransactionState.ONGOING, **more)
        cluster.decide_transaction(state=TransactionState.PREPARE_ABORT, **more)
        cluster.mark(cluster.leader, epoch=7, committed=False, coordinator_epoch=0)
        cluster.tell("append", cluster.leader)
        cluster.mark(cluster.leader, epoch=7, committed=True, coordinator_epoch=0)
        with breaks(rule, r"a COMMIT and an ABORT marker of producer \d+ epoch 7"):
            cluster.tell("append", cluster.leader)


def test_a_coordinator_epoch_that_goes_back_is_found() -> None:
    rule = MarkersEverywhere()
    with transactions_by_hand(rule) as cluster:
        cluster.mark(cluster.leader, epoch=0, committed=True, coordinator_epoch=9)
        cluster.tell("append", cluster.leader)
        cluster.mark(cluster.leader, epoch=0, committed=True, coordinator_epoch=8)
        with breaks(rule, "is of coordinator epoch 8, after 9"):
            cluster.tell("append", cluster.leader)


# W-OPEN


def test_a_transaction_that_its_coordinator_has_ended_is_found() -> None:
    rule = KnownTransactions()
    with transactions_by_hand(rule) as cluster:
        cluster.write(cluster.leader, epoch=0, sequence=1)
        with breaks(rule, "has a transaction here, after CompleteCommit"):
            cluster.tell("append", cluster.leader)


def test_a_transaction_without_this_partition_is_found() -> None:
    rule = KnownTransactions()
    with transactions_by_hand(rule) as cluster:
        cluster.decide_transaction(state=TransactionState.ONGOING, partitions={("other", 0): None})
        cluster.write(cluster.leader, epoch=cluster.identity.epoch, sequence=1)
        with breaks(rule, "not among the partitions of Ongoing"):
            cluster.tell("append", cluster.leader)


# W-CMPEQ


def test_a_key_that_is_gone_from_one_replica_is_found() -> None:
    rule = EqualCompaction()
    with transactions_by_hand(rule) as cluster:
        assert rule.looks > 0
        follower = next(each for each in (1, 2, 3) if each != cluster.coordinator)
        log = cluster.coordinator_partition(follower).log
        cluster.run(log.truncate_to(0))
        for _ in range(cluster.coordinator_partition(cluster.coordinator).log.end_offset):
            record = records.tombstone("other")
            partition = cluster.coordinator_partition(follower)
            batch = cluster.batch_of(partition, record)
            log.append_replicated(memoryview(batch))
        log.high_watermark = log.end_offset
        with breaks(rule, "a value at .* is on one of them only|a key has its last record"):
            cluster.tell("append", follower, topic=TRANSACTIONS_TOPIC)
