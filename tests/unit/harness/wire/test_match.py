"""A fault hits the messages it was meant for, and no others."""

from __future__ import annotations

import math
from typing import Any

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.wire.match import (
    Delay,
    Drop,
    Duplicate,
    Matcher,
    MessageFault,
    MessageFaultError,
    MessageFaults,
    ReplaceByError,
)
from harness.wire.message import Message
from tests.unit.harness.wire.builders import (
    end_txn,
    reply,
    reply_frame,
    request,
    request_frame,
    tracker,
)

TOPIC_ID = bytes(range(16))


def drop(**wanted: Any) -> MessageFaults:
    return MessageFaults([MessageFault("f", Matcher(**wanted), Drop(), times=None)])


def fetch(version: int, topic: str = "t", topic_id: bytes = TOPIC_ID, partition: int = 0) -> Any:
    topics = [
        m.FetchTopic(
            topic=topic, topic_id=topic_id, partitions=[m.FetchPartition(partition=partition)]
        )
    ]
    return request(ApiKey.FETCH, version, m.FetchRequest(topics=topics))


@pytest.mark.parametrize(
    ("wanted", "hit"),
    [
        ({}, True),
        ({"api": "EndTxn"}, True),
        ({"api": "END_TXN"}, True),
        ({"api": 26}, True),
        ({"api": "Produce"}, False),
        ({"api": ["Produce", "EndTxn"]}, True),
        ({"api": ["Produce", "Fetch"]}, False),
        ({"direction": "request"}, True),
        ({"direction": "reply"}, False),
        ({"source": "client"}, True),
        ({"source": "n1"}, False),
        ({"target": "n1"}, True),
        ({"target": "client"}, False),
        ({"node": "n1"}, True),
        ({"node": "client"}, True),
        ({"node": "n2"}, False),
        ({"client_id": "tester"}, True),
        ({"client_id": "other"}, False),
        ({"transactional_id": "tx-7"}, True),
        ({"transactional_id": "tx-8"}, False),
        ({"group": "g"}, False),
        ({"topic": "t"}, False),
        ({"partition": 0}, False),
        ({"api": "EndTxn", "node": "n1", "transactional_id": "tx-7"}, True),
        ({"api": "EndTxn", "node": "n2", "transactional_id": "tx-7"}, False),
    ],
)
def test_every_property_that_is_given_must_fit(wanted: dict[str, Any], hit: bool) -> None:
    assert drop(**wanted).decide(end_txn()) == ((Drop(),) if hit else ())


def test_a_topic_is_found_by_its_id_when_somebody_knows_the_name() -> None:
    fault = MessageFault("f", Matcher(api="Fetch", topic="t", partition=0), Drop(), times=None)
    knowing = MessageFaults([fault], topic_name_of={TOPIC_ID: "t"}.get)
    assert knowing.decide(fetch(17)) == (Drop(),)
    assert knowing.decide(fetch(17, topic_id=bytes(15) + b"x")) == ()
    assert knowing.decide(fetch(17, partition=1)) == ()
    assert MessageFaults([fault]).decide(fetch(17)) == ()
    assert MessageFaults([fault]).decide(fetch(12)) == (Drop(),)


@pytest.mark.parametrize("source", ["Metadata", "CreateTopics", "DescribeTopicPartitions"])
def test_a_topics_id_is_learned_from_a_reply_that_passes_by(source: str) -> None:
    told = {
        "Metadata": reply(
            ApiKey.METADATA,
            12,
            m.MetadataRequest(),
            m.MetadataResponse(topics=[m.MetadataResponseTopic(name="t", topic_id=TOPIC_ID)]),
        ),
        "CreateTopics": reply(
            ApiKey.CREATE_TOPICS,
            7,
            m.CreateTopicsRequest(),
            m.CreateTopicsResponse(topics=[m.CreatableTopicResult(name="t", topic_id=TOPIC_ID)]),
        ),
        "DescribeTopicPartitions": reply(
            ApiKey.DESCRIBE_TOPIC_PARTITIONS,
            0,
            m.DescribeTopicPartitionsRequest(),
            m.DescribeTopicPartitionsResponse(
                topics=[m.DescribeTopicPartitionsResponseTopic(name="t", topic_id=TOPIC_ID)]
            ),
        ),
    }
    faults = drop(api="Fetch", topic="t")
    assert faults.decide(fetch(17)) == ()
    assert faults.decide(told[source]) == ()
    assert faults.decide(fetch(17)) == (Drop(),)


