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
        self._by_call = sorted(range(len(actions)), key=lambda at: actions[at].call.call)

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
        behind = set(self._ended[:frontier])
        sure: list[tuple[int, frozenset[int], Hashable]] = []
        maybe: list[tuple[int, frozenset[int], Hashable]] = []
        tried: set[Hashable] = set()
        for at in self._by_call:
            one = self._actions[at]
            if one.call.call > limit:
                break
            if at in taken or at in behind:
                continue
            if one.call.ret is None:
                if one.name in tried:
                    continue
                tried.add(one.name)
            then = one.move(state)
            if then is None or (one.call.ret is None and then == state):
                continue
            reached, now = self._advanced(frontier, taken | {at})
            (sure if one.call.ret is not None else maybe).append((reached, now, then))
            if one.call.ret is not None and then == state and self._never_moves(one):
                return [(reached, now, then)]
        return sure + maybe

    @staticmethod
    def _never_moves(one: Action) -> bool:
        return getattr(one.move, "pure", False)

    def _advanced(self, frontier: int, taken: frozenset[int]) -> tuple[int, frozenset[int]]:
        passed = set()
        while frontier < len(self._ended) and self._ended[frontier] in taken:
            passed.add(self._ended[frontier])
            frontier += 1
        return frontier, taken - passed
