"""harness lake: many stored runs on Spark. One file per command: lake_*.py."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

DEFAULT_LAKE = "lake"
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
            default="2g",
            show_default=True,
            help="Memory of Spark's driver, which does all the work of a local master.",
        ),
        click.option(
            "--master",
            default="local[*]",
            show_default=True,
            metavar="URL",
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


def _remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    context.meta[_MAY_INSTALL] = value


def spark_log(lake_root: str) -> Path:
    """Where everything goes that Spark prints: beside a lake on this machine, or here."""
    if "://" in lake_root:
        return Path("spark.log").absolute()
    return Path(f"{lake_root.rstrip('/')}.spark.log").absolute()


def option_of_lake(lake_root: str) -> str:
    """Option by which the next command finds this lake, with a leading space."""
    return "" if lake_root == DEFAULT_LAKE else f" --lake {shlex.quote(lake_root)}"


@click.group("lake")
def lake() -> None:
    """Analyse many runs with Spark: a lake of tables, verdicts, figures, trends."""
