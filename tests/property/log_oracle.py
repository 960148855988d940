"""Jepsen's definitions of the anomalies of logs, word for word, in plain and slow Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from harness.history.op import Op

Found = set[tuple[Any, ...]]
KeyValue = tuple[str, Any]


class Done:
    """An operation that is over, or never will be: what it sent and what it was shown."""

    def __init__(self, op: Op, type_: str, value: Any) -> None:
        self.op, self.type, self.f, self.process = op, type_, op.f, op.process
        self.keys = value if op.f in ("assign", "subscribe") else []
        self.sends: list[tuple[str, int | None, Any]] = []
        self.polls: list[tuple[str, int | None, Any]] = []
        for name, *rest in () if self.keys or not value or op.f == "assign" else value:
            if name == "send":
                pair = rest[1] if isinstance(rest[1], list) else [None, rest[1]]
                self.sends.append((rest[0], *pair))
            elif rest:
                self.polls += [(key, *pair) for key, pairs in rest[0].items() for pair in pairs]


def completed(rows: Sequence[Op]) -> Iterator[Done]:
    open_: dict[int, Op] = {}
    answered = set()
    for row in rows:
        if row.type != "invoke" and row.process in open_:
            answered.add(open_.pop(row.process).index)
        elif row.type == "invoke":
            open_[row.process] = row
    begun: dict[int, Op] = {}
    for row in rows:
        if row.type == "invoke":
            begun[row.process] = row
            if row.index not in answered:
                yield Done(row, "info", row.value)
        else:
            invoked = begun.get(row.process)
            silent = row.value is None and row.type != "ok" and invoked is not None
            yield Done(row, row.type, invoked.value if silent and invoked else row.value)


class Oracle:
    def __init__(self, rows: Sequence[Op], texts: Sequence[Any] = ()) -> None:
        """`texts`: values that are no integers, in the order in which they are numbered."""
        self.texts = list(texts)
        self.done = list(completed(rows))
        self.calls: dict[int, int] = {}
        begun: dict[int, int] = {}
        for row in rows:
            if row.type == "invoke":
                begun[row.process] = self.calls[row.index] = row.index
            elif row.process in begun:
                self.calls[row.index] = begun[row.process]
        self.ok_read = {
            (key, value) for one in self.done if one.type == "ok" for key, _, value in one.polls
        }
        self.shown = {(key, value) for one in self.done for key, _, value in one.polls}
        self.writers: dict[KeyValue, list[Done]] = defaultdict(list)
        for one in self.done:
            for key, _, value in one.sends:
                self.writers[key, value].append(one)
        self.log: dict[str, dict[int, set[Any]]] = defaultdict(lambda: defaultdict(set))
        for one in self.done:
            told = one.polls + (one.sends if self.committed(one) else [])
            for key, offset, value in told:
                if offset is not None:
                    self.log[key][offset].add(value)
        self.rank = {
            key: {offset: rank for rank, offset in enumerate(sorted(log))}
            for key, log in self.log.items()
        }

    def committed(self, one: Done) -> bool:
        seen = any((key, value) in self.ok_read for key, _, value in one.sends)
        return one.type == "ok" or (one.type == "info" and seen)

    def surest(self, key: str, value: Any) -> Done | None:
        writers = self.writers.get((key, value), [])
        for type_ in ("ok", "info", "fail"):
            for one in reversed(writers):
                if one.type == type_:
                    return one
        return None

    def offsets(self, key: str, value: Any) -> list[int]:
        return sorted(offset for offset, held in self.log[key].items() if value in held)

    def index(self, key: str, value: Any) -> int | None:
        """By the last offset that the value stands for: there it is the least, integers first."""
        stands = [offset for offset, least in self.least[key].items() if least == value]
        return self.rank[key][max(stands)] if stands else None

    @cached_property
    def least(self) -> dict[str, dict[int, Any]]:
        """At each offset the value that stands for it."""
        least: dict[str, dict[int, Any]] = defaultdict(dict)
        for key, log in self.log.items():
            for offset, held in log.items():
                least[key][offset] = min(held, key=self._order)
        return least

    def _order(self, value: Any) -> tuple[bool, int]:
        is_text = isinstance(value, str)
        return is_text, self.texts.index(value) if is_text else value

    def inconsistent_offsets(self) -> Found:
        return {
            (key, offset)
            for key, log in self.log.items()
            for offset, held in log.items()
            if len(held) > 1
        }

    def duplicate(self) -> Found:
        return {
            (key, value)
            for key, log in self.log.items()
            for held in log.values()
            for value in held
            if len(self.offsets(key, value)) > 1
        }

    def lost_write(self) -> Found:
        lost = set()
        for key, log in self.log.items():
            firsts = [
                self.rank[key][offsets[0]]
                for one, value in self.ok_read
                if one == key and (offsets := self.offsets(key, value))
            ]
            bound = max(firsts, default=-1)
            for value in {value for held in log.values() for value in held}:
                writer = self.surest(key, value)
                if (
                    self.rank[key][self.offsets(key, value)[-1]] <= bound
                    and (key, value) not in self.ok_read
                    and writer is not None
                    and self.committed(writer)
                ):
                    lost.add((key, value))
        return lost

    def unseen(self) -> Found:
        return {
            (key, value)
            for one in self.done
            if one.type == "ok"
            for key, _, value in one.sends
            if (key, value) not in self.ok_read
        }

    def aborted_read(self) -> Found:
        return {
            (key, value)
            for key, value in self.shown
            if (writer := self.surest(key, value)) is not None and writer.type == "fail"
        }

    def phantom_read(self) -> Found:
        return {pair for pair in self.shown if pair not in self.writers}

    def precommitted_read(self) -> Found:
        return {
            (one.op.index,)
            for one in self.done
            if {(key, value) for key, _, value in one.sends}
            & {(key, value) for key, _, value in one.polls}
        }

    def jump(self, key: str, one: Any, other: Any) -> int:
        here, there = self.index(key, one), self.index(key, other)
        return there - here if here is not None and there is not None else 1

    def poll_jumps(self) -> dict[str, list[tuple[Any, ...]]]:
        return self._jumps(polls=True)

    def send_jumps(self) -> dict[str, list[tuple[Any, ...]]]:
        return self._jumps(polls=False)

    def _jumps(self, *, polls: bool) -> dict[str, list[tuple[Any, ...]]]:
        found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        last: dict[int, dict[str, Done]] = defaultdict(dict)
        for one in self.done:
            mine = last[one.process]
            if one.f == "assign":
                if one.type != "fail":
                    last[one.process] = {key: op for key, op in mine.items() if key in one.keys}
                continue
            for key, values in _by_key(one, polls=polls).items():
                for before, after in pairwise(values):
                    by = self.jump(key, before, after)
                    if by != 1:
                        name = "inner-skip" if by > 1 else "inner-back"
                        found[name].append((one.op.index, key, before, after))
                counted = polls or one.type != "fail"
                if key in mine and counted:
                    before = _by_key(mine[key], polls=polls)[key][-1]
                    by = self.jump(key, before, values[0])
                    if by != 1:
                        where = (mine[key].op.index, one.op.index, key, before, values[0])
                        found["skip" if by > 1 else "back"].append(where)
                if one.type == "ok" or (not polls and one.type == "info"):
                    mine[key] = one
        return found

    def nonlinearizable(self) -> list[tuple[Any, ...]]:
        """Pairs of a record that ended and a record at or before it that began only then."""
        placed: dict[str, dict[int, tuple[Done, int]]] = defaultdict(dict)
        for key, log in self.log.items():
            for offset, held in log.items():
                (value, *others) = held
                writer = self.surest(key, value)
                if not others and len(self.offsets(key, value)) == 1 and writer is not None:
                    placed[key][offset] = (writer, self.calls.get(writer.op.index, -1))
        found: list[tuple[Any, ...]] = []
        for key, records in placed.items():
            for offset, (writer, _) in records.items():
                late = [call for at, (_, call) in records.items() if at <= offset]
                if writer.type == "ok" and max(late) > writer.op.index:
                    found.append(("acked", key, offset))
        for one in self.done:
            for key, at, value in one.polls:
                if at is None or one.op.type == "invoke":
                    continue
                late = [call for other, (_, call) in placed[key].items() if other <= at]
                is_held = min(self.log[key][at], key=self._order) == value
                if is_held and max(late, default=-1) > one.op.index:
                    found.append(("shown", one.op.index, key, at))
        return found

    def reads_from(self) -> set[tuple[int, int]]:
        """Who sent what whom polled, whatever they were told in the end."""
        edges = set()
        for one in self.done:
            for key, _, value in one.polls:
                writer = self.surest(key, value)
                if writer is not None:
                    edges.add((writer.op.index, one.op.index))
        return {(source, target) for source, target in edges if source != target}

    def producer_order(self) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        last: dict[tuple[int, str], tuple[int, int]] = {}
        for one in self.done:
            for key, offset, _ in one.sends if one.type == "ok" else ():
                if offset is not None:
                    before = last.get((one.process, key))
                    if before is not None and before[1] >= offset:
                        found.append((before[0], one.op.index, key, before[1], offset))
                    last[one.process, key] = (one.op.index, offset)
        return found


def _by_key(one: Done, *, polls: bool) -> dict[str, list[Any]]:
    by_key: dict[str, list[Any]] = defaultdict(list)
    for key, _, value in one.polls if polls else one.sends:
        by_key[key].append(value)
    return by_key
