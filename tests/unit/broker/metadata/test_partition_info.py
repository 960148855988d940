"""The partitions of a topic behave as a tuple does, and share what did not change."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.metadata.partition_info import PartitionInfo, PartitionInfos

NEW = PartitionInfo.in_sync((1, 2))


def numbered(count: int) -> list[PartitionInfo]:
    return [replace(NEW, leader_epoch=number) for number in range(count)]


def test_a_new_partition_is_led_by_its_first_replica_and_in_sync() -> None:
    assert PartitionInfo.in_sync([3, 1]) == PartitionInfo(replicas=(3, 1), isr=(3, 1), leader=3)


@given(
    st.integers(0, 200),
    st.lists(st.tuples(st.integers(0, 199), st.integers(1000, 1010)), max_size=5),
    st.integers(0, 70),
)
def test_it_behaves_as_a_list_does(count: int, changes: list[tuple[int, int]], added: int) -> None:
    model = numbered(count)
    infos = PartitionInfos(model)
    changed = [(at, replace(NEW, leader_epoch=epoch)) for at, epoch in changes if at < count]
    infos = infos.with_changed(changed).with_added(numbered(added))
    for at, info in changed:
        model[at] = info
    model += numbered(added)
    assert list(infos) == model
    assert len(infos) == len(model)
    assert [infos[at] for at in range(len(model))] == model
    assert list(infos[1:70]) == model[1:70]
    assert infos == PartitionInfos(model)
    assert hash(infos) == hash(PartitionInfos(model))


def test_negative_and_far_indexes() -> None:
    infos = PartitionInfos(numbered(3))
    assert infos[-1].leader_epoch == 2
    for index in (3, -4):
        with pytest.raises(IndexError):
            infos[index]


def test_a_change_copies_a_small_part_only() -> None:
    before = PartitionInfos(numbered(10_000))
    after = before.with_changed([(5000, NEW)])
    shared = sum(a is b for a, b in zip(before._pieces, after._pieces, strict=True))
    assert shared == len(before._pieces) - 1
    assert max(len(piece) for piece in after._pieces) <= 100
