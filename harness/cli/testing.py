"""harness test: run one workload under faults, judge it, say how to have it again."""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.client_options import refuse_clients
from harness.cli.exits import exit_code_of, with_notes
from harness.cli.parameters import OutputFile
from harness.cli.plan_options import plan_of, plan_options
from harness.errors import EXIT_INTERRUPTED, EnvironmentFailure

if TYPE_CHECKING:
    from checkers.verdict import Validity
    from harness.run.outcome import Outcome
    from harness.run.plan import Plan
    from harness.store.results import RunResults

STORE = Path("store")


@click.command("test")
@plan_options
@click.option("--test-count", type=click.IntRange(1), default=1, show_default=True,
              help="Number of runs, each with its own seed.")  # fmt: skip
@click.option("--store", "store_root", type=click.Path(path_type=Path, file_okay=False),
              default=STORE, show_default=True, help="Directory that keeps the runs.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print results.json and nothing else.")
@click.option("--quiet", is_flag=True, help="Print only the verdict.")
@click.option(
    "--no-color", is_flag=True, help="Print without colors; the variable NO_COLOR does the same."
)
@click.option("--junit", type=OutputFile(), metavar="FILE",
              help="Write one JUnit case for each checker.")  # fmt: skip
def run_test(
    test_count: int,
    store_root: Path,
    as_json: bool,
    quiet: bool,
    no_color: bool,
    junit: Path | None,
    **options: Any,
) -> int:
    """Break a cluster under load, and decide from what clients saw whether it kept its promises.

    Exit code: 0 valid, 1 invalid, 2 unknown, 254 wrong usage, 255 crash, 130 interrupted.
    """
    from harness.decisions import Decisions
    from harness.run.outcome import worst_exit

    first = plan_of(options)
    refuse_clients(first)
    make_store(store_root)
    seeds = Decisions(first.seed).random("test", "count")
    codes, told = [], []
    for number in range(test_count):
        # The first run has the seed that was typed, so that one alone is had again by it.
        plan = first if number == 0 else first.with_seed(seeds.getrandbits(32))
        try:
            outcome = carry_out(
                plan, store_root, is_silent=as_json or quiet, has_color=not no_color
            )
        except EnvironmentFailure as failure:
            if test_count == 1:
                raise
            # What the others have found counts, too.
            click.echo(f"harness: {with_notes(failure)}", err=True)
            codes.append(exit_code_of(failure))
            continue
        tell(outcome, as_json=as_json)
        codes.append(outcome.exit_code)
        told.append((plan.name, outcome.results()))
        if junit is not None:
            from reports.junit import write_junit

            # After each run, so that one that never ends does not take the others with it.
            write_junit(told, junit)
    if test_count > 1 and not as_json:
        tell_states([results for _, results in told])
    return worst_exit(codes)


def tell_states(runs: Sequence[RunResults]) -> None:
    """What several runs have reached together: states of the protocol, added up."""
    from reports.protocol_states import total

    for line in total(run.figures.get("states", {}) for run in runs):
        click.echo(line)


def make_store(root: Path) -> None:
    """Makes the directory, if need be; UsageError where no run can have one of its own."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        Path(tempfile.mkdtemp(prefix=".", dir=root)).rmdir()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return  # the machine's trouble, not the option's: the store will say so
        raise click.BadParameter(
            f"{root}: {error.strerror}; try a directory that you may write to",
            param_hint="--store",
        ) from None


def carry_out(plan: Plan, store_root: Path, *, is_silent: bool, has_color: bool) -> Outcome:
    if plan.on == "netns" and os.geteuid() != 0:
        from harness.cluster.netns.rootless import become_root

        become_root(["-m", "harness", *sys.argv[1:]])
    from harness.run.run import execute
    from harness.run.watching import watcher_of
    from harness.store.store import Store

    title = f"{plan.workload} × {plan.nemesis}    seed {plan.seed}"  # noqa: RUF001
    is_colored = has_color and "NO_COLOR" not in os.environ
    watcher = watcher_of(title, is_silent=is_silent, has_color=is_colored)
    again = f"run it again with: {plan.command()}"
    try:
        return execute(plan, Store(store_root), watcher)
    except KeyboardInterrupt as interrupt:
        cause = "" if interrupt.__cause__ is None else f", and then: {interrupt.__cause__}"
        click.echo(f"interrupted{cause}\n{again}", err=True)
        # Click would print an empty line behind the last one.
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None
    except Exception as failure:
        failure.add_note(again)
        raise


def tell(outcome: Outcome, *, as_json: bool) -> None:
    from harness.run.judging import summary
    from harness.store.results import to_json
    from reports.github import workflow_commands

    if as_json:
        click.echo(json.dumps(to_json(outcome.results())))
        return
    lines = summary(outcome)
    for line in lines:
        click.echo(line)
    tell_github(workflow_commands(outcome.results()), lines, outcome.validity)


def tell_github(
    annotations: Sequence[str], lines: Sequence[str], validity: Validity | None
) -> None:
    """Print annotations and write the step summary under GitHub Actions; nothing elsewhere.

    `validity` is None for a run that could not be made.
    """
    from reports.github import write_step_summary

    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    for line in annotations:
        click.echo(line)
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        write_step_summary(lines, validity, Path(path))
