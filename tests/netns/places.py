"""Hosts for the tests here, and scripts for their processes to run."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from harness.cluster.base import RunningProcess
from harness.cluster.capabilities import Disks, Network
from harness.cluster.netns import NetnsPlace
from harness.cluster.waiting import wait_until

SMALL_BYTES = 64 << 20
SOON_S = 20.0


@asynccontextmanager
async def hosts(
    directory: Path, count: int = 3, *, disk_bytes: int = SMALL_BYTES
) -> AsyncIterator[NetnsPlace]:
    async with NetnsPlace(directory, disk_bytes=disk_bytes) as place:
        await place.up(count)
        yield place


def network_of(place: NetnsPlace) -> Network:
    assert place.network is not None
    return place.network


def disks_of(place: NetnsPlace) -> Disks:
    assert place.disk is not None
    return place.disk


async def started(place: NetnsPlace, node: str, script: str) -> RunningProcess:
    """Returns once it has printed its first line."""
    home = next(host.home for host in place.hosts if host.node == node)
    process = await place.spawn(
        node, [sys.executable, "-c", script], stdout=home / "out", stderr=home / "err"
    )
    await until_it_says(process, "\n")
    return process


async def until_it_says(process: RunningProcess, word: str) -> None:
    async def is_said() -> bool:
        return word in await process.output("stdout")

    await wait_until(is_said, within_s=SOON_S, what=f"the process prints {word!r}", every_s=0.01)


async def shown(place: NetnsPlace, node: str, *argv: str) -> str:
    """What a command writes, which has to end well."""
    done = await place.run(node, argv)
    assert done.exit_code == 0, done
    return done.stdout.strip()
