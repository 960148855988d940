"""What the rules of groups may ask about topics: the metadata image, seen through a keyhole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TopicsView(Protocol):
    """Answers by the present image. It may change between two steps, never within one.

    A change is announced to the machine by `GroupMachine.topics_changed`.
    """

    @property
    def version(self) -> int:
        """Grows with every change of the metadata: the offset up to which it was applied."""
        ...

    def partition_count(self, topic: str) -> int | None:
        """None when there is no such topic."""
        ...

    def topic_id(self, topic: str) -> bytes | None: ...

    def topic_name(self, topic_id: bytes) -> str | None: ...

    def names(self) -> Sequence[str]:
        """All topics, sorted."""
        ...

    def racks(self, topic: str, partition: int) -> Sequence[str]:
        """The racks that hold a replica of the partition, sorted."""
        ...
