"""Random requests to a transaction machine: what must be true whatever comes, in whatever order."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from broker.coordination.step import CoordinatorRecord, Now, Step, Ticket
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from broker.transactions import records
from broker.transactions.initialising import Asked, NeedsProducerId
from broker.transactions.machine import ProducerPartitions, TransactionMachine
from broker.transactions.settings import TransactionSettings
from broker.transactions.state import PREVIOUS_STATES, TransactionState
from broker.transactions.transaction import BUMPING, CLASSIC, LAST_CLIENT_EPOCH, Transaction

_IDS = ("a", "b", "c")
_SETTINGS = TransactionSettings(
    max_timeout_ms=20_000, id_expiration_ms=60_000, expiry_check_interval_ms=30_000
)


@dataclass
class World:
    random: Random
    machine: TransactionMachine = field(default_factory=lambda: TransactionMachine(_SETTINGS))
    log: list[CoordinatorRecord] = field(default_factory=list)
    now_s: float = 0.0
    next_id: int = 1000
    known: dict[str, list[tuple[int, int]]] = field(
        default_factory=lambda: {each: [] for each in _IDS}
    )
    """Identities that clients were given, oldest first."""
    owners: dict[int, str] = field(default_factory=dict)
    ends: int = 0

    @property
    def now(self) -> Now:
        return Now(self.now_s, 1_700_000_000_000 + int(self.now_s * 1000))

    def carry_out(self, step: Step, ticket: Ticket) -> Any:
        if step.records and step.replies and self.random.random() < 0.05:
            assert step.refused is not None
            step = step.refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, self.now)
            assert not step.records
        for record in step.records:
            self._look_at(record)
            self.log.append(record)
            self.machine.replay(record)
        replies = [each.response for each in step.replies if each.ticket is ticket]
        return replies[0] if replies else None

    def _look_at(self, record: CoordinatorRecord) -> None:
        name = records.decode_key(record.key)
        before = self.machine.transactions.get(name)
        if record.value is None:
            assert before is not None
            assert before.state.is_idle
            return
        after = records.decode_value(name, record.value)
        state = TransactionState.EMPTY if before is None else before.state
        assert state in PREVIOUS_STATES[after.state], "no such transition"
        assert self.owners.setdefault(after.producer_id, name) == name, "a producer id of two"
        if before is not None and before.producer_id == after.producer_id:
            assert after.producer_epoch >= before.producer_epoch, "an epoch goes back"
        if after.state is TransactionState.ONGOING:
            assert before is not None
            assert after.identity == before.identity
            assert before.partitions.keys() <= after.partitions.keys(), "a partition is lost"
        if after.state.is_prepared and before is not None:
            assert after.partitions == before.partitions
        self.ends += after.state.is_prepared

    # Requests

    def init(self, name: str) -> None:
        known = self.known[name]
        expected = self.random.choice(known) if known and self.random.random() < 0.4 else None
        fresh_id: int | None = None
        for _ in range(2):
            asked = Asked(
                transactional_id=name, timeout_ms=10_000, expected=expected, fresh_id=fresh_id
            )
            ticket = Ticket()
            step = self.machine.init_producer_id(ticket, asked, self.now)
            answer = self.carry_out(step, ticket)
            if not isinstance(answer, NeedsProducerId):
                self._given(name, answer)
                return
            self.next_id += 1
            fresh_id = self.next_id
        raise AssertionError("a producer id is asked for twice")

    def _given(self, name: str, answer: Any) -> None:
        if not answer.error_code and answer.producer_id >= 0:
            assert answer.producer_epoch <= LAST_CLIENT_EPOCH, "the last epoch is for markers"
            self.known[name].append((answer.producer_id, answer.producer_epoch))

    def identity(self, name: str) -> tuple[int, int]:
        known = self.known[name] or [(5, 0)]
        return known[-1] if self.random.random() < 0.8 else self.random.choice(known)

    def add(self, name: str) -> None:
        partitions = [("t", self.random.randrange(4)) for _ in range(self.random.randrange(3))]
        asked = ProducerPartitions(name, *self.identity(name), partitions)
        ticket = Ticket()
        version = self.random.choice((CLASSIC, BUMPING))
        code = self.carry_out(self.machine.add_partitions(ticket, asked, version, self.now), ticket)
        if code == ErrorCode.NONE:
            found = self.machine.transactions[name]
            assert found.state is TransactionState.ONGOING
            assert found.partitions.keys() >= set(partitions)

    def end(self, name: str) -> None:
        producer_id, epoch = self.identity(name)
        body = m.EndTxnRequest(
            transactional_id=name,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=self.random.random() < 0.5,
        )
        version = self.random.choice((CLASSIC, BUMPING))
        fresh_id: int | None = None
        for _ in range(2):
            ticket = Ticket()
            step = self.machine.end(ticket, body, version, fresh_id, self.now)
            answer = self.carry_out(step, ticket)
            if not isinstance(answer, NeedsProducerId):
                self._given(name, answer)
                return
            self.next_id += 1
            fresh_id = self.next_id
        raise AssertionError("a producer id is asked for twice")

    def complete(self, name: str) -> None:
        ticket = Ticket()
        prepared: list[Transaction] = self.carry_out(self.machine.prepared(ticket), ticket)
        assert all(each.state.is_prepared for each in prepared)
        for each in prepared:
            if self.random.random() < 0.7:
                ticket = Ticket()
                self.carry_out(self.machine.complete(ticket, each, self.now), ticket)

    def exhaust(self, name: str) -> None:
        """Leaps to the last epochs, which no test would live to see otherwise."""
        found = self.machine.transactions.get(name)
        if found is not None and found.state is TransactionState.EMPTY:
            leap = records.record(
                Transaction(
                    transactional_id=name,
                    producer_id=found.producer_id,
                    producer_epoch=max(found.producer_epoch, LAST_CLIENT_EPOCH - 1),
                    timeout_ms=10_000,
                    updated_ms=self.now.wall_ms,
                )
            )
            self.log.append(leap)
            self.machine.replay(leap)
            self.known[name].append((found.producer_id, LAST_CLIENT_EPOCH - 1))

    def wait(self, name: str) -> None:
        self.now_s += self.random.choice((0.1, 5.0, 15.0, 40.0))
        for _ in range(100):
            deadline_s = self.machine.deadline_s
            if deadline_s is None or deadline_s > self.now_s:
                return
            self.carry_out(self.machine.tick(self.now), Ticket())
        raise AssertionError("time stands still")

    def fail_over(self, name: str) -> None:
        loaded = TransactionMachine(_SETTINGS)
        for record in self.log:
            loaded.replay(record)
        assert loaded.transactions == self.machine.transactions, "live and loaded state differ"
        assert loaded.has_prepared == self.machine.has_prepared
        self.machine = loaded
        self.carry_out(self.machine.loaded(self.now), Ticket())


@pytest.mark.parametrize("seed", range(20))
def test_transitions_epochs_and_replays(seed: int) -> None:
    random = Random(seed)
    world = World(random)
    world.carry_out(world.machine.loaded(world.now), Ticket())
    deeds = [
        *([world.init] * 4), *([world.add] * 5), *([world.end] * 4), *([world.complete] * 3),
        world.wait, world.fail_over, world.exhaust,
    ]  # fmt: skip
    for _ in range(400):
        random.choice(deeds)(random.choice(_IDS))
    assert world.ends > 5, "nothing was put to the test"
