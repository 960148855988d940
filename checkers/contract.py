"""What a configuration promises: which anomaly must never be, which may, and which nobody can tell.

A run is judged by the safe contract whatever it was configured with, because a user who loses
records wants to be told so; the sentence then says whether the run's own settings promised better.
The rows of an anomaly stand with the checker that finds it; conditions that several share are in
clauses.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal, NamedTuple, Protocol

from harness.client.base import Acks, IsolationLevel

JudgedBy = Literal["safe", "configured"]
TimestampType = Literal["CreateTime", "LogAppendTime"]
FlushPolicy = Literal["os", "every-record"]

LOSSY_FAULTS = frozenset({"power", "disk"})
"""Faults that can take what a broker has written; a kill or a partition cannot."""


class Promise(Enum):
    NEVER = "never"
    ALLOWED = "allowed"
    UNSAYABLE = "impossible to say"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The settings that decide what may happen to records. Names and meanings are Kafka's."""

    acks: Acks = "all"
    idempotence: bool = True
    retries: int | None = None
    """None: the client retries until the delivery times out."""
    isolation_level: IsolationLevel = "read_committed"
    transactions: bool = True
    """What belongs together is sent in a transaction. False: the run was asked to do without."""
    subscribe: bool = False
    """Partitions come from a group, and may be taken away, instead of being assigned by hand."""
    unclean_leader_election: bool = False
    min_insync_replicas: int = 2
    replication_factor: int = 3
    flush: FlushPolicy = "os"
    faults: frozenset[str] = frozenset()
    """The nemeses that were used, by name."""
    retention: bool = False
    """The settings of the topics delete records while the run goes on."""
    unsafe_faults: bool = False
    """More replicas may have lost their disk than the replication factor can bear."""
    ww_deps: bool = False
    """The log's own order of writes counts as an order of transactions."""
    exact_polls: bool = False
    """A poll shows all that there is, so what it does not show comes after it. Kafka's consumers do
    not: they answer from what they have fetched so far."""
    exact_ends: bool = False
    """The end of a log is told as it is, whoever asks. Kafka's leaders hold no lease: one that was
    replaced may tell the end that it knows until it learns of it."""
    dense_offsets: bool = False
    """Every offset is some send's: no transactions, no compaction, nothing from before."""
    stale_bound_ms: float | None = None
    """A poll may miss what has been there for no longer than this."""
    timestamp_type: TimestampType | None = None
    """message.timestamp.type of the topics; None: not known."""
    one_clock: bool = True
    """All brokers read the wall clock of one machine: a new leader has the clock of the old one."""
    judged_by: JudgedBy = "safe"

    @classmethod
    def safe(cls) -> Contract:
        return cls()

    def strengthened(self) -> Contract:
        """The same run with safe settings. How it consumed, and what was done to it, stays."""
        return replace(
            self,
            acks="all",
            idempotence=True,
            retries=None,
            isolation_level="read_committed",
            transactions=True,
            unclean_leader_election=False,
            min_insync_replicas=max(self.min_insync_replicas, 2),
            replication_factor=max(self.replication_factor, 3),
        )

    @property
    def lossy(self) -> bool:
        """Whether a fault was used that takes what was written."""
        return bool(self.faults & LOSSY_FAULTS)

    @property
    def retries_blindly(self) -> bool:
        return not self.idempotence and self.retries != 0

    def ruling(self, anomaly: str) -> Ruling:
        """What is said of this anomaly, and the sentence to quote."""
        own = row_for(anomaly, self)
        if self.judged_by == "configured":
            return Ruling(promise=own.promise, sentence=own.sentence, row=own.when)
        row = row_for(anomaly, self.strengthened())
        if row.promise is Promise.NEVER and own.promise is not Promise.NEVER:
            sentence = (
                f"{row.sentence} This run's configuration does not promise it: {own.sentence}"
            )
            return Ruling(promise=row.promise, sentence=sentence, row=row.when)
        return Ruling(promise=row.promise, sentence=row.sentence, row=row.when)


class Clause(NamedTuple):
    """One row of the contract: a kind of configuration, and what it promises."""

    when: str
    """The condition in words, for the reference."""
    holds: Callable[[Contract], bool]
    promise: Promise
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    promise: Promise
    sentence: str
    row: str = ""
    """The condition of the row that applies."""


class Rules(Protocol):
    """What says of a finding whether it is forbidden."""

    def ruling(self, anomaly: str) -> Ruling: ...


class NoLog:
    """Rules of sets, registers and other objects: no setting of Kafka's excuses their anomalies,
    though some of them have the names of logs' anomalies. `tolerated` has a reason for each type
    that is no fault."""

    def __init__(self, tolerated: Mapping[str, str] | None = None) -> None:
        self._tolerated = tolerated or {}

    def ruling(self, anomaly: str) -> Ruling:
        if anomaly in self._tolerated:
            return Ruling(promise=Promise.ALLOWED, sentence=self._tolerated[anomaly], row="always")
        return _no_configuration(anomaly)


def row_for(anomaly: str, contract: Contract) -> Clause:
    """The first row that fits: rows go from the special to the general."""
    from checkers.registry import rows

    for clause in rows().get(anomaly, ()):
        if clause.holds(contract):
            return clause
    ruling = _no_configuration(anomaly)
    return Clause(ruling.row, lambda _: True, ruling.promise, ruling.sentence)


def _no_configuration(anomaly: str) -> Ruling:
    sentence = f"No configuration allows {anomaly}."
    return Ruling(promise=Promise.NEVER, sentence=sentence, row="always")
