"""Topics that come, change and go, beside sends and polls on one that stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.client.base import Batching, Invocation
from harness.cluster.base import NewTopic
from harness.cluster.parts import Part
from harness.decisions import Decisions
from workloads.base import Load
from workloads.logs import LOG_CHECKERS, POLL, Logs

_PARTITIONS = 4
_EVERY = 8
"""So many operations for one of administration: the controller decides one after the other."""
_STEPS = 8
"""In the life of a topic."""
_ASKED = 4
"""Topics of a client that it asks for in the end."""
_ASSIGNS = 1 / 64
_SENDS = 0.5 + _ASSIGNS / 2
_RETENTION_MS_MAX = 100_000_000


class Admin:
    """Makes, changes, describes and deletes topics of its own, and uses one that stays meanwhile.

    Each client has one topic after the other, and never two of the same name: what a describe
    says can be held against what was done before.
    """

    name = "admin"
    consistency = (
        "each partition: linearizable appends, monotonic reads; topic metadata: eventually "
        "consistent, and acknowledged changes are durable"
    )
    is_polled = True
    needs = frozenset[Part]({"topics"})
    checkers = (*LOG_CHECKERS, "phantom-topic", "lost-change")

    def __init__(self, load: Load) -> None:
        self._logs = Logs(load, ("admin",), partitions=_PARTITIONS)
        self._replication_factor = load.replication_factor
        decisions = Decisions(load.seed)
        self._choices = [decisions.of("config", f"c{n}") for n in range(load.clients)]

    @property
    def topics(self) -> Sequence[NewTopic]:
        return self._logs.topics

    def batching(self, client: int) -> Batching:
        return self._logs.batching(client)

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return self._logs.opening(client, process)

    def operation(self, client: int, ordinal: int) -> Invocation:
        if ordinal % _EVERY == _EVERY - 1:
            return self._administer(client, ordinal)
        draw = self._logs.kinds[client].at(ordinal)
        if draw < _ASSIGNS:
            return self._logs.assign(client, ordinal)
        return self._logs.send(client, ordinal) if draw < _SENDS else POLL

    def _administer(self, client: int, ordinal: int) -> Invocation:
        """A topic's life: made, changed and described in turn, deleted, and described again."""
        life, step = divmod(ordinal // _EVERY, _STEPS)
        topic = f"made-{client}-{life}"
        choice = self._choices[client].at(ordinal)
        if step == 0:
            new: dict[str, Any] = {
                "topic": topic,
                "partitions": 1 + int(choice * 4),
                "replication": self._replication_factor,
                "configs": {"retention.ms": _retention_ms(choice)},
            }
            return Invocation("create", new)
        if step == _STEPS - 2:
            return Invocation("delete", {"topic": topic})
        if step % 2:
            return Invocation("describe", {"topic": topic})
        # Half of the time the setting goes back to what the broker has.
        value = _retention_ms(choice) if choice < 1 / 2 else None
        return Invocation("alter", {"topic": topic, "configs": {"retention.ms": value}})

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return self._logs.write(client, ordinal, key)

    def drained_keys(self, client: int) -> Sequence[str]:
        return self._logs.drained_keys(client)

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        """Its last topic, which is somewhere in its life, and some before it, which are deleted."""
        done = ordinal // _EVERY
        lives = -(-done // _STEPS)
        return tuple(
            Invocation("describe", {"topic": f"made-{client}-{life}", "settled": True})
            for life in range(max(0, lives - _ASKED), lives)
        )


def _retention_ms(choice: float) -> str:
    return str(1 + int(choice * _RETENTION_MS_MAX))
