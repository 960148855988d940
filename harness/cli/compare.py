"""harness compare: two stored runs side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.stored import STORE_OPTION

if TYPE_CHECKING:
    from reports.comparison import Row

_WIDEST = 50


@click.command("compare", context_settings={"ignore_unknown_options": True})
@click.argument("one")
@click.argument("other")
@STORE_OPTION
@click.option("--all", "is_all", is_flag=True, help="Also print what is the same in both.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(one: str, other: str, store_root: Path, is_all: bool, as_json: bool) -> int:
    """Compare two stored runs: anomalies, availability, recovery, latency and plan.

    ONE and OTHER are directories, latest, or -1, -2 as in Jepsen.
    """
    from harness.store.store import Store
    from reports.comparison import compare_runs

    store = Store(store_root)
    rows = compare_runs(store.find(one), store.find(other))
    if as_json:
        click.echo(json.dumps({row.name: list(row.values) for row in rows}))
        return 0
    first, second = rows[0].values
    click.echo(f"{first}, then {second}")
    shown = [row for row in rows[1:] if is_all or row.is_different or row.label == "verdict"]
    for line in _aligned([_cells(row) for row in shown]):
        click.echo(line)
    return 0


def _cells(row: Row) -> tuple[str, str, str, str]:
    from reports.comparison import Change

    is_said = row.change in (Change.BETTER, Change.WORSE)
    said = row.change.value if is_said else ""
    delta = " ".join(part for part in (row.delta, said) if part)
    return row.name, row.values[0], row.values[1], delta


def _aligned(cells: Sequence[tuple[str, ...]]) -> list[str]:
    """One line each, in columns; a long text, such as what was found, widens none."""
    widths = [
        max((len(each[at]) for each in cells if len(each[at]) <= _WIDEST), default=0)
        for at in range(4)
    ]
    return [
        "  ".join(text.ljust(width) for text, width in zip(each, widths, strict=True)).rstrip()
        for each in cells
    ]
