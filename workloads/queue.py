"""Sends to the partitions of two topics and polls them, by assignment."""

from __future__ import annotations

from collections.abc import Sequence

from harness.client.base import Batching, Invocation
from harness.cluster.base import NewTopic
from harness.cluster.parts import NO_PARTS
from workloads.base import Load
from workloads.logs import LOG_CHECKERS, POLL, Logs

_PARTITIONS = 4
_ASSIGNS = 1 / 64
_SENDS = 0.5 + _ASSIGNS / 2


class Queue:
    """Records go in, one or many at once, and must come out: every client sends, polls, and changes
    what it reads."""

    name = "queue"
    consistency = (
        "each partition: linearizable appends, monotonic reads of a prefix by each consumer"
    )
    is_polled = True
    needs = NO_PARTS
    checkers = LOG_CHECKERS

    def __init__(self, load: Load) -> None:
        self._logs = Logs(load, ("queue1", "queue2"), partitions=_PARTITIONS, sends_bursts=True)
        self._kinds = self._logs.kinds

    @property
    def topics(self) -> Sequence[NewTopic]:
        return self._logs.topics

    def batching(self, client: int) -> Batching:
        return self._logs.batching(client)

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return self._logs.opening(client, process)

    def operation(self, client: int, ordinal: int) -> Invocation:
        draw = self._kinds[client].at(ordinal)
        if draw < _ASSIGNS:
            return self._logs.assign(client, ordinal)
        return self._logs.send(client, ordinal) if draw < _SENDS else POLL

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return self._logs.write(client, ordinal, key)

    def drained_keys(self, client: int) -> Sequence[str]:
        return self._logs.drained_keys(client)

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        return ()
