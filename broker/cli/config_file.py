"""Reads server.properties from the command line's options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from broker.cli.errors import EnvironmentFailure
from broker.config.broker import BrokerConfig
from broker.config.errors import ConfigError

config_option = click.option(
    "--config",
    "path",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="server.properties, by Kafka's names.",
)
override_option = click.option(
    "--override",
    "overrides",
    multiple=True,
    metavar="NAME=VALUE",
    help="A property that wins over the file; may be given several times.",
)


def read_config(path: Path, overrides: Sequence[str]) -> tuple[BrokerConfig, list[str]]:
    """The configuration and its warnings. Every mistake in it is told at once."""
    pairs: dict[str, str] = {}
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"--override {override!r} is not NAME=VALUE")
        pairs[name.strip()] = value.strip()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EnvironmentFailure(f"cannot read {path}: {error.strerror}") from None
    try:
        # Java reads Latin-1; people write UTF-8.
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    try:
        return BrokerConfig.parse(text, str(path), pairs)
    except ConfigError as error:
        raise click.UsageError(f"the configuration is refused\n{error}") from None
