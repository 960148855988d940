"""harness lake live: follow runs that are under way, from the topic that they publish to."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from harness.cli.lake import lake_options, spark_log

if TYPE_CHECKING:
    from rich.table import Table

    from pipeline.live.status import Status


@click.command("live")
@click.option("--topic", required=True, metavar="NAME", help="The topic of --history-topic.")
@click.option("--bootstrap", required=True, metavar="HOST:PORT,...", help="Its cluster.")
@lake_options
@click.option("--checkpoint", metavar="DIR", show_default="live in the lake",
              help="Where the job remembers what it has read; it goes on from there.")  # fmt: skip
@click.option("--at-once", type=click.IntRange(1), default=200_000, show_default=True,
              help="Most records of one micro-batch.")  # fmt: skip
@click.option("--once", is_flag=True, help="Take what is there, print it, and end.")
@click.option("--json", "as_json", is_flag=True,
              help="Print one JSON object per run after each micro-batch.")  # fmt: skip
def lake_live(
    topic: str,
    bootstrap: str,
    lake_root: str,
    master: str,
    memory: str,
    checkpoint: str | None,
    at_once: int,
    once: bool,
    as_json: bool,
) -> int:
    """Follow runs under way: rows, unread records, lag, faults in force, anomalies that stand.

    Runs publish with `harness test --history-topic TOPIC@HOST:PORT`. The job may be stopped or
    killed at any time: started again, it goes on where it was, with nothing counted twice. Rows
    that are missing in the topic are counted; the anomalies of such a run are unknown. Exit code:
    0, whatever the runs' verdicts are.
    """
    from pipeline.connector import connector_jars
    from pipeline.live.follow import Source, follow
    from pipeline.session import SparkSettings, spark_session

    where = checkpoint or f"{lake_root.rstrip('/')}/live"
    source = Source(topic=topic, bootstrap=bootstrap, checkpoint=where, at_once=at_once)
    settings = SparkSettings(
        master=master,
        driver_memory=memory,
        log=spark_log(lake_root),
        jars=connector_jars(),
        # A micro-batch is small: two hundred tasks, the default, take longer than their work.
        more={"spark.sql.shuffle.partitions": "8"},
    )
    show = _tell_json if as_json else _tell_table(is_live=sys.stdout.isatty() and not once)
    with spark_session(settings) as spark:
        follow(spark, source, show, once=once).awaitTermination()
    return 0


def _tell_json(runs: Sequence[Status]) -> None:
    for each in runs:
        click.echo(json.dumps(asdict(each)))


def _tell_table(*, is_live: bool) -> Callable[[Sequence[Status]], None]:
    from rich.console import Console

    console = Console()

    def show(runs: Sequence[Status]) -> None:
        if is_live:
            console.clear()
        console.print(_table(runs))

    return show


def _table(runs: Sequence[Status]) -> Table:
    from rich.table import Table

    table = Table("run", "state", "rows", "missing", "unread", "most lag", "faults", "anomalies")
    for each in runs:
        most = max(each.lag.items(), key=lambda item: item[1], default=None)
        table.add_row(
            each.run,
            each.verdict or f"{each.time_s:.0f} s",
            f"{each.rows:,}",
            f"{each.missing:,}",
            f"{each.unread:,}",
            "" if most is None else f"{most[0]}: {most[1]:,}",
            ", ".join(each.faults),
            _anomalies(each),
        )
    return table


def _anomalies(status: Status) -> str:
    if status.anomalies is None:
        return f"unknown: {status.why}"
    first = next(iter(status.anomalies), "none")
    more = len(status.anomalies) - 1
    return f"{first} (and {more} more)" if more > 0 else first
