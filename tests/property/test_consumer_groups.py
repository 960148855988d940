"""Random lives of a consumer group: no partition has two owners, and peace brings balance.

Each rule has a life in which breaking it is seen, or the lives would prove nothing.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.property.consumer_group_mutants import MUTANTS, Mutant
from tests.property.consumer_group_world import ViolationError, World

STEPS = 250
SEEDS = 20
SEEDS_SWEPT = 1500
SEEDS_PER_MUTANT = 60

MUST_HAPPEN = (
    "joins",
    "leaves",
    "crashes",
    "returns",
    "lost replies",
    "late copies",
    "other subscriptions",
    "changes of topics",
    "members thrown out",
    "waits for others",
    "failovers",
    "replays",
    "FENCED_MEMBER_EPOCH",
    "UNKNOWN_MEMBER_ID",
    "UNRELEASED_INSTANCE_ID",
    "COORDINATOR_NOT_AVAILABLE",
)


def live(seed: int, steps: int = STEPS) -> Counter[str]:
    world = World(seed)
    try:
        world.live(steps)
        world.settle()
    except Exception as error:
        error.add_note(f"seed {seed}")
        raise
    return world.seen


def test_no_partition_has_two_owners_and_peace_brings_balance() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        seen += live(seed)
    assert [event for event in MUST_HAPPEN if not seen[event]] == []


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_partition_has_two_owners_in_many_lives() -> None:
    for seed in range(SEEDS, SEEDS_SWEPT):
        live(seed, steps=400)


def test_the_same_seed_gives_the_same_life() -> None:
    assert live(7) == live(7)


@pytest.mark.parametrize("break_a_rule", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_rule_is_noticed(break_a_rule: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    break_a_rule(monkeypatch)
    for seed in range(SEEDS_PER_MUTANT):
        try:
            live(seed)
        except ViolationError:
            return
    pytest.fail(f"{SEEDS_PER_MUTANT} lives, and nothing was noticed")
