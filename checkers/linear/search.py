"""The search for a linearization, object by object, and what is said when there is none."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from checkers.arrays import Ints32
from checkers.kernels import wgl
from checkers.linear.calls import Call

_FIRST_BUDGET = 4_096
_GROWTH = 8


@dataclass(frozen=True, slots=True)
class Step:
    """What an operation needs of the state and makes of it, as the kernel has it."""

    call: Call
    kind: int
    a: int
    b: int = 0
    pure: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    linearizable: bool | None
    """None: the budget was used up first."""
    visited: int
    stuck: Call | None = None
    proof: tuple[Call, ...] = ()
    """Those that prove it, if they are known, and the reason."""
    reason: str = ""
    minimal: bool = False
    """Whether no fewer would do."""


class Searchable(Protocol):
    """An object that can be searched."""

    def run(self, budget: int, /) -> Outcome:
        """`budget`: configurations that may be visited."""
        ...


class Search:
    """One object's operations, ready to be searched with any budget."""

    def __init__(self, steps: Sequence[Step], initial: int, moves: Ints32 | None = None) -> None:
        self.steps = steps
        self._initial = initial
        self._moves = np.empty((0, 0), np.int32) if moves is None else moves
        events = sorted(
            [(step.call.call, 0, at) for at, step in enumerate(steps)]
            # Rows are the time, and an operation that began at a row did so before any that ended.
            + [(step.call.ret, 1, at) for at, step in enumerate(steps) if step.call.ret is not None]
        )
        self._call = np.empty(len(steps), np.int32)
        self._ret = np.full(len(steps), -1, np.int32)
        for number, (_, is_return, at) in enumerate(events):
            (self._ret if is_return else self._call)[at] = number
        self._what = np.array([(one.kind, one.a, one.b, one.pure) for one in steps], np.int64)
        classes: dict[tuple[int, int, int], int] = {}
        self._same = np.array(
            [classes.setdefault((one.kind, one.a, one.b), len(classes)) for one in steps], np.int32
        )

    def run(self, budget: int) -> Outcome:
        verdict, visited, stuck = wgl.search(
            self._call, self._ret, self._same, self._what, self._moves, self._initial, budget
        )
        last = self.steps[stuck].call if verdict <= 0 and stuck >= 0 else None
        return Outcome({1: True, 0: False}.get(int(verdict)), int(visited), last)


def shares(budget: int) -> Iterator[int]:
    """The growing budgets of the rounds in which objects are searched."""
    share = min(_FIRST_BUDGET, budget)
    yield share
    while share < budget:
        share = min(share * _GROWTH, budget)
        yield share


def searched(objects: Mapping[Hashable, Searchable], budget: int) -> dict[Hashable, Outcome]:
    """All objects in turn, with growing budgets, until one is refuted: an easy refutation need not
    wait for a hard proof."""
    outcomes: dict[Hashable, Outcome] = {}
    left = dict(objects)
    for share in shares(budget):
        for name in list(left):
            outcomes[name] = left[name].run(share)
            if outcomes[name].linearizable is not None:
                del left[name]
            if outcomes[name].linearizable is False:
                return outcomes
        if not left:
            break
    return outcomes
