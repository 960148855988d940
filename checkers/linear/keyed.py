"""The models whose objects are judged one by one: every operation is about one object.

An operation names its object by the field `key`. Operations without that field are about one object
together. Objects are independent: a history is linearizable if the calls of each object are, so
any set of whole objects can be judged apart from the others (by_object.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from checkers.columns import FAIL, INFO, OK
from checkers.kernels.wgl import APPEND, CAS, FAILED_CAS, READ, WRITE
from checkers.linear.calls import Call, canonical, happened
from checkers.linear.objects import Action, ObjectSearch
from checkers.linear.piles import NOTHING, Pile, decided
from checkers.linear.registers import Codes, Decided, register_searches
from checkers.linear.search import Search, Searchable, Step
from checkers.models import Question

_BASE = 0x100000001B3
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of some calls, ready to be searched."""

    searches: Mapping[Hashable, Searchable]
    """By key, in the order of the objects' first calls. Objects without anything to explain are
    left out."""
    asserted: bool
    """Whether any operation that was ok could have been contradicted."""


@dataclass(frozen=True, slots=True)
class KeyedModel:
    names: tuple[str, ...]
    """The operations of the model."""
    objects: Callable[[Iterable[Call], Question], Objects]


def register_steps(
    found: Iterable[Call], question: Question, codes: Codes
) -> dict[Hashable, list[Step]]:
    """Reads that tell nothing and operations that did not happen are left out."""
    steps: dict[Hashable, list[Step]] = {}
    for call in found:
        mine = steps.setdefault(call.key, [])
        if call.f == "read":
            if call.outcome == OK and (call.value is not None or question.null_read == "asserts"):
                mine.append(Step(call, READ, codes.of(call.value), pure=True))
        elif call.f == "write":
            if happened(call):
                mine.append(Step(call, WRITE, codes.of(call.value)))
        elif call.outcome == FAIL:
            if question.failed_cas == "asserts":
                mine.append(Step(call, FAILED_CAS, codes.of(call.value[0]), pure=True))
        else:
            one, other = (codes.of(part) for part in call.value)
            mine.append(Step(call, CAS, one, other, pure=one == other))
    return steps


def _registers(found: Iterable[Call], question: Question) -> Objects:
    codes = Codes()
    initial = codes.of(question.initial)
    steps = register_steps(found, question, codes)
    every = (step for mine in steps.values() for step in mine)
    asserted = any(step.kind != WRITE and step.call.outcome != INFO for step in every)
    return Objects(register_searches(steps, initial), asserted)


def _mutexes(found: Iterable[Call], _: Question) -> Objects:
    """Acquire and release, of locks that are free at first."""
    steps: dict[Hashable, list[Step]] = {}
    for call in found:
        mine = steps.setdefault(call.key, [])
        if happened(call):
            mine.append(Step(call, CAS, *_LOCK_MOVES[call.f]))
    asserted = any(step.call.outcome == OK for mine in steps.values() for step in mine)
    return Objects({key: Search(mine, 0) for key, mine in steps.items() if mine}, asserted)


def _texts(found: Iterable[Call], question: Question) -> Objects:
    """Texts by key: put replaces, append adds at the end, get returns the whole.

    A state is 64 bits of the text: each text is a polynomial in a prime base, so that the text of
    an append follows from the states before it.
    """
    steps: dict[Hashable, list[Step]] = {}
    for call in found:
        mine = steps.setdefault(call.key, [])
        text = "" if call.value is None else str(call.value)
        code, power = _hash(text)
        if call.f == "get" and call.outcome == OK:
            if call.value is not None or question.null_read == "asserts":
                mine.append(Step(call, READ, code, pure=True))
        elif call.f == "put" and happened(call):
            mine.append(Step(call, WRITE, code))
        elif call.f == "append" and happened(call):
            mine.append(Step(call, APPEND, code, power))
    initial, _ = _hash(str(question.initial or ""))
    asserted = any(step.kind == READ for mine in steps.values() for step in mine)
    return Objects({key: Search(mine, initial) for key, mine in steps.items() if mine}, asserted)


def _hash(text: str) -> tuple[int, int]:
    code, power = 0, 1
    # Half of a pair of surrogates has no UTF-8, and is a text to JSON.
    for byte in text.encode("utf-8", "surrogatepass"):
        code = (code * _BASE + byte + 1) & _MASK
        power = power * _BASE & _MASK
    return _signed(code), _signed(power)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _piles(puts: frozenset[str], *, first: bool) -> Callable[[Iterable[Call], Question], Objects]:
    """Queues if `first`, else stacks. Operations that do not put, take."""

    def objects(found: Iterable[Call], _: Question) -> Objects:
        actions: dict[Hashable, list[Action]] = {}
        piles: dict[Hashable, Pile] = {}
        for call in found:
            mine, pile = actions.setdefault(call.key, []), piles.setdefault(call.key, Pile())
            if not happened(call):
                continue
            is_put = call.f in puts
            unknown = not is_put and call.outcome == INFO
            value = None if unknown else canonical(call.value)
            move = _put(value) if is_put else _take(value, first=first, unknown=unknown)
            mine.append(Action(call, move, (is_put, value)))
            if is_put:
                pile.puts.append((call, value))
            elif unknown:
                pile.unsure.append(call)
            elif value == NOTHING:
                pile.empties.append(call)
            else:
                pile.takes.append((call, value))
        searches: dict[Hashable, Searchable] = {
            key: Decided(partial(decided, pile, first=first))
            if pile.is_decided(first=first)
            else ObjectSearch(actions[key], ())
            for key, pile in piles.items()
            if actions[key]
        }
        asserted = any(pile.takes or pile.empties for pile in piles.values())
        return Objects(searches, asserted)

    return objects


def _put(value: Hashable) -> Callable[[Any], Any]:
    return lambda state: (*state, value)


def _take(value: Hashable, *, first: bool, unknown: bool) -> Callable[[Any], Any]:
    """What a take found empty says so with null."""

    def move(state: Any) -> Any:
        if not state:
            return state if value == "null" and not unknown else None
        found = state[0] if first else state[-1]
        if not unknown and found != value:
            return None
        return state[1:] if first else state[:-1]

    return move


_LOCK_MOVES: Final = {"acquire": (0, 1), "release": (1, 0)}

KEYED: Final[Mapping[str, KeyedModel]] = {
    "register": KeyedModel(("read", "write"), _registers),
    "cas-register": KeyedModel(("read", "write", "cas"), _registers),
    "mutex": KeyedModel(tuple(_LOCK_MOVES), _mutexes),
    "kv-append": KeyedModel(("put", "append", "get"), _texts),
    "fifo-queue": KeyedModel(
        ("enqueue", "offer", "dequeue", "poll"),
        _piles(frozenset({"enqueue", "offer"}), first=True),
    ),
    "stack": KeyedModel(("push", "pop"), _piles(frozenset({"push"}), first=False)),
}
"""By the name of the model (checkers/models.py)."""
