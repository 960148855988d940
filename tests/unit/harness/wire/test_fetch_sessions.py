"""A fetch that names nothing is known by the session it belongs to."""

from __future__ import annotations

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from harness.wire.match import Drop, Matcher, MessageFault, MessageFaults
from harness.wire.message import Message
from harness.wire.tracker import ConnectionTracker
from tests.unit.harness.wire.builders import reply_frame, request_frame, tracker

TOPIC_ID = bytes(range(16))


class Follower:
    """Fetches over one connection, in the given version."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.connection: ConnectionTracker = tracker("n2", "n1")

    def fetch(
        self,
        session_id: int,
        epoch: int,
        *,
        named: tuple[int, ...] = (),
        forgotten: tuple[int, ...] = (),
    ) -> Message:
        parts = [m.FetchPartition(partition=index) for index in named]
        body = m.FetchRequest(
            session_id=session_id,
            session_epoch=epoch,
            topics=[m.FetchTopic(topic="t", topic_id=TOPIC_ID, partitions=parts)] if named else [],
            forgotten_topics_data=[
                m.ForgottenTopic(topic="t", topic_id=TOPIC_ID, partitions=list(forgotten))
            ]
            if forgotten
            else [],
        )
        return self.connection.request(request_frame(ApiKey.FETCH, self.version, body))

    def answer(self, session_id: int) -> Message:
        body = m.FetchResponse(session_id=session_id)
        return self.connection.reply(reply_frame(ApiKey.FETCH, self.version, body))


def partitions(message: Message) -> list[int]:
    return [
        index
        for index in range(5)
        if message.names.has_topic("t", index, lambda topic_id: "t" if topic_id else None)
    ]


@pytest.mark.parametrize("version", [7, 12, 13, 18])
def test_a_session_is_followed_through_its_changes(version: int) -> None:
    follower = Follower(version)
    assert partitions(follower.fetch(0, 0, named=(0, 1))) == [0, 1]
    follower.answer(55)
    silent = follower.fetch(55, 1)
    assert partitions(silent) == [0, 1]
    assert partitions(follower.fetch(55, 2, named=(1,))) == [0, 1]
    assert partitions(follower.fetch(55, 3, named=(3,))) == [0, 1, 3]
    assert partitions(follower.fetch(55, 4, forgotten=(0, 1))) == [3]
    assert partitions(follower.fetch(55, 5)) == [3]
    assert partitions(silent) == [0, 1], "what was once said of a message stays"


def test_the_reply_has_only_what_it_names() -> None:
    follower = Follower(12)
    follower.fetch(0, 0, named=(0,))
    follower.answer(55)
    follower.fetch(55, 1)
    assert partitions(follower.answer(55)) == []


def test_a_session_that_ended_or_was_never_given_is_not_remembered() -> None:
    follower = Follower(12)
    follower.fetch(0, 0, named=(0,))
    follower.answer(0)
    assert partitions(follower.fetch(0, 1)) == []
    follower.fetch(0, 0, named=(0,))
    follower.answer(55)
    assert partitions(follower.fetch(55, -1)) == []
    assert partitions(follower.fetch(55, 1)) == []


def test_a_fault_finds_the_nth_fetch_of_a_partition_in_a_session() -> None:
    follower = Follower(12)
    matcher = Matcher(api="Fetch", direction="request", topic="t", partition=0, nth=3)
    faults = MessageFaults([MessageFault("third", matcher, Drop())])
    decided = [faults.decide(follower.fetch(0, 0, named=(0,)))]
    follower.answer(55)
    decided += [faults.decide(follower.fetch(55, epoch)) for epoch in range(1, 4)]
    assert decided == [(), (), (Drop(),), ()]
