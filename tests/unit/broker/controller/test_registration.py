"""Registration: one incarnation per id, and nothing is believed of one that crashed."""

from typing import Any

import pytest

from broker.controller.liveness import BrokerLiveness
from broker.controller.registration import Registered, Registration, register_broker
from broker.metadata.broker_info import Endpoint
from broker.metadata.changes import BrokerRegistered
from broker.metadata.image import Image
from broker.metadata.partition_info import NO_LEADER
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

NEW = b"n" * 16
ENDPOINTS = (Endpoint("PLAINTEXT", "n1", 9092),)


def register(
    image: Image,
    liveness: BrokerLiveness | None = None,
    now: float = 1.0,
    **more: Any,
) -> Registered:
    wanted = Registration(**{"broker_id": 1, "incarnation_id": NEW, "endpoints": ENDPOINTS, **more})
    return register_broker(
        image,
        liveness or sessions(image),
        wanted,
        now=now,
        metadata_end=10,
        rules_of=rules(min_isr=2),
    )


def test_a_new_broker_begins_fenced_with_an_epoch_of_its_own() -> None:
    image = cluster([2, 3])
    registered = register(image, rack="r", log_dirs=(NEW,))
    assert registered.broker_epoch == 4
    assert registered.changes == [BrokerRegistered(1, NEW, 4, ENDPOINTS, "r", (NEW,), fenced=True)]


def test_it_is_caught_up_when_it_has_applied_its_registration() -> None:
    image = cluster([])
    liveness = sessions(image)
    register(image, liveness)
    liveness.contacted(1, now=1, applied_end=10)
    assert not liveness.is_caught_up(1)
    liveness.contacted(1, now=1, applied_end=11)
    assert liveness.is_caught_up(1)


def test_the_same_incarnation_is_given_the_same_epoch() -> None:
    image = cluster([])
    image = after(image, register(image).changes)
    again = register(image)
    assert (again.broker_epoch, again.changes) == (0, [])
    moved = register(image, rack="elsewhere")
    assert moved.broker_epoch == 0
    assert after(image, moved.changes).brokers[1].rack == "elsewhere"


def test_another_incarnation_waits_for_the_session_of_the_living_one() -> None:
    image = cluster([1])
    liveness = sessions(image)
    with pytest.raises(KafkaError, match="within 9 s") as refused:
        register(image, liveness, now=SESSION_S - 0.1)
    assert refused.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert register(image, liveness, now=SESSION_S).broker_epoch == 2


@pytest.mark.parametrize("state", [{"fenced": True}, {"in_controlled_shutdown": True}])
def test_nobody_waits_for_one_that_is_fenced_or_leaves(state: dict[str, bool]) -> None:
    assert register(cluster([broker(1, **state)])).broker_epoch == 2


def test_after_a_clean_stop_it_is_still_eligible() -> None:
    image = cluster([broker(1, fenced=True), 2], partition([1, 2], [2], elr=(1,)))
    image = after(image, register(image, previous_broker_epoch=1).changes)
    assert only(image).elr == (1,)


@pytest.mark.parametrize("previous", [-1, 0, 2])
def test_after_a_crash_it_is_eligible_for_nothing(previous: int) -> None:
    image = cluster([broker(1, fenced=True), 2], partition([1, 2], [2], elr=(1,)))
    image = after(image, register(image, previous_broker_epoch=previous).changes)
    assert only(image).elr == ()


def test_a_leader_that_crashed_and_is_back_before_its_session_ended_leads_no_more() -> None:
    image = cluster([1, 2], partition([1, 2], [1]))
    image = after(image, register(image, now=SESSION_S).changes)
    info = only(image)
    assert (info.leader, info.isr, info.elr, info.last_known_elr) == (NO_LEADER, (), (), (1,))


def test_a_broker_nobody_knows_is_not_believed_either() -> None:
    image = cluster([2], partition([1, 2], [2], elr=(1,)))
    image = after(image, register(image, previous_broker_epoch=7).changes)
    assert only(image).elr == ()


def test_a_broker_without_an_endpoint_is_refused() -> None:
    with pytest.raises(KafkaError) as refused:
        register(cluster([]), endpoints=())
    assert refused.value.code is ErrorCode.INVALID_REGISTRATION


def test_the_next_life_of_the_same_directory_need_not_wait_for_the_session_to_end() -> None:
    image = cluster([1, 2], partition([1, 2], isr=[1, 2], leader=1))
    liveness = sessions(image)
    epoch = image.brokers[1].broker_epoch
    with pytest.raises(KafkaError) as refused:
        register(image, liveness, previous_broker_epoch=epoch + 100)
    assert refused.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    registered = register(image, liveness, previous_broker_epoch=epoch)
    assert registered.broker_epoch > epoch
    assert only(after(image, registered.changes)).leader == 2


def test_the_end_of_a_harmed_life_is_believed_and_its_logs_are_not() -> None:
    image = cluster([1, 2], partition([1, 2], isr=[1, 2], leader=1))
    epoch = image.brokers[1].broker_epoch
    unharmed = register(image, previous_broker_epoch=epoch)
    harmed = register(image, previous_broker_epoch=epoch, is_unharmed=False)
    assert only(after(image, unharmed.changes)).elr == (1,)
    assert only(after(image, harmed.changes)).elr == ()
