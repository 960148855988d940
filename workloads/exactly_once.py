"""Workers of a group consume, transform and produce, each step in a transaction; others send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from harness.client.base import Invocation
from harness.client.group_driver import Strategy, Subscription
from harness.client.payload import value_of
from harness.cluster.parts import NO_PARTS
from harness.decisions import Decisions
from workloads.base import Load, Membership
from workloads.keys import dealt_out
from workloads.logs import LOG_CHECKERS, POLL, Logs
from workloads.producers import Producers
from workloads.transactional_logs import TransactionalLogs

_IN, _OUT = "eo-in", "eo-out"
_GROUP = "eo"
_PARTITIONS = 4
_ROLES = 3
_INPUTS_MAX = 64
"""Inputs of one transaction, at the most. With few of them the senders are faster than the workers,
and the group does not come to the end of the inputs in time."""
_LEAVES = 1 / 80
_ASKS = _LEAVES + 1 / 32
_FENCES = _ASKS + 1 / 160
_POLLS = _FENCES + 1 / 2
_LEAVE = Invocation("leave")


class ExactlyOnce(TransactionalLogs):
    """Workers of a group make one output of each input, and commit the inputs' offsets in the same
    transaction; they leave and come back, and fence each other. Every third client sends inputs."""

    name = "exactly-once"
    consistency = "each input has one visible output; committed offsets and outputs change together"
    is_polled = True
    needs = NO_PARTS
    clients_min = 2
    checkers: tuple[str, ...] = (
        *LOG_CHECKERS,
        "torn-transaction",
        "hanging-transaction",
        "exactly-once",
        "processed-offsets",
        "commit-regression",
        "lost-commit",
        "zombie-commit",
        "two-owners",
        "at-least-once",
    )

    def __init__(self, load: Load) -> None:
        # --no-transactions is refused with this workload: nothing could be done without.
        producers = Producers(replace(load, transactions=True), self.name)
        super().__init__(Logs(load, (_IN, _OUT), partitions=_PARTITIONS), producers)
        self._inputs = [key for key in self._logs.keys if key.startswith(_IN)]
        self._clients = load.clients
        decisions = Decisions(load.seed)
        self._where = [decisions.of("input", f"c{n}") for n in range(load.clients)]
        strategies = get_args(Strategy)
        dice = decisions.of("strategy", _IN)
        self._strategy: Strategy = strategies[int(dice.at(0) * len(strategies))]

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        if _sends(client):
            return ()
        return (*self._producers.opening(client), self._subscribe())

    def operation(self, client: int, ordinal: int) -> Invocation:
        if _sends(client):
            return self.write(client, ordinal, self._input(client, ordinal))
        kinds = self._logs.kinds[client]
        if ordinal > 0 and kinds.at(ordinal - 1) < _LEAVES:
            return self._subscribe()
        draw = kinds.at(ordinal)
        if draw < _LEAVES:
            return _LEAVE
        if draw < _ASKS:
            return self._asks()
        if draw < _FENCES:
            return self._producers.fence(self._next_worker(client))
        return POLL if draw < _POLLS else self.transform(client, ordinal)

    def transform(self, client: int, ordinal: int) -> Invocation:
        """The client fills in what it has polled; without any input it polls instead."""
        first = value_of(client, ordinal * _INPUTS_MAX)
        return Invocation("transform", {"topic": _OUT, "first": first, "most": _INPUTS_MAX})

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return Invocation("send", [["send", key, value_of(client, ordinal * _INPUTS_MAX)]])

    def drained_keys(self, client: int) -> Sequence[str]:
        """Workers read back, when their group has come to the end of all inputs."""
        workers = self._workers()
        if client not in workers:
            return ()
        return dealt_out(self._logs.keys, workers.index(client), len(workers))

    def membership(self, client: int) -> Membership | None:
        if _sends(client):
            return None
        return Membership(_GROUP, self._subscribe(), self._asks())

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        return ()

    def _workers(self) -> list[int]:
        return [each for each in range(self._clients) if not _sends(each)]

    def _next_worker(self, client: int) -> int:
        """Whom this worker fences: it may be in the middle of a transaction."""
        workers = self._workers()
        return workers[(workers.index(client) + 1) % len(workers)]

    def _input(self, client: int, ordinal: int) -> str:
        return self._inputs[int(self._where[client].at(ordinal) * len(self._inputs))]

    def _subscribe(self) -> Invocation:
        wanted = Subscription(
            group=_GROUP, topics=(_IN,), strategy=self._strategy, commits="transaction"
        )
        return Invocation("subscribe", wanted.value())

    def _asks(self) -> Invocation:
        value: dict[str, Any] = {"offsets": dict.fromkeys(self._inputs)}
        return Invocation("committed", value)


def _sends(client: int) -> bool:
    return client % _ROLES == 0
