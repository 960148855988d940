"""Groups that change their protocol: what is refused, and what is left alone then.

How a change goes well is told in tests/golden/groups/consumer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from broker.coordination.step import Ticket
from broker.groups.classic.group import ClassicGroup
from broker.groups.consumer.embedded_protocol import read_assignment
from broker.groups.group import GroupClient
from broker.groups.settings import GroupSettings
from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from tests.unit.broker.groups.consumer.desk import GROUP, SETTINGS, Desk

NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND
AT_ONCE = replace(SETTINGS, group_initial_rebalance_delay_ms=0)
SUBSCRIPTION = b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\0\0"
"""Version 1 of a subscription to t, owning nothing."""


class Answers(list[Any]):
    """What a request was answered with; empty while it waits."""


def ask(desk: Desk, run: Any) -> Answers:
    answers, ticket = Answers(), Ticket()
    desk.waiting[ticket] = answers.append
    desk.take(run(desk.machine, ticket, desk.now))
    return answers


def join(desk: Desk, member_id: str = "", version: int = 3, **fields: Any) -> Answers:
    """A JoinGroup. Up to version 3 a member gets its id and its place at once."""
    defaults: dict[str, Any] = {
        "group_id": GROUP,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 20_000,
        "protocol_type": "consumer",
        "protocols": [m.JoinGroupRequestProtocol(name="sticky", metadata=SUBSCRIPTION)],
    }
    body = m.JoinGroupRequest(member_id=member_id, **(defaults | fields))
    client = GroupClient("c", "/h")
    return ask(
        desk, lambda machine, ticket, now: machine.join_group(ticket, body, version, client, now)
    )


def sync(desk: Desk, member_id: str, generation: int, **fields: Any) -> Answers:
    body = m.SyncGroupRequest(
        group_id=GROUP,
        member_id=member_id,
        generation_id=generation,
        **({"assignments": []} | fields),
    )
    return ask(desk, lambda machine, ticket, now: machine.sync_group(ticket, body, now))


def hello(desk: Desk, member_id: str, generation: int, **fields: Any) -> ErrorCode:
    body = m.HeartbeatRequest(
        group_id=GROUP, member_id=member_id, generation_id=generation, **fields
    )
    [answer] = ask(desk, lambda machine, ticket, now: machine.heartbeat(ticket, body, now))
    return ErrorCode(answer.error_code)


def leave(desk: Desk, *members: m.MemberIdentity) -> list[ErrorCode]:
    body = m.LeaveGroupRequest(group_id=GROUP, members=list(members))
    [answer] = ask(desk, lambda machine, ticket, now: machine.leave_group(ticket, body, now))
    return [ErrorCode(each.error_code) for each in answer.members]


def assignment(*partitions: int, user_data: bytes | None = None) -> bytes:
    value = m.ConsumerProtocolAssignment(
        assigned_partitions=[
            m.ConsumerProtocolAssignmentTopicPartition(topic="t", partitions=list(partitions))
        ],
        user_data=user_data,
    )
    return b"\0\1" + b"".join(codec.encoder("ConsumerProtocolAssignment", 1)(value))


def classic_group(
    settings: GroupSettings = AT_ONCE, assigned: bytes | None = None, **fields: Any
) -> tuple[Desk, str]:
    """A stable classic group with one member, whose id is returned."""
    desk = Desk(settings, t=2)
    answers = join(desk, **fields)
    desk.wait(0)
    [joined] = answers
    given = m.SyncGroupRequestAssignment(
        member_id=joined.member_id, assignment=assignment(0, 1) if assigned is None else assigned
    )
    sync(desk, joined.member_id, 1, assignments=[given])
    assert desk.machine.groups[GROUP].state_name == "Stable"
    return desk, joined.member_id


def mixed_group(settings: GroupSettings = AT_ONCE) -> tuple[Desk, str]:
    """A consumer group: a classic member with t-0, whose id is returned, and m with t-1."""
    desk, member_id = classic_group(settings)
    desk.join("m", "t")
    join(desk, member_id)
    desk.beat("m", 2)
    assert sync(desk, member_id, 2)[0].error_code == 0
    return desk, member_id


# Upgrade


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"assigned": b"x"}, "the embedded consumer protocol is malformed"),
        ({"assigned": assignment(0, user_data=b"!")}, "an unsupported custom assignor is in use"),
        (
            {"protocols": [m.JoinGroupRequestProtocol(name="sticky", metadata=b"x")]},
            "the embedded consumer protocol is malformed",
        ),
        ({"protocol_type": "connect"}, "the group does not use the consumer embedded protocol"),
        (
            {"settings": replace(AT_ONCE, group_consumer_migration_policy="disabled")},
            "online upgrade is disabled",
        ),
        (
            {"settings": replace(AT_ONCE, group_consumer_max_size=0)},
            "the group size exceeds the consumer group maximum size",
        ),
    ],
)
def test_a_group_that_cannot_be_upgraded_is_left_alone(fields: dict[str, Any], why: str) -> None:
    desk, member_id = classic_group(**fields)
    written = len(desk.log)
    response = desk.join("m", "t")
    assert response.error_code == NOT_FOUND
    assert (response.error_message or "").endswith(f"because {why}")
    assert hello(desk, member_id, 1) == ErrorCode.NONE
    assert len(desk.log) == written


def test_a_wrong_request_upgrades_nothing() -> None:
    desk, member_id = classic_group()
    waiting = join(desk)
    response = desk.join("m", subscribed_topic_regex="(")
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert (waiting, isinstance(desk.machine.groups[GROUP], ClassicGroup)) == ([], True)
    assert hello(desk, member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_an_upgrade_that_cannot_be_written_did_not_happen() -> None:
    desk, member_id = classic_group()
    waiting = join(desk)
    desk.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert desk.join("m", "t").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.refuses = ErrorCode.NONE
    assert waiting == []
    [joined] = join(desk, member_id)
    assert (joined.generation_id, waiting[0].generation_id) == (2, 2)


def test_members_that_wait_are_told_to_join_again() -> None:
    desk, member_id = classic_group()
    waiting = join(desk)
    assert desk.join("m", "t").error_code == ErrorCode.NONE
    assert [each.error_code for each in waiting] == [ErrorCode.REBALANCE_IN_PROGRESS]
    assert desk.machine.tickets() == []
    assert hello(desk, member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_in_its_first_rebalance_is_upgraded_to_epochs_from_1_on() -> None:
    desk = Desk(replace(AT_ONCE, group_initial_rebalance_delay_ms=3000), t=2)
    waiting = join(desk)
    response = desk.join("m", "t")
    assert (response.member_epoch, desk.assigned(response)) == (2, {"t": [1]})
    assert [each.error_code for each in waiting] == [ErrorCode.REBALANCE_IN_PROGRESS]
    assert [each.epoch for each in desk.group.state.members.values()] == [1, 2]


def test_a_static_member_that_changes_its_protocol_gets_what_others_left_behind() -> None:
    """It takes the place of its predecessor, so nothing but the upgrade calls for a new target."""
    desk, _ = classic_group(assigned=assignment(0), version=5, group_instance_id="one")
    join(desk)
    response = desk.join("m", "t", instance_id="one")
    assert response.member_epoch == 2
    assert desk.group.state.assignment_epoch == 2
    targets = [desk.group.state.target_of(each, None) for each in desk.group.state.members]
    assert sum(len(part) for target in targets for part in target.values()) == 2


def test_a_group_of_which_only_offsets_are_known_takes_members_of_both_kinds() -> None:
    desk = Desk(AT_ONCE, t=2)
    part = m.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    body = m.OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=-1,
        topics=[m.OffsetCommitRequestTopic(name="t", partitions=[part])],
    )
    desk.ask(lambda machine, ticket, now: machine.offset_commit(ticket, body, 9, now))
    assert desk.join("m", "t").member_epoch == 2
    assert desk.machine.simple_groups == {}
    loaded = desk.loaded()
    assert (list(loaded.groups), loaded.simple_groups) == ([GROUP], {})
    desk.beat("m", -1)
    waiting = join(desk)
    desk.wait(0)
    assert waiting[0].generation_id == 1
    assert desk.machine.offsets.find(GROUP, "t", 0) is not None


# Classic members of a consumer group


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (
            {"protocols": [m.JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)]},
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ),
        (
            {"protocols": [m.JoinGroupRequestProtocol(name="sticky", metadata=b"x")]},
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ),
        ({"member_id": "x", "group_instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"version": 9}, ErrorCode.MEMBER_ID_REQUIRED),
    ],
)
def test_who_cannot_join_a_consumer_group(fields: dict[str, Any], code: ErrorCode) -> None:
    desk, _ = mixed_group()
    written = len(desk.log)
    [answer] = join(desk, **fields)
    assert answer.error_code == code
    assert bool(answer.member_id) == (code == ErrorCode.MEMBER_ID_REQUIRED or "member_id" in fields)
    assert len(desk.log) == written


def test_a_policy_keeps_classic_members_out() -> None:
    desk = Desk(replace(AT_ONCE, group_consumer_migration_policy="disabled"), t=2)
    desk.join("m", "t")
    [answer] = join(desk)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_full_group_takes_no_classic_member() -> None:
    desk, _ = mixed_group(replace(AT_ONCE, group_consumer_max_size=2))
    [answer] = join(desk)
    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_full_group_takes_no_static_member_that_changes_its_protocol() -> None:
    desk, _ = classic_group(replace(AT_ONCE, group_consumer_max_size=2))
    desk.join("m", "t", instance_id="one")
    [answer] = join(desk, version=5, group_instance_id="one")
    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert set(desk.group.state.members) >= {"m"}


def test_a_classic_member_gets_its_assignment_by_sync() -> None:
    desk, member_id = mixed_group()
    [synced] = sync(desk, member_id, 2, protocol_type="consumer", protocol_name="sticky")
    [topic] = read_assignment(synced.assignment).assigned_partitions
    assert (topic.topic, topic.partitions) == ("t", [0])
    assert (synced.protocol_type, synced.protocol_name) == ("consumer", "sticky")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"generation": 1}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "m"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_requests_of_others_are_refused(fields: dict[str, Any], code: ErrorCode) -> None:
    desk, member_id = mixed_group()
    arguments: dict[str, Any] = {"member_id": member_id, "generation": 2} | fields
    assert hello(desk, **arguments) == code
    [synced] = sync(desk, **arguments)
    assert synced.error_code == code


def test_a_sync_for_another_protocol_is_refused() -> None:
    desk, member_id = mixed_group()
    for fields in ({"protocol_type": "connect"}, {"protocol_name": "range"}):
        [synced] = sync(desk, member_id, 2, **fields)
        assert synced.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_sync_is_too_late_when_the_group_has_moved_on() -> None:
    desk, member_id = mixed_group()
    desk.put_topic("t", 4)
    desk.beat("m", 2)
    [synced] = sync(desk, member_id, 2)
    assert synced.error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_commits_of_a_classic_member_have_its_generation() -> None:
    desk, member_id = mixed_group()
    group = desk.group
    assert group.check_commit(member_id, None, 2, False, 5) == ErrorCode.NONE
    assert group.check_commit(member_id, None, 3, False, 5) == ErrorCode.ILLEGAL_GENERATION
    assert group.check_commit_to(member_id, 1, "t", 1) == ErrorCode.ILLEGAL_GENERATION


def test_a_silent_classic_member_has_the_session_that_it_asked_for() -> None:
    desk, _ = mixed_group()
    desk.wait(11)
    assert list(desk.group.state.members) == ["m"]


def test_members_of_both_kinds_are_removed_by_leave_group() -> None:
    desk, member_id = mixed_group()
    desk.join("s", "t", instance_id="i")
    assert leave(
        desk,
        m.MemberIdentity(member_id=member_id),
        m.MemberIdentity(member_id="", group_instance_id="i"),
        m.MemberIdentity(member_id="nobody"),
        m.MemberIdentity(member_id="x", group_instance_id="unknown"),
    ) == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID]
    assert list(desk.group.state.members) == ["m"]


# Downgrade


def test_a_downgrade_that_cannot_be_written_did_not_happen() -> None:
    desk, member_id = mixed_group()
    desk.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert desk.beat("m", -1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.refuses = ErrorCode.NONE
    desk.wait(0)
    assert hello(desk, member_id, 2) == ErrorCode.NONE
    assert list(desk.group.state.members) == [member_id, "m"]


def test_a_group_too_large_for_the_classic_protocol_stays_a_consumer_group() -> None:
    desk, member_id = mixed_group(replace(AT_ONCE, group_max_size=1))
    join(desk)
    desk.beat("m", -1)
    assert desk.group.state_name == "Assigning"
    assert member_id in desk.group.state.members


def test_a_member_that_is_thrown_out_can_be_the_last_of_its_kind() -> None:
    desk, member_id = mixed_group()
    for _ in range(6):
        desk.wait(8)
        hello(desk, member_id, 2)
    group = desk.machine.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    assert group.state_name == "PreparingRebalance"
    # Who does not join again within its session is gone, as in every classic group.
    desk.wait(30)
    assert group.state_name == "Empty"


def test_an_empty_consumer_group_makes_way_only_for_a_new_member() -> None:
    desk = Desk(AT_ONCE, t=2)
    desk.join("m", "t")
    desk.beat("m", -1)
    [answer] = join(desk, "somebody")
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert desk.group.state_name == "Empty"
    assert hello(desk, "m", 2) == ErrorCode.UNKNOWN_MEMBER_ID
    [synced] = sync(desk, "m", 2)
    assert synced.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert leave(desk, m.MemberIdentity(member_id="m")) == [ErrorCode.UNKNOWN_MEMBER_ID]
