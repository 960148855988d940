"""Incremental fetch sessions: what is asked once is remembered, and only news is told."""

from random import Random

import pytest

from broker import change_journal
from broker.api import fetch_sessions
from broker.api.fetch_sessions import FetchSession, FetchSessions
from broker.change_journal import ChangeJournal
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.led_partition import append, leading
from tests.virtual_time import in_virtual_time


def sessions(slots: int = 2) -> FetchSessions:
    return FetchSessions(slots=slots, eviction_s=120, random=Random(1))


def request(
    *indexes: int, session_id: int = 0, epoch: int = 0, forget: tuple[int, ...] = ()
) -> m.FetchRequest:
    parts = [m.FetchPartition(partition=i, fetch_offset=7, partition_max_bytes=9) for i in indexes]
    return m.FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[m.FetchTopic(topic="t", partitions=parts)] if parts else [],
        forgotten_topics_data=[m.ForgottenTopic(topic="t", partitions=list(forget))],
    )


def begin(
    cache: FetchSessions, ask: m.FetchRequest, now: float = 0, by_id: bool = False
) -> FetchSession:
    return cache.begin(ask, by_topic_id=by_id, now=now)


def indexes(session: FetchSession) -> list[int]:
    return [target.index for target in session.targets.values()]


def test_a_session_remembers_its_partitions() -> None:
    cache = sessions()
    first = begin(cache, request(0, 1, 2))
    assert first.session_id > 0
    assert not first.incremental
    again = begin(cache, request(session_id=first.session_id, epoch=1))
    assert indexes(again) == [0, 1, 2]
    assert again.incremental


def test_partitions_are_added_and_forgotten() -> None:
    cache = sessions()
    session_id = begin(cache, request(0, 1)).session_id
    changed = begin(cache, request(5, session_id=session_id, epoch=1, forget=(0,)))
    assert indexes(changed) == [1, 5]


