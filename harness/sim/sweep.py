"""Many seeds, one after the other or side by side: what they amount to, and which of them fail."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.sim.invariants.base import Cost
from harness.sim.node_logs import node_logs
from harness.sim.run import draw_schedule, run_schedule
from harness.sim.totals import Totals

WRITES_MIN = 100
FIRST_ACK_S_MAX = 20.0
"""Bounded time to the first acknowledged write after healing: two of Kafka's sessions."""


@dataclass(frozen=True, slots=True)
class SeedEnded:
    seed: int
    failure: str | None
    """A sentence; None for a seed that showed what it should, and nothing else."""
    totals: Totals
    first_ack_s: float | None
    length_s: float
    vacuous: tuple[str, ...] = ()
    """Invariants that had nothing to look at."""

    @property
    def command(self) -> str:
        return f"harness sim --seed {self.seed}"


def run_seed(seed: int) -> SeedEnded:
    try:
        with node_logs(shown=False):
            ended = run_schedule(draw_schedule(seed), watching=Cost.EXPENSIVE)
    except Exception:
        return SeedEnded(seed, traceback.format_exc(limit=-4), Totals(), None, 0.0)
    failure = None
    if ended.broken is not None:
        failure = str(ended.broken)
    elif ended.problems:
        failure = ended.problems[0]
    elif ended.first_ack_s is None or ended.unsettled:
        failure = f"it did not come back: {ended.unsettled} writes were never settled"
    elif ended.first_ack_s > FIRST_ACK_S_MAX:
        failure = f"the first write after healing took {ended.first_ack_s:.1f} s"
    elif ended.totals.acknowledged_writes < WRITES_MIN:
        failure = f"only {ended.totals.acknowledged_writes} writes were acknowledged"
    vacuous = tuple(name for name, looks in ended.looks.items() if not looks)
    return SeedEnded(seed, failure, ended.totals, ended.first_ack_s, ended.length_s, vacuous)


def sweep(seeds: Iterable[int], *, jobs: int = 1) -> Iterator[SeedEnded]:
    """In the order of the seeds. With several jobs each one is a process."""
    if jobs == 1:
        yield from map(run_seed, seeds)
        return
    # Fresh processes: nothing of this one, and nothing of an earlier run, can leak into a seed.
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(run_seed, seeds)
