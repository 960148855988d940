"""What a run counted, as results.json has it."""

from __future__ import annotations

from pathlib import Path

from harness.client.base import Batching
from harness.client.traffic import Meter, Traffic
from harness.history.recorder import Recorder
from harness.run.figures import partition_figures, traffic_figures
from harness.run.tally import Tally


def test_partitions_have_their_share_of_their_topic() -> None:
    found = partition_figures({"t-10": 1, "t-2": 3, "u-0": 5, "odd": 2})
    assert list(found) == ["odd", "t-2", "t-10", "u-0"]
    assert found["t-2"] == {"acknowledged": 3, "share": 0.75}
    assert found["u-0"]["share"] == found["odd"]["share"] == 1.0


def test_acknowledged_records_are_counted_by_partition(tmp_path: Path) -> None:
    tally = Tally(Recorder(tmp_path), 0)
    tally.row(1, 0, "ok", "send", [["send", "t-0", [3, 1]], ["send", "t-1", [0, 2]]])
    tally.row(2, 0, "info", "send", [["send", "t-0", [4, 3]], ["send", "t-0", 4]])
    tally.row(3, 0, "fail", "send", [["send", "t-0", 5]])
    tally.row(4, 0, "ok", "txn", [["append", "t-2", 6]])
    tally.row(5, 0, "ok", "put", [["put", "t-3/name", [0, 7]]])
    tally.close()
    assert tally.sent_by_key == {"t-0": 2, "t-1": 1, "t-2": 1, "t-3": 1}
    assert sum(tally.sent_by_key.values()) == tally.counts.sent


def test_traffic_is_told_with_what_the_client_was_to_do() -> None:
    meter = Meter()
    meter.sent([(1, 70), (9, 300)])
    found = traffic_figures(meter.take(), Batching(linger_ms=5, codec="lz4"))
    assert (found["linger_ms"], found["codec"]) == (5, "lz4")
    assert found["batch_records"] == {"mean": 5.0, "p50": 1, "p99": 9, "most": 9}
    assert (found["batches"], found["records"], found["batch_bytes_mean"]) == (2, 10, 185.0)
    assert (found["requests_in_flight_max"], found["batches_in_flight_max"]) == (1, 2)
    assert not found["sampled"]


def test_a_client_that_sent_nothing_has_no_sizes() -> None:
    found = traffic_figures(Traffic(), Batching())
    assert found["batch_records"] == {"mean": 0.0, "p50": 0, "p99": 0, "most": 0}
