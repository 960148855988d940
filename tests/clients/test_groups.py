"""Real consumers in groups: who reads what, and what happens when one of them is gone."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.clients.conftest import CreateTopic, marked
from tests.clients.group_members import COMMANDS, GroupMember, wait_until_shared
from tests.clients.speaker import TIMEOUT_S

pytestmark = pytest.mark.clients

SESSION_MS = 2_000
HEARTBEAT_MS = 200
MAX_POLL_MS = 5_000

CLIENTS = [marked(name) for name in COMMANDS]
OTHER_CLIENTS = [
    "aiokafka",
    "kafkajs",
    pytest.param("kafka-python", marks=pytest.mark.slow),
]
COOPERATIVE_CLIENTS = [marked(name) for name in ("confluent-kafka", "kafka-python", "java")]
STATIC_CLIENTS = [marked(name) for name in COMMANDS if name != "kafkajs"]
"""kafkajs has no static members."""

Join = Callable[..., GroupMember]


@pytest.fixture
def join(bootstrap: str) -> Iterator[Join]:
    """Starts a member. Those that are left at the end are killed."""
    members: list[GroupMember] = []

    def start(client: str, topic: str, group: str, **options: Any) -> GroupMember:
        member = GroupMember(
            client,
            {
                "bootstrap": bootstrap,
                "topic": topic,
                "group": group,
                "client_id": f"m{len(members)}",
                "session_ms": SESSION_MS,
                "heartbeat_ms": HEARTBEAT_MS,
                "max_poll_ms": MAX_POLL_MS,
                "strategy": "range",
                **options,
            },
        )
        members.append(member)
        return member

    yield start
    for member in members:
        if member.is_running:
            member.kill()


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


class Records:
    """Writes to every partition of a topic, one record after the other."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._topic = topic
        self._partitions = partitions

    def write(self, count: int = 1) -> None:
        for _ in range(count):
            for partition in range(self._partitions):
                self._producer.produce(self._topic, b"x", partition=partition)
        assert self._producer.flush(TIMEOUT_S) == 0


def read_up_to(member: GroupMember, partition: int, offset: int) -> None:
    member.wait_for(
        f"at offset {offset} of partition {partition}",
        lambda: bool(member.records(partition)) and member.records(partition)[-1] >= offset,
    )


def three_members(
    client: str, join: Join, topic: str, group: str, **options: Any
) -> list[GroupMember]:
    members = [join(client, topic, group, **options) for _ in range(3)]
    wait_until_shared(members, [0, 1, 2])
    return members


