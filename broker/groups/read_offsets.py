"""What OffsetFetch reads of a group: a copy, taken in one step of the coordinator.

A request may name a hundred thousand partitions. It takes long to build their answers, and no other
request is served during a step. So the step only copies the dictionaries of the group's offsets,
which is quick, and the handler builds the answers from the copy in slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from broker.groups.group import Group
from broker.groups.offsets import CommittedOffsets, Partitions
from broker.groups.pending_offsets import PendingOffsets
from broker.protocol.errors import ErrorCode

_NONE_COMMITTED = -1
_NO_EPOCH = -1


class TopicAsked(Protocol):
    """A topic of a request, in any of its forms."""

    @property
    def name(self) -> str: ...
    @property
    def partition_indexes(self) -> Sequence[int]: ...


class GroupAsked(Protocol):
    """A group of a request, in any of its forms."""

    @property
    def group_id(self) -> str: ...
    @property
    def member_id(self) -> str | None: ...
    @property
    def member_epoch(self) -> int: ...
    @property
    def topics(self) -> Sequence[TopicAsked] | None: ...


class OffsetAnswer(NamedTuple):
    """The part of the answer about one partition."""

    offset: int = _NONE_COMMITTED
    leader_epoch: int = _NO_EPOCH
    metadata: str = ""
    error_code: int = ErrorCode.NONE


NONE_COMMITTED = OffsetAnswer()
_UNSTABLE = OffsetAnswer(error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)


class ReadOffsets(NamedTuple):
    """The offsets of one group, as they were when its coordinator was asked."""

    code: ErrorCode
    """Why the member may not read them; NONE if it may."""
    by_topic: Mapping[str, Partitions]
    """Offsets of the requested topics; topics without offsets are left out."""
    unstable: frozenset[tuple[str, int]]
    """Partitions with an offset of an open transaction, if the client requires stable offsets."""

    def find(self, topic: str, topic_id: bytes, partition: int) -> OffsetAnswer:
        """The answer about a partition.

        An offset of an earlier topic of that name does not count, unless the id is NO_TOPIC_ID.
        """
        if (topic, partition) in self.unstable:
            return _UNSTABLE
        partitions = self.by_topic.get(topic)
        found = None if partitions is None else partitions.get(partition)
        if found is None or not found.is_of(topic_id):
            return NONE_COMMITTED
        return OffsetAnswer(found.offset, found.leader_epoch, found.metadata)


def read_offsets(
    offsets: CommittedOffsets,
    pending: PendingOffsets,
    group: Group | None,
    body: GroupAsked,
    require_stable: bool,
) -> ReadOffsets:
    """Copy the offsets of the requested topics, or of all topics if the request names none.

    With `require_stable`, a partition that an open transaction has an offset of is answered with
    UNSTABLE_OFFSET_COMMIT. Otherwise the offset before that transaction counts.
    """
    if group is not None:
        code = group.check_fetch(body.member_id, body.member_epoch)
        if code:
            return ReadOffsets(code, {}, frozenset())
    known = offsets.of_group(body.group_id)
    names = known if body.topics is None else {each.name for each in body.topics} if known else ()
    by_topic = {name: dict(known[name]) for name in names if name in known}
    unstable: frozenset[tuple[str, int]] = frozenset()
    if require_stable and pending.has_group(body.group_id):
        asked = _partitions(body.topics, by_topic)
        unstable = frozenset(each for each in asked if (body.group_id, *each) in pending)
    return ReadOffsets(ErrorCode.NONE, by_topic, unstable)


def _partitions(
    topics: Sequence[TopicAsked] | None, by_topic: Mapping[str, Partitions]
) -> Iterator[tuple[str, int]]:
    if topics is None:
        return ((name, index) for name, partitions in by_topic.items() for index in partitions)
    return ((topic.name, index) for topic in topics for index in topic.partition_indexes)
