"""Lives of registers on one compacted log, as clients tell of them; and some that were bent.

The log is a real one, only small: puts of unknown outcome come late or never, gets are answered by
leaders that lag behind, and it is compacted whenever that may be, the reading back included.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from harness.history.op import Op, OpType

LOG = "x"
NAMES = ("x/a", "x/b")


@dataclass(slots=True)
class _Record:
    name: str
    value: int | None
    is_there: bool = True


@dataclass(slots=True)
class World:
    dice: Random
    rows: list[Op] = field(default_factory=list)
    log: list[_Record] = field(default_factory=list)
    late: list[_Record] = field(default_factory=list)
    """Under way, for as long as it takes; or lost."""
    values: int = 0
    processes: int = 0

    def row(self, process: int, type_: OpType, f: str, value: Any) -> None:
        at = len(self.rows)
        self.rows.append(Op(at, at, process, type_, f, value))

    def put(self) -> None:
        dice, name = self.dice, self.dice.choice(NAMES)
        self.values += 1
        value = None if dice.random() < 0.25 else self.values
        process = self._invoke("put", [["put", name, value]])
        record = _Record(name, value)
        match dice.choice(("ok", "ok", "ok", "info", "info", "fail")):
            case "ok":
                self.arrive()
                self.log.append(record)
                told = None if dice.random() < 0.1 else len(self.log) - 1
                self.arrive()
                self.row(process, "ok", "put", [["put", name, [told, value]]])
            case "info":
                self.late.append(record)
                self.arrive()
                self.row(process, "info", "put", [["put", name, value]])
            case _:
                self.row(process, "fail", "put", [["put", name, value]])

    def get(self) -> None:
        name = self.dice.choice(NAMES)
        process = self._invoke("get", [["get", name, None]])
        self.arrive()
        end = self.dice.randint(max(0, len(self.log) - 3), len(self.log))
        mine = [record.value for record in self.log[:end] if record.name == name]
        got = [end, mine[-1] if mine else None]
        self.row(process, "ok", "get", [["get", name, got]])

    def arrive(self) -> None:
        """What was under way, perhaps."""
        while self.late and self.dice.random() < 0.3:
            self.log.append(self.late.pop(self.dice.randrange(len(self.late))))

    def compact(self, *, drops_deletions: bool) -> None:
        for at, record in enumerate(self.log):
            is_replaced = any(other.name == record.name for other in self.log[at + 1 :])
            if is_replaced or (record.value is None and drops_deletions):
                record.is_there &= self.dice.random() < 0.3 or not self._may_go(at)

    def _may_go(self, at: int) -> bool:
        """A deletion stays for as long as something is there that it deletes."""
        record = self.log[at]
        return record.value is not None or not any(
            other.is_there and other.name == record.name for other in self.log[:at]
        )

    def read_back(self) -> None:
        """In two polls. Where nobody asks for the end afterwards, nothing may come in between."""
        asks = self.dice.random() < 0.7
        if self.dice.random() < 0.7:
            self.compact(drops_deletions=True)
        end = len(self.log)
        half = self.dice.randint(0, end)
        self._poll(0, half)
        if asks and self.dice.random() < 0.5:
            self.arrive()
            # Readers are faster than deletions are dropped.
            self.compact(drops_deletions=False)
        self._poll(half, end)
        if asks:
            self.arrive()
            process = self._invoke("end-offsets", [LOG])
            bounds = {"low": {LOG: 0}, "high": {LOG: len(self.log)}}
            self.row(process, "ok", "end-offsets", bounds)

    def _poll(self, begin: int, end: int) -> None:
        process = self._invoke("poll", [["poll"]])
        found = [
            [at, record.value]
            for at, record in enumerate(self.log[begin:end], begin)
            if record.is_there
        ]
        self.row(process, "ok", "poll", [["poll", {LOG: found}]])

    def _invoke(self, f: str, value: Any) -> int:
        self.processes += 1
        self.row(self.processes, "invoke", f, value)
        return self.processes


def kept_history(dice: Random, *, bends: float) -> list[Op]:
    """`bends` is the share of what was read that is told otherwise."""
    world = World(dice)
    for _ in range(dice.randint(4, 12)):
        dice.choice((world.put, world.put, world.get))()
    if dice.random() < 0.9:
        world.read_back()
    return [
        _bent(row, dice, world)
        if row.type == "ok" and row.f in ("get", "poll") and dice.random() < bends
        else row
        for row in world.rows
    ]


def _bent(row: Op, dice: Random, world: World) -> Op:
    """A get that gave something else, or records that were not read back, or are others'."""
    other = dice.choice([None, None, *range(1, world.values + 1)])
    if row.f == "get":
        [[_, name, [end, value]]] = row.value
        if dice.random() < 0.5:
            end = max(0, end + dice.choice((-1, 1)))
        else:
            value = other
        return replace(row, value=[["get", name, [end, value]]])
    shown = 0.8 * dice.random()
    records = [
        [at, other if dice.random() < 0.1 else value]
        for at, value in row.value[0][1][LOG]
        if dice.random() < shown
    ]
    return replace(row, value=[["poll", {LOG: records}]])
