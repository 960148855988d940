"""The text of server.properties for node k of N."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from harness.cluster.server_properties import (
    QUICK_FAILOVER,
    SET_HERE,
    Member,
    Settings,
    server_properties,
)

MEMBERS = [
    Member(
        node_id=number,
        address="127.0.0.1",
        client_port=19000 + number,
        controller_port=19100 + number,
        log_dirs=(PurePosixPath(f"/place/n{number}/data/logs"),),
    )
    for number in range(1, 6)
]


def read(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_the_second_of_three_nodes() -> None:
    assert server_properties(MEMBERS[1], MEMBERS[:3], QUICK_FAILOVER) == (
        "process.roles=broker,controller\n"
        "node.id=2\n"
        "controller.quorum.voters=1@127.0.0.1:19101,2@127.0.0.1:19102,3@127.0.0.1:19103\n"
        "controller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:19002,CONTROLLER://127.0.0.1:19102\n"
        "advertised.listeners=PLAINTEXT://127.0.0.1:19002\n"
        "inter.broker.listener.name=PLAINTEXT\n"
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        "log.dirs=/place/n2/data/logs\n"
        "auto.create.topics.enable=false\n"
        "offsets.topic.replication.factor=3\n"
        "transaction.state.log.replication.factor=3\n"
        "transaction.state.log.min.isr=2\n"
        "broker.session.timeout.ms=1500\n"
        "broker.heartbeat.interval.ms=300\n"
        "controller.quorum.fetch.timeout.ms=1000\n"
        "controller.quorum.election.timeout.ms=500\n"
    )


def test_all_nodes_agree_on_everything_but_themselves() -> None:
    found = [read(server_properties(one, MEMBERS, Settings())) for one in MEMBERS]
    own = {"node.id", "listeners", "advertised.listeners", "log.dirs"}
    for name in found[0].keys() - own:
        assert len({one[name] for one in found}) == 1, name
    assert own <= SET_HERE, "what differs from node to node is set for each, by nobody else"
    for name in own:
        assert len({one[name] for one in found}) == len(MEMBERS), name


def test_a_node_alone_asks_for_no_more_replicas_than_there_are_nodes() -> None:
    alone = read(server_properties(MEMBERS[0], MEMBERS[:1], Settings()))
    assert alone["controller.quorum.voters"] == "1@127.0.0.1:19101"
    assert alone["offsets.topic.replication.factor"] == "1"
    assert alone["transaction.state.log.replication.factor"] == "1"
    assert alone["transaction.state.log.min.isr"] == "1"


def test_what_is_not_set_is_left_to_the_broker() -> None:
    text = server_properties(MEMBERS[0], MEMBERS[:3], Settings())
    assert "timeout" not in text
    assert "broker.rack" not in text


def test_racks_are_dealt_out_in_turn() -> None:
    settings = Settings(racks=("a", "b"))
    racks = [read(server_properties(one, MEMBERS, settings))["broker.rack"] for one in MEMBERS]
    assert racks == ["a", "b", "a", "b", "a"]


def test_free_properties_win() -> None:
    settings = Settings(
        broker_session_timeout_ms=1500,
        properties={"broker.session.timeout.ms": "9", "min.insync.replicas": "2"},
    )
    found = read(server_properties(MEMBERS[0], MEMBERS[:3], settings))
    assert found["broker.session.timeout.ms"] == "9"
    assert found["min.insync.replicas"] == "2"


def test_a_value_cannot_break_out_of_its_line() -> None:
    with pytest.raises(ValueError, match=r"broker\.rack has a value of several lines"):
        server_properties(MEMBERS[0], MEMBERS[:1], Settings(racks=("a\nnode.id=7",)))
    text = server_properties(MEMBERS[0], MEMBERS[:1], Settings(racks=("a\\b",)))
    assert read(text)["broker.rack"] == "a\\\\b"


def test_a_node_behind_a_proxy_listens_elsewhere_than_it_says() -> None:
    behind = replace(MEMBERS[0], client_port_behind=20001, controller_port_behind=20101)
    found = read(server_properties(behind, [behind, *MEMBERS[1:3]], Settings()))
    assert found["listeners"] == "PLAINTEXT://127.0.0.1:20001,CONTROLLER://127.0.0.1:20101"
    assert found["advertised.listeners"] == "PLAINTEXT://127.0.0.1:19001"
    assert found["controller.quorum.voters"].startswith("1@127.0.0.1:19101,")
