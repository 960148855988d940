"""Histories of logs that are in order but for a few places: several keys, most of them even.

Clients overlap, every log is read to its end, offsets may leave gaps, sends may be of unknown
outcome or fail. Then a few records or operations are bent, so that in one history some logs are
odd and others are not.
"""

from __future__ import annotations

from random import Random
from typing import Any

from harness.history.op import Op, OpType

KEYS = ("w", "x", "y", "z")
SENDERS, READERS = 3, 2
NEVER_SENT = 500
OUTCOMES: tuple[OpType, ...] = ("ok", "info", "fail")


class _Orderly:
    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.logs: dict[str, list[tuple[int, int]]] = {key: [] for key in KEYS}
        self.ends = dict.fromkeys(KEYS, 0)
        self.positions: dict[tuple[int, str], int] = {}
        self.rows: list[list[Any]] = []
        self.values = 0
        self.gaps = dice.choice((0.0, 0.0, 0.1))
        self.names = list(range(SENDERS + READERS))
        self.begun: dict[int, tuple[OpType, str, Any]] = {}

    def step(self, client: int) -> None:
        """What a client does next: it begins something, or is told how that went."""
        if client in self.begun:
            outcome, f, value = self.begun.pop(client)
            silent = outcome != "ok" and self.dice.random() < 0.3
            self.rows.append([self.names[client], outcome, f, None if silent else value])
            self.names[client] += len(self.names) if outcome == "info" else 0
            return
        self.begin(client, *(self.send() if client < SENDERS else self.poll(client)))

    def begin(self, client: int, outcome: OpType, f: str, value: list[Any]) -> None:
        asked = [["poll"] if one[0] == "poll" else [*one[:2], one[2][1]] for one in value]
        self.rows.append([self.names[client], "invoke", f, asked])
        self.begun[client] = outcome, f, value

    def send(self) -> tuple[OpType, str, list[Any]]:
        outcome = self.dice.choices(OUTCOMES, (90, 6, 4))[0]
        is_there = outcome == "ok" or (outcome == "info" and self.dice.random() < 0.5)
        many = self.dice.random() < 0.1
        sent = []
        key = self.dice.choice(KEYS)
        for _ in range(self.dice.randint(1, 4)):
            key = self.dice.choice(KEYS) if many else key
            offset = self.ends[key]
            if is_there:
                self.logs[key].append((offset, self.values))
                self.ends[key] += 2 if self.dice.random() < self.gaps else 1
            sent.append(["send", key, [offset if outcome == "ok" else None, self.values]])
            self.values += 1
        return outcome, "txn" if many else "send", sent

    def poll(self, client: int) -> tuple[OpType, str, list[Any]]:
        many = self.dice.random() < 0.2
        shown = {}
        for key in self.dice.sample(KEYS, 2 if many else 1):
            at = self.positions.get((client, key), 0)
            records = self.logs[key][at : at + self.dice.randint(1, 6)]
            self.positions[client, key] = at + len(records)
            if records:
                shown[key] = [list(record) for record in records]
        return "ok", "poll", [["poll", shown]]

    def read_all(self, client: int) -> None:
        while any(self.positions.get((client, key), 0) < len(self.logs[key]) for key in KEYS):
            self.step(client)
        if client in self.begun:
            self.step(client)

    def call_late(self) -> None:
        """One operation is begun only just before it ends."""
        ends = [at for at, row in enumerate(self.rows) if row[1] != "invoke"]
        end = self.dice.choice(ends)
        process = self.rows[end][0]
        call = max(at for at in range(end) if self.rows[at][0] == process)
        self.rows.insert(end - 1, self.rows.pop(call))

    def bend(self) -> None:
        """One thing is not as it was."""
        if self.dice.random() < 0.25:
            self.call_late()
            return
        rows = [row for row in self.rows if row[1] != "invoke" and row[3]]
        row = self.dice.choice(rows)
        if self.dice.random() < 0.15:
            row[1] = self.dice.choice(OUTCOMES)
            return
        micro = self.dice.choice(row[3])
        if micro[0] == "send":
            self._bend_record(micro[2])
            return
        for records in filter(None, micro[1].values()):
            record = self.dice.choice(records)
            how = self.dice.random()
            if how < 0.2:
                records.remove(record)
            elif how < 0.4:
                self.dice.shuffle(records)
            else:
                self._bend_record(record)

    def _bend_record(self, record: list[Any]) -> None:
        how = self.dice.random()
        if how < 0.1:
            record[0] = None
        elif how < 0.4:
            record[0] = max(0, (record[0] or 0) + self.dice.choice((-1, 1, 2)))
        elif how < 0.9:
            record[1] = self.dice.randrange(max(1, self.values))
        else:
            record[1] = NEVER_SENT + self.dice.randrange(3)


def orderly_history(dice: Random) -> list[Op]:
    play = _Orderly(dice)
    for _ in range(dice.randint(10, 60)):
        play.step(dice.randrange(SENDERS + READERS))
    for client in range(SENDERS):
        if client in play.begun:
            play.step(client)
    for client in range(SENDERS, SENDERS + READERS):
        play.read_all(client)
    for _ in range(dice.choice((0, 0, 1, 1, 2, 4))):
        play.bend()
    return [Op(number, number, *row) for number, row in enumerate(play.rows)]
