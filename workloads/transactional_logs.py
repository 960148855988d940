"""What workloads with transactions have in common: logs, and producers with transactional ids."""

from __future__ import annotations

from collections.abc import Sequence

from harness.client.base import Batching
from harness.cluster.base import NewTopic
from workloads.logs import Logs
from workloads.producers import Producers


class TransactionalLogs:
    def __init__(self, logs: Logs, producers: Producers) -> None:
        self._logs = logs
        self._producers = producers

    @property
    def transactional_ids(self) -> Sequence[str]:
        return self._producers.ids

    @property
    def expiry_ms(self) -> int:
        return self._producers.expiry_ms

    @property
    def topics(self) -> Sequence[NewTopic]:
        return self._logs.topics

    def batching(self, client: int) -> Batching:
        return self._logs.batching(client)
