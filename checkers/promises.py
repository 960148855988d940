"""The rows of the contract: anomaly by anomaly, from the special configuration to the general."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from checkers.contract import Contract, Promise, Row


class Clause(NamedTuple):
    """A condition and what follows from it, for whichever anomalies share it."""

    when: str
    holds: Callable[[Contract], bool]
    promise: Promise
    sentence: str


def _alone(contract: Contract) -> bool:
    """One replica's word was enough for an acknowledgement, unflushed, and disks were struck."""
    copies = min(contract.replication_factor, contract.min_insync_replicas)
    return copies < 2 and contract.lossy and contract.flush == "os"


UNSAFE = Clause(
    "--unsafe-faults with power or disk",
    lambda contract: contract.unsafe_faults and contract.lossy,
    Promise.UNSAYABLE,
    "More replicas may have lost their disk than the replication factor can bear, so nothing can "
    "be said of loss.",
)
NOBODY = Clause(
    "acks=0",
    lambda contract: contract.acks == "0",
    Promise.ALLOWED,
    "With acks=0 no broker has promised anything.",
)
LEADER_ONLY = Clause(
    "acks=1",
    lambda contract: contract.acks == "1",
    Promise.ALLOWED,
    "With acks=1 only the leader has promised, and what it had not replicated dies with it.",
)
UNCLEAN = Clause(
    "unclean.leader.election.enable=true",
    lambda contract: contract.unclean_leader_election,
    Promise.ALLOWED,
    "An unclean election may choose a leader that lacks what was acknowledged.",
)
ALONE = Clause(
    "one replica suffices (replication factor or min.insync.replicas 1), unflushed, power or disk",
    _alone,
    Promise.ALLOWED,
    "One replica was enough for an acknowledgement, it need not have flushed, and disks were "
    "struck.",
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
    "A read_uncommitted consumer is shown open and aborted transactions.",
)
SUBSCRIBED = Clause(
    "subscribe",
    lambda contract: contract.subscribe,
    Promise.ALLOWED,
    "A subscribed consumer may lose a partition and begin again where its group last committed.",
)
RETENTION = Clause(
    "retention, by a nemesis or the topics' settings",
    lambda contract: contract.retention or "retention" in contract.faults,
    Promise.ALLOWED,
    "Retention may take records that a consumer has not read yet, and it goes on behind them.",
)
STRUCK = Clause(
    "power or disk",
    lambda contract: contract.lossy,
    Promise.ALLOWED,
    "The faults of this run damage what is stored; a replica mends it from the others.",
)
NO_WW = Clause(
    "without --ww-deps",
    lambda contract: not contract.ww_deps,
    Promise.NEVER,
    "A transaction that reads another's writes comes after it, so two cannot each read the other.",
)
WW = Clause(
    "with --ww-deps",
    lambda contract: contract.ww_deps,
    Promise.ALLOWED,
    "Kafka does not isolate the writes of transactions, so the order of a log need not agree with "
    "who read whom.",
)


def never(sentence: str) -> Clause:
    return Clause("always", lambda _: True, Promise.NEVER, sentence)


def allowed(sentence: str) -> Clause:
    return Clause("always", lambda _: True, Promise.ALLOWED, sentence)


