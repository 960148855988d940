"""How stories of consumer groups put partitions, records and replies into words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from broker.coordination.step import CoordinatorRecord
from broker.groups import records
from broker.groups.consumer.member import MemberState
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from tests.unit.broker.groups.consumer.desk import FakeTopics


class Words:
    def __init__(self, topics: FakeTopics) -> None:
        self._topics = topics
        self.names: dict[str, str] = {}
        """Of members that the broker gave their ids to."""
        self._names: dict[bytes, str] = {}
        """Also of topics that were deleted since."""

    def name(self, member_id: str) -> str:
        return self.names.get(member_id, member_id)

    def partitions(self, held: Mapping[bytes, Iterable[int]]) -> str:
        """`t-0 t-1`, or `nothing`."""
        found = sorted(
            (self._name(topic_id), number) for topic_id, them in held.items() for number in them
        )
        return " ".join(f"{name}-{number}" for name, number in found) or "nothing"

    def _name(self, topic_id: bytes) -> str:
        name = self._topics.topic_name(topic_id) or self._names.get(topic_id, "?")
        self._names[topic_id] = name
        return name

    def reply(self, name: str, response: m.ConsumerGroupHeartbeatResponse) -> str:
        if response.error_code:
            return f"{name}: {ErrorCode(response.error_code).name}"
        said = f"{name}: epoch {response.member_epoch}"
        if response.assignment is not None:
            assigned = {
                each.topic_id: each.partitions for each in response.assignment.topic_partitions
            }
            said += f", assigned {self.partitions(assigned)}"
        return said

    def record(self, record: CoordinatorRecord) -> Iterator[str]:
        kind, key = records.decode_key(record.key)
        value = None if record.value is None else records.decode_value(kind, record.value)
        what = self._written(kind, key, value)
        if what:
            yield f"  {'-' if value is None else '+'} {what}"

    def _written(self, kind: int, key: Any, value: Any) -> str:
        match kind:
            case records.GROUP_METADATA:
                return "classic group" + (
                    "" if value is None else f", generation {value.generation}"
                )
            case records.CONSUMER_GROUP_METADATA:
                return "group" if value is None else f"group epoch {value.epoch}"
            case records.CONSUMER_GROUP_MEMBER_METADATA:
                return f"member {self.name(key.member_id)}"
            case records.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA:
                return "target" if value is None else f"target of epoch {value.assignment_epoch}"
            case records.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
                return f"target of {self.name(key.member_id)}" + (
                    "" if value is None else f": {self._listed(value.topic_partitions)}"
                )
            case records.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
                return self.name(key.member_id) + (
                    "" if value is None else f": {self._current(value)}"
                )
            case records.CONSUMER_GROUP_REGULAR_EXPRESSION:
                matched = "" if value is None else f": {' '.join(value.topics) or 'no topic'}"
                return f"regex {key.regular_expression}{matched}"
            case _:
                return ""

    def _current(self, value: m.ConsumerGroupCurrentMemberAssignmentValue) -> str:
        said = f"epoch {value.member_epoch} {MemberState(value.state).name}"
        said += f" holds {self._listed(value.assigned_partitions)}"
        if value.partitions_pending_revocation:
            said += f", gives up {self._listed(value.partitions_pending_revocation)}"
        return said

    def _listed(self, topics: Iterable[Any]) -> str:
        return self.partitions({topic.topic_id: topic.partitions for topic in topics})
