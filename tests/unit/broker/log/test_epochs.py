"""Leader epochs: KIP-101 and KIP-279 by example."""

from __future__ import annotations

import pytest

from broker.log.checkpoints import CorruptCheckpointError
from broker.log.epochs import EpochStart, LeaderEpochs


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(EpochStart(*entry) for entry in entries)


def test_an_epoch_begins_once() -> None:
    found = epochs((1, 0))
    found.assign(1, 10)
    found.assign(0, 20)
    assert list(found.entries) == [(1, 0)]


def test_an_epoch_without_records_makes_room_for_the_next() -> None:
    found = epochs((1, 0), (2, 10))
    found.assign(3, 10)
    assert list(found.entries) == [(1, 0), (3, 10)]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),
        (1, (1, 5)),  # older than all: it ended where the first known one began
        (2, (2, 20)),
        (3, (2, 20)),  # unknown here: the largest below it
        (4, (4, 30)),
        (5, (5, 42)),  # the latest ends with the log
        (6, (-1, -1)),
    ],
)
def test_where_an_epoch_ends(asked: int, answer: tuple[int, int]) -> None:
    found = epochs((2, 5), (4, 20), (5, 30))
    assert found.end_offset_for(asked, 42) == answer


def test_no_epoch_is_known_of_an_empty_cache() -> None:
    assert epochs().end_offset_for(0, 7) == (-1, -1)


def test_a_truncated_end_forgets_the_epochs_that_began_there() -> None:
    found = epochs((1, 0), (2, 10), (3, 20))
    found.truncate_from_end(20)
    assert list(found.entries) == [(1, 0), (2, 10)]
    assert found.latest == 2
    found.truncate_from_end(5)
    assert list(found.entries) == [(1, 0)]


def test_a_new_start_keeps_the_epoch_of_the_first_record() -> None:
    found = epochs((1, 0), (2, 10), (3, 20))
    found.truncate_from_start(15)
    assert list(found.entries) == [(2, 15), (3, 20)]
    found.truncate_from_start(20)
    assert list(found.entries) == [(3, 20)]
    found.truncate_from_start(5)
    assert list(found.entries) == [(3, 20)]


def test_each_offset_has_the_epoch_that_wrote_it() -> None:
    found = epochs((1, 5), (4, 20))
    assert [found.epoch_at(offset) for offset in (4, 5, 19, 20)] == [-1, 1, 1, 4]


def test_the_file_is_kafkas() -> None:
    found = epochs((1, 0), (4, 20))
    assert found.encode() == b"0\n2\n1 0\n4 20\n"
    assert LeaderEpochs.decode(found.encode(), "x").entries == found.entries


@pytest.mark.parametrize("content", [b"", b"1\n0\n", b"0\n2\n1 0\n", b"0\n1\nx y\n", b"0\n1\n1\n"])
def test_a_damaged_file_is_noticed(content: bytes) -> None:
    with pytest.raises(CorruptCheckpointError):
        LeaderEpochs.decode(content, "x")


def test_only_what_changes_has_to_be_written() -> None:
    found = epochs((1, 0))
    assert not found.changed
    found.assign(1, 5)
    found.truncate_from_end(9)
    assert not found.changed
    found.assign(2, 5)
    assert found.changed
