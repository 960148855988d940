"""`broker groups` and a real consumer: seen while it lives, moved after its end.

The same is expected of Apache Kafka.
"""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer

from bench.apache_kafka import java_command, running
from broker.cli import group_reset
from broker.cli.cluster_client import ClusterClient
from broker.cli.main import run
from tests.clients.conftest import GROUPS, CreateTopic
from tests.clients.group_members import GroupMember
from tests.clients.java_speaker import SHORT_LIVED
from tests.clients.speaker import TIMEOUT_S

pytestmark = pytest.mark.clients

CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
FIGURES = ("PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")

Join = Callable[..., GroupMember]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Groups = Callable[..., Ran]


def commands(bootstrap: str, capsys: pytest.CaptureFixture[str]) -> Groups:
    def call(command: str, *arguments: str) -> Ran:
        code = run(["groups", command, "--bootstrap-server", bootstrap, *arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@contextmanager
def joining(bootstrap: str) -> Iterator[Join]:
    """Starts members. Those that are left at the end are killed."""
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

    try:
        yield start
    finally:
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
    assert member["clientId"].startswith("reader-")
    assert member["host"] == "127.0.0.1"
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
    assert f"  client id: {member['clientId']}  host: 127.0.0.1  " in text[1]
    assert f"  partition: {topic}-1  committed: 10  log end: 13  lag: 3  owner: " in text[3]
    listed = groups("list", "--state", "stable", "--type", protocol).out.splitlines()
    assert f"group: {group}  type: {protocol}  state: Stable  protocol: consumer" in listed
    assert group not in groups("list", "--state", "Empty").out


async def no_look(cluster: ClusterClient, group: str) -> None:
    pass


def check_it_is_left_alone(groups: Groups, topic: str, group: str) -> None:
    for more in ((), ("--execute",)):
        refused = groups("reset-offsets", group, "--topic", topic, "--to-earliest", *more)
        assert (refused.code, refused.out) == (1, "")
        assert f"group '{group}' is Stable with 1 member; stop its consumers" in refused.err
    with pytest.MonkeyPatch.context() as patched:
        # As if the member had joined after the look at the group: the coordinator refuses it, too.
        patched.setattr(group_reset, "_check_is_idle", no_look)
        late = groups("reset-offsets", group, "--topic", topic, "--to-earliest", "--execute")
    assert (late.code, late.out) == (1, "")
    assert "has members since a moment ago, and its offsets are as they were" in late.err
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


def live_and_die(bootstrap: str, groups: Groups, join: Join, topic: str, protocol: str) -> None:
    group = f"group-{uuid.uuid4().hex[:12]}"
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


@pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.slow)])
def test_a_live_group_is_seen_and_left_alone_and_starts_where_it_was_moved(
    bootstrap: str, create_topic: CreateTopic, capsys: pytest.CaptureFixture[str], protocol: str
) -> None:
    with joining(bootstrap) as join:
        live_and_die(bootstrap, commands(bootstrap, capsys), join, create_topic(2), protocol)


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.timeout(300)
def test_the_commands_work_against_apache_kafka(capsys: pytest.CaptureFixture[str]) -> None:
    settings = dict(line.split("=", 1) for line in GROUPS.splitlines())
    with running(settings) as kafka, joining(kafka.bootstrap) as join:
        groups = commands(kafka.bootstrap, capsys)
        there = ["--bootstrap-server", kafka.bootstrap, "--partitions", "2"]
        for protocol in ("classic", "consumer"):
            assert run(["topics", "create", *there, protocol]) == 0
            capsys.readouterr()
            live_and_die(kafka.bootstrap, groups, join, protocol, protocol)


@pytest.mark.slow
@pytest.mark.java
def test_kafkas_own_tool_shows_the_same_figures(
    bootstrap: str, create_topic: CreateTopic, capsys: pytest.CaptureFixture[str]
) -> None:
    groups, topic = commands(bootstrap, capsys), create_topic(2)
    group = f"group-{uuid.uuid4().hex[:12]}"
    write(bootstrap, topic, 10)
    moved = groups("reset-offsets", group, "--topic", topic, "--to-offset", "3", "--execute")
    assert moved.code == 0, moved.err
    asking = ["--bootstrap-server", bootstrap, "--describe", "--group", group]
    done = subprocess.run(
        java_command(CONSUMER_GROUPS, asking, SHORT_LIVED),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    heads = next(line for line in lines if line[0] == "GROUP")
    rows = [dict(zip(heads, line, strict=False)) for line in lines if line[0] == group]
    told = [
        (row["TOPIC"], *(int(row[head]) for head in FIGURES))
        for row in sorted(rows, key=lambda row: int(row["PARTITION"]))
    ]
    names = ("topic", "partition", "committedOffset", "logEndOffset", "lag")
    assert told == [
        tuple(each[name] for name in names) for each in described(groups, group)["offsets"]
    ]
    assert len(told) == 2
