"""Records of consumer groups have the bytes that Apache Kafka writes.

The bytes were printed by GroupCoordinatorRecordHelpers and GroupCoordinatorRecordSerde of Kafka
4.3.1 for the same group, members and partitions.
"""

from __future__ import annotations

import pytest

from broker.coordination.step import CoordinatorRecord
from broker.groups import records
from broker.groups.consumer import group_records as write
from broker.groups.consumer.member import (
    ClassicProtocolOffer,
    ClassicSession,
    Member,
    MemberState,
)
from broker.groups.consumer.subscriptions import ResolvedRegex
from broker.groups.machine import GroupMachine
from broker.groups.settings import GroupSettings
from tests.unit.broker.groups.consumer.desk import FakeTopics

TOPIC = bytes(range(1, 17))
MEMBER = Member(
    "m1",
    instance_id="i",
    rack_id="r",
    client_id="c",
    client_host="/1.2.3.4",
    topic_names=frozenset({"b", "a"}),
    topic_regex="x.*",
    rebalance_timeout_ms=300_000,
    server_assignor="range",
    epoch=5,
    previous_epoch=4,
    state=MemberState.UNREVOKED_PARTITIONS,
    assigned={TOPIC: {2: 5, 0: 3}},
    revoking={TOPIC: {1: 4}},
)
CLASSIC = Member(
    "m2",
    client_id="c",
    client_host="/h",
    topic_names=frozenset({"a"}),
    rebalance_timeout_ms=1000,
    classic=ClassicSession(45_000, (ClassicProtocolOffer("range", b"\0\1\2"),)),
)

KAFKA = {
    "epoch": (
        write.group_epoch("g", 7, -12345),
        "0003000167",
        "000000000007010008ffffffffffffcfc7",
    ),
    "epoch without topics": (write.group_epoch("g", 1, 0), "0003000167", "00000000000100"),
    "member": (
        write.member("g", MEMBER),
        "000500016700026d31",
        "0000026902720263092f312e322e332e34030261026204782e2a000493e00672616e676501000100",
    ),
    "member of the classic protocol": (
        write.member("g", CLASSIC),
        "000500016700026d32",
        "000000000263032f6802026101000003e800010012010000afc8020672616e6765040001020000",
    ),
    "current assignment": (
        write.current("g", MEMBER),
        "000800016700026d31",
        "0000000000050000000401020102030405060708090a0b0c0d0e0f1003000000000000000201000903000000"
        "0300000005020102030405060708090a0b0c0d0e0f100200000001010005020000000400",
    ),
    "empty current assignment": (
        write.current("g", CLASSIC),
        "000800016700026d32",
        "000000000000ffffffff00010100",
    ),
    "target": (
        write.target("g", "m1", {TOPIC: frozenset({1, 0})}),
        "000700016700026d31",
        "0000020102030405060708090a0b0c0d0e0f100300000000000000010000",
    ),
    "target epoch": (
        write.target_epoch("g", 9, 1_700_000_000_000),
        "0006000167",
        "0000000000090100080000018bcfe56800",
    ),
    "regex": (
        write.regex("g", "x.*", ResolvedRegex(frozenset({"xa"}), 12, 1_700_000_000_001)),
        "00100001670003782e2a",
        "000002037861000000000000000c0000018bcfe5680100",
    ),
}


@pytest.mark.parametrize(("record", "key", "value"), KAFKA.values(), ids=list(KAFKA))
def test_a_record_has_the_bytes_of_kafka(record: CoordinatorRecord, key: str, value: str) -> None:
    assert (record.key.hex(), (record.value or b"").hex()) == (key, value)


def test_a_deleted_group_leaves_tombstones_in_the_order_that_kafka_loads() -> None:
    machine = GroupMachine(GroupSettings(), FakeTopics(), str)
    for record, _, _ in KAFKA.values():
        machine.replay(record)
    tombstones = machine.consumer_groups.find("g").tombstones()
    assert [(each.key.hex(), each.value) for each in tombstones] == [
        ("000800016700026d31", None),
        ("000800016700026d32", None),
        ("000700016700026d31", None),
        ("000700016700026d32", None),
        ("0006000167", None),
        ("000500016700026d31", None),
        ("000500016700026d32", None),
        ("00100001670003782e2a", None),
        ("0004000167", None),
        ("0003000167", None),
    ]
    for each in tombstones:
        machine.replay(each)
    assert machine.groups == {}


def test_members_are_read_back_as_they_were_written() -> None:
    machine = GroupMachine(GroupSettings(), FakeTopics(), str)
    for each in (MEMBER, CLASSIC):
        machine.replay(write.member("g", each))
        machine.replay(write.current("g", each))
    state = machine.consumer_groups.find("g").state
    assert state.members == {"m1": MEMBER, "m2": CLASSIC}
    assert state.static_ids == {"i": "m1"}
    assert (state.classic_members, dict(state.classic_protocols)) == (1, {"range": 1})


def test_an_assignment_of_kafka_4_2_has_no_epochs_of_partitions() -> None:
    kind, value = records.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, write.current("g", MEMBER).value
    assert value is not None
    decoded = records.decode_value(kind, value)
    for topic in decoded.assigned_partitions + decoded.partitions_pending_revocation:
        topic.assignment_epochs = None
    machine = GroupMachine(GroupSettings(), FakeTopics(), str)
    machine.consumer_groups.replay(
        kind, records.decode_key(write.current("g", MEMBER).key)[1], decoded
    )
    member = machine.consumer_groups.find("g").state.members["m1"]
    assert (member.assigned, member.revoking) == ({TOPIC: {0: 5, 2: 5}}, {TOPIC: {1: 5}})


def test_a_state_of_a_newer_kafka_is_unknown() -> None:
    kind, current = records.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, write.current("g", CLASSIC)
    decoded = records.decode_value(kind, current.value or b"")
    decoded.state = 3
    machine = GroupMachine(GroupSettings(), FakeTopics(), str)
    machine.consumer_groups.replay(kind, records.decode_key(current.key)[1], decoded)
    assert machine.consumer_groups.find("g").state.members["m2"].state is MemberState.UNKNOWN
