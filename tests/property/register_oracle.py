"""Registers that are read: committed offsets, and keys of compacted topics. By every order.

A read is explained if the writes, in some order that agrees with time, leave what it gave when it
comes. Writes of unknown outcome may be left out, or come at any time after they began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from harness.history.op import Op, OpType

_NEVER = 1 << 30


@dataclass(frozen=True, slots=True)
class Access:
    index: int
    """Of the row that ended it; -1 if none did."""
    name: Any
    value: Any
    call: int
    ret: int
    certain: bool


def is_explained(read: Access, writes: list[Access]) -> bool:
    """Whether some order of the writes has this read."""

    def from_here(left: frozenset[int], last: Any) -> bool:
        first = min((writes[one].ret for one in left if writes[one].certain), default=_NEVER)
        if last == read.value and read.call <= first and _may_end(read, left, writes):
            return True
        for one in left:
            # Nothing that is still to come has ended before this one begins.
            others = [writes[other].ret for other in left - {one} if writes[other].certain]
            if min(others, default=_NEVER) < writes[one].call or read.ret < writes[one].call:
                continue
            if from_here(left - {one}, writes[one].value):
                return True
        return any(from_here(left - {one}, last) for one in left if not writes[one].certain)

    return from_here(frozenset(range(len(writes))), None)


def _may_end(read: Access, left: frozenset[int], writes: list[Access]) -> bool:
    """All that had ended before the read began has come by now."""
    return all(writes[one].ret >= read.call for one in left if writes[one].certain)


Row = Callable[[str, Any, Any], tuple[str, Any]]
"""From `write` or `read`, a name and a value to the f and the value of an operation."""


def _commits(what: str, name: Any, value: Any) -> tuple[str, Any]:
    group, key = name
    f = "commit" if what == "write" else "committed"
    return f, {"group": group, "generation": 1, "member": "m", "offsets": {key: value}}


def _puts(what: str, name: Any, value: Any) -> tuple[str, Any]:
    return ("put", [["put", name, [0, value]]]) if what == "write" else (
        "get", [["get", name, value]]
    )  # fmt: skip


FORMS: dict[str, tuple[Row, tuple[Any, ...], bool, tuple[Any, ...]]] = {
    # How it is told, the names, whether a read of nothing is meant, and what can be written.
    "commit-regression": (_commits, (("g", "x"), ("h", "x")), False, (1, 2, 3, 4)),
    "lost-commit": (_commits, (("g", "x"), ("g", "y")), True, (1, 2)),
    "compaction-lost-key": (_puts, ("x/a", "x/b"), True, (1, 2, 3, None)),
    "compaction-resurrected-key": (_puts, ("x/a", "x/b"), False, (1, 2, None)),
}


def history(kind: str, dice: Random) -> tuple[list[Op], set[tuple[int, ...]]]:
    """Rows, and the indices of reads that no order explains."""
    row_of, names, lost, values = FORMS[kind]
    plans: list[tuple[float, float, str, OpType, Any, Any]] = []
    for _ in range(dice.randint(1, 5)):
        begun = dice.random() * 10
        outcome: OpType = dice.choice(("ok", "ok", "ok", "info", "fail"))
        ended = begun + dice.random() * dice.choice((1, 4))
        plans.append((begun, ended, "write", outcome, dice.choice(names), dice.choice(values)))
    for _ in range(dice.randint(1, 3)):
        begun = dice.random() * 12
        ended = begun + dice.random() * dice.choice((1, 4))
        given = None if dice.random() < (0.75 if lost else 0.15) else dice.choice(values)
        outcome = dice.choice(("ok", "ok", "ok", "ok", "info"))
        plans.append((begun, ended, "read", outcome, dice.choice(names), given))
    rows, accesses = _told(plans, row_of)
    reads = [one for one in accesses if one[0] == "read" and one[1].certain]
    wrong: set[tuple[int, ...]] = {
        (read.index,)
        for _, read in reads
        if (read.value is None) is lost
        and not is_explained(
            read, [one for what, one in accesses if what == "write" and one.name == read.name]
        )
    }
    return rows, wrong


def _told(
    plans: list[tuple[float, float, str, OpType, Any, Any]], row_of: Row
) -> tuple[list[Op], list[tuple[str, Access]]]:
    rows: list[Op] = []
    halves: dict[tuple[int, int], int] = {}
    for number, half in _moments(plans):
        _, _, what, outcome, name, value = plans[number]
        f, told = row_of(what, name, value)
        at = halves[number, half] = len(rows)
        # Each is a process of its own; one that fails or is unknown tells what it tried.
        rows.append(Op(at, at, number, outcome if half else "invoke", f, told if half else None))
    accesses = [
        (
            what,
            Access(
                index=halves[number, 1],
                name=name,
                value=value,
                call=halves[number, 0],
                ret=halves[number, 1] if outcome == "ok" else _NEVER,
                certain=outcome == "ok",
            ),
        )
        for number, (_, _, what, outcome, name, value) in enumerate(plans)
        if outcome != "fail"
    ]
    return rows, accesses


def _moments(plans: list[Any]) -> Iterator[tuple[int, int]]:
    moments = [(plan[half], number, half) for number, plan in enumerate(plans) for half in (0, 1)]
    for _, number, half in sorted(moments):
        yield number, half
