"""harness sim: one simulated run, decided by one number or by one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.errors import EnvironmentFailure

if TYPE_CHECKING:
    from harness.schedule.schedule import Schedule
    from harness.sim.run import Ended

EXIT_CODES = {"valid": 0, "invalid": 1, "unknown": 2}
_SHOWN_MAX = 10
_WATCHING = ("all", "cheap", "off")


@click.command("sim")
@click.option("--seed", type=int, help="Draws the whole run.")
@click.option(
    "--schedule",
    "schedule_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Plays this file instead of a drawn schedule; its seed counts.",
)
@click.option("--count", type=click.IntRange(1), default=1, show_default=True,
              help="Runs so many seeds, from --seed on.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True,
              help="How many of them side by side.")  # fmt: skip
@click.option("--nodes", type=click.IntRange(3, 9), default=5, show_default=True)
@click.option("--length", "length_s", type=click.FloatRange(20), default=40.0, show_default=True,
              help="Seconds of the cluster's life.")  # fmt: skip
@click.option("--invariants", type=click.Choice(_WATCHING), default="all", show_default=True,
              help="What is asked after every step.")  # fmt: skip
@click.option("--save-schedule", type=click.Path(path_type=Path, dir_okay=False),
              help="Writes down what was drawn, to be changed and played again.")  # fmt: skip
@click.option("--trace", "trace_file", type=click.Path(path_type=Path, dir_okay=False),
              help="Writes every event of the run, as Arrow.")  # fmt: skip
@click.option("--node-logs", is_flag=True, help="Shows what the nodes log, in the run's own time.")
def sim(
    seed: int | None,
    schedule_file: Path | None,
    count: int,
    jobs: int,
    nodes: int,
    length_s: float,
    invariants: str,
    save_schedule: Path | None,
    trace_file: Path | None,
    node_logs: bool,
) -> int:
    """Run a cluster inside one process: the same seed gives the same run, byte for byte."""
    from harness.schedule.schedule import Schedule, ScheduleError
    from harness.sim.director import check_playable
    from harness.sim.invariants.base import Cost
    from harness.sim.node_logs import node_logs as logs_of_nodes
    from harness.sim.run import draw_schedule, run_schedule

    if (seed is None) == (schedule_file is None):
        raise click.UsageError("give either --seed or --schedule")
    if count > 1:
        return _sweep(seed or 0, count, jobs)
    try:
        if schedule_file is not None:
            schedule = Schedule.load(schedule_file)
            check_playable(schedule.faults)
        else:
            schedule = draw_schedule(seed or 0, nodes=nodes, length_ms=length_s * 1000)
        if save_schedule is not None:
            save_schedule.write_text(schedule.text())
    except ScheduleError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise EnvironmentFailure(f"{error.filename}: {error.strerror}") from error
    watching = {"all": Cost.EXPENSIVE, "cheap": Cost.CHEAP, "off": None}[invariants]
    try:
        with logs_of_nodes(shown=node_logs):
            ended = run_schedule(schedule, watching=watching, trace_file=trace_file)
    except ScheduleError as error:
        raise click.UsageError(str(error)) from None
    again = _command(schedule, schedule_file, nodes, length_s)
    return _tell(ended, again)


def _sweep(first: int, count: int, jobs: int) -> int:
    from harness.sim.sweep import sweep
    from harness.sim.totals import Totals
    from harness.sim.verdict import Outcome

    totals, not_valid = Totals(), {Outcome.INVALID: 0, Outcome.UNKNOWN: 0}
    for ended in sweep(range(first, first + count), jobs=jobs):
        totals += ended.totals
        if ended.failure is not None:
            outcome = ended.verdict.outcome
            not_valid[outcome] += 1
            click.echo(
                f"seed {ended.seed}: {outcome.value}: {ended.failure}\n"
                f"  run it again with: {ended.command}"
            )
    for line in totals.lines():
        click.echo(line)
    for outcome, seeds in not_valid.items():
        if seeds:
            click.echo(f"{outcome.value}: {seeds} of {count} seeds")
    if any(not_valid.values()):
        return EXIT_CODES["invalid" if not_valid[Outcome.INVALID] else "unknown"]
    if totals.zeros():
        click.echo(f"unknown: nothing was seen of {', '.join(totals.zeros())}")
        return EXIT_CODES["unknown"]
    click.echo(f"valid: {count} seeds")
    return EXIT_CODES["valid"]


def _tell(ended: Ended, again: str) -> int:
    from harness.sim.verdict import verdict

    for line in ended.totals.lines():
        click.echo(line)
    if ended.first_ack_s is not None:
        click.echo(f"{'first write after healing':32}{ended.first_ack_s:>9.2f}s")
    click.echo(f"{'digest':32}{ended.digest[:16]:>10}")
    judged = verdict(ended)
    for sentence in judged.sentences[:_SHOWN_MAX]:
        click.echo(f"{judged.outcome.value}: {sentence}")
    if len(judged.sentences) > _SHOWN_MAX:
        click.echo(f"... and {len(judged.sentences) - _SHOWN_MAX} more")
    click.echo(f"run it again with: {again}")
    return EXIT_CODES[judged.outcome.value]


def _command(schedule: Schedule, schedule_file: Path | None, nodes: int, length_s: float) -> str:
    if schedule_file is not None:
        return f"harness sim --schedule {schedule_file}"
    more = "" if nodes == 5 else f" --nodes {nodes}"
    more += "" if length_s == 40.0 else f" --length {length_s:g}"
    return f"harness sim --seed {schedule.seed}{more}"
