"""Groups, watermarks and transforms: each anomaly by its definition, over all pairs of operations.

Each history is a handful of operations at random times; each definition is a sentence of
docs/reference/checkers.md, in plain and slow Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from checkers.log.transactions import EXPIRY_NS
from harness.history.op import Op, OpType

Found = Counter[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Done:
    """An operation, by the rows of its invocation and its end; alone, what a group told."""

    index: int
    call: int
    type: OpType
    process: int
    f: str
    value: Any
    time_ns: int


class Plan(NamedTuple):
    begun: float
    ended: float
    process: int
    outcome: OpType
    f: str
    value: Any


def told(plans: list[Plan], step_ns: int = 1) -> tuple[list[Op], list[Done]]:
    moments = sorted(
        [(plan.begun, number, 0) for number, plan in enumerate(plans) if plan.begun < plan.ended]
        + [(plan.ended, number, 1) for number, plan in enumerate(plans)]
    )
    rows: list[Op] = []
    calls: dict[int, int] = {}
    done: list[Done] = []
    for _, number, half in moments:
        plan, at = plans[number], len(rows)
        if half == 0:
            calls[number] = at
            rows.append(Op(at, at * step_ns, plan.process, "invoke", plan.f))
            continue
        rows.append(Op(at, at * step_ns, plan.process, plan.outcome, plan.f, plan.value))
        call = calls.get(number, -1)
        done.append(Done(at, call, plan.outcome, plan.process, plan.f, plan.value, call * step_ns))
    return rows, done


def _spans(dice: Random, count: int) -> Iterator[tuple[float, float]]:
    for _ in range(count):
        begun = dice.random() * 10
        yield begun, begun + 0.01 + dice.random() * dice.choice((0.5, 3))


def _owned(group: str, generation: int | None, *keys: str) -> Any:
    return {"group": group, "generation": generation, "keys": list(keys)}


def zombie_commit(dice: Random) -> tuple[list[Op], Found]:
    plans = []
    for process, (begun, ended) in enumerate(_spans(dice, dice.randint(3, 6))):
        group, generation = dice.choice("ggggh"), dice.choice((1, 1, 2, 2, 3, None))
        outcome: OpType = dice.choice(("ok", "ok", "ok", "info", "fail"))
        if dice.random() < 0.35:
            value = _owned(group, generation, "x")
            plans.append(Plan(begun, begun, process, "ok", "assigned", value))
            continue
        offsets = {"group": group, "generation": generation, "member": "m", "offsets": {"x": 1}}
        plans.append(Plan(begun, ended, process, outcome, "commit", offsets))
    rows, done = told(plans)
    accepted = [one for one in done if one.type == "ok" and one.value["generation"] is not None]
    return rows, Counter(
        (one.index,)
        for one in accepted
        if one.f == "commit"
        and any(
            other.index < one.call
            and other.value["group"] == one.value["group"]
            and other.value["generation"] > one.value["generation"]
            for other in accepted
        )
    )


def two_owners(dice: Random) -> tuple[list[Op], Found]:
    """Two members hold a key at once: whether there are any such two."""
    plans = []
    for begun, _ in _spans(dice, dice.randint(4, 8)):
        f = dice.choice(("assigned", "assigned", "revoked", "lost"))
        keys = dice.choice((("x",), ("x",), ("y",), ("x", "y")))
        value = _owned(dice.choice("ggggh"), dice.choice((1, 1, 1, 2, None)), *keys)
        plans.append(Plan(begun, begun, dice.randrange(3), "ok", f, value))
    rows, done = told(plans)
    holds = []
    for one in done:
        for key in one.value["keys"] if one.f == "assigned" else ():
            end = min(
                (
                    other.index
                    for other in done
                    if other.index > one.index
                    and other.f != "assigned"
                    and other.process == one.process
                    and other.value["group"] == one.value["group"]
                    and key in other.value["keys"]
                ),
                default=len(rows),
            )
            what = (one.value["group"], one.value["generation"], key)
            holds.append((what, one.process, one.index, end))
    overlap = any(
        what == other and generation is not None and who != whose and begun < start < end
        for (what, who, begun, end) in holds
        for (other, whose, start, _) in holds
        for generation in (what[1],)
    )
    return rows, Counter([("some",)] if overlap else [])


def watermark_regression(dice: Random) -> tuple[list[Op], Found]:
    plans = []
    rising = dice.random() < 0.3
    for process, (begun, ended) in enumerate(_spans(dice, dice.randint(3, 6))):
        value = {
            part: {
                key: int(begun) if rising and dice.random() < 0.9 else dice.randrange(9)
                for key in dice.choice(("x", "x", "xy", ""))
            }
            for part in dice.choice((("high",), ("low", "high"), ("stable",)))
        }
        outcome: OpType = dice.choice(("ok", "ok", "ok", "info"))
        plans.append(Plan(begun, ended, process, outcome, "end-offsets", value))
    rows, done = told(plans)
    answers = [
        (one, part, key, offset)
        for one in done
        if one.type == "ok"
        for part, offsets in one.value.items()
        for key, offset in offsets.items()
    ]
    return rows, Counter(
        (one.index, key)
        for one, part, key, offset in answers
        if any(
            (part, key) == (its, whose) and other.index < one.call and offset < before
            for other, its, whose, before in answers
        )
    )


def hanging_transaction(dice: Random) -> tuple[list[Op], Found]:
    plans = []
    for process, (begun, ended) in enumerate(_spans(dice, dice.choice((0, 1, 1, 2)))):
        outcome: OpType = dice.choice(("ok", "ok", "ok", "ok", "fail", "info"))
        sends = [["send", "x", [process, process]]]
        plans.append(Plan(begun, ended, process, outcome, "txn", sends))
    for process, (begun, ended) in enumerate(_spans(dice, dice.randint(1, 3)), 10):
        high = dict.fromkeys(dice.choice(("x", "xy", "y", "")), 5)
        stable = {key: dice.choice((4, 4, 5)) for key in dice.choice(("x", "xy", "xy", ""))}
        outcome = dice.choice(("ok", "ok", "ok", "ok", "info"))
        value = {"high": high, "stable": stable}
        begun, ended = begun + 5, ended + 5
        plans.append(Plan(begun, ended, process, outcome, "end-offsets", value))
    # So long that some who ask have waited for what was left open, and some have not.
    rows, done = told(plans, step_ns=EXPIRY_NS // 3)
    transactions = [one for one in done if one.f == "txn"]
    open_until = [row.time_ns + EXPIRY_NS for row in rows if row.f == "txn" and row.type == "info"]
    found: Found = Counter()
    for key in "xy":
        asked = [
            one for one in done
            if one.f == "end-offsets" and one.type == "ok" and key in one.value["stable"]
        ]  # fmt: skip
        last = asked[-1] if asked else None
        if last is None or key not in last.value["high"]:
            continue
        late = all(one.index < last.call for one in transactions)
        waited = all(last.time_ns >= moment for moment in open_until)
        if late and waited and last.value["stable"][key] < last.value["high"][key]:
            found[last.index, key] += 1
    return rows, found


def exactly_once(dice: Random) -> tuple[list[Op], Found]:
    plans, sends = [], dice.randint(3, 7)
    for number in range(sends):
        offset = number if dice.random() < 0.9 else None
        value: Any = [["send", "x", [offset, number]]]
        plans.append(Plan(-2, -1 + number / 9, number, "ok", "send", value))
    made = 100
    inputs = list(range(sends))
    at = 0
    for process, (begun, ended) in enumerate(_spans(dice, dice.randint(2, 5)), 20):
        taken = inputs[at : at + dice.randint(1, 2)]
        at += len(taken) + (dice.random() < 0.4) - (dice.random() < 0.4)
        at = max(at, 0)
        out = [["y", [made + one, made + one]] for one, _ in enumerate(taken)]
        outcome: OpType = dice.choice(("ok", "ok", "ok", "info", "fail"))
        items = {"in": [["x", one] for one in taken], "out": out}
        plans.append(Plan(begun, ended, process, outcome, "transform", items))
        if out and dice.random() < 0.5:
            shown: Any = [["poll", {"y": [out[0][1]]}]]
            plans.append(Plan(ended, ended + 1, process + 40, "ok", "poll", shown))
        made += 10
    rows, done = told(plans)
    polled = {pair[1] for one in done if one.f == "poll" for pair in one.value[0][1]["y"]}
    took_effect = [
        one for one in done
        if one.f == "transform"
        and (one.type == "ok"
             or (one.type == "info" and any(v in polled for _, (_, v) in one.value["out"])))
    ]  # fmt: skip
    times = Counter(offset for one in took_effect for _, offset in one.value["in"])
    known = {one.value[0][2][0] for one in done if one.f == "send"} - {None}
    found: Found = Counter()
    for offset, count in times.items():
        if count > 1:
            found[offset, 2] = count - 1
    for offset in known - times.keys() if times else ():
        if min(times) < offset < max(times):
            found[offset, 0] = 1
    return rows, found


ORACLES: dict[str, Callable[[Random], tuple[list[Op], Found]]] = {
    "zombie-commit": zombie_commit,
    "two-owners": two_owners,
    "watermark-regression": watermark_regression,
    "hanging-transaction": hanging_transaction,
    "exactly-once": exactly_once,
}
