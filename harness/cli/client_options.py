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
    """UsageError for properties that the plan's client library does not take, and UsageFailure for
    a plugin's client that lacks a member."""
    given = {"--producer-config": plan.producer_config, "--consumer-config": plan.consumer_config}
    options = [option for option, properties in given.items() if properties]
    if plan.on == "sim":
        if options:
            raise click.UsageError(
                f"{options[0]} is for the clients of real runs; the simulator's own client has no "
                "such properties"
            )
        return
    from harness.client.make import make_client, refuse_incomplete
    from harness.registry import REGISTRY, is_ours
    from harness.run.run import client_settings

    if not is_ours(REGISTRY.clients[plan.client].make):
        refuse_incomplete(plan.client, client_settings(plan, bootstrap=""))
    if not options and plan.retries is None:
        return
    client = make_client(plan.client, client_settings(plan, bootstrap=""), "c1")

    async def make() -> None:
        await client.open()
        await client.close()

    try:
        asyncio.run(make())
    except EnvironmentFailure as failure:
        raise click.UsageError(f"{failure}; see --producer-config, --consumer-config") from None
