"""A cluster that is healed comes back; one that does not is found, by the word for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker.controller import partition_change
from broker.isr_proposals import IsrProposals
from broker.metadata.partition_info import NO_LEADER
from broker.replication.leader import LeaderState
from harness.schedule.faults import Cut, Fault, Kill
from harness.schedule.schedule import Operation, Schedule
from harness.sim.run import Ended, run_schedule
from harness.sim.verdict import Outcome, verdict


def played(*faults: Fault, length_ms: float = 12_000.0) -> Ended:
    writes = tuple(
        Operation(at_ms=4_000.0 + 200 * n, do="send", arguments={"partition": 0, "value": f"w.{n}"})
        for n in range(30)
    )
    schedule = Schedule(
        seed=1,
        nodes=3,
        length_ms=length_ms,
        properties={"min.insync.replicas": "2"},
        operations={"writer": writes},
        faults=faults,
    )
    return run_schedule(schedule)


def everybody_is_killed() -> tuple[Fault, ...]:
    return tuple(Kill(name=f"f{n}", at_ms=6_000, for_ms=500, node=f"n{n}") for n in (1, 2, 3))


ONE_IS_KILLED = Kill(name="f1", at_ms=6_000, for_ms=500, node="n2")


def test_an_honest_cluster_comes_back() -> None:
    ended = played(*everybody_is_killed())
    assert ended.comeback.looks == ended.looks["W-REJOIN"] == 3
    assert (ended.comeback.unavailable, ended.comeback.behind) == ((), ())


def test_a_partition_that_nobody_is_elected_for_is_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A controller that forgets to look among the eligible replicas."""
    real = partition_change._elect

    def elect(old: Any, replicas: Any, isr: Any, elr: Any, *rest: Any) -> Any:
        found = real(old, replicas, isr, elr, *rest)
        return found if isr else replace(found, leader=NO_LEADER, isr=(), elr=elr)

    monkeypatch.setattr(partition_change, "_elect", elect)
    found = verdict(played(*everybody_is_killed()))
    assert found.outcome is Outcome.INVALID
    assert found.sentences[0].startswith("unavailable: t-0 has no leader")
    assert "is eligible and a majority of the quorum lives" in found.sentences[0]


def test_a_partition_that_takes_no_write_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaderState, "_advance", lambda *_: False)
    found = verdict(played(ONE_IS_KILLED))
    assert found.outcome is Outcome.INVALID
    assert "unavailable: t-0 is led, and the first acknowledgement" in found.sentences[0]
    assert "never came" in found.sentences[0]


def test_a_proposal_that_waits_for_ever_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def send(self: IsrProposals, pending: object) -> bool:
        return True

    monkeypatch.setattr(IsrProposals, "_send", send)
    ended = played(ONE_IS_KILLED)
    found = verdict(ended)
    assert found.outcome is Outcome.INVALID
    assert found.sentences[0].startswith("W-REJOIN: ['n2'] live and are not in sync with t-0")
    assert found.sentences[0].endswith("its leader waits for an answer to a proposal")


def test_without_invariants_the_isr_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def send(self: IsrProposals, pending: object) -> bool:
        return True

    monkeypatch.setattr(IsrProposals, "_send", send)
    ended = played(ONE_IS_KILLED)
    ended.looks = {}
    assert not any(each.startswith("W-REJOIN") for each in verdict(ended).sentences)


def test_nothing_is_said_of_what_was_never_healed() -> None:
    links = (("n1", "n2"), ("n2", "n1"), ("n1", "n3"), ("n3", "n1"))
    ended = played(Cut(name="f1", at_ms=6_000, links=links))
    assert ended.comeback.looks == 0
    assert (ended.comeback.unavailable, ended.comeback.behind) == ((), ())


def test_nothing_is_said_while_the_majority_is_down() -> None:
    ended = played(*(Kill(name=f"f{n}", at_ms=9_000, node=f"n{n}") for n in (2, 3)))
    assert ended.comeback.looks == 0
    assert verdict(ended).outcome is not Outcome.INVALID
