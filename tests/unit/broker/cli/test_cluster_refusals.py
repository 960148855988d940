"""Nodes that must not join a cluster: they say why, end with 255, and leave their data alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from broker.cli.main import run
from tests.unit.broker.cli.conftest import Run
from tests.unit.broker.cli.homes import formatted, make_home
from tests.unit.broker.cli.processes import (
    PATIENCE_S,
    address_of,
    free_ports,
    last_words,
    launched,
    started,
)

ONE = "AAAAAAAAAAAAAAAAAAAAAA"
OTHER = "BBBBBBBBBBBBBBBBBBBBBA"


def content_of(folder: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file() and each.name != ".lock"
    }


def test_a_broker_of_another_cluster_is_refused(broker: Run, tmp_path: Path) -> None:
    [port] = free_ports(1)
    controller = make_home(tmp_path / "controller", 1, port, "controller", {1: port})
    stranger = make_home(tmp_path / "stranger", 2, 0, "broker", {1: port})
    formatted(broker, controller, ONE)
    before = content_of(formatted(broker, stranger, OTHER) / "data")
    with started(controller) as (_, address), launched(stranger) as process:
        assert address == f"127.0.0.1:{port}"
        assert process.wait(timeout=PATIENCE_S) == 255
    told = last_words(stranger)
    assert f"this node is of cluster {OTHER}, but the controllers (1) are of another" in told
    assert "compare meta.properties" in told
    after = content_of(stranger / "data")
    assert {name: after[name] for name in before} == before


def test_a_voter_of_another_cluster_is_refused_and_the_others_go_on(
    broker: Run, tmp_path: Path
) -> None:
    ports = dict(zip((1, 2, 3), free_ports(3), strict=True))
    homes = [
        make_home(tmp_path / str(each), each, port, "broker,controller", ports)
        for each, port in ports.items()
    ]
    for home, cluster_id in zip(homes, (ONE, ONE, OTHER), strict=True):
        formatted(broker, home, cluster_id)
    with launched(homes[2]) as stranger, launched(homes[0]) as one, launched(homes[1]) as two:
        assert stranger.wait(timeout=PATIENCE_S) == 255
        for process, home in ((one, homes[0]), (two, homes[1])):
            address_of(process, home)
            assert process.poll() is None
    assert "but the controllers (1, 2) are of another" in last_words(homes[2])
    assert not (homes[2] / "data" / "__cluster_metadata-0" / "quorum-state").exists()


@pytest.fixture(scope="module")
def one_that_voted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Node 1, which has voted for itself as the only one, and was killed."""
    [port] = free_ports(1)
    folder = tmp_path_factory.mktemp("voter") / "node"
    home = make_home(folder, 1, port, "broker,controller", {1: port})
    config = str(home / "server.properties")
    assert run(["format", "--config", config, "--cluster-id", ONE]) == 0
    with started(home) as (_, address):
        assert run(["topics", "create", "--bootstrap-server", address, "t"]) == 0
    return home


@pytest.fixture
def voter(one_that_voted: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    home = tmp_path / "node"
    shutil.copytree(one_that_voted, home)
    config = home / "server.properties"
    config.write_text(config.read_text().replace(str(one_that_voted), str(home)))
    return home


def refusal(broker: Run, home: Path, *overrides: str) -> str:
    """Of a start that must fail, and change no file."""
    before = content_of(home / "data")
    options = [option for each in overrides for option in ("--override", each)]
    ran = broker("start", "--config", home / "server.properties", *options)
    assert ran.code == 255, ran.err
    assert "Traceback" not in ran.err
    assert content_of(home / "data") == before
    return ran.err


def test_voters_other_than_those_that_it_voted_among_are_refused(broker: Run, voter: Path) -> None:
    one, two, three = free_ports(3)
    voters = f"1@127.0.0.1:{one},2@127.0.0.1:{two},3@127.0.0.1:{three}"
    told = refusal(
        broker,
        voter,
        f"controller.quorum.voters={voters}",
        f"listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{one}",
    )
    assert f"{voter}/data: __cluster_metadata-0/quorum-state was written for the voters [1]" in told
    assert "controller.quorum.voters names [1, 2, 3]" in told


def test_another_nodes_directory_is_refused(broker: Run, voter: Path) -> None:
    [port] = free_ports(1)
    told = refusal(broker, voter, "node.id=2", f"controller.quorum.voters=2@127.0.0.1:{port}")
    assert f"{voter}/data belongs to node 1, but node.id is 2" in told


@pytest.mark.parametrize("content", [b"", b'{"leaderId": 1', b"[]", b'{"data_version": 0}'])
def test_a_damaged_quorum_state_is_refused(broker: Run, voter: Path, content: bytes) -> None:
    (voter / "data" / "__cluster_metadata-0" / "quorum-state").write_bytes(content)
    told = refusal(broker, voter)
    assert f"{voter}/data: __cluster_metadata-0/quorum-state is damaged" in told
    assert "might vote twice" in told


def test_a_quorum_state_of_another_version_is_refused(broker: Run, voter: Path) -> None:
    path = voter / "data" / "__cluster_metadata-0" / "quorum-state"
    path.write_text(json.dumps({**json.loads(path.read_text()), "data_version": 9}))
    assert "quorum-state has version 9, only 0 is known" in refusal(broker, voter)


def test_a_quorum_state_older_than_the_log_is_refused(broker: Run, voter: Path) -> None:
    """It was restored from a copy, or lost: the node may have voted since."""
    (voter / "data" / "__cluster_metadata-0" / "quorum-state").unlink()
    assert "restore it from a copy" in refusal(broker, voter)
