"""Small histories of transactions on lists and registers: played in some order, and bent."""

from __future__ import annotations

from random import Random
from typing import Any

from harness.history.op import Op, OpType

KEYS = ("x", "y")


def _bent_list(dice: Random, seen: list[int]) -> list[int]:
    bent = list(seen)
    if bent and dice.random() < 0.5:
        bent.pop()
    elif dice.random() < 0.3:
        dice.shuffle(bent)
    else:
        bent.append(dice.randint(1, 6))
    return bent


def _bent_value(dice: Random, count: int) -> int | None:
    """Of any transaction, earlier or later; or none."""
    return dice.choice((None, 4 * dice.randrange(count) + dice.randrange(3)))


def _micro_ops(dice: Random, number: int, *, lists: bool) -> list[list[Any]]:
    ops: list[list[Any]] = []
    for part in range(dice.randint(1, 3)):
        key = dice.choice(KEYS)
        if dice.random() < 0.5:
            ops.append(["r", key, None])
        else:
            ops.append(["append" if lists else "w", key, number * 4 + part])
    return ops


def _applied(ops: list[list[Any]], state: dict[str, list[int]], *, lists: bool) -> list[list[Any]]:
    done: list[list[Any]] = []
    for name, key, value in ops:
        if name == "r":
            seen = list(state[key]) if lists else (state[key][-1] if state[key] else None)
            done.append(["r", key, seen])
        else:
            state[key].append(value)
            done.append([name, key, value])
    return done


def txn_history(dice: Random, *, lists: bool, bend: float | None = None) -> list[Op]:
    """Each transaction takes effect at a point between its invocation and its completion; a bent
    one takes effect elsewhere, or sees something else."""
    bend = dice.choice((0.0, 0.15, 0.4)) if bend is None else bend
    count = dice.randint(4 if bend > 0.5 else 0, 6)
    state: dict[str, list[int]] = {key: [] for key in KEYS}
    old: list[dict[str, list[int]]] = []
    rows: list[Op] = []
    waiting: list[tuple[int, list[list[Any]], list[list[Any]], OpType]] = []
    process, started = 0, 0
    while started < count or waiting:
        if started < count and (not waiting or dice.random() < 0.5):
            ops = _micro_ops(dice, started, lists=lists)
            rows.append(Op(len(rows), len(rows), process % 3 + 3 * started, "invoke", "txn", ops))
            outcome: OpType = dice.choice(("ok", "ok", "ok", "ok", "info", "fail"))
            old.append({key: list(values) for key, values in state.items()})
            effect = outcome == "ok" or (outcome == "info" and dice.random() < 0.5)
            where = state if effect else {key: list(values) for key, values in state.items()}
            if dice.random() < bend:
                where = {key: list(values) for key, values in dice.choice(old).items()}
            done = _applied(ops, where, lists=lists)
            if where is not state and effect:
                for name, key, value in ops:
                    if name != "r":
                        state[key].append(value)
            if outcome == "fail" and dice.random() < bend:
                _applied(ops, state, lists=lists)
            for part in done:
                if part[0] == "r" and dice.random() < bend / 2:
                    part[2] = _bent_list(dice, part[2]) if lists else _bent_value(dice, count)
            waiting.append((process % 3 + 3 * started, ops, done, outcome))
            started += 1
            process += 1
            continue
        who, ops, done, outcome = waiting.pop(dice.randrange(len(waiting)))
        value = done if outcome == "ok" else ops
        rows.append(Op(len(rows), len(rows), who, outcome, "txn", value))
    return _shared_processes(dice, rows)


def _shared_processes(dice: Random, rows: list[Op]) -> list[Op]:
    """Processes that go on after an ok or fail, so that there is an order of processes, too."""
    free: list[int] = []
    given: dict[int, int] = {}
    renamed = []
    for row in rows:
        if row.type == "invoke":
            reuse = free and dice.random() < 0.6
            given[row.process] = free.pop() if reuse else 100 + row.process
        process = given[row.process]
        if row.type in ("ok", "fail"):
            free.append(process)
        renamed.append(Op(row.index, row.time_ns, process, row.type, row.f, row.value))
    return renamed
