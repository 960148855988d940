"""Which key an operation is about: how often each comes up is `--key-dist`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from harness.cluster.base import NewTopic

KEY_DISTS = "uniform, zipf or hot:90 (so many percent of the operations on one key)"


class KeyDist:
    """Picks one of its keys by a number in [0, 1)."""

    def __init__(self, name: str, keys: Sequence[str]) -> None:
        self._keys = tuple(keys)
        weights = _weights(name, len(self._keys))
        whole = sum(weights)
        self._bounds = tuple(each / whole for each in accumulate(weights))

    def pick(self, draw: float) -> str:
        # Rounding may leave the last bound a little below 1.
        return self._keys[min(bisect_right(self._bounds, draw), len(self._keys) - 1)]


def _weights(name: str, count: int) -> list[float]:
    kind, _, detail = name.partition(":")
    if kind == "uniform" and not detail:
        return [1.0] * count
    if kind == "zipf" and not detail:
        return [1.0 / rank for rank in range(1, count + 1)]
    if kind == "hot" and detail.isdigit() and 0 < int(detail) <= 100:
        share = int(detail) / 100
        return [share] + [(1 - share) / (count - 1)] * (count - 1) if count > 1 else [1.0]
    raise ValueError(f"--key-dist {name} is unknown; try {KEY_DISTS}")


def keys_of(topics: Sequence[NewTopic]) -> tuple[str, ...]:
    """Every partition, one topic after the other in turn, so that no topic has all the hot ones."""
    most = max((topic.partitions for topic in topics), default=0)
    return tuple(
        f"{topic.name}-{index}"
        for index in range(most)
        for topic in topics
        if index < topic.partitions
    )


def window(keys: Sequence[str], turn: int) -> list[str]:
    """Half of the keys, each turn another half: after a few turns everybody has had them all."""
    width = (len(keys) + 1) // 2
    return [keys[(turn + at) % len(keys)] for at in range(width)]


def dealt_out(keys: Sequence[str], client: int, clients: int) -> list[str]:
    """A client's share in reading everything back: each key has two readers where there are two."""
    count = len(keys)
    if clients >= count:
        return [keys[at] for at in dict.fromkeys((client % count, (client + 1) % count))]
    readers = (client, (client + 1) % clients)
    return [key for at, key in enumerate(keys) if at % clients in readers]
