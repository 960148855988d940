"""What every invariant is: a rule about a cluster's state, asked after each step of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from broker.inspect import METADATA_ID
from harness.sim.loop import SimulationError

if TYPE_CHECKING:
    from harness.sim.invariants.step import Step

Key = tuple[bytes, int]
"""A partition: the topic's id, because a topic may be made again under its name, and the index."""

METADATA: Key = (METADATA_ID, 0)


class Cost(Enum):
    CHEAP = auto()
    """What a step costs depends neither on how long logs are nor on how many partitions."""
    EXPENSIVE = auto()


@dataclass(frozen=True, slots=True)
class Violation:
    invariant: str
    sentence: str
    row: int
    """Of the trace: the last event of the step that was looked at."""
    time_s: float

    @property
    def because(self) -> str:
        """What is wrong and where to look for it, without the invariant's name."""
        return f"{self.sentence} (at {self.time_s:.6f} s, row {self.row})"

    def __str__(self) -> str:
        return f"{self.invariant}: {self.because}"


class InvariantBroken(SimulationError):  # noqa: N818 - it is the finding and not an error
    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


class Invariant(Protocol):
    name: str
    cost: Cost
    looks: int
    """How often it had something to compare. At 0 it has proved nothing."""

    def check(self, step: Step) -> Violation | None: ...
