"""harness lake tables: the figures of all runs, as tables of the lake and on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from harness.cli.lake import lake_options, option_of_lake
from harness.cli.lake_session import open_lake

if TYPE_CHECKING:
    from pipeline.figures.figure import Figure
    from pipeline.figures.store import FigureStore

_ROWS_SHOWN = 12


@click.command("tables")
@lake_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def lake_tables(lake_root: str, master: str, memory: str, as_json: bool) -> int:
    """Compute the figures of all runs: anomalies, availability, recovery, latency, lag, and more.

    They become tables of the lake, below figures/, which replace those computed before.
    """
    from pipeline.figures.store import FigureStore

    with open_lake(lake_root, master, memory, is_silent=as_json) as (lake, say):
        lake.require()
        store = FigureStore(lake)
        names = []
        for figure in store.rewrite():
            say(figure.name)
            names.append(figure.name)
        say("reading what to show")
        shown = list(_shown(store))
    if as_json:
        click.echo(json.dumps({figure.name: rows for figure, rows in shown}, default=str))
        return 0
    for figure, rows in shown:
        for line in _lines(figure, rows):
            click.echo(line)
    click.echo(f"{len(names)} tables are in {lake_root}/figures")
    click.echo(f"next: harness lake trends{option_of_lake(lake_root)}")
    return 0


def _shown(store: FigureStore) -> Iterator[tuple[Figure, list[dict[str, Any]]]]:
    from pipeline.figures.figures import FIGURES
    from pipeline.figures.store import rows_of

    for figure in FIGURES.values():
        if figure.is_shown:
            yield figure, rows_of(figure, store.read(figure.name))


def _lines(figure: Figure, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    from harness.cli.rows import aligned

    yield f"{figure.name}: {figure.about}"
    if not rows:
        yield "  none"
    names = [each.name for each in figure.columns]
    table = [[row[name] for name in names] for row in rows[:_ROWS_SHOWN]]
    for line in aligned(names, table) if rows else ():
        yield f"  {line}"
    if len(rows) > _ROWS_SHOWN:
        yield f"  and {len(rows) - _ROWS_SHOWN:,} more rows: harness lake sql 'FROM {figure.name}'"
    yield ""
