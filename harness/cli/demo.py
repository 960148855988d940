"""harness demo: a broker of our own and a client of somebody else's, for a minute."""

from __future__ import annotations

import click


@click.command()
@click.option("--messages", type=click.IntRange(min=1), default=100_000, show_default=True)
@click.option("--codec", default="lz4", show_default=True, help="Compression of the producer.")
def demo(messages: int, codec: str) -> None:
    """Start a broker, produce and consume with librdkafka, and say what happened."""
    from harness.demo import run_demo

    run_demo(message_count=messages, codec=codec, say=click.echo)
