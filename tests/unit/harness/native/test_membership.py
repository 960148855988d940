"""A member commits by itself what was stored, and nothing of a partition that it has given up."""

from __future__ import annotations

import time
from typing import Literal

import pytest

from harness.client.group_driver import Committed, Subscription
from harness.native.membership import NativeMembership
from harness.native.reader import FetchSettings
from tests.nodes import running_node, wait_until
from tests.unit.harness.native.client_worlds import client_of

AT_ONCE = FetchSettings(max_wait_s=0.0)
KEY = "t-0"
NO_DELAY = {"group.initial.rebalance.delay.ms": "0"}


@pytest.mark.parametrize("strategy", ["eager", "consumer"])
async def test_stored_offsets_are_committed_in_time(
    strategy: Literal["eager", "consumer"],
) -> None:
    async with running_node(NO_DELAY) as node, client_of(node.advertised) as client:
        await client.admin.create_topic("t")
        await client.producer().send("t", 0, b"x")
        group = NativeMembership(
            client, AT_ONCE, time.monotonic_ns, poll_s=0.05, auto_commit_s=0.01
        )
        wanted = Subscription(group="g", topics=("t",), strategy=strategy, commits="auto")
        assert await group.subscribe(wanted) == wanted
        polled: dict[str, int] = {}
        while not polled:
            found = await group.poll()
            polled = {key: records[-1].offset + 1 for key, records in found.records.items()}
        assert polled == {KEY: 1}
        group.commit_later(polled)

        ended: list[Committed] = []

        def is_committed() -> bool:
            ended.extend(group.committed_since())
            return any(each.error is None for each in ended)

        await wait_until(is_committed)
        assert ended[-1].offsets == polled
        assert await group.committed([KEY]) == polled
        assert (group.membership().generation or 0) >= 1

        group.commit_later({KEY: 7})
        member = group._member
        assert member is not None
        member.give_up("lost")
        assert group._stored == {}
        await group.stop()