def test_partition_and_topic_must_belong_together() -> None:
    topics = [
        m.FetchTopic(topic=name, partitions=[m.FetchPartition(partition=index)])
        for name, index in (("a", 0), ("b", 1))
    ]
    message = request(ApiKey.FETCH, 12, m.FetchRequest(topics=topics))
    for topic, partition, hit in (("a", 0, True), ("a", 1, False), ("b", 1, True)):
        assert bool(drop(topic=topic, partition=partition).decide(message)) == hit


def test_the_nth_counts_only_what_matches_the_rest() -> None:
    matcher = Matcher(api="EndTxn", transactional_id="tx-7", nth=3)
    faults = MessageFaults([MessageFault("late", matcher, Delay(2.5))])
    ids = ["tx-7", "tx-8", "tx-7", "tx-8", "tx-7", "tx-7"]
    decided = [faults.decide(end_txn(each)) for each in ids]
    assert decided == [(), (), (), (), (Delay(2.5),), ()]
    assert faults.hits("late") == 1


def test_a_commit_is_told_from_an_abort() -> None:
    commit, abort = (
        request(ApiKey.END_TXN, 5, m.EndTxnRequest(transactional_id="tx-7", committed=each))
        for each in (True, False)
    )
    for wanted in (True, False):
        faults = drop(api="EndTxn", committed=wanted)
        assert [bool(faults.decide(each)) for each in (commit, abort)] == [wanted, not wanted]
    answered = drop(api="EndTxn", direction="reply", committed=True)
    watched = tracker()
    for is_commit in (True, False):
        asked = m.EndTxnRequest(transactional_id="tx-7", committed=is_commit)
        watched.request(request_frame(ApiKey.END_TXN, 5, asked))
        seen = watched.reply(reply_frame(ApiKey.END_TXN, 5, m.EndTxnResponse()))
        assert bool(answered.decide(seen)) == is_commit
    for api in (None, "Produce", ["EndTxn", "Produce"]):
        with pytest.raises(MessageFaultError, match="only an EndTxn says whether it commits"):
            Matcher(api=api, committed=True)


def test_answers_to_requests_that_were_hit_are_counted_by_error() -> None:
    matcher = Matcher(api="EndTxn", direction="request")
    faults = MessageFaults([MessageFault("late", matcher, Delay(1), times=2)])
    watched = tracker()
    codes = (ErrorCode.PRODUCER_FENCED, ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE)
    for code in codes:  # the third one is not hit
        faults.decide(watched.request(request_frame(ApiKey.END_TXN, 5, m.EndTxnRequest())))
        answer = m.EndTxnResponse(error_code=int(code))
        faults.decide(watched.reply(reply_frame(ApiKey.END_TXN, 5, answer)))
    assert faults.answers("late") == {"PRODUCER_FENCED": 1, "NONE": 1}
    assert faults.answers("never added") == {}


def test_a_fault_stops_after_its_times() -> None:
    for times, nth, expected in ((1, None, "x..."), (2, 2, ".xx."), (None, 2, ".xxx")):
        fault = MessageFault("f", Matcher(nth=nth), Drop(), times=times)
        faults = MessageFaults([fault])
        hits = "".join("x" if faults.decide(end_txn()) else "." for _ in range(4))
        assert hits == expected


def test_faults_count_apart_and_act_in_their_order() -> None:
    first = MessageFault("first", Matcher(api="EndTxn"), Delay(1), times=2)
    second = MessageFault("second", Matcher(nth=2), Delay(2))
    faults = MessageFaults([first, second])
    decided = [faults.decide(end_txn()) for _ in range(3)]
    assert decided == [(Delay(1),), (Delay(1), Delay(2)), ()]
    counts = {name: (count.matched, count.hit) for name, count in faults.counts().items()}
    assert counts == {"first": (2, 2), "second": (2, 1)}


def test_a_fault_that_met_nothing_says_so() -> None:
    faults = drop(api="Produce")
    faults.decide(end_txn())
    assert faults.hits("f") == 0


def test_a_removed_fault_keeps_its_counts() -> None:
    faults = drop(api="EndTxn")
    faults.decide(end_txn())
    faults.remove("f")
    faults.remove("f")
    assert faults.decide(end_txn()) == ()
    assert faults.hits("f") == 1
    with pytest.raises(MessageFaultError, match="of that name before"):
        faults.add(MessageFault("f", Matcher(), Drop()))


class Unreadable(Message):
    """Fails when somebody decodes it."""

    @property
    def body(self) -> Any:
        raise AssertionError("decoded")


