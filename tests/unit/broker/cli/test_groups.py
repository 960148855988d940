"""`broker groups` on two nodes: leaders and coordinators on both, and the metrics agree with it."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families

from tests.unit.broker.cli.conftest import Run
from tests.unit.broker.cli.homes import formatted, make_home
from tests.unit.broker.cli.processes import PATIENCE_S, free_ports, started

pytestmark = [pytest.mark.clients, pytest.mark.slow]

ONE = "AAAAAAAAAAAAAAAAAAAAAA"
PROPERTIES = (
    "reference.metrics.listener=127.0.0.1:0\n"
    "offsets.topic.num.partitions=2\n"
    "offsets.topic.replication.factor=1\n"
)
GROUPS = ("a", "b", "c", "d")
LAG, COMMITTED = "reference_group_records_lag", "reference_group_committed_offset"

Series = dict[tuple[str, str, int], float]


def wait_for(what: str, holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, what
        time.sleep(0.05)


def metric(home: Path, name: str) -> Series:
    """By group, topic and partition."""
    lines = [json.loads(line) for line in (home / "stderr").read_text().splitlines()]
    [url] = [each["message"].split()[-1] for each in lines if "metrics at" in each["message"]]
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:  # noqa: S310
        text = answer.read().decode()
    return {
        (each.labels["group"], each.labels["topic"], int(each.labels["partition"])): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
        if each.name == name
    }


def described(broker: Run, at: tuple[str, ...], *more: str) -> dict[str, dict[str, Any]]:
    ran = broker("groups", "describe", *at, "--json", *more)
    assert ran.code == 0, ran.err
    return {each["group"]: each for each in json.loads(ran.out)}


def lags(groups: dict[str, dict[str, Any]]) -> Series:
    return {
        (group, each["topic"], each["partition"]): each["lag"]
        for group, found in groups.items()
        for each in found["offsets"]
        if each["lag"] is not None
    }


def make_topic(broker: Run, at: tuple[str, ...]) -> None:
    """One partition on each node, with five and seven records."""
    assert broker("topics", "create", *at, "--partitions", 2, "t").code == 0
    wait_for(
        "both lead",
        lambda: (
            {"leader: 1", "leader: 2"}
            <= set(broker("topics", "describe", *at, "t").out.split("  "))
        ),
    )
    producer = Producer({"bootstrap.servers": at[1], "log_level": 0})
    for partition, count in ((0, 5), (1, 7)):
        for _ in range(count):
            producer.produce("t", b"x", partition=partition)
    assert producer.flush(PATIENCE_S) == 0


def leader_of(broker: Run, at: tuple[str, ...], index: int) -> str:
    line = broker("topics", "describe", *at, "t").out.splitlines()[1 + index]
    return line.split("  leader: ")[1].split("  ")[0]


def check_metrics_agree(broker: Run, at: tuple[str, ...], homes: list[Path]) -> None:
    """Each lag is exported once, by the node that coordinates the group."""
    found = described(broker, at)
    coordinators = {group: each["coordinator"]["nodeId"] for group, each in found.items()}
    assert set(coordinators.values()) == {1, 2}
    told = lags(found)
    for node_id, home in enumerate(homes, 1):
        own = {key: lag for key, lag in told.items() if coordinators[key[0]] == node_id}
        wait_for(f"{home} exports {own}", lambda home=home, own=own: metric(home, LAG) == own)  # type: ignore[misc]


def check_changes(broker: Run, at: tuple[str, ...]) -> None:
    """Of the groups c and d."""
    assert broker("groups", "delete-offsets", *at, "c", "--topic", "t:1").out == (
        "deleted offset 4 of t-1\n"
    )
    assert lags(described(broker, at, "c")) == {("c", "t", 0): 1}
    nothing = broker("groups", "delete-offsets", *at, "c", "--topic", "t:1")
    assert (nothing.code, "has no committed offset of t-1" in nothing.err) == (1, True)
    shifted = broker("groups", "reset-offsets", *at, "c", "--topic", "t", "--shift-by", 1)
    assert (shifted.code, "partition t-1: nothing is committed yet" in shifted.err) == (1, True)
    unknown = broker("groups", "reset-offsets", *at, "c", "--topic", "u", "--to-latest")
    assert (unknown.code, unknown.err) == (
        1,
        "topic 'u' does not exist; see: broker topics list\n",
    )
    some = broker("groups", "delete", *at, "d", "nobody", "d")
    assert (some.code, some.out) == (1, "deleted group d\n")
    assert some.err == (
        "group 'nobody' is not deleted: it does not exist; see: broker groups list "
        "(GROUP_ID_NOT_FOUND)\n"
    )
    listed = broker("groups", "list", *at, "--state", "Empty", "--type", "classic").out
    assert [line.split("  ")[0] for line in listed.splitlines()] == [
        f"group: {each}" for each in "abc"
    ]


def test_groups_of_two_nodes_are_shown_moved_deleted_and_measured(
    broker: Run, tmp_path: Path
) -> None:
    [port] = free_ports(1)
    homes = [
        make_home(tmp_path / "first", 1, port, "broker,controller", {1: port}),
        make_home(tmp_path / "second", 2, 0, "broker", {1: port}),
    ]
    for home in homes:
        with (home / "server.properties").open("a") as config:
            config.write(PROPERTIES)
        formatted(broker, home, ONE)
    with started(homes[0]) as (_, address), started(homes[1]) as (second, _):
        at = ("--bootstrap-server", address)
        make_topic(broker, at)
        for group in GROUPS:
            moved = broker(
                "groups", "reset-offsets", *at, group, "--topic", "t", "--to-offset", 4, "--execute"
            )
            assert moved.code == 0, moved.err
        assert lags(described(broker, at)) == {
            (group, "t", index): lag for group in GROUPS for index, lag in ((0, 1), (1, 3))
        }
        check_metrics_agree(broker, at, homes)
        check_changes(broker, at)
        check_metrics_agree(broker, at, homes)

        of_first = metric(homes[0], COMMITTED)
        led = [leader_of(broker, at, index) for index in (0, 1)].index("1")
        second.kill()
        second.wait()
        # The offsets are still known here; the log end of the partition that node 2 led is not.
        left = {key for key in of_first if key[2] == led}
        assert left < of_first.keys()
        wait_for("only those are known", lambda: metric(homes[0], LAG).keys() == left)
        assert metric(homes[0], COMMITTED) == of_first
        group = min(left)[0]
        told = described(broker, at, group, "--timeout", "0.2")
        assert lags(told).keys() == {key for key in left if key[0] == group}
