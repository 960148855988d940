"""Errors of our own client by the names that histories have."""

from __future__ import annotations

from harness.client.driver import DriverError
from harness.native.coordinator import CommitRefusedError
from harness.native.errors import BrokerError, ClientError, NoLeaderError


def driver_error(error: ClientError) -> DriverError:
    """What a broker's refusal of a write proves is judged by the table, as for every client."""
    if isinstance(error, BrokerError):
        is_certain = isinstance(error, CommitRefusedError)
        return DriverError(error.code.name, str(error), harmless=is_certain)
    name = "LEADER_NOT_AVAILABLE" if isinstance(error, NoLeaderError) else "NETWORK_EXCEPTION"
    return DriverError(name, str(error), harmless=error.is_definite)
