"""What is stored of a classic group, what a load makes of it, and what others may ask."""

from __future__ import annotations

from typing import Any

import pytest

from broker.coordination.deadlines import Deadlines
from broker.coordination.step import Now
from broker.groups import records
from broker.groups.classic.context import ClassicContext
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.rebalance import _next_generation, complete
from broker.groups.classic.state import State
from broker.groups.settings import GroupSettings
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from tests.golden.groups.shell import Shell

ORDERS = b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"
NOW = Now(0.0, 1_000)


def stored(*ids: str, **fields: Any) -> m.GroupMetadataValue:
    values: dict[str, Any] = {
        "protocol_type": "consumer",
        "generation": 3,
        "protocol": "range" if ids else None,
        "leader": ids[0] if ids else None,
        "current_state_timestamp": 500,
        "members": [
            m.MemberMetadata(
                member_id=each,
                group_instance_id=None,
                client_id="c",
                client_host="/h",
                rebalance_timeout=60_000,
                session_timeout=10_000,
                subscription=ORDERS,
                assignment=b"p",
            )
            for each in ids
        ],
    }
    return m.GroupMetadataValue(**(values | fields))


def loaded(value: m.GroupMetadataValue) -> ClassicGroup:
    group = ClassicGroup("g", ClassicContext(GroupSettings(), Deadlines(), lambda: "x"))
    group.replay(value)
    return group


def test_a_group_that_is_loaded_is_stable_or_empty() -> None:
    group = loaded(stored("a", "b"))
    assert (group.state, group.generation, group.members.leader) == (State.STABLE, 3, "a")
    assert [(each.member_id, each.assignment) for each in group.members] == [
        ("a", b"p"),
        ("b", b"p"),
    ]
    assert loaded(stored()).state is State.EMPTY


def test_a_record_is_what_it_was_loaded_from() -> None:
    value = stored("a", "b")
    group = loaded(value)
    given = {each.member_id: each.assignment for each in group.members}
    written = group.record(group.members, given, group.members.leader)
    assert written == records.record(m.GroupMetadataKey(group="g"), value)


@pytest.mark.parametrize("version", range(5))
def test_every_version_that_kafka_ever_wrote_can_be_loaded(version: int) -> None:
    data = records.encode_value(stored("a"), version)
    group = loaded(records.decode_value(records.GROUP_METADATA, data))
    [member] = group.members
    assert member.session_timeout_ms == 10_000
    # Before version 1 the session was the rebalance timeout, and before 2 there was no time.
    assert member.rebalance_timeout_ms == (60_000 if version >= 1 else 10_000)
    assert group.state_since_ms == (500 if version >= 2 else None)


@pytest.mark.parametrize("leader", [None, "gone"])
def test_a_leader_that_is_no_member_is_replaced(leader: str | None) -> None:
    assert loaded(stored("a", "b", leader=leader)).members.leader == "a"


def test_members_with_one_instance_id_do_not_break_a_load() -> None:
    value = stored("a", "b")
    for each in value.members:
        each.group_instance_id = "i"
    group = loaded(value)
    assert group.members.static_id("i") == "b"
    assert group.members.remove("a") == []
    assert group.check_member("b", "i") == ErrorCode.NONE


def test_what_a_member_sent_for_another_protocol_is_replaced_by_the_next_record() -> None:
    group = loaded(stored("a"))
    group.replay(stored("a", protocol="sticky", generation=4))
    [member] = group.members
    assert member.protocols == (("sticky", ORDERS),)


def test_a_tombstone_of_something_unknown_is_none() -> None:
    shell = Shell(GroupSettings())
    shell.fail_over([records.tombstone(m.GroupMetadataKey(group="g"))])
    assert shell.machine.groups == {}
    shell.fail_over(
        [
            records.record(m.GroupMetadataKey(group="g"), stored("a")),
            records.tombstone(m.GroupMetadataKey(group="g")),
            records.tombstone(m.GroupMetadataKey(group="g")),
        ]
    )
    assert shell.machine.groups == {}
    shell.pass_time(3600)  # no timer of the group is left


def test_generations_go_round_as_in_java() -> None:
    assert _next_generation(0) == 1
    assert _next_generation(2**31 - 1) == -(2**31)
    assert _next_generation(-1) == 0


def test_what_lasts_of_a_group_is_what_is_stored_whatever_a_rebalance_has_changed() -> None:
    group, other = loaded(stored("b", "a")), loaded(stored("b", "a"))
    assert group.seen() == other.seen()
    group.members.remove("a")
    group.generation = 4
    assert group.seen().lasting != other.seen().lasting
    group.enter(State.PREPARING, NOW)
    assert group.seen().lasting == other.seen().lasting
    group.replay(stored("b", generation=4))
    assert group.seen().lasting != other.seen().lasting


