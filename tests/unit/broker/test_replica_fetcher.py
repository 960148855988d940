"""One fetch session with one leader: what is asked, what is taken, and what rests."""

from __future__ import annotations

import asyncio
import errno
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple, cast

import pytest

from broker.partition import Partition
from broker.peers.backoff import Backoff
from broker.peers.channel import Channel, UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replica_fetcher import FetcherSettings, ReplicaFetcher
from broker.replication.fetch_check import Diverging
from broker.replication.follower import Answer, Question
from tests.virtual_time import in_virtual_time

SESSION = 55


class Asked(NamedTuple):
    body: m.FetchRequest
    outcome: asyncio.Future[m.FetchResponse]

    @property
    def session(self) -> tuple[int, int]:
        return self.body.session_id, self.body.session_epoch

    @property
    def replica(self) -> tuple[int, int]:
        assert self.body.replica_state is not None
        return self.body.replica_state.replica_id, self.body.replica_state.replica_epoch

    @property
    def partitions(self) -> dict[int, int]:
        """What is asked of each partition: its fetch offset."""
        return {
            part.partition: part.fetch_offset
            for topic in self.body.topics
            for part in topic.partitions
        }

    @property
    def forgotten(self) -> list[int]:
        return [part for each in self.body.forgotten_topics_data for part in each.partitions]

    def answer(
        self, *parts: m.FetchResponsePartitionData, session_id: int = SESSION, error: int = 0
    ) -> None:
        topic = m.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(parts))
        self.outcome.set_result(
            m.FetchResponse(
                error_code=error, session_id=session_id, responses=[topic] if parts else []
            )
        )


class FakeChannel:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.closings = 0

    async def ask(self, api_key: ApiKey, body: Any, *, timeout_s: float) -> Any:
        assert (api_key, timeout_s) == (ApiKey.FETCH, 30.0)
        outcome: asyncio.Future[m.FetchResponse] = asyncio.get_running_loop().create_future()
        self.asked.append(Asked(body, outcome))
        return await outcome

    def close(self) -> None:
        self.closings += 1

    def interrupt(self) -> None:
        self.close()
        for asked in self.asked:
            if not asked.outcome.done():
                asked.outcome.set_exception(UnansweredError("interrupted"))


TOPIC_ID = b"t" * 16


class FakePartition:
    """A follower whose log grows with each answer that brings records."""

    topic, topic_id = "t", TOPIC_ID

    def __init__(self, index: int) -> None:
        self.index = index
        self.end_offset = 0
        self.epoch = 3
        self.start_offset = 0
        self.questions = 0
        self.taken: list[tuple[Question, Answer, bytes]] = []
        self.problem: Exception | None = None

    def question(self) -> Question:
        self.questions += 1
        return Question(self.end_offset, 2, self.epoch, self.start_offset)

    async def take(self, asked: Question, answer: Answer, records: memoryview | None) -> bool:
        await asyncio.sleep(0)
        if self.problem is not None:
            raise self.problem
        self.taken.append((asked, answer, bytes(records or b"")))
        if answer.has_records:
            self.end_offset += 1
        return answer.error == ErrorCode.NONE


class Stage:
    def __init__(self, *indexes: int) -> None:
        self.channel = FakeChannel()
        self.broker_epoch: int | None = 101
        self.fetcher = ReplicaFetcher(
            cast("Channel", self.channel),
            FetcherSettings(
                node_id=1,
                timeout_s=30.0,
                wait_max_ms=500,
                min_bytes=1,
                partition_bytes=1000,
                response_bytes=5000,
            ),
            broker_epoch=lambda: self.broker_epoch,
            new_backoff=lambda: Backoff(0.1, 1.0, Random(1)),
        )
        self.partitions = {index: FakePartition(index) for index in indexes}
        for index in indexes:
            self.follow(index)
        self.task = asyncio.ensure_future(self.fetcher.run())

    def follow(self, index: int) -> None:
        partition = self.partitions.setdefault(index, FakePartition(index))
        self.fetcher.follow(cast("Partition", partition))

    def forget(self, index: int) -> None:
        self.fetcher.forget(cast("Partition", self.partitions[index]))

    async def next(self) -> Asked:
        """The request that waits for its answer now."""
        for _ in range(1000):
            if self.channel.asked and not self.channel.asked[-1].outcome.done():
                return self.channel.asked[-1]
            await asyncio.sleep(0.01)
        raise AssertionError("nothing is asked")


def part(index: int, records: bytes = b"", **fields: Any) -> m.FetchResponsePartitionData:
    return m.FetchResponsePartitionData(
        partition_index=index,
        records=memoryview(records) if records else None,
        **{"high_watermark": 7, "log_start_offset": 0, **fields},
    )


