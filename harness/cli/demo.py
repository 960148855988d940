"""harness demo: a broker of our own and a client of somebody else's, for a minute."""

from __future__ import annotations

import click

from harness.errors import EnvironmentFailure


@click.command()
@click.option("--messages", type=click.IntRange(min=1), default=100_000, show_default=True)
@click.option(
    "--codec",
    type=click.Choice(("none", "gzip", "snappy", "lz4", "zstd")),
    default="lz4",
    show_default=True,
    help="Compression of the producer.",
)
def demo(messages: int, codec: str) -> None:
    """Start a broker, produce and consume with librdkafka, and say what happened."""
    from harness.demo import DemoError, run_demo

    try:
        run_demo(message_count=messages, codec=codec, say=click.echo)
    except (DemoError, OSError) as error:
        raise EnvironmentFailure(f"the demo failed: {error}") from error
