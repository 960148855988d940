"""A leader that was deposed follows the next one as soon as it can."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from broker.quorum.quorum import NotLeaderError
from broker.raft import events as e
from tests.unit.broker.quorum.metadata import topic
from tests.unit.broker.quorum.three_nodes import ThreeNodes, among_three, until

FLUSH_S = 0.4


def test_it_fetches_when_what_it_wrote_last_is_flushed() -> None:
    async def story(nodes: ThreeNodes) -> float:
        deposed = await nodes.one_active()
        quorum = nodes.node(deposed).quorum
        epoch = quorum.raft.epoch
        nodes.disk(deposed).slow("fdatasync", "__cluster_metadata-0/*", seconds=FLUSH_S, times=1)
        asked = asyncio.ensure_future(nodes.node(deposed).controller.decide(lambda: [topic("a")]))
        await until(lambda: quorum.log.end_offset > quorum.log.flushed_offset)
        began_s = asyncio.get_running_loop().time()
        await quorum.step(e.MakeWay())
        await until(lambda: quorum.log.last_epoch > epoch)
        with suppress(NotLeaderError):
            await asked
        return asyncio.get_running_loop().time() - began_s

    assert FLUSH_S - 0.1 < among_three(story) < FLUSH_S + 0.2
