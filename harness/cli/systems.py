"""harness systems: what can be put on trial, and what of it has to be fetched first."""

from __future__ import annotations

from collections.abc import Sequence

import click

from harness.cli.plan_options import PLUGIN


@click.group()
def systems() -> None:
    """What can be put on trial."""


@systems.command("ls")
@PLUGIN
def ls(plugin: Sequence[str]) -> int:
    """Say which systems are ready."""
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
    """Fetch a system into the user's cache; one that is there is left alone."""
    import shutil

    from harness.cluster.kafka_jars import KAFKA_VERSION, fetch_jars

    jars = fetch_jars()
    click.echo(f"Apache Kafka {KAFKA_VERSION} is in {jars}")
    if shutil.which("java") is None:
        click.echo(
            "there is no java here, which it takes to run; apt-get install default-jre-headless"
        )
    return 0
