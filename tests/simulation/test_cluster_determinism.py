"""A drawn schedule of a whole cluster: the same run in every process, and one decision at a time.

Taking one entry out of a schedule changes nothing before its moment, and no decision afterwards:
the delay of the n-th request on a connection stays what it was, whatever else is gone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from harness.decisions import Decisions, Stream, StreamRandom
from harness.schedule.schedule import Schedule
from harness.sim.disks import DiskPoints
from harness.sim.flow import Flow
from harness.sim.parcels import Parcel
from harness.sim.run import draw_schedule, run_schedule
from harness.sim.simulation import Simulation
from harness.sim.trace import Row
from tests.simulation import drawn_runs

ROOT = Path(__file__).parents[2]
SHORT_MS = 22_000.0
LONG_MS = 40_000.0
NS_PER_MS = 1_000_000

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
    runs = told(1, 11, 13, SHORT_MS)
    assert runs[:1] == told(4242, 11, 12, SHORT_MS)
    assert len(set(runs)) == 2


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


class Spy:
    """Writes down what each object is dealt, and counts for itself: the n-th message of a
    connection, the n-th fdatasync of a node, the n-th throw of a process."""

    def __init__(self) -> None:
        self.drawn: Drawn = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def note(self, what: str, of: str, value: float) -> None:
        self._counts[what, of] += 1
        self.drawn[what, of, self._counts[what, of]] = value

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        depart, before, random = Flow._depart, DiskPoints.before, Decisions.random

        def spied_depart(flow: Flow, parcel: Parcel, size: int, delays: Stream) -> None:
            way = f"{flow._link.source} to {flow._link.target} on {flow._target.name}"
            self.note(f"delay of {parcel.kind.name}", way, delays.at(delays.ordinal))
            depart(flow, parcel, size, delays)

        async def spied_before(points: DiskPoints, operation: str, path: str) -> int:
            stream = points._loop.decisions.of(f"disk_{operation}", points._node)
            self.note(operation, points._node, stream.at(stream.ordinal))
            return await before(points, operation, path)

        def spied_dice(decisions: Decisions, purpose: str, name: str) -> StreamRandom:
            dice = random(decisions, purpose, name)
            assert isinstance(dice, StreamRandom)
            dice._stream = SpiedStream(self, f"{purpose} {name}", dice._stream)
            return dice

        patch.setattr(Flow, "_depart", spied_depart)
        patch.setattr(DiskPoints, "before", spied_before)
        patch.setattr(Decisions, "random", spied_dice)


class SpiedStream(Stream):
    __slots__ = ("_of", "_spy", "_stream")

    def __init__(self, spy: Spy, of: str, stream: Stream) -> None:
        super().__init__(0)
        self._spy, self._of, self._stream = spy, of, stream

    def next(self) -> float:
        value = self._stream.next()
        self._spy.note("throw", self._of, value)
        return value


def played(schedule: Schedule) -> tuple[Drawn, list[Row]]:
    spy = Spy()
    rows: list[Row] = []
    close = Simulation.close

    def keep_rows(simulation: Simulation) -> None:
        rows.extend(simulation.trace.rows())
        close(simulation)

    with pytest.MonkeyPatch.context() as patch:
        spy.patch(patch)
        patch.setattr(Simulation, "close", keep_rows)
        ended = run_schedule(schedule, watching=None)
    assert ended.problems == []
    return spy.drawn, rows


@cache
def played_whole(seed: int) -> tuple[Drawn, list[Row]]:
    return played(draw_schedule(seed, length_ms=SHORT_MS))


def without_a_fault(schedule: Schedule) -> tuple[Schedule, int]:
    taken = schedule.faults[len(schedule.faults) // 2]
    left = tuple(each for each in schedule.faults if each is not taken)
    return replace(schedule, faults=left), int(taken.at_ms * NS_PER_MS)


def without_the_message_faults(schedule: Schedule) -> tuple[Schedule, int]:
    """All of them, for which of them will strike nobody knows before the run."""
    struck = next(
        row
        for row in played_whole(schedule.seed)[1]
        if row.kind in ("delay", "duplicate", "error_reply") or row.detail == "message fault"
    )
    return replace(schedule, message_faults=()), struck.time_ns


def without_an_operation(client: str) -> Callable[[Schedule], tuple[Schedule, int]]:
    def taken_out(schedule: Schedule) -> tuple[Schedule, int]:
        operations = schedule.operations[client]
        taken = operations[len(operations) // 2]
        left = tuple(each for each in operations if each is not taken)
        less = replace(schedule, operations={**schedule.operations, client: left})
        return less, int(taken.at_ms * NS_PER_MS)

    return taken_out


ONE_LESS = {
    "a fault": without_a_fault,
    "message faults": without_the_message_faults,
    "a send": without_an_operation("writer1"),
    "a poll": without_an_operation("reader2"),
    "a move": without_an_operation("mover"),
}


def check_one_less(what: str, seed: int) -> None:
    less, at_ns = ONE_LESS[what](draw_schedule(seed, length_ms=SHORT_MS))
    drawn, rows = played_whole(seed)
    drawn_less, rows_less = played(less)

    before = [row for row in rows if row.time_ns < at_ns]
    assert before == rows_less[: len(before)]
    assert len(before) > 50
    assert rows != rows_less

    both = drawn.keys() & drawn_less.keys()
    assert [each for each in both if drawn[each] != drawn_less[each]] == []
    assert len(both) > 0.5 * len(drawn)


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(what, marks=[pytest.mark.slow] if what in ("a poll", "a move") else [])
        for what in ONE_LESS
    ],
)
def test_one_entry_less_changes_no_decision_and_nothing_before_its_moment(what: str) -> None:
    check_one_less(what, 11)


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 5, 26])
@pytest.mark.parametrize("what", ONE_LESS)
def test_and_so_it_is_with_other_seeds(what: str, seed: int) -> None:
    check_one_less(what, seed)
