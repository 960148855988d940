"""Bursts of records: drawn by seed, numbered without gaps or overlaps, and judged honestly."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from harness.decisions import Decisions
from tests.unit.checkers.stories import polled, sent, told
from workloads import WORKLOADS, make_workload
from workloads.base import Load
from workloads.bursts import Bursts, batching_of
from workloads.logs import LOG_CHECKERS

UNKNOWN = (0, "info", "send", [["send", "x", [0, 1]], ["send", "x", 2], ["send", "x", [1, 3]]])
"""The first and the last record are acknowledged."""


def load(**more: Any) -> Load:
    return Load(seed=7, clients=20, topic_configs={}, **more)


def found(*operations: Any) -> set[str]:
    verdicts = check(told(*operations), Contract(), LOG_CHECKERS)
    return {anomaly.type for verdict in verdicts for anomaly in verdict.anomalies}


def test_sends_have_one_record_or_many_and_no_number_is_used_twice() -> None:
    bursts = Bursts(Decisions(7), 3, most=256)
    sizes = [bursts.size(ordinal) for ordinal in range(300)]
    assert 0.3 < sizes.count(1) / len(sizes) < 0.7
    assert 128 < max(sizes) <= 256
    for ordinal, size in enumerate(sizes):
        assert bursts.sequence(ordinal + 1) == bursts.sequence(ordinal) + size


def test_without_bursts_a_record_has_its_operation_s_number() -> None:
    bursts = Bursts(Decisions(7), 3, most=1)
    assert [bursts.sequence(ordinal) for ordinal in (0, 1, 500)] == [0, 1, 500]


def test_clients_that_roam_send_to_several_partitions_at_once() -> None:
    queue = make_workload("queue", load(burst=64))

    def widths(client: int) -> set[int]:
        operations = [queue.operation(client, at) for at in range(200)]
        sends = [each.value for each in operations if each.f == "send"]
        return {len({key for _, key, _ in value}) for value in sends}

    assert widths(2) == {1, 2, 3}
    assert widths(3) == {1}


def test_clients_differ_in_how_they_batch_and_the_seed_decides() -> None:
    drawn = [make_workload("queue", load(burst=64)).batching(client) for client in range(20)]
    assert drawn == [batching_of(Decisions(7), client, None) for client in range(20)]
    assert len({each.codec for each in drawn}) >= 4
    assert len({each.batch_bytes for each in drawn}) >= 3
    assert len({each.linger_ms for each in drawn}) >= 3
    small = make_workload("queue", load(burst=64, batch_bytes_max=100))
    assert {small.batching(client).batch_bytes for client in range(20)} == {100}


OF_BURSTS = ("queue", "keyed", "group")


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in OF_BURSTS])
def test_other_workloads_send_what_they_wait_for(name: str) -> None:
    workload = make_workload(name, load(burst=64))
    sends = [workload.operation(0, at) for at in range(300)]
    assert all(len(each.value) == 1 for each in sends if each.f == "send")
    assert workload.batching(0).linger_ms == 0


def test_an_unknown_record_of_a_burst_is_neither_lost_nor_aborted() -> None:
    assert not found(UNKNOWN, polled(1, "x", (0, 1), (1, 3)))
    assert not found(UNKNOWN, polled(1, "x", (0, 1), (1, 3), (2, 2)))
    assert not found(UNKNOWN, sent(1, "x", (2, 9)), polled(1, "x", (0, 1), (1, 3), (2, 9)))


def test_an_acknowledged_record_of_a_burst_is_lost_though_others_are_unknown() -> None:
    told_of = found(UNKNOWN, sent(1, "x", (2, 9)), polled(1, "x", (0, 1), (2, 9)))
    assert told_of == {"lost-write", "int-poll-skip"}


def test_records_of_a_burst_out_of_order_are_found() -> None:
    swapped = (0, "ok", "send", [["send", "x", [1, 1]], ["send", "x", [0, 2]]])
    assert "producer-order" in found(swapped, polled(1, "x", (0, 2), (1, 1)))
