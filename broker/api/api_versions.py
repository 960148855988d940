"""ApiVersions: what this broker speaks; the first request of nearly every client."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.protocol import messages as m
from broker.protocol.apis import ADVERTISED_FIRST_VERSION, ApiKey
from broker.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from broker.node import Node

_FIRST_VERSION_WITH_SOFTWARE = 3
_FIRST_VERSION_WITH_FEATURES_FROM_ZERO = 4
"""Older clients take 0 as the first version of a feature for an error (KAFKA-17011)."""
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")

_FEATURES = {
    # Kafka's number for the metadata of 4.0, and the oldest from which 4.x can be upgraded.
    "metadata.version": (7, 25),
    # 1: groups may use the new consumer protocol (KIP-848).
    "group.version": (0, 1),
    # 2: every transaction has an epoch of its own, and brokers add its partitions (KIP-890).
    "transaction.version": (0, 2),
}
"""The versions that are supported. The last one of each is always in use."""


def api_versions(node: Node, request: Request[m.ApiVersionsRequest]) -> m.ApiVersionsResponse:
    """A version from the future is answered with the list, in the form of version 0."""
    keys = _advertised(at_controller=request.listener in node.config.controller_listener_names)
    own = next(key for key in keys if key.api_key == ApiKey.API_VERSIONS)
    if not own.min_version <= request.version <= own.max_version:
        return m.ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=list(keys))
    body = request.body
    if request.version >= _FIRST_VERSION_WITH_SOFTWARE and not (
        _SOFTWARE.match(body.client_software_name) and _SOFTWARE.match(body.client_software_version)
    ):
        return m.ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return m.ApiVersionsResponse(
        api_keys=list(keys),
        supported_features=[
            m.SupportedFeatureKey(name=name, min_version=first, max_version=last)
            for name, (first, last) in _FEATURES.items()
            if first > 0 or request.version >= _FIRST_VERSION_WITH_FEATURES_FROM_ZERO
        ],
        finalized_features_epoch=max(0, node.metadata.applied_offset - 1),
        finalized_features=[
            m.FinalizedFeatureKey(name=name, min_version_level=last, max_version_level=last)
            for name, (_, last) in _FEATURES.items()
        ],
    )


@cache
def _advertised(*, at_controller: bool) -> tuple[m.ApiVersion, ...]:
    # The tables name this handler among the others, so they can only be asked for later.
    from broker.api.controller_table import CONTROLLER_TABLE
    from broker.api.table import API_TABLE

    table = CONTROLLER_TABLE if at_controller else API_TABLE
    return tuple(
        m.ApiVersion(
            api_key=key,
            min_version=ADVERTISED_FIRST_VERSION.get(ApiKey(key), api.version_min),
            max_version=api.version_max,
        )
        for key, api in sorted(table.items())
    )
