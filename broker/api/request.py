"""One request as a handler sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from broker.network.interface import Address

Body = TypeVar("Body")

HERE = Address("here", 0)
"""The peer of a request that came from this very process."""


@dataclass(slots=True)
class Request(Generic[Body]):
    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    peer: Address
    body: Body
    listener: str = ""  # the name of the one that the client came by


class CloseConnectionError(Exception):
    """The only answer that the protocol has here is to close the connection."""
