"""Histories of list-append, longer than those for oracles: many lists, most of them orderly."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from harness.history.history import History
from harness.history.op import Op, OpType
from tests.unit.checkers.stories import told

State = dict[str, list[Any]]
Operation = tuple[int, OpType, str, Any]


@dataclass(slots=True)
class _Txn:
    process: int
    asked: list[list[Any]]
    outcome: OpType
    done: list[list[Any]] | None = None


@dataclass(slots=True)
class ListPlay:
    """Transactions take effect between invocation and completion, unless they are bent: then they
    see an old state, or what they saw is changed, or a failed one takes effect all the same. An
    unknown one may take effect long after its process has given up."""

    dice: Random
    count: int
    keys: int = 4
    at_once: int = 4
    bend: float = 0.05
    values: str = "shared"
    """shared: each list counts from 1; unique: one count for all; texts: shared, as texts."""
    rows: list[Op] = field(default_factory=list)
    _state: State = field(default_factory=dict)
    _old: list[State] = field(default_factory=list)
    _next: dict[str, int] = field(default_factory=dict)
    _process: int = 0

    def play(self) -> list[Op]:
        dice, started = self.dice, 0
        free = list(range(self.at_once))
        self._process = self.at_once
        self._state = {f"k{number}": [] for number in range(self.keys)}
        waiting: list[_Txn] = []
        late: list[_Txn] = []
        while started < self.count or waiting:
            step = dice.random()
            if started < self.count and free and (step < 0.4 or not waiting):
                waiting.append(self._start(free.pop(dice.randrange(len(free)))))
                started += 1
            elif late and step < 0.45:
                self._apply(late.pop())
            elif step < 0.7 and (open_ := [txn for txn in waiting if txn.done is None]):
                self._apply(dice.choice(open_))
            elif waiting:
                txn = waiting.pop(dice.randrange(len(waiting)))
                late += self._end(txn)
                if txn.outcome == "info":
                    free.append(self._process)
                    self._process += 1
                else:
                    free.append(txn.process)
        return self.rows

    def _row(self, process: int, type_: OpType, value: Any) -> None:
        index = len(self.rows)
        self.rows.append(Op(index, 1_000 * index, process, type_, "txn", value))

    def _start(self, process: int) -> _Txn:
        dice, asked = self.dice, []
        for _ in range(dice.randint(0 if dice.random() < 0.1 else 1, 4)):
            key = f"k{dice.randrange(self.keys)}"
            if dice.random() < 0.5:
                asked.append(["r", key, None])
            else:
                name = "" if self.values == "unique" else key
                self._next[name] = self._next.get(name, 0) + 1
                value: Any = self._next[name]
                asked.append(["append", key, f"v{value}" if self.values == "texts" else value])
        self._row(process, "invoke", asked)
        self._old = [*self._old[-20:], {key: list(seen) for key, seen in self._state.items()}]
        return _Txn(process, asked, dice.choices(("ok", "info", "fail"), (20, 2, 1))[0])

    def _apply(self, txn: _Txn) -> None:
        dice = self.dice
        sees = self._state
        if dice.random() < self.bend:
            sees = {key: list(seen) for key, seen in dice.choice(self._old).items()}
        is_void = txn.outcome == "fail" and dice.random() >= 5 * self.bend
        txn.done = []
        for name, key, value in txn.asked:
            if name == "r":
                txn.done.append(["r", key, self._bent(list(sees[key]))])
                continue
            txn.done.append([name, key, value])
            if sees is not self._state or is_void:
                sees = {each: list(seen) for each, seen in sees.items()} if is_void else sees
                sees[key].append(value)
            if not is_void:
                self._state[key].append(value)

    def _bent(self, seen: list[Any]) -> list[Any]:
        dice = self.dice
        if seen and dice.random() < self.bend / 4:
            how = dice.randrange(4)
            if how == 0:
                seen.pop()
            elif how == 1:
                seen.append(dice.choice(seen))
            elif how == 2:
                seen.append("strange")
            else:
                dice.shuffle(seen)
        return seen

    def _end(self, txn: _Txn) -> list[_Txn]:
        """Those that may yet take effect."""
        dice = self.dice
        if txn.outcome == "ok":
            if txn.done is None:
                self._apply(txn)
            self._row(txn.process, "ok", txn.done)
            return []
        if txn.outcome == "info" and dice.random() < 0.2:
            return [txn] if txn.done is None else []  # nobody was told
        said = None if dice.random() < 0.3 else txn.asked
        self._row(txn.process, txn.outcome, said)
        return [txn] if txn.outcome == "info" and txn.done is None and dice.random() < 0.6 else []


def list_history(dice: Random, most: int = 120) -> list[Op]:
    return ListPlay(
        dice,
        count=dice.randint(0, most),
        keys=dice.randint(1, 12),
        at_once=dice.randint(1, 8),
        bend=dice.choice((0.0, 0.0, 0.01, 0.05, 0.3)),
        values=dice.choice(("shared", "unique", "texts")),
    ).play()


def txn(process: int, *parts: list[Any]) -> Operation:
    return process, "ok", "txn", list(parts)


def failed(process: int, *parts: list[Any]) -> Operation:
    return process, "fail", "txn", list(parts)


def many_aborted() -> History:
    """Lists with aborted values that were read, some of their own and some that others have, too:
    of more of them than are told."""
    dirty, reads = [], []
    for number in range(60):
        key, value = f"k{number}", 1_000 - number if number % 2 else number % 8
        dirty.append(failed(1, ["append", key, value]))
        reads.append(txn(2, ["append", key, 5_000], ["r", key, [value, 5_000]]))
    return told(*reads[:40], *dirty, *reads[40:])
