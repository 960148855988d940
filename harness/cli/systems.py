"""harness systems: what can be put on trial, and what of it has to be fetched first."""

from __future__ import annotations

import click


@click.group()
def systems() -> None:
    """List and install systems: brokers that can be tested."""


@systems.command("ls")
def ls() -> int:
    """List the systems, and whether each is installed."""
    from harness.cluster.kafka_jars import KAFKA_VERSION, is_fetched

    click.echo("reference  the broker of this project; ready")
    state = "ready" if is_fetched() else "not installed; try: harness systems install kafka"
    click.echo(f"kafka      Apache Kafka {KAFKA_VERSION}; {state}")
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
