"""What `--on running` takes, and refuses before anything is asked."""

from __future__ import annotations

import asyncio

import click
import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.cluster import CAPABILITIES, NewTopic
from harness.cluster.kafka_questions import Broker
from harness.cluster.parts import EVERY_PART, offered
from harness.cluster.running import RunningCluster, RunningPlace
from harness.errors import UsageFailure

BROKERS = [Broker(7, "a", 9092), Broker(11, "b", 9093)]


@pytest.fixture(autouse=True)
def cluster_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("harness.cluster.kafka_questions", "harness.cluster.running"):
        monkeypatch.setattr(f"{module}.brokers_at", lambda bootstrap: BROKERS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--on running", "--on running needs --bootstrap-servers HOST:PORT"),
        ("--on running --bootstrap-servers foo", "'foo' is not HOST:PORT"),
        ("--on running --bootstrap-servers a:1,b:99999", "'b:99999' is not HOST:PORT"),
        ("--on running --bootstrap-servers :9092", "':9092' is not HOST:PORT"),
        ("--on running --bootstrap-servers a:1,", "'' is not HOST:PORT"),
        ("--bootstrap-servers a:1", "--bootstrap-servers is for --on running"),
        ("--system running", "--system running is for --on running"),
        ("--on running --bootstrap-servers a:1 --broker-config a=b", "these already run"),
        ("--on running --bootstrap-servers a:1 --unsafe", "try --acks 1"),
        ("--on running --bootstrap-servers a:1 --system kafka", "these brokers already run"),
        ("--on running --bootstrap-servers a:1 --nemesis partition", "no link can be cut"),
        ("--on running --bootstrap-servers a:1 --nemesis client:kill,power", "no disk can be"),
        ("--on running --bootstrap-servers a:1 --nemesis wire", "past any proxy"),
        ("--on running --bootstrap-servers a:1 -w register --nemesis compact", "segments on disk"),
    ],
)
def test_what_cannot_be_is_refused(words: str, said: str) -> None:
    result = CliRunner().invoke(cli, ["test", *words.split()], standalone_mode=False)
    assert isinstance(result.exception, click.UsageError)
    assert said in str(result.exception)


def test_brokers_are_nodes_in_the_order_of_their_ids() -> None:
    place = RunningPlace("a:1")
    system = RunningCluster(place)
    asyncio.run(place.up(2))
    assert [host.node for host in place.hosts] == ["n1", "n2"]
    assert system.bootstrap(["n1", "n2"]) == "a:9092,b:9093"
    assert [system.node_of(7), system.node_of(11)] == ["n1", "n2"]
    assert offered(system) == EVERY_PART - {"stored"}
    assert all(place.why_not(each) for each in CAPABILITIES)


def test_a_topic_that_is_there_already_is_never_written_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.cluster.running.topics_at", lambda bootstrap: {"queue1"})
    place = RunningPlace("a:1")
    topic = NewTopic(name="queue1", partitions=1, replication_factor=1)
    with pytest.raises(UsageFailure, match="has a topic queue1 already"):
        asyncio.run(RunningCluster(place).create_topic(topic))
    assert place.made_topics == []
