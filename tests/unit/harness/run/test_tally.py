"""Counting while a run goes on: how far keys were acknowledged and read, what never ended."""

from __future__ import annotations

from pathlib import Path

from harness.history.history import History
from harness.history.op import NEMESIS
from harness.history.recorder import Recorder
from harness.run.tally import Tally

START_NS = 1_000


def test_what_is_told_is_in_the_history(tmp_path: Path) -> None:
    tally = Tally(Recorder(tmp_path), START_NS)
    tally.row(1_010, 0, "invoke", "send", [["send", "t-0", 7]])
    tally.row(1_020, 0, "ok", "send", [["send", "t-0", [4, 7]]], None, "n1")
    tally.note(1_030, "kill", {"node": "n1"})
    tally.close()
    first, second, third = History.load(tmp_path)
    assert (first.time_ns, first.process, first.type, first.value) == (
        10, 0, "invoke", [["send", "t-0", 7]],
    )  # fmt: skip
    assert (second.type, second.value, second.node) == ("ok", [["send", "t-0", [4, 7]]], "n1")
    assert (third.process, third.f, third.value) == (NEMESIS, "kill", {"node": "n1"})


def test_ends_and_unread_follow_sends_and_polls(tmp_path: Path) -> None:
    tally = Tally(Recorder(tmp_path), START_NS)
    for offset in (3, 9, 5):
        tally.row(1, 0, "ok", "send", [["send", "t-0", [offset, offset]]])
    assert tally.ends() == {"t-0": 10}
    assert tally.unread == 10
    tally.row(2, 1, "ok", "poll", [["poll", {"t-0": [[3, 3], [5, 5]], "t-1": []}]])
    assert tally.unread == 4
    tally.row(3, 1, "ok", "end-offsets", {"high": {"t-0": 12}})
    assert tally.ends() == {"t-0": 12}
    assert (tally.counts.ok, tally.counts.sent, tally.counts.read) == (5, 3, 2)
    tally.close()


def test_a_register_is_read_back_with_its_partition_and_a_list_up_to_its_end(
    tmp_path: Path,
) -> None:
    tally = Tally(Recorder(tmp_path), START_NS)
    tally.row(1, 0, "ok", "put", [["put", "r-0/a", [3, 1]]])
    tally.row(2, 0, "ok", "txn", [["append", "l-0", 2]])
    tally.row(3, 0, "ok", "end-offsets", {"high": {"l-0": 1}})
    assert tally.ends() == {"r-0": 4, "l-0": 1}
    assert tally.counts.sent == 2
    tally.close()


def test_acknowledged_records_of_an_unknown_send_count(tmp_path: Path) -> None:
    """They must be read back, too."""
    tally = Tally(Recorder(tmp_path), START_NS)
    value = [["send", "t-0", [4, 7]], ["send", "t-0", 8], ["send", "t-1", [0, 9]]]
    tally.row(1, 0, "info", "send", value, "_MSG_TIMED_OUT")
    assert tally.ends() == {"t-0": 5, "t-1": 1}
    assert (tally.counts.info, tally.counts.sent) == (1, 2)
    tally.close()


def test_what_is_not_known_counts_for_nothing(tmp_path: Path) -> None:
    tally = Tally(Recorder(tmp_path), START_NS)
    tally.row(1, 0, "info", "send", [["send", "t-0", 7]], "TIMED_OUT")
    tally.row(1, 0, "fail", "send", [["send", "t-0", 8]], "MESSAGE_TOO_LARGE")
    tally.row(1, 0, "ok", "send", [["send", "t-0", [None, 9]]])
    assert tally.ends() == {}
    assert (tally.counts.info, tally.counts.fail, tally.counts.ok) == (1, 1, 1)
    tally.close()


def test_an_operation_whose_client_died_is_in_doubt(tmp_path: Path) -> None:
    tally = Tally(Recorder(tmp_path), START_NS)
    tally.row(1_010, 3, "invoke", "send", [["send", "t-0", 7]])
    tally.abandon(1_050, 3, "the client's process ended")
    tally.abandon(1_060, 3, "the client's process ended")
    tally.close()
    [_, end] = History.load(tmp_path)
    assert (end.type, end.process, end.error) == ("info", 3, "the client's process ended")
    assert end.value == [["send", "t-0", 7]]


def test_p99_is_of_what_ended_since_the_last_question(tmp_path: Path) -> None:
    tally = Tally(Recorder(tmp_path), 0)
    assert tally.recent_p99_ms() is None
    for process in range(100):
        tally.row(0, process, "invoke", "poll", [["poll"]])
        tally.row(2_000_000, process, "ok", "poll", [["poll", {}]])
    p99_ms = tally.recent_p99_ms()
    assert p99_ms is not None
    assert 2.0 <= p99_ms <= 2.0 * 1.16
    assert tally.recent_p99_ms() is None
    tally.close()
