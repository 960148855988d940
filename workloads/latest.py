"""Where partitions begin and end, beside sends and polls."""

from __future__ import annotations

from collections.abc import Sequence

from harness.client.base import Batching, Invocation
from harness.cluster.base import NewTopic
from harness.cluster.parts import NO_PARTS
from workloads.base import Load
from workloads.logs import LOG_CHECKERS, POLL, Logs

_PARTITIONS = 4
_ASSIGNS = 1 / 64
_ENDS = _ASSIGNS + 1 / 4
_SENDS = _ENDS + 1 / 2
_END_OFFSETS = Invocation("end-offsets")


class Latest:
    """Asks where partitions begin and end while they grow: log start, watermark, stable offset."""

    name = "latest"
    consistency = (
        "each partition: linearizable appends, monotonic reads, and an end that never goes back "
        "for the client that was told it"
    )
    is_polled = True
    needs = NO_PARTS
    checkers = (*LOG_CHECKERS, "watermark-regression")

    def __init__(self, load: Load) -> None:
        self._logs = Logs(load, ("latest",), partitions=_PARTITIONS)

    @property
    def topics(self) -> Sequence[NewTopic]:
        return self._logs.topics

    def batching(self, client: int) -> Batching:
        return self._logs.batching(client)

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return self._logs.opening(client, process)

    def operation(self, client: int, ordinal: int) -> Invocation:
        draw = self._logs.kinds[client].at(ordinal)
        if draw < _ASSIGNS:
            return self._logs.assign(client, ordinal)
        if draw < _ENDS:
            return _END_OFFSETS
        return self._logs.send(client, ordinal) if draw < _SENDS else POLL

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return self._logs.write(client, ordinal, key)

    def drained_keys(self, client: int) -> Sequence[str]:
        return self._logs.drained_keys(client)

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        return ()
