"""A start that cannot be: the sentence names the file or the host, what is wrong, what to try."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.broker.cli.conftest import Run


def metadata_of_an_older_version(data: Path) -> None:
    (data / "cluster-metadata.json").write_bytes(b'{"format": 2}\n[]\n')


def damaged_snapshot(data: Path) -> None:
    (data / "__cluster_metadata-0").mkdir()
    snapshot = data / "__cluster_metadata-0" / "00000000000000000005-0000000001.checkpoint"
    snapshot.write_bytes(b"this is no batch of records, but it is long enough for its header" * 2)


def empty_identity(data: Path) -> None:
    (data / "meta.properties").write_bytes(b"")


def damaged_identity(data: Path) -> None:
    text = (data / "meta.properties").read_text()
    (data / "meta.properties").write_text(text.replace("node.id=1", "node.id=q"))


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (metadata_of_an_older_version, "{data}: cluster-metadata.json is from a version that"),
        (
            damaged_snapshot,
            "{data}: __cluster_metadata-0/00000000000000000005-0000000001.checkpoint is damaged",
        ),
        (empty_identity, "{data}/meta.properties is damaged: it has no version; restore it"),
        (damaged_identity, "{data}/meta.properties is damaged: node.id 'q' is no number; restore"),
    ],
)
def test_a_damaged_file_is_named_with_what_to_try(
    broker: Run, home: Path, damage: Callable[[Path], None], expected: str
) -> None:
    broker("format", "--config", home / "server.properties")
    damage(home / "data")
    ran = broker("start", "--config", home / "server.properties")
    assert ran.code == 255
    assert expected.format(data=home / "data") in ran.err
    assert "Error(" not in ran.err


def test_a_file_in_the_place_of_a_log_directory_is_named(broker: Run, home: Path) -> None:
    (home / "data").write_text("")
    for command in ("start", "format"):
        ran = broker(command, "--config", home / "server.properties")
        assert ran.code == 255
        assert f"{home}/data/meta.properties: Not a directory; a directory is needed" in ran.err


@pytest.mark.parametrize("name", ["listeners", "reference.metrics.listener"])
def test_a_listener_on_an_unknown_host_is_named(broker: Run, home: Path, name: str) -> None:
    config = home / "server.properties"
    broker("format", "--config", config)
    value = "nosuch.invalid:9092"
    ran = broker(
        "start",
        "--config",
        config,
        "--override",
        f"{name}=PLAINTEXT://{value}" if name == "listeners" else f"{name}={value}",
    )
    assert ran.code == 255
    assert "cannot listen on nosuch.invalid:9092: " in ran.err
    assert (home / "data" / ".kafka_cleanshutdown").exists()


def test_an_unknown_peer_is_named_with_the_reason(broker: Run) -> None:
    ran = broker("topics", "describe", "--bootstrap", "nosuch.invalid:9092")
    assert ran.code == 255
    assert ran.err.startswith("cannot connect to nosuch.invalid:9092: ")
    assert "Unknown error" not in ran.err
