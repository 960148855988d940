"""harness replay, ls: what can be done with runs that are over."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from harness.cli.pruning import prune, prune_options, wants_pruning
from harness.cli.testing import STORE, carry_out, tell
from harness.errors import EnvironmentFailure

STORE_OPTION = click.option(
    "--store",
    "store_root",
    type=click.Path(path_type=Path, file_okay=False),
    default=STORE,
    show_default=True,
    help="Directory that keeps the runs.",
)
PLUGIN = click.option(
    "--plugin", multiple=True, metavar="FILE|MODULE", help="Plugin of the run; repeatable."
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("replay", context_settings={"ignore_unknown_options": True})
@click.argument("run", default="latest")
@STORE_OPTION
@PLUGIN
@JSON
def replay(run: str, store_root: Path, plugin: tuple[str, ...], as_json: bool) -> int:
    """Repeat a stored run: the same operations, and the same faults at the same times.

    RUN is a directory, latest, or -1, -2 as in Jepsen. A seed fixes choices, not the timing of
    real nodes; only in the simulator does the same schedule give the same run. Faults that damage
    disks keep their budget: a fault that exceeds it is left out, unless the run had
    --unsafe-faults.
    """
    from harness.plugins import load_plugins
    from harness.run.plan import Plan
    from harness.store.store import Store

    load_plugins(plugin)
    directory = Store(store_root).find(run)
    schedule = directory / "schedule.json"
    if not schedule.is_file():
        raise EnvironmentFailure(
            f"{directory} has no schedule.json: the run ended before its faults; try another run"
        )
    plan = replace(Plan.load(directory / "plan.json"), schedule=str(schedule), history_topic=None)
    outcome = carry_out(plan, store_root, is_silent=as_json, has_color=True)
    tell(outcome, as_json=as_json)
    return outcome.exit_code


@click.command("ls")
@STORE_OPTION
@prune_options
@JSON
@click.pass_context
def ls(context: click.Context, /, store_root: Path, as_json: bool, **pruning: Any) -> int:
    """List the stored runs, the newest last.

    With --prune, remove old ones: all but the newest of --keep, as far as they are --older-than
    that. It shows what it would remove and asks; without a terminal it removes nothing unless --yes
    says so. Runs that are under way stay.
    """
    from harness.history.json_text import readable
    from harness.store.store import Store

    store = Store(store_root)
    if wants_pruning(context, pruning):
        return prune(store, as_json=as_json, **pruning)
    rows = [_row(directory) for directory in store.runs()]
    if as_json:
        click.echo(json.dumps(rows))
        return 0
    for row in rows:
        said = row["damage"] or row["anomalies"]
        click.echo(readable(f"{row['verdict']:9}  {row['time']}  {row['name']}  {said}".rstrip()))
    if not rows:
        click.echo(f"no runs in {store_root}; make one with: harness test --nemesis partition")
    return 0


def _row(directory: Path) -> dict[str, str]:
    """One run that cannot be read must not hide the others."""
    from harness.store.inside import DamagedError, MissingError
    from harness.store.store import is_under_way
    from harness.store.stored_run import read_plan, read_results

    verdict, anomalies, damage = "no end", "", ""
    try:
        read_plan(directory)
        results = read_results(directory)
    except MissingError:
        verdict = "under way" if is_under_way(directory) else "no end"
    except DamagedError as damaged:
        verdict, damage = "corrupt", f"{damaged.path.name}: {damaged.why}"
    else:
        verdict = results.validity.value
        anomalies = ", ".join(sorted(results.counts()))
    return {
        "verdict": verdict,
        "time": directory.name,
        "name": directory.parent.name,
        "anomalies": anomalies,
        "damage": damage,
        "directory": str(directory),
    }
