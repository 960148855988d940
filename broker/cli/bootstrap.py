"""For commands that ask a running broker: where it is, and a client while they need one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import click

from broker.cli.errors import FindingError
from broker.cli.wire_client import WireClient
from broker.network.interface import Address
from broker.network.sockets import SocketNetwork
from broker.protocol.errors import error_name

bootstrap_option = click.option(
    "--bootstrap-server",
    "--bootstrap",
    "bootstrap",
    required=True,
    metavar="HOST:PORT",
    help="A broker's address.",
)


def address_of(bootstrap: str) -> Address:
    host, _, port = bootstrap.rpartition(":")
    if "," in bootstrap:
        raise click.UsageError(f"--bootstrap-server {bootstrap!r}: give the address of one broker")
    if not host or not (port.isascii() and port.isdigit() and int(port[:6]) <= 65535):
        raise click.UsageError(f"--bootstrap-server {bootstrap!r} is not HOST:PORT")
    return Address(host.strip("[]"), int(port))


def with_client(bootstrap: str, work: Callable[[WireClient], Awaitable[None]]) -> None:
    address = address_of(bootstrap)

    async def run() -> None:
        client = await WireClient.connect(SocketNetwork(), address)
        try:
            await work(client)
        finally:
            client.close()

    asyncio.run(run())


def check_answer(what: str, code: int, message: str | None = None) -> None:
    if code:
        raise FindingError(f"{what}: {error_name(code)}" + (f": {message}" if message else ""))
