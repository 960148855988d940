"""harness lake: many stored runs on Spark. One file per command: lake_*.py."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

DEFAULT_LAKE = "lake"
MASTER = "local[*]"
MEMORY = "2g"
_MAY_INSTALL = f"{__name__}.may_install"


def lake_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command on a lake. PySpark is installed before the command runs."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        require_spark_here()
        return command(*args, **options)

    return spark_options(run)


def require_spark_here() -> None:
    """Install PySpark if it is missing, for a command with `spark_options`.

    EnvironmentFailure if that is impossible or refused.
    """
    from harness.cli.lake_setup import provide_spark

    provide_spark(may_install=click.get_current_context().meta[_MAY_INSTALL])


def spark_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options `lake_root`, `master` and `memory`, for commands that may not need Spark."""
    for option in (
        click.option(
            "--install/--no-install",
            "may_install",
            default=True,
            expose_value=False,
            callback=_remember,
            help="Install PySpark in a clone that does not have it yet.",
        ),
        click.option(
            "--memory",
            default=MEMORY,
            show_default=True,
            metavar="SIZE",
            callback=_size,
            help="Memory of Spark's driver, which does all the work of a local master.",
        ),
        click.option(
            "--master",
            default=MASTER,
            show_default=True,
            metavar="URL",
            callback=_master,
            help="Spark's master: local[N], or spark://host:port.",
        ),
        click.option(
            "--lake",
            "lake_root",
            default=DEFAULT_LAKE,
            show_default=True,
            metavar="DIR",
            help="Directory or address (s3a://, hdfs://) of the lake.",
        ),
    ):
        command = option(command)
    return command


_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)(,\s*[1-9]\d*)?\]|-cluster\[[\d, ]+\])?")
_CLUSTERS = ("spark://", "k8s://")
_SIZE = re.compile(r"(\d+)([mg])")
_MEMORY_MIN_MB = 512
"""Spark's driver refuses to start with less than 450 MB."""


def _master(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Spark itself says what is wrong with a master only in its log, after seconds."""
    if _LOCAL.fullmatch(value) is None and not value.startswith(_CLUSTERS) and value != "yarn":
        raise click.BadParameter(
            f"{value} is no master; give local[N], spark://HOST:PORT, k8s://URL or yarn"
        )
    return value


def _size(context: click.Context, parameter: click.Parameter, value: str) -> str:
    found = _SIZE.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"{value} is no size; give megabytes or gigabytes: 512m, 4g")
    if int(found[1]) * (1024 if found[2] == "g" else 1) < _MEMORY_MIN_MB:
        raise click.BadParameter(f"{value} is too little for Spark; give at least 512m")
    return value


def _remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[_MAY_INSTALL] = value


def spark_log(lake_root: str) -> Path:
    """Where everything goes that Spark prints: beside a lake on this machine, or here. A lake that
    is only read may be where nothing can be written."""
    here = Path("spark.log").absolute()
    beside = here if "://" in lake_root else Path(f"{lake_root.rstrip('/')}.spark.log").absolute()
    elsewhere = Path(tempfile.gettempdir()) / "log-trial-spark.log"
    return next(filter(_may_write, (beside, here, elsewhere)), beside)


def _may_write(path: Path) -> bool:
    there = next(each for each in (path, *path.parents) if each.exists())
    return (there == path or there.is_dir()) and os.access(there, os.W_OK)


def option_of_lake(lake_root: str) -> str:
    """Option by which the next command finds this lake, with a leading space."""
    return "" if lake_root == DEFAULT_LAKE else f" --lake {shlex.quote(lake_root)}"


@click.group("lake")
def lake() -> None:
    """Analyse many runs with Spark: a lake of tables, verdicts, figures, trends."""
