"""harness systems: what can be put on trial, and what of it has to be fetched first."""

from __future__ import annotations

from collections.abc import Sequence

import click

from harness.cli.plan_options import PLUGIN


@click.group()
def systems() -> None:
    """List and install systems: brokers that can be tested."""


@systems.command("ls")
@PLUGIN
def ls(plugin: Sequence[str]) -> int:
    """List the systems, and whether each is installed."""
    from harness.plugins import load_plugins
    from harness.registry import REGISTRY, found

    load_plugins(plugin)
    width = max(map(len, REGISTRY.systems))
    for name, kind in REGISTRY.systems.items():
        state = "; ready" if kind.readiness is None else f" {found(kind.readiness)()}"
        click.echo(f"{name:{width}}  {kind.about}{state}")
    return 0


@systems.command("install")
@click.argument("name", type=click.Choice(("kafka",)))
def install(name: str) -> int:
    """Download a system into the user's cache, unless it is there."""
    import shutil

    from harness.cluster.kafka_jars import KAFKA_VERSION, fetch_jars

    jars = fetch_jars()
    click.echo(f"Apache Kafka {KAFKA_VERSION} is in {jars}")
    if shutil.which("java") is None:
        click.echo(
            "java is not installed, and Kafka needs it; try: apt-get install default-jre-headless"
        )
    return 0