def test_a_partition_of_a_member_that_was_killed_moves(
    bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    _a_member_is_killed("confluent-kafka", bootstrap, create_topic, join, group)


@pytest.mark.slow
@pytest.mark.parametrize("client", [each for each in CLIENTS if each != "confluent-kafka"])
def test_a_partition_of_a_killed_member_moves_with_every_client(
    client: str, bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    _a_member_is_killed(client, bootstrap, create_topic, join, group)


def _a_member_is_killed(
    client: str, bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    topic = create_topic(3)
    records = Records(bootstrap, topic, 3)
    members = three_members(client, join, topic, group)
    records.write()
    for member in members:
        [partition] = member.assigned or [-1]
        read_up_to(member, partition, 0)
        assert member.commit() is None
    fourth = join(client, topic, group)
    wait_until_shared([*members, fourth], [0, 1, 2])
    idle = [each for each in (*members, fourth) if not each.assigned]
    assert len(idle) == 1
    victim = next(each for each in members if each.assigned)
    [partition] = victim.assigned or [-1]
    victim.kill()
    left = [each for each in (*members, fourth) if each is not victim]
    wait_until_shared(left, [0, 1, 2])
    records.write()
    heir = next(each for each in left if each.assigned == [partition])
    read_up_to(heir, partition, 1)
    assert heir.records(partition) == [1]  # what the victim had committed is not read again


@pytest.mark.parametrize("client", OTHER_CLIENTS)
def test_two_members_share_a_topic_and_one_leaves(
    client: str, bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    topic = create_topic(2)
    records = Records(bootstrap, topic, 2)
    records.write()
    first = join(client, topic, group)
    wait_until_shared([first], [0, 1])
    second = join(client, topic, group)
    wait_until_shared([first, second], [0, 1])
    second.leave()
    wait_until_shared([first], [0, 1])
    records.write()
    for partition in (0, 1):
        read_up_to(first, partition, 1)
    assert first.commit() is None


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_two_groups_do_not_know_of_each_other(
    client: str, bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    topic = create_topic(3)
    records = Records(bootstrap, topic, 3)
    one = three_members(client, join, topic, group)
    other = join(client, topic, f"{group}-other")
    wait_until_shared([other], [0, 1, 2])
    records.write(5)
    for partition in range(3):
        read_up_to(other, partition, 4)
        assert other.records(partition) == [0, 1, 2, 3, 4]
    for member in one:
        [partition] = member.assigned or [-1]
        read_up_to(member, partition, 4)
        assert member.records(partition) == [0, 1, 2, 3, 4]
    before = [len(each.of("assigned")) for each in one]
    other.leave()
    time.sleep(1.0)
    assert [len(each.of("assigned")) for each in one] == before


@pytest.mark.slow
@pytest.mark.parametrize("client", [marked(name) for name in COMMANDS if name != "aiokafka"])
def test_a_slow_member_is_thrown_out_and_its_commit_refused(
    client: str, bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    """aiokafka is left out: its heartbeats go on whatever the application does."""
    topic = create_topic(2)
    records = Records(bootstrap, topic, 2)
    records.write()
    slow = join(client, topic, group)
    wait_until_shared([slow], [0, 1])
    for partition in (0, 1):
        read_up_to(slow, partition, 0)
    fast = join(client, topic, group)
    wait_until_shared([slow, fast], [0, 1])
    [partition] = slow.assigned or [-1]
    records.write()
    read_up_to(slow, partition, 1)
    slow.command("stall", seconds=MAX_POLL_MS / 1000 + 4)
    records.write()  # kafkajs stalls while it handles a record
    fast.wait_for("alone", lambda: fast.assigned == [0, 1], 20)
    records.write()
    for each in (0, 1):
        read_up_to(fast, each, 3)
    assert fast.commit() is None
    slow.wait_for("answered", lambda: bool(slow.of("committed")), 20)
    assert slow.of("committed")[-1]["error"], slow.events
    # It joins anew and gets its share.
    wait_until_shared([slow, fast], [0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("client", STATIC_CLIENTS)
def test_a_static_member_restarts_without_a_rebalance(
    client: str, bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    topic = create_topic(3)
    records = Records(bootstrap, topic, 3)
    options = {"session_ms": 15_000, "max_poll_ms": 20_000}
    members = [join(client, topic, group, instance=f"i{n}", **options) for n in range(3)]
    wait_until_shared(members, [0, 1, 2])
    before = [len(each.of("assigned")) for each in members]
    share = members[1].assigned
    members[1].kill()
    again = join(client, topic, group, instance="i1", **options)
    wait_until_shared([again], share or [])
    records.write()
    read_up_to(again, (share or [-1])[0], 0)
    assert [len(each.of("assigned")) for each in members] == before
    # A clean stop keeps its place as well.
    again.leave()
    third = join(client, topic, group, instance="i1", **options)
    wait_until_shared([third], share or [])
    assert [len(members[n].of("assigned")) for n in (0, 2)] == [before[0], before[2]]


@pytest.mark.slow
@pytest.mark.parametrize("client", COOPERATIVE_CLIENTS)
def test_others_read_on_while_a_partition_moves(
    client: str, bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    topic = create_topic(4)
    records = Records(bootstrap, topic, 4)
    options = {"strategy": "cooperative-sticky"}
    first = join(client, topic, group, **options)
    second = join(client, topic, group, **options)
    wait_until_shared([first, second], [0, 1, 2, 3])
    kept = [set(each.assigned or ()) for each in (first, second)]
    marks = [len(each.of("assigned")) for each in (first, second)]
    third = join(client, topic, group, **options)
    until = time.monotonic() + TIMEOUT_S
    while not third.assigned and time.monotonic() < until:
        records.write()
        time.sleep(0.05)
    wait_until_shared([first, second, third], [0, 1, 2, 3])
    moved = set(third.assigned or ())
    assert len(moved) == 1
    for member, before, mark in zip((first, second), kept, marks, strict=True):
        # At no moment did it have less than what it keeps.
        held = [set(each["partitions"]) for each in member.of("assigned")[mark:]]
        assert all(each >= before - moved for each in held), held
    records.write(3)
    for member in (first, second, third):
        for partition in member.assigned or ():
            read_up_to(
                member, partition, member.records(partition)[-1] if member is not third else 0
            )


def test_administrators_see_members_and_cannot_delete_their_group(
    create_topic: CreateTopic, join: Join, group: str, admin: AdminClient
) -> None:
    topic = create_topic(1)
    member = join("confluent-kafka", topic, group)
    wait_until_shared([member], [0])
    described = admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
    assert described.state.name == "STABLE"
    assert described.partition_assignor == "range"
    [shown] = described.members
    assert (shown.client_id, shown.host) == ("m0", "/127.0.0.1")
    [place] = shown.assignment.topic_partitions
    assert (place.topic, place.partition) == (topic, 0)
    listed = admin.list_consumer_groups().result(TIMEOUT_S).valid
    assert group in {each.group_id for each in listed}
    with pytest.raises(Exception, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)
    member.leave()
    assert admin.delete_consumer_groups([group])[group].result(TIMEOUT_S) is None
