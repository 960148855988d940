"""A compacted topic as a key-value store: put, get, and now and then a delete."""

from __future__ import annotations

from collections.abc import Sequence

from harness.client.base import Batching, Invocation
from harness.client.payload import value_of
from harness.cluster.base import NewTopic
from harness.cluster.parts import NO_PARTS
from harness.decisions import Decisions
from workloads.base import Load
from workloads.keys import KeyDist
from workloads.logs import Logs

_PARTITIONS = 4
_NAMES = 4
_PUTS, _DELETES = 0.5, 1 / 32
_CALM = "calm"
"""A name of its own for writes when all is healed: they must not replace, and so hide, what became
of the last put to a register that was in use."""
_COMPACTED = {
    "cleanup.policy": "compact",
    # Soon and often, so that a run of half a minute sees it at work.
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "2000",
}


class Register:
    """A compacted topic as a key-value store: records have names, and the last of a name counts."""

    name = "register"
    consistency = (
        "each name: linearizable writes; reads may be old, but never contradict each other "
        "(ordered sequential consistency)"
    )
    is_polled = False
    needs = NO_PARTS
    # Compaction takes values that were put, and that is no loss: these know which it must keep.
    checkers: tuple[str, ...] = (
        "nonlinearizable-register",
        "replaced-get",
        "lost-put",
        "duplicate",
        "inconsistent-offsets",
        "nonmonotonic-poll",
        "timestamp-order",
    )

    def __init__(self, load: Load) -> None:
        self._logs = Logs(load, ("register",), partitions=_PARTITIONS, configs=_COMPACTED)
        self.registers = tuple(f"{key}/r{n}" for n in range(_NAMES) for key in self._logs.keys)
        self._key_dist = KeyDist(load.key_dist, self.registers)
        decisions = Decisions(load.seed)
        self._wheres = [decisions.of("register", f"c{n}") for n in range(load.clients)]

    @property
    def topics(self) -> Sequence[NewTopic]:
        return self._logs.topics

    def batching(self, client: int) -> Batching:
        return self._logs.batching(client)

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return ()

    def operation(self, client: int, ordinal: int) -> Invocation:
        register = self._key_dist.pick(self._wheres[client].at(ordinal))
        draw = self._logs.kinds[client].at(ordinal)
        if draw >= _PUTS:
            return Invocation("get", [["get", register, None]])
        value = None if draw < _DELETES else value_of(client, ordinal)
        return Invocation("put", [["put", register, value]])

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return Invocation("put", [["put", f"{key}/{_CALM}", value_of(client, ordinal)]])

    def drained_keys(self, client: int) -> Sequence[str]:
        return self._logs.drained_keys(client)

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        return ()
