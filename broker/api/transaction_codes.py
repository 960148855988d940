"""Error codes of the transaction coordinator, as older clients know them."""

from __future__ import annotations

from broker.protocol.errors import ErrorCode


def for_version(code: int, version: int, first_with_fenced: int) -> ErrorCode:
    """PRODUCER_FENCED is younger than the APIs. Before it, INVALID_PRODUCER_EPOCH said the same."""
    if code == ErrorCode.PRODUCER_FENCED and version < first_with_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return ErrorCode(code)
