"""Draws what transactional clients do: transactions with pauses and aborts, takeovers, transforms.

Each writer has a transactional id of its own, and now and then uses that of a neighbour, which is
fenced by it and takes its id back. A pause inside a transaction may be longer than the
transaction's time-out; then the coordinator aborts it. Which of the two protocols is spoken is
drawn once for each seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from harness.decisions import Decisions
from harness.schedule.schedule import Operation
from harness.sim.operation_forms import PARTITIONS

MOVER = "transaction-mover"
_STRATEGIES = ("consumer", "cooperative", "eager")
_SENDS_MAX = 6
_SHARE_OF_ABORTS = 0.2
_SHARE_OF_LONG_PAUSES = 0.07
_SHARE_OF_PAUSES = 0.5
_SHARE_OF_NEIGHBOURS = 0.06
_VALUE_BITS = 32
"""A value is the client's number from 1, then the number of the record (harness/client/payload)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transactors:
    """How much transactional clients do."""

    writers: int = 3
    transformers: int = 0
    transactions_per_s: float = 1.2
    """Of one writer or transformer."""
    reads_per_s: float = 3.0
    takeovers_per_s: float = 0.08
    coordinator_moves_per_s: float = 0.15
    timeout_ms: int = 5_000
    begin_ms: float
    end_ms: float


def protocol_of(decisions: Decisions) -> int:
    """Protocol of transactions, 1 or 2, that the clients of a seed speak."""
    return 1 if decisions.of("swarm_mix", "first protocol of transactions").at(0) < 0.4 else 2


def draw_transactions(
    decisions: Decisions, wanted: Transactors
) -> dict[str, tuple[Operation, ...]]:
    writers = [f"transactor{number}" for number in range(1, wanted.writers + 1)]
    transformers = [f"transformer{number}" for number in range(1, wanted.transformers + 1)]
    drawn: dict[str, tuple[Operation, ...]] = {}
    for number, client in enumerate(writers, 1):
        drawn[client] = _writes(decisions, client, number, writers, wanted)
    strategy = decisions.random("member_strategy", "transformers").choice(_STRATEGIES)
    for number, client in enumerate(transformers, len(writers) + 1):
        drawn[client] = _transforms(decisions, client, number, strategy, wanted)
    drawn["committed-reader"] = tuple(
        Operation(at_ms=at_ms, do="read", arguments={})
        for at_ms in _moments(decisions, "committed-reader", wanted, wanted.reads_per_s)
    )
    dice = decisions.random("transaction", "thief")
    drawn["thief"] = tuple(
        Operation(at_ms=at_ms, do="take_over", arguments={"id": dice.choice(list(drawn)[:-1])})
        for at_ms in _moments(decisions, "thief", wanted, wanted.takeovers_per_s)
    )
    which = decisions.of("replica", MOVER)
    drawn[MOVER] = tuple(
        Operation(
            at_ms=at_ms,
            do="move_coordinator",
            arguments={"replica": int(which.at(number) * 1000), "of": "transactions"},
        )
        for number, at_ms in enumerate(
            _moments(decisions, MOVER, wanted, wanted.coordinator_moves_per_s)
        )
    )
    return drawn


def _writes(
    decisions: Decisions, client: str, number: int, writers: list[str], wanted: Transactors
) -> tuple[Operation, ...]:
    dice = decisions.random("transaction", client)
    drawn = []
    moments = _moments(decisions, client, wanted, wanted.transactions_per_s)
    for ordinal, at_ms in enumerate(moments):
        owner = dice.choice(writers) if dice.random() < _SHARE_OF_NEIGHBOURS else client
        arguments: dict[str, object] = {
            "id": owner,
            "value": _value(number, ordinal),
            "sends": dice.randint(1, _SENDS_MAX),
            "first": dice.randrange(PARTITIONS),
            "timeout_ms": wanted.timeout_ms,
            "protocol": protocol_of(decisions),
        }
        pause_ms = _pause_ms(dice, wanted)
        if pause_ms:
            arguments["pause_ms"] = pause_ms
        if dice.random() < _SHARE_OF_ABORTS:
            arguments["abort"] = True
        drawn.append(Operation(at_ms=at_ms, do="transact", arguments=arguments))
    return tuple(drawn)


def _transforms(
    decisions: Decisions, client: str, number: int, strategy: str, wanted: Transactors
) -> tuple[Operation, ...]:
    moments = _moments(decisions, client, wanted, wanted.transactions_per_s)
    return tuple(
        Operation(
            at_ms=at_ms,
            do="transform",
            arguments={
                "id": client,
                "value": _value(number, ordinal),
                "strategy": strategy,
                "timeout_ms": wanted.timeout_ms,
                "protocol": protocol_of(decisions),
            },
        )
        for ordinal, at_ms in enumerate(moments)
    )


def _pause_ms(dice: Random, wanted: Transactors) -> float:
    chance = dice.random()
    if chance < _SHARE_OF_LONG_PAUSES:
        return round(wanted.timeout_ms * dice.uniform(1.0, 2.0), 3)
    if chance < _SHARE_OF_PAUSES:
        return round(10 ** dice.uniform(0.5, 3.0), 3)
    return 0.0


def _value(number: int, ordinal: int) -> int:
    """The first value of an operation; room is left for those that follow."""
    return number << _VALUE_BITS | ordinal * 100


def _moments(decisions: Decisions, name: str, wanted: Transactors, per_s: float) -> list[float]:
    span_ms = wanted.end_ms - wanted.begin_ms
    at = decisions.of("moment", name)
    return sorted(
        round(wanted.begin_ms + at.at(number) * span_ms, 3)
        for number in range(int(span_ms / 1000 * per_s))
    )
