"""Many seeds, one after the other or side by side: what they amount to, and which of them fail."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from harness.schedule.schedule import Schedule
from harness.sim.invariants.base import Cost
from harness.sim.node_logs import node_logs
from harness.sim.run import LENGTH_MS, NODES, HistoryJudge, draw_schedule, run_schedule
from harness.sim.totals import Totals
from harness.sim.verdict import Outcome, Verdict, verdict


@dataclass(frozen=True, slots=True)
class Seeds:
    """How each of many seeds is run."""

    nodes: int = NODES
    length_s: float = LENGTH_MS / 1000
    watching: Cost | None = Cost.EXPENSIVE
    groups: bool = False
    transactions: bool = False
    judge: HistoryJudge | None = None
    """A function of a module, as it is sent to other processes by its name."""

    def draw(self, seed: int) -> Schedule:
        return draw_schedule(
            seed,
            nodes=self.nodes,
            length_ms=self.length_s * 1000,
            groups=self.groups,
            transactions=self.transactions,
        )

    def command(self, seed: int) -> str:
        """Runs one of them alone."""
        more = "" if self.nodes == NODES else f" --nodes {self.nodes}"
        more += "" if self.length_s == LENGTH_MS / 1000 else f" --length {self.length_s:g}"
        more += " --groups" if self.groups else ""
        more += " --transactions" if self.transactions else ""
        return f"harness sim --seed {seed}{more}{options(self.watching)}"


def options(watching: Cost | None) -> str:
    return {Cost.EXPENSIVE: "", Cost.CHEAP: " --invariants cheap", None: " --invariants off"}[
        watching
    ]


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


def run_seed(seed: int, setting: Seeds = Seeds()) -> SeedEnded:  # noqa: B008 - it is frozen
    try:
        with node_logs(shown=False):
            ended = run_schedule(setting.draw(seed), watching=setting.watching, judge=setting.judge)
    except Exception:
        stumbled = Verdict(Outcome.UNKNOWN, (traceback.format_exc(limit=-4),))
        return SeedEnded(seed, stumbled, Totals(), None, 0.0)
    vacuous = tuple(name for name, looks in ended.looks.items() if not looks)
    return SeedEnded(seed, verdict(ended), ended.totals, ended.first_ack_s, ended.length_s, vacuous)


def sweep(
    seeds: Iterable[int],
    *,
    jobs: int = 1,
    setting: Seeds = Seeds(),  # noqa: B008 - it is frozen
) -> Iterator[SeedEnded]:
    """In the order of the seeds. With several jobs each one is a process."""
    run = partial(run_seed, setting=setting)
    if jobs == 1:
        yield from map(run, seeds)
        return
    # Fresh processes: nothing of this one, and nothing of an earlier run, can leak into a seed.
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(run, seeds)
