"""What a run amounted to: a run in which little happened has proved little."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from harness.native.produce_queue import Delivered
from harness.sim.record import Record
from harness.sim.trace import Trace

_METADATA = "__cluster_metadata"
_GROUPS = "__consumer_offsets"
_TRANSACTIONS = "__transaction_state"
_OF_GROUPS = (
    "records_delivered_to_groups",
    "rebalances",
    "members_fenced",
    "coordinator_moves",
    "zombie_commits_refused",
)
_OF_TRANSACTIONS = (
    "transactions_committed",
    "transactions_aborted",
    "transactions_of_unknown_end",
    "transactions_timed_out",
    "producers_fenced",
    "transaction_coordinator_moves",
)
_OF_BOTH = ("records_transformed",)


@dataclass(slots=True)
class Totals:
    acknowledged_writes: int = 0
    acknowledged_commits: int = 0
    records_read: int = 0
    records_read_from_followers: int = 0
    moves: int = 0
    quorum_elections: int = 0
    leader_changes: int = 0
    truncations: int = 0
    records_truncated: int = 0
    isr_shrinks: int = 0
    isr_expansions: int = 0
    kills: int = 0
    power_losses: int = 0
    power_losses_that_lost_bytes: int = 0
    record_bytes_lost: int = 0
    """From the logs of topics, by power losses."""
    messages_cut: int = 0
    message_faults: int = 0
    records_delivered_to_groups: int = 0
    rebalances: int = 0
    """Generations and group epochs that were begun."""
    members_fenced: int = 0
    coordinator_moves: int = 0
    zombie_commits_refused: int = 0
    transactions_committed: int = 0
    transactions_aborted: int = 0
    transactions_of_unknown_end: int = 0
    transactions_timed_out: int = 0
    """Ended by their coordinator."""
    producers_fenced: int = 0
    transaction_coordinator_moves: int = 0
    records_transformed: int = 0

    @classmethod
    def of(cls, record: Record, trace: Trace, *, messages_cut: int, message_faults: int) -> Totals:
        totals = cls(
            messages_cut=messages_cut,
            acknowledged_writes=sum(isinstance(sent.outcome, Delivered) for sent in record.sends),
            acknowledged_commits=sum(each.is_acknowledged for each in record.commits),
            records_read=len(record.seen),
            records_read_from_followers=record.follower_reads,
            moves=record.moves - record.failed_moves,
            message_faults=message_faults,
            records_delivered_to_groups=record.delivered,
            transactions_committed=record.transactions.committed,
            transactions_aborted=record.transactions.aborted,
            transactions_of_unknown_end=record.transactions.unknown,
            producers_fenced=record.transactions.fenced,
            records_transformed=record.transactions.transformed,
        )
        generations: set[tuple[str, int]] = set()
        for row in trace.rows():
            totals._count(row.kind, row.topic, row.offset, row.detail)
            if row.kind == "group":
                generations.add((row.detail, row.epoch))
        totals.rebalances = len(generations)
        # The first coordinator has not moved.
        totals.coordinator_moves = max(0, totals.coordinator_moves - 1)
        totals.transaction_coordinator_moves = max(0, totals.transaction_coordinator_moves - 1)
        return totals

    def _count(self, kind: str, topic: str, offset: int, detail: str) -> None:
        match kind:
            case "role":
                if detail == "leader":
                    if topic == _METADATA:
                        self.quorum_elections += 1
                    else:
                        self.leader_changes += 1
                        self.coordinator_moves += topic == _GROUPS
                        self.transaction_coordinator_moves += topic == _TRANSACTIONS
            case "truncate":
                self.truncations += 1
                self.records_truncated += max(0, int(detail) - offset)
            case "isr":
                if detail.startswith("shrink"):
                    self.isr_shrinks += 1
                else:
                    self.isr_expansions += 1
            case "crash":
                if detail == "power loss":
                    self.power_losses += 1
                    self.power_losses_that_lost_bytes += offset > 0
                else:
                    self.kills += 1
            case "lost":
                if detail.endswith(".log") and not detail.startswith(_METADATA):
                    self.record_bytes_lost += offset
            case "fenced":
                self.members_fenced += 1
            case "commit_refused":
                self.zombie_commits_refused += 1
            case "transaction_timeout":
                self.transactions_timed_out += 1
            case _:
                pass

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            **{
                each.name: getattr(self, each.name) + getattr(other, each.name)
                for each in fields(self)
            }
        )

    def zeros(self, *, groups: bool = False, transactions: bool = False) -> list[str]:
        """What was never seen; without `groups` nobody expects anything of members, and without
        `transactions` nothing of transactions."""
        ignored = (
            *(() if groups else _OF_GROUPS),
            *(() if transactions else _OF_TRANSACTIONS),
            *(() if groups and transactions else _OF_BOTH),
        )
        names = [each.name for each in fields(self) if each.name not in ignored]
        return [name for name in names if not getattr(self, name)]

    @property
    def _has_transactions(self) -> bool:
        return any(getattr(self, name) for name in _OF_TRANSACTIONS)

    def lines(self) -> Iterable[str]:
        for each in fields(self):
            if each.name in _OF_GROUPS and not self.rebalances:
                continue  # there were no members
            if each.name in (*_OF_TRANSACTIONS, *_OF_BOTH) and not self._has_transactions:
                continue
            yield f"{each.name.replace('_', ' '):32}{getattr(self, each.name):>10,}"
