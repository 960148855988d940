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
from harness.sim.verdict import Outcome, Verdict, verdict


@dataclass(frozen=True, slots=True)
class SeedEnded:
    seed: int
    verdict: Verdict
    totals: Totals
    first_ack_s: float | None
    length_s: float
    vacuous: tuple[str, ...] = ()
    """Invariants that had nothing to look at."""

    @property
    def failure(self) -> str | None:
        """A sentence; None for a seed that showed what it should, and nothing else."""
        return None if self.verdict.is_valid else self.verdict.sentences[0]

    @property
    def command(self) -> str:
        return f"harness sim --seed {self.seed}"


def run_seed(seed: int) -> SeedEnded:
    try:
        with node_logs(shown=False):
            ended = run_schedule(draw_schedule(seed), watching=Cost.EXPENSIVE)
    except Exception:
        stumbled = Verdict(Outcome.UNKNOWN, (traceback.format_exc(limit=-4),))
        return SeedEnded(seed, stumbled, Totals(), None, 0.0)
    vacuous = tuple(name for name, looks in ended.looks.items() if not looks)
    return SeedEnded(seed, verdict(ended), ended.totals, ended.first_ack_s, ended.length_s, vacuous)


def sweep(seeds: Iterable[int], *, jobs: int = 1) -> Iterator[SeedEnded]:
    """In the order of the seeds. With several jobs each one is a process."""
    if jobs == 1:
        yield from map(run_seed, seeds)
        return
    # Fresh processes: nothing of this one, and nothing of an earlier run, can leak into a seed.
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(run_seed, seeds)
