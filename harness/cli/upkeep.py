"""harness heal and doctor: what a dead run left, and what this machine can do."""

from __future__ import annotations

import click


@click.command("heal")
@click.option("--inventory", type=click.Path(exists=True, dir_okay=False),
              help="Also on the hosts of --on ssh; no run must be using them.")  # fmt: skip
def heal(inventory: str | None) -> int:
    """Remove what a run that was killed has left: hosts, mounts, cgroups, images."""
    from harness.cluster.netns import heal as heal_netns

    removed = heal_netns()
    for each in removed:
        click.echo(f"removed {each}")
    if inventory is not None:
        click.echo(f"healed {_heal_hosts(inventory)} hosts of {inventory}")
    elif not removed:
        click.echo("nothing was left")
    return 0


def _heal_hosts(inventory: str) -> int:
    import asyncio
    from pathlib import Path

    from harness.cluster.inventory import load_inventory
    from harness.cluster.ssh.place import heal_hosts

    described = load_inventory(Path(inventory))
    asyncio.run(heal_hosts(described))
    return len(described.hosts)


@click.command("doctor")
def doctor() -> int:
    """Say what this machine has and what it lacks, place by place."""
    from harness.run.doctor import findings

    is_well = True
    for finding in findings():
        click.echo(f"{'ok' if finding.is_well else 'no':3} {finding.what}: {finding.said}")
        is_well = is_well and (finding.is_well or not finding.is_needed)
    return 0 if is_well else 255
