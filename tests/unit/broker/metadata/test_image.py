"""The image of the cluster: what changes make of it, and which changes come too late."""

from dataclasses import replace

import pytest

from broker.metadata.broker_info import BrokerInfo, Endpoint
from broker.metadata.changes import (
    BrokerChanged,
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    ConfigChanged,
    PartitionsAdded,
    PartitionsChanged,
    ProducerIdsAllocated,
    ResourceType,
    TopicCreated,
    TopicDeleted,
    from_json,
    to_json,
)
from broker.metadata.image import DELETED_TOPICS_MAX, ConflictError, Image
from broker.metadata.partition_info import PartitionInfo

ID = bytes(range(16))
OTHER_ID = bytes(range(1, 17))
NEW = PartitionInfo.in_sync((1,))
CREATED = TopicCreated("t", ID, (NEW, NEW), {"retention.ms": "5"})
ENDPOINT = Endpoint("PLAINTEXT", "n1", 9092)
REGISTERED = BrokerRegistered(1, ID, 7, (ENDPOINT,), "r1", (OTHER_ID,))


def image_after(*changes: Change) -> Image:
    image = Image()
    for change in changes:
        image.apply(change)
    return image


def through_json(image: Image) -> Image:
    return image_after(*(from_json(to_json(change)) for change in image.as_changes()))


def test_a_created_topic_is_found_by_name_and_by_id() -> None:
    image = image_after(CREATED)
    topic = image.topic("t")
    assert topic is not None
    assert topic is image.topic_by_id(ID)
    assert [(part.leader, part.isr, part.leader_epoch) for part in topic.partitions] == [
        (1, (1,), 0),
        (1, (1,), 0),
    ]
    assert image.topic_configs("t") == {"retention.ms": "5"}


def test_a_deleted_topic_leaves_nothing_behind() -> None:
    image = image_after(CREATED, TopicDeleted("t", ID))
    assert image.topic("t") is None
    assert image.topic_by_id(ID) is None
    assert image.topic_configs("t") == {}


def test_only_the_last_deleted_topics_are_remembered() -> None:
    image = Image()
    ids = [number.to_bytes(16, "big") for number in range(DELETED_TOPICS_MAX + 3)]
    for topic_id in ids:
        image.apply(TopicCreated("t", topic_id, (NEW,), {}))
        image.apply(TopicDeleted("t", topic_id))
    for each in (image, through_json(image)):
        assert list(each.deleted_topics) == ids[3:]


def test_added_partitions_come_after_the_others() -> None:
    added = PartitionInfo.in_sync((2,))
    image = image_after(CREATED, PartitionsAdded("t", ID, 2, (added,)))
    assert list(image.topics["t"].partitions) == [NEW, NEW, added]


def test_a_changed_partition_is_what_its_record_says() -> None:
    lost = replace(NEW, isr=(), elr=(1,), leader=-1, leader_epoch=1, partition_epoch=1)
    image = image_after(CREATED, PartitionsChanged("t", ID, ((1, lost),)))
    assert list(image.topics["t"].partitions) == [NEW, lost]


def test_a_configuration_set_to_none_is_gone() -> None:
    image = image_after(
        CREATED,
        ConfigChanged(ResourceType.TOPIC, "t", "segment.ms", "9"),
        ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", None),
    )
    assert image.topic_configs("t") == {"segment.ms": "9"}


def test_a_brokers_own_configuration_wins_over_the_clusters() -> None:
    image = image_after(
        ConfigChanged(ResourceType.BROKER, "", "log.retention.ms", "1"),
        ConfigChanged(ResourceType.BROKER, "1", "log.retention.ms", "2"),
    )
    assert image.broker_configs(1) == {"log.retention.ms": "2"}
    assert image.broker_configs(2) == {"log.retention.ms": "1"}


