"""Offsets of open transactions in the machine of a coordinator: which commit counts in the end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.coordination.step import (
    Now,
    ProducerIdAndEpoch,
    Step,
    Ticket,
    TransactionEnd,
)
from broker.groups.machine import GroupMachine
from broker.groups.offsets import NO_TOPIC_ID, commit_record, delete_record
from broker.groups.settings import GroupSettings
from broker.protocol import messages as m
from broker.protocol.control import EndTransactionMarker
from broker.protocol.errors import ErrorCode
from tests.golden.groups.shell import WALL_MS, Topics

RETENTION_MS = 1000
CHECK_MS = 10


def machine() -> GroupMachine:
    settings = GroupSettings(
        offsets_retention_ms=RETENTION_MS, offsets_retention_check_interval_ms=CHECK_MS
    )
    return GroupMachine(settings, Topics({"t": 1}), lambda: "id")


def write(groups: GroupMachine, offset: int, producer_id: int | None = None) -> None:
    value = m.OffsetCommitValue(
        offset=offset, leader_epoch=-1, metadata="", commit_timestamp=WALL_MS
    )
    producer = None if producer_id is None else ProducerIdAndEpoch(producer_id, 0)
    groups.replay(commit_record("g", "t", 0, value)._replace(producer=producer))


def end(groups: GroupMachine, producer_id: int, *, commit: bool = True) -> None:
    producer = ProducerIdAndEpoch(producer_id, 0)
    groups.end_transaction(TransactionEnd(producer, EndTransactionMarker(commit, 0)))


def offset(groups: GroupMachine) -> int | None:
    found = groups.offsets.find("g", "t", 0)
    return None if found is None else found.offset


def test_a_plain_commit_after_a_staged_one_stays() -> None:
    groups = machine()
    write(groups, 5, producer_id=1)
    write(groups, 3)
    end(groups, 1)
    assert offset(groups) == 3


def test_of_two_transactions_the_later_commit_counts_and_not_the_later_marker() -> None:
    groups = machine()
    write(groups, 5, producer_id=1)
    write(groups, 6, producer_id=2)
    end(groups, 2)
    end(groups, 1)
    assert offset(groups) == 6


def test_an_aborted_commit_does_not_replace_an_earlier_staged_one() -> None:
    groups = machine()
    write(groups, 5, producer_id=1)
    write(groups, 6, producer_id=2)
    end(groups, 2, commit=False)
    end(groups, 1)
    assert offset(groups) == 5


def test_a_staged_commit_after_a_plain_one_counts_when_it_is_committed() -> None:
    groups = machine()
    write(groups, 3)
    write(groups, 5, producer_id=1)
    assert offset(groups) == 3
    end(groups, 1)
    assert offset(groups) == 5
    end(groups, 1, commit=False)  # the next transaction, without offsets
    assert offset(groups) == 5


def test_an_offset_that_a_transaction_will_replace_does_not_expire() -> None:
    groups = machine()
    groups.loaded(Now(0.0, WALL_MS))
    write(groups, 3)
    write(groups, 5, producer_id=1)
    late = Now(CHECK_MS / 1000, WALL_MS + 10 * RETENTION_MS)
    assert groups.tick(late).records == []
    end(groups, 1, commit=False)
    later = Now(2 * CHECK_MS / 1000, WALL_MS + 10 * RETENTION_MS)
    assert delete_record("g", "t", 0) in groups.tick(later).records


def delete_group(groups: GroupMachine) -> Step:
    return groups.delete_group(Ticket(), "g")


def delete_topic(groups: GroupMachine) -> Step:
    return groups.topics_changed([], ["t"], Now(0.0, WALL_MS))


@pytest.mark.parametrize("delete", [delete_group, delete_topic])
def test_what_is_staged_goes_with_its_group_and_with_its_topic(
    delete: Callable[[GroupMachine], Step],
) -> None:
    groups = machine()
    write(groups, 5, producer_id=1)
    step = delete(groups)
    assert delete_record("g", "t", 0) in step.records
    for record in step.records:
        groups.replay(record)
    end(groups, 1)
    assert offset(groups) is None


def test_only_who_requires_stable_offsets_is_told_of_pending_ones() -> None:
    groups = machine()
    write(groups, 3)
    write(groups, 5, producer_id=1)
    asked = m.OffsetFetchRequestGroup(group_id="g", topics=None)
    codes = []
    for stable in (True, False):
        step = groups.offset_fetch(Ticket(), asked, require_stable=stable)
        each = step.replies[0].response.find("t", NO_TOPIC_ID, 0)
        codes.append((each.error_code, each.offset))
    assert codes == [(ErrorCode.UNSTABLE_OFFSET_COMMIT, -1), (ErrorCode.NONE, 3)]
