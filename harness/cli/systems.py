"""harness systems: what can be put on trial, and what of it has to be fetched first."""

from __future__ import annotations

import click


@click.group()
def systems() -> None:
    """What can be put on trial."""


@systems.command("ls")
def ls() -> int:
    """Say which systems are ready."""
    from harness.cluster.kafka_jars import KAFKA_VERSION, is_fetched

    click.echo("reference  the broker of this project; ready")
    state = "ready" if is_fetched() else "not installed; try: harness systems install kafka"
    click.echo(f"kafka      Apache Kafka {KAFKA_VERSION}; {state}")
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
