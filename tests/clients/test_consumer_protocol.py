"""Real consumers in groups of the new protocol (KIP-848), and groups that change their protocol."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import ConsumerGroupType
from confluent_kafka.admin import AdminClient

from tests.clients.conftest import CreateTopic, marked
from tests.clients.group_members import GroupMember, wait_until_shared
from tests.clients.speaker import TIMEOUT_S
from tests.clients.test_groups import Join, Records, group, join, read_up_to

pytestmark = pytest.mark.clients

__all__ = ["group", "join"]  # fixtures

CLIENTS = [marked(name) for name in ("confluent-kafka", "java")]
NEW: dict[str, Any] = {"protocol": "consumer"}


def kind_of(admin: AdminClient, group_id: str) -> ConsumerGroupType:
    listed = admin.list_consumer_groups().result(TIMEOUT_S).valid
    [found] = [each for each in listed if each.group_id == group_id]
    kind: ConsumerGroupType = found.type
    return kind


def test_a_partition_of_a_killed_member_moves_and_a_fourth_is_idle(
    bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    _a_member_is_killed("confluent-kafka", bootstrap, create_topic, join, group)


@pytest.mark.slow
@pytest.mark.java
def test_a_partition_of_a_killed_member_moves_with_java(
    bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    _a_member_is_killed("java", bootstrap, create_topic, join, group)


def _a_member_is_killed(
    client: str, bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    topic = create_topic(3)
    records = Records(bootstrap, topic, 3)
    members = [join(client, topic, group, **NEW) for _ in range(3)]
    wait_until_shared(members, [0, 1, 2])
    records.write()
    for member in members:
        [partition] = member.assigned or [-1]
        read_up_to(member, partition, 0)
        assert member.commit() is None
    fourth = join(client, topic, group, **NEW)
    wait_until_shared(members, [0, 1, 2])
    victim = members[1]
    [partition] = victim.assigned or [-1]
    victim.kill()
    left = [members[0], members[2], fourth]
    wait_until_shared(left, [0, 1, 2])
    assert fourth.assigned == [partition]
    records.write()
    read_up_to(fourth, partition, 1)
    assert fourth.records(partition) == [1]  # what the victim had committed is not read again


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_members_keep_what_stays_with_them_while_others_join(
    client: str, bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    topic = create_topic(4)
    records = Records(bootstrap, topic, 4)
    first = join(client, topic, group, **NEW)
    wait_until_shared([first], [0, 1, 2, 3])
    second = join(client, topic, group, **NEW)
    wait_until_shared([first, second], [0, 1, 2, 3])
    third = join(client, topic, group, **NEW)
    wait_until_shared([first, second, third], [0, 1, 2, 3])
    for member in (first, second):
        held = [set(each["partitions"]) for each in member.of("assigned") if each["partitions"]]
        assert all(each >= set(member.assigned or ()) for each in held), held
    records.write(3)
    for member in (first, second, third):
        for partition in member.assigned or ():
            read_up_to(member, partition, 2)


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_a_static_member_restarts_without_a_rebalance(
    client: str, bootstrap: str, create_topic: CreateTopic, join: Join, group: str
) -> None:
    topic = create_topic(3)
    records = Records(bootstrap, topic, 3)
    members = [join(client, topic, group, instance=f"i{n}", **NEW) for n in range(3)]
    wait_until_shared(members, [0, 1, 2])
    before = [len(each.of("assigned")) for each in members]
    share = members[1].assigned
    again = join(client, topic, group, instance="i1", held=True, **NEW)
    again.wait_for("ready", lambda: bool(again.of("ready")))
    members[1].leave()
    again.command("start")
    wait_until_shared([again], share or [])
    records.write()
    read_up_to(again, (share or [-1])[0], 0)
    assert [len(members[n].of("assigned")) for n in (0, 2)] == [before[0], before[2]]


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_topics_that_match_an_expression_are_read(
    client: str, create_topic: CreateTopic, join: Join, group: str, admin: AdminClient
) -> None:
    first, other = create_topic(), create_topic()
    member = join(client, "", group, regex=f"({first}|{first}-more)", **NEW)
    member.wait_for("assigned", lambda: topics_of(member) == [first])
    name = f"{first}-more"
    _create(admin, name)
    # A group looks for new topics every ten seconds at most.
    member.wait_for("more", lambda: topics_of(member) == [first, name], 30)
    assert other not in topics_of(member)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "strategy"),
    [
        ("confluent-kafka", "range"),
        pytest.param("java", "range", marks=pytest.mark.java),
        pytest.param("java", "cooperative-sticky", marks=pytest.mark.java),
    ],
)
def test_a_live_group_goes_over_to_the_new_protocol_and_back(
    client: str,
    strategy: str,
    bootstrap: str,
    create_topic: CreateTopic,
    join: Join,
    group: str,
    admin: AdminClient,
) -> None:
    """One member after the other is replaced. The group reads on all the time.

    A group of librdkafka with `cooperative-sticky` is left out: its assignments have user data,
    which the new protocol cannot carry, so its upgrade is refused by Apache Kafka as well.
    """
    topic = create_topic(4)
    records = Records(bootstrap, topic, 4)
    written = 0
    old: dict[str, Any] = {"strategy": strategy}
    members = [join(client, topic, group, **old) for _ in range(2)]
    wait_until_shared(members, [0, 1, 2, 3])
    assert kind_of(admin, group) == ConsumerGroupType.CLASSIC
    for options, kind in (
        (NEW, ConsumerGroupType.CONSUMER),
        (old, ConsumerGroupType.CLASSIC),
    ):
        for place in range(2):
            members.append(join(client, topic, group, **options))
            wait_until_shared(members, [0, 1, 2, 3])
            members.pop(0).leave()
            wait_until_shared(members, [0, 1, 2, 3])
            records.write()
            written += 1
            for member in members:
                for partition in member.assigned or ():
                    read_up_to(member, partition, written - 1)
                assert member.commit() is None
            if place == 0:
                assert kind_of(admin, group) == ConsumerGroupType.CONSUMER
        assert kind_of(admin, group) == kind


def test_administrators_see_a_group_of_the_new_protocol(
    create_topic: CreateTopic, join: Join, group: str, admin: AdminClient
) -> None:
    topic = create_topic(1)
    member = join("confluent-kafka", topic, group, **NEW)
    wait_until_shared([member], [0])
    described = admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
    assert (described.state.name, described.type) == ("STABLE", ConsumerGroupType.CONSUMER)
    assert described.partition_assignor == "uniform"
    [shown] = described.members
    assert (shown.client_id, shown.host) == ("m0", "/127.0.0.1")
    for places in (shown.assignment, shown.target_assignment):
        [place] = places.topic_partitions
        assert (place.topic, place.partition) == (topic, 0)
    with pytest.raises(Exception, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)
    member.leave()
    assert admin.delete_consumer_groups([group])[group].result(TIMEOUT_S) is None


def topics_of(member: GroupMember) -> list[str]:
    found = [each["topics"] for each in member.of("assigned")]
    return found[-1] if found else []


def _create(admin: AdminClient, name: str) -> None:
    from confluent_kafka.cimpl import NewTopic

    admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT_S)
