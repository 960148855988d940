"""Whether the clients of a plan can be made, found out before anything is started.

The libraries themselves are asked: they know their properties by name and value, and connect to
nobody when they are made without an address.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from harness.errors import EnvironmentFailure

if TYPE_CHECKING:
    from harness.run.plan import Plan


def refuse_clients(plan: Plan) -> None:
    """UsageError for properties that the plan's client library does not take."""
    given = {"--producer-config": plan.producer_config, "--consumer-config": plan.consumer_config}
    options = [option for option, properties in given.items() if properties]
    if plan.on == "sim":
        if options:
            raise click.UsageError(
                f"{options[0]} is for the clients of real runs; the simulator's own client has no "
                "such properties"
            )
        return
    if not options and plan.retries is None:
        return
    from harness.client.make import make_client
    from harness.run.run import client_settings

    client = make_client(plan.client, client_settings(plan, bootstrap=""), "c1")

    async def make() -> None:
        await client.open()
        await client.close()

    try:
        asyncio.run(make())
    except EnvironmentFailure as failure:
        raise click.UsageError(f"{failure}; see --producer-config, --consumer-config") from None
