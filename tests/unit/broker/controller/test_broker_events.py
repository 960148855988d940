"""What becomes of partitions when brokers come and go."""

import pytest

from broker.controller.broker_events import (
    begin_controlled_shutdown,
    current_broker,
    fence_brokers,
    unfence_broker,
    unregister_broker,
)
from broker.metadata.changes import BrokerChanged, BrokerUnregistered, PartitionsChanged
from broker.metadata.partition_info import NO_LEADER
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.controller.clusters import after, broker, cluster, only, partition, rules


def test_a_fenced_broker_leaves_the_isr_before_it_is_fenced() -> None:
    image = cluster([1, 2], partition([1, 2]))
    changes = fence_brokers(image, [1], rules())
    assert [type(each) for each in changes] == [PartitionsChanged, BrokerChanged]
    fenced = after(image, changes)
    assert (only(fenced).leader, only(fenced).isr) == (2, (2,))
    assert fenced.brokers[1].fenced


def test_only_partitions_that_it_is_part_of_change() -> None:
    image = cluster([1, 2, 3], partition([1, 2]), partition([2, 3]), partition([3, 1]))
    change = fence_brokers(image, [1], rules())[0]
    assert isinstance(change, PartitionsChanged)
    assert [index for index, _ in change.partitions] == [0, 2]


def test_brokers_fenced_together_do_not_lead_in_each_others_place() -> None:
    image = cluster([1, 2, 3], partition([1, 2, 3]))
    fenced = after(image, fence_brokers(image, [1, 2], rules(min_isr=2)))
    info = only(fenced)
    assert (info.leader, info.leader_epoch, info.elr) == (3, 6, (1, 2))


def test_an_unfenced_broker_leads_what_waits_for_it() -> None:
    image = cluster([1, broker(2, fenced=True)], partition([1, 2], [], elr=(2,)))
    changes = unfence_broker(image, 2, rules(min_isr=2))
    assert [type(each) for each in changes] == [BrokerChanged, PartitionsChanged]
    assert only(after(image, changes)).leader == 2


def test_an_unfenced_broker_changes_nothing_that_has_a_leader() -> None:
    image = cluster([1, broker(2, fenced=True)], partition([2, 1], [1]))
    assert unfence_broker(image, 2, rules()) == [BrokerChanged(2, 2, fenced=False)]


def test_a_broker_that_shuts_down_hands_over_what_it_leads() -> None:
    image = cluster([1, 2], partition([1, 2]))
    leaving = after(image, begin_controlled_shutdown(image, 1, rules()))
    assert (only(leaving).leader, only(leaving).isr) == (2, (2,))
    assert leaving.brokers[1].in_controlled_shutdown
    assert not leaving.brokers[1].fenced


def test_a_broker_that_shuts_down_alone_is_waited_for() -> None:
    image = cluster([1], partition([1]))
    leaving = after(image, begin_controlled_shutdown(image, 1, rules()))
    assert (only(leaving).leader, only(leaving).elr) == (NO_LEADER, (1,))


def test_an_unregistered_broker_is_counted_on_nowhere() -> None:
    image = cluster([1, broker(2, fenced=True)], partition([1, 2], [1], elr=(2,)))
    changes = unregister_broker(image, 2, rules(min_isr=2))
    assert changes[-1] == BrokerUnregistered(2, 2)
    assert only(after(image, changes)).elr == ()
    with pytest.raises(KafkaError) as refused:
        unregister_broker(image, 3, rules())
    assert refused.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED


@pytest.mark.parametrize(("broker_id", "broker_epoch"), [(1, 0), (1, 2), (3, 1)])
def test_a_broker_with_another_epoch_is_stale(broker_id: int, broker_epoch: int) -> None:
    image = cluster([1])
    assert current_broker(image, 1, 1) is image.brokers[1]
    with pytest.raises(KafkaError) as refused:
        current_broker(image, broker_id, broker_epoch)
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH
