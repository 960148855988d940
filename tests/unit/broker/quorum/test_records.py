"""Changes as record batches: back as they were, control batches apart, damage noticed."""

from __future__ import annotations

import pytest

from broker.protocol.batch import BatchHeader, CorruptBatchError, read_header, verify_crc
from broker.protocol.records import Record, build_batch
from broker.quorum.records import (
    change_batch,
    changes_of,
    is_snapshot_footer,
    leader_change_batch,
    snapshot_footer_batch,
    voters_of,
)
from tests.unit.broker.quorum.metadata import some_of_everything


def opened(batch: bytearray) -> tuple[memoryview, BatchHeader]:
    view = memoryview(batch)
    header = read_header(view, 0)
    assert header.size == len(batch)
    assert verify_crc(view, 0, header)
    return view, header


def test_changes_come_back_as_they_were_and_in_their_order() -> None:
    changes = some_of_everything()
    view, header = opened(change_batch(changes, 5))
    assert header.record_count == len(changes)
    assert not header.is_control
    assert changes_of(view, header) == changes
    assert not is_snapshot_footer(view, header)


def test_the_same_changes_are_the_same_bytes() -> None:
    assert change_batch(some_of_everything(), 5) == change_batch(some_of_everything(), 5)


@pytest.mark.parametrize(
    ("batch", "is_footer"),
    [(leader_change_batch(2, [1, 2, 3], 5), False), (snapshot_footer_batch(5), True)],
)
def test_a_control_batch_changes_nothing(batch: bytearray, is_footer: bool) -> None:
    view, header = opened(batch)
    assert header.is_control
    assert changes_of(view, header) == []
    assert is_snapshot_footer(view, header) is is_footer


def test_a_leader_change_says_among_whom_it_was_elected() -> None:
    assert voters_of(*opened(leader_change_batch(2, [3, 1, 2], 5))) == (3, 1, 2)
    assert voters_of(*opened(snapshot_footer_batch(5))) is None
    assert voters_of(*opened(change_batch(some_of_everything(), 5))) is None


@pytest.mark.parametrize(
    "value", [None, b"", b"[]", b"{}", b'{"type":"OfAnotherVersion"}', b"\xff", b"7"]
)
def test_what_is_no_change_is_named_by_its_offset(value: bytes | None) -> None:
    view, header = opened(build_batch([Record(40, 5, None, value)]))
    with pytest.raises(CorruptBatchError, match="at offset 40 holds no change that is known"):
        changes_of(view, header)
