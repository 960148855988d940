"""What workloads have in common that send to logs and poll them: topics, keys, values, dice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.client.base import Invocation
from harness.client.payload import value_of
from harness.cluster.base import NewTopic
from harness.decisions import Decisions, Stream
from workloads.base import Load
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
)
POLL = Invocation("poll", [["poll"]])
_STAY = 512
"""Operations: longer than most faults, at the usual rate."""
_TURN = 64
"""Operations between two assignments, on the average."""


class Logs:
    """Topics and their keys under one load; every decision by client and ordinal."""

    def __init__(
        self,
        load: Load,
        names: Sequence[str],
        *,
        partitions: int,
        configs: Mapping[str, str] | None = None,
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

    def key(self, client: int, ordinal: int) -> str:
        """Every other client stays with a key for a while.

        A client waits for each operation, so those that roam all wait in the end for whichever
        partition has no leader; of the others some have work that goes on.
        """
        stays = client % 2 == 1
        return self._key_dist.pick(self._wheres[client].at(ordinal // _STAY if stays else ordinal))

    def send(self, client: int, ordinal: int) -> Invocation:
        """A value is sent once ever, so a second sight of it is a duplicate."""
        return self.write(client, ordinal, self.key(client, ordinal))

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return Invocation("send", [["send", key, value_of(client, ordinal)]])

    def assign(self, client: int, ordinal: int) -> Invocation:
        """Another half of the keys: the clients go round, each from a place of its own."""
        return Invocation("assign", window(self.keys, client + ordinal // _TURN))

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return (Invocation("assign", window(self.keys, client + process // self._clients)),)

    def drained_keys(self, client: int) -> Sequence[str]:
        return dealt_out(self.keys, client, self._clients)
