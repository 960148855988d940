"""A group machine with a log, topics and a clock that stands still: the shell, in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from broker.coordination.step import CoordinatorRecord, Now, Step, Ticket
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.groups import failed
from broker.groups.consumer.request_check import check_request
from broker.groups.group import GroupClient
from broker.groups.machine import GroupMachine
from broker.groups.settings import GroupSettings
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

SETTINGS = GroupSettings(group_consumer_assignment_interval_ms=0)
"""As Kafka's, but every epoch gets its target at once."""
GROUP = "g"
CLIENT = GroupClient("client", "/10.0.0.1")


class FakeTopics:
    """Implements TopicsView. A topic's id tells how many topics were made before it."""

    def __init__(self) -> None:
        self._topics: dict[str, tuple[bytes, int]] = {}
        self.racks_of: dict[str, list[list[str]]] = {}
        self.last_ids: dict[str, bytes] = {}
        """Also of topics that were deleted since."""
        self.version = 0

    def put(self, name: str, count: int) -> None:
        self.version += 1
        topic_id = self.topic_id(name) or self.version.to_bytes(16, "big")
        self._topics[name] = topic_id, count
        self.last_ids[name] = topic_id

    def delete(self, name: str) -> None:
        self.version += 1
        del self._topics[name]

    def partition_count(self, topic: str) -> int | None:
        return self._topics[topic][1] if topic in self._topics else None

    def topic_id(self, topic: str) -> bytes | None:
        return self._topics[topic][0] if topic in self._topics else None

    def topic_name(self, topic_id: bytes) -> str | None:
        return next((name for name, (known, _) in self._topics.items() if known == topic_id), None)

    def names(self) -> Sequence[str]:
        return sorted(self._topics)

    def racks(self, topic: str, partition: int) -> Sequence[str]:
        racks = self.racks_of.get(topic, [])
        return racks[partition] if partition < len(racks) else []


class Desk:
    def __init__(self, settings: GroupSettings = SETTINGS, **topics: int) -> None:
        self.settings = settings
        self.topics = FakeTopics()
        self.log: list[CoordinatorRecord] = []
        self.now = Now(100.0, 1_000_000)
        self.refuses = ErrorCode.NONE
        """What the log answers to appends."""
        self.waiting: dict[Ticket, Callable[[Any], None]] = {}
        """Requests that may be answered later, with what is called then."""
        self._ids = 0
        self.machine = self._machine()
        for name, count in topics.items():
            self.put_topic(name, count)

    def _machine(self) -> GroupMachine:
        return GroupMachine(self.settings, self.topics, self._new_uuid)

    def _new_uuid(self) -> str:
        self._ids += 1
        return f"id{self._ids}"

    @property
    def group(self) -> ConsumerGroup:
        return self.machine.consumer_groups.find(GROUP)

    def topic_id(self, name: str) -> bytes:
        found = self.topics.topic_id(name)
        assert found is not None, name
        return found

    # Steps

    def take(self, step: Step) -> list[Any]:
        """Carries out a step; the responses, in order, of requests that nobody waits for."""
        if step.records and self.refuses:
            step = step.refused(self.refuses, self.now) if step.refused else Step()
            assert not step.records
        self.log += step.records
        for record in step.records:
            self.machine.replay(record)
        responses = []
        for reply in step.replies:
            answered = self.waiting.pop(reply.ticket, None)
            if answered is None:
                responses.append(reply.response)
            else:
                answered(reply.response)
        return responses

    def ask(self, run: Callable[[GroupMachine, Ticket, Now], Step]) -> Any:
        [response] = self.take(run(self.machine, Ticket(), self.now))
        return response

    def beat(
        self, member_id: str, epoch: int, *, version: int = 1, group: str = GROUP, **fields: Any
    ) -> m.ConsumerGroupHeartbeatResponse:
        """One heartbeat. `owned` says which partitions it lists, by topic."""
        owned = fields.pop("owned", None)
        client = fields.pop("client", CLIENT)
        body = m.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member_id,
            member_epoch=epoch,
            topic_partitions=None if owned is None else self._listed(owned),
            **fields,
        )
        try:
            check_request(body, version, self.settings.group_consumer_assignors)
        except KafkaError as problem:
            return failed(problem.code, problem.message)
        response: m.ConsumerGroupHeartbeatResponse = self.ask(
            lambda machine, ticket, now: machine.consumer_group_heartbeat(ticket, body, client, now)
        )
        return response

    def join(self, member_id: str, *topics: str, **fields: Any) -> m.ConsumerGroupHeartbeatResponse:
        defaults: dict[str, Any] = {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": list(topics),
        }
        return self.beat(member_id, 0, owned={}, **(defaults | fields))

    def _listed(
        self, owned: dict[str | bytes, Sequence[int]]
    ) -> list[m.ConsumerGroupHeartbeatRequestTopicPartitions]:
        return [
            m.ConsumerGroupHeartbeatRequestTopicPartitions(
                topic_id=name if isinstance(name, bytes) else self._id_or_unknown(name),
                partitions=list(numbers),
            )
            for name, numbers in owned.items()
        ]

    def _id_or_unknown(self, name: str) -> bytes:
        return self.topics.last_ids.get(name) or name.encode().ljust(16, b"?")

    def assigned(self, response: m.ConsumerGroupHeartbeatResponse) -> dict[str, list[int]] | None:
        """The assignment of a response, with the names of topics."""
        if response.assignment is None:
            return None
        return {
            self.topics.topic_name(each.topic_id) or "?": each.partitions
            for each in response.assignment.topic_partitions
        }

    # What happens

    def wait(self, seconds: float) -> None:
        """Lets time pass, and carries out what becomes due on the way."""
        until = self.now.loop_s + seconds
        while (due := self.machine.deadline_s) is not None and due <= until:
            self._advance_to(max(due, self.now.loop_s))
            self.take(self.machine.tick(self.now))
        self._advance_to(until)

    def _advance_to(self, loop_s: float) -> None:
        passed_ms = round((loop_s - self.now.loop_s) * 1000)
        self.now = self.now._replace(loop_s=loop_s, wall_ms=self.now.wall_ms + passed_ms)

    def put_topic(self, name: str, count: int) -> None:
        self.topics.put(name, count)
        self.take(self.machine.topics_changed([name], [], self.now))

    def delete_topic(self, name: str) -> None:
        self.topics.delete(name)
        self.take(self.machine.topics_changed([], [name], self.now))

    def compact(self) -> None:
        """Keeps the last record of each key, tombstones too."""
        last = {record.key: place for place, record in enumerate(self.log)}
        self.log = [record for place, record in enumerate(self.log) if last[record.key] == place]

    def loaded(self) -> GroupMachine:
        """A machine that has replayed the log."""
        machine = self._machine()
        for record in self.log:
            machine.replay(record)
        return machine

    def fail_over(self) -> None:
        """Another node becomes the coordinator."""
        self.machine = self.loaded()
        self.take(self.machine.loaded(self.now))
