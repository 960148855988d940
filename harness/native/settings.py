"""How patient our client is. The defaults are those of Kafka's clients unless they say why not."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from harness.native.request_log import RequestLog
from harness.native.versions import NEWEST_OF_BOTH, Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    client_id: str = "harness"
    versions: Versions = NEWEST_OF_BOTH
    requests: RequestLog | None = None
    """Is told what became of each request; None for nobody."""

    connect_timeout_s: float = 10.0
    request_timeout_s: float = 30.0
    metadata_timeout_s: float = 3.0
    """For one node. Shorter than Kafka's: there are others to ask."""
    call_timeout_s: float = 60.0
    """For a call with all its retries, where the caller does not say otherwise."""
    delivery_timeout_s: float = 120.0

    reconnect_backoff_s: float = 0.05
    reconnect_backoff_max_s: float = 1.0
    retry_backoff_s: float = 0.1
    retry_backoff_max_s: float = 1.0


class Backoff:
    """Twice as long after each failure, up to a limit, and one fifth more or less by chance."""

    def __init__(self, first_s: float, longest_s: float, random: Random) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._random = random

    def after(self, failures: int) -> float:
        if failures == 0:
            return 0.0
        # Failures may be many, and a power of two grows beyond every float.
        doublings = min(failures - 1, 30)
        delay_s = min(self._longest_s, self._first_s * float(1 << doublings))
        return delay_s * self._random.uniform(0.8, 1.2)
