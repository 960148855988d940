"""`broker start` as a process: refusals, the ready line, topics over the wire, a clean end."""

import json
import signal
import urllib.request
from pathlib import Path

import pytest

from tests.unit.broker.cli.conftest import Run
from tests.unit.broker.cli.processes import end, started


def test_an_unformatted_directory_is_refused_with_the_command_to_type(
    broker: Run, home: Path
) -> None:
    ran = broker("start", "--config", home / "server.properties")
    assert ran.code == 255
    assert f"type: broker format --config {home}/server.properties" in ran.err


@pytest.mark.parametrize(
    ("override", "code", "expected"),
    [
        ("num.partitons=1", 254, "did you mean num.partitions?"),
        ("num.partitions=none", 254, "num.partitions: 'none' is not"),
        ("num.partitions", 254, "is not NAME=VALUE"),
        ("node.id=2", 255, "belongs to node 1, but node.id is 2"),
        ("zookeeper.connect=x", 254, "there is no ZooKeeper here"),
    ],
)
def test_a_wrong_configuration_is_refused_by_name(
    broker: Run, home: Path, override: str, code: int, expected: str
) -> None:
    config = home / "server.properties"
    broker("format", "--config", config)
    ran = broker("start", "--config", config, "--override", override)
    assert (ran.code, expected in ran.err) == (code, True), ran.err
    assert "Traceback" not in ran.err


def test_a_missing_file_is_told(broker: Run, home: Path) -> None:
    ran = broker("start", "--config", home / "nowhere")
    assert (ran.code, "No such file" in ran.err) == (255, True)


def test_a_broker_is_ready_serves_topics_and_metrics_and_ends_cleanly(
    broker: Run, home: Path
) -> None:
    broker("format", "--config", home / "server.properties")
    with started(home) as (process, address):
        at = ("--bootstrap", address)
        made = broker(
            "topics", "create", *at, "--partitions", "2", "--config", "retention.ms=5", "t"
        )
        assert made == (0, "created topic t\n", "")
        again = broker("topics", "create", *at, "t")
        assert (again.code, "TOPIC_ALREADY_EXISTS" in again.err) == (1, True)
        assert broker("topics", "list", *at).out == "t\n"
        described = broker("topics", "describe", *at).out.splitlines()
        assert "configs: retention.ms=5" in described[0]
        assert "partition: 1  leader: 1" in described[2]
        assert broker("topics", "describe", *at, "nope").code == 1

        lines = [json.loads(line) for line in (home / "stderr").read_text().splitlines()]
        [url] = [each["message"].split()[-1] for each in lines if "metrics at" in each["message"]]
        with urllib.request.urlopen(url) as answer:  # noqa: S310
            assert b"kafka_server_replicamanager_partitioncount 2.0" in answer.read()

        other = broker("start", "--config", home / "server.properties")
        assert (other.code, "in use by another broker" in other.err) == (255, True)

        assert broker("topics", "delete", *at, "t").code == 0
        assert broker("topics", "delete", *at, "t").code == 1
        assert end(process, signal.SIGTERM) == 0
    assert (home / "data" / ".kafka_cleanshutdown").exists()


def test_an_interrupt_ends_cleanly_with_130(broker: Run, home: Path) -> None:
    broker("format", "--config", home / "server.properties")
    with started(home) as (process, _):
        assert end(process, signal.SIGINT) == 130
    assert (home / "data" / ".kafka_cleanshutdown").exists()


def test_a_directory_that_cannot_be_read_does_not_keep_the_others_from_serving(
    broker: Run, home: Path
) -> None:
    config = home / "server.properties"
    two = f"log.dirs={home}/data,{home}/other"
    broker("format", "--config", config, "--override", two)
    with started(home, "--override", two) as (process, address):
        assert (
            broker("topics", "create", "--bootstrap", address, "--partitions", "2", "t").code == 0
        )
        assert end(process, signal.SIGTERM) == 0
    unreadable = home / "other" / "meta.properties"
    unreadable.rename(home / "kept")
    unreadable.mkdir()
    with started(home, "--override", two) as (process, address):
        described = broker("topics", "describe", "--bootstrap", address).out.splitlines()
        assert "partition: 0  leader: 1" in described[1]
        assert "partition: 1  leader: none" in described[2]
        assert end(process, signal.SIGTERM) == 0
    assert f"{home}/other cannot be read" in (home / "stderr").read_text()


def test_a_port_that_is_taken_is_told(broker: Run, home: Path) -> None:
    config = home / "server.properties"
    broker("format", "--config", config)
    other = f"log.dirs={home}/other"
    broker("format", "--config", config, "--override", other)
    with started(home) as (_, address):
        ran = broker(
            "start",
            "--config",
            config,
            "--override",
            other,
            "--override",
            f"listeners=PLAINTEXT://{address}",
        )
        assert ran.code == 255
        assert f"cannot listen on {address}: Address already in use" in ran.err
