"""harness lake ingest: stored runs and histories become rows of the lake."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checkers.models import MODELS
from harness.cli.lake import lake_options, option_of_lake
from harness.cli.lake_session import open_lake
from harness.cli.stored import STORE_OPTION

if TYPE_CHECKING:
    from pipeline.ingest import Ingested

_SHOWN = 10


@click.command("ingest")
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path))
@STORE_OPTION
@click.option(
    "--model",
    type=click.Choice(MODELS),
    default="kafka",
    show_default=True,
    help="Model that a history without a plan is to be judged by.",
)
@lake_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def lake_ingest(
    sources: tuple[Path, ...],
    store_root: Path,
    model: str,
    lake_root: str,
    master: str,
    memory: str,
    as_json: bool,
) -> int:
    """Take runs and histories into the lake; without SOURCES all runs of the store.

    SOURCES are runs, stores, history.parquet directories, and files of JSON Lines or EDN (Jepsen's,
    too). A run that the lake has already is left alone, one that was judged again replaces its
    rows, and one that is under way is left for later.
    """
    from pipeline.ingest import ingest
    from pipeline.reading.listing import named, stored

    paths = named(sources) if sources else stored(store_root)
    with open_lake(lake_root, master, memory, is_silent=as_json) as (lake, say):
        done = ingest(lake, paths, model=model, say=say)
    if as_json:
        click.echo(json.dumps(asdict(done), default=str))
    else:
        _tell(done, lake_root)
    return 0


def _tell(done: Ingested, lake_root: str) -> None:
    for what, runs in (("taken", done.taken), ("replaced", done.replaced)):
        for run in runs[:_SHOWN]:
            click.echo(f"{what:9} {run}")
        if len(runs) > _SHOWN:
            click.echo(f"{what:9} {len(runs) - _SHOWN:,} more")
    for path in done.under_way:
        click.echo(f"under way {path}")
    for file, reason in list(done.refused.items())[:_SHOWN]:
        click.echo(f"set aside {file}: {reason}")
    parts = {
        "taken": len(done.taken),
        "replaced": len(done.replaced),
        "there already": len(done.skipped),
        "under way": len(done.under_way),
        "set aside": len(done.refused),
    }
    click.echo(", ".join(f"{count:,} {what}" for what, count in parts.items()))
    click.echo(f"next: harness lake check{option_of_lake(lake_root)}")
