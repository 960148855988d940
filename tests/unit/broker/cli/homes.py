"""Homes of nodes that are to form a cluster on this machine."""

from __future__ import annotations

from pathlib import Path

from tests.unit.broker.cli.conftest import Run


def make_home(folder: Path, node_id: int, port: int, roles: str, voters: dict[int, int]) -> Path:
    folder.mkdir()
    is_broker = "broker" in roles
    listeners = ["CONTROLLER://127.0.0.1:" + str(port)] if "controller" in roles else []
    listeners += ["PLAINTEXT://127.0.0.1:0"] if is_broker else []
    named = ",".join(f"{each}@127.0.0.1:{at}" for each, at in voters.items())
    (folder / "server.properties").write_text(
        f"node.id={node_id}\n"
        f"process.roles={roles}\n"
        f"listeners={','.join(listeners)}\n"
        "controller.listener.names=CONTROLLER\n"
        f"controller.quorum.voters={named}\n"
        f"log.dirs={folder}/data\n"
    )
    return folder


def formatted(broker: Run, home: Path, cluster_id: str) -> Path:
    ran = broker("format", "--config", home / "server.properties", "--cluster-id", cluster_id)
    assert ran.code == 0, ran.err
    return home
