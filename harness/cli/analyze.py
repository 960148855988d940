"""harness analyze: judge stored runs again, on this machine or with Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click

from harness.cli.lake import require_spark_here, spark_options
from harness.cli.lake_session import open_lake
from harness.cli.stored import JSON, PLUGIN, STORE_OPTION
from harness.cli.testing import tell
from harness.errors import EnvironmentFailure

_BYTES_PER_ELEMENT = 64
"""Memory that the local engine needs for one element; bench/pipeline.py measures it."""


@click.command("analyze", context_settings={"ignore_unknown_options": True})
@click.argument("runs", nargs=-1, metavar="[RUNS]...")
@STORE_OPTION
@click.option("--all", "wants_all", is_flag=True, help="Judge every run of the store.")
@click.option("--contract", type=click.Choice(("safe", "configured")),
              help="Contract to judge by, instead of the run's own.")  # fmt: skip
@click.option(
    "--engine",
    type=click.Choice(("auto", "local", "spark")),
    default="auto",
    show_default=True,
    help="auto: local for one run that fits into memory, Spark for several.",
)
@spark_options
@PLUGIN
@JSON
def analyze(
    runs: tuple[str, ...],
    store_root: Path,
    wants_all: bool,
    contract: str | None,
    engine: Literal["auto", "local", "spark"],
    lake_root: str,
    master: str,
    memory: str,
    plugin: tuple[str, ...],
    as_json: bool,
) -> int:
    """Judge stored runs again, by the present checkers.

    RUNS are directories, latest (the default), or -1, -2 as in Jepsen. The judgement of one run
    replaces its results and its report. Several runs, or --engine spark, write to the lake and
    leave the stored runs as they are. The exit code is the worst of the verdicts; a run that cannot
    be judged counts as unknown.
    """
    from harness.plugins import load_plugins

    directories = _directories(runs, store_root, wants_all)
    load_plugins(plugin)
    if engine == "auto":
        engine = "local" if len(directories) == 1 and _fits(directories[0]) else "spark"
    if engine == "local" and len(directories) == 1:
        return _in_place(directories[0], contract, as_json)
    if contract is not None:
        raise click.UsageError(
            "--contract is for one run on the local engine; the lake has one verdict for each run"
        )
    if engine == "local":
        return _one_by_one(directories, as_json)
    return _in_lake(directories, lake_root, master, memory, as_json)


def _directories(runs: Sequence[str], store_root: Path, wants_all: bool) -> list[Path]:
    from harness.store.store import Store

    store = Store(store_root)
    if wants_all:
        if runs:
            raise click.UsageError("--all judges every run of the store; leave out RUNS")
        found = list(store.runs())
        if not found:
            raise click.UsageError(f"{store_root} has no runs; --store names another directory")
        return found
    return [store.find(run) for run in runs or ("latest",)]


def _fits(directory: Path) -> bool:
    """Whether this machine has the memory to judge the run."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
    import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

    from harness.history.history import PARQUET
    from harness.store.inside import open_inside

    try:
        with open_inside(directory / PARQUET, "elements.parquet") as file:
            count = pq.read_metadata(file).num_rows
    except (EnvironmentFailure, OSError, pa.ArrowException):
        return True  # the local engine says what is wrong with it
    return bool(count * _BYTES_PER_ELEMENT < _available_bytes())


def _available_bytes() -> int:
    """Memory that a process can get. The page cache belongs to it: pages that are free alone are
    few on a machine that has just written a long history."""
    import os

    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, amount = line.partition(":")
            if name == "MemAvailable":
                return int(amount.split()[0]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _in_place(directory: Path, contract: str | None, as_json: bool) -> int:
    from harness.run.judging import judge_again
    from harness.run.plan import Plan

    plan = Plan.load(directory / "plan.json")
    if contract is not None:
        plan = replace(plan, contract=contract)
    outcome = judge_again(directory, plan)
    tell(outcome, as_json=as_json)
    return outcome.exit_code


def _one_by_one(directories: Sequence[Path], as_json: bool) -> int:
    """Judge the runs on this machine, one after the other. Nothing is written."""
    from checkers.verdict import Validity
    from harness.run.outcome import EXIT_CODES, worst_exit
    from pipeline.check.judge_run import judge_stored

    verdicts: dict[str, Validity] = {}
    for directory in directories:
        try:
            verdict = judge_stored(directory).validity
        except EnvironmentFailure as failure:
            verdict = Validity.UNKNOWN
            click.echo(f"{directory}: {failure}", err=True)
        verdicts[str(directory)] = verdict
        if not as_json:
            click.echo(f"{verdict.value:8} {directory}")
    if as_json:
        click.echo(json.dumps({"verdicts": {run: each.value for run, each in verdicts.items()}}))
    return worst_exit([EXIT_CODES[each] for each in verdicts.values()])


def _in_lake(
    directories: Sequence[Path], lake_root: str, master: str, memory: str, as_json: bool
) -> int:
    from checkers.verdict import Validity
    from harness.cli.lake_check import exit_code_of_checked, tell_checked
    from harness.run.outcome import EXIT_CODES, worst_exit
    from pipeline.check.job import judge_runs
    from pipeline.ingest import ingest

    require_spark_here()
    with open_lake(lake_root, master, memory, is_silent=as_json) as (lake, say):
        taken = ingest(lake, list(directories), model="kafka", say=say)
        for file, reason in taken.refused.items():
            click.echo(f"set aside {file}: {reason}", err=True)
        for directory in taken.under_way:
            click.echo(f"under way {directory}", err=True)
        checked = judge_runs(lake, [*taken.taken, *taken.replaced, *taken.skipped], say=say)
    tell_checked(checked, lake_root, as_json=as_json)
    codes = [exit_code_of_checked(checked)]
    if taken.refused or taken.under_way:
        # A run that was asked for and not judged must not leave the exit code at 0.
        codes.append(EXIT_CODES[Validity.UNKNOWN])
    return worst_exit(codes)