@in_virtual_time
async def test_the_first_fetch_names_all_partitions_and_asks_for_a_session() -> None:
    stage = Stage(0, 1, 2)
    asked = await stage.next()
    body = asked.body
    assert asked.session == (0, 0)
    assert asked.partitions == {0: 0, 1: 0, 2: 0}
    assert asked.replica == (1, 101)
    assert (body.max_wait_ms, body.min_bytes, body.max_bytes) == (500, 1, 5000)
    [first, *_] = body.topics[0].partitions
    assert (first.current_leader_epoch, first.last_fetched_epoch) == (3, 2)
    assert (first.log_start_offset, first.partition_max_bytes) == (0, 1000)


@in_virtual_time
async def test_later_fetches_name_only_what_has_changed() -> None:
    stage = Stage(0, 1, 2)
    (await stage.next()).answer(part(1, b"records"))
    second = await stage.next()
    assert (second.session, second.partitions) == ((SESSION, 1), {1: 1})
    second.answer(part(0, b"x"), part(2, b"y"))
    third = await stage.next()
    assert (third.session, third.partitions) == ((SESSION, 2), {0: 1, 2: 1})
    third.answer()
    fourth = await stage.next()
    assert (fourth.session, fourth.partitions) == ((SESSION, 3), {})


@in_virtual_time
async def test_answers_reach_their_partitions_with_the_question_that_was_asked() -> None:
    stage = Stage(0, 1)
    parting = m.FetchResponseEpochEndOffset(epoch=2, end_offset=5)
    (await stage.next()).answer(
        part(0, b"records", high_watermark=9, log_start_offset=4), part(1, diverging_epoch=parting)
    )
    await stage.next()
    [(asked, answer, records)] = stage.partitions[0].taken
    assert asked == Question(0, 2, 3, 0)
    assert (answer.has_records, answer.high_watermark, answer.log_start_offset) == (True, 9, 4)
    assert records == b"records"
    [(_, parted, nothing)] = stage.partitions[1].taken
    assert (parted.diverging, parted.has_records, nothing) == (Diverging(2, 5), False, b"")


@in_virtual_time
async def test_a_partition_with_an_error_rests_outside_the_session_and_comes_back() -> None:
    stage = Stage(0, 1)
    (await stage.next()).answer(part(0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER), part(1, b"x"))
    second = await stage.next()
    assert (second.partitions, second.forgotten) == ({1: 1}, [0])
    second.answer(part(1, b"x"))
    third = await stage.next()
    assert (third.partitions, third.forgotten) == ({1: 2}, [])
    await asyncio.sleep(0.2)
    third.answer()
    fourth = await stage.next()
    assert (fourth.session, fourth.partitions) == ((SESSION, 3), {0: 0})


@in_virtual_time
async def test_each_error_in_a_row_makes_the_rest_longer() -> None:
    stage = Stage(0)
    times: list[float] = []
    for _ in range(5):
        asked = await stage.next()
        times.append(asyncio.get_running_loop().time())
        asked.answer(part(0, error_code=ErrorCode.UNKNOWN_LEADER_EPOCH))
    pauses = [later - earlier for earlier, later in pairwise(times)]
    for pause, expected in zip(pauses, [0.1, 0.2, 0.4, 0.8], strict=True):
        assert 0.8 * expected <= pause <= 1.2 * expected + 0.03


@pytest.mark.parametrize(
    "problem",
    [OSError(errno.ENOSPC, "full"), KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "offline")],
)
@in_virtual_time
async def test_a_log_that_cannot_take_records_rests_and_leaves_the_others_alone(
    problem: Exception,
) -> None:
    stage = Stage(0, 1)
    stage.partitions[0].problem = problem
    (await stage.next()).answer(part(0, b"x"), part(1, b"x"))
    second = await stage.next()
    assert (second.partitions, second.forgotten) == ({1: 1}, [0])
    stage.partitions[0].problem = None
    await asyncio.sleep(0.2)
    second.answer()
    assert (await stage.next()).partitions == {0: 0}


@in_virtual_time
async def test_a_leader_that_does_not_answer_is_asked_in_a_new_session() -> None:
    stage = Stage(0, 1)
    (await stage.next()).answer(part(0, b"x"))
    (await stage.next()).outcome.set_exception(UnansweredError("gone"))
    again = await stage.next()
    assert (again.session, again.partitions) == ((0, 0), {0: 1, 1: 0})


