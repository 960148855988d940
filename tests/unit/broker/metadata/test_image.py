"""The image of the cluster: what changes make of it, and which changes come too late."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.metadata.changes import (
    Change,
    ConfigChanged,
    LeaderEpochsRaised,
    PartitionsAdded,
    ProducerIdsAllocated,
    ResourceType,
    TopicCreated,
    TopicDeleted,
    from_json,
    to_json,
)
from broker.metadata.image import DELETED_TOPICS_MAX, ConflictError, Image

ID = bytes(range(16))
OTHER_ID = bytes(range(1, 17))
CREATED = TopicCreated("t", ID, ((1,), (1,)), {"retention.ms": "5"})


def image_after(*changes: Change) -> Image:
    image = Image()
    for change in changes:
        image.apply(change)
    return image


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
        image.apply(TopicCreated("t", topic_id, ((1,),), {}))
        image.apply(TopicDeleted("t", topic_id))
    again = image_after(*(from_json(to_json(change)) for change in image.as_changes()))
    for each in (image, again):
        assert list(each.deleted_topics) == ids[3:]


def test_added_partitions_come_after_the_others() -> None:
    image = image_after(CREATED, PartitionsAdded("t", ID, 2, ((1,),)))
    assert len(image.topics["t"].partitions) == 3


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


@pytest.mark.parametrize(
    "late",
    [
        CREATED,
        TopicDeleted("t", OTHER_ID),
        TopicDeleted("u", ID),
        PartitionsAdded("t", OTHER_ID, 2, ((1,),)),
        PartitionsAdded("t", ID, 1, ((1,),)),
        ConfigChanged(ResourceType.TOPIC, "u", "segment.ms", "9"),
        LeaderEpochsRaised("t", ID, (1,)),
        LeaderEpochsRaised("t", OTHER_ID, (1, 1)),
        ProducerIdsAllocated(0),
    ],
)
def test_a_change_for_another_image_is_refused_and_changes_nothing(late: Change) -> None:
    image = image_after(CREATED, ProducerIdsAllocated(1000))
    before = list(image.as_changes())
    with pytest.raises(ConflictError):
        image.apply(late)
    assert list(image.as_changes()) == before


def test_what_an_image_handed_out_stays_as_it_was() -> None:
    image = image_after(CREATED)
    topic, configs = image.topics["t"], image.topic_configs("t")
    image.apply(LeaderEpochsRaised("t", ID, (7, 7)))
    image.apply(ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", "6"))
    assert (topic.partitions[0].leader_epoch, configs) == (0, {"retention.ms": "5"})


_names = st.sampled_from(["a", "b", "c"])
_ids = st.sampled_from([ID, OTHER_ID])
_changes = st.one_of(
    st.builds(
        TopicCreated,
        _names,
        _ids,
        st.lists(st.just((1,)), min_size=1, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(["retention.ms", "segment.ms"]), st.just("5")),
    ),
    st.builds(
        LeaderEpochsRaised,
        _names,
        _ids,
        st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple),
    ),
    st.builds(ConfigChanged, st.just(2), _names, st.just("segment.ms"), st.none() | st.just("7")),
    st.builds(ConfigChanged, st.just(4), st.just(""), st.just("log.roll.ms"), st.just("7")),
    st.builds(ProducerIdsAllocated, st.integers(0, 2**63 - 1)),
)


@given(st.lists(_changes, max_size=12))
def test_an_image_is_rebuilt_by_its_own_changes_through_json(changes: Sequence[Change]) -> None:
    image = Image()
    for change in changes:
        try:
            image.apply(change)
        except ConflictError:
            continue
    again = image_after(*(from_json(to_json(change)) for change in image.as_changes()))
    assert again.configs == image.configs
    assert again.next_producer_id == image.next_producer_id
    assert again.names_by_id == image.names_by_id
    for name, topic in image.topics.items():
        epochs = [part.leader_epoch for part in topic.partitions]
        assert [part.leader_epoch for part in again.topics[name].partitions] == epochs
