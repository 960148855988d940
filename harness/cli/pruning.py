"""harness ls --prune: removes old runs from a store."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.lake import MASTER, MEMORY

if TYPE_CHECKING:
    from harness.store.store import Store

_SHOWN = 20


def _age(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    from harness.store.pruning import age_of

    age = None if value is None else age_of(value)
    if value is not None and age is None:
        raise click.BadParameter(f"{value} is no age; give hours, days or weeks: 12h, 30d, 8w")
    return age


def prune_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--yes", is_flag=True, help="With --prune: remove without asking."),
        click.option(
            "--in-lake",
            metavar="DIR",
            help="With --prune: remove only runs that this lake has as they are.",
        ),
        click.option(
            "--older-than",
            callback=_age,
            metavar="AGE",
            help="With --prune: remove runs that began before that: 12h, 30d, 8w.",
        ),
        click.option(
            "--keep",
            type=click.IntRange(min=0),
            metavar="N",
            help="With --prune: keep the newest N runs of the store.",
        ),
        click.option("--prune", is_flag=True, help="Remove old runs."),
    ):
        command = option(command)
    return command


def wants_pruning(context: click.Context, given: dict[str, Any]) -> bool:
    """Whether --prune was given; it is removed from `given`. UsageError if an option is missing."""
    wanted = bool(given.pop("prune"))
    if wanted and given["keep"] is None and given["older_than"] is None:
        raise click.UsageError(
            "--prune needs --keep N or --older-than AGE: harness ls --prune --keep 100", context
        )
    if not wanted and any(value not in (None, False) for value in given.values()):
        raise click.UsageError(
            "--keep, --older-than, --in-lake and --yes belong to --prune", context
        )
    return wanted


def prune(
    store: Store,
    *,
    as_json: bool,
    keep: int | None,
    older_than: timedelta | None,
    in_lake: str | None,
    yes: bool,
) -> int:
    from harness.store.pruning import prunable, remove, room_of

    runs = prunable(store, keep=keep, older_than=older_than, now=datetime.now(UTC))
    if in_lake is not None and runs:
        runs = _held(in_lake, runs, is_silent=as_json)
    room = {run: room_of(run) for run in runs}
    if not as_json:
        _show(runs, room)
    is_sure = bool(runs) and (yes or _agreed(runs, as_json=as_json))
    removed = list(remove(store, runs)) if is_sure else []
    freed = sum(room[run] for run in removed)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "removed": list(map(str, removed)),
                    "would_remove": [] if is_sure else list(map(str, runs)),
                    "bytes": freed if is_sure else sum(room.values()),
                }
            )
        )
    elif removed:
        click.echo(f"removed {_counted(removed)}, {_megabytes(freed)}")
    elif runs:
        click.echo("nothing was removed; --yes removes without asking")
    else:
        click.echo(f"nothing to remove in {store.root}")
    return 0


def _held(lake_root: str, runs: Sequence[Path], *, is_silent: bool) -> list[Path]:
    from harness.cli.lake_session import open_lake
    from harness.cli.lake_setup import provide_spark
    from pipeline.ingest import held

    provide_spark(may_install=False)
    with open_lake(lake_root, MASTER, MEMORY, is_silent=is_silent) as (lake, say):
        lake.require()
        say("looking for the runs in the lake")
        return held(lake, runs)


def _show(runs: Sequence[Path], room: dict[Path, int]) -> None:
    for run in runs[:_SHOWN]:
        click.echo(f"{run.name}  {run.parent.name}  {_megabytes(room[run])}")
    if len(runs) > _SHOWN:
        click.echo(f"and {len(runs) - _SHOWN:,} more")


def _agreed(runs: Sequence[Path], *, as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        return False
    return click.confirm(f"remove {_counted(runs)}?")


def _counted(runs: Sequence[Path]) -> str:
    return f"{len(runs):,} run{'' if len(runs) == 1 else 's'}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
