"""vagrant: the virtual machines of vagrant/Vagrantfile, reached as any other hosts over ssh.

They are started when a run wants them and stay up afterwards, because a start takes minutes; to be
rid of them is `vagrant destroy`. Their clocks are their own, so those can be set, and their data is
on a file system of its own, so that can be filled.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.cluster.inventory import Inventory, InventoryHost
from harness.cluster.ssh.place import SshPlace
from harness.errors import EnvironmentFailure

DIRECTORY = Path(__file__).parent.parent.parent / "vagrant"
NODES_MAX = 9
_FIRST_ADDRESS = 11
_UP_WITHIN_S = 1800.0
_CONFIG_WITHIN_S = 120.0
_ACCOUNT = "vagrant"
_NO_KEY = Path("/nonexistent")


def vagrant_place(directory: Path = DIRECTORY) -> SshPlace:
    """Refuses, with a sentence, where there is no vagrant."""
    if shutil.which("vagrant") is None:
        raise EnvironmentFailure(
            "there is no vagrant here; try: apt-get install vagrant vagrant-libvirt "
            "libvirt-daemon-system, or --on netns, which takes no virtual machines"
        )
    if not (directory / "Vagrantfile").exists():
        raise EnvironmentFailure(
            f"{directory} holds no Vagrantfile; clone the project and run its own harness"
        )

    async def begin(count: int) -> Inventory:
        if count > NODES_MAX:
            raise EnvironmentFailure(
                f"the Vagrantfile describes {NODES_MAX} machines, and {count} are asked for; "
                f"try --nodes {NODES_MAX}"
            )
        nodes = [_node(number) for number in range(1, count + 1)]
        await _vagrant(directory, "up", *nodes, count=count, within_s=_UP_WITHIN_S)
        told = await _vagrant(
            directory, "ssh-config", *nodes, count=count, within_s=_CONFIG_WITHIN_S
        )
        return inventory_from(told)

    # What they can do is known before they are up, how to get in is not.
    expected = Inventory(
        tuple(_host(number, {}) for number in range(1, NODES_MAX + 1)), str(directory)
    )
    return SshPlace(expected, name="vagrant", begin=begin)


def inventory_from(ssh_config: str) -> Inventory:
    """From what `vagrant ssh-config` prints: a block of settings for each machine."""
    blocks: dict[str, dict[str, str]] = {}
    settings: dict[str, str] = {}
    for line in ssh_config.splitlines():
        name, _, value = line.strip().partition(" ")
        if name == "Host":
            settings = blocks.setdefault(value.strip(), {})
        elif name and value:
            settings.setdefault(name, value.strip().strip('"'))
    hosts = []
    for number in range(1, NODES_MAX + 1):
        if _node(number) in blocks:
            hosts.append(_host(number, blocks[_node(number)]))
    if not hosts:
        raise EnvironmentFailure(f"vagrant ssh-config tells of no machine: {ssh_config[:500]!r}")
    return Inventory(tuple(hosts), "vagrant ssh-config")


def _host(number: int, settings: Mapping[str, str]) -> InventoryHost:
    """Nobody knows a new machine's key, so the first one it shows is taken for its own."""
    return InventoryHost(
        node=_node(number),
        address=f"192.168.56.{_FIRST_ADDRESS + number - 1}",
        management=settings.get("HostName", "127.0.0.1"),
        port=int(settings.get("Port", 22)),
        user=settings.get("User", _ACCOUNT),
        key_file=Path(settings.get("IdentityFile", _NO_KEY)),
        check_host_key=False,
        sudo=True,
        data_dir="/srv/log-trial",
        own_clock=True,
    )


def _node(number: int) -> str:
    return f"n{number}"


async def _vagrant(directory: Path, *words: str, count: int, within_s: float) -> str:
    process = await asyncio.create_subprocess_exec(
        "vagrant",
        *words,
        cwd=directory,
        env={**os.environ, "NODES": str(count), "VAGRANT_CHECKPOINT_DISABLE": "1"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(within_s):
            stdout, stderr = await process.communicate()
    except TimeoutError:
        process.terminate()
        await process.wait()
        raise EnvironmentFailure(
            f"timed out after {within_s:g} s waiting until "
            f"vagrant {words[0]} ends; try it by hand in {directory}"
        ) from None
    if process.returncode != 0:
        said = _last_lines((stdout + b"\n" + stderr).decode(errors="replace"))
        raise EnvironmentFailure(f"vagrant {words[0]} failed; it said:\n{said}")
    return stdout.decode(errors="replace")


def _last_lines(text: str) -> str:
    lines: Sequence[str] = [line for line in text.splitlines() if line.strip()]
    return "\n".join(lines[-12:])
