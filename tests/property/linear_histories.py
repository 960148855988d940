"""Small histories of single objects, and every order there could be of their operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from harness.history.op import Op, OpType
from tests.property.log_oracle import completed

Apply = Callable[[Any, str, Any, Any], tuple[bool, Any]]
"""State, f, argument and result to whether that is legal, and the state after it."""


def register_apply(state: Any, f: str, argument: Any, result: Any) -> tuple[bool, Any]:
    if f == "read":
        return result == state, state
    if f == "write":
        return True, argument
    return state == argument[0], argument[1]


def text_apply(state: Any, f: str, argument: Any, result: Any) -> tuple[bool, Any]:
    if f == "get":
        return result == state, state
    return True, argument if f == "put" else state + argument


def mutex_apply(state: Any, f: str, argument: Any, result: Any) -> tuple[bool, Any]:
    return state == (f == "release"), f == "acquire"


def queue_apply(state: Any, f: str, argument: Any, result: Any) -> tuple[bool, Any]:
    if f in ("enqueue", "push"):
        return True, (*state, argument)
    if not state:
        return result is None, state
    first = f == "dequeue"
    found, rest = (state[0], state[1:]) if first else (state[-1], state[:-1])
    return result == found, rest


def multi_apply(state: Any, f: str, argument: Any, result: Any) -> tuple[bool, Any]:
    values = dict(state)
    for (name, key, value), (_, _, seen) in zip(argument, result, strict=True):
        if name == "write":
            values[key] = value
        elif seen is not None and values.get(key) != seen:
            return False, state
    return True, tuple(sorted(values.items()))


def _argument(dice: Random, model: str, number: int, *, unique: bool) -> tuple[str, Any]:
    value = number + 1 if unique else dice.randint(1, 3)
    if model == "kv-append":
        return dice.choice((("get", None), ("put", "ab"[value % 2]), ("append", "abc"[value % 3])))
    if model == "register":
        return ("read", None) if dice.random() < 0.5 else ("write", value)
    if model == "cas-register":
        f = dice.choice(("read", "read", "write", "cas"))
        old = dice.randint(1, number + 1) if unique else dice.randint(1, 3)
        return f, {"read": None, "write": value, "cas": [old, value]}[f]
    if model == "mutex":
        return dice.choice(("acquire", "release")), None
    if model == "multi-register":
        parts = [
            ["read", key, None] if dice.random() < 0.5 else ["write", key, dice.randint(1, 3)]
            for key in dice.sample(("x", "y"), dice.randint(1, 2))
        ]
        return "txn", parts
    puts, takes = ("enqueue", "dequeue") if model == "fifo-queue" else ("push", "pop")
    return (puts, value) if dice.random() < 0.55 else (takes, None)


def _result(model: str, state: Any, f: str, argument: Any) -> tuple[Any, Any, bool]:
    """What an honest object answers, its state then, and whether it did anything at all."""
    if f in ("read", "get"):
        return state, state, True
    if model == "multi-register":
        now = dict(state)
        answer = []
        for name, key, value in argument:
            if name == "write":
                now[key] = value
            answer.append([name, key, value if name == "write" else now.get(key)])
        return answer, tuple(sorted(now.items())), True
    if f in ("dequeue", "pop"):
        if not state:
            return None, state, True
        first = f == "dequeue"
        return (state[0], state[1:], True) if first else (state[-1], state[:-1], True)
    apply = APPLY[model][0]
    legal, after = apply(state, f, argument, None)
    return argument, after if legal else state, legal


def _bent(dice: Random, f: str, answer: Any, most: int) -> Any:
    if f in ("read", "dequeue", "pop"):
        return dice.choice((None, dice.randint(1, most)))
    if f == "get":
        return dice.choice((answer[1:], answer[::-1], answer + dice.choice("abc")))
    if f == "txn":
        return [
            [name, key, dice.randint(1, most) if name == "read" else value]
            for name, key, value in answer
        ]
    return answer


APPLY: dict[str, tuple[Apply, Any]] = {
    "register": (register_apply, None),
    "cas-register": (register_apply, None),
    "kv-append": (text_apply, ""),
    "mutex": (mutex_apply, False),
    "fifo-queue": (queue_apply, ()),
    "stack": (queue_apply, ()),
    "multi-register": (multi_apply, ()),
}


def linear_history(dice: Random, model: str, *, unique: bool = False) -> list[Op]:
    state = APPLY[model][1]
    rows: list[Op] = []
    waiting: list[tuple[int, str, Any, Any, bool]] = []
    count, started = dice.randint(2, 8), 0
    bend = dice.choice((0.0, 0.4, 0.8))
    while started < count or waiting:
        if started < count and (not waiting or dice.random() < 0.55):
            f, argument = _argument(dice, model, started, unique=unique)
            rows.append(Op(len(rows), len(rows), started, "invoke", f, argument))
            now = state if dice.random() > bend else APPLY[model][1]
            answer, after, did = _result(model, now, f, argument)
            if dice.random() > bend / 2:
                state = after if now is state else state
            if dice.random() < bend:
                answer = _bent(dice, f, answer, started + 1 if unique else 3)
            waiting.append((started, f, argument, answer, did))
            started += 1
            continue
        who, f, argument, answer, did = waiting.pop(dice.randrange(len(waiting)))
        outcome: OpType = "ok" if did else "fail"
        if outcome == "ok" and dice.random() < 0.15:
            outcome, answer = "info", argument
        rows.append(Op(len(rows), len(rows), who, outcome, f, answer))
    return rows


def is_linearizable(rows: Sequence[Op], model: str) -> bool:
    apply, initial = APPLY[model]
    asked = {row.process: (row.index, row.value) for row in rows if row.type == "invoke"}
    ops = [
        (*asked[done.op.process], done.op.index, done.type, done.op.f, done.op.value)
        for done in completed([Op(r.index, 0, r.process, r.type, r.f, []) for r in rows])
        if done.type != "fail"
    ]
    by_index = {row.index: row.value for row in rows}
    ops = [(call, arg, ret, type_, f, by_index[ret]) for call, arg, ret, type_, f, _ in ops]
    return _search(ops, frozenset(range(len(ops))), initial, apply, set())


def _search(
    ops: Sequence[Any], left: frozenset[int], state: Any, apply: Apply, seen: set[Any]
) -> bool:
    if (left, state) in seen:
        return False
    seen.add((left, state))
    due = [ops[at][2] for at in left if ops[at][3] == "ok"]
    if not due:
        return True
    for at in left:
        call, argument, _, type_, f, result = ops[at]
        if call > min(due):
            continue
        for answer in _answers(state, f, argument, result, type_):
            legal, after = apply(state, f, argument, answer)
            if legal and _search(ops, left - {at}, after, apply, seen):
                return True
    return False


def _answers(state: Any, f: str, argument: Any, result: Any, type_: str) -> list[Any]:
    """What an operation may have answered: nobody knows if it never did."""
    if f == "read" and result is None:
        return [state]
    if type_ == "ok":
        return [result]
    if f in ("dequeue", "pop"):
        return [state[0] if f == "dequeue" else state[-1]] if state else []
    return [state if f in ("read", "get") else argument]
