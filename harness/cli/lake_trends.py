"""harness lake trends: one page over many runs."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.lake import lake_options
from harness.cli.lake_session import open_lake


@click.command("trends")
@lake_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of the page; trends.html beside the lake by default.",
)
@click.option("--baseline", metavar="RELEASE", help="Release to compare with.")
@click.option("--candidate", metavar="RELEASE", help="Release to be judged; the last by default.")
def lake_trends(
    lake_root: str,
    master: str,
    memory: str,
    out: Path | None,
    baseline: str | None,
    candidate: str | None,
) -> int:
    """Write a page about many runs: what regressed, what was never exercised, the verdicts.

    The last two releases are compared, or those that are named. The figures are those of the last
    `harness lake tables`.
    """
    from pipeline.trends import trends
    from reports.trends import write_trends

    page = out or _beside(lake_root)
    with open_lake(lake_root, master, memory) as (lake, say):
        say("comparing releases")
        found = trends(lake, page, baseline, candidate)
    write_trends(found, page)
    click.echo(found.headline)
    for line in found.of("worse"):
        click.echo(f"  {line.subject}: {line.about}; {line.run.name}")
    click.echo(f"open {page}")
    return 0


def _beside(lake_root: str) -> Path:
    """Default path of the page; a lake at an address has no directory for it."""
    if "://" in lake_root:
        return Path("trends.html")
    return Path(lake_root).parent / "trends.html"
