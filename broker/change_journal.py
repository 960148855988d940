"""Which partitions of a node changed lately, in the order in which they did.

A follower of thousands of partitions would otherwise look at all of them to find the five in which
there is something new.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from broker.watchers import Watchers

if TYPE_CHECKING:
    from broker.partition import Partition

_LENGTH = 4096
"""Whoever falls back further looks at everything again."""


class ChangeJournal:
    __slots__ = ("_recent", "end", "watchers")

    def __init__(self) -> None:
        self.end = 0
        """How many changes there were."""
        self.watchers = Watchers()
        """Of what a follower may wait for: the end of a log, a role."""
        self._recent: deque[Partition] = deque(maxlen=_LENGTH)

    def note(self, partition: Partition) -> None:
        self._recent.append(partition)
        self.end += 1

    def since(self, position: int) -> list[Partition] | None:
        """What changed after the first `position` changes; None when that is too long ago."""
        count = self.end - position
        if count > len(self._recent):
            return None
        # From the end: a walk from the beginning would cost every fetch the whole journal.
        found = list(islice(reversed(self._recent), count))
        found.reverse()
        return found
