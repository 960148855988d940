"""torn-transaction by its definition: of one operation one record was polled, another lost."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from harness.history.op import Op, OpType
from tests.property.group_oracle import Found, Plan, told
from tests.property.log_oracle import Oracle

KEYS = "xy"


def _plans(dice: Random) -> list[Plan]:
    """Transactions that send a few records, and polls that do not show all of them."""
    logs: dict[str, list[list[int]]] = {key: [] for key in KEYS}
    plans: list[Plan] = []
    value = 0
    for number in range(dice.randint(2, 5)):
        outcome: OpType = dice.choice(("ok", "ok", "ok", "info", "fail"))
        takes_effect = outcome == "ok" or (outcome == "info" and dice.random() < 0.6)
        parts: list[Any] = []
        for _ in range(dice.randint(1, 4)):
            key, value = dice.choice(KEYS), value + 1
            offset = len(logs[key]) if takes_effect else None
            if takes_effect:
                logs[key].append([len(logs[key]), value])
            learnt = offset if dice.random() < 0.9 else None
            parts.append(["send", key, [learnt, value]])
        f = dice.choice(("txn", "txn", "txn", "send"))
        plans.append(Plan(number, number + 0.5 + dice.random(), number, outcome, f, parts))
    for number in range(10, 10 + dice.randint(1, 2)):
        shown = {
            key: [record for record in log if dice.random() < dice.choice((0.5, 0.5, 1.0))]
            for key, log in logs.items()
        }
        outcome = dice.choice(("ok", "ok", "ok", "info"))
        plans.append(Plan(number, number + 0.5, number, outcome, "poll", [["poll", shown]]))
    return plans


def history(dice: Random) -> tuple[list[Op], Found]:
    rows, _ = told(_plans(dice))
    oracle = Oracle(rows)
    torn = set()
    for key, value in oracle.lost_write():
        writer = oracle.surest(key, value)
        assert writer is not None
        if writer.f == "txn" and any((k, v) in oracle.ok_read for k, _, v in writer.sends):
            torn.add((writer.op.index,))
    return rows, Counter(torn)
