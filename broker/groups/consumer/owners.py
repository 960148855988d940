"""Which member holds which partition: the table that keeps a partition from having two owners.

A member holds what is assigned to it and what it has not confirmed to have given up. Historical bug
KAFKA-16147: when a partition that a member was giving up was assigned to it again, its entry got
lost, the partition seemed free, and a second member received it.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.groups.consumer.member import Member
from broker.groups.consumer.partitions import Held


class Owners:
    def __init__(self) -> None:
        self._by_topic: dict[bytes, dict[int, str]] = {}

    def is_held(self, topic_id: bytes, number: int) -> bool:
        return number in self._by_topic.get(topic_id, ())

    def __iter__(self) -> Iterator[tuple[bytes, int, str]]:
        """Topic id, partition and the member that holds it, in no particular order."""
        for topic_id, holders in self._by_topic.items():
            for number, member_id in holders.items():
                yield topic_id, number, member_id

    def owner(self, topic_id: bytes, number: int) -> str | None:
        """The id of the member that holds the partition."""
        return self._by_topic.get(topic_id, {}).get(number)

    def change(self, before: Member | None, after: Member | None) -> None:
        """A member changed. First all it held is let go, then all it holds is entered."""
        if before is not None and after is not None and _holds_the_same(before, after):
            return
        if before is not None:
            self._release(before.assigned, before.member_id)
            self._release(before.revoking, before.member_id)
        if after is not None:
            self._take(after.assigned, after.member_id)
            self._take(after.revoking, after.member_id)

    def _take(self, held: Held, member_id: str) -> None:
        for topic_id, numbers in held.items():
            self._by_topic.setdefault(topic_id, {}).update(dict.fromkeys(numbers, member_id))

    def _release(self, held: Held, member_id: str) -> None:
        """Leaves alone what another member has taken: while records are replayed in an odd order,
        the one that is released later may have been the owner before."""
        for topic_id, numbers in held.items():
            topic = self._by_topic.get(topic_id, {})
            for number in numbers:
                if topic.get(number) == member_id:
                    del topic[number]
            if not topic:
                self._by_topic.pop(topic_id, None)


def _holds_the_same(before: Member, after: Member) -> bool:
    return before.assigned is after.assigned and before.revoking is after.revoking
