"""harness heal and doctor: what a dead run left, and what this machine can do."""

from __future__ import annotations

import click


@click.command("heal")
@click.option("--inventory", type=click.Path(exists=True, dir_okay=False),
              help="Also heal the hosts of this inventory; no run may be using them.")  # fmt: skip
@click.option("--force", is_flag=True,
              help="Also heal runs in other pid namespaces, which may be alive.")  # fmt: skip
def heal(inventory: str | None, force: bool) -> int:
    """Remove what a killed run has left: hosts, mounts, cgroups, images.

    Leftovers of runs in another pid namespace, such as a container's, stay: from here it is
    impossible to tell whether such a run is alive.
    """
    from harness.cluster.netns import heal as heal_netns

    healed = heal_netns(force=force)
    for each in healed.removed:
        click.echo(f"removed {each}")
    for each in healed.left:
        click.echo(f"left {each}: its run may be alive in another pid namespace; run harness heal "
                   "there, or harness heal --force if you know that it has ended")  # fmt: skip
    if inventory is not None:
        click.echo(f"healed {_heal_hosts(inventory)} hosts of {inventory}")
    elif not healed.removed and not healed.left:
        click.echo("nothing to heal")
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
    """Report what this machine has and what it lacks for each place."""
    from harness.run.doctor import findings

    is_well = True
    for finding in findings():
        click.echo(f"{'ok' if finding.is_well else 'no':3} {finding.what}: {finding.said}")
        is_well = is_well and (finding.is_well or not finding.is_needed)
    return 0 if is_well else 255
