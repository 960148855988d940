"""What a broker's configuration says about transactions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    max_timeout_ms: int = 900_000
    id_expiration_ms: int = 604_800_000
    timeout_check_interval_ms: int = 10_000
    expiry_check_interval_ms: int = 3_600_000
