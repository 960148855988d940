"""Which protocol versions a run may ask its clients to speak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

_OPTION = "--protocol-versions"
_NEWEST = "newest"


def refuse_versions(chosen: Mapping[str, Any]) -> None:
    """UsageError for versions that nobody knows, or that the client does not choose."""
    said = chosen["protocol_versions"]
    if said == _NEWEST:
        return
    from harness.native.versions import versions_of
    from harness.registry import REGISTRY

    if chosen["on"] != "sim" and not REGISTRY.clients[chosen["client"]].chooses_versions:
        able = [name for name, kind in REGISTRY.clients.items() if kind.chooses_versions]
        raise click.UsageError(
            f"{_OPTION} {said}: --client {chosen['client']} chooses its versions itself; "
            f"try --client {' or '.join(able)}, or --on sim"
        )
    try:
        versions_of(said, chosen["seed"], "c1")
    except ValueError as error:
        raise click.UsageError(f"{_OPTION}: {error}") from None
