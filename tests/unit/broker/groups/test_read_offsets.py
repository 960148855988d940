"""What OffsetFetch reads is the state of one moment, however long its answer takes."""

from __future__ import annotations

import pytest

from broker.coordination.step import ProducerIdAndEpoch, Ticket
from broker.groups.machine import GroupMachine
from broker.groups.offsets import NO_TOPIC_ID, commit_record, delete_record
from broker.groups.read_offsets import NONE_COMMITTED, ReadOffsets
from broker.groups.settings import GroupSettings
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from tests.golden.groups.shell import WALL_MS, Topics

ALL = None
NAMED = [m.OffsetFetchRequestTopics(name="t", partition_indexes=[0, 1])]


def machine() -> GroupMachine:
    return GroupMachine(GroupSettings(), Topics({"t": 2}), lambda: "id")


def write(groups: GroupMachine, partition: int, offset: int, topic_id: bytes = NO_TOPIC_ID) -> None:
    value = m.OffsetCommitValue(
        offset=offset, metadata="", commit_timestamp=WALL_MS, topic_id=topic_id
    )
    groups.replay(commit_record("g", "t", partition, value))


def read(
    groups: GroupMachine, topics: list[m.OffsetFetchRequestTopics] | None, *, stable: bool = False
) -> ReadOffsets:
    asked = m.OffsetFetchRequestGroup(group_id="g", topics=topics)
    [reply] = groups.offset_fetch(Ticket(), asked, require_stable=stable).replies
    found: ReadOffsets = reply.response
    return found


@pytest.mark.parametrize("topics", [ALL, NAMED])
def test_what_was_read_does_not_change_with_later_commits(
    topics: list[m.OffsetFetchRequestTopics] | None,
) -> None:
    groups = machine()
    write(groups, 0, 5)
    found = read(groups, topics)
    write(groups, 0, 6)
    write(groups, 1, 7)
    assert found.find("t", NO_TOPIC_ID, 0).offset == 5
    assert found.find("t", NO_TOPIC_ID, 1) == NONE_COMMITTED
    groups.replay(delete_record("g", "t", 0))
    assert found.find("t", NO_TOPIC_ID, 0).offset == 5


@pytest.mark.parametrize("topics", [ALL, NAMED])
def test_what_was_unstable_stays_so_when_its_transaction_ends_meanwhile(
    topics: list[m.OffsetFetchRequestTopics] | None,
) -> None:
    groups = machine()
    write(groups, 0, 5)
    write(groups, 1, 5)
    staged = m.OffsetCommitValue(offset=6, metadata="", commit_timestamp=WALL_MS)
    record = commit_record("g", "t", 1, staged)._replace(producer=ProducerIdAndEpoch(1, 0))
    groups.replay(record)
    found = read(groups, topics, stable=True)
    groups.pending.end(1, committed=True)
    codes = [found.find("t", NO_TOPIC_ID, each).error_code for each in (0, 1)]
    assert codes == [ErrorCode.NONE, ErrorCode.UNSTABLE_OFFSET_COMMIT]


def test_an_offset_of_an_earlier_topic_of_the_same_name_is_none() -> None:
    groups = machine()
    write(groups, 0, 5, topic_id=b"1" * 16)
    found = read(groups, ALL)
    assert found.find("t", b"1" * 16, 0).offset == 5
    assert found.find("t", b"2" * 16, 0) == NONE_COMMITTED


def test_only_the_topics_that_were_asked_for_are_copied() -> None:
    groups = machine()
    write(groups, 0, 5)
    found = read(groups, [m.OffsetFetchRequestTopics(name="u", partition_indexes=[0])])
    assert found.by_topic == {}
