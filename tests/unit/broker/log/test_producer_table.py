"""The producers of a partition, and the transactions that hold readers back."""

from __future__ import annotations

from broker.log.origin import Origin
from broker.log.producer_table import ProducerTable
from broker.protocol.batch import read_header
from broker.protocol.control import EndTransactionMarker
from tests.unit.broker.log.builders import batch, marker


def write(
    table: ProducerTable, producer_id: int, sequence: int, offset: int, *, seen_ms: int = 0
) -> None:
    header = read_header(
        batch(producer_id=producer_id, sequence=sequence, transactional=producer_id >= 10)
    )
    table.apply(table.plan([(header, offset, None)], seen_ms, Origin.CLIENT))


def end(table: ProducerTable, producer_id: int, offset: int, *, committed: bool) -> list[object]:
    header = read_header(marker(producer_id, committed=committed))
    ending = EndTransactionMarker(committed, 0)
    steps = table.plan([(header, offset, ending)], 0, Origin.COORDINATOR)
    return list(table.apply(steps))


def test_a_plan_changes_nothing_before_it_is_applied() -> None:
    table = ProducerTable()
    header = read_header(batch(producer_id=1, sequence=0))
    steps = table.plan([(header, 0, None)], 0, Origin.CLIENT)
    assert not table.producers
    table.apply(steps)
    assert table.producers[1].last_sequence == 0


def test_batches_of_one_append_are_checked_one_after_the_other() -> None:
    table = ProducerTable()
    headers = [read_header(batch(producer_id=1, sequence=number)) for number in range(3)]
    placed = [(header, offset, None) for offset, header in enumerate(headers)]
    table.apply(table.plan(placed, 0, Origin.CLIENT))
    assert [written.last_offset for written in table.producers[1].window] == [0, 1, 2]


def test_the_earliest_open_transaction_holds_the_stable_offset() -> None:
    table = ProducerTable()
    write(table, 10, 0, 5)
    write(table, 11, 0, 8)
    assert table.first_unstable_offset(100) == 5
    end(table, 10, 9, committed=True)
    assert table.first_unstable_offset(9) == 5, "the marker itself is not replicated yet"
    assert table.first_unstable_offset(10) == 8
    end(table, 11, 10, committed=True)
    assert table.first_unstable_offset(11) is None


def test_an_aborted_transaction_is_reported_with_what_is_stable_after_it() -> None:
    table = ProducerTable()
    write(table, 10, 0, 5)
    write(table, 11, 0, 8)
    assert end(table, 11, 9, committed=False) == [(11, 8, 9, 5)]
    assert end(table, 10, 12, committed=False) == [(10, 5, 12, 13)]


def test_silent_producers_are_forgotten_by_our_clock_and_not_by_their_timestamps() -> None:
    table = ProducerTable()
    write(table, 1, 0, 0, seen_ms=1000)
    write(table, 2, 0, 1, seen_ms=5000)
    assert table.expire(5000, 4001) == 0
    assert table.expire(5000, 4000) == 1
    assert list(table.producers) == [2]


def test_a_producer_with_an_open_transaction_is_never_forgotten() -> None:
    table = ProducerTable()
    write(table, 10, 0, 0)
    assert table.expire(10**12, 1) == 0