@pytest.mark.parametrize(
    ("wanted", "hit"),
    [({"api": "EndTxn"}, "a3"), ({"api": "EndTxn", "transactional_id": "tx"}, "a2")],
)
def test_the_nth_of_anything_is_counted_on_each_connection(
    wanted: dict[str, Any], hit: str
) -> None:
    """Messages elsewhere do not move it along, unless the matcher says what it is after."""
    faults = MessageFaults([MessageFault("f", Matcher(**wanted, nth=3), Drop())])
    body = m.EndTxnRequest(transactional_id="tx")
    connections = {name: tracker(name) for name in ("a", "b")}
    hits = [
        f"{name}{number}"
        for name, number in (("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3), ("b", 3))
        if faults.decide(connections[name].request(request_frame(ApiKey.END_TXN, 3, body)))
    ]
    assert hits == [hit]


def test_bodies_are_left_alone_unless_a_matcher_asks() -> None:
    message = Unreadable(
        direction="request",
        source="client",
        target="n1",
        connection="c",
        api_key=ApiKey.END_TXN,
        api_version=3,
        correlation_id=1,
        client_id="tester",
        frame=b"",
    )
    for wanted in ({"api": "Produce", "topic": "t"}, {"topic": "t", "node": "n2"}, {"api": 26}):
        drop(**wanted).decide(message)
    with pytest.raises(AssertionError, match="decoded"):
        drop(api=26, topic="t").decide(message)


def test_duplicates_are_of_requests_and_errors_in_replies() -> None:
    connection = tracker()
    body = m.EndTxnRequest(transactional_id="x")
    asked = connection.request(request_frame(ApiKey.END_TXN, 3, body))
    answered = connection.reply(reply_frame(ApiKey.END_TXN, 3, m.EndTxnResponse()))
    for action, hit, missed in (
        (Duplicate(1.0), asked, answered),
        (ReplaceByError(ErrorCode.CONCURRENT_TRANSACTIONS), answered, asked),
    ):
        faults = MessageFaults([MessageFault("f", Matcher(), action, times=None)])
        assert faults.decide(missed) == ()
        assert faults.decide(hit) == (action,)


def test_the_reply_to_our_own_copy_is_nobodys_business() -> None:
    connection = tracker()
    body = m.EndTxnRequest(transactional_id="x")
    original = connection.request(request_frame(ApiKey.END_TXN, 3, body))
    connection.copied(original)
    frame = reply_frame(ApiKey.END_TXN, 3, m.EndTxnResponse())
    faults = drop(api="EndTxn", direction="reply")
    assert [faults.decide(connection.reply(frame)) for _ in range(2)] == [(Drop(),), ()]


def test_a_reply_without_room_for_an_error_is_no_hit() -> None:
    matcher = Matcher(api="Fetch")
    error = ReplaceByError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    faults = MessageFaults([MessageFault("f", matcher, error)])
    assert faults.decide(reply(ApiKey.FETCH, 4, m.FetchRequest(), m.FetchResponse())) == ()
    assert faults.hits("f") == 0
    assert faults.decide(reply(ApiKey.FETCH, 7, m.FetchRequest(), m.FetchResponse())) == (error,)


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: Matcher(api="EndTx"), "no api is called 'EndTx'; did you mean EndTxn"),
        (lambda: Matcher(api="zzzzzz"), "try one of Kafka's names"),
        (lambda: Matcher(api=999), "no api has the key 999"),
        (lambda: Matcher(nth=0), "nth is 0; the first message that matches is number 1"),
        (lambda: Matcher(partition=-1), "partitions are counted from 0"),
        (lambda: Matcher(direction="up"), "direction is 'up'"),  # type: ignore[arg-type]
        (lambda: Delay(-1), "a delay is -1 s"),
        (lambda: Delay(math.nan), "a delay is nan s"),
        (lambda: Duplicate(math.inf), "inf s"),
        (lambda: ReplaceByError(ErrorCode.NONE), "NONE is no error"),
        (lambda: MessageFault("", Matcher(), Drop()), "has no name"),
        (lambda: MessageFault("f", Matcher(), Drop(), times=0), "message fault 'f': times is 0"),
        (
            lambda: MessageFault("f", Matcher(direction="reply"), Duplicate()),
            "message fault 'f': a reply cannot be duplicated, .*; duplicate the request",
        ),
        (
            lambda: MessageFault(
                "f", Matcher(direction="request"), ReplaceByError(ErrorCode.CORRUPT_MESSAGE)
            ),
            "a request cannot be replaced by an error; match its reply",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_way_out(build: Any, told: str) -> None:
    with pytest.raises(MessageFaultError, match=told):
        build()