@pytest.mark.parametrize(
    "error", [ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH]
)
@in_virtual_time
async def test_a_session_that_the_leader_lost_is_begun_anew(error: ErrorCode) -> None:
    stage = Stage(0, 1)
    (await stage.next()).answer(part(0, b"x"))
    (await stage.next()).answer(error=error, session_id=0)
    again = await stage.next()
    assert (again.session, again.partitions) == ((0, 0), {0: 1, 1: 0})


@in_virtual_time
async def test_a_leader_without_room_for_a_session_is_told_everything_each_time() -> None:
    stage = Stage(0, 1)
    for _ in range(3):
        asked = await stage.next()
        assert (asked.session, set(asked.partitions)) == ((0, 0), {0, 1})
        asked.answer(part(0, b"x"), session_id=0)


@in_virtual_time
async def test_without_a_session_answers_are_taken_as_well() -> None:
    stage = Stage(0, 1)
    (await stage.next()).answer(part(0, b"x"), part(1), session_id=0)
    assert (await stage.next()).partitions == {0: 1, 1: 0}
    assert [len(each.taken) for each in stage.partitions.values()] == [1, 1]


@in_virtual_time
async def test_of_many_partitions_only_those_are_looked_at_that_were_answered() -> None:
    stage = Stage(*range(100))
    (await stage.next()).answer()
    await stage.next()
    before = sum(each.questions for each in stage.partitions.values())
    for _ in range(20):
        (await stage.next()).answer(part(7, b"x"))
    await stage.next()
    assert sum(each.questions for each in stage.partitions.values()) - before <= 20 + 100


@in_virtual_time
async def test_what_a_log_loses_by_itself_is_told_soon() -> None:
    """Retention raises a log's start while no answer comes for its partition."""
    stage = Stage(0, 1)
    (await stage.next()).answer()
    await stage.next()
    stage.partitions[1].start_offset = 5
    told: list[int] = []
    until = asyncio.get_running_loop().time() + 1.0
    while asyncio.get_running_loop().time() < until:
        asked = await stage.next()
        told += asked.partitions
        await asyncio.sleep(0.1)
        asked.answer()
    assert told == [1]


@in_virtual_time
async def test_what_is_new_does_not_wait_for_a_fetch_that_the_leader_holds() -> None:
    stage = Stage(0)
    (await stage.next()).answer()
    held = await stage.next()
    stage.follow(1)
    asked = await stage.next()
    assert isinstance(held.outcome.exception(), UnansweredError)
    assert stage.channel.closings == 1
    assert (asked.session, set(asked.partitions)) == ((0, 0), {0, 1})


@in_virtual_time
async def test_a_partition_whose_leader_has_changed_is_asked_for_in_its_new_epoch() -> None:
    stage = Stage(0)
    (await stage.next()).answer()
    await stage.next()
    stage.partitions[0].epoch = 4
    stage.follow(0)
    asked = await stage.next()
    assert asked.body.topics[0].partitions[0].current_leader_epoch == 4


@in_virtual_time
async def test_what_is_forgotten_leaves_the_session_and_its_answer_is_not_taken() -> None:
    stage = Stage(0, 1)
    first = await stage.next()
    stage.forget(0)
    assert len(stage.fetcher) == 1
    first.answer(part(0, b"x"), part(1, b"x"))
    second = await stage.next()
    assert stage.partitions[0].taken == []
    assert len(stage.partitions[1].taken) == 1
    assert (second.partitions, second.forgotten) == ({1: 1}, [0])


@in_virtual_time
async def test_a_partition_that_was_not_asked_for_is_let_go() -> None:
    stage = Stage(0)
    (await stage.next()).answer(part(9, b"x"), part(0, b"x"))
    await stage.next()
    assert len(stage.partitions[0].taken) == 1


@in_virtual_time
async def test_without_a_place_in_the_cluster_nothing_is_fetched() -> None:
    stage = Stage(0)
    stage.broker_epoch = None
    await asyncio.sleep(2)
    assert stage.channel.asked == []
    stage.broker_epoch = 102
    assert (await stage.next()).replica == (1, 102)


@in_virtual_time
async def test_an_idle_fetcher_waits_until_there_is_something_to_follow() -> None:
    stage = Stage()
    await asyncio.sleep(2)
    assert stage.channel.asked == []
    stage.follow(4)
    assert (await stage.next()).partitions == {4: 0}


@in_virtual_time
async def test_an_end_leaves_nothing_running() -> None:
    stage = Stage(0)
    held = await stage.next()
    stage.task.cancel()
    await asyncio.sleep(0.1)
    assert stage.task.cancelled()
    assert held.outcome.cancelled()
    stage.fetcher.close()
    assert stage.channel.closings == 1
