"""The walk over records: the compiled one and its Python twin agree on whatever they are fed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from broker.protocol import record_walk, record_walk_python
from broker.protocol.batch import HEADER_SIZE
from broker.protocol.record_walk_python import NAMED_MAX, Problem
from broker.protocol.records import Headers, Record, build_batch

ANY_TIME = (-(1 << 63), (1 << 63) - 1, 0)
CUT_WHERE_NOBODY_CUTS = [1, 2, 3, 7, 50, 100_000]

needs_compiler = pytest.mark.skipif(
    not record_walk.COMPILED, reason="no compiled walk: make setup needs gcc and python3-dev"
)


def records_data(random: Random) -> tuple[bytes, int]:
    def some_bytes() -> bytes | None:
        return None if random.random() < 0.2 else random.randbytes(random.choice([0, 1, 5, 200]))

    records = []
    for number in range(random.randint(1, 12)):
        headers: Headers = tuple(
            (random.randbytes(random.randint(0, 4)), some_bytes())
            for _ in range(random.choice([0, 0, 1, 3]))
        )
        time_ms = random.choice([0, 1, -5, 1 << 40, -(1 << 61)])
        records.append(Record(number, time_ms, some_bytes(), some_bytes(), headers))
    return bytes(build_batch(records, base_timestamp=0)[HEADER_SIZE:]), len(records)


def damaged(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    match random.randrange(5):
        case 0:
            return data
        case 1:
            return data[: random.randrange(len(data))]
        case 2:
            return data + random.randbytes(random.randint(1, 12))
        case 3:
            changed[random.randrange(len(data))] = random.choice([0, 1, 0x7F, 0x80, 0xFF])
        case _:
            place = random.randrange(len(data))
            changed[place : place + random.randint(0, 3)] = random.randbytes(random.randint(0, 3))
    return bytes(changed)


def seen(
    walk: record_walk.RecordWalk | record_walk_python.RecordWalk, data: bytes, random: Random
) -> tuple[object, ...]:
    position = 0
    while position < len(data):
        size = random.choice(CUT_WHERE_NOBODY_CUTS)
        walk.feed(memoryview(data)[position : position + size])
        position += size
    walk.finish()
    return walk.problem, walk.records, walk.largest, walk.rejected_count, walk.rejected


@needs_compiler
def test_both_walks_see_the_same() -> None:
    problems = set()
    for seed in range(1500):
        random = Random(seed)
        data, count = records_data(random)
        data = damaged(data, random)
        count += random.choice([0, 0, 0, 0, -1, 1])
        rules = (count, random.random() < 0.5, -(1 << 62), random.choice([0, 1 << 50]), 1 << 40)
        compiled = seen(record_walk.RecordWalk(*rules), data, random)
        twin = seen(record_walk_python.RecordWalk(*rules), data, random)
        assert compiled == twin, f"seed {seed}"
        assert record_walk.largest_delta(data, *rules) == record_walk_python.largest_delta(
            data, *rules
        ), f"seed {seed}"
        problems.add(compiled[0])
    assert problems == set(Problem), "every problem was met"


@pytest.mark.parametrize(
    "largest_delta", [record_walk.largest_delta, record_walk_python.largest_delta]
)
def test_good_records_have_a_largest_delta(largest_delta: Callable[..., int | None]) -> None:
    times = [5, 7, -3, 6]
    batch = build_batch([Record(n, time, b"k", b"v") for n, time in enumerate(times)])
    data = batch[HEADER_SIZE:]
    assert largest_delta(data, 4, True, *ANY_TIME) == 2
    assert largest_delta(data, 3, True, *ANY_TIME) is None
    assert largest_delta(data, 5, True, *ANY_TIME) is None
    assert largest_delta(data, 4, True, -7, 2, 0) is None
    assert largest_delta(data, 4, True, -7, 2, -8) == 2, "a record without a timestamp is fine"


def test_only_the_first_thousand_rejected_records_are_named() -> None:
    count = NAMED_MAX + 500
    data = build_batch([Record(n, 0, None, None) for n in range(count)])[HEADER_SIZE:]
    for walk in (
        record_walk.RecordWalk(count, True, *ANY_TIME),
        record_walk_python.RecordWalk(count, True, *ANY_TIME),
    ):
        walk.feed(bytes(data))
        assert walk.finish() == 0
        assert walk.rejected_count == count
        assert walk.rejected == [(number, None) for number in range(NAMED_MAX)]
