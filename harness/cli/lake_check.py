"""harness lake check: judge the runs of the lake by the present checkers."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import click

from harness.cli.lake import lake_options, option_of_lake
from harness.cli.lake_session import open_lake

if TYPE_CHECKING:
    from pipeline.check.job import Checked

CODES = {"invalid": 1, "unknown": 2, "valid": 0}
"""Exit codes by verdict, the worst first."""
_SHOWN = 20


@click.command("check")
@click.argument("runs", nargs=-1)
@lake_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def lake_check(
    runs: tuple[str, ...], lake_root: str, master: str, memory: str, as_json: bool
) -> int:
    """Judge RUNS of the lake, or all of them, by the present checkers.

    RUNS are identities as `harness lake sql "SELECT run FROM runs"` prints them. Verdicts,
    findings and doubts in the lake are replaced; the stored runs stay as they are. Exit code: the
    worst of the verdicts, 0 valid, 1 invalid, 2 unknown.
    """
    from pipeline.check.job import judge_runs

    with open_lake(lake_root, master, memory, is_silent=as_json) as (lake, say):
        lake.require()
        checked = judge_runs(lake, runs or None, say=say)
    refuse_unknown(runs, checked)
    tell_checked(checked, lake_root, as_json=as_json)
    return exit_code_of_checked(checked)


def refuse_unknown(runs: tuple[str, ...], checked: Checked) -> None:
    strange = sorted(set(runs) - set(checked.verdicts))
    if strange:
        raise click.UsageError(f"the lake has no run {strange[0]}; its table runs lists them")


def tell_checked(checked: Checked, lake_root: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"verdicts": checked.verdicts, "judged-whole": checked.uncut}))
        return
    wanting = [(run, verdict) for run, verdict in checked.verdicts.items() if verdict != "valid"]
    wanting.sort(key=lambda each: (list(CODES).index(each[1]), each[0]))
    for run, verdict in wanting[:_SHOWN]:
        click.echo(f"{verdict:8} {run}")
    if len(wanting) > _SHOWN:
        click.echo(f"         and {len(wanting) - _SHOWN:,} more")
    for run, why in checked.uncut.items():
        click.echo(f"{run} was judged by one task, because {why}")
    counts = Counter(checked.verdicts.values())
    click.echo(", ".join(f"{counts[verdict]:,} {verdict}" for verdict in reversed(CODES)))
    click.echo(f"next: harness lake tables{option_of_lake(lake_root)}")


def exit_code_of_checked(checked: Checked) -> int:
    return next((code for name, code in CODES.items() if name in checked.verdicts.values()), 2)
