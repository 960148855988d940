"""What a producer had on the wire: the size of each batch, and how much was in flight at most.

A `Traffic` covers some stretch of time and can be added to another one. Clients hand over what they
have counted about once a second, so a client that is killed loses the last second only. Every try
counts: a batch that is sent twice was on the wire twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(slots=True)
class Traffic:
    requests_max: int = 0
    """Most produce requests without a response at one moment."""
    batches_max: int = 0
    """Most batches in such requests."""
    records_max: int = 0
    """Most records in such requests."""
    batches: Counter[int] = field(default_factory=Counter)
    """Number of batches by the number of their records."""
    records: int = 0
    """In all of these batches."""
    bytes_total: int = 0
    """Size of all batches, as they were sent."""
    bytes_max: int = 0
    is_sampled: bool = False
    """Whether the maxima are those of samples, and the sizes estimates; otherwise all is exact."""

    def add(self, other: Traffic) -> None:
        self.requests_max = max(self.requests_max, other.requests_max)
        self.batches_max = max(self.batches_max, other.batches_max)
        self.records_max = max(self.records_max, other.records_max)
        self.batches.update(other.batches)
        self.records += other.records
        self.bytes_total += other.bytes_total
        self.bytes_max = max(self.bytes_max, other.bytes_max)
        self.is_sampled = self.is_sampled or other.is_sampled

    def __bool__(self) -> bool:
        return bool(self.batches or self.requests_max)

    def quantile(self, share: float) -> int:
        """Records in a batch that this share of all batches does not exceed; 0 without batches."""
        left = share * self.batches.total()
        for size in sorted(self.batches):
            left -= self.batches[size]
            if left <= 0:
                return size
        return 0

    @classmethod
    def read(cls, told: dict[str, Any]) -> Traffic:
        """From its fields by name, as msgspec writes them into a frame."""
        return cls(**{**told, "batches": Counter(told["batches"])})


class Meter:
    """Counts what is in flight now, for clients that know of each request."""

    def __init__(self) -> None:
        self._counted = Traffic()
        self._requests = self._batches = self._records = 0

    def sent(self, batches: Sequence[tuple[int, int]]) -> None:
        """A request leaves with batches of so many records and bytes."""
        records = sum(count for count, _ in batches)
        self._move(1, len(batches), records)
        counted = self._counted
        counted.records += records
        counted.requests_max = max(counted.requests_max, self._requests)
        counted.batches_max = max(counted.batches_max, self._batches)
        counted.records_max = max(counted.records_max, self._records)
        for count, size in batches:
            counted.batches[count] += 1
            counted.bytes_total += size
            counted.bytes_max = max(counted.bytes_max, size)

    def ended(self, batches: Sequence[tuple[int, int]]) -> None:
        """The same request has its response, or none will come."""
        self._move(-1, -len(batches), -sum(count for count, _ in batches))

    def _move(self, requests: int, batches: int, records: int) -> None:
        self._requests += requests
        self._batches += batches
        self._records += records

    def take(self) -> Traffic:
        """What was counted since the last call. Requests in flight stay in flight."""
        counted, self._counted = self._counted, Traffic()
        return counted


@runtime_checkable
class Metered(Protocol):
    """A client that counts its traffic. Clients need not."""

    def traffic(self) -> Traffic:
        """What was on the wire since the last call."""
        ...
