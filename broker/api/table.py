"""Every API that this broker serves, with its versions. What is not here is not advertised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from broker.api.fetch import fetch
from broker.api.list_offsets import list_offsets
from broker.api.produce import produce
from broker.protocol.apis import API_VERSIONS, ApiKey


@dataclass(frozen=True, slots=True)
class Api:
    """`handler(node, request)` gives the answer, a coroutine for it, or None for no answer."""

    handler: Callable[[Any, Any], Any]
    version_min: int
    version_max: int
    may_be_abandoned: bool = False
    """Whether to give up when the client is gone: true for waiting, never for changing things."""


def _api(
    key: ApiKey, handler: Callable[[Any, Any], Any], *, may_be_abandoned: bool = False
) -> tuple[int, Api]:
    version_min, version_max = API_VERSIONS[key]
    return key, Api(handler, version_min, version_max, may_be_abandoned)


API_TABLE: Mapping[int, Api] = dict(
    [
        _api(ApiKey.PRODUCE, produce),
        _api(ApiKey.FETCH, fetch, may_be_abandoned=True),
        _api(ApiKey.LIST_OFFSETS, list_offsets, may_be_abandoned=True),
    ]
)
