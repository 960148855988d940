"""Where replicas lie: one whose directory is gone has begun anew, and is counted on for nothing."""

from __future__ import annotations

from typing import Any

from broker.controller.broker_events import unfence_broker
from broker.controller.registration import Registration, register_broker
from broker.controller.replica_directories import Lying, assign_directories
from broker.metadata.image import Image
from broker.metadata.partition_info import NO_LEADER, PartitionInfo
from tests.unit.broker.controller.clusters import (
    TOPIC_ID,
    after,
    broker,
    cluster,
    only,
    partition,
    rules,
    sessions,
)

KEPT, GONE = b"a" * 16, b"b" * 16


def with_both(**more: Any) -> Image:
    """Broker 1 was stopped cleanly; its replica lies in the directory that it will come without."""
    info = partition([1, 2], [], leader=NO_LEADER, directories=((1, GONE),), **more)
    return cluster([broker(1, fenced=True, log_dirs=(KEPT, GONE)), broker(2, fenced=True)], info)


def back(image: Image, *log_dirs: bytes, min_isr: int) -> Image:
    """Cleanly, with these directories."""
    registered = register_broker(
        image,
        sessions(image),
        Registration(
            broker_id=1,
            incarnation_id=b"n" * 16,
            endpoints=image.brokers[1].endpoints,
            log_dirs=log_dirs,
            previous_broker_epoch=image.brokers[1].broker_epoch,
        ),
        now=1.0,
        metadata_end=10,
        rules_of=rules(min_isr=min_isr),
    )
    image = after(image, registered.changes)
    return after(image, unfence_broker(image, 1, rules(min_isr=min_isr)))


def assigned(image: Image, directory: bytes, *, min_isr: int) -> PartitionInfo:
    epoch = image.brokers[1].broker_epoch
    asked = [Lying(directory, TOPIC_ID, 0)]
    given = assign_directories(image, 1, epoch, asked, rules(min_isr=min_isr))
    return only(after(image, given.changes))


def test_a_replica_whose_directory_is_gone_is_not_eligible() -> None:
    image = back(with_both(elr=(1, 2)), KEPT, min_isr=2)
    assert only(image).elr == (2,)
    info = assigned(image, KEPT, min_isr=2)
    assert (info.leader, info.elr, info.directory_of(1)) == (NO_LEADER, (2,), KEPT)


def test_it_is_not_in_sync_either() -> None:
    info = partition([1, 2], [1], directories=((1, GONE),))
    image = cluster([broker(1, log_dirs=(KEPT, GONE)), broker(2, fenced=True)], info)
    info = assigned(back(image, KEPT, min_isr=2), KEPT, min_isr=2)
    assert (info.leader, info.isr, info.elr, info.last_known_elr) == (NO_LEADER, (), (), ())


def test_where_one_copy_is_enough_an_empty_one_is_not() -> None:
    image = back(with_both(last_known_elr=(1,)), KEPT, min_isr=1)
    assert only(image).last_known_elr == (1,)  # its directory may yet come back
    info = assigned(image, KEPT, min_isr=1)
    assert (info.leader, info.last_known_elr) == (NO_LEADER, ())


def test_a_directory_that_went_between_two_assignments_takes_its_replica_with_it() -> None:
    """As if the registration had not known yet where the replica lies."""
    image = with_both(elr=(1, 2))
    info = only(image)
    image = cluster([broker(1, log_dirs=(KEPT,)), broker(2, fenced=True)], info)
    assert assigned(image, KEPT, min_isr=2).leader == NO_LEADER


def test_other_partitions_and_other_directories_keep_their_place() -> None:
    stays = with_both(elr=(1, 2))
    assert only(back(stays, KEPT, GONE, min_isr=2)).leader == 1
    unknown = partition([1, 2], [], leader=NO_LEADER, elr=(1, 2))
    image = cluster([broker(1, fenced=True, log_dirs=(KEPT, GONE)), 2], unknown)
    assert only(back(image, KEPT, min_isr=2)).leader == 1


def test_a_replica_that_was_moved_between_directories_that_are_there_keeps_its_place() -> None:
    image = with_both(elr=(1, 2))
    image = back(image, KEPT, GONE, min_isr=2)
    info = assigned(image, KEPT, min_isr=2)
    assert (info.leader, info.isr, info.directory_of(1)) == (1, (1,), KEPT)
