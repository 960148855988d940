"""A word for a target becomes names of nodes."""

from __future__ import annotations

from random import Random

import pytest

from nemesis.base import NothingToStrikeError
from nemesis.targets import TARGETS, check_target, majority_of, minority_of, resolve
from tests.unit.nemesis.scenes import TOPIC, Stage, on_stage


def test_a_minority_is_less_than_half_and_a_majority_more() -> None:
    assert [minority_of(count) for count in (1, 2, 3, 4, 5, 7)] == [1, 1, 1, 1, 2, 3]
    assert [majority_of(count) for count in (1, 2, 3, 4, 5, 7)] == [1, 2, 2, 3, 3, 4]


def test_what_is_no_target_is_refused_with_those_that_are() -> None:
    for text in ("", *TARGETS, "coordinator", "coordinator:tail", "n1", "n1+n12"):
        check_target(text)
    for text in ("some", "n0", "n1,n2", "n1+", "clients"):
        with pytest.raises(ValueError, match=r"unknown target .*; choose one of one, minority"):
            check_target(text)


@on_stage(5)
async def test_each_word_finds_the_nodes_it_names(stage: Stage) -> None:
    scene, nodes = stage.scene, stage.cluster.nodes
    for seed in range(10):
        dice = Random(seed)
        assert len(await resolve(scene, "one", dice)) == 1
        assert len(await resolve(scene, "minority", dice)) == 2
        assert len(await resolve(scene, "majority", dice)) == 3
        assert await resolve(scene, "all", dice) == nodes
        assert await resolve(scene, "n4+n2", dice) == ("n2", "n4")
        assert set(await resolve(scene, "", dice)) <= set(nodes)
        assert await resolve(scene, "", dice, among=["all"]) == nodes
    assert await resolve(scene, "controller", Random(1)) == (await stage.cluster.controller(),)
    leaders = [one.leader for one in await stage.cluster.partitions(TOPIC)]
    for seed in range(10):
        (leader,) = await resolve(scene, "leader", Random(seed))
        followers = await resolve(scene, "followers", Random(seed))
        assert leader in leaders
        assert leader not in followers
        assert len(followers) == 2
        assert set(await resolve(scene, "isr", Random(seed))) == {leader, *followers}
    with pytest.raises(NothingToStrikeError, match="unknown node n9; the nodes are n1, n2"):
        await resolve(scene, "n9", Random(1))
    scene.topics = ()
    with pytest.raises(NothingToStrikeError, match="the workload has no topic"):
        await resolve(scene, "leader", Random(1))
