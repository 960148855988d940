"""harness analyze, replay, ls: what can be done with runs that are over."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

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
_PLUGIN = click.option(
    "--plugin", multiple=True, metavar="FILE|MODULE", help="Plugin of the run; repeatable."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("analyze", context_settings={"ignore_unknown_options": True})
@click.argument("run", default="latest")
@STORE_OPTION
@click.option("--contract", type=click.Choice(("safe", "configured")),
              help="Contract to judge by, instead of the run's own.")  # fmt: skip
@_PLUGIN
@_JSON
def analyze(
    run: str, store_root: Path, contract: str | None, plugin: tuple[str, ...], as_json: bool
) -> int:
    """Judge a stored run again, by the present checkers.

    RUN is a directory, latest, or -1, -2 as in Jepsen.
    """
    from harness.plugins import load_plugins
    from harness.run.judging import judge_again
    from harness.run.plan import Plan
    from harness.store.store import Store

    load_plugins(plugin)
    directory = Store(store_root).find(run)
    plan = Plan.load(directory / "plan.json")
    if contract is not None:
        plan = replace(plan, contract=contract)
    outcome = judge_again(directory, plan)
    tell(outcome, as_json=as_json)
    return outcome.exit_code


@click.command("replay", context_settings={"ignore_unknown_options": True})
@click.argument("run", default="latest")
@STORE_OPTION
@_PLUGIN
@_JSON
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
    plan = replace(Plan.load(directory / "plan.json"), schedule=str(schedule))
    outcome = carry_out(plan, store_root, is_silent=as_json, has_color=True)
    tell(outcome, as_json=as_json)
    return outcome.exit_code


@click.command("ls")
@STORE_OPTION
@_JSON
def ls(store_root: Path, as_json: bool) -> int:
    """List the stored runs, the newest last."""
    from harness.history.json_text import readable
    from harness.store.store import Store

    rows = [_row(directory) for directory in Store(store_root).runs()]
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
