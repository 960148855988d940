"""Jepsen's definitions of what is judged by counting, slowly: by trying whatever may have been."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

from harness.history.op import Op
from tests.property.count_histories import ACCOUNTS, TOTAL

NEVER = 1 << 30


class Done(NamedTuple):
    call: int
    ret: int
    type: str
    f: str
    argument: Any
    answer: Any


def completed(rows: Sequence[Op]) -> list[Done]:
    """Every process does one thing only."""
    ends = {row.process: row for row in rows if row.type != "invoke"}
    done = []
    for row in rows:
        if row.type == "invoke":
            end = ends.get(row.process)
            type_ = "info" if end is None else end.type
            ret = NEVER if end is None or type_ == "info" else end.index
            answer = end.value if end is not None and type_ == "ok" else None
            done.append(Done(row.index, ret, type_, row.f, row.value, answer))
    return done


Counts = Counter[str]


def _set(done: list[Done]) -> Counts | None:
    reads = [one for one in done if one.f == "read" and one.type == "ok"]
    if not reads:
        return None
    last = max(reads, key=lambda one: one.ret)
    adds = [one for one in done if one.f == "add"]
    return Counter(
        lost=sum(one.type == "ok" and one.argument not in last.answer for one in adds),
        unexpected=sum(all(one.argument != value for one in adds) for value in last.answer),
    )


def _set_full(done: list[Done]) -> Counts | None:
    adds = [one for one in done if one.f == "add"]
    reads = [one for one in done if one.f == "read" and one.type == "ok"]
    found: Counts = Counter()
    tested = False
    for read in reads:
        for value in set(read.answer):
            writer = next((one for one in adds if one.argument == value), None)
            found["duplicated"] += read.answer.count(value) > 1
            found["unexpected"] += writer is None
            found["G1a"] += writer is not None and writer.type == "fail"
    for add in adds:
        moments = [read.ret for read in reads if add.argument in read.answer]
        if add.type == "ok":
            moments.append(add.ret)
        # Whether each later read has it, in the order in which they began.
        seen = [
            add.argument in read.answer
            for read in sorted(reads, key=lambda one: one.call)
            if moments and read.call > min(moments)
        ]
        tested |= bool(seen)
        # A read that began before it was known, and has it, began before all of these.
        found["lost"] += bool(seen) and not seen[-1]
        found["stale"] += bool(seen) and seen[-1] and not all(seen)
    return found if tested or found.total() else None


def _queue(done: list[Done]) -> Counts | None:
    """The most dequeues that can each have an enqueue of their own that began before they ended."""
    puts = [one for one in done if one.f == "enqueue" and one.type != "fail"]
    takes = [(one.ret, value) for one in done if one.f != "enqueue" for value in _taken(one)]
    if not takes:
        return None
    free = set(range(len(puts)))
    matched = 0
    for ret, value in sorted(takes, key=lambda take: take[0]):
        fitting = [at for at in free if puts[at].argument == value and puts[at].call < ret]
        if fitting:
            free.remove(fitting[0])
            matched += 1
    return Counter(unexpected=len(takes) - matched)


def _taken(one: Done) -> list[Any]:
    if one.type != "ok" or one.answer is None:
        return []
    return list(one.answer) if one.f == "drain" else [one.answer]


def _total_queue(done: list[Done]) -> Counts | None:
    puts = [one for one in done if one.f == "enqueue"]
    out = [value for one in done if one.f != "enqueue" for value in _taken(one)]
    values = {one.argument for one in puts}
    sure = [one.argument for one in puts if one.type == "ok"]
    found = Counter(
        unexpected=len(set(out) - values),
        lost=sum(sure.count(value) > out.count(value) for value in values),
    )
    return found if (puts and out) or found.total() else None


def _counter(done: list[Done]) -> Counts | None:
    """Of all the sets of additions that may have been there at a moment of the read."""
    reads = [one for one in done if one.f == "read" and one.type == "ok"]
    adds = [one for one in done if one.f != "read" and one.type != "fail"]
    if not reads:
        return None
    wrong = 0
    for read in reads:
        sure = sum(_by(one) for one in adds if one.ret < read.call)
        may = [_by(one) for one in adds if one.ret > read.call and one.call < read.ret]
        sums = {
            sure + sum(chosen) for size in range(len(may) + 1) for chosen in combinations(may, size)
        }
        wrong += not min(sums) <= read.answer <= max(sums)
    return Counter({"out-of-bounds": wrong})


def _by(one: Done) -> int:
    by: int = 1 if one.argument is None else one.argument
    return -by if one.f == "dec" else by


def _unique_ids(done: list[Done]) -> Counts | None:
    given = [one.answer for one in done if one.type == "ok"]
    if not given:
        return None
    doubles = sum(
        any(given[other] == value for other in range(at)) for at, value in enumerate(given)
    )
    return Counter(duplicate=doubles)


def _bank(done: list[Done]) -> Counts | None:
    reads = [one.answer for one in done if one.f == "read" and one.type == "ok"]
    if not reads:
        return None
    found: Counts = Counter()
    for read in reads:
        if not all(name in ACCOUNTS for name in read):
            found["unexpected-key"] += 1
        elif not all(isinstance(balance, int) for balance in read.values()):
            found["nil-balance"] += 1
        else:
            found["wrong-total"] += sum(read.values()) != TOTAL
            found["negative-value"] += min(read.values()) < 0
    return found


def _long_fork(done: list[Done]) -> Counts | None:
    """Whether some order of the writes explains every read of the same keys."""
    groups: dict[tuple[int, ...], list[set[int]]] = {}
    for one in done:
        if one.type == "ok" and one.argument[0][0] == "r":
            keys = tuple(sorted(key for _, key, _ in one.answer))
            seen = {key for _, key, value in one.answer if value is not None}
            groups.setdefault(keys, []).append(seen)
    if not groups:
        return None
    unexplained = sum(
        not any(
            all(seen == set(order[: len(seen)]) for seen in reads) for order in permutations(keys)
        )
        for keys, reads in groups.items()
    )
    return Counter({"long-fork": unexplained})


ORACLES: dict[str, Callable[[list[Done]], Counts | None]] = {
    "set": _set,
    "set-full": _set_full,
    "queue": _queue,
    "total-queue": _total_queue,
    "counter": _counter,
    "unique-ids": _unique_ids,
    "bank": _bank,
    "long-fork": _long_fork,
}
