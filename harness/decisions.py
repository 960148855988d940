"""Everything that is left to chance, each time as a pure function of seed, purpose, name, ordinal.

There is no shared stream of random numbers. The delay of the 17th request on a connection is the
same whether or not another connection ever existed, so taking one fault out of a schedule leaves
every decision about other objects alone. That is what makes a failing schedule shrinkable.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from random import Random
from typing import Any, NamedTuple, NoReturn

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_TO_UNIT = 2.0**-53


class Override(NamedTuple):
    """What a schedule says about one decision, in place of what the seed would."""

    purpose: str
    name: str
    ordinal: int
    value: float


class Decisions:
    def __init__(self, seed: int, overrides: Iterable[Override] = ()) -> None:
        self.seed = seed
        self._streams: dict[tuple[str, str], Stream] = {}
        self._overrides: dict[tuple[str, str], dict[int, float]] = {}
        for purpose, name, ordinal, value in overrides:
            self._overrides.setdefault((purpose, name), {})[ordinal] = value

    def of(self, purpose: str, name: str) -> Stream:
        """Always the same stream for the same two words, so its ordinals go on counting."""
        stream = self._streams.get((purpose, name))
        if stream is None:
            stream = Stream(self._base(purpose, name), self._overrides.get((purpose, name)))
            self._streams[purpose, name] = stream
        return stream

    def random(self, purpose: str, name: str) -> Random:
        """A stream in the dress of `random.Random`, for code that wants one."""
        return StreamRandom(self.of(purpose, name))

    def _base(self, purpose: str, name: str) -> int:
        # The lengths keep ("ab", "c") and ("a", "bc") apart.
        text = f"{self.seed}/{len(purpose)}/{purpose}/{name}".encode()
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


class Stream:
    """The decisions of one kind about one object, by number."""

    __slots__ = ("_base", "_overrides", "ordinal")

    def __init__(self, base: int, overrides: dict[int, float] | None = None) -> None:
        self._base = base
        self._overrides = overrides
        self.ordinal = 0
        """Of the decision that `next` takes next."""

    def at(self, ordinal: int) -> float:
        """In [0, 1). Splitmix64: its state is a multiple of a constant, so any is at hand."""
        if self._overrides is not None and ordinal in self._overrides:
            return self._overrides[ordinal]
        z = (self._base + (ordinal + 1) * _GAMMA) & _MASK
        z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
        z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
        return ((z ^ (z >> 31)) >> 11) * _TO_UNIT

    def next(self) -> float:
        ordinal = self.ordinal
        self.ordinal = ordinal + 1
        if self._overrides is not None:
            return self.at(ordinal)
        # Written out again, because the network draws for every message.
        z = (self._base + (ordinal + 1) * _GAMMA) & _MASK
        z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
        z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
        return ((z ^ (z >> 31)) >> 11) * _TO_UNIT


class StreamRandom(Random):
    """What the library builds on `random` and `getrandbits` follows the stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        super().__init__()

    def random(self) -> float:
        return self._stream.next()

    def getrandbits(self, k: int, /) -> int:
        if k < 0:
            raise ValueError("number of bits must be non-negative")
        value, have = 0, 0
        while have < k:
            # A double carries 53 bits, of which the upper 32 are taken.
            value = value << 32 | int(self._stream.next() * 0x1_0000_0000)
            have += 32
        return value >> (have - k)

    def seed(self, *args: Any, **kwargs: Any) -> None:
        """The stream was seeded by its name."""

    def getstate(self) -> NoReturn:
        raise NotImplementedError("a stream of decisions has no state but its ordinal")

    def setstate(self, state: Any) -> NoReturn:
        raise NotImplementedError("a stream of decisions has no state but its ordinal")
