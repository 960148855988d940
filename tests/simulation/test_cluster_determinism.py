"""A drawn schedule of a whole cluster: the same run in every process, and one decision at a time.

Taking one entry out of a schedule changes nothing before its moment, and no decision afterwards:
the delay of the n-th request on a connection stays what it was, whatever else is gone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from harness.sim import simulation as simulation_module
from harness.sim.decisions import Decisions, Override, Stream
from harness.sim.run import draw_schedule, run_schedule
from harness.sim.schedule import Schedule
from harness.sim.trace import Row
from tests.simulation import drawn_runs

ROOT = Path(__file__).parents[2]
SHORT_MS = 22_000.0
LONG_MS = 40_000.0

Drawn = dict[tuple[str, str, int], float]


def told(hash_seed: int, first: int, last: int, length_ms: float) -> list[str]:
    shown = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.simulation.drawn_runs",
            str(first),
            str(last),
            str(length_ms),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    )
    return shown.stdout.splitlines()


def test_a_drawn_schedule_gives_the_same_run_whatever_the_hash_seed() -> None:
    runs = told(1, 11, 14, SHORT_MS)
    assert runs == told(4242, 11, 14, SHORT_MS)
    assert len(set(runs)) == 3


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_two_hundred_drawn_schedules_give_the_same_runs_whatever_the_hash_seed(first: int) -> None:
    runs = told(1, first, first + 25, LONG_MS)
    assert runs == told(4242, first, first + 25, LONG_MS)
    assert len(set(runs)) == 25


def test_a_second_run_in_the_same_process_is_the_same() -> None:
    assert drawn_runs.tell(11, SHORT_MS) == drawn_runs.tell(11, SHORT_MS)


# One entry less


class WritingStream(Stream):
    __slots__ = ("about", "drawn")

    drawn: Drawn
    about: tuple[str, str]

    def at(self, ordinal: int) -> float:
        value = super().at(ordinal)
        self.drawn[*self.about, ordinal] = value
        return value

    def next(self) -> float:
        ordinal = self.ordinal
        self.ordinal = ordinal + 1
        return self.at(ordinal)


class WritingDecisions(Decisions):
    """Writes down every decision that is taken."""

    drawn: Drawn

    def of(self, purpose: str, name: str) -> Stream:
        stream = self._streams.get((purpose, name))
        if stream is None:
            overrides = self._overrides.get((purpose, name))
            stream = WritingStream(self._base(purpose, name), overrides)
            stream.drawn, stream.about = self.drawn, (purpose, name)
            self._streams[purpose, name] = stream
        return stream


def played(schedule: Schedule) -> tuple[Drawn, list[Row]]:
    drawn: Drawn = {}
    rows: list[Row] = []
    close = simulation_module.Simulation.close

    def make(seed: int, overrides: Iterable[Override] = ()) -> Decisions:
        decisions = WritingDecisions(seed, overrides)
        decisions.drawn = drawn
        return decisions

    def keep_rows(simulation: simulation_module.Simulation) -> None:
        rows.extend(simulation.trace.rows())
        close(simulation)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation_module, "Decisions", make)
        patch.setattr(simulation_module.Simulation, "close", keep_rows)
        ended = run_schedule(schedule, watching=None)
    assert ended.problems == []
    return drawn, rows


@cache
def played_whole(seed: int) -> tuple[Drawn, list[Row]]:
    return played(draw_schedule(seed, length_ms=SHORT_MS))


def without_a_fault(schedule: Schedule) -> tuple[Schedule, float]:
    taken = schedule.faults[len(schedule.faults) // 2]
    left = tuple(each for each in schedule.faults if each is not taken)
    return replace(schedule, faults=left), taken.at_ms


def without_the_message_faults(schedule: Schedule) -> tuple[Schedule, float]:
    """All of them, for which of them will strike nobody knows before the run."""
    struck = next(
        row
        for row in played_whole(schedule.seed)[1]
        if row.kind in ("delay", "duplicate", "error_reply") or row.detail == "message fault"
    )
    return replace(schedule, message_faults=()), struck.time_ns / 1e6


def without_an_operation(client: str) -> Callable[[Schedule], tuple[Schedule, float]]:
    def taken_out(schedule: Schedule) -> tuple[Schedule, float]:
        operations = schedule.operations[client]
        taken = operations[len(operations) // 2]
        left = tuple(each for each in operations if each is not taken)
        return replace(schedule, operations={**schedule.operations, client: left}), taken.at_ms

    return taken_out


ONE_LESS = {
    "a fault": without_a_fault,
    "message faults": without_the_message_faults,
    "a send": without_an_operation("writer1"),
    "a poll": without_an_operation("reader2"),
    "a move": without_an_operation("mover"),
}


def check_one_less(what: str, seed: int) -> None:
    less, at_ms = ONE_LESS[what](draw_schedule(seed, length_ms=SHORT_MS))
    drawn, rows = played_whole(seed)
    drawn_less, rows_less = played(less)

    before = [row for row in rows if row.time_ns < at_ms * 1e6]
    assert before == rows_less[: len(before)]
    assert len(before) > 500
    assert rows != rows_less

    both = drawn.keys() & drawn_less.keys()
    assert [each for each in both if drawn[each] != drawn_less[each]] == []
    assert len(both) > 0.5 * len(drawn)


@pytest.mark.parametrize("what", ONE_LESS)
def test_one_entry_less_changes_no_decision_and_nothing_before_its_moment(what: str) -> None:
    check_one_less(what, 11)


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 5, 26])
@pytest.mark.parametrize("what", ONE_LESS)
def test_and_so_it_is_with_other_seeds(what: str, seed: int) -> None:
    check_one_less(what, seed)
