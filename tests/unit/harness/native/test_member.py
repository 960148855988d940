"""What a member does with answers that come late, and without a coordinator to say goodbye to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest

from broker.network.interface import Address
from harness.native.classic_member import ClassicMember
from harness.native.client import Client
from harness.native.epoch_member import EpochMember
from harness.native.errors import NodeUnreachableError
from harness.native.member import Member, MemberSettings
from harness.native.reader import FetchSettings
from tests.unit.harness.native.client_worlds import client_of

NOBODY = Address("127.0.0.1", 1)
SLOT = ("t", 0)
SETTINGS = MemberSettings(group="g", topics=("t",))


def member_of(client: Client, kind: type[Member]) -> Member:
    if kind is EpochMember:
        return EpochMember(client, SETTINGS, time.monotonic_ns, member_id="m")
    return ClassicMember(client, SETTINGS, time.monotonic_ns, is_cooperative=False)


@pytest.mark.parametrize("kind", [ClassicMember, EpochMember])
async def test_a_member_that_polls_too_seldom_rests_even_if_it_cannot_leave(
    kind: type[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def in_vain() -> None:
        raise NodeUnreachableError("nobody is there")

    async with client_of(NOBODY) as client:
        member = member_of(client, kind)
        monkeypatch.setattr(member, "_say_goodbye", in_vain)
        member.generation = 7
        member.hold([SLOT])
        resting = asyncio.create_task(member._rest())
        await asyncio.sleep(0)
        assert (member.held, member.generation <= 0, resting.done()) == ([], True, False)
        member._polled.set()
        await resting


async def test_a_position_that_was_asked_for_before_a_partition_came_back_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with client_of(NOBODY) as client:
        member = member_of(client, ClassicMember)
        member.hold([SLOT])

        async def late(slots: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int | None]:
            member.give_up("revoked")
            member.hold([SLOT])  # another member may have committed in between
            return dict.fromkeys(slots, 5)

        monkeypatch.setattr(member.coordinator, "committed", late)
        assert await member._fetched(SLOT, FetchSettings(max_wait_s=0.0)) == []
        assert member._positions == {SLOT: None}
