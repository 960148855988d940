"""Conditions that several anomalies share in the contract, and what follows from each.

A checker declares its rows from them, from the special configuration to the general; the last row
of an anomaly always holds.
"""

from __future__ import annotations

from checkers.contract import Clause, Contract, Promise


def _alone(contract: Contract) -> bool:
    """One replica's word was enough for an acknowledgement, unflushed, and disks were struck."""
    copies = min(contract.replication_factor, contract.min_insync_replicas)
    return copies < 2 and contract.lossy and contract.flush == "os"


UNSAFE = Clause(
    "--unsafe-faults with power or disk",
    lambda contract: contract.unsafe_faults and contract.lossy,
    Promise.UNSAYABLE,
    (
        "More replicas may have lost data than the replication factor tolerates, so loss is "
        "not judged."
    ),
)
NOBODY = Clause(
    "acks=0",
    lambda contract: contract.acks == "0",
    Promise.ALLOWED,
    "With acks=0 no broker acknowledges a record.",
)
LEADER_ONLY = Clause(
    "acks=1",
    lambda contract: contract.acks == "1",
    Promise.ALLOWED,
    (
        "With acks=1 only the leader acknowledges a record, and a record that it has not "
        "replicated is lost with it."
    ),
)
UNCLEAN = Clause(
    "unclean.leader.election.enable=true",
    lambda contract: contract.unclean_leader_election,
    Promise.ALLOWED,
    "An unclean election may choose a leader that lacks acknowledged records.",
)
ALONE = Clause(
    "one replica suffices (replication factor or min.insync.replicas 1), unflushed, power or disk",
    _alone,
    Promise.ALLOWED,
    "One unflushed replica was enough for an acknowledgement, and faults struck power or disks.",
)
LOSS = (UNSAFE, NOBODY, LEADER_ONLY, UNCLEAN, ALONE)

BLIND_RETRIES = Clause(
    "enable.idempotence=false with retries",
    lambda contract: contract.retries_blindly,
    Promise.ALLOWED,
    "A producer without idempotence that retries may append a record twice, and out of order.",
)
UNCOMMITTED = Clause(
    "isolation.level=read_uncommitted",
    lambda contract: contract.isolation_level == "read_uncommitted",
    Promise.ALLOWED,
    "A read_uncommitted consumer reads records of open and aborted transactions.",
)
WITHOUT = Clause(
    "--no-transactions",
    lambda contract: not contract.transactions,
    Promise.ALLOWED,
    "Without transactions some of the records that belong together may be written, and others not.",
)
VISIBLE_AT_ONCE = Clause(
    "--no-transactions",
    lambda contract: not contract.transactions,
    Promise.ALLOWED,
    "Without transactions a record can be read before the operation that sends it has ended.",
)
SUBSCRIBED = Clause(
    "subscribe",
    lambda contract: contract.subscribe,
    Promise.ALLOWED,
    (
        "A subscribed consumer may lose a partition and resume at the last committed offset "
        "of its group."
    ),
)
RETENTION = Clause(
    "retention, by a nemesis or the topics' settings",
    lambda contract: contract.retention or "retention" in contract.faults,
    Promise.ALLOWED,
    "Retention may delete records before a consumer reads them; the consumer continues after them.",
)
STRUCK = Clause(
    "power or disk",
    lambda contract: contract.lossy,
    Promise.ALLOWED,
    "The faults of this run damage stored data; a replica copies it again from the others.",
)
NO_WW = Clause(
    "without --ww-deps",
    lambda contract: not contract.ww_deps,
    Promise.NEVER,
    "A transaction that reads another's writes follows it, so two cannot read each other's writes.",
)
WW = Clause(
    "with --ww-deps",
    lambda contract: contract.ww_deps,
    Promise.ALLOWED,
    (
        "Kafka does not isolate the writes of transactions, so the order of a log may "
        "contradict the order of reads."
    ),
)


def never(sentence: str) -> Clause:
    return Clause("always", lambda _: True, Promise.NEVER, sentence)


def allowed(sentence: str) -> Clause:
    return Clause("always", lambda _: True, Promise.ALLOWED, sentence)
