"""Records with keys: the client chooses the partition, and partitions are added meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.client.base import Batching, Invocation, Partitioner
from harness.client.payload import value_of
from harness.cluster.base import NewTopic
from harness.cluster.parts import Part
from harness.decisions import Decisions
from workloads.base import Load
from workloads.bursts import Bursts, batching_of
from workloads.keys import KeyDist, dealt_out
from workloads.logs import LOG_CHECKERS, POLL, Logs

_TOPIC = "keyed"
_PARTITIONS = 4
_GROWTHS = {(24 << step) - 1: _PARTITIONS + 1 + step for step in range(8)}
"""By ordinal, how many partitions there shall be: soon at first and then more and more seldom, so
that a run of any length and rate has keys that move."""
_PARTITIONS_MAX = max(_GROWTHS.values())
_GROWERS = 2
"""Clients that add partitions. Both ask for the same numbers, so that one that is cut off does not
hold up the growth; the later of the two is refused."""
_NAMES = tuple(f"k{number}" for number in range(32))
_BURST_MAX = 32
"""Every client reads every partition, so each record costs as many reads as there are clients."""
_ASSIGNS = 1 / 64
_SENDS = 0.5 + _ASSIGNS / 2
_PARTITIONERS: tuple[Partitioner, ...] = ("default", "murmur2", "custom")
_KEY_DISTS = ("uniform", "zipf", "hot:60")
_PARTITIONER = Invocation("partitioner")
_ASSIGN_ALL = Invocation("assign", [_TOPIC])


class Keyed:
    """Records have keys and clients choose their partitions, each by a partitioner and a key set of
    its own, while partitions are added."""

    name = "keyed"
    consistency = (
        "each partition: linearizable appends, monotonic reads of a prefix by each consumer; each "
        "key: in a partition that its partitioner gives, in the order of its producer there"
    )
    is_polled = True
    needs = frozenset[Part]({"topics"})
    checkers = (*LOG_CHECKERS, "key-order", "key-moved", "lost-change")

    def __init__(self, load: Load) -> None:
        self._logs = Logs(load, (_TOPIC,), partitions=_PARTITIONS)
        self._clients = load.clients
        decisions, clients = Decisions(load.seed), range(load.clients)
        burst = min(load.burst, _BURST_MAX)
        self._bursts = [Bursts(decisions, client, burst) for client in clients]
        self._batchings = [_batching(decisions, client, load) for client in clients]
        self._key_dists = [_key_dist(decisions, client, load) for client in clients]
        self._names = [decisions.of("name", f"c{client}") for client in clients]

    @property
    def topics(self) -> Sequence[NewTopic]:
        """As it begins; `create-partitions` adds to it."""
        return self._logs.topics

    def batching(self, client: int) -> Batching:
        return self._batchings[client]

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return _PARTITIONER, _ASSIGN_ALL

    def operation(self, client: int, ordinal: int) -> Invocation:
        if client < _GROWERS and ordinal in _GROWTHS:
            count = _GROWTHS[ordinal]
            return Invocation("create-partitions", {"topic": _TOPIC, "partitions": count})
        draw = self._logs.kinds[client].at(ordinal)
        if draw < _ASSIGNS:
            return _ASSIGN_ALL
        return self._send(client, ordinal) if draw < _SENDS else POLL

    def _send(self, client: int, ordinal: int) -> Invocation:
        """One record, or a burst, each with a key of its own."""
        bursts, names, key_dist = self._bursts[client], self._names[client], self._key_dists[client]
        first = bursts.sequence(ordinal)
        return Invocation(
            "send",
            [
                ["send", f"{_TOPIC}/{key_dist.pick(names.at(number))}", value_of(client, number)]
                for number in range(first, first + bursts.size(ordinal))
            ],
        )

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        """To this partition, whatever its key would be: without one."""
        value = value_of(client, self._bursts[client].sequence(ordinal))
        return Invocation("send", [["send", key, value]])

    def drained_keys(self, client: int) -> Sequence[str]:
        """Of all partitions that there may be in the end."""
        keys = [f"{_TOPIC}-{index}" for index in range(_PARTITIONS_MAX)]
        return dealt_out(keys, client, self._clients)

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        """Whether the partitions are there that were acknowledged."""
        if client >= _GROWERS:
            return ()
        return (Invocation("describe", {"topic": _TOPIC, "settled": True}),)


def _batching(decisions: Decisions, client: int, load: Load) -> Batching:
    batching = batching_of(decisions, client, load.batch_bytes_max)
    draw = decisions.of("partitioner", f"c{client}").at(0)
    return replace(batching, partitioner=_PARTITIONERS[int(draw * len(_PARTITIONERS))])


def _key_dist(decisions: Decisions, client: int, load: Load) -> KeyDist:
    """What --key-dist says, for all clients; otherwise each client draws one."""
    draw = decisions.of("key_dist", f"c{client}").at(0)
    drawn = _KEY_DISTS[int(draw * len(_KEY_DISTS))]
    return KeyDist(drawn if load.key_dist == "uniform" else load.key_dist, _NAMES)
