"""The wall clock of one simulated host: it may run fast or slow, and jump."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.sim.loop import SimLoop

START_MS = 1_750_000_000_000
"""When every run begins: a moment in June 2025."""

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Skew:
    rate: float


class SimClock:
    """Belongs to the machine, so it goes on through restarts."""

    def __init__(self, loop: SimLoop, *, offset_ms: float = 0.0) -> None:
        self._loop = loop
        self._rate = 1.0
        self._skews: list[Skew] = []
        self._shown_ms = START_MS + loop.now_ns / _NS_PER_MS + offset_ms
        self._since_ns = loop.now_ns

    def now_ms(self) -> int:
        return int(self._now_ms())

    @property
    def offset_ms(self) -> float:
        """How far it is ahead of true time."""
        return self._now_ms() - (START_MS + self._loop.now_ns / _NS_PER_MS)

    def jump(self, by_ms: float) -> None:
        self._settle()
        self._shown_ms += by_ms

    def run_at(self, rate: float) -> None:
        """1.0 is true time; 1.001 gains a millisecond each second."""
        self._settle()
        self._rate = rate

    def skew(self, rate: float) -> Callable[[], None]:
        """Runs at this rate until the undo that it gives: of several, the last one counts."""
        skew = Skew(rate)
        self._skews.append(skew)
        self.run_at(rate)

        def undo() -> None:
            self._skews = [each for each in self._skews if each is not skew]
            self.run_at(self._skews[-1].rate if self._skews else 1.0)

        return undo

    def _settle(self) -> None:
        self._shown_ms = self._now_ms()
        self._since_ns = self._loop.now_ns

    def _now_ms(self) -> float:
        return self._shown_ms + (self._loop.now_ns - self._since_ns) * self._rate / _NS_PER_MS
