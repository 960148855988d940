"""server.properties: what is known, what only warns, what is refused, and how that is said."""

from dataclasses import fields
from pathlib import Path

import pytest

from broker.config.broker import BrokerConfig
from broker.config.definitions import BROKER_PROPERTIES
from broker.config.errors import ConfigError
from broker.config.property import Meaning
from broker.config.values import parse_value, value_text
from broker.network.interface import Address

# As Kafka 4 ships it for a single node, comments left out.
QUICKSTART = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/var/lib/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""

TUNING_GUIDES = (
    "background.threads",
    "compression.type",
    "default.replication.factor",
    "fetch.max.bytes",
    "group.initial.rebalance.delay.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.threads",
    "log.flush.interval.messages",
    "log.flush.interval.ms",
    "log.retention.bytes",
    "log.retention.hours",
    "log.retention.minutes",
    "log.retention.ms",
    "log.roll.hours",
    "log.segment.bytes",
    "max.connections.per.ip",
    "message.max.bytes",
    "min.insync.replicas",
    "num.io.threads",
    "num.network.threads",
    "num.partitions",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "offsets.retention.minutes",
    "offsets.topic.num.partitions",
    "queued.max.request.bytes",
    "queued.max.requests",
    "replica.fetch.max.bytes",
    "replica.fetch.min.bytes",
    "replica.fetch.wait.max.ms",
    "replica.lag.time.max.ms",
    "replica.socket.receive.buffer.bytes",
    "socket.receive.buffer.bytes",
    "socket.request.max.bytes",
    "socket.send.buffer.bytes",
    "unclean.leader.election.enable",
)


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.parse(text)
    return [str(problem) for problem in refused.value.problems]


def test_kafkas_own_file_for_one_node_starts_this_broker_with_warnings_only() -> None:
    config, warnings = BrokerConfig.parse(QUICKSTART)
    assert config.node_id == 1
    assert [entry.name for entry in config.client_listeners] == ["PLAINTEXT"]
    assert config.log_dirs == ("/var/lib/kraft-combined-logs",)
    assert any("line 11: num.io.threads has no effect" in warning for warning in warnings)
    assert not any("log.segment.bytes" in warning for warning in warnings)


@pytest.mark.parametrize("name", TUNING_GUIDES)
def test_what_tuning_guides_name_is_known(name: str) -> None:
    assert BROKER_PROPERTIES[name].meaning is not Meaning.REFUSED


def test_a_default_would_be_accepted_if_it_were_written() -> None:
    for known in BROKER_PROPERTIES.values():
        text = value_text(known.default)
        if text is not None and known.name != "node.id":
            assert parse_value(known, text) == known.default, known.name


def test_an_unknown_name_is_refused_with_its_line_and_the_nearest_name() -> None:
    assert problems("node.id=1\nlog.segment.byte=5") == [
        "server.properties line 2: log.segment.byte: is not known; did you mean log.segment.bytes?"
    ]


def test_all_mistakes_are_told_at_once() -> None:
    found = problems("node.id=x\nnum.partitions=0\nzookeeper.connect=a:2181\nqwertz=1")
    assert [problem.split(": ")[1] for problem in found] == [
        "node.id",
        "num.partitions",
        "zookeeper.connect",
        "qwertz",
    ]
    assert "there is no ZooKeeper here" in found[2]


def test_an_override_wins_over_the_file_and_is_named_in_its_error() -> None:
    config, _ = BrokerConfig.parse("node.id=1\nnum.partitions=2", overrides={"num.partitions": "7"})
    assert config.num_partitions == 7
    with pytest.raises(ConfigError, match=r"--override num\.partitions: num\.partitions"):
        BrokerConfig.parse("node.id=1", overrides={"num.partitions": "none"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "node.id: is missing"),
        ("node.id=1\nbroker.id=2", "broker.id: is 2, but node.id is 1"),
        ("node.id=1\nlog.dirs=a,,b", "log.dirs: names no directory"),
        ("node.id=1\nlog.dirs=a\nmetadata.log.dir=b", "metadata.log.dir: 'b' is not one of"),
        ("node.id=1\nlisteners=localhost:9092", "'localhost:9092' is not NAME://host:port"),
        ("node.id=1\nlisteners=PLAINTEXT://h:70000", "port above 65535"),
        ("node.id=1\nlisteners=PLAINTEXT://h:1,PLAINTEXT://h:2", "comes twice"),
        ("node.id=1\nlisteners=SSL://h:9092", "only PLAINTEXT is served"),
        ("node.id=1\nlisteners=INSIDE://h:9092", "add INSIDE:PLAINTEXT"),
        ("node.id=1\nlisteners=PLAINTEXT://0.0.0.0:9092", "advertised.listeners: is missing"),
        ("node.id=1\nadvertised.listeners=PLAINTEXT://0.0.0.0:1", "has no host"),
        ("node.id=1\nadvertised.listeners=OTHER://h:1", "OTHER is not in listeners"),
        ("node.id=1\ncontroller.listener.names=PLAINTEXT", "so no client is served"),
        (
            "node.id=1\nprocess.roles=controller",
            "voters: is missing: a node that is only a controller",
        ),
        (
            "node.id=1\nprocess.roles=controller\ncontroller.quorum.voters=1@h:1",
            "none of listeners is in controller.listener.names",
        ),
        ("node.id=1\nauthorizer.class.name=x", "there is no authorizer here"),
        ("node.id=1\nreference.metrics.listener=9090x", "is not host:port"),
        ("node.id=1\nmax.connections.per.ip.overrides=h", "is not host:count"),
        ("node.id=1\nlog.dirs=/x/1,/x/1/", "log.dirs: /x/1 and /x/1/ are one directory"),
    ],
)
def test_what_contradicts_itself_is_refused(text: str, expected: str) -> None:
    assert any(expected in problem for problem in problems(text))


