"""harness heal and doctor: what a dead run left, and what this machine can do."""

from __future__ import annotations

import click


@click.command("heal")
@click.option("--inventory", type=click.Path(exists=True, dir_okay=False),
              help="Also on the hosts of --on ssh; no run must be using them.")  # fmt: skip
@click.option("--force", is_flag=True,
              help="Also what runs of other pid namespaces left, which may be alive.")  # fmt: skip
def heal(inventory: str | None, force: bool) -> int:
    """Remove what a run that was killed has left: hosts, mounts, cgroups, images.

    A run of another pid namespace, a container's say, is left alone: from here nobody can tell
    whether it lives.
    """
    from harness.cluster.netns import heal as heal_netns

    healed = heal_netns(force=force)
    for each in healed.removed:
        click.echo(f"removed {each}")
    for each in healed.left:
        click.echo(f"left {each}: nobody can tell from here whether it lives; run harness heal "
                   "there, or if you know that it is over, harness heal --force")  # fmt: skip
    if inventory is not None:
        click.echo(f"healed {_heal_hosts(inventory)} hosts of {inventory}")
    elif not healed.removed and not healed.left:
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
