"""harness lake sql: one query of Spark SQL over the tables and figures of a lake."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from harness.cli.lake import lake_options
from harness.cli.lake_session import open_lake

_ROWS_SHOWN = 1000


@click.command("sql")
@click.argument("query")
@lake_options
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=_ROWS_SHOWN,
    show_default=True,
    help="Most rows to print.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each row.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
def lake_sql(
    query: str,
    lake_root: str,
    master: str,
    memory: str,
    limit: int,
    as_json: bool,
    as_csv: bool,
) -> int:
    """Ask QUERY, in Spark's SQL, of the tables and figures of the lake.

    Every table and every figure is a view of its name; SHOW VIEWS lists them, DESCRIBE NAME lists
    the columns. The figures are those that the last `harness lake tables` computed.
    """
    from pipeline.figures.store import FigureStore
    from pipeline.sql import ask, require_reading

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other; choose one of them")
    require_reading(query)
    with open_lake(lake_root, master, memory) as (lake, say):
        lake.require()
        figures = FigureStore(lake)
        lake.views()
        figures.views()
        say("asking")
        names, rows = ask(lake.spark, query, limit + 1)
        is_old = figures.is_old
    _print(names, rows[:limit], as_json=as_json, as_csv=as_csv)
    if len(rows) > limit:
        click.echo(f"only the first {limit:,} rows; --limit shows more", err=True)
    if is_old:
        click.echo("the lake has changed since harness lake tables computed its figures", err=True)
    return 0


def _print(
    names: Sequence[str], rows: Sequence[Sequence[Any]], *, as_json: bool, as_csv: bool
) -> None:
    from harness.cli.rows import aligned

    if as_json:
        for row in rows:
            click.echo(json.dumps(dict(zip(names, row, strict=True)), default=str))
    elif as_csv:
        out = csv.writer(sys.stdout)
        out.writerow(names)
        out.writerows(rows)
    else:
        for line in aligned(names, rows):
            click.echo(line)
        click.echo(f"{len(rows):,} row{'' if len(rows) == 1 else 's'}", err=True)
