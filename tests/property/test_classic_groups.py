"""Random lives of a classic group: no answer is lost, and no two owners come of one generation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.state import State
from broker.groups.settings import GroupSettings
from broker.protocol.errors import ErrorCode
from tests.golden.groups.shell import Shell
from tests.property.group_clients import GROUP, TOPIC, Client
from tests.property.group_ghost import Ghost, ViolationError
from tests.property.group_mutants import MUTANTS

ACTIONS = 300
SEEDS = 40
SEEDS_SWEPT = 3000
SEEDS_PER_MUTANT = 100

MUST_HAPPEN = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Empty",
    "joins",
    "assignments",
    "assignments skipped",
    "generations stored",
    "groups emptied",
    "groups deleted",
    "requests sent away",
    "refusals",
    "commits NONE",
    "commits ILLEGAL_GENERATION",
    "commits UNKNOWN_MEMBER_ID",
    "commits REBALANCE_IN_PROGRESS",
    "commits FENCED_INSTANCE_ID",
    "join MEMBER_ID_REQUIRED",
    "join FENCED_INSTANCE_ID",
    "join GROUP_MAX_SIZE_REACHED",
    "join INCONSISTENT_GROUP_PROTOCOL",
    "join UNKNOWN_MEMBER_ID",
    "sync REBALANCE_IN_PROGRESS",
    "sync ILLEGAL_GENERATION",
    "sync COORDINATOR_NOT_AVAILABLE",
    "beat REBALANCE_IN_PROGRESS",
)


class Life:
    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        settings = GroupSettings(
            group_initial_rebalance_delay_ms=random.choice((0, 3_000)),
            group_max_size=random.choice((3, 2**31 - 1)),
        )
        self.shell = Shell(settings, {TOPIC: 1})
        self.ghost = Ghost(self.shell)
        self.clients = [
            Client.drawn(str(number), random, self.shell, self.ghost.saw)
            for number in range(random.randrange(2, 7))
        ]

    def chaos(self) -> None:
        for _ in range(ACTIONS):
            self._act()
            self.ghost.look()

    def _act(self) -> None:
        random, shell = self.random, self.shell
        client = random.choice(self.clients)
        client.hears = 0.9
        dice = random.random()
        if dice < 0.60:
            client.goes_on()
        elif dice < 0.80:
            shell.pass_time(random.choice((0.0, 0.5, 2.0, 7.0)))
        elif dice < 0.86:
            client.sends_anything()
        elif dice < 0.89:
            client.start_again()
        elif dice < 0.91:
            client.change_mind()
            client.joined = None
        elif dice < 0.93:
            client.leave()
        elif dice < 0.96:
            self._turn_the_log()
        elif dice < 0.98:
            self.ghost.coordinator_changed()
            shell.fail_over()
        elif dice < 0.985:
            shell.ask(
                lambda machine, ticket, now: machine.delete_group(ticket, GROUP), lambda code: None
            )
        else:
            shell.pass_time(60.0)

    def _turn_the_log(self) -> None:
        if self.shell.refusal:
            self.shell.refusal = ErrorCode.NONE
        elif self.random.random() < 0.5:
            self.shell.refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE
            self.ghost.seen["refusals"] += 1

    def peace(self) -> None:
        """Clients that do as they should come to an end with each other."""
        self.shell.settings = GroupSettings()
        for client in self.clients:
            client.hears = 1.0
            client.protocols = ("range",)
            client.start_again()
        self.ghost.coordinator_changed()
        self.shell.fail_over()
        for _ in range(200):
            self.shell.pass_time(1.0)
            for client in self.clients:
                client.goes_on()
            self.ghost.look()
        group = self.shell.machine.groups[GROUP]
        assert isinstance(group, ClassicGroup)
        assert group.state is State.STABLE, group.state
        assert {each.member_id for each in group.members} == {
            each.member_id for each in self.clients
        }
        assert all(each.generation == group.generation for each in self.clients)

    def silence(self) -> None:
        """When nobody says anything any more, everybody is answered, and the group is empty."""
        self.shell.refusal = ErrorCode.NONE
        self.shell.pass_time(3600.0)
        assert self.shell.waiting == {}
        self.ghost.look()
        group = self.shell.machine.groups.get(GROUP)
        assert group is None or group.state_name == "Empty"


def live(seed: int) -> Counter[str]:
    life = Life(seed)
    try:
        life.chaos()
        life.silence()
        life.peace()
        life.silence()
    except Exception as error:
        error.add_note(f"seed {seed}")
        raise
    return life.ghost.seen


def live_all(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        seen += live(seed)
    return seen


def test_nobody_waits_for_ever_and_nobody_owns_what_another_one_owns() -> None:
    seen = live_all(range(SEEDS))
    assert [event for event in MUST_HAPPEN if not seen[event]] == []


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_lives() -> None:
    live_all(range(SEEDS, SEEDS_SWEPT))


def test_the_same_seed_gives_the_same_life() -> None:
    assert live(7) == live(7)


@pytest.mark.parametrize("break_a_rule", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_rule_is_noticed(
    break_a_rule: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_a_rule(monkeypatch)
    with pytest.raises((ViolationError, AssertionError)):
        live_all(range(SEEDS_PER_MUTANT))
