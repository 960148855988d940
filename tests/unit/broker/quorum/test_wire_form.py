"""The quorum's words survive Kafka's messages: what is said is what is heard."""

from __future__ import annotations

from typing import Any

import pytest

from broker.protocol import codec
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.errors import ErrorCode
from broker.quorum import wire_form
from broker.quorum.metadata_log import TOPIC
from broker.raft import events as e
from broker.raft.effects import AnnounceEnd, AnnounceLeader, AskVote
from tests.unit.broker.log.builders import batch


def sent(api_key: ApiKey, body: Any) -> Any:
    """The request as the other side decodes it."""
    version = API_VERSIONS[api_key][1]
    content = b"".join(bytes(each) for each in codec.encode_request(api_key, version, body))
    decoded, end = codec.decode_request(api_key, version, memoryview(content), 0)
    assert end == len(content)
    return decoded


def answered(api_key: ApiKey, body: Any) -> Any:
    version = API_VERSIONS[api_key][1]
    content = b"".join(bytes(each) for each in codec.encode_response(api_key, version, body))
    decoded, end = codec.decode_response(api_key, version, memoryview(content), 0)
    assert end == len(content)
    return decoded


@pytest.mark.parametrize("is_pre_vote", [True, False])
def test_a_request_for_a_vote(is_pre_vote: bool) -> None:
    api_key, body = wire_form.request_of(AskVote(2, 7, 5, 40, is_pre_vote), 1, "cluster")
    heard = sent(api_key, body)
    part = wire_form.only_partition(heard.topics)
    assert (api_key, heard.cluster_id, heard.voter_id) == (ApiKey.VOTE, "cluster", 2)
    assert (part.replica_id, part.replica_epoch, part.pre_vote) == (1, 7, is_pre_vote)
    assert (part.last_offset_epoch, part.last_offset) == (5, 40)


def test_a_new_leader_and_one_that_goes() -> None:
    _, begin = wire_form.request_of(AnnounceLeader(2, 7), 1, "cluster")
    part = wire_form.only_partition(sent(ApiKey.BEGIN_QUORUM_EPOCH, begin).topics)
    assert (part.leader_id, part.leader_epoch) == (1, 7)
    _, end = wire_form.request_of(AnnounceEnd(2, 7, (3, 2)), 1, "cluster")
    part = wire_form.only_partition(sent(ApiKey.END_QUORUM_EPOCH, end).topics)
    assert (part.leader_id, part.leader_epoch) == (1, 7)
    assert [each.candidate_id for each in part.preferred_candidates] == [3, 2]


def test_the_answer_to_a_vote_names_whom_it_answers() -> None:
    asked = AskVote(2, 7, 5, 40, is_pre_vote=True)
    told = m.VoteResponsePartitionData(
        partition_index=0, error_code=0, leader_id=-1, leader_epoch=7, vote_granted=True
    )
    body = m.VoteResponse(topics=[m.VoteResponseTopicData(topic_name=TOPIC, partitions=[told])])
    vote = e.VoteAnswer(7, None, True, ErrorCode.NONE)
    assert wire_form.event_of(asked, answered(ApiKey.VOTE, body)) == e.VoteAnswered(
        2, 7, True, vote
    )


@pytest.mark.parametrize(
    "body",
    [
        m.VoteResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID, topics=[]),
        m.VoteResponse(topics=[]),
        m.VoteResponse(topics=[m.VoteResponseTopicData(topic_name=TOPIC, partitions=[])]),
    ],
)
def test_an_answer_without_a_word_says_nothing(body: m.VoteResponse) -> None:
    asked = AskVote(2, 7, 5, 40, is_pre_vote=False)
    assert wire_form.event_of(asked, answered(ApiKey.VOTE, body)) is None


def test_a_fetch_says_where_its_log_ends() -> None:
    body = wire_form.fetch_request(
        e.FetchPosition(3, 7, 40, 5),
        node_id=1,
        cluster_id="cluster",
        high_watermark=38,
        max_wait_ms=500,
        max_bytes=1000,
    )
    heard = sent(ApiKey.FETCH, body)
    [part] = heard.topics[0].partitions
    assert heard.topics[0].topic_id == wire_form.TOPIC_ID
    assert (heard.cluster_id, heard.replica_state.replica_id) == ("cluster", 1)
    told = (part.current_leader_epoch, part.fetch_offset, part.last_fetched_epoch)
    assert told == (7, 40, 5)


RECORDS = bytes(batch(b"x"))


@pytest.mark.parametrize(
    ("answer", "records"),
    [
        (e.FetchAnswer(7, 2, high_watermark=40), RECORDS),
        (e.FetchAnswer(7, 2, high_watermark=40), b""),
        (e.FetchAnswer(7, 2, high_watermark=40, diverging=e.EpochEnd(5, 30)), b""),
        (e.FetchAnswer(7, 2, high_watermark=40, snapshot_id=e.SnapshotId(20, 4)), b""),
        (e.FetchAnswer(8, None, error=ErrorCode.FENCED_LEADER_EPOCH), b""),
    ],
)
def test_what_a_fetch_is_answered(answer: e.FetchAnswer, records: bytes) -> None:
    heard, brought = wire_form.fetch_answer(
        answered(ApiKey.FETCH, wire_form.fetch_response(answer, records))
    )
    assert heard == answer
    assert bytes(brought or b"") == records


def test_a_refused_fetch_brings_its_error_and_nothing_else() -> None:
    body = m.FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    heard, brought = wire_form.fetch_answer(answered(ApiKey.FETCH, body))
    assert (heard.error, heard.leader_id, brought) == (
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        None,
        None,
    )


def test_a_request_for_a_part_of_a_snapshot() -> None:
    source = e.SnapshotSource(2, 7, e.SnapshotId(20, 4))
    body = wire_form.snapshot_request(
        source, node_id=1, cluster_id="cluster", position=100, max_bytes=50
    )
    heard = sent(ApiKey.FETCH_SNAPSHOT, body)
    part = wire_form.only_partition(heard.topics)
    assert (heard.replica_id, heard.max_bytes, heard.cluster_id) == (1, 50, "cluster")
    assert (part.current_leader_epoch, part.position) == (7, 100)
    assert (part.snapshot_id.end_offset, part.snapshot_id.epoch) == (20, 4)


@pytest.mark.parametrize(
    ("batches", "goes_on"),
    [
        ([(40, 5), (41, 7)], True),
        ([(41, 7)], False),
        ([(39, 7)], False),
        ([(40, 5), (42, 7)], False),
        ([(40, 8)], False),
        ([(40, -1)], False),
    ],
)
def test_records_count_only_where_the_log_ends_and_up_to_the_leaders_epoch(
    batches: list[tuple[int, int]], goes_on: bool
) -> None:
    records = b"".join(batch(offset=offset, leader_epoch=epoch) for offset, epoch in batches)
    asked = e.FetchPosition(2, 7, 40, 5)
    assert wire_form.goes_on_from(asked, memoryview(records)) is goes_on
    assert not wire_form.goes_on_from(asked, memoryview(records)[:-1])
