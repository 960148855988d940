"""One row of a table of APIs: who answers, in which versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broker.protocol.apis import API_VERSIONS, ApiKey


@dataclass(frozen=True, slots=True)
class Api:
    """`handler(node, request)` gives the answer, a coroutine or a `Later` for it, or None for no
    answer."""

    handler: Callable[[Any, Any], Any]
    version_min: int
    version_max: int
    may_be_abandoned: bool = False
    """Whether to give up when the client is gone: true for waiting, never for changing things."""


def served(
    key: ApiKey,
    handler: Callable[[Any, Any], Any],
    *,
    may_be_abandoned: bool = False,
    up_to: int | None = None,
) -> tuple[int, Api]:
    """In all versions of the schema, or `up_to` the last one that Kafka calls stable."""
    version_min, version_max = API_VERSIONS[key]
    last = version_max if up_to is None else up_to
    return key, Api(handler, version_min, last, may_be_abandoned)
