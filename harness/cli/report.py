"""harness report: the page of a stored run, and the same for programs."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.parameters import OutputFile
from harness.cli.stored import STORE_OPTION


@click.command("report", context_settings={"ignore_unknown_options": True})
@click.argument("run", default="latest")
@STORE_OPTION
@click.option("--out", type=OutputFile(), metavar="FILE",
              help="Write the page to this file instead of the run's directory.")  # fmt: skip
@click.option("--junit", type=OutputFile(), metavar="FILE",
              help="Also write one JUnit case for each checker.")  # fmt: skip
def report(run: str, store_root: Path, out: Path | None, junit: Path | None) -> int:
    """Write the report of a stored run. RUN is a directory, latest, or -1, -2 as in Jepsen.

    The exit code says whether the page was written; the page shows the verdict.
    """
    from harness.store.inside import write_inside
    from harness.store.store import Store
    from harness.store.stored_run import read_results
    from reports.html import NAME
    from reports.html import report as page_of
    from reports.junit import write_junit

    directory = Store(store_root).find(run)
    path = out or directory / NAME
    write_inside(path.parent, path.name, page_of(directory))
    if junit is not None:
        write_junit([(directory.parent.name, read_results(directory))], junit)
    click.echo(path)
    return 0
