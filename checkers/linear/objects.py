"""Linearizability of objects whose states are no numbers: queues, stacks, sets of registers.

The same search as the compiled one, over any state that can be compared: an operation is a function
from a state to the state after it, or to None where it is not legal.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from checkers.linear.calls import Call
from checkers.linear.search import Outcome

Move = Callable[[Hashable], Hashable | None]


@dataclass(frozen=True, slots=True)
class Action:
    call: Call
    move: Move
    name: Hashable
    """Equal for operations that do the same."""


class ObjectSearch:
    def __init__(self, actions: Sequence[Action], initial: Hashable) -> None:
        self._actions = actions
        self._initial = initial
        self._ended = sorted(
            (at for at, one in enumerate(actions) if one.call.ret is not None),
            key=lambda at: actions[at].call.ret or 0,
        )
        by_call = sorted(range(len(actions)), key=lambda at: actions[at].call.call)
        self._required = [at for at in by_call if actions[at].call.ret is not None]
        self._optional = [at for at in by_call if actions[at].call.ret is None]
        self._rank = {at: place for place, at in enumerate(self._ended)}
        # By frontier, the first of the required ones that is not behind it: what is in flight there
        # is a short stretch from it on, however long the history is.
        place = {at: number for number, at in enumerate(self._required)}
        self._first = [place[at] for at in self._ended]
        for frontier in range(len(self._ended) - 2, -1, -1):
            self._first[frontier] = min(self._first[frontier], self._first[frontier + 1])

    def run(self, budget: int) -> Outcome:
        """Depth first; a configuration is what was taken beyond the frontier, and the state."""
        visited: set[tuple[int, frozenset[int], Hashable]] = set()
        stack = [(0, frozenset[int](), self._initial)]
        furthest = 0
        while stack:
            frontier, taken, state = stack.pop()
            if frontier == len(self._ended):
                return Outcome(True, len(visited))
            furthest = max(furthest, frontier)
            if len(visited) > budget:
                return Outcome(None, len(visited), self._actions[self._ended[furthest]].call)
            for after in reversed(self._after(frontier, taken, state)):
                if after not in visited:
                    visited.add(after)
                    stack.append(after)
        if not self._ended:
            return Outcome(True, len(visited))
        return Outcome(False, len(visited), self._actions[self._ended[furthest]].call)

    def _after(
        self, frontier: int, taken: frozenset[int], state: Hashable
    ) -> list[tuple[int, frozenset[int], Hashable]]:
        limit = self._actions[self._ended[frontier]].call.ret
        assert limit is not None
        sure: list[tuple[int, frozenset[int], Hashable]] = []
        for number in range(self._first[frontier], len(self._required)):
            at = self._required[number]
            one = self._actions[at]
            if one.call.call > limit:
                break
            if at in taken or self._rank[at] < frontier:
                continue
            then = one.move(state)
            if then is None:
                continue
            reached, now = self._advanced(frontier, taken | {at})
            if then == state and self._never_moves(one):
                return [(reached, now, then)]
            sure.append((reached, now, then))
        return sure + self._maybe(frontier, taken, state, limit)

    def _maybe(
        self, frontier: int, taken: frozenset[int], state: Hashable, limit: int
    ) -> list[tuple[int, frozenset[int], Hashable]]:
        """Those that may never have happened, of equal ones the first."""
        maybe: list[tuple[int, frozenset[int], Hashable]] = []
        tried: set[Hashable] = set()
        for at in self._optional:
            one = self._actions[at]
            if one.call.call > limit:
                break
            if at in taken or one.name in tried:
                continue
            tried.add(one.name)
            then = one.move(state)
            if then is not None and then != state:
                maybe.append((frontier, taken | {at}, then))
        return maybe

    @staticmethod
    def _never_moves(one: Action) -> bool:
        return getattr(one.move, "pure", False)

    def _advanced(self, frontier: int, taken: frozenset[int]) -> tuple[int, frozenset[int]]:
        passed = set()
        while frontier < len(self._ended) and self._ended[frontier] in taken:
            passed.add(self._ended[frontier])
            frontier += 1
        return frontier, taken - passed
