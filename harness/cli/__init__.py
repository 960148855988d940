"""The command line. Only a verdict may exit 0, 1 or 2."""

from __future__ import annotations

import sys
import traceback
from typing import NoReturn

import click

from harness.cli.analyze import analyze
from harness.cli.check import check
from harness.cli.compare import compare
from harness.cli.exits import (
    EXIT_CRASH,
    EXIT_USAGE,
    exit_code_of,
    with_notes,
)
from harness.cli.lake import lake
from harness.cli.lake_check import lake_check
from harness.cli.lake_compact import lake_compact
from harness.cli.lake_figures import lake_tables
from harness.cli.lake_ingest import lake_ingest
from harness.cli.lake_live import lake_live
from harness.cli.lake_sql import lake_sql
from harness.cli.lake_trends import lake_trends
from harness.cli.listing import list_checkers, list_nemeses, list_workloads
from harness.cli.report import report
from harness.cli.serve import serve
from harness.cli.sim import sim
from harness.cli.stored import ls, replay
from harness.cli.suite import suite
from harness.cli.systems import systems
from harness.cli.testing import run_test
from harness.cli.upkeep import doctor, heal
from harness.errors import EXIT_INTERRUPTED, EnvironmentFailure
from harness.run.interrupts import INTERRUPTS


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="log-trial")
def cli() -> None:
    """Test a replicated log: break it under load, and check what happened to the records."""


for _command in (
    run_test,
    suite,
    check,
    analyze,
    replay,
    ls,
    report,
    compare,
    serve,
    sim,
    heal,
    doctor,
    lake,
    systems,
    list_workloads,
    list_nemeses,
    list_checkers,
):
    cli.add_command(_command)

for _command in (
    *(lake_ingest, lake_check, lake_compact, lake_tables, lake_trends, lake_sql, lake_live),
):
    lake.add_command(_command)


def main(argv: list[str] | None = None) -> NoReturn:
    """Click exits 2 on a bad flag and Python 1 on a crash: both would pass for a verdict."""
    INTERRUPTS.install()
    try:
        code = cli.main(argv, prog_name="harness", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = EXIT_USAGE
    except EnvironmentFailure as failure:
        click.echo(f"harness: {with_notes(failure)}", err=True)
        code = exit_code_of(failure)
    except (KeyboardInterrupt, click.Abort):
        code = EXIT_INTERRUPTED
    # No command of ours raises SystemExit: one of a plugin would pass for a verdict.
    except (Exception, SystemExit):
        traceback.print_exc()
        code = EXIT_CRASH
    INTERRUPTS.is_over()
    sys.exit(code)
