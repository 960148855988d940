"""A leader of the quorum whose disk is full: it makes way, and comes back when there is room."""

from __future__ import annotations

import asyncio
import errno

import pytest

from broker.quorum.quorum import NotLeaderError
from broker.raft.roles import Role
from tests.unit.broker.quorum.metadata import topic
from tests.unit.broker.quorum.three_nodes import ThreeNodes, among_three, until

METADATA = "__cluster_metadata-0/*"


@pytest.mark.parametrize("operation", ["append", "replace"])
def test_another_node_takes_over_and_the_full_one_follows_it_later(operation: str) -> None:
    async def story(nodes: ThreeNodes) -> None:
        full = await nodes.one_active()
        nodes.disk(full).fail(operation, METADATA, error=errno.ENOSPC)
        if operation == "replace":
            nodes.node(full).quorum.log.log.epochs.changed = True  # so that a flush needs room, too
        asked = asyncio.ensure_future(nodes.node(full).controller.decide(lambda: [topic("a")]))
        other = await nodes.one_active(but=full)
        with pytest.raises(NotLeaderError):
            async with asyncio.timeout(1.0):
                await nodes.node(full).controller.decide(lambda: [topic("b")])
        await nodes.node(other).controller.decide(lambda: [topic("c")])
        nodes.disk(full).heal()
        known = nodes.node(full).metadata.image.topics
        await until(lambda: "c" in known)
        assert "b" not in known
        assert nodes.active == [other]
        with pytest.raises(NotLeaderError):
            await asked
        assert not nodes.node(full).failed.done()

    among_three(story)


def test_whoever_is_elected_without_room_is_not_asked_for_decisions() -> None:
    async def story(nodes: ThreeNodes) -> None:
        first = await nodes.one_active()
        for name in nodes.cluster.nodes:
            if name != first:
                nodes.disk(name).fail("append", METADATA, error=errno.ENOSPC)
        nodes.cluster[first].kill()
        rest = [nodes.node(name).quorum for name in nodes.cluster.nodes if name != first]
        await until(lambda: any(each.raft.role is Role.LEADER and each.no_room for each in rest))
        assert not any(each.leads for each in rest)
        for name in nodes.cluster.nodes:
            nodes.disk(name).heal()
        await nodes.one_active(but=first)

    among_three(story)
