"""A consumer of the new group protocol: it owns partitions, and is slow to follow assignments.

It reports what it owns together with what it was assigned and will take. A consumer that left the
latter out could be taken at its word, lose the reply, and then follow an assignment that is void:
the protocol has no way to tell that apart, in Apache Kafka neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from tests.unit.broker.groups.consumer.desk import Desk

REBALANCE_TIMEOUT_MS = 30_000
Owned = frozenset[tuple[bytes, int]]

_REJOIN = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND)
_FATAL = (ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID)


@dataclass(slots=True)
class Client:
    """`owned` is what it reads from. It only shrinks when the client has given something up, and
    only grows by what a reply assigned."""

    member_id: str
    topics: list[str]
    regex: str | None = None
    instance_id: str | None = None
    epoch: int = 0
    owned: Owned = frozenset()
    assigned: Owned = frozenset()
    """The last assignment that a reply had."""
    is_gone: bool = False
    sends_all: bool = True
    """After joining and after errors it sends every field."""
    owes_report: bool = False
    """Whether it followed an assignment since it last reported what it owns."""
    has_news: bool = False
    sent: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    """Its requests so far, with their epochs."""
    changed_subscription: bool = False

    def beat(self, desk: Desk, *, reply_is_lost: bool = False) -> ErrorCode:
        """One heartbeat; a client that got no reply sends everything again."""
        fields = self._fields()
        self.sent.append((self.epoch, fields))
        response = desk.beat(self.member_id, self.epoch, **fields)
        if reply_is_lost:
            self.sends_all = True
            return ErrorCode.NONE
        code = ErrorCode(response.error_code)
        if code in _REJOIN:
            self._abandon()
        elif code in _FATAL:
            self._abandon()
            self.is_gone = True
        elif code:
            self.sends_all = True
        else:
            self._take(response)
        return code

    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"instance_id": self.instance_id}
        if self.sends_all or self.epoch == 0:
            fields["rebalance_timeout_ms"] = REBALANCE_TIMEOUT_MS
        if self.sends_all or self.epoch == 0 or self.changed_subscription:
            fields["subscribed_topic_names"] = self.topics
            fields["subscribed_topic_regex"] = self.regex or ""
        if self.sends_all or self.epoch == 0 or self.owes_report:
            fields["owned"] = by_topic(self.owned | self.assigned)
            self.owes_report = False
        self.sends_all = self.changed_subscription = False
        return fields

    def _take(self, response: m.ConsumerGroupHeartbeatResponse) -> None:
        self.epoch = response.member_epoch
        if response.assignment is not None:
            self.has_news = True
            self.assigned = frozenset(
                (topic.topic_id, number)
                for topic in response.assignment.topic_partitions
                for number in topic.partitions
            )

    def work(self) -> None:
        """Gives up what is not assigned any more; only then takes what is new."""
        kept = self.owned & self.assigned
        self.owned = self.assigned if kept == self.owned else kept
        self.owes_report = self.owes_report or self.has_news
        self.has_news = False

    def _abandon(self) -> None:
        self.owned = self.assigned = frozenset()
        self.epoch = 0
        self.sends_all = True

    def leave(self, desk: Desk, *, for_a_while: bool) -> None:
        epoch = -2 if for_a_while and self.instance_id is not None else -1
        self._abandon()
        self.is_gone = True
        desk.beat(self.member_id, epoch, instance_id=self.instance_id)


def by_topic(owned: Owned) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for topic_id, number in sorted(owned):
        found.setdefault(topic_id, []).append(number)
    return found
