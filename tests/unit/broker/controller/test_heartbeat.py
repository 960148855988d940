"""Heartbeats: fencing, unfencing, and the way out."""

from typing import Any

import pytest

from broker.controller.heartbeat import Heartbeat, HeartbeatAnswer, answer_heartbeat
from broker.controller.liveness import BrokerLiveness
from broker.metadata.changes import BrokerChanged
from broker.metadata.image import Image
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.controller.clusters import (
    SESSION_S,
    after,
    broker,
    cluster,
    only,
    partition,
    rules,
    sessions,
)


def beat(
    image: Image, liveness: BrokerLiveness, broker_id: int = 1, now: float = 1.0, **more: Any
) -> HeartbeatAnswer:
    said = Heartbeat(
        **{
            "broker_id": broker_id,
            "broker_epoch": image.brokers[broker_id].broker_epoch,
            "applied_end": 10,
            **more,
        }
    )
    return answer_heartbeat(
        image, liveness, said, now=now, metadata_end=10, rules_of=rules(min_isr=1)
    )


def test_a_heartbeat_keeps_the_session() -> None:
    image = cluster([1])
    liveness = sessions(image)
    answer = beat(image, liveness, now=8)
    assert answer == HeartbeatAnswer(
        changes=[], is_caught_up=True, is_fenced=False, should_shut_down=False
    )
    assert liveness.has_session(1, 8 + SESSION_S - 0.1)


def test_a_fenced_broker_comes_back_once_it_has_caught_up() -> None:
    image = cluster([broker(1, fenced=True)])
    liveness = sessions(image)
    behind = beat(image, liveness, applied_end=9)
    assert (behind.is_fenced, behind.is_caught_up, behind.changes) == (True, False, [])
    there = beat(image, liveness)
    assert (there.is_fenced, there.is_caught_up) == (False, True)
    assert there.changes == [BrokerChanged(1, 1, fenced=False)]


def test_a_broker_may_want_to_stay_fenced_or_to_be_fenced() -> None:
    image = cluster([broker(1, fenced=True)])
    assert beat(image, sessions(image), want_fence=True).changes == []
    image = cluster([1])
    answer = beat(image, sessions(image), want_fence=True)
    assert (answer.is_fenced, answer.should_shut_down) == (True, False)
    assert answer.changes == [BrokerChanged(1, 1, fenced=True)]


def test_a_stale_broker_is_told_so_and_keeps_no_session() -> None:
    image = cluster([1])
    liveness = sessions(image)
    with pytest.raises(KafkaError) as refused:
        beat(image, liveness, now=5, broker_epoch=0)
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH
    assert liveness.expired(image, SESSION_S) == [1]


def test_a_broker_without_leaderships_stops_at_once() -> None:
    image = cluster([1, 2], partition([2, 1]))
    answer = beat(image, sessions(image), want_shut_down=True)
    assert (answer.is_fenced, answer.should_shut_down) == (True, True)
    assert only(after(image, answer.changes)).isr == (2,)


def test_a_leader_stops_when_the_others_know_who_leads_instead() -> None:
    image = cluster([1, 2], partition([1, 2]))
    liveness = sessions(image)
    answer = beat(image, liveness, want_shut_down=True)
    assert (answer.is_fenced, answer.should_shut_down) == (False, False)
    image = after(image, answer.changes)
    assert only(image).leader == 2
    beat(image, liveness, broker_id=2, applied_end=10 + len(answer.changes) - 1)
    assert not beat(image, liveness, want_shut_down=True).should_shut_down
    beat(image, liveness, broker_id=2, applied_end=10 + len(answer.changes))
    last = beat(image, liveness, want_shut_down=True)
    assert (last.is_fenced, last.should_shut_down) == (True, True)
    assert last.changes == [BrokerChanged(1, 1, fenced=True, in_controlled_shutdown=True)]


def test_a_fenced_broker_may_always_stop_and_does_not_come_back() -> None:
    image = cluster([broker(1, fenced=True, in_controlled_shutdown=True)])
    assert beat(image, sessions(image), want_shut_down=True).should_shut_down
    assert beat(image, sessions(image)).is_fenced
