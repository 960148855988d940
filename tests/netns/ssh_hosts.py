"""Hosts made of namespaces, used as if they were far away: by an inventory and over ssh alone."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from harness.cluster.inventory import Inventory, InventoryHost
from harness.cluster.netns.place import NetnsPlace
from harness.cluster.ssh.place import SshPlace

_Answer = TypeVar("_Answer")


class AmongClients:
    """Clients live where the namespaces have them, and ssh takes the management links."""

    def __init__(self, machines: NetnsPlace) -> None:
        self._machines = machines

    def client_command(self, argv: Sequence[str]) -> Sequence[str]:
        return self._machines.client_command(argv)

    async def ask(self, question: Callable[[], _Answer]) -> _Answer:
        return await self._machines.ask(question)

    def dial(self, address: str, port: int) -> socket.socket:
        return self._machines._fleet.switch.dial(address, port, within_s=5)


def inventory_of(machines: NetnsPlace, directory: Path) -> Inventory:
    keys = machines._fleet.claim.directory
    hosts = [
        InventoryHost(
            node=host.node,
            address=host.address,
            management=machines._fleet.host(host.node).machine.address.management,
            key_file=keys / "key",
            known_hosts=keys / "known_hosts",
            home=str(directory / host.node),
            data_dir=str(host.data),
        )
        for host in machines.hosts
    ]
    return Inventory(tuple(hosts), "the inventory of these tests")


@asynccontextmanager
async def ssh_place(directory: Path, count: int, **changes: Any) -> AsyncIterator[SshPlace]:
    """Not up yet. `changes` are what every host of the inventory has instead."""
    async with NetnsPlace(directory / "machines", disk_bytes=256 << 20) as machines:
        await machines.up(count)
        inventory = inventory_of(machines, directory / "remote")
        hosts = tuple(replace(host, **changes) for host in inventory.hosts)
        inventory = Inventory(hosts, inventory.source)
        async with SshPlace(inventory, vantage=AmongClients(machines)) as place:
            yield place
