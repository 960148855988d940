"""`broker groups` and a real consumer: seen while it lives, moved after its end.

With CLIENT_TEST_BOOTSTRAP the same is expected of Apache Kafka.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer

from broker.cli.main import run
from tests.clients.conftest import CreateTopic
from tests.clients.group_members import GroupMember
from tests.clients.speaker import TIMEOUT_S

pytestmark = pytest.mark.clients

Join = Callable[..., GroupMember]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Groups = Callable[..., Ran]


@pytest.fixture
def groups(bootstrap: str, capsys: pytest.CaptureFixture[str]) -> Groups:
    def call(command: str, *arguments: str) -> Ran:
        code = run(["groups", command, "--bootstrap-server", bootstrap, *arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def join(bootstrap: str) -> Iterator[Join]:
    members: list[GroupMember] = []

    def start(topic: str, group: str, protocol: str) -> GroupMember:
        options = {
            "bootstrap": bootstrap,
            "topic": topic,
            "group": group,
            "client_id": f"reader-{len(members)}",
            "session_ms": 1_500,
            "heartbeat_ms": 200,
            "max_poll_ms": 60_000,
            "strategy": "range",
            "protocol": protocol,
        }
        members.append(GroupMember("confluent-kafka", options))
        return members[-1]

    yield start
    for member in members:
        if member.is_running:
            member.kill()


def write(bootstrap: str, topic: str, count: int) -> None:
    """To each of two partitions."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for number in range(2 * count):
        producer.produce(topic, b"x", partition=number % 2)
    assert producer.flush(TIMEOUT_S) == 0


def has_read(member: GroupMember, last: int) -> bool:
    return all(member.records(index)[-1:] == [last] for index in (0, 1))


def described(groups: Groups, group: str) -> dict[str, Any]:
    ran = groups("describe", group, "--json")
    assert ran.code == 0, ran.err
    [found] = json.loads(ran.out)
    assert isinstance(found, dict)
    return found


def check_it_is_seen(groups: Groups, topic: str, group: str, protocol: str) -> None:
    found = described(groups, group)
    assert (found["type"], found["state"], found["memberCount"]) == (protocol, "Stable", 1)
    assert (found["epoch"] is None) == (protocol == "classic")
    assert found["assignor"] == ("range" if protocol == "classic" else "uniform")
    [member] = found["members"]
    assert (member["clientId"], member["host"]) == ("reader-0", "127.0.0.1")
    assert member["assignment"] == [{"topic": topic, "partitions": [0, 1]}]
    assert found["offsets"] == [
        {
            "topic": topic,
            "partition": index,
            "committedOffset": 10,
            "logEndOffset": 13,
            "lag": 3,
            "owners": [member["memberId"]],
        }
        for index in (0, 1)
    ]
    assert found["lag"] == 6
    text = groups("describe", group).out.splitlines()
    assert f"group: {group}  type: {protocol}  state: Stable" in text[0]
    assert (
        f"client id: reader-0  host: 127.0.0.1  {'' if protocol == 'classic' else 'epoch: '}"
        in (text[1])
    )
    assert f"  partition: {topic}-1  committed: 10  log end: 13  lag: 3  owner: " in text[3]
    listed = groups("list", "--state", "stable", "--type", protocol).out.splitlines()
    assert f"group: {group}  type: {protocol}  state: Stable  protocol: consumer" in listed
    assert group not in groups("list", "--state", "Empty").out


def check_it_is_left_alone(groups: Groups, topic: str, group: str) -> None:
    for more in ((), ("--execute",)):
        refused = groups("reset-offsets", group, "--topic", topic, "--to-earliest", *more)
        assert (refused.code, refused.out) == (1, "")
        assert f"group '{group}' is Stable with 1 members; stop its consumers" in refused.err
    refused = groups("delete", group)
    assert (refused.code, "it has members" in refused.err) == (1, True)
    refused = groups("delete-offsets", group, "--topic", topic)
    assert (refused.code, "GROUP_SUBSCRIBED_TO_TOPIC" in refused.err) == (1, True)
    assert [each["committedOffset"] for each in described(groups, group)["offsets"]] == [10, 10]


def wait_until_empty(groups: Groups, group: str) -> None:
    until = time.monotonic() + TIMEOUT_S
    while described(groups, group)["state"] != "Empty":
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.slow)])
def test_a_live_group_is_seen_and_left_alone_and_starts_where_it_was_moved(
    bootstrap: str, create_topic: CreateTopic, join: Join, groups: Groups, protocol: str
) -> None:
    topic, group = create_topic(2), f"group-{uuid.uuid4().hex[:12]}"
    write(bootstrap, topic, 10)
    member = join(topic, group, protocol)
    member.wait_for("at the end", lambda: has_read(member, 9))
    assert member.commit() is None
    write(bootstrap, topic, 3)
    check_it_is_seen(groups, topic, group, protocol)
    check_it_is_left_alone(groups, topic, group)

    member.kill()
    wait_until_empty(groups, group)
    planned = groups("reset-offsets", group, "--topic", topic, "--shift-by", "-6")
    assert planned.code == 0
    assert f"partition: {topic}-0  from: 10  to: 4  lag: 9\n" in planned.out
    assert "nothing is changed; add --execute" in planned.out
    assert described(groups, group)["lag"] == 6
    moved = groups("reset-offsets", group, "--topic", topic, "--shift-by", "-6", "--execute")
    assert (moved.code, "committed 2 offsets" in moved.out) == (0, True)
    assert described(groups, group)["lag"] == 18

    follower = join(topic, group, protocol)
    follower.wait_for("at the end", lambda: has_read(follower, 12))
    assert [follower.records(index)[0] for index in (0, 1)] == [4, 4]
    follower.leave()
    assert groups("delete", group) == (0, f"deleted group {group}\n", "")
    assert groups("describe", group).code == 1
