"""What workloads have in common that send to logs and poll them: topics, keys, values, dice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.client.base import Batching, Invocation
from harness.client.payload import value_of
from harness.cluster.base import NewTopic
from harness.decisions import Decisions, Stream
from workloads.base import Load
from workloads.bursts import Bursts, batching_of
from workloads.keys import KeyDist, dealt_out, keys_of, window

MIN_INSYNC_REPLICAS = 2
LOG_CHECKERS: tuple[str, ...] = (
    "lost-write",
    "unseen",
    "duplicate",
    "inconsistent-offsets",
    "phantom-read",
    "G1a",
    "nonmonotonic-poll",
    "poll-skip",
    "int-nonmonotonic-poll",
    "int-poll-skip",
    "producer-order",
    "nonlinearizable-log",
    "timestamp-order",
)
POLL = Invocation("poll", [["poll"]])
_SPREAD = 3
"""Most partitions that a burst of a client goes to that roams."""
_STAY = 512
"""Operations: longer than most faults, at the usual rate."""
_TURN = 64
"""Operations before an assignment has another key, at least."""


class Logs:
    """Topics and their keys under one load; every decision by client and ordinal."""

    def __init__(
        self,
        load: Load,
        names: Sequence[str],
        *,
        partitions: int,
        configs: Mapping[str, str] | None = None,
        sends_bursts: bool = False,
    ) -> None:
        min_insync = min(MIN_INSYNC_REPLICAS, load.replication_factor)
        self.topics = tuple(
            NewTopic(
                name=name,
                partitions=partitions,
                replication_factor=load.replication_factor,
                configs={
                    "min.insync.replicas": str(min_insync),
                    **(configs or {}),
                    **load.topic_configs,
                },
            )
            for name in names
        )
        self.keys = keys_of(self.topics)
        self._clients = load.clients
        self._key_dist = KeyDist(load.key_dist, self.keys)
        decisions = Decisions(load.seed)
        # Looked up by number on every operation, so they are laid out beforehand.
        self.kinds = [decisions.of("operation", f"c{n}") for n in range(load.clients)]
        self._wheres: list[Stream] = [decisions.of("key", f"c{n}") for n in range(load.clients)]
        self._others: list[Stream] = [decisions.of("keys", f"c{n}") for n in range(load.clients)]
        burst = load.burst if sends_bursts else 1
        # A key that is newly assigned is read from its beginning, and bursts make long logs.
        self._turn = max(_TURN, burst)
        self._bursts = [Bursts(decisions, n, burst) for n in range(load.clients)]
        self._batchings = [
            batching_of(decisions, n, load.batch_bytes_max) if burst > 1 else Batching()
            for n in range(load.clients)
        ]

    def key(self, client: int, ordinal: int) -> str:
        """Every other client stays with a key for a while.

        A client waits for each operation, so those that roam all wait in the end for whichever
        partition has no leader; of the others some have work that goes on.
        """
        turn = ordinal // _STAY if _stays(client) else ordinal
        return self._key_dist.pick(self._wheres[client].at(turn))

    def send(self, client: int, ordinal: int) -> Invocation:
        """One record, or a burst. A value is sent once ever, so a second sight is a duplicate."""
        size = self._bursts[client].size(ordinal)
        first = self._bursts[client].sequence(ordinal)
        keys = self._burst_keys(client, ordinal, size)
        return Invocation(
            "send",
            [["send", keys[at % len(keys)], value_of(client, first + at)] for at in range(size)],
        )

    def _burst_keys(self, client: int, ordinal: int, size: int) -> list[str]:
        """Partitions that the records of a burst go to in turn: one, if the client stays there."""
        keys = [self.key(client, ordinal)]
        others = self._others[client]
        if size > 1 and not _stays(client):
            count = int(others.at(ordinal * _SPREAD) * _SPREAD)
            keys += [
                self._key_dist.pick(others.at(ordinal * _SPREAD + 1 + at)) for at in range(count)
            ]
        return list(dict.fromkeys(keys))

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        value = value_of(client, self._bursts[client].sequence(ordinal))
        return Invocation("send", [["send", key, value]])

    def batching(self, client: int) -> Batching:
        return self._batchings[client]

    def assign(self, client: int, ordinal: int) -> Invocation:
        """Another half of the keys: the clients go round, each from a place of its own."""
        return Invocation("assign", window(self.keys, client + ordinal // self._turn))

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return (Invocation("assign", window(self.keys, client + process // self._clients)),)

    def drained_keys(self, client: int) -> Sequence[str]:
        return dealt_out(self.keys, client, self._clients)


def _stays(client: int) -> bool:
    return client % 2 == 1
