"""How many records a send has, and how its client puts records together into batches.

Both are pure functions of the seed, the client and the ordinal. Sizes come round in a cycle, so
that the number of the first record of any send is known without looking at the sends before it,
and the values of a client stay close together, which the checkers' tables rely on.
"""

from __future__ import annotations

from itertools import accumulate

from harness.client.base import Batching, Codec
from harness.decisions import Decisions

_CYCLE = 64
_SINGLES = 0.5
"""Share of the sends that have one record."""
_LINGERS_MS = (0, 0, 1, 5, 20)
_BATCHES_BYTES = (256, 1_024, 8_192, 262_144)
_CODECS: tuple[Codec, ...] = ("none", "none", "gzip", "snappy", "lz4", "zstd")


class Bursts:
    """Sizes of the sends of one client, up to `most` records."""

    def __init__(self, decisions: Decisions, client: int, most: int) -> None:
        dice = decisions.of("burst", f"c{client}")
        draws = [dice.at(number) for number in range(_CYCLE)]
        self._sizes = [_size(draw, most) for draw in draws]
        self._before = [0, *accumulate(self._sizes)]

    def size(self, ordinal: int) -> int:
        return self._sizes[ordinal % _CYCLE]

    def sequence(self, ordinal: int) -> int:
        """Number of this send's first record among all records of the client."""
        cycle, at = divmod(ordinal, _CYCLE)
        return cycle * self._before[_CYCLE] + self._before[at]


def _size(draw: float, most: int) -> int:
    if most == 1 or draw < _SINGLES:
        return 1
    return 2 + int((draw - _SINGLES) / (1 - _SINGLES) * (most - 1))


def batching_of(decisions: Decisions, client: int, bytes_max: int | None) -> Batching:
    dice = decisions.of("batching", f"c{client}")
    batch_bytes = _BATCHES_BYTES[int(dice.at(1) * len(_BATCHES_BYTES))]
    return Batching(
        linger_ms=_LINGERS_MS[int(dice.at(0) * len(_LINGERS_MS))],
        batch_bytes=batch_bytes if bytes_max is None else min(batch_bytes, bytes_max),
        codec=_CODECS[int(dice.at(2) * len(_CODECS))],
    )