@pytest.mark.parametrize(
    ("ask", "by_id", "code"),
    [
        (request(session_id=1, epoch=1), False, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        (request(epoch=2), False, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (request(epoch=1), True, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
def test_a_fetch_that_does_not_fit_its_session_is_refused(
    ask: m.FetchRequest, by_id: bool, code: ErrorCode
) -> None:
    cache = sessions()
    session_id = begin(cache, request(0)).session_id
    ask.session_id = ask.session_id or session_id
    with pytest.raises(KafkaError) as refused:
        begin(cache, ask, by_id=by_id)
    assert refused.value.code == code


def test_a_replayed_epoch_is_refused() -> None:
    cache = sessions()
    session_id = begin(cache, request(0)).session_id
    begin(cache, request(session_id=session_id, epoch=1))
    with pytest.raises(KafkaError):
        begin(cache, request(session_id=session_id, epoch=1))


def test_the_final_epoch_closes_the_session() -> None:
    cache = sessions()
    session_id = begin(cache, request(0)).session_id
    assert begin(cache, request(session_id=session_id, epoch=-1)).session_id == 0
    assert len(cache) == 0


def test_a_full_cache_makes_room_only_by_dropping_what_is_old() -> None:
    cache = sessions(slots=1)
    old = begin(cache, request(0), now=0)
    assert begin(cache, request(0), now=10).session_id == 0
    new = begin(cache, request(0), now=500)
    assert new.session_id not in (0, old.session_id)
    assert len(cache) == 1


@pytest.fixture
def at_most_ten_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "_TARGETS_MAX", 10)


@pytest.mark.usefixtures("at_most_ten_targets")
def test_a_session_that_grows_beyond_the_bound_is_dropped() -> None:
    cache = sessions()
    calm = begin(cache, request(*range(4))).session_id
    greedy = begin(cache, request(0)).session_id
    begin(cache, request(1, 2, 3, 4, 5, session_id=greedy, epoch=1))
    with pytest.raises(KafkaError) as refused:
        begin(cache, request(6, session_id=greedy, epoch=2))
    assert refused.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(cache) == 1
    begin(cache, request(0, 1, session_id=calm, epoch=1))
    assert begin(cache, request(*range(7))).session_id == 0, "it would exceed the bound again"
    assert begin(cache, request(*range(6))).session_id > 0


@pytest.mark.usefixtures("at_most_ten_targets")
def test_a_full_memory_drops_no_session_that_adds_nothing() -> None:
    cache = sessions()
    first = begin(cache, request(*range(4))).session_id
    second = begin(cache, request(*range(6))).session_id
    assert begin(cache, request(0, 1, session_id=first, epoch=1)).session_id == first
    begin(cache, request(session_id=second, epoch=1, forget=(4, 5)))
    assert indexes(begin(cache, request(8, 9, session_id=first, epoch=2))) == [0, 1, 2, 3, 8, 9]


@pytest.mark.usefixtures("at_most_ten_targets")
def test_a_closed_or_evicted_session_counts_no_more() -> None:
    cache = sessions(slots=1)
    for now in range(0, 5000, 500):  # each evicts the one before
        session = begin(cache, request(*range(4)), now=now)
        assert session.session_id > 0
    begin(cache, request(session_id=session.session_id, epoch=-1))
    assert begin(cache, request(*range(10))).session_id > 0


@pytest.mark.usefixtures("at_most_ten_targets")
def test_a_session_whose_client_goes_away_halfway_stays_within_the_bound() -> None:
    cache = sessions()
    session_id = begin(cache, request(*range(8))).session_id
    ask = request(*range(8, 20), session_id=session_id, epoch=1)
    steps = cache.begin_in_steps(ask, by_topic_id=False, now=0)
    for _ in range(10):
        next(steps)
    steps.close()
    assert len(cache) == 0


def test_a_partition_that_is_named_twice_or_forgotten_at_once_is_kept_once_or_not() -> None:
    cache = sessions()
    session_id = begin(cache, request(0)).session_id
    session = begin(cache, request(1, 2, 2, 2, session_id=session_id, epoch=1, forget=(1,)))
    assert [target.index for target in session.named] == [2]


def answer(
    records: bytes = b"", watermark: int = 5, error: int = 0
) -> m.FetchResponsePartitionData:
    return m.FetchResponsePartitionData(
        partition_index=0,
        error_code=error,
        high_watermark=watermark,
        log_start_offset=0,
        records=records,
    )


def test_only_what_changed_is_news() -> None:
    (target,) = begin(sessions(), request(0)).targets.values()
    assert target.is_news(answer())
    assert not target.is_news(answer())
    assert target.is_news(answer(watermark=6))
    assert target.is_news(answer(records=b"x", watermark=6))
    assert not target.is_news(answer(watermark=6))


def test_an_error_is_repeated_and_so_is_the_first_word_after_it() -> None:
    (target,) = begin(sessions(), request(0)).targets.values()
    assert target.is_news(answer())
    assert target.is_news(answer(error=3))
    assert target.is_news(answer(error=3))
    assert target.is_news(answer())
    assert not target.is_news(answer())


def test_who_was_served_queues_up_again() -> None:
    session = begin(sessions(), request(0, 1, 2))
    session.to_the_back(next(iter(session.targets.values())))
    assert indexes(session) == [1, 2, 0]


def test_a_followers_session_is_looked_through_only_every_so_often() -> None:
    cache = sessions()
    session = begin(cache, request(0, 1, 2))

    def told(*named: int, epoch: int, now: float) -> list[int]:
        begun = begin(cache, request(*named, session_id=session.session_id, epoch=epoch), now=now)
        return [target.index for target in begun.told_by_follower(now, every_s=1.0)]

    assert [target.index for target in session.told_by_follower(10.0, 1.0)] == [0, 1, 2]
    assert told(2, epoch=1, now=10.5) == [2]
    assert told(epoch=2, now=10.9) == []
    assert sorted(told(1, epoch=3, now=11.0)) == [0, 1, 2]
    assert told(1, epoch=4, now=11.5) == [1]


def test_without_a_session_a_follower_tells_everything_each_time() -> None:
    cache = sessions(slots=0)
    for now in (1.0, 1.1):
        begun = begin(cache, request(0, 1), now=now)
        assert len(list(begun.told_by_follower(now, every_s=1.0))) == 2


@in_virtual_time
async def test_a_follower_reads_again_only_where_something_may_be_new() -> None:
    cache, journal = sessions(), ChangeJournal()
    changing = await leading(directory="t-3", journal=journal)
    session = begin(cache, request(0, 1, 2, 3))
    session.told_by_follower(1.0, every_s=1.0)

    def read() -> list[int]:
        return [target.index for target in session.to_read_for_follower(journal)]

    def found(**of: bytes) -> None:
        targets = {f"p{target.index}": target for target in session.targets.values()}
        session.read_for_follower(
            [(targets[name], answer(records=data)) for name, data in of.items()], journal.end
        )

    assert read() == [0, 1, 2, 3]
    assert read() == [0, 1, 2, 3]  # as long as no reading came to its end
    found(p0=b"x", p1=b"")
    assert read() == [1, 0, 2, 3]  # the request has named them all
    begin(cache, request(session_id=session.session_id, epoch=1))
    session.told_by_follower(1.5, every_s=1.0)
    assert read() == [1, 0]  # who got nothing comes first
    found()
    assert read() == []
    append(changing)
    assert read() == [3]
    begin(cache, request(2, session_id=session.session_id, epoch=2, forget=(3,)))
    session.told_by_follower(1.6, every_s=1.0)
    assert read() == [2]
    found()
    begin(cache, request(session_id=session.session_id, epoch=3))
    session.told_by_follower(2.5, every_s=1.0)
    assert sorted(read()) == [0, 1, 2]


@in_virtual_time
async def test_a_follower_that_fell_far_back_reads_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_journal, "_LENGTH", 2)
    cache, journal = sessions(), ChangeJournal()
    changing = await leading(directory="t-1", journal=journal)
    session = begin(cache, request(0, 1))
    session.told_by_follower(1.0, every_s=1.0)
    session.read_for_follower([], journal.end)
    begin(cache, request(session_id=session.session_id, epoch=1))
    session.told_by_follower(1.1, every_s=1.0)
    assert list(session.to_read_for_follower(journal)) == []
    for _ in range(3):
        append(changing)
    assert len(list(session.to_read_for_follower(journal))) == 2


def test_a_session_may_begin_without_partitions() -> None:
    cache = sessions()
    session_id = begin(cache, request()).session_id
    assert session_id > 0
    assert indexes(begin(cache, request(4, session_id=session_id, epoch=1))) == [4]
