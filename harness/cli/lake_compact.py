"""harness lake compact: few large files instead of many small ones."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from harness.cli.lake import lake_options
from harness.cli.lake_session import open_lake


@click.command("compact")
@lake_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def lake_compact(lake_root: str, master: str, memory: str, as_json: bool) -> int:
    """Rewrite small batches of the lake as one, and remove files that do not belong to it any more.

    An ingest does the same when sixteen small batches have come together. A query that is reading
    the lake while this command removes files fails, and works when it is repeated.
    """
    from pipeline.compaction import compact

    with open_lake(lake_root, master, memory, is_silent=as_json) as (lake, say):
        lake.require()
        done = compact(lake, say)
    if as_json:
        click.echo(json.dumps(asdict(done)))
    elif done.batches:
        megabytes = (f"{size / 1e6:,.1f} MB" for size in (done.bytes_before, done.bytes_after))
        click.echo(f"{done.batches:,} batches became one: {' -> '.join(megabytes)}")
    else:
        click.echo("nothing to compact")
    return 0
