"""Small histories of logs: a few processes on a few keys, honest and then bent a little."""

from __future__ import annotations

from random import Random
from typing import Any

from harness.history.op import Op, OpType

KEYS = ("x", "y")


class Play:
    """A log per key, processes that send, poll, assign and retire; every step can be bent."""

    def __init__(self, dice: Random, bend: float = 0.12, boxed: bool = False) -> None:
        self.dice = dice
        self.bend = bend
        self.boxed = boxed
        self.logs: dict[str, list[tuple[int, Any]]] = {key: [] for key in KEYS}
        self.ends = dict.fromkeys(KEYS, 0)
        self.positions: dict[tuple[int, str], int] = {}
        self.rows: list[Op] = []
        self.sent = 0
        self.processes = [0, 1, 2]

    def bent(self) -> bool:
        return self.dice.random() < self.bend

    def row(self, process: int, type_: OpType, f: str, value: Any) -> None:
        self.rows.append(Op(len(self.rows), len(self.rows), process, type_, f, value))

    def value(self) -> Any:
        if self.sent and self.bent():
            return self.named(self.dice.randrange(self.sent))
        self.sent += 1
        return self.named(self.sent - 1)

    def named(self, number: int) -> Any:
        return f"v{number}" if self.boxed and number % 2 else number

    def send(self, key: str, value: Any, *, aborted: bool) -> list[Any]:
        offset: int | None = self.ends[key]
        assert offset is not None
        if not aborted or self.bent():
            self.logs[key].append((offset, value))
            if self.bent():
                self.logs[key].append((offset + 1, value))
                self.ends[key] += 1
        self.ends[key] += self.dice.choice((1, 1, 1, 2))
        if self.bent():
            offset = self.dice.choice((None, self.dice.randrange(6)))
        return ["send", key, [offset, value]]

    def poll(self, process: int) -> list[Any]:
        records: dict[str, list[list[Any]]] = {}
        for key in KEYS:
            at = self.positions.get((process, key), 0)
            if self.bent():
                at = self.dice.randrange(4)
            ready = [(offset, value) for offset, value in self.logs[key] if offset >= at]
            shown = [list(one) for one in ready[: self.dice.randrange(4)]]
            if shown and self.bent():
                self.dice.shuffle(shown)
            if shown and self.bent():
                shown[0] = [shown[0][0], self.named(self.dice.randrange(self.sent + 1))]
            if shown:
                self.positions[process, key] = shown[-1][0] + 1
            if shown or self.bent():
                records[key] = shown
        return ["poll", records]

    def operation(self) -> None:
        client = self.dice.randrange(len(self.processes))
        process = self.processes[client]
        f = self.dice.choice(("send", "send", "poll", "poll", "txn", "assign"))
        outcome: OpType = self.dice.choice(("ok", "ok", "ok", "ok", "info", "fail"))
        if f == "assign":
            keys = [key for key in KEYS if self.dice.random() < 0.7]
            self.row(process, "invoke", f, keys)
            self.row(process, outcome, f, keys)
        else:
            self.transact(process, f, outcome)
        if outcome == "info":
            self.processes[client] += 3

    def transact(self, process: int, f: str, outcome: OpType) -> None:
        invoked: list[Any] = []
        done: list[Any] = []
        aborted = outcome == "fail" or (outcome == "info" and self.dice.random() < 0.5)
        for _ in range(self.dice.randint(1, 3)):
            if f == "poll" or (f == "txn" and self.dice.random() < 0.5):
                invoked.append(["poll"])
                done.append(self.poll(process))
            else:
                key, value = self.dice.choice(KEYS), self.value()
                invoked.append(["send", key, value])
                done.append(self.send(key, value, aborted=aborted))
        self.row(process, "invoke", f, invoked)
        if outcome == "info" and self.dice.random() < 0.3:
            # A client that died says nothing, or is never heard of again.
            if self.dice.random() < 0.5:
                self.row(process, "info", f, None)
            return
        self.row(process, outcome, f, done)


def log_history(dice: Random, *, bend: float | None = None, most: int = 14) -> list[Op]:
    play = Play(
        dice,
        bend=dice.choice((0.0, 0.02, 0.1)) if bend is None else bend,
        boxed=dice.random() < 0.3,
    )
    for _ in range(dice.randint(most // 2 if bend else 0, most)):
        play.operation()
    return play.rows
