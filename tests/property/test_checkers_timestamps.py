"""timestamp-order against what it means, record by record."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from checkers import check
from checkers.contract import Contract
from harness.history.history import History
from harness.history.op import Op

OFFSETS = st.none() | st.integers(0, 5) | st.just(1 << 40)
VALUES = st.integers(0, 5) | st.sampled_from([1 << 32, 3 << 32 | 7, "a", "b"])
STAMPS = st.none() | st.integers(0, 3)
RECORDS = st.lists(st.tuples(OFFSETS, VALUES, STAMPS), min_size=1, max_size=4)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["send", "poll"]),
        st.sampled_from(["ok", "info", "fail"]),
        st.sampled_from(["x", "y"]),
        RECORDS,
    ),
    max_size=8,
)
Operations = list[tuple[str, Any, str, list[tuple[int | None, Any, int | None]]]]


def history_of(operations: Operations) -> History:
    rows = []
    for number, (f, type_, key, records) in enumerate(operations):
        pairs = [[offset, value] for offset, value, _ in records]
        stamps: list[Any] = [stamp for _, _, stamp in records]
        value: list[Any] = [["send", key, pair] for pair in pairs]
        if f == "poll":
            value = [["poll", {key: pairs}]]
            stamps = [{key: stamps}] if any(each is not None for each in stamps) else [None]
        known = stamps if any(each is not None for each in stamps) else None
        rows.append(Op(2 * number, 2 * number, number, "invoke", f))
        done = Op(2 * number + 1, 2 * number + 1, number, type_, f, value, timestamps=known)
        rows.append(done)
    return History.of(rows)


def clashing(operations: Operations) -> set[tuple[str, int]]:
    """Offsets with several values, by polls and by sends that took effect."""
    shown = {
        (key, value)
        for f, type_, key, records in operations
        for _, value, _ in records
        if f == "poll" and type_ == "ok"
    }
    values: dict[tuple[str, int], set[Any]] = defaultdict(set)
    for f, type_, key, records in operations:
        seen = any((key, value) in shown for _, value, _ in records)
        if f == "poll" or type_ == "ok" or (type_ == "info" and seen):
            for offset, value, _ in records:
                if offset is not None:
                    values[key, offset].add(value)
    return {place for place, held in values.items() if len(held) > 1}


def by_append_time(operations: Operations) -> int:
    stamps: dict[tuple[str, int], set[int]] = defaultdict(set)
    for f, _, key, records in operations:
        for offset, _, stamp in records if f == "poll" else ():
            if offset is not None and stamp is not None:
                stamps[key, offset].add(stamp)
    clean = {place: stamps[place] for place in sorted(stamps.keys() - clashing(operations))}
    changed = {place for place, found in clean.items() if len(found) > 1}
    steps = 0
    for one, other in pairwise(place for place in clean if place not in changed):
        steps += one[0] == other[0] and min(clean[other]) < min(clean[one])
    return len(changed) + steps


def by_create_time(operations: Operations) -> int:
    sent: dict[tuple[str, Any], set[int]] = defaultdict(set)
    polled: dict[tuple[str, Any], list[int]] = defaultdict(list)
    for f, _, key, records in operations:
        for _, value, stamp in records:
            if stamp is not None and f == "send":
                sent[key, value].add(stamp)
            elif stamp is not None:
                polled[key, value].append(stamp)
    count = 0
    for record, stamps in polled.items():
        expected = sent.get(record, {stamps[0]})
        count += len(expected) == 1 and set(stamps) != expected
    return count


@settings(deadline=None, max_examples=150)
@given(OPERATIONS)
def test_as_many_as_there_are(operations: Operations) -> None:
    history = history_of(operations)
    asked = Contract(timestamp_type="LogAppendTime", one_clock=True)
    (verdict,) = check(history, asked, ["timestamp-order"])
    assert verdict.stats.get("count", 0) == by_append_time(operations), verdict
    (verdict,) = check(history, Contract(timestamp_type="CreateTime"), ["timestamp-order"])
    assert verdict.stats.get("count", 0) == by_create_time(operations), verdict
