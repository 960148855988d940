"""The log of a coordinator is read on where it grew, and anew where it became another."""

from __future__ import annotations

from broker.inspect import CoordinatorRecord, SeenSegment
from broker.protocol.batch import TRANSACTIONAL
from broker.protocol.control import EndTransactionMarker, build_marker_batch
from broker.protocol.records import Record, build_batch
from harness.sim.invariants.coordinator_log import CoordinatorLog


class _File:
    """One segment."""

    def __init__(self) -> None:
        self.content = bytearray()

    def append(self, offset: int, value: bytes) -> None:
        self.content += build_batch([Record(offset, 0, b"k", value)], leader_epoch=0)

    def show(self, log: CoordinatorLog) -> list[bytes | None]:
        segment = SeenSegment(0, "d", "s", len(self.content))
        log.look([segment], lambda _, at, length: bytes(self.content[at : at + length]))
        return [each.value for each in log.entries if isinstance(each, CoordinatorRecord)]


def test_what_is_new_is_read_and_nothing_twice() -> None:
    file, log = _File(), CoordinatorLog()
    file.append(0, b"1")
    assert file.show(log) == [b"1"]
    file.append(1, b"2")
    assert (file.show(log), log.end, log.readings) == ([b"1", b"2"], 2, 1)


def test_a_log_with_other_bytes_at_its_end_is_read_anew() -> None:
    """A power loss may leave anything there, and the log has grown as long as it was since."""
    file, log = _File(), CoordinatorLog()
    file.append(0, b"1")
    size = len(file.content)
    file.append(1, b"2")
    file.show(log)
    file.content[size:] = bytes(len(file.content) - size)
    file.show(log)
    assert log.readings == 2
    del file.content[size:]
    file.append(1, b"3")
    assert file.show(log) == [b"1", b"3"]


def test_a_record_of_a_transaction_counts_from_its_marker_on_by_its_own_place() -> None:
    file, log = _File(), CoordinatorLog()

    def stage(offset: int, value: bytes, producer_id: int) -> None:
        file.content += build_batch(
            [Record(offset, 0, b"k", value)],
            leader_epoch=0,
            producer_id=producer_id,
            producer_epoch=0,
            attributes=TRANSACTIONAL,
        )

    def end(offset: int, producer_id: int, *, committed: bool) -> None:
        file.content += build_marker_batch(
            EndTransactionMarker(committed, 0),
            producer_id=producer_id,
            producer_epoch=0,
            time_ms=0,
            base_offset=offset,
            leader_epoch=0,
        )

    stage(0, b"early", 1)
    file.append(1, b"plain")
    stage(2, b"aborted", 2)
    stage(3, b"late", 3)
    for offset, producer_id, committed in ((4, 1, True), (5, 2, False)):
        end(offset, producer_id, committed=committed)
    file.show(log)
    assert (log.latest[b"k"].value, log.latest[b"k"].counts_from) == (b"plain", 1)
    end(6, 3, committed=True)
    file.show(log)
    assert (log.latest[b"k"].value, log.latest[b"k"].counts_from) == (b"late", 6)
