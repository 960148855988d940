"""harness suite: a matrix of runs, told as a table, with the worst of their exit codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.client_options import refuse_clients
from harness.cli.exits import exit_code_of, with_notes
from harness.cli.parameters import OutputFile
from harness.cli.plan_options import NeverStrikesError, plan_of, plan_options
from harness.cli.testing import STORE, carry_out, make_store, tell_github, tell_states
from harness.errors import EnvironmentFailure

if TYPE_CHECKING:
    from harness.run.plan import Plan
    from harness.store.results import RunResults


@click.command("suite")
@plan_options
@click.option("--workloads", "workload_names", default="queue,append,register", show_default=True,
              metavar="A,B", help="Workloads to run, instead of --workload.")  # fmt: skip
@click.option("--nemeses", "nemesis_names", default="partition kill pause", show_default=True,
              metavar="'A B,C'",
              help="Nemeses to run each workload with, instead of --nemesis.")  # fmt: skip
@click.option("--test-count", type=click.IntRange(1), default=1, show_default=True,
              help="Runs of each pair, each with its own seed.")  # fmt: skip
@click.option("--store", "store_root", type=click.Path(path_type=Path, file_okay=False),
              default=STORE, show_default=True, help="Directory that keeps the runs.")  # fmt: skip
@click.option("--junit", type=OutputFile(), metavar="FILE",
              help="Write a JUnit suite for each run, with a case for each checker.")  # fmt: skip
def suite(
    workload_names: str,
    nemesis_names: str,
    test_count: int,
    store_root: Path,
    junit: Path | None,
    **options: Any,
) -> int:
    """Run every workload with every nemesis, and exit with the worst exit code.

    A run that crashes does not end the others.
    """
    from harness.decisions import Decisions
    from harness.run.judging import summary
    from harness.run.outcome import worst_exit
    from reports import github
    from reports.junit import no_end, write_junit

    plans = _plans(workload_names.split(","), nemesis_names.split(), options)
    refuse_clients(plans[0])
    make_store(store_root)
    codes: list[int] = []
    told: list[tuple[str, RunResults]] = []
    for plan, number in product(plans, range(test_count)):
        seeds = Decisions(plans[0].seed).of("suite", f"{plan.workload} {plan.nemesis}")
        plan = plan.with_seed(int(seeds.at(number) * 2**32))
        pair = f"{plan.workload} × {plan.nemesis}"  # noqa: RUF001
        try:
            outcome = carry_out(plan, store_root, is_silent=True, has_color=False)
        except EnvironmentFailure as failure:
            why = with_notes(failure)
            click.echo(f"not finished: {pair}: {why}")
            tell_github([github.no_end(pair, why)], [f"not finished: {pair}: {why}"], None)
            codes.append(exit_code_of(failure))
            told.append((plan.name, no_end(plan.command(), why)))
            continue
        click.echo(f"{pair}: {outcome.sentence()}")
        click.echo(f"run it again with: {outcome.command}")
        annotations = github.workflow_commands(outcome.results(), of=pair)
        tell_github(annotations, summary(outcome), outcome.validity)
        codes.append(outcome.exit_code)
        told.append((plan.name, outcome.results()))
    if junit is not None:
        write_junit(told, junit)
    tell_states([results for _, results in told])
    return worst_exit(codes)


def _plans(
    workloads: Sequence[str], nemeses: Sequence[str], options: Mapping[str, Any]
) -> list[Plan]:
    """Of each pair that can strike; a nemesis that no workload has a use for is refused."""
    plans: list[Plan] = []
    refused: dict[str, list[NeverStrikesError]] = {nemesis: [] for nemesis in nemeses}
    for workload, nemesis in product(workloads, nemeses):
        try:
            plans.append(plan_of({**options, "workload": workload, "nemesis": nemesis}))
        except NeverStrikesError as refusal:
            refused[nemesis].append(refusal)
            if len(refused[nemesis]) == len(workloads):
                raise
            click.echo(f"left out: {workload} × {nemesis}: {refusal.message}")  # noqa: RUF001
    return plans