def test_a_listener_without_host_serves_this_machine_and_says_so() -> None:
    config, warnings = BrokerConfig.parse("node.id=1")
    assert config.listeners[0].bind_host == "0.0.0.0"  # noqa: S104
    assert config.advertised_listeners[0].host == "localhost"
    assert any("clients are told localhost" in warning for warning in warnings)


def test_a_name_that_comes_twice_is_told_with_both_lines() -> None:
    config, warnings = BrokerConfig.parse("node.id=1\nnum.partitions=2\n\nnum.partitions=3\n")
    assert config.num_partitions == 3
    assert (
        "server.properties line 4: num.partitions stands in line 2, too; the later one counts"
        in warnings
    )
    _, warnings = BrokerConfig.parse("node.id=1", overrides={"node.id": "2"})
    assert not any("too; the later" in warning for warning in warnings)


def test_more_in_sync_replicas_than_one_node_can_have_are_told() -> None:
    _, warnings = BrokerConfig.parse("node.id=1\nmin.insync.replicas=2")
    assert any("acks=all waits for one" in warning for warning in warnings)
    _, warnings = BrokerConfig.parse("node.id=1\nmin.insync.replicas=1")
    assert not any("acks=all" in warning for warning in warnings)


def test_a_file_full_of_unknown_names_is_refused_with_the_first_ones() -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.parse("".join(f"num.partitions{n}=1\n" for n in range(5000)))
    shown = str(refused.value).splitlines()
    assert len(shown) == 21
    assert "did you mean num.partitions?" in shown[19]
    assert shown[20] == "and 4980 more"
    assert len(refused.value.problems) == 5000
    assert not any("did you mean" in each.what for each in refused.value.problems[20:])


def test_brokers_older_name_for_the_node_is_taken() -> None:
    assert BrokerConfig.of({"broker.id": "4"}).node_id == 4


def test_settings_of_several_properties_are_worked_out() -> None:
    config = BrokerConfig.of(
        {
            "node.id": "1",
            "log.dirs": "/a, /b",
            "metadata.log.dir": "/b",
            "reference.metrics.listener": "127.0.0.1:9404",
            "max.connections.per.ip.overrides": "10.0.0.1:5,[::1]:6",
        }
    )
    assert (config.log_dirs, config.metadata_log_dir) == (("/a", "/b"), "/b")
    assert config.reference_metrics_listener == Address("127.0.0.1", 9404)
    assert config.max_connections_per_ip_overrides == {"10.0.0.1": 5, "::1": 6}


def test_a_property_for_one_listener_is_known_by_its_own_name() -> None:
    _, warnings = BrokerConfig.parse("node.id=1\nlistener.name.inside.ssl.keystore.location=/x")
    assert any("listener.name.inside.ssl.keystore.location" in warning for warning in warnings)
    assert "is not known" in problems("node.id=1\nlistener.name.inside.nonsense=1")[0]


def test_every_field_is_a_property_of_the_table() -> None:
    names = {each.name for each in fields(BrokerConfig)} - {"values", "given", "from_file"}
    for name in names:
        assert BROKER_PROPERTIES[name.replace("_", ".")].meaning is Meaning.USED


def test_every_field_is_read_by_somebody() -> None:
    """A property without effect must say so in the table instead."""
    derived = {"process_roles", "listeners", "controller_listener_names"}
    broker = Path(__file__).parents[4] / "broker"
    code = "".join(
        path.read_text() for path in broker.rglob("*.py") if path.parent != broker / "config"
    )
    names = {each.name for each in fields(BrokerConfig)} - derived - {"values", "given"}
    assert [name for name in sorted(names) if f".{name}" not in code] == []


def test_changes_while_running_leave_the_file_as_it_was() -> None:
    config = BrokerConfig.of({"node.id": "1", "log.retention.ms": "5"})
    changed = config.with_changes({"log.retention.ms": "7"}).with_changes({"num.partitions": "2"})
    assert changed.from_file == config.from_file
    assert (changed.values["log.retention.ms"], changed.num_partitions) == (5, 2)