def test_a_broker_is_registered_changed_and_unregistered() -> None:
    image = image_after(REGISTERED)
    assert image.brokers[1] == BrokerInfo(
        broker_id=1,
        incarnation_id=ID,
        broker_epoch=7,
        endpoints=(ENDPOINT,),
        rack="r1",
        log_dirs=(OTHER_ID,),
    )
    assert not image.is_active(1)
    image.apply(BrokerChanged(1, 7, fenced=False))
    assert image.is_active(1)
    image.apply(BrokerChanged(1, 7, fenced=False, in_controlled_shutdown=True))
    assert not image.is_active(1)
    image.apply(BrokerUnregistered(1, 7))
    assert image.brokers == {}


def test_a_broker_epoch_is_never_used_again_even_when_its_broker_is_gone() -> None:
    image = image_after(REGISTERED, BrokerUnregistered(1, 7))
    for each in (image, through_json(image)):
        assert each.next_broker_epoch == 8
        with pytest.raises(ConflictError, match="epoch 7"):
            each.apply(REGISTERED)
        each.apply(replace(REGISTERED, broker_epoch=8))


def test_the_same_incarnation_may_register_again_with_its_own_epoch_only() -> None:
    image = image_after(REGISTERED, replace(REGISTERED, broker_id=2, broker_epoch=8))
    image.apply(replace(REGISTERED, rack="elsewhere"))
    assert image.brokers[1].rack == "elsewhere"
    with pytest.raises(ConflictError):
        image.apply(replace(REGISTERED, broker_epoch=9))


def changed(*partitions: tuple[int, PartitionInfo]) -> PartitionsChanged:
    return PartitionsChanged("t", ID, partitions)


LATER = replace(NEW, partition_epoch=6, leader_epoch=4)


@pytest.mark.parametrize(
    "late",
    [
        CREATED,
        TopicDeleted("t", OTHER_ID),
        TopicDeleted("u", ID),
        PartitionsAdded("t", OTHER_ID, 2, (NEW,)),
        PartitionsAdded("t", ID, 1, (NEW,)),
        PartitionsChanged("t", OTHER_ID, ((0, LATER),)),
        changed((2, LATER)),
        changed((-1, LATER)),
        changed((0, LATER), (0, LATER)),
        changed((0, replace(LATER, partition_epoch=5))),
        changed((0, replace(LATER, leader_epoch=3))),
        changed((1, LATER), (0, replace(LATER, partition_epoch=5))),
        ConfigChanged(ResourceType.TOPIC, "u", "segment.ms", "9"),
        ProducerIdsAllocated(0),
        ProducerIdsAllocated(1000),
        replace(REGISTERED, incarnation_id=OTHER_ID),
        BrokerChanged(1, 6, fenced=False),
        BrokerChanged(2, 7, fenced=False),
        BrokerUnregistered(1, 6),
    ],
)
def test_a_change_for_another_image_is_refused_and_changes_nothing(late: Change) -> None:
    image = image_after(CREATED, ProducerIdsAllocated(1000), REGISTERED)
    image.apply(changed((0, replace(NEW, partition_epoch=5, leader_epoch=4))))
    before = image.copy()
    with pytest.raises(ConflictError):
        image.apply(late)
    assert image == before
    assert image.version == before.version


def test_what_an_image_handed_out_stays_as_it_was() -> None:
    image = image_after(CREATED, REGISTERED)
    topic, configs, copied = image.topics["t"], image.topic_configs("t"), image.copy()
    image.apply(changed((0, LATER)))
    image.apply(ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", "6"))
    image.apply(BrokerUnregistered(1, 7))
    assert (topic.partitions[0].leader_epoch, configs) == (0, {"retention.ms": "5"})
    assert copied == image_after(CREATED, REGISTERED)


def test_equal_images_have_the_same_digest_and_others_do_not() -> None:
    one = image_after(CREATED, REGISTERED, changed((1, LATER)))
    other = image_after(REGISTERED, CREATED)
    assert one.digest() != other.digest()
    other.apply(changed((1, LATER)))
    assert one.digest() == other.digest()


def test_a_digest_is_the_same_in_every_process() -> None:
    assert Image().digest().startswith("e3b0c44298fc1c14")
    digest = image_after(CREATED, REGISTERED).digest()
    assert digest.startswith("b8865ebfd4a7070e")
