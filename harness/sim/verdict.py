"""What a run has shown: one verdict, whoever asks for it."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from harness.sim.healing import FIRST_ACK_S_MAX
from harness.sim.invariants.comeback import REJOIN

if TYPE_CHECKING:
    from harness.sim.run import Ended

WRITES_MIN = 100
"""A run with fewer acknowledged writes has not shown much."""


class Outcome(Enum):
    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN = "unknown"


class Verdict(NamedTuple):
    outcome: Outcome
    sentences: tuple[str, ...]
    """Why, the most important one first."""

    @property
    def is_valid(self) -> bool:
        return self.outcome is Outcome.VALID


def verdict(ended: Ended) -> Verdict:
    if ended.broken is not None:
        return Verdict(Outcome.INVALID, (str(ended.broken),))
    findings = (*ended.problems, *_not_back(ended))
    if findings:
        return Verdict(Outcome.INVALID, findings)
    doubts = tuple(_doubts(ended))
    if doubts:
        return Verdict(Outcome.UNKNOWN, doubts)
    return Verdict(Outcome.VALID, (f"{_KEPT}, {_watched(ended)}",))


def _not_back(ended: Ended) -> list[str]:
    """Safety is not all: what is healed has to come back."""
    behind = ended.comeback.behind if REJOIN in ended.looks else ()
    return [
        *(f"unavailable: {each}" for each in ended.comeback.unavailable),
        *(f"{REJOIN}: {each}" for each in behind),
    ]


_KEPT = "no acknowledged record was lost, duplicated or moved"


def _watched(ended: Ended) -> str:
    """How many invariants held, and which had nothing to compare."""
    if not ended.looks:
        return "and no invariant was checked"
    idle = [name for name, looks in ended.looks.items() if not looks]
    asked = len(ended.looks) - len(idle)
    if idle:
        return f"and {asked} invariants held; nothing to compare for {', '.join(idle)}"
    return f"and all {asked} checked invariants held"


def _doubts(ended: Ended) -> list[str]:
    if ended.stopped is not None:
        return [f"the run stopped: {ended.stopped}"]
    doubts = []
    if ended.first_ack_s is None:
        doubts.append("the cluster did not come back after the last fault")
    elif ended.first_ack_s > FIRST_ACK_S_MAX:
        doubts.append(
            f"the first write after healing took {ended.first_ack_s:.1f} s, and should take no "
            f"more than {FIRST_ACK_S_MAX:g} s"
        )
    if ended.unsettled:
        doubts.append(f"{ended.unsettled} writes were never settled")
    if not ended.transactions_read_back:
        doubts.append("the topics of transactions were not read to their ends")
    if ended.totals.acknowledged_writes < WRITES_MIN:
        doubts.append(f"fewer than {WRITES_MIN} writes were acknowledged")
    return doubts
