"""harness compare: two stored runs side by side."""

from __future__ import annotations

import json
from pathlib import Path

import click

from harness.cli.stored import STORE_OPTION


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
    shown = [row for row in rows if is_all or row.is_different or row.name == "verdict"]
    for row in shown:
        click.echo(f"{row.name}\n    {row.values[0]}\n    {row.values[1]}")
    return 0
