"""A host whose shell runs its scripts right here, and remembers them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from harness.cluster.base import Completed
from harness.cluster.inventory import InventoryHost
from harness.cluster.remote.shell import Answer, Shell
from harness.cluster.ssh.remote_host import RemoteHost


class LocalShell(Shell):
    def __init__(self, directory: Path) -> None:
        self.name = "n1"
        self.home = PurePosixPath(directory)
        self.scripts: list[str] = []
        self._instead = directory / "instead"
        self._instead.mkdir(exist_ok=True)

    def has_instead(self, command: str, script: str) -> None:
        """What the host has under the name of a command."""
        file = self._instead / command
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    async def script(self, text: str, *, within_s: float = 30) -> Answer:
        self.scripts.append(text)
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            text,
            env={**os.environ, "PATH": f"{self._instead}:{os.environ['PATH']}"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        stdout, stderr = await process.communicate()
        return Answer(process.returncode or 0, stdout.decode(), stderr.decode())

    async def run(self, argv: Sequence[str], *, within_s: float = 60) -> Completed:
        raise AssertionError(f"nobody runs {argv}")


def remote_host(directory: Path, **fields: Any) -> tuple[RemoteHost, LocalShell]:
    described = InventoryHost(
        node="n1",
        address="10.0.0.1",
        key_file=directory / "key",
        **{"home": str(directory / "base"), **fields},
    )
    shell = LocalShell(directory)
    host = RemoteHost(described, shell, "10.0.0.1")
    host.home = PurePosixPath(directory / "base" / "run")
    return host, shell
