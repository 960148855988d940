"""The id of a group as an argument of a command."""

from __future__ import annotations

import click


def group_id(text: str) -> str:
    """A type for click. An empty id is what Kafka's clients use for no group."""
    if not text:
        raise click.BadParameter("the name of a group is not empty")
    return text
