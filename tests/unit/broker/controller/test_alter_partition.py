"""AlterPartition: which leader may change the ISR, and who may come into it."""

from dataclasses import replace
from typing import Any

import pytest

from broker.controller.alter_partition import (
    AlteredPartition,
    IsrMember,
    IsrRequest,
    alter_partition,
)
from broker.metadata.image import Image
from broker.metadata.partition_info import RECOVERED, RECOVERING
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.controller.clusters import (
    TOPIC_ID,
    after,
    broker,
    cluster,
    only,
    partition,
    rules,
)


def alter(image: Image, *new_isr: int | IsrMember, **more: Any) -> AlteredPartition:
    request = IsrRequest(
        **{
            "broker_id": 1,
            "broker_epoch": 1,
            "topic_id": TOPIC_ID,
            "index": 0,
            "leader_epoch": 5,
            "partition_epoch": 8,
            "new_isr": [
                each if isinstance(each, IsrMember) else IsrMember(each, each) for each in new_isr
            ],
            **more,
        }
    )
    return alter_partition(image, request, rules(min_isr=2))


def refusal(image: Image, *new_isr: int | IsrMember, **more: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        alter(image, *new_isr, **more)
    return refused.value.code


def test_a_leader_shrinks_and_expands_its_isr() -> None:
    image = cluster([1, 2, 3], partition([1, 2, 3]))
    altered = alter(image, 1)
    image = after(image, altered.changes)
    assert only(image) == altered.info
    assert (altered.info.isr, altered.info.elr, altered.info.partition_epoch) == ((1,), (2, 3), 9)
    altered = alter(image, 3, 1, partition_epoch=9)
    assert (altered.info.isr, altered.info.elr, altered.info.leader_epoch) == ((1, 3), (), 5)


def test_the_isr_that_is_there_already_is_confirmed_by_a_new_partition_epoch() -> None:
    """What the leader asked for before, and may arrive again, is out of date from then on."""
    image = cluster([1, 2], partition([1, 2]))
    altered = alter(image, 1, 2)
    before = partition([1, 2])
    assert altered.error is ErrorCode.NONE
    assert altered.info == replace(before, partition_epoch=before.partition_epoch + 1)
    assert only(after(image, altered.changes)) == altered.info


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"topic_id": b"?" * 16}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"index": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"broker_epoch": 0}, ErrorCode.STALE_BROKER_EPOCH),
        ({"broker_id": 7}, ErrorCode.STALE_BROKER_EPOCH),
        ({"leader_epoch": 4}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 6}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 7}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"broker_id": 2, "broker_epoch": 2}, ErrorCode.INVALID_REQUEST),
        ({"leader_recovery_state": RECOVERING}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_leader_that_is_late_is_refused(said: dict[str, Any], code: ErrorCode) -> None:
    assert refusal(cluster([1, 2, 3], partition([1, 2, 3])), 1, 2, **said) is code


@pytest.mark.parametrize("new_isr", [(1, 1), (1, 4), (2, 3), ()])
def test_an_isr_that_cannot_be_is_refused(new_isr: tuple[int, ...]) -> None:
    image = cluster([1, 2, 3, 4], partition([1, 2, 3]))
    assert refusal(image, *new_isr) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "second",
    [
        broker(2, fenced=True),
        broker(2, in_controlled_shutdown=True),
        broker(2, broker_epoch=3),
        None,
    ],
)
def test_whoever_is_not_there_or_has_restarted_is_not_eligible(second: Any) -> None:
    image = cluster([1] if second is None else [1, second], partition([1, 2], [1]))
    assert refusal(image, 1, IsrMember(2, 2)) is ErrorCode.INELIGIBLE_REPLICA


def test_only_of_those_who_stay_the_broker_epoch_need_not_be_known() -> None:
    image = cluster([1, 2, 3], partition([1, 2, 3], [1, 2]))
    assert alter(image, IsrMember(1), IsrMember(2)).info.isr == (1, 2)
    assert refusal(image, IsrMember(1), IsrMember(2), IsrMember(3)) is ErrorCode.INELIGIBLE_REPLICA


def test_a_leader_recovers_alone_and_says_when_it_has() -> None:
    image = cluster([1, 2], partition([1, 2], [1], leader_recovery_state=RECOVERING))
    recovering = {"leader_recovery_state": RECOVERING}
    assert refusal(image, 1, 2, **recovering) is ErrorCode.INVALID_REQUEST
    assert alter(image, 1, **recovering).info.leader_recovery_state == RECOVERING
    altered = alter(image, 1, 2)
    assert (altered.info.isr, altered.info.leader_recovery_state) == ((1, 2), RECOVERED)


def test_the_end_of_a_reassignment_may_depose_the_leader_that_asked() -> None:
    moving = partition([2, 3, 1], [1, 2], adding_replicas=(2, 3), removing_replicas=(1,))
    altered = alter(cluster([1, 2, 3], moving), 1, 2, 3)
    assert altered.error is ErrorCode.NEW_LEADER_ELECTED
    assert (altered.info.replicas, altered.info.leader) == ((2, 3), 2)
