"""What a member does with answers that come late, and without a coordinator to say goodbye to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from broker.network.interface import Address
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from harness.native.classic_member import ClassicMember
from harness.native.client import Client
from harness.native.epoch_member import EpochMember
from harness.native.errors import NodeUnreachableError
from harness.native.member import Member, MemberSettings
from harness.native.reader import FetchSettings
from tests.nodes import wait_until
from tests.unit.harness.native.client_worlds import client_of

NOBODY = Address("127.0.0.1", 1)
SLOT = ("t", 0)
SETTINGS = MemberSettings(group="g", topics=("t",))


def member_of(
    client: Client, kind: type[Member], settings: MemberSettings = SETTINGS
) -> ClassicMember | EpochMember:
    if kind is EpochMember:
        return EpochMember(client, settings, time.monotonic_ns, member_id="m")
    return ClassicMember(client, settings, time.monotonic_ns, is_cooperative=False)


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


@pytest.mark.parametrize("kind", [ClassicMember, EpochMember])
@pytest.mark.parametrize("session_s", [-1.0, 60.0])
async def test_a_member_that_was_paused_beyond_its_session_asks_its_group_before_it_gives_up(
    kind: type[Member], session_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session of less than no time is over; the application has not polled for long, either."""
    settings = replace(SETTINGS, session_s=session_s, max_poll_s=-1.0, heartbeat_s=0.0)
    held: list[list[tuple[str, int]]] = []
    async with client_of(NOBODY) as client:
        member = member_of(client, kind, settings)
        member.generation = 7
        member.hold([SLOT])

        async def removed(*request: object, **how: object) -> object:
            held.append(member.held)
            code = ErrorCode.UNKNOWN_MEMBER_ID
            if kind is EpochMember:
                return m.ConsumerGroupHeartbeatResponse(error_code=code)
            return m.HeartbeatResponse(error_code=code)

        monkeypatch.setattr(member.coordinator, "ask", removed)
        keeping = asyncio.create_task(
            member._heartbeats() if isinstance(member, ClassicMember) else member._keep_membership()
        )
        await wait_until(lambda: member.held == [])
        keeping.cancel()
    # A member that rests gives up first, and says goodbye then.
    assert ([SLOT] in held) == (session_s < 0)


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