_CLAUSES: dict[str, tuple[Clause, ...]] = {
    "lost-write": (
        *LOSS,
        never("With acks=all and clean elections an acknowledged record is never lost."),
    ),
    "unseen": (
        *LOSS,
        never("With acks=all and clean elections an acknowledged record is read in the end."),
    ),
    "duplicate": (
        BLIND_RETRIES,
        never("An idempotent producer's record is appended once."),
    ),
    "inconsistent-offsets": (
        UNSAFE,
        NOBODY,
        LEADER_ONLY,
        UNCLEAN,
        ALONE,
        never("An offset that was acknowledged with acks=all or read holds one record for ever."),
    ),
    "G1a": (
        UNCOMMITTED,
        never("What failed or was aborted is not shown to a read_committed consumer."),
    ),
    "precommitted-read": (
        UNCOMMITTED,
        never("A transaction's records are shown to nobody, itself included, before it commits."),
    ),
    "torn-transaction": (
        UNCOMMITTED,
        *LOSS,
        never("Of a transaction all records are shown, or none."),
    ),
    "phantom-read": (never("A consumer is only shown what somebody sent to that partition."),),
    "phantom-record": (never("A log holds what somebody sent to it, and nothing else."),),
    "failed-but-stored": (never("What certainly failed is in no log."),),
    "divergent-replicas": (
        UNSAFE,
        never("Replicas that had the same leader at one offset are equal up to there."),
    ),
    "damaged-segment": (
        STRUCK,
        never("What a broker has stored can be read again."),
    ),
    "unavailable": (
        UNSAFE,
        never(
            "When all is healed, and a majority of the quorum and an eligible replica live, a "
            "partition has a leader and takes writes."
        ),
    ),
    "poll-skip": (
        SUBSCRIBED,
        RETENTION,
        *LOSS,
        never("A consumer with an assigned partition reads on from where it stopped."),
    ),
    "nonmonotonic-poll": (
        SUBSCRIBED,
        UNSAFE,
        UNCLEAN,
        never("A consumer with an assigned partition never goes back by itself."),
    ),
    "int-poll-skip": (RETENTION, *LOSS, never("The records of one poll are consecutive.")),
    "int-nonmonotonic-poll": (UNSAFE, UNCLEAN, never("The records of one poll are in order.")),
    "nonmonotonic-send": (
        BLIND_RETRIES,
        *LOSS,
        never("A producer's records are appended in the order in which it sent them."),
    ),
    "int-nonmonotonic-send": (
        BLIND_RETRIES,
        *LOSS,
        never("The records of one transaction are appended in the order of its sends."),
    ),
    "producer-order": (
        BLIND_RETRIES,
        *LOSS,
        never("A producer's records are appended in the order in which it sent them."),
    ),
    "int-send-skip": (allowed("Other producers may write between two records of a transaction."),),
    "nonlinearizable-log": (
        *LOSS,
        never("A record that was acknowledged before another was sent is before it in the log."),
    ),
    "stale-read": (never("A consumer is not further behind than the bound that was asked for."),),
    "watermark-regression": (
        *LOSS,
        never("The end of a partition, once told to a client, is never told to it to be earlier."),
    ),
    "hanging-transaction": (
        *LOSS,
        never("The last stable offset reaches the end once every transaction is over."),
    ),
    "commit-regression": (
        UNSAFE,
        never("A group's committed offset is the last one that was committed."),
    ),
    "lost-commit": (UNSAFE, never("An acknowledged commit is found again by the group.")),
    "zombie-commit": (never("A member that was replaced can commit no more."),),
    "two-owners": (never("In one generation a partition belongs to one member."),),
    "exactly-once": (
        UNCOMMITTED,
        *LOSS,
        never("Each input has exactly one output that is shown."),
    ),
    "compaction-lost-key": (*LOSS, never("Compaction keeps the last value of every key.")),
    "compaction-resurrected-key": (
        *LOSS,
        never("A value that was overwritten or deleted does not come back."),
    ),
    "list-append": (
        BLIND_RETRIES,
        *LOSS,
        never(
            "A partition is one list: every read is a beginning of it, and its order agrees with "
            "the order of time."
        ),
    ),
    "lost-append": (
        *LOSS,
        never("With acks=all and clean elections an acknowledged append stays in its list."),
    ),
    "phantom-append": (never("A list holds what somebody appended to it, and nothing else."),),
    "replaced-get": (
        BLIND_RETRIES,
        *LOSS,
        never("Below the end that a get has read to, the last value of a name is the one it gets."),
    ),
    "lost-put": (
        BLIND_RETRIES,
        *LOSS,
        never("A compacted topic keeps the last value of every name, and of no deleted name any."),
    ),
    "phantom-topic": (never("A topic is described as it was made and altered, at some moment."),),
    "lost-change": (
        UNSAFE,
        never("An acknowledged change of a topic is known to every broker in the end."),
    ),
    **{
        f"G0{suffix}": (allowed("Kafka does not isolate the writes of transactions."),)
        for suffix in ("", "-process", "-realtime")
    },
    **{f"G1c{suffix}": (NO_WW, WW) for suffix in ("", "-process", "-realtime")},
    **{
        f"{name}{suffix}": (
            allowed(
                "Kafka's transactions promise no snapshot: one may miss what another has written."
            ),
        )
        for name in ("G-single-item", "G-nonadjacent-item", "G2-item")
        for suffix in ("", "-process", "-realtime")
    },
}

ROWS: dict[str, tuple[Row, ...]] = {
    anomaly: tuple(Row(anomaly=anomaly, **clause._asdict()) for clause in clauses)
    for anomaly, clauses in _CLAUSES.items()
}
