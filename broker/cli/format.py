"""`broker format`: gives empty log directories their identity, as Kafka's storage tool does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

import click

from broker.cli.config_file import config_option, override_option, read_config
from broker.cli.errors import EnvironmentFailure, sentence
from broker.config.broker import BrokerConfig
from broker.disk.files import FileDisk
from broker.log.identity import (
    Identity,
    NotFormattedError,
    WrongDirectoryError,
    read_identity,
    text_of_id,
    write_identity,
)
from broker.metadata.ids import new_id


@click.command("format")
@config_option
@override_option
@click.option("--cluster-id", metavar="ID", help="22 letters; one is drawn if it is not given.")
@click.option("--ignore-formatted", is_flag=True, help="Leave formatted directories as they are.")
def format_directories(
    path: Path, overrides: Sequence[str], cluster_id: str | None, ignore_formatted: bool
) -> None:
    """Prepare the log directories for their first start."""
    config, _ = read_config(path, overrides)
    if cluster_id is not None and not _is_id(cluster_id):
        raise click.UsageError(
            f"--cluster-id {cluster_id!r} is not 16 bytes in 22 letters of URL-safe base64"
        )
    try:
        asyncio.run(_format(config, cluster_id, ignore_formatted))
    except WrongDirectoryError as error:
        raise EnvironmentFailure(str(error)) from None
    except OSError as error:
        raise EnvironmentFailure(f"cannot format: {sentence(error)}") from None


async def _format(config: BrokerConfig, cluster_id: str | None, ignore_formatted: bool) -> None:
    random = SystemRandom()
    disks = {path: FileDisk(path) for path in config.log_dirs}
    formatted: dict[str, Identity] = {}
    for path, disk in disks.items():
        with suppress(NotFormattedError):
            formatted[path] = await read_identity(disk, path)
    if formatted and not ignore_formatted:
        raise EnvironmentFailure(
            f"already formatted: {', '.join(formatted)}; --ignore-formatted leaves them as they are"
        )
    for path, identity in formatted.items():
        if identity.node_id != config.node_id:
            raise EnvironmentFailure(
                f"{path} belongs to node {identity.node_id}, but node.id is {config.node_id}"
            )
        if cluster_id not in (None, identity.cluster_id):
            raise EnvironmentFailure(f"{path} belongs to cluster {identity.cluster_id}")
        cluster_id = identity.cluster_id
    cluster_id = cluster_id or text_of_id(new_id(random))
    for path, disk in disks.items():
        if path not in formatted:
            identity = Identity(
                cluster_id=cluster_id,
                node_id=config.node_id,
                directory_id=text_of_id(new_id(random)),
            )
            await write_identity(disk, identity)
            click.echo(f"formatted {path} for node {config.node_id} of cluster {cluster_id}")
        await disk.close()


def _is_id(text: str) -> bool:
    """As Kafka's storage tool, which ignores what the last letter holds beyond 16 bytes."""
    return re.fullmatch(r"[A-Za-z0-9_-]{22}(==)?", text) is not None
