"""harness sim: one simulated run, decided by one number or by one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.parameters import DAYS_30_S, INT32_MAX, INT64_MAX, Finite
from harness.errors import EnvironmentFailure

if TYPE_CHECKING:
    from harness.schedule.schedule import Schedule
    from harness.sim.run import Ended
    from harness.sim.sweep import Seeds

EXIT_CODES = {"valid": 0, "invalid": 1, "unknown": 2}
_SHOWN_MAX = 10
_WATCHING = ("all", "cheap", "off")


@click.command("sim")
@click.option(
    "--seed",
    type=click.IntRange(-INT64_MAX, INT64_MAX),
    help="Seed that the whole run is drawn from.",
)
@click.option(
    "--schedule",
    "schedule_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Run this schedule file, with its seed, instead of drawing one.",
)
@click.option("--count", type=click.IntRange(1, INT32_MAX), default=1, show_default=True,
              help="Number of seeds to run, starting at --seed.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1, 1024), default=1, show_default=True,
              help="Number of parallel processes for --count.")  # fmt: skip
@click.option("--stop-at-first", is_flag=True,
              help="End a --count at the first seed that is not valid.")  # fmt: skip
@click.option("--nodes", type=click.IntRange(3, 9), default=5, show_default=True,
              help="Number of brokers.")  # fmt: skip
@click.option("--length", "length_s", type=Finite(20, DAYS_30_S), default=40.0, show_default=True,
              help="Length of the run in simulated seconds.")  # fmt: skip
@click.option("--groups", is_flag=True,
              help="Add members of two consumer groups, one of each protocol.")  # fmt: skip
@click.option("--transactions", is_flag=True,
              help="Add transactional clients; with --groups also members that consume, transform "
              "and produce.")  # fmt: skip
@click.option("--invariants", type=click.Choice(_WATCHING), default="all", show_default=True,
              help="Invariants to check after every step.")  # fmt: skip
@click.option("--save-schedule", type=click.Path(path_type=Path, dir_okay=False),
              help="Write the drawn schedule to this file, to edit and run again.")  # fmt: skip
@click.option("--trace", "trace_file", type=click.Path(path_type=Path, dir_okay=False),
              help="Write every event of the run to this file, as Arrow.")  # fmt: skip
@click.option("--node-logs", is_flag=True, help="Print the node logs, with simulated times.")
def sim(
    seed: int | None,
    schedule_file: Path | None,
    count: int,
    jobs: int,
    stop_at_first: bool,
    nodes: int,
    length_s: float,
    groups: bool,
    transactions: bool,
    invariants: str,
    save_schedule: Path | None,
    trace_file: Path | None,
    node_logs: bool,
) -> int:
    """Simulate a cluster in one process. The same seed gives the same run, byte for byte.

    Exit code: 0 valid, 1 invalid, 2 unknown.
    """
    from harness.run.simulated import judge_history
    from harness.schedule.schedule import ScheduleError
    from harness.sim.invariants.base import Cost
    from harness.sim.node_logs import node_logs as logs_of_nodes
    from harness.sim.run import run_schedule
    from harness.sim.sweep import Seeds, options

    if (seed is None) == (schedule_file is None):
        raise click.UsageError("exactly one of --seed and --schedule is needed; give one of them")
    watching = {"all": Cost.EXPENSIVE, "cheap": Cost.CHEAP, "off": None}[invariants]
    setting = Seeds(nodes, length_s, watching, groups, transactions, judge_history)
    if count > 1:
        _refuse_with_count(schedule_file, save_schedule, trace_file, node_logs)
        seeds = range(seed or 0, (seed or 0) + count)
        return _sweep(seeds, jobs, setting, stop_at_first=stop_at_first)
    if stop_at_first:
        raise click.UsageError("--stop-at-first is for many runs; give --count as well")
    try:
        schedule = _schedule(schedule_file, setting, seed or 0)
        if save_schedule is not None:
            save_schedule.write_text(schedule.text())
        if trace_file is not None:
            # Now, because a run whose trace cannot be written has been for nothing.
            trace_file.open("wb").close()
    except OSError as error:
        raise EnvironmentFailure(f"{error.filename}: {error.strerror}") from error
    try:
        with logs_of_nodes(shown=node_logs):
            ended = run_schedule(
                schedule, watching=watching, trace_file=trace_file, judge=judge_history
            )
    except ScheduleError as error:
        raise click.UsageError(str(error)) from None
    if schedule_file is not None:
        return _tell(ended, f"harness sim --schedule {schedule_file}{options(watching)}")
    return _tell(ended, setting.command(schedule.seed))


def _schedule(schedule_file: Path | None, setting: Seeds, seed: int) -> Schedule:
    from harness.schedule.schedule import Schedule, ScheduleError
    from harness.sim.director import check_playable

    try:
        if schedule_file is None:
            return setting.draw(seed)
        schedule = Schedule.load(schedule_file)
        check_playable(schedule.faults)
    except ScheduleError as error:
        raise click.UsageError(str(error)) from None
    return schedule


def _refuse_with_count(
    schedule_file: Path | None,
    save_schedule: Path | None,
    trace_file: Path | None,
    node_logs: bool,
) -> None:
    for option, is_given in {
        "--schedule": schedule_file is not None,
        "--save-schedule": save_schedule is not None,
        "--trace": trace_file is not None,
        "--node-logs": node_logs,
    }.items():
        if is_given:
            raise click.UsageError(f"{option} is for one run; leave out {option} or --count")


def _sweep(seeds: range, jobs: int, setting: Seeds, *, stop_at_first: bool) -> int:
    from harness.sim.sweep import sweep
    from harness.sim.totals import Totals
    from harness.sim.verdict import Outcome

    totals, not_valid = Totals(), {Outcome.INVALID: 0, Outcome.UNKNOWN: 0}
    count = 0
    for ended in sweep(seeds, jobs=jobs, setting=setting):
        count += 1
        totals += ended.totals
        if ended.failure is not None:
            outcome = ended.verdict.outcome
            not_valid[outcome] += 1
            click.echo(
                f"seed {ended.seed}: {outcome.value}: {ended.failure}\n"
                f"  run it again with: {setting.command(ended.seed)}"
            )
            if stop_at_first:
                break
    for line in totals.lines():
        click.echo(line)
    for outcome, number in not_valid.items():
        if number:
            click.echo(f"{outcome.value}: {number} of {count} seeds")
    if count < len(seeds):
        click.echo(f"stopped at the first one: {len(seeds) - count} seeds were not run")
    if any(not_valid.values()):
        return EXIT_CODES["invalid" if not_valid[Outcome.INVALID] else "unknown"]
    zeros = totals.zeros(groups=setting.groups, transactions=setting.transactions)
    if zeros:
        click.echo(f"unknown: no seed exercised {', '.join(zeros)}")
        return EXIT_CODES["unknown"]
    click.echo(f"valid: {len(seeds)} seeds")
    return EXIT_CODES["valid"]


def _tell(ended: Ended, again: str) -> int:
    from harness.sim.verdict import verdict

    for line in ended.totals.lines():
        click.echo(line)
    if ended.first_ack_s is not None:
        click.echo(f"{'first write after healing':32}{ended.first_ack_s:>9.2f}s")
    click.echo(f"{'digest':32}{ended.digest[:16]:>10}")
    if ended.missed:
        click.echo(f"never took hold: {', '.join(ended.missed)}")
    judged = verdict(ended)
    for sentence in judged.sentences[:_SHOWN_MAX]:
        click.echo(f"{judged.outcome.value}: {sentence}")
    if len(judged.sentences) > _SHOWN_MAX:
        click.echo(f"... and {len(judged.sentences) - _SHOWN_MAX} more")
    click.echo(f"run it again with: {again}")
    return EXIT_CODES[judged.outcome.value]
