"""Lists: a partition is a list of values, appended to by sends and read as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from harness.client.base import Batching, Invocation
from harness.client.payload import value_of
from harness.cluster.base import NewTopic
from harness.cluster.parts import NO_PARTS
from workloads.base import Load
from workloads.logs import Logs

_PARTITIONS = 8
_ENDS = 1 / 64
_READS = _ENDS + 0.25
"""A read is as long as its list, so reads are the smaller part."""


class Append:
    """A partition is a list: appends go to its end, reads take all of it, up to its high watermark.

    One micro-operation to a transaction, because there are no transactions yet.
    """

    name = "append"
    consistency = (
        "each partition as a list: serializable and strong read committed; reads may be old"
    )
    is_polled = False
    needs = NO_PARTS
    checkers: tuple[str, ...] = (
        "list-append",
        "lost-append",
        "phantom-append",
        "duplicate",
        "inconsistent-offsets",
        "nonmonotonic-poll",
        "timestamp-order",
    )

    def __init__(self, load: Load) -> None:
        self._logs = Logs(load, ("append",), partitions=_PARTITIONS)

    @property
    def topics(self) -> Sequence[NewTopic]:
        return self._logs.topics

    def batching(self, client: int) -> Batching:
        return self._logs.batching(client)

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        return ()

    def operation(self, client: int, ordinal: int) -> Invocation:
        draw = self._logs.kinds[client].at(ordinal)
        if draw < _ENDS:
            # An append is not told its offset, so this says how far there is to read back.
            return Invocation("end-offsets", list(self._logs.keys))
        key = self._logs.key(client, ordinal)
        if draw < _READS:
            return Invocation("txn", [["r", key, None]])
        return self.write(client, ordinal, key)

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return Invocation("txn", [["append", key, value_of(client, ordinal)]])

    def drained_keys(self, client: int) -> Sequence[str]:
        return self._logs.drained_keys(client)

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        """The lists as they are in the end: polls show what is there, and a read in which order."""
        return tuple(
            Invocation("txn", [["r", key, None]]) for key in self._logs.drained_keys(client)
        )
