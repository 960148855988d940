"""The log of a coordinator is read on where it grew, and anew where it became another."""

from __future__ import annotations

from broker.inspect import SeenSegment
from broker.protocol.records import Record, build_batch
from harness.sim.invariants.coordinator_log import CoordinatorLog, LoggedRecord


class _File:
    """One segment."""

    def __init__(self) -> None:
        self.content = bytearray()

    def append(self, offset: int, value: bytes) -> None:
        self.content += build_batch([Record(offset, 0, b"k", value)], leader_epoch=0)

    def show(self, log: CoordinatorLog) -> list[bytes | None]:
        segment = SeenSegment(0, "d", "s", len(self.content))
        log.look([segment], lambda _, at, length: bytes(self.content[at : at + length]))
        return [each.value for each in log.records if isinstance(each, LoggedRecord)]


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
