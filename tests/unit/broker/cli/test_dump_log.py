"""`broker dump-log`: batches and records as they stand, and where a file is damaged."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from broker.coordination.step import CoordinatorRecord
from broker.groups import records as group_records
from broker.protocol import messages as m
from broker.protocol.records import Record, build_batch
from broker.transactions import records as transaction_records
from broker.transactions.transaction import BUMPING, Transaction
from tests.unit.broker.cli.conftest import Run

NAME = "00000000000000000000.log"


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    folder = tmp_path / "t-0"
    folder.mkdir()
    first = build_batch(
        [
            Record(0, 1000, b"k", b"v", ((b"h", b"x"), (b"n", None))),
            Record(1, 1001, None, b"\xff\x00"),
        ],
        codec=4,
        base_offset=0,
        leader_epoch=3,
    )
    second = build_batch([Record(2, 1002, b"k2", None)], base_offset=2, producer_id=9)
    path = folder / NAME
    path.write_bytes(bytes(first) + bytes(second))
    return path


def test_every_batch_is_told_with_its_place(broker: Run, segment: Path) -> None:
    ran = broker("dump-log", segment.parent)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == f"segment: {NAME} size: {segment.stat().st_size}"
    assert "position: 0 baseOffset: 0 lastOffset: 1 count: 2" in lines[1]
    assert "partitionLeaderEpoch: 3" in lines[1]
    assert "compression: zstd" in lines[1]
    assert "baseOffset: 2 lastOffset: 2 count: 1" in lines[2]
    assert "producerId: 9" in lines[2]


def test_records_are_told_when_they_are_wanted(broker: Run, segment: Path) -> None:
    ran = broker("dump-log", segment, "--records", "--json")
    records = [line for line in map(json.loads, ran.out.splitlines()) if "key" in line]
    assert [(each["offset"], each["key"], each["value"]) for each in records] == [
        (0, "k", "v"),
        (1, None, "0xff00"),
        (2, "k2", None),
    ]
    assert records[0]["headers"] == {"h": "x", "n": None}


def test_records_of_transaction_coordinators_are_decoded(broker: Run, tmp_path: Path) -> None:
    opened = Transaction(
        transactional_id="txn-c3", producer_id=7, producer_epoch=2, timeout_ms=6000, updated_ms=10
    ).with_partitions([("orders", 1), ("payments", 0)], BUMPING, 20)
    [begun, ended] = dumped(
        broker,
        tmp_path / "__transaction_state-4",
        transaction_records.record(opened),
        transaction_records.tombstone("txn-c3"),
    )
    assert begun["key"] == {"type": "TransactionLog", "transactionalId": "txn-c3"}
    assert begun["value"]["state"] == "Ongoing"
    assert (begun["value"]["producerId"], begun["value"]["producerEpoch"]) == (7, 2)
    assert begun["value"]["partitions"] == ["orders-1", "payments-0"]
    assert begun["value"]["clientTransactionVersion"] == 2
    assert (ended["key"], ended["value"]) == (begun["key"], None)


def test_records_of_group_coordinators_are_decoded(broker: Run, tmp_path: Path) -> None:
    key = m.OffsetCommitKey(group="readers", topic="orders", partition=2)
    value = m.OffsetCommitValue(offset=41, metadata="", commit_timestamp=9)
    [commit] = dumped(broker, tmp_path / "__consumer_offsets-3", group_records.record(key, value))
    assert commit["key"] == {
        "type": "OffsetCommit", "group": "readers", "topic": "orders", "partition": 2,
    }  # fmt: skip
    assert commit["value"]["offset"] == 41


def test_records_that_no_coordinator_wrote_are_shown_as_bytes(broker: Run, tmp_path: Path) -> None:
    strange = CoordinatorRecord(b"\xff\xffx", b"?")
    [record] = dumped(broker, tmp_path / "__transaction_state-4", strange)
    assert (record["key"], record["value"]) == ("0xffff78", "?")


def dumped(broker: Run, folder: Path, *records: CoordinatorRecord) -> list[dict[str, Any]]:
    """The records of a log that has them in one batch."""
    folder.mkdir()
    batch = build_batch(
        [Record(at, 1000, each.key, each.value) for at, each in enumerate(records)], base_offset=0
    )
    (folder / NAME).write_bytes(bytes(batch))
    ran = broker("dump-log", folder, "--records", "--json")
    assert ran.code == 0, ran
    return [line for line in map(json.loads, ran.out.splitlines()) if "key" in line]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda content: content[:-1], "torn"),
        (lambda content: content + b"abc", "3 bytes at the end are too few"),
        (lambda content: content[:-1] + b"\xee", "fails its checksum"),
        (lambda content: content + bytes(100), "damage"),
    ],
)
def test_damage_is_told_with_its_position_and_ends_with_1(
    broker: Run, segment: Path, damage: object, reason: str
) -> None:
    assert callable(damage)
    whole = segment.read_bytes()
    segment.write_bytes(damage(whole))
    ran = broker("dump-log", segment.parent)
    assert ran.code == 1
    told = [line for line in ran.out.splitlines() if "damage:" in line]
    assert len(told) == 1
    assert reason in told[0]
    assert "position: " in told[0]


def test_offsets_that_go_back_are_damage(broker: Run, segment: Path) -> None:
    late = bytes(build_batch([Record(1, 1003, b"k", b"v")], base_offset=1))
    segment.write_bytes(segment.read_bytes() + late)
    ran = broker("dump-log", segment.parent)
    assert ran.code == 1
    assert "begins at offset 1, but the offsets before it reach 2" in ran.out


@pytest.mark.parametrize(
    ("name", "offset", "reason"),
    [
        ("00000000000000000002.log", 2, "its name says offset 2, but the segments before it"),
        ("00000000000000000007.log", 5, "begins at offset 5, but the offsets before it reach 6"),
    ],
)
def test_segments_that_overlap_are_damaged(
    broker: Run, segment: Path, name: str, offset: int, reason: str
) -> None:
    batch = build_batch([Record(offset, 1, b"k", b"v")], base_offset=offset)
    (segment.parent / name).write_bytes(batch)
    ran = broker("dump-log", segment.parent)
    assert ran.code == 1
    assert reason in ran.out
    assert "1 of the files are damaged" in ran.err


def test_gaps_between_offsets_are_no_damage(broker: Run, segment: Path) -> None:
    batch = build_batch([Record(9, 1, b"k", b"v")], base_offset=9)
    (segment.parent / "00000000000000000005.log").write_bytes(batch)
    assert broker("dump-log", segment.parent).code == 0


def test_a_reader_that_has_enough_is_no_damage(segment: Path) -> None:
    one = segment.read_bytes()
    segment.write_bytes(
        one
        + b"".join(
            bytes(build_batch([Record(n, 1, b"k", b"v")], base_offset=n)) for n in range(3, 3000)
        )
    )
    command = [sys.executable, "-c", "from broker.cli import main; main()", "dump-log"]
    with subprocess.Popen(
        [*command, str(segment.parent)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"segment: ")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize("where", ["nowhere", "t-0/other.txt", "."])
def test_a_place_without_segments_is_told(broker: Run, segment: Path, where: str) -> None:
    (segment.parent / "other.txt").write_text("")
    ran = broker("dump-log", segment.parent.parent / where)
    assert (ran.code, bool(ran.err.strip())) == (255, True)


def test_the_files_stay_as_they_are(broker: Run, segment: Path) -> None:
    before = segment.read_bytes()
    broker("dump-log", segment.parent, "--records")
    assert segment.read_bytes() == before
    assert [each.name for each in segment.parent.iterdir()] == [NAME]
