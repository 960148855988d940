"""`broker transactions`: transactions of a running cluster, at coordinators and in partitions."""

from __future__ import annotations

import click

from broker.cli.hanging_transactions import abort, find_hanging
from broker.cli.transaction_listing import describe, list_transactions


@click.group()
def transactions() -> None:
    """Transactions of a running cluster."""


for _command in (list_transactions, describe, find_hanging, abort):
    transactions.add_command(_command)
