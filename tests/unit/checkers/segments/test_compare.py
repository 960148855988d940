"""Each contradiction between a history and what is stored, beside its innocent neighbour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkers.models import Question, judge
from checkers.segments.replicas import replicas_in
from checkers.verdict import Verdict
from harness.client.payload import encode
from harness.history.history import History
from tests.unit.checkers.segments.stored import batch, marker, write
from tests.unit.checkers.stories import polled, sent, told

X = "x-0"
NODES = ("n1", "n2", "n3")
Logs = dict[str, list[bytes]]


def judged(
    directory: Path, history: History, logs: Logs, nodes: tuple[str, ...] = NODES
) -> Verdict:
    for node in nodes:
        for log, batches in logs.items():
            write(directory, node, log, batches)
    return judge(history, "kafka", Question(replicas=tuple(replicas_in(directory))))


def by_segments(result: Verdict) -> list[str]:
    assert "broke" not in result.why
    return sorted(one.type for one in result.found if one.witness.get("by") == "segments")


def txn(outcome: Any = "ok") -> Any:
    return 0, outcome, "txn", [["send", X, [0, 1]], ["send", "y-0", [0, 2]]]


SENT = told(sent(0, X, (0, 1), (1, 2)))
BOTH = [batch(X, 0, 1, 2)]
COMMITTED = [batch(X, 0, 1, producer=7), marker(1, 7, committed=True)]
ABORTED = [batch(X, 0, 1, producer=7), marker(1, 7, committed=False)]
Y_COMMITTED = [batch("y-0", 0, 2, producer=7), marker(1, 7, committed=True)]
Y_ABORTED = [batch("y-0", 0, 2, producer=7), marker(1, 7, committed=False)]

CASES: dict[str, tuple[History, Logs, list[str]]] = {
    "as told": (SENT, {X: BOTH}, []),
    "one is missing at the end": (SENT, {X: [batch(X, 0, 1)]}, ["lost-write"]),
    "one is missing before others": (SENT, {X: [batch(X, 1, 2)]}, ["lost-write"]),
    "replaced": (
        told(sent(0, X, (0, 1)), sent(1, X, (None, 3), outcome="info")),
        {X: [batch(X, 0, 3)]},
        ["inconsistent-offsets", "lost-write"],
    ),
    "elsewhere": (told(sent(0, X, (5, 1))), {X: [batch(X, 0, 1)]}, ["inconsistent-offsets"]),
    "twice": (told(sent(0, X, (0, 1))), {X: [batch(X, 0, 1, 1)]}, ["duplicate"]),
    "of nobody": (told(sent(0, X, (0, 1))), {X: [batch(X, 0, 1, 9)]}, ["phantom-record"]),
    "of another log": (
        told(sent(0, X, (0, 1))),
        {X: [batch(X, 0, 1), batch("z-0", 1, 5)]},
        ["phantom-record"],
    ),
    "an unknown send is stored": (
        told(sent(0, X, (None, 1), outcome="info")),
        {X: [batch(X, 0, 1)]},
        [],
    ),
    "an unknown send is not": (
        told(sent(0, X, (None, 1), outcome="info"), sent(1, X, (0, 2))),
        {X: [batch(X, 0, 2)]},
        [],
    ),
    "a failure is stored": (
        told(sent(0, X, (None, 1), outcome="fail")),
        {X: [batch(X, 0, 1)]},
        ["failed-but-stored"],
    ),
    "a failure is stored and aborted": (
        told(sent(0, X, (None, 1), outcome="fail")),
        {X: ABORTED},
        [],
    ),
    "polled and gone": (
        told(sent(0, X, (None, 1), outcome="info"), polled(1, X, (0, 1))),
        {X: [batch(X, 0)]},
        ["lost-write"],
    ),
    "polled though aborted": (
        told(sent(0, X, (None, 1), outcome="info"), polled(1, X, (0, 1))),
        {X: ABORTED},
        ["G1a"],
    ),
    "polled as committed": (
        told(sent(0, X, (None, 1), outcome="info"), polled(1, X, (0, 1))),
        {X: COMMITTED},
        [],
    ),
    "a transaction whole": (told(txn()), {X: COMMITTED, "y-0": Y_COMMITTED}, []),
    "a transaction torn": (
        told(txn()),
        {X: COMMITTED, "y-0": Y_ABORTED},
        ["lost-write", "torn-transaction"],
    ),
    "a transaction of unknown end torn": (
        told(txn("info")),
        {X: COMMITTED, "y-0": Y_ABORTED},
        ["torn-transaction"],
    ),
    "a transaction of unknown end aborted": (
        told(txn("info")),
        {X: ABORTED, "y-0": Y_ABORTED},
        [],
    ),
    "an unknown send that came too early": (
        told(sent(0, X, (1, 1)), sent(1, X, (None, 2), outcome="info")),
        {X: [batch(X, 0, 2, 1)]},
        ["nonlinearizable-log"],
    ),
    "an unknown send that came late": (
        told(sent(0, X, (0, 1)), sent(1, X, (None, 2), outcome="info")),
        {X: [batch(X, 0, 1, 2)]},
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_stored_decides(tmp_path: Path, name: str) -> None:
    history, logs, expected = CASES[name]
    assert by_segments(judged(tmp_path, history, logs)) == expected


def test_unknown_sends_are_decided(tmp_path: Path) -> None:
    history = told(
        sent(0, X, (None, 1), outcome="info"),
        sent(1, X, (None, 2), outcome="info"),
        sent(2, X, (1, 3)),
    )
    result = judged(tmp_path, history, {X: [batch(X, 0, 1, 3)]})
    told_ = result.stats["segments"]["told"]
    assert told_ == {"info: not stored": 1, "info: stored": 1, "ok: stored": 1}


def test_a_node_alone_proves_no_loss_beyond_its_end(tmp_path: Path) -> None:
    result = judged(tmp_path, SENT, {X: [batch(X, 0, 1)]}, nodes=("n1",))
    assert by_segments(result) == []
    assert result.stats["segments"]["told"]["ok: cannot be said"] == 1


def test_what_retention_deleted_is_not_lost(tmp_path: Path) -> None:
    for node in NODES:
        write(tmp_path, node, X, [batch(X, 1, 2)], base=1)
    result = judge(SENT, "kafka", Question(replicas=tuple(replicas_in(tmp_path))))
    assert by_segments(result) == []


def test_what_compaction_takes_is_not_lost(tmp_path: Path) -> None:
    assert by_segments(judged(tmp_path, SENT, {X: [batch(X, 1, 2, key=b"k")]})) == []


def test_a_damaged_segment_is_told_and_proves_no_loss(tmp_path: Path) -> None:
    broken = bytearray(batch(X, 1, 2))
    broken[-1] ^= 1
    result = judged(tmp_path, SENT, {X: [batch(X, 0, 1), bytes(broken)]})
    assert set(by_segments(result)) == {"damaged-segment"}


def test_replicas_that_had_one_leader_must_be_equal(tmp_path: Path) -> None:
    write(tmp_path, "n1", X, [batch(X, 0, 1), batch(X, 1, 2, epoch=1), batch(X, 2, 3, epoch=2)])
    write(tmp_path, "n2", X, [batch(X, 0, 1), batch(X, 1, 9, epoch=0), batch(X, 2, 3, epoch=2)])
    history = told(sent(0, X, (0, 1), (1, 2), (2, 3)), sent(1, X, (None, 9), outcome="info"))
    result = judge(history, "kafka", Question(replicas=tuple(replicas_in(tmp_path))))
    assert by_segments(result) == ["divergent-replicas"]
    (split,) = (one for one in result.found if one.type == "divergent-replicas")
    assert split.because.startswith("at offset 1 of x-0 n1 has x-0 2 ")


def test_a_replica_that_was_left_behind_may_have_an_end_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "n1", X, [batch(X, 0, 1), batch(X, 1, 2, epoch=1)])
    write(tmp_path, "n2", X, [batch(X, 0, 1), batch(X, 1, 9, 8, epoch=0)])
    history = told(sent(0, X, (0, 1), (1, 2)), sent(1, X, (None, 9), (None, 8), outcome="info"))
    result = judge(history, "kafka", Question(replicas=tuple(replicas_in(tmp_path))))
    assert by_segments(result) == []
    assert result.stats["segments"]["told"]["ok: stored"] == 2


def test_a_hole_in_one_replica_is_divergence(tmp_path: Path) -> None:
    write(tmp_path, "n1", X, [batch(X, 0, 1, 2), batch(X, 2, 3)])
    write(tmp_path, "n2", X, [batch(X, 0, 1), batch(X, 2, 3)])
    history = told(sent(0, X, (0, 1), (1, 2), (2, 3)))
    result = judge(history, "kafka", Question(replicas=tuple(replicas_in(tmp_path))))
    assert by_segments(result) == ["divergent-replicas"]


def test_foreign_values_are_read_as_json(tmp_path: Path) -> None:
    from broker.protocol.records import Record, build_batch

    for node in NODES:
        records = [Record(0, 0, None, b"7"), Record(1, 0, None, b'"word"')]
        write(tmp_path, node, X, [bytes(build_batch(records, leader_epoch=0))])
    history = told(sent(0, X, (0, 7), (1, "word")))
    result = judge(history, "kafka", Question(replicas=tuple(replicas_in(tmp_path))))
    assert by_segments(result) == []
    assert result.stats["segments"]["told"] == {"ok: stored": 2}


def test_what_was_put_deleted_or_appended_is_no_phantom(tmp_path: Path) -> None:
    from broker.protocol.records import Record, build_batch

    records = [
        Record(0, 0, b"a", encode(f"{X}/a", 1)),
        Record(1, 0, b"a", None),
        Record(2, 0, None, encode(X, 3)),
        Record(3, 0, b"b", encode(f"{X}/b", 4)),
    ]
    history = told(
        (0, "ok", "put", [["put", f"{X}/a", [0, 1]]]),
        (0, "ok", "put", [["put", f"{X}/a", [1, None]]]),
        (0, "ok", "txn", [["append", X, 3]]),
        polled(1, X, (0, 1)),
    )
    result = judged(tmp_path, history, {X: [bytes(build_batch(records, leader_epoch=0))]})
    (strange,) = (one for one in result.found if one.witness.get("by") == "segments")
    assert (strange.type, strange.witness["value"]) == ("phantom-record", 4)
