"""Frames between a run and its workers: whole again however a pipe cuts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.client.base import ClientSettings
from harness.run.frames import (
    ROW,
    Begin,
    Drain,
    LoadOrder,
    Order,
    Probe,
    StopOrder,
    WorkerFrameReader,
    framed,
    order_line,
    read_order,
)

ROWS = [
    [ROW, 17, 0, "invoke", "send", [["send", "t-0", 1 << 40]], None, None],
    [ROW, 19, 0, "ok", "poll", [["poll", {"t-0": [[0, 5], [1, -7]], "t-1": []}]], None, "n1"],
    [ROW, 23, 3, "info", "send", [["send", "t-0", "x"]], "TIMED_OUT: Broker: no", None],
]


@given(st.lists(st.integers(1, 40), max_size=80))
def test_rows_are_whole_again_however_they_are_cut(sizes: list[int]) -> None:
    data = b"".join(map(framed, ROWS))
    reader, found, position = WorkerFrameReader(), [], 0
    for size in [*sizes, len(data)]:
        found += list(reader.feed(data[position : position + size]))
        position += size
    assert found == ROWS


@pytest.mark.parametrize(
    "order",
    [
        Begin(
            number=3,
            clients=10,
            seed=7,
            workload="queue",
            client="confluent",
            settings=ClientSettings(bootstrap="n1:9092", acks="1", producer_config={"a": "b"}),
            replication_factor=3,
            topic_configs={"min.insync.replicas": "2"},
            key_dist="hot:90",
            burst=256,
            batch_bytes_max=None,
            transactions=True,
            transaction_timeout_ms=None,
            process=13,
            ordinal=4,
        ),
        LoadOrder(1, 2, 3),
        Probe(["t-0", "t-1"], 5, 7),
        Drain({"t-0": 17}, 5),
        StopOrder(),
    ],
)
def test_an_order_arrives_as_it_was_given(order: Order) -> None:
    line = order_line(order)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert read_order(line) == order
