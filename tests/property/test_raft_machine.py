"""Random lives of a quorum: one leader in an epoch, and what was committed stays.

Each rule has a life in which breaking it is seen, or the lives would prove nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from broker.raft.errors import BrokenRuleError
from broker.raft.machine import Raft
from tests.property.raft_ghost import ViolationError
from tests.property.raft_mutants import MUTANTS
from tests.property.raft_world import TIMEOUTS, World

CHAOS_S = 10.0
PROGRESS_S = 12 * TIMEOUTS.fetch_s
SEEDS = 60
SEEDS_SWEPT = 2000
SEEDS_PER_MUTANT = 250

MUST_HAPPEN = (
    "elections",
    "records committed",
    "records truncated",
    "records lost in crashes",
    "snapshots installed",
    "leaders that made way",
    "pauses",
    "cuts",
    "crashes at Persist",
    "crashes at LogFlushed",
    "crashes at HighWatermarkAdvanced",
)


def live(seed: int, make: type[Raft] = Raft) -> Counter[str]:
    """Chaos, then peace, in which all members must come to agree on something new."""
    world = World(seed, make)
    world.run(until=CHAOS_S)
    world.heal()
    before = len(world.ghost.committed)
    world.run(until=CHAOS_S + PROGRESS_S, is_done=lambda: world.agrees_beyond(before))
    assert world.agrees_beyond(before), world.describe()
    return world.seen


def live_all(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        try:
            seen += live(seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    return seen


def test_nothing_committed_is_lost() -> None:
    seen = live_all(range(SEEDS))
    assert [event for event in MUST_HAPPEN if not seen[event]] == []


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_nothing_committed_is_lost_in_many_lives() -> None:
    live_all(range(SEEDS, SEEDS_SWEPT))


def test_the_same_seed_gives_the_same_life() -> None:
    assert live(7) == live(7)


@pytest.mark.parametrize("break_a_rule", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_rule_is_noticed(
    break_a_rule: Callable[[pytest.MonkeyPatch], type[Raft]], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = break_a_rule(monkeypatch)
    for seed in range(SEEDS_PER_MUTANT):
        try:
            live(seed, make)
        except (ViolationError, BrokenRuleError):
            return
        except AssertionError:
            continue  # a quorum that stands still may be the work of the mutant, but proves little
    pytest.fail(f"{SEEDS_PER_MUTANT} lives, and nothing was noticed")
