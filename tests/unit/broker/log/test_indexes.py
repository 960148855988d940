"""The three index files: byte for byte Kafka's, and never trusted blindly."""

from __future__ import annotations

from struct import pack

import pytest

from broker.log.offset_index import CorruptIndexError, OffsetIndex
from broker.log.time_index import TimeIndex
from broker.log.txn_index import AbortedTransaction, TxnIndex


def offset_index() -> OffsetIndex:
    index = OffsetIndex()
    for entry in ((9, 100), (19, 200), (29, 300)):
        index.add(*entry)
    return index


def test_an_offset_is_looked_for_from_the_entry_before_it() -> None:
    index = offset_index()
    assert [index.floor(offset) for offset in (0, 8, 9, 10, 19, 99)] == [0, 0, 100, 100, 200, 300]


def test_a_cut_is_made_where_a_batch_is_known_to_begin() -> None:
    index = offset_index()
    assert [index.boundary(position) for position in (99, 100, 250, 999)] == [0, 100, 200, 300]


def test_the_offset_index_is_kafkas_file() -> None:
    content = offset_index().encode()
    assert content == pack(">6i", 9, 100, 19, 200, 29, 300)
    assert OffsetIndex.decode(content, 400).entries() == [(9, 100), (19, 200), (29, 300)]


def test_the_offset_index_is_cut_with_the_file() -> None:
    index = offset_index()
    index.truncate(200)
    assert index.entries() == [(9, 100)]


@pytest.mark.parametrize(
    ("content", "log_size"),
    [
        (pack(">6i", 9, 100, 19, 200, 29, 300), 300),
        (pack(">6i", 9, 100, 9, 200, 29, 300), 400),
        (pack(">6i", 9, 100, 19, 50, 29, 300), 400),
        (pack(">4i", 9, 100, 0, 0), 400),
        (b"abc", 400),
    ],
)
def test_an_offset_index_that_cannot_be_true_is_refused(content: bytes, log_size: int) -> None:
    with pytest.raises(CorruptIndexError):
        OffsetIndex.decode(content, log_size)


def test_the_time_index_takes_only_what_rises() -> None:
    index = TimeIndex()
    for entry in ((50, 1), (50, 2), (40, 3), (60, 4), (-1, 5)):
        index.add(*entry)
    assert index.entries() == [(50, 1), (60, 4)]
    assert [index.floor(time) for time in (0, 50, 51, 60, 61)] == [0, 0, 1, 1, 4]


def test_the_time_index_is_kafkas_file() -> None:
    index = TimeIndex()
    index.add(50, 1)
    index.add(60, 4)
    assert index.encode() == pack(">qiqi", 50, 1, 60, 4)
    assert TimeIndex.decode(index.encode()).entries() == index.entries()
    index.truncate(4)
    assert index.entries() == [(50, 1)]


@pytest.mark.parametrize(
    "content", [b"abc", pack(">qiqi", 50, 1, 50, 4), pack(">qiqi", 5, 4, 6, 4)]
)
def test_a_time_index_that_cannot_be_true_is_refused(content: bytes) -> None:
    with pytest.raises(CorruptIndexError):
        TimeIndex.decode(content)


def txn_index() -> TxnIndex:
    index = TxnIndex()
    index.add(AbortedTransaction(1, 5, 10, 7))
    index.add(AbortedTransaction(2, 7, 20, 21))
    index.add(AbortedTransaction(1, 30, 40, 41))
    return index


def test_aborted_transactions_are_found_by_the_range_that_is_read() -> None:
    found: list[AbortedTransaction] = []
    assert txn_index().collect(11, 25, found) is True, "later ones begin after 25"
    assert [entry.producer_id for entry in found] == [2]
    found = []
    assert txn_index().collect(0, 100, found) is False, "a later segment may hold more"
    assert len(found) == 3


def test_the_txn_index_is_kafkas_file() -> None:
    content = txn_index().encode()
    assert len(content) == 3 * 34
    assert content[:34] == pack(">hqqqq", 0, 1, 5, 10, 7)
    assert TxnIndex.decode(content).entries == txn_index().entries


def test_a_txn_index_of_another_version_is_refused() -> None:
    with pytest.raises(CorruptIndexError):
        TxnIndex.decode(pack(">hqqqq", 1, 1, 5, 10, 7))
    with pytest.raises(CorruptIndexError):
        TxnIndex.decode(b"abc")


def test_aborted_transactions_are_cut_with_the_log() -> None:
    index = txn_index()
    index.truncate(20)
    assert [entry.last_offset for entry in index.entries] == [10]
