"""churn: members of consumer groups come and go."""

from __future__ import annotations

from random import Random

import pytest

from harness.cluster.errors import FaultMissedError
from harness.schedule.faults import IdleClient
from nemesis import parse
from nemesis.base import NothingToStrikeError
from tests.unit.nemesis.scenes import Stage, a_moment, mend, named, on_stage, strike
from tests.unit.nemesis.test_client import Clients, with_clients

MEMBERS = ("c2", "c3", "c5")


def with_members(stage: Stage) -> Clients:
    stage.scene.members = MEMBERS
    return with_clients(stage)


@on_stage(1, partitions=1)
async def test_a_slow_member_stays_in_its_group_and_one_on_leave_does_not(stage: Stage) -> None:
    clients = with_members(stage)
    slow, proofs = await strike(stage, "churn:slow@one")
    (fault,) = slow
    assert isinstance(fault, IdleClient)
    assert fault.client in MEMBERS
    assert clients.idling == {fault.client: False}
    assert proofs == [f"{fault.client} is idle"]
    await mend(stage, "churn:slow@one", slow)
    assert clients.idling == {}
    gone, proofs = await strike(stage, "churn:leave@majority")
    assert list(clients.idling.values()) == [True, True]
    assert all("has left its group" in proof for proof in proofs)
    await mend(stage, "churn:leave@majority", gone)


@on_stage(1, partitions=1)
async def test_it_strikes_members_alone(stage: Stage) -> None:
    clients = with_members(stage)
    for seed in range(8):
        faults, _ = await strike(stage, "churn:kill@minority", seed=seed)
        assert clients.down <= set(MEMBERS)
        await mend(stage, "churn:kill@minority", faults)
        paused, _ = await strike(stage, "churn:pause@minority", seed=seed)
        assert clients.paused <= set(MEMBERS)
        await mend(stage, "churn:pause@minority", paused)


@on_stage(1, partitions=1)
async def test_a_second_rest_of_one_member_outlasts_the_first(stage: Stage) -> None:
    clients = with_members(stage)
    first = IdleClient(name="a", at_ms=0, for_ms=1, client="c2")
    second = IdleClient(name="b", at_ms=0, for_ms=1, client="c2")
    for fault in (first, second):
        stage.scene.begin(fault)
        await named("churn").inject(stage.scene, fault)
    stage.scene.ending.add("a")
    await named("churn").heal(stage.scene, first)
    stage.scene.end(first)
    assert clients.idling == {"c2": False}
    await named("churn").heal(stage.scene, second)
    assert clients.idling == {}


@on_stage(1, partitions=1)
async def test_a_member_that_goes_on_is_a_fault_that_missed(stage: Stage) -> None:
    clients = with_members(stage)
    clients.stubborn = "idle"
    fault = IdleClient(name="a", at_ms=0, for_ms=1, client="c2")
    with pytest.raises(FaultMissedError, match="c2 still performs operations"):
        await named("churn").inject(stage.scene, fault)
    clients.down.add("c2")
    with pytest.raises(NothingToStrikeError, match="c2 is not running"):
        await named("churn").inject(stage.scene, fault)


@on_stage(1, partitions=1)
async def test_without_clients_there_is_nothing_to_strike(stage: Stage) -> None:
    with pytest.raises(NothingToStrikeError, match="no client has started yet"):
        await named("churn").choose(stage.scene, a_moment("churn"), Random(1))


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown target 'all' of churn; choose one of one"):
        parse("churn@all")
