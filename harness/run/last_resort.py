"""Heals the machine without the loop of a run: when that stands still, or must not be waited for.

What a run has made is found by what was written down before it was made, never by asking the run.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from harness.errors import EnvironmentFailure
from harness.run.plan import Plan

_UNMOUNT_WITHIN_S = 10.0


def heal_by_force(plan: Plan, directory: Path) -> None:
    """Ends the hosts of this process, and removes what they had. Blocks; raises nothing.

    Local brokers and clients are killed by the kernel when this process ends.
    """
    with suppress(EnvironmentFailure, OSError):
        match plan.on:
            case "netns":
                from harness.cluster.netns.registry import release_own

                release_own()
            case "local":
                _unmount_below(directory / "hosts")
            case "ssh":
                from harness.cluster.inventory import load_inventory
                from harness.cluster.ssh.place import heal_hosts

                assert plan.inventory is not None
                asyncio.run(heal_hosts(load_inventory(Path(plan.inventory))))
            case _:
                pass
    shutil.rmtree(directory / "hosts", ignore_errors=True)


def _unmount_below(directory: Path) -> None:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        target = line.split()[1]
        if Path(target).is_relative_to(directory):
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run(["umount", "--lazy", target], timeout=_UNMOUNT_WITHIN_S, check=False)
