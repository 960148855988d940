"""A place of one or more local nodes for the tests here, and scripts for processes to run."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from harness.cluster.local import LocalPlace
from harness.cluster.local_process import LocalProcess
from harness.cluster.waiting import wait_until

SLEEPS = "import time; print('up', flush=True); time.sleep(600)"
DEAF = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('up', flush=True); time.sleep(600)"
)
COUNTS = (
    "import itertools, time\nfor n in itertools.count(): print(n, flush=True); time.sleep(.005)"
)
LEAVES_A_CHILD = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "print(child.pid, flush=True)\n"
)
HAS_A_CHILD = LEAVES_A_CHILD + "time.sleep(600)"


@asynccontextmanager
async def local_place(directory: Path, count: int = 1) -> AsyncIterator[LocalPlace]:
    async with LocalPlace(directory) as place:
        await place.up(count)
        yield place


async def spawn(place: LocalPlace, script: str, node: str = "n1") -> LocalProcess:
    """Returns once it has printed its first line."""
    home = place.hosts[0].home
    process = await place.spawn(
        node, [sys.executable, "-c", script], stdout=home / "out", stderr=home / "err"
    )

    async def has_spoken() -> bool:
        return "\n" in await process.output("stdout")

    await wait_until(has_spoken, within_s=20, what="the process prints a line", every_s=0.005)
    return process
