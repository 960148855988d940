"""Whatever an image went through, its own changes make an equal one: that is what a snapshot is."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from broker.metadata.broker_info import Endpoint
from broker.metadata.changes import (
    BrokerChanged,
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    ConfigChanged,
    DeletionsRemembered,
    PartitionsAdded,
    PartitionsChanged,
    ProducerIdsAllocated,
    TopicCreated,
    TopicDeleted,
    from_json,
    to_json,
)
from broker.metadata.image import ConflictError, Image
from broker.metadata.partition_info import PartitionInfo

_names = st.sampled_from(["a", "b", "c"])
_ids = st.sampled_from([bytes([number]) * 16 for number in range(3)])
_brokers = st.integers(1, 3)
_epochs = st.integers(0, 9)
_some = st.lists(_brokers, max_size=3, unique=True).map(tuple)
_infos = st.builds(
    PartitionInfo,
    replicas=_some,
    isr=_some,
    leader=st.integers(-1, 3),
    leader_epoch=_epochs,
    partition_epoch=_epochs,
    elr=_some,
    last_known_elr=_some,
    adding_replicas=_some,
    removing_replicas=_some,
    leader_recovery_state=st.integers(0, 1),
)
_partitions = st.lists(_infos, min_size=1, max_size=3).map(tuple)
_changed = st.dictionaries(st.integers(0, 3), _infos, max_size=3).map(lambda d: tuple(d.items()))
_configs = st.dictionaries(st.sampled_from(["retention.ms", "segment.ms"]), st.just("5"))
_endpoints = st.builds(Endpoint, st.just("L"), st.just("n"), st.integers(0, 9), st.integers(0, 1))

_changes = st.one_of(
    st.builds(TopicCreated, _names, _ids, _partitions, _configs),
    st.builds(TopicDeleted, _names, _ids),
    st.builds(DeletionsRemembered, st.lists(_ids, max_size=2).map(tuple)),
    st.builds(PartitionsAdded, _names, _ids, st.integers(1, 3), _partitions),
    st.builds(PartitionsChanged, _names, _ids, _changed),
    st.builds(ConfigChanged, st.just(2), _names, st.just("segment.ms"), st.none() | st.just("7")),
    st.builds(ConfigChanged, st.just(4), st.sampled_from(["", "1"]), _names, st.just("7")),
    st.builds(ProducerIdsAllocated, st.integers(0, 2**63 - 1)),
    st.builds(
        BrokerRegistered,
        _brokers,
        _ids,
        _epochs,
        st.lists(_endpoints, max_size=2).map(tuple),
        st.none() | st.just("r"),
        st.lists(_ids, max_size=2).map(tuple),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(BrokerChanged, _brokers, _epochs, st.booleans(), st.booleans()),
    st.builds(BrokerUnregistered, _brokers, _epochs),
)


@given(st.lists(_changes, max_size=20))
def test_an_image_is_rebuilt_by_its_own_changes_through_json(changes: Sequence[Change]) -> None:
    image = Image()
    for change in changes:
        before = image.copy()
        try:
            image.apply(change)
        except ConflictError:
            assert image == before
    again = Image()
    for change in image.as_changes():
        again.apply(from_json(to_json(change)))
    assert again == image
    assert again.digest() == image.digest()
    assert list(again.deleted_topics) == list(image.deleted_topics)


@given(st.lists(_changes, max_size=20))
def test_epochs_and_producer_ids_never_go_back(changes: Sequence[Change]) -> None:
    image = Image()
    for change in changes:
        before = image.copy()
        try:
            image.apply(change)
        except ConflictError:
            continue
        assert image.next_broker_epoch >= before.next_broker_epoch
        assert image.next_producer_id >= before.next_producer_id
        if isinstance(change, PartitionsChanged):
            for index, info in change.partitions:
                old = before.topics[change.name].partitions[index]
                assert info.leader_epoch >= old.leader_epoch
                assert info.partition_epoch > old.partition_epoch