def test_an_empty_group_that_the_log_refused_lasts_as_the_log_has_it() -> None:
    group, other = loaded(stored("a")), loaded(stored("a"))
    group.members.remove("a")
    group.enter(State.PREPARING, NOW)
    emptied = complete(group, NOW)
    assert emptied.refused is not None
    assert emptied.refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, NOW).replies == []
    assert (group.state_name, group.generation) == ("Empty", 4)
    assert group.seen().lasting == other.seen().lasting


# Offsets


def test_subscribed_topics_are_known_of_consumers() -> None:
    group = loaded(stored("a"))
    assert group.is_subscribed_to("orders")
    assert not group.is_subscribed_to("bills")
    assert not loaded(stored()).is_subscribed_to("orders")
    # A consumer whose subscription cannot be read may read anything, and others read nothing.
    assert loaded(stored("a", protocol="other")).is_subscribed_to("orders")
    odd = stored("a")
    odd.members[0].subscription = b"?"
    assert loaded(odd).is_subscribed_to("bills")
    assert not loaded(stored("a", protocol_type="connect")).is_subscribed_to("orders")


def test_retention_begins_when_the_last_member_left() -> None:
    assert loaded(stored()).offsets_expire_from_ms(100) == 500
    assert loaded(stored(current_state_timestamp=-1)).offsets_expire_from_ms(100) == 100
    assert loaded(stored(protocol_type="")).offsets_expire_from_ms(100) == 100


def test_retention_of_a_topic_that_nobody_reads_begins_with_the_commit() -> None:
    group = loaded(stored("a"))
    assert group.offsets_expire_from_ms(100) == 100
    group.enter(State.PREPARING, NOW)
    assert group.offsets_expire_from_ms(100) is None
    assert loaded(stored("a", protocol_type="connect")).offsets_expire_from_ms(100) is None


def test_only_an_empty_group_can_be_deleted() -> None:
    assert loaded(stored()).check_delete() == ErrorCode.NONE
    assert loaded(stored("a")).check_delete() == ErrorCode.NON_EMPTY_GROUP


def test_offsets_can_be_deleted_while_consumers_read_something_else() -> None:
    assert loaded(stored("a")).check_offset_delete() == ErrorCode.NONE
    connect = loaded(stored("a", protocol_type="connect"))
    assert connect.check_offset_delete() == ErrorCode.NON_EMPTY_GROUP
    assert loaded(stored(protocol_type="connect")).check_offset_delete() == ErrorCode.NONE


@pytest.mark.parametrize(
    ("member_id", "instance_id", "generation", "code"),
    [
        ("a", None, 3, ErrorCode.NONE),
        ("a", None, 2, ErrorCode.ILLEGAL_GENERATION),
        ("a", None, -1, ErrorCode.ILLEGAL_GENERATION),
        ("b", None, 3, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", None, 3, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", None, -1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a", "i", 3, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_members_commit_for_their_generation(
    member_id: str, instance_id: str | None, generation: int, code: ErrorCode
) -> None:
    group = loaded(stored("a"))
    assert group.check_commit(member_id, instance_id, generation, False, 9) == code


def test_anybody_commits_for_a_group_without_members() -> None:
    group = loaded(stored())
    assert group.check_commit("", None, -1, False, 9) == ErrorCode.NONE
    assert group.check_commit("a", None, -1, False, 9) == ErrorCode.NONE
    assert group.check_commit("", None, 0, False, 9) == ErrorCode.UNKNOWN_MEMBER_ID


def test_producers_that_name_no_member_commit_in_their_transactions() -> None:
    group = loaded(stored("a"))
    assert group.check_commit("", None, -1, True, 3) == ErrorCode.NONE
    assert group.check_commit("a", None, 2, True, 3) == ErrorCode.ILLEGAL_GENERATION
    group.enter(State.COMPLETING, NOW)
    assert group.check_commit("a", None, 3, True, 3) == ErrorCode.NONE
    assert group.check_commit("a", None, 3, False, 9) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_is_as_good_as_a_heartbeat() -> None:
    group = loaded(stored("a"))
    deadlines = group.context.deadlines
    group.commit_seen("a", Now(5.0, 0))
    assert deadlines.at_s(("session", "g", "a")) == 15.0
    group.enter(State.COMPLETING, NOW)
    group.commit_seen("a", Now(6.0, 0))
    group.commit_seen("nobody", Now(6.0, 0))
    assert (deadlines.at_s(("session", "g", "a")), len(deadlines)) == (15.0, 1)
