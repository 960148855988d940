"""--on running: what its options must be, and which faults need hosts that are out of reach."""

from __future__ import annotations

from typing import Any

import click

RUNNING = "running"
PORT_MAX = 65_535


def decide_running(chosen: dict[str, Any]) -> None:
    """As many nodes as the cluster has brokers. UsageError for what does not fit together."""
    bootstrap = chosen["bootstrap_servers"]
    if chosen["on"] != RUNNING:
        if bootstrap is not None:
            raise click.UsageError("--bootstrap-servers is for --on running; leave it out")
        if chosen["system"] == RUNNING:
            raise click.UsageError("--system running is for --on running; leave it out")
        return
    if bootstrap is None:
        raise click.UsageError("--on running needs --bootstrap-servers HOST:PORT")
    for each in bootstrap.split(","):
        _refuse_address(each.strip())
    if chosen["broker_config"]:
        raise click.UsageError(
            "--broker-config is for brokers that the harness starts, and these already "
            "run; leave it out"
        )
    if chosen["is_unsafe"]:
        raise click.UsageError(
            "--unsafe configures brokers, and these already run; try --acks 1 --disable-idempotence"
        )
    if chosen["system"] not in ("reference", RUNNING):
        raise click.UsageError(
            f"--system {chosen['system']} is started by the harness, and these brokers "
            "already run; leave it out"
        )
    from harness.cluster.kafka_questions import brokers_at

    chosen["system"] = RUNNING
    chosen["nodes"] = len(brokers_at(bootstrap))


def _refuse_address(said: str) -> None:
    """UsageError for an address that librdkafka would only call a broker that does not answer."""
    host, _, port = said.rpartition(":")
    is_port = port.isascii() and port.isdigit() and 0 < int(port[:6]) <= PORT_MAX
    if not host.strip("[]") or not is_port:
        raise click.UsageError(f"--bootstrap-servers: {said!r} is not HOST:PORT; try host:9092")


def refuse_hosts(chosen: dict[str, Any]) -> None:
    """UsageError for a nemesis that needs the hosts of a running cluster."""
    if chosen["on"] != RUNNING:
        return
    from harness.cluster import Cluster
    from harness.cluster.running import RunningCluster, RunningPlace
    from nemesis import ALL, parse, unavailable

    if chosen["nemesis"] == ALL:
        return
    place = RunningPlace(chosen["bootstrap_servers"])
    cluster = Cluster(RunningCluster(place), count=chosen["nodes"])
    for name, reason in unavailable(parse(chosen["nemesis"]), cluster).items():
        raise click.UsageError(f"nemesis {name} is unavailable with --on running: {reason}")
