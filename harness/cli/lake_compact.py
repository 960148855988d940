"""harness lake compact: few large files instead of many small ones."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from harness.cli.lake import lake_options, spark_log


@click.command("compact")
@lake_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def lake_compact(lake_root: str, master: str, memory: str, as_json: bool) -> int:
    """Rewrite small batches of the lake as one, and remove files that do not belong to it any more.

    An ingest does the same when sixteen small batches have come together. A query that is reading
    the lake while this command removes files fails, and works when it is repeated.
    """
    from pipeline.compaction import compact
    from pipeline.failures import explained
    from pipeline.lake import Lake
    from pipeline.session import SparkSettings, spark_session

    settings = SparkSettings(master=master, driver_memory=memory, log=spark_log(lake_root))
    with spark_session(settings) as spark, explained(lake_root):
        lake = Lake(spark, lake_root)
        lake.require()
        done = compact(lake, lambda step: click.echo(f"{step} ...", err=True))
    if as_json:
        click.echo(json.dumps(asdict(done)))
    elif done.batches:
        megabytes = (f"{size / 1e6:,.1f} MB" for size in (done.bytes_before, done.bytes_after))
        click.echo(f"{done.batches:,} batches became one: {' -> '.join(megabytes)}")
    else:
        click.echo("nothing to compact")
    return 0
