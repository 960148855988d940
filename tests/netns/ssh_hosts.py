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


class FarAway(SshPlace):
    """Brings its machines along: they go up and down with it."""

    def __init__(self, directory: Path) -> None:
        machines = NetnsPlace(directory / "machines")
        self._machines = machines

        async def begin(count: int) -> Inventory:
            await machines.up(count)
            return inventory_of(machines, directory / "remote")

        like = InventoryHost(
            node="n1", address="10.77.0.1", key_file=directory / "key", data_dir="/some"
        )
        super().__init__(
            Inventory((like,), "what they will be like"),
            begin=begin,
            vantage=AmongClients(machines),
        )

    async def down(self) -> None:
        try:
            await super().down()
        finally:
            await self._machines.down()
