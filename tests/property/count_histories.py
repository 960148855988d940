"""Small histories of what is judged by counting: sets, queues, counters, ids, banks, forks.

An honest object is played, operation by operation: each takes effect when it is invoked or when it
ends. Then some answers are bent, and some effects left out.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from harness.history.op import Op, OpType

ACCOUNTS = ("a", "b", "c")
TOTAL = 12


class Play(NamedTuple):
    start: Callable[[], Any]
    draw: Callable[[Random, int], tuple[str, Any]]
    """What is asked next."""
    apply: Callable[[Any, str, Any, bool], Any]
    """Changes the state, if it is to take effect, and answers."""
    bend: Callable[[Random, str, Any, int], Any]
    most: int = 9
    bends: tuple[float, ...] = (0.0, 0.06, 0.25)


def _draw_set(dice: Random, number: int) -> tuple[str, Any]:
    return ("add", number) if dice.random() < 0.55 else ("read", None)


def _apply_set(state: list[Any], f: str, argument: Any, effect: bool) -> Any:
    if f == "read":
        return list(state)
    if effect:
        state.append(argument)
    return argument


def _bend_set(dice: Random, f: str, answer: Any, number: int) -> Any:
    if f != "read":
        return answer
    bent = [one for one in answer if dice.random() < 0.7]
    return bent + ([dice.randrange(number + 2)] if dice.random() < 0.3 else [])


def _draw_queue(dice: Random, number: int) -> tuple[str, Any]:
    f = dice.choice(("enqueue", "enqueue", "dequeue", "dequeue", "drain"))
    return (f, dice.randrange(1 + number // 2)) if f == "enqueue" else (f, None)


def _apply_queue(state: list[Any], f: str, argument: Any, effect: bool) -> Any:
    if f == "enqueue":
        if effect:
            state.append(argument)
        return argument
    taken = list(state) if f == "drain" else state[:1]
    if effect:
        del state[: len(taken)]
    return taken if f == "drain" else (taken[0] if taken else None)


def _bend_queue(dice: Random, f: str, answer: Any, number: int) -> Any:
    if f == "enqueue":
        return answer
    other = dice.randrange(1 + number // 2)
    return [*answer, other] if f == "drain" else other


def _draw_counter(dice: Random, number: int) -> tuple[str, Any]:
    if dice.random() < 0.4:
        return "read", None
    f = dice.choice(("add", "add", "add", "increment", "dec"))
    return f, dice.randint(-2, 4) if f == "add" else dice.choice((None, 1, 2))


def _apply_counter(state: list[int], f: str, argument: Any, effect: bool) -> Any:
    if f == "read":
        return sum(state)
    by = 1 if argument is None else argument
    if effect:
        state.append(-by if f == "dec" else by)
    return argument


def _bend_counter(dice: Random, f: str, answer: Any, number: int) -> Any:
    return answer + dice.randint(-3, 3) if f == "read" else answer


def _apply_ids(state: list[int], f: str, argument: Any, effect: bool) -> Any:
    state.append(len(state))
    return len(state) - 1


def _bend_ids(dice: Random, f: str, answer: Any, number: int) -> Any:
    return dice.choice((answer, str(answer), dice.randrange(number + 1)))


def _draw_bank(dice: Random, number: int) -> tuple[str, Any]:
    if dice.random() < 0.5:
        return "read", None
    one, other = dice.sample(ACCOUNTS, 2)
    return "transfer", {"from": one, "to": other, "amount": dice.randint(1, 4)}


def _apply_bank(state: dict[str, int], f: str, argument: Any, effect: bool) -> Any:
    if f == "read":
        return dict(state)
    if effect and state[argument["from"]] >= argument["amount"]:
        state[argument["from"]] -= argument["amount"]
        state[argument["to"]] += argument["amount"]
    return argument


def _bend_bank(dice: Random, f: str, answer: Any, number: int) -> Any:
    if f != "read":
        return answer
    one, other = dice.sample(ACCOUNTS, 2)
    by = dice.randint(1, 6)
    kind = dice.randrange(4)
    if kind == 0:
        return {**answer, one: None}
    if kind == 1:
        return {**answer, "d": 0}
    return {**answer, one: answer[one] - by, other: answer[other] + (by if kind == 2 else 0)}


def _draw_fork(dice: Random, number: int) -> tuple[str, Any]:
    if dice.random() < 0.4:
        return "txn", [["w", number, 1]]
    group = dice.choice(((0, 1, 2), (0, 1, 2), (2, 3)))
    return "txn", [["r", key, None] for key in dice.sample(group, len(group))]


def _apply_fork(state: dict[int, int], f: str, argument: Any, effect: bool) -> Any:
    answer = []
    for name, key, value in argument:
        if name == "w" and effect:
            state[key] = value
        answer.append([name, key, value if name == "w" else state.get(key)])
    return answer


def _bend_fork(dice: Random, f: str, answer: Any, number: int) -> Any:
    return [
        [name, key, dice.choice((None, 1)) if name == "r" else value] for name, key, value in answer
    ]


def _accounts() -> dict[str, int]:
    return dict.fromkeys(ACCOUNTS, TOTAL // 3)


_MORE, _MOST = (0.05, 0.2, 0.5), (0.1, 0.3, 0.6)
PLAYS: dict[str, Play] = {
    "set": Play(list, _draw_set, _apply_set, _bend_set, bends=(0.0, 0.1, 0.4)),
    "set-full": Play(list, _draw_set, _apply_set, _bend_set, bends=_MOST),
    "queue": Play(list, _draw_queue, _apply_queue, _bend_queue, bends=_MORE),
    "total-queue": Play(list, _draw_queue, _apply_queue, _bend_queue),
    "counter": Play(list, _draw_counter, _apply_counter, _bend_counter, bends=_MOST),
    "unique-ids": Play(
        list, lambda *_: ("generate", None), _apply_ids, _bend_ids, bends=(0.1, 0.5, 0.9)
    ),
    "bank": Play(_accounts, _draw_bank, _apply_bank, _bend_bank, bends=_MORE),
    "long-fork": Play(dict, _draw_fork, _apply_fork, _bend_fork, 14, (0.1, 0.5, 0.9)),
}


def count_history(dice: Random, model: str) -> list[Op]:
    play = PLAYS[model]
    state, bend = play.start(), dice.choice(play.bends)
    rows: list[Op] = []
    waiting: list[tuple[int, str, Any, Any, OpType]] = []
    count, started = dice.randint(play.most // 3, play.most), 0

    def answered(f: str, argument: Any, outcome: OpType) -> Any:
        effect = outcome == "ok" or (outcome == "info" and dice.random() < 0.5)
        answer = play.apply(state, f, argument, effect != (dice.random() < bend / 2))
        return play.bend(dice, f, answer, started) if dice.random() < bend else answer

    while started < count or waiting:
        if started < count and (not waiting or dice.random() < 0.5):
            f, argument = play.draw(dice, started)
            rows.append(Op(len(rows), len(rows), started, "invoke", f, argument))
            outcome: OpType = dice.choice(("ok", "ok", "ok", "ok", "ok", "ok", "info", "fail"))
            early = (answered(f, argument, outcome),) if dice.random() < 0.5 else None
            waiting.append((started, f, argument, early, outcome))
            started += 1
            continue
        who, f, argument, early, outcome = waiting.pop(dice.randrange(len(waiting)))
        answer = early[0] if early else answered(f, argument, outcome)
        if outcome == "info" and dice.random() < 0.5:
            continue  # Nobody ever heard of it again.
        rows.append(Op(len(rows), len(rows), who, outcome, f, answer if outcome == "ok" else None))
    return rows
