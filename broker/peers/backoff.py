"""How long to wait before the next try: longer each time, and never in step with others."""

from __future__ import annotations

from random import Random

_FACTOR = 2.0
_JITTER = 0.2


class Backoff:
    """Exponential with jitter, or all that lost one node would come back to it at once."""

    def __init__(self, first_s: float, longest_s: float, random: Random) -> None:
        self._first_s = first_s
        self._longest_s = max(longest_s, first_s)
        self._random = random
        self._next_s = first_s

    def next_s(self) -> float:
        wait_s = self._next_s
        self._next_s = min(wait_s * _FACTOR, self._longest_s)
        return wait_s * (1 + self._random.uniform(-_JITTER, _JITTER))

    def reset(self) -> None:
        self._next_s = self._first_s
