"""Matches topic names against a parsed expression in time linear in their length.

The expression becomes a nondeterministic automaton (Thompson's construction). Matching follows all
its states at once; each set of states that occurs is remembered as one state of a deterministic
automaton, so that names with common beginnings cost one look-up per character.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker.groups.consumer.topic_regex.characters import WORD, Characters
from broker.groups.consumer.topic_regex.errors import RegexSyntaxError
from broker.groups.consumer.topic_regex.syntax import parse
from broker.groups.consumer.topic_regex.tree import Choice, Node, OneOf, Place, Repeat, Sequence

SIZE_MAX = 5_000
"""States of an expression, repetitions written out."""
_REMEMBERED_MAX = 2_000
"""Sets of states that are remembered before all are forgotten: bounds the memory."""

_BEGIN, _AFTER_WORD, _AFTER_OTHER = range(3)


@dataclass(slots=True)
class _State:
    characters: Characters | None
    """Consumes one of these; None: consumes nothing."""
    place: Place | None
    next: list[int]


class TopicPattern:
    """A compiled expression; raises RegexSyntaxError if there is something wrong with it."""

    def __init__(self, expression: str) -> None:
        self._states: list[_State] = []
        accepting = self._add(None, None, [])
        self._start = self._build(parse(expression), accepting)
        self._accepting = accepting
        self._forget()
        self.work = 0
        """Grows with the effort of matching; a caller bounds its slices by it."""

    def matches(self, name: str) -> bool:
        """Whether the whole name matches. The name consists of legal characters only."""
        current = self._first()
        for character in name:
            reached = self._moves[current].get(character)
            current = self._move(current, character) if reached is None else reached
        ends = self._ends[current]
        if ends is None:
            states, before = self._sets[current]
            ends = self._ends[current] = self._accepting in self._closure(states, before, "")
        return ends

    # Building

    def _add(self, characters: Characters | None, place: Place | None, to: list[int]) -> int:
        if len(self._states) >= SIZE_MAX:
            raise RegexSyntaxError(
                f"expression too large: it expands to more than {SIZE_MAX} states"
            )
        self._states.append(_State(characters, place, to))
        return len(self._states) - 1

    def _build(self, node: Node, then: int) -> int:
        """Adds the states of a node that leads to `then`; returns the node's first state."""
        match node:
            case OneOf(characters):
                return self._add(characters, None, [then])
            case Place():
                return self._add(None, node, [then])
            case Sequence(parts):
                for part in reversed(parts):
                    then = self._build(part, then)
                return then
            case Choice(branches):
                return self._add(None, None, [self._build(each, then) for each in branches])
            case Repeat():
                return self._build_repeat(node, then)

    def _build_repeat(self, node: Repeat, then: int) -> int:
        if node.most is None:
            loop = self._add(None, None, [then])
            self._states[loop].next.append(self._build(node.part, loop))
            then = loop
        else:
            end = then
            for _ in range(node.most - node.least):
                then = self._add(None, None, [end, self._build(node.part, then)])
        for _ in range(node.least):
            then = self._build(node.part, then)
        return then

    # Matching

    def _forget(self) -> None:
        self._numbers: dict[tuple[frozenset[int], int], int] = {}
        self._sets: list[tuple[frozenset[int], int]] = []
        self._moves: list[dict[str, int]] = []
        self._ends: list[bool | None] = []

    def _first(self) -> int:
        if len(self._sets) > _REMEMBERED_MAX:
            self._forget()
        return self._number(frozenset((self._start,)), _BEGIN)

    def _number(self, states: frozenset[int], before: int) -> int:
        key = (states, before)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._sets)
            self._sets.append(key)
            self._moves.append({})
            self._ends.append(None)
        return number

    def _move(self, current: int, character: str) -> int:
        states, before = self._sets[current]
        reached = {
            self._states[each].next[0]
            for each in self._closure(states, before, character)
            if character in (self._states[each].characters or ())
        }
        after = _AFTER_WORD if character in WORD else _AFTER_OTHER
        number = self._moves[current][character] = self._number(frozenset(reached), after)
        return number

    def _closure(self, states: frozenset[int], before: int, character: str) -> set[int]:
        """All states that are reached without consuming; `character` is what comes next."""
        found = set(states)
        pending = list(states)
        while pending:
            state = self._states[pending.pop()]
            if state.characters is not None or not _holds(state.place, before, character):
                continue
            for each in state.next:
                if each not in found:
                    found.add(each)
                    pending.append(each)
        self.work += len(found)
        return found


def _holds(place: Place | None, before: int, character: str) -> bool:
    match place:
        case None:
            return True
        case Place.BEGIN:
            return before == _BEGIN
        case Place.END:
            return not character
        case Place.WORD_BOUNDARY | Place.NO_WORD_BOUNDARY:
            is_boundary = (before == _AFTER_WORD) != (character in WORD)
            return is_boundary == (place is Place.WORD_BOUNDARY)
