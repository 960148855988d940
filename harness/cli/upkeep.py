"""harness heal and doctor: what a dead run left, and what this machine can do."""

from __future__ import annotations

import click


@click.command("heal")
def heal() -> int:
    """Remove what a run that was killed has left: hosts, mounts, cgroups, images."""
    from harness.cluster.netns.heal import heal as heal_netns

    removed = heal_netns()
    for each in removed:
        click.echo(f"removed {each}")
    if not removed:
        click.echo("nothing was left")
    return 0


@click.command("doctor")
def doctor() -> int:
    """Say what this machine has and what it lacks, place by place."""
    from harness.run.doctor import findings

    is_well = True
    for finding in findings():
        click.echo(f"{'ok' if finding.is_well else 'no':3} {finding.what}: {finding.said}")
        is_well = is_well and (finding.is_well or not finding.is_needed)
    return 0 if is_well else 255
